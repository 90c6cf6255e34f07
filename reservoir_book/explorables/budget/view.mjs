// Choose the budget that hurts, drag the limit, see who wins, and who might have with other seeds.
import { mean } from '../shared/records.mjs';
import { explorable, html, svg } from '../shared/ui.mjs';
import { KINDS, affordable, bestWithin, drawn, priced, spread, stairs } from './model.mjs';

const ORDER = ['trained', 'bytes', 'flops', 'seconds']; // a notebook sorts what it stores
const ROWS = 6; // of the list
const BAR = 110; // pixels, the longest
const ranged = ({ low, mean: middle, high }) => middle.toFixed(1) + (low.toFixed(1) === high.toFixed(1) ? '' : ` (${low.toFixed(1)} to ${high.toFixed(1)})`);
const seeds = (method) => (method.quality.length === 1 ? 'one seed' : `${method.quality.length} seeds`);

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const [axes, methods, lent] = ['axes', 'methods', 'lent'].map((name) => model.get(name));
    ui.choice('axis', { label: 'What hurts is', options: ORDER.map((name) => [name, axes[name].short]) });
    const fields = Object.fromEntries(Object.entries(axes).map(([name, { unit, min, max, step }]) => {
      const slider = ui.slider(name, { label: 'At most', min, max, step, log: true, format: (value) => priced(value, unit) });
      return [name, slider.closest('.ex-field')];
    }));

    const chart = ui.chart({ height: 300, x: { label: '', domain: [1, 2], log: true }, y: { label: 'BLEU', domain: [0, 1] } });
    const body = html('tbody');
    const list = html('table', { class: 'bu-list' }, html('thead', {}, html('tr', {}, ['Within the budget', 'BLEU', 'costs'].map((text) => html('th', { scope: 'col', text })))), body);
    ui.stage.append(list);
    const most = Math.max(1, ...methods.flatMap((method) => method.quality));

    ui.draw(({ axis, ...limits }) => {
      for (const [name, field] of Object.entries(fields)) field.hidden = name !== axis;
      const { words, unit, min, max } = axes[axis];
      const limit = limits[axis];
      const found = bestWithin(methods, axis, limit, lent);
      const within = affordable(methods, axis, limit);
      const steps = drawn(stairs(methods, axis), max);
      const of = (kind, inside) => methods.filter((method) => method.kind === kind && (method[axis] <= limit) === inside);
      const points = (kind, inside) => ({
        kind: 'points', x: of(kind, inside).map((method) => method[axis]), y: of(kind, inside).map((method) => mean(method.quality)), origin: kind, open: !inside, size: inside ? 4 : 3,
        // One entry of the legend for each kind, whichever of its points there are.
        name: inside === of(kind, true).length > 0 && of(kind, inside).length ? KINDS[kind] : undefined,
      });
      chart.update({
        label: `BLEU against ${words}, and the best that each budget buys`,
        x: { label: words, domain: [min * 0.9, max * 1.1], format: (value) => priced(value, unit === 'B' ? 'B' : '') },
        y: { domain: [0, most * 1.06] },
        marks: [
          { kind: 'band', x: steps.x, low: steps.low, high: steps.high },
          { kind: 'line', x: steps.x, y: steps.mean, name: 'the best a budget buys' },
          ...Object.keys(KINDS).flatMap((kind) => [points(kind, false), points(kind, true)]),
          found && found.best.quality.length > 1 && { kind: 'line', x: [found.best[axis], found.best[axis]], y: [found.low, found.high], origin: found.best.kind, width: 3 },
          found && { kind: 'points', x: [found.best[axis]], y: [found.mean], origin: found.best.kind, size: 7 },
          { kind: 'rule', x: limit, label: within.length > methods.length / 2 ? undefined : priced(limit, unit) },
        ],
      });

      body.replaceChildren(...within.slice(0, ROWS).map((method) => {
        const { low, mean: middle, high } = spread(method);
        const at = (value) => ((BAR * value) / most).toFixed(1);
        const bar = svg('svg', { width: BAR, height: 12, 'aria-hidden': 'true', class: 'bu-bar' }, svg('g', { class: `ex-mark ex-${method.kind}` },
          svg('rect', { x: 0, y: 2, width: at(middle), height: 8, class: 'ex-bar' }), svg('line', { x1: at(low), x2: at(high), y1: 6, y2: 6, class: 'bu-range' })));
        const might = found.rivals.includes(method) ? 'might win' : method === found.best ? 'wins' : '';
        return html('tr', {},
          html('th', { scope: 'row', title: method.recipe }, html('span', { text: method.name }), might && html('span', { class: 'bu-words', text: might })),
          html('td', {}, bar, html('span', { text: ranged({ low, mean: middle, high }) }), html('span', { class: 'bu-words', text: seeds(method) })),
          html('td', { text: priced(method[axis], unit) }));
      }));
      list.hidden = !within.length;
      ui.say(told({ found, within, methods, words, limit: priced(limit, unit) }));
    });
    return ui.close;
  },
};

/** What is shown, in words. */
function told({ found, within, methods, words, limit }) {
  const head = `With at most ${limit} (${words}), ${within.length} of ${methods.length} methods can be afforded.`;
  if (!found) return `${head} Nothing that we have run costs so little.`;
  const { best, rivals } = found;
  const wins = `The best of them is “${best.name}”, with ${ranged(found)} BLEU, ${seeds(best)}: ${KINDS[best.kind]}.`;
  const others = !rivals.length
    ? 'No draw of the seeds puts another before it.'
    : `With other seeds ${rivals.length === 1 ? `“${rivals[0].name}” might win` : `${rivals.length} others might win, “${rivals[0].name}” first`}.`;
  return `${head} ${wins} ${others}`;
}
