// Type a sentence, touch a word: where each head of a trained translator looks.
import { explorable, html, number } from '../shared/ui.mjs';
import { rows, Translator } from './model.mjs';

const SHOWN = { '</s>': 'end', '<unk>': '□', '▁': '␣' };
const SAID = { '</s>': 'the end of the sentence', '<unk>': 'what it does not know', '▁': 'a space' };
const bare = (piece) => SHOWN[piece] ?? piece.replace('▁', '');
const quoted = (piece) => SAID[piece] ?? `“${bare(piece)}”`;
const listed = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

/** Arrow keys move the focus within a group of buttons, of which one is reached by the Tab key. */
function rove(group, { back, on }) {
  group.addEventListener('keydown', (event) => {
    const way = { [back]: -1, [on]: 1 }[event.key];
    if (!way) return;
    const buttons = [...group.querySelectorAll('button')];
    const next = buttons[buttons.indexOf(document.activeElement) + way];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

/** A line of pieces, each a button. `choose(i)` is called when one is pointed at, focused or tapped. */
function line(name, lang, choose) {
  const pieces = html('div', { class: 'at-pieces', role: 'group', 'aria-label': name, lang });
  const element = html('div', { class: 'at-line' }, html('span', { class: 'ex-name', text: name }), pieces);
  const picked = (event) => {
    const button = event.target.closest('button');
    if (button) choose(Number(button.dataset.i));
  };
  pieces.addEventListener('pointerover', (event) => { if (event.pointerType === 'mouse') picked(event); });
  pieces.addEventListener('focusin', picked);
  pieces.addEventListener('click', picked);
  rove(pieces, { back: 'ArrowLeft', on: 'ArrowRight' });
  return {
    element,
    write(tokens) {
      pieces.replaceChildren(...tokens.map((token, i) => html('button', {
        type: 'button', 'data-i': i, text: bare(token), class: `at-piece ${token.startsWith('▁') || token === '</s>' ? 'at-start' : ''} ${token === '</s>' ? 'at-end' : ''}`,
      })));
    },
    mark(chosen, weights) {
      [...pieces.children].forEach((button, i) => {
        button.setAttribute('aria-pressed', String(i === chosen));
        button.tabIndex = i === Math.max(0, chosen) ? 0 : -1;
        button.style.setProperty('--weight', weights ? weights[i].toFixed(3) : 0);
      });
    },
  };
}

/** One row for the mean and one for each head: how its weight is spread over the pieces that are read. */
function grid(choose) {
  const element = html('div', { class: 'at-heads', role: 'group', 'aria-label': 'Heads' });
  rove(element, { back: 'ArrowUp', on: 'ArrowDown' });
  element.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (button) choose(button.dataset.head);
  });
  let strips = [];
  return {
    element,
    write(tokens, names) {
      element.style.setProperty('--count', tokens.length);
      const above = html('div', { class: 'at-row at-above', 'aria-hidden': 'true', lang: 'de' }, html('span'), tokens.map((token) => html('span', { text: bare(token) })));
      strips = ['mean', ...names].map((name) => {
        const cells = tokens.map(() => html('span', { class: 'at-cell' }));
        const row = html('button', { type: 'button', class: 'at-row', 'data-head': name }, html('span', { class: 'at-name', text: name }), cells);
        return { name, row, cells };
      });
      element.replaceChildren(above, ...strips.map(({ row }) => row));
    },
    mark(head, tokens, { each, mean }) {
      strips.forEach(({ name, row, cells }, i) => {
        const weights = i ? each[i - 1] : mean;
        const top = weights.indexOf(Math.max(...weights));
        cells.forEach((cell, j) => cell.style.setProperty('--weight', weights[j].toFixed(3)));
        row.setAttribute('aria-pressed', String(name === head));
        row.tabIndex = name === head ? 0 : -1;
        row.setAttribute('aria-label', `${i ? `Head ${name}` : 'Mean of all heads'}: most at ${bare(tokens[top])}, ${weights[top].toFixed(2)}`);
      });
    },
  };
}

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const translator = new Translator(Object.fromEntries(['sizes', 'tokens', 'merges', 'names', 'numbers', 'steps'].map((name) => [name, model.get(name)])));

    ui.text('sentence', { label: 'A German sentence', maxLength: 120, lang: 'de' });
    const examples = model.get('examples') ?? [];
    if (examples.length) {
      const input = html('select', { class: 'at-examples', 'aria-label': 'Take another sentence' }, html('option', { value: '', text: 'or take another …' }), examples.map((text) => html('option', { text, lang: 'de' })));
      input.addEventListener('change', () => { if (input.value) ui.set('sentence', input.value); input.value = ''; });
      ui.controls.append(input);
    }
    ui.setting('at', { parse: (text) => (/^(src|tgt)-\d{1,3}$/.test(text) ? text : undefined) });
    ui.setting('head', { parse: (text) => (/^(mean|\d+\.\d+)$/.test(text) ? text : undefined) });

    const german = line('What it reads', 'de', (i) => ui.set('at', `src-${i}`));
    const english = line('What it writes', 'en', (i) => ui.set('at', `tgt-${i}`));
    const heads = grid((name) => ui.set('head', name));
    ui.stage.append(german.element, english.element, heads.element);

    let read; // the sentence that `shown` belongs to
    let shown;
    let sideShown;
    ui.draw(({ sentence, at, head }) => {
      const anew = sentence !== read;
      if (anew) {
        shown = translator.look(sentence);
        read = sentence;
        german.write(shown.src);
        english.write(shown.tgt);
      }
      const [side, place] = at.split('-');
      const index = Math.min(Number(place), shown[side].length - 1);
      const names = translator.heads(side);
      const chosen = names.includes(head) ? head : 'mean';
      if (anew || side !== sideShown) heads.write(shown.src, names);
      sideShown = side;
      const found = rows(shown, side, index);
      const weights = chosen === 'mean' ? found.mean : found.each[names.indexOf(chosen)];
      german.mark(side === 'src' ? index : -1, weights);
      english.mark(side === 'tgt' ? index : -1);
      heads.mark(chosen, shown.src, found);
      ui.say(told({ shown, side, index, chosen, names, found, weights }));
    });
    return ui.close;
  },
};

