// Switch on what is trained around and in a frozen body: the share of the parameters, and how well digits are read.
import { bar, cost, PARTS, percent, rowOf } from './model.mjs';
import { curve, mean, short } from '../shared/records.mjs';
import { explorable, html, svg } from '../shared/ui.mjs';

const NAMES = { input: 'Input', output: 'Output', positions: 'Positions', norms: 'Norms', attention: 'Attention', feed_forward: 'Feed-forward' };
const STARTS = [['random', 'Random'], ['pretrained', 'Pretrained']];
const TALL = 22;
const listed = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);
const spread = (values) => {
  const [low, high] = [Math.min(...values).toFixed(1), Math.max(...values).toFixed(1)];
  return mean(values).toFixed(1) + (low === high ? '' : ` (${low} to ${high})`);
};

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const [sizes, rows] = [model.get('sizes'), model.get('rows')];
    ui.choice('start', { label: 'The body is', options: STARTS });

    const buttons = Object.fromEntries(PARTS.map((part) => {
      const state = html('span', { class: 'fb-state' });
      const button = html('button', { type: 'button', class: 'fb-part' }, html('span', { text: NAMES[part] }), state);
      button.addEventListener('click', () => ui.set(part, !model.get(part)));
      ui.setting(part, { parse: (text) => ({ 1: true, 0: false })[text], write: (value) => (value ? '1' : '0') });
      return [part, { button, state }];
    }));
    ui.controls.append(html('div', { class: 'ex-field fb-parts', role: 'group', 'aria-label': 'What is trained' }, PARTS.map((part) => buttons[part].button)));

    const bars = Object.fromEntries(Object.keys(sizes).map((name) => [name, svg('svg', { class: 'fb-bar', role: 'img' })]));
    const told = Object.fromEntries(Object.keys(sizes).map((name) => [name, html('p', { class: 'fb-note' })]));
    const holder = html('div', { class: 'ex-figure fb-bars' }, Object.keys(sizes).map((name) => [told[name], bars[name]]));
    holder.addEventListener('click', (event) => {
      const part = event.target.dataset?.part;
      if (part) ui.set(part, !model.get(part));
    });
    ui.stage.append(holder);
    const chart = ui.chart({ height: 250, x: { label: 'steps', domain: [0, 1] }, y: { label: 'digits right (%), validation', domain: [0, 100] } });

    ui.draw(({ start, ...moves }) => {
      const frozen = start === 'random' ? 'seeded' : 'pretrained';
      // What stands around the body is drawn from a seed, whatever the body is.
      const origin = (part) => (moves[part] ? 'trained' : part === 'input' || part === 'output' ? 'seeded' : frozen);
      for (const part of PARTS) {
        buttons[part].button.setAttribute('aria-pressed', String(moves[part]));
        buttons[part].button.dataset.origin = origin(part);
        buttons[part].state.textContent = moves[part] ? 'trained' : 'frozen';
      }
      const width = Math.min(640, holder.clientWidth || 480);
      const shares = {};
      for (const [name, of] of Object.entries(sizes)) {
        const found = cost(of, moves);
        shares[name] = found;
        told[name].textContent = `${name}: ${short(found.trained)} of ${short(found.total)} parameters move, ${percent(found.share)}`;
        for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${TALL}`, width, height: TALL, 'aria-label': told[name].textContent })) bars[name].setAttribute(key, value);
        bars[name].replaceChildren(...bar(of, width).map((piece) => svg('rect', {
          x: piece.x.toFixed(1), y: 0, width: Math.max(1, piece.width - 1).toFixed(1), height: TALL, 'data-part': piece.part, class: `fb-box ex-${origin(piece.part)}`,
        }, svg('title', {}, `${NAMES[piece.part]}: ${short(of[piece.part])}`))));
      }
      const row = rowOf(rows, start, moves);
      const line = curve(row);
      const others = rows.filter((each) => each !== row).map(curve).filter(Boolean);
      chart.update({
        label: 'Digits read right on the validation set against steps',
        x: { domain: [0, Math.max(1, ...[line, ...others].filter(Boolean).flatMap((each) => each.x))] },
        y: { domain: [0, 100] },
        marks: [
          ...others.map((each, i) => ({ kind: 'line', x: each.x, y: each.mean, faint: true, width: 1, name: i ? undefined : 'other choices' })),
          line && row.curves.length > 1 && { kind: 'band', x: line.x, low: line.low, high: line.high, origin: frozen },
          line && { kind: 'line', x: line.x, y: line.mean, origin: row.trained.length === PARTS.length ? 'trained' : frozen, width: 2.4, name: `this choice, ${row.curves.length === 1 ? 'one seed' : `${row.curves.length} seeds`}` },
        ],
      });
      const trained = PARTS.filter((part) => moves[part]).map((part) => NAMES[part].toLowerCase());
      const what = trained.length ? `${listed(trained).replace(/^./, (letter) => letter.toUpperCase())} trained in a ${start} body` : `Nothing trained in a ${start} body`;
      const how = Object.entries(shares).map(([name, found]) => `${percent(found.share)} of ${name}`).join(', ');
      const result = !trained.length ? 'Nothing can be learned.' : !row ? 'No recipe does this.' : !row.scores.length ? 'Not run yet.' : `It reads ${spread(row.scores)} % of the test digits right.`;
      ui.say(`${what}: ${how}. ${result}`);
    });
    return ui.close;
  },
};
