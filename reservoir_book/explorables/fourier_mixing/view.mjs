// Draw a signal over tokens and features; see what a Fourier layer mixes it to, and what comes back from a part of that.
import { back, drawn, FEATURES, kept, next, numbers, parse, reversed, share, TOKENS, transform } from './model.mjs';
import { explorable, html, svg } from '../shared/ui.mjs';

const SIDE = 24; // units of a cell in the drawings
const SAID = { 0: 'nothing', 1: 'one', 2: 'minus one' };
const ENTRIES = TOKENS * FEATURES;
const empty = '0'.repeat(ENTRIES);
const wave = Array.from({ length: ENTRIES }, (_, i) => (Math.floor(i / FEATURES) % 4 < 2 ? '1' : '2')).join('');

/** A matrix as squares, as large as their entries: filled where one is positive, open where it is negative. */
function squares(label) {
  const drawing = svg('svg', { class: 'fm-squares', role: 'img', 'aria-label': label, viewBox: `0 0 ${SIDE * FEATURES} ${SIDE * TOKENS}` });
  return {
    drawing,
    update(values, { keep, largest = Math.max(1e-9, ...values.map(Math.abs)) }) {
      drawing.replaceChildren(...Array.from(values, (value, i) => {
        const [x, y] = [(i % FEATURES + 0.5) * SIDE, (Math.floor(i / FEATURES) + 0.5) * SIDE];
        if (keep && !keep[i]) return svg('path', { class: 'fm-removed', d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` });
        const half = (SIDE / 2 - 2) * Math.sqrt(Math.min(1, Math.abs(value) / largest));
        if (half < 0.7) return svg('circle', { class: 'fm-none', cx: x, cy: y, r: 1 });
        return svg('rect', { class: value > 0 ? 'fm-plus' : 'fm-minus', x: x - half, y: y - half, width: 2 * half, height: 2 * half });
      }));
    },
  };
}

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.choice('part', { label: 'Transformed back is', options: [['real', 'the real part, as in the layer'], ['both', 'real and imaginary part']] });
    ui.slider('tokens', { label: 'Highest frequency kept, along tokens', min: 0, max: TOKENS / 2 });
    ui.slider('features', { label: 'and along features', min: 0, max: FEATURES / 2 });
    ui.setting('signal', { parse });
    const change = (signal) => ui.set('signal', signal);
    ui.button('One entry', () => change(drawn(empty, 2 * FEATURES + 3, '1')));
    ui.button('A wave', () => change(wave));
    ui.button('Reverse the tokens', () => change(reversed(model.get('signal'), { tokens: true })));
    ui.button('Reverse both', () => change(reversed(model.get('signal'), { tokens: true, features: true })));
    ui.button('Clear', () => change(empty));

    // The signal: a grid of buttons, one in the order of tabs, the arrows go from one to the next.
    const cells = Array.from({ length: ENTRIES }, (_, i) => html('button', { type: 'button', class: 'fm-cell', tabindex: i ? '-1' : '0' }));
    const grid = html('div', { class: 'fm-grid', role: 'group', 'aria-label': `The signal, ${TOKENS} tokens down and ${FEATURES} features across` }, cells);
    let brush;
    let pointer;
    const at = (event) => cells.indexOf(event.target.closest?.('.fm-cell'));
    const paint = (i) => { if (i >= 0 && brush !== undefined) change(drawn(model.get('signal'), i, brush)); };
    const go = (i) => {
      cells.forEach((cell, j) => { cell.tabIndex = j === i ? 0 : -1; });
      cells[i].focus();
    };
    grid.addEventListener('click', (event) => {
      const i = at(event);
      if (i < 0) return;
      go(i);
      if (event.detail === 0 || pointer === 'touch') change(drawn(model.get('signal'), i, next(model.get('signal')[i])));
    });
    grid.addEventListener('pointerdown', (event) => {
      const i = at(event);
      pointer = event.pointerType;
      if (i < 0 || pointer === 'touch' || event.button) return; // a finger taps, so that the page still scrolls
      brush = next(model.get('signal')[i]);
      paint(i);
    });
    grid.addEventListener('pointerover', (event) => { if (event.buttons & 1) paint(at(event)); else brush = undefined; });
    const lift = () => { brush = undefined; };
    document.addEventListener('pointerup', lift);
    grid.addEventListener('keydown', (event) => {
      const i = at(event);
      const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: FEATURES, ArrowUp: -FEATURES }[event.key];
      if (i < 0 || !move) return;
      event.preventDefault();
      const across = Math.abs(move) === 1;
      const to = i + move;
      if (to >= 0 && to < ENTRIES && (!across || Math.floor(to / FEATURES) === Math.floor(i / FEATURES))) go(to);
    });

    const mixed = squares('The real part of its Fourier transform');
    const returned = squares('What comes back');
    const panel = (title, under, content) => html('figure', { class: 'fm-panel' }, html('figcaption', {}, html('strong', { text: title }), html('span', { text: under })), content);
    const last = html('span');
    ui.stage.append(html('div', { class: 'fm' },
      panel('The signal', 'tap or draw: filled is +1, open is −1', grid),
      panel('Its mixing', 'the real part of its transform; × is removed', mixed.drawing),
      html('figure', { class: 'fm-panel' }, html('figcaption', {}, html('strong', { text: 'What comes back' }), last), returned.drawing)));

    ui.draw(({ part, tokens, features, signal }) => {
      const x = numbers(signal);
      const whole = transform(x);
      const keep = kept(tokens, features);
      const again = back(whole, keep, part);
      cells.forEach((cell, i) => {
        cell.dataset.value = signal[i];
        cell.setAttribute('aria-label', `Token ${Math.floor(i / FEATURES)}, feature ${i % FEATURES}: ${SAID[signal[i]]}`);
      });
      mixed.update(whole.re, { keep });
      returned.update(again, { largest: 1 }); // as large as what was drawn
      last.textContent = part === 'real' ? 'from the real part alone' : 'from both parts';
      const removed = keep.filter((one) => !one).length;
      const still = Math.round(100 * share(x, again));
      const seen = whole.re.filter((value) => Math.abs(value) > 1e-9).length;
      const symmetric = reversed(signal, { tokens: true, features: true }) === signal;
      if (signal === empty) { ui.say('Nothing is drawn yet, and the transform of nothing is nothing.'); return; }
      ui.say([
        `What is drawn at ${x.filter(Boolean).length} of ${ENTRIES} places is mixed into ${seen}.`,
        removed ? `${removed} frequencies are removed.` : '',
        `Transformed back${part === 'real' ? ' from the real part' : ''}, ${still}\u202f% of its squared size returns.`,
        removed ? '' : part === 'both' ? 'Nothing is lost as long as both parts are kept.'
          : symmetric ? 'This signal is its own mirror image, so its transform is real and nothing is lost.'
            : 'What returns is the mean of the signal and its mirror image: the real part cannot tell the two apart.',
      ].filter(Boolean).join(' '));
    });
    return () => { document.removeEventListener('pointerup', lift); ui.close(); };
  },
};
