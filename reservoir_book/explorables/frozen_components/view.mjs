// Click embeddings, attention or feed-forward layers on and off: the stack, what moves in it, and how well it does.
import { curve, mean, short } from '../shared/records.mjs';
import { explorable, html, svg } from '../shared/ui.mjs';
import { boxes, choices, cost, drawnOf, PARTS, rowOf } from './model.mjs';

const NAMES = { embeddings: 'Embeddings', attention: 'Attention', feed_forward: 'Feed-forward' };
const TABLES = [['components', 'Translation'], ['narrow', 'with narrow feed-forward'], ['language', 'Language model']];
const DRAWN = { 'as-trained': 'Random', identity: 'Identity', hollow: 'Random, diagonal zero' };
// No size of the poster's language model fits both its parameters and its shares: ours has the shares (appendix B).
const SIZES = { language: 'our full scale, which has the poster’s shares' };
const listed = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const spread = (values, digits = 1) => {
  if (!values.length) return 'not run yet';
  const [low, high] = [Math.min(...values).toFixed(digits), Math.max(...values).toFixed(digits)];
  return mean(values).toFixed(digits) + (low === high ? '' : ` (${low} to ${high})`);
};

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const tables = model.get('tables');
    ui.choice('table', { label: 'Table', options: TABLES.filter(([name]) => tables[name]) });

    // A component that moves is a pressed button in blue; one that is frozen, in orange.
    const buttons = Object.fromEntries(PARTS.map((part) => {
      const state = html('span', { class: 'fc-state' });
      const button = html('button', { type: 'button', class: 'fc-part' }, html('span', { text: NAMES[part] }), state);
      button.addEventListener('click', () => ui.set(part, !model.get(part)));
      ui.setting(part, { parse: (text) => (/^[01]$/.test(text) ? text === '1' : undefined), write: (value) => (value ? '1' : '0') });
      return [part, { button, state }];
    }));
    ui.controls.append(html('div', { class: 'ex-field fc-parts', role: 'group', 'aria-label': 'Components' }, PARTS.map((part) => buttons[part].button)));
    const drawnChoice = ui.choice('drawn', { label: 'Frozen maps are', options: Object.entries(DRAWN) });
    const drawnField = drawnChoice[0].closest('fieldset');

    const stack = svg('svg', { class: 'fc-stack', role: 'img' });
    stack.addEventListener('click', (event) => {
      const part = event.target.dataset?.part;
      if (part) ui.set(part, !model.get(part));
    });
    const holder = html('div', { class: 'ex-figure fc-holder' }, stack);
    const facts = html('table', { class: 'fc-facts' });
    const note = html('p', { class: 'fc-note' });
    ui.stage.append(html('div', { class: 'fc-left' }, holder, note, facts));
    const chart = ui.chart({ height: 250, x: { label: 'steps of our run', domain: [0, 1] }, y: { label: '', domain: [0, 1] } });

    ui.draw(({ table, drawn, ...moves }) => {
      const of = tables[table];
      const row = rowOf(of.rows, moves, drawn);
      const shown = drawnOf(of.rows, moves, drawn);
      const base = of.rows.find((each) => each.row === 'baseline');
      const origin = (part) => (moves[part] ? 'trained' : shown === 'identity' && part !== 'embeddings' ? 'fixed' : 'seeded');
      for (const part of PARTS) {
        buttons[part].button.setAttribute('aria-pressed', String(moves[part]));
        buttons[part].button.dataset.origin = origin(part);
        buttons[part].state.textContent = moves[part] ? 'trained' : 'frozen';
      }
      const open = choices(of.rows, moves);
      drawnField.hidden = open.length < 2;

      const width = Math.min(480, holder.clientWidth || 480);
      const found = boxes(of.poster, width);
      const tall = found.at(-1).y + found.at(-1).height;
      for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${tall}`, width, height: tall })) stack.setAttribute(name, value);
      stack.replaceChildren(...found.map((box) => svg('rect', {
        x: box.x.toFixed(1), y: box.y, width: box.width.toFixed(1), height: box.height, rx: 2, 'data-part': box.part, class: `fc-box ex-${origin(box.part)}`,
      }, svg('title', {}, NAMES[box.part]))));
      const frozen = PARTS.filter((part) => !moves[part]).map((part) => NAMES[part].toLowerCase());
      stack.setAttribute('aria-label', `A stack of boxes as long as they have parameters; ${frozen.length ? `${listed(frozen)} frozen` : 'everything is trained'}`);

      note.textContent = `${of.poster.encoder ? 'Encoder left, decoder right' : 'One stack of layers'}, the table of embeddings below. A layer has ${of.poster.across > 1 ? 'attention (the decoder’s twice)' : 'attention'}, then feed-forward maps.`;
      const [poster, ours] = [cost(of.poster, moves), cost(of.ours, moves)];
      const kept = (scores, whole) => {
        if (!scores || !whole) return '–';
        return of.larger ? percent(scores / whole) : `× ${(scores / whole).toFixed(2)}`;
      };
      const score = row?.scores.length ? mean(row.scores) : undefined;
      const whole = base.scores.length ? mean(base.scores) : undefined;
      const lines = [
        [of.score, row ? row.poster.score : '–', row ? spread(row.scores) : '–'],
        [of.larger ? 'kept of it' : 'times the trained one’s', row ? kept(Number(row.poster.score), Number(base.poster.score)) : '–', kept(score, whole)],
        ['epochs', row ? row.poster.epochs : '–', row ? spread(row.epochs) : '–'],
        ['parameters', short(poster.total), short(ours.total)],
        ['of them trained', percent(poster.share), percent(ours.share)],
        ['to store', `${short(poster.bytes)}B`, `${short(ours.bytes)}B`],
      ];
      facts.replaceChildren(
        html('thead', {}, html('tr', {}, html('td'), ['poster', 'ours'].map((text) => html('th', { scope: 'col', text })))),
        html('tbody', {}, lines.map(([name, ...cells]) => html('tr', {}, html('th', { scope: 'row', text: name }), cells.map((text) => html('td', { text }))))),
      );

      const [line, baseline] = [curve(row), curve(base)];
      const others = of.rows.filter((each) => each !== row && each !== base).map(curve).filter(Boolean);
      const all = [line, baseline, ...others].filter(Boolean);
      const steps = Math.max(1, ...all.flatMap((each) => each.x));
      // A language model's first points would leave no room for what matters.
      const values = all.flatMap((each) => (of.larger ? each.mean : each.mean.slice(1)));
      const domain = !values.length ? [0, 1] : of.larger ? [0, Math.max(...values) * 1.06] : [Math.min(...values) * 0.9, Math.max(...values) * 1.1];
      const kind = !frozen.length ? 'trained' : PARTS.some((part) => origin(part) === 'fixed') ? 'fixed' : 'seeded';
      chart.update({
        label: `${of.score} on the validation set against steps`,
        x: { domain: [0, steps] },
        y: { label: `${of.score}, validation`, domain, log: !of.larger && values.length > 0 },
        marks: [
          ...others.map((each, i) => ({ kind: 'line', x: each.x, y: each.mean, faint: true, width: 1, name: i ? undefined : 'other rows of the table' })),
          baseline && line !== baseline && row !== base && { kind: 'line', x: baseline.x, y: baseline.mean, origin: 'trained', dash: '5 4', name: 'everything trained' },
          line && row.curves.length > 1 && { kind: 'band', x: line.x, low: line.low, high: line.high, origin: kind },
          line && { kind: 'line', x: line.x, y: line.mean, origin: kind, width: 2.4, name: `this row, ${row.curves.length === 1 ? 'one seed' : `${row.curves.length} seeds`}` },
        ],
      });
      ui.say(told({ of, size: SIZES[table] ?? 'the poster’s size', row, frozen, shown, poster, score, whole }));
    });
    return ui.close;
  },
};

/** What is shown, in words. */
function told({ of, size, row, frozen, shown, poster, score, whole }) {
  const how = { 'as-trained': '', identity: ' as identities', hollow: ' with zeros on the diagonal' }[shown];
  const what = frozen.length ? `${listed(frozen).replace(/^./, (letter) => letter.toUpperCase())} frozen${how}` : 'Everything trained';
  const sentences = [`${what}: at ${size}, ${short(poster.trained)} of ${short(poster.total)} parameters move, ${percent(poster.share)}.`];
  if (!row) sentences.push('Neither the poster nor we have tried that.');
  else {
    sentences.push(`The poster has ${row.poster.score} ${of.score} there.`);
    if (score === undefined) sentences.push('Our row has not been run yet.');
    else sentences.push(`Ours has ${score.toFixed(1)}${frozen.length && whole ? (of.larger ? `, ${percent(score / whole)} of what the fully trained model has` : `, ${(score / whole).toFixed(2)} times the fully trained model’s`) : ''}.`);
  }
  return sentences.join(' ');
}
