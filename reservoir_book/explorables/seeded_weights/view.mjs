// Type a seed and a name: the matrix that they stand for, drawn in the page with the bits that Python draws.
import { correlation, python, weights } from './model.mjs';
import { explorable, html } from '../shared/ui.mjs';

const WORDS = { uniform: 'uniform', sign: 'plus or minus one size', normal: 'nearly normal', orthogonal: 'orthogonal' };

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const first = weights(Object.fromEntries(['seed', 'name', 'kind', 'size'].map((name) => [name, model.get(name)])));
    ui.number('seed', { label: 'Seed' });
    ui.choice('kind', { label: 'Distribution', options: [['uniform', 'Uniform'], ['sign', 'Signs'], ['normal', 'Normal'], ['orthogonal', 'Orthogonal']] });
    ui.slider('size', { label: 'Rows and columns', min: 4, max: 32 });
    ui.text('name', { label: 'Name of the tensor', maxLength: 60, hint: 'Any text. Change a letter and look.' });
    const map = ui.heatmap({ origin: 'seeded', cell: 19 });
    const call = html('code');
    const numbers = html('code');
    ui.stage.append(html('div', { class: 'sw-code' }, html('p', { text: 'The same in Python, to the last bit:' }),
      html('pre', { tabindex: '0', 'aria-label': 'The call in Python and its first numbers' }, call, '\n', numbers)));
    ui.draw((now) => {
      const drawn = weights(now);
      const largest = drawn.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
      const count = now.size ** 2;
      map.update({
        values: drawn.map((value) => (value + largest) / 2), rows: now.size, cols: now.size, max: largest,
        label: `${now.size} by ${now.size} weights as squares, the stronger the larger; the palest are negative`,
      });
      call.textContent = python(now);
      numbers.textContent = `# ${[...drawn.subarray(0, 3)].map((value) => value.toFixed(9)).join('  ')} …`;
      const stored = new TextEncoder().encode(now.name).length + 8;
      const alike = drawn.length === first.length && model.get('kind') === now.kind ? correlation(drawn, first) : undefined;
      const same = alike !== undefined && drawn.every((value, i) => value === first[i]);
      ui.say(`${count.toLocaleString('en')} weights, ${WORDS[now.kind]}. As numbers they take ${(4 * count).toLocaleString('en')} bytes; `
        + `as a seed and a name, ${stored}, whatever the size. `
        + (same ? 'They are the ones that this page began with.'
          : alike === undefined ? 'They have another shape than the ones that this page began with.'
            : `Their correlation with the ones that this page began with is ${alike.toFixed(2)}.`));
    });
    return ui.close;
  },
};