/** What is shown, in words. */
function told({ shown, side, index, chosen, names, found, weights }) {
  const piece = shown[side][index];
  const peak = (row) => row.indexOf(Math.max(...row));
  const share = (row) => `${row[peak(row)].toFixed(2)} of ${row === found.mean ? 'their' : 'its'} weight`;
  const sharpest = found.each.reduce((best, row, i) => (Math.max(...row) > Math.max(...found.each[best]) ? i : best), 0);
  const ended = /[.?!]$/.test(shown.translation) && shown.complete ? '' : '.';
  const sentences = [`The model writes “${shown.translation}”${shown.complete ? '' : ' and is cut off there'}${ended}`];
  const doing = side === 'tgt' ? `Writing ${quoted(piece)} (probability ${number(shown.p[index], 2)})` : `Reading ${quoted(piece)}`;
  sentences.push(chosen === 'mean'
    ? `${doing}, its ${names.length} heads look most at ${quoted(shown.src[peak(weights)])}: ${share(weights)} on average. The sharpest is head ${names[sharpest]}, with ${found.each[sharpest][peak(found.each[sharpest])].toFixed(2)} on ${quoted(shown.src[peak(found.each[sharpest])])}.`
    : `${doing}, head ${chosen} looks most at ${quoted(shown.src[peak(weights)])}: ${share(weights)}.`);
  if (shown.unknown.length) sentences.push(`It has never seen ${listed(shown.unknown.map((character) => `“${character}”`))}, and reads a blank (□) there.`);
  if (shown.spelt.length) sentences.push(`It has no piece for ${listed(shown.spelt.map((word) => `“${word}”`))} as a whole, and reads ${shown.spelt.length > 1 ? 'them' : 'it'} in parts.`);
  return sentences.join(' ');
}
