// Build a stack of layers that learn and layers that do not: what a training step must still do, and what was recorded.
import { key, LEAST, MOST, nearest, parse, stackCost, sums, turned } from './model.mjs';
import { mean } from '../shared/records.mjs';
import { explorable, html, number } from '../shared/ui.mjs';

const KINDS = [['ffn', 'Feed-forward'], ['transformer', 'Transformer'], ['gru', 'GRU'], ['conv', 'Convolution']];
const NAMES = { transformer: 'transformer', ffn: 'feed-forward', gru: 'GRU', conv: 'convolution' };
const PARTS = [['forward', 'forward pass'], ['inputs', 'gradient handed down'], ['weights', 'gradient of its weights']];

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const sizes = Object.fromEntries(['d_model', 'd_ff', 'n_heads', 'kernel', 'length'].map((name) => [name, model.get(name)]));
    const records = model.get('records');
    ui.choice('kind', { label: 'Reservoirs are', options: KINDS });
    ui.toggle('embeddings', { label: 'The embeddings below learn' });
    ui.setting('stack', { parse });
    const change = (next) => ui.set('stack', next);
    const more = ui.button('Add a layer on top', () => change(`${model.get('stack')}L`));
    const fewer = ui.button('Take the top one off', () => change(model.get('stack').slice(0, -1)));
    if (Object.keys(records).length) {
      const wanted = html('select', { 'aria-label': 'A recorded stack' },
        html('option', { value: '', text: 'Go to a recorded stack' }),
        Object.entries(records).map(([name, { name: recipe }]) => html('option', { value: name, text: `${name} (${recipe.split('/')[1]})` })));
      wanted.addEventListener('change', () => {
        const [stack, kind] = wanted.value.split(' ');
        if (kind) ui.set('kind', kind);
        if (stack) change(stack);
        wanted.value = '';
      });
      ui.controls.append(html('div', { class: 'ex-field ex-action' }, wanted));
    }

    const rows = html('div', { class: 'ls-rows', role: 'group', 'aria-label': 'Layers, the top one first' });
    const legend = html('div', { class: 'ls-legend' }, PARTS.map(([part, text]) => html('span', { class: 'ex-key' }, html('span', { class: `ls-bar ls-${part}` }), text)));
    const table = html('dl', { class: 'ls-sums' });
    ui.stage.append(rows, legend, table);
    const chart = Object.keys(records).length && ui.chart({ height: 220, label: 'The recorded curve', x: { label: 'steps', domain: [0, 1] }, y: { label: 'BLEU, validation', domain: [0, 40] } });

    ui.draw(({ stack, kind, embeddings }) => {
      const costs = stackCost(stack, kind, embeddings, sizes);
      const whole = stackCost('L'.repeat(stack.length), kind, true, sizes);
      const widest = Math.max(...whole.map((cost) => cost.forward + cost.inputs + cost.weights));
      const held = [...rows.children].findIndex((row) => row.contains(document.activeElement));
      rows.replaceChildren(...costs.map((cost, i) => {
        const what = cost.letter === 'L' ? 'learns' : `${NAMES[kind]} reservoir`;
        const button = html('button', { type: 'button', class: `ls-layer ls-${cost.letter}`, text: cost.letter, 'aria-pressed': cost.letter === 'R' ? 'true' : 'false', 'aria-label': `Layer ${i + 1} from below ${what}; click to turn it` });
        button.addEventListener('click', () => change(turned(stack, i)));
        const bars = PARTS.map(([part, text]) => html('span', { class: `ls-bar ls-${part}`, style: `flex-basis:${(100 * cost[part]) / widest}%`, title: `${text}: ${number(cost[part] / 1000)} thousand operations a token` }));
        return html('div', { class: 'ls-row' }, button, html('span', { class: 'ls-what', text: what }), html('div', { class: 'ls-bars' }, bars));
      }).reverse());
      if (held >= 0) rows.children[Math.min(held, rows.children.length - 1)].querySelector('button').focus();
      more.disabled = stack.length >= MOST;
      fewer.disabled = stack.length <= LEAST;

      const now = sums(costs);
      const all = sums(whole);
      const share = (value, of) => `${Math.round((100 * value) / of)} %`;
      table.replaceChildren(...[
        ['Parameters that learn', Math.round(now.trained).toLocaleString('en')],
        ['Parameters that a seed gives back', Math.round(now.frozen).toLocaleString('en')],
        ['A step, compared with a stack as deep, all trained', share(now.step, all.step)],
        ['Its backward pass', share(now.inputs + now.weights, all.inputs + all.weights)],
      ].flatMap(([name, value]) => [html('dt', { text: name }), html('dd', { text: value })]));

      const exact = records[key(stack, kind)];
      const like = exact ? key(stack, kind) : nearest(records, stack, kind);
      const record = records[like];
      if (chart) {
        const runs = record ? record.curves : [];
        const last = Math.max(1, ...Object.values(records).flatMap((one) => one.curves.map(([x]) => x.at(-1))));
        const high = Math.max(...Object.values(records).flatMap((one) => one.curves.flatMap(([, y]) => y)));
        const grey = records['LLLL'];
        const lines = (from, origin, name) => from.map(([x, y], i) => ({ kind: 'line', x, y, origin, name: i ? undefined : name }));
        chart.update({
          x: { domain: [0, last] }, y: { domain: [0, Math.ceil(high / 5) * 5] },
          marks: [...(grey && like !== 'LLLL' ? lines(grey.curves, 'fixed', 'LLLL, all four learn') : []), ...lines(runs, like?.includes('R') ? 'seeded' : 'trained', record ? `${like}, ${runs.length} ${runs.length > 1 ? 'seeds' : 'seed'}` : undefined)],
        });
      }
      const n = [...stack].filter((letter) => letter === 'R').length;
      const free = costs.filter((cost) => cost.inputs === 0).length;
      ui.say([
        `${stack.length} ${stack.length === 1 ? 'layer' : 'layers'} from the bottom up, ${stack}: ${stack.length - n} learn and ${n} ${n === 1 ? 'does' : 'do'} not.`,
        `A training step of the stack costs ${share(now.step, all.step)} of one in which all layers are transformer layers that learn.`,
        free ? `No gradient has to reach the lowest ${free === 1 ? 'layer' : `${free} layers`}, since nothing below moves: what ${free === 1 ? 'it computes' : 'they compute'} could be kept from one pass to the next.`
          : n ? 'The gradient passes through every reservoir on its way down.' : '',
        record ? `${exact ? 'Recorded' : `The most similar recorded stack is ${like}`}: ${mean(record.test).toFixed(1)} BLEU on the test set and an area of ${mean(record.aucc).toFixed(1)}, ${record.test.length} ${record.test.length > 1 ? 'seeds' : 'seed'}.` : '',
      ].filter(Boolean).join(' '));
    });
    return ui.close;
  },
};
