// The explorable of the tests: one of each control, a chart, a heatmap, a linked figure.
import { explorable, number } from '../../../reservoir_book/explorables/shared/ui.mjs';
import { Stream } from '../../../reservoir_book/explorables/shared/philox.mjs';
import { normal } from '../../../reservoir_book/explorables/shared/draws.mjs';

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.slider('waves', { label: 'Waves', min: 1, max: 9, hint: 'How often it goes up and down' });
    ui.slider('width', { label: 'Width', min: 0.01, max: 100, step: 0.01, log: true });
    ui.choice('shape', { label: 'Shape', options: [['sine', 'Sine'], ['square', 'Square']] });
    ui.number('seed', { label: 'Seed' });
    ui.toggle('noisy', { label: 'Noise' });
    ui.text('name', { label: 'Name', maxLength: 20 });
    const chart = ui.chart({ height: 200, x: { label: 'time (s)', domain: [0, 1] }, y: { label: 'height', domain: [-2, 2] } });
    const map = ui.heatmap({ origin: 'seeded', label: 'Noise, as squares' });
    const weights = new Float32Array(model.get('weights').buffer.slice(0));
    ui.draw(({ waves, width, shape, seed, noisy, name }) => {
      const x = Array.from({ length: 101 }, (_, i) => i / 100);
      const noise = normal(new Stream(seed, 'wave'), x.length, { std: noisy ? 0.2 : 0 });
      const y = x.map((t, i) => { const v = Math.sin(2 * Math.PI * waves * t); return (shape === 'sine' ? v : Math.sign(v)) + noise[i]; });
      chart.update({ marks: [{ kind: 'line', x, y, origin: noisy ? 'seeded' : 'fixed', name: 'wave' }, { kind: 'rule', y: 0 }] });
      map.update({ values: y.map(Math.abs), rows: 2, cols: 12, rowLabels: ['one', 'two'] });
      ui.say(`${name}: ${waves} ${shape} waves of width ${number(width)}, noise ${noisy ? `of seed ${seed}` : 'off'}; ${weights.length} weights, the last ${number(weights.at(-1))}.`);
      ui.figure('fig-linked')?.restyle({ y: [y] }, [0]);
    });
    return ui.close;
  },
};
