// Terminal colours, as tracebacks and progress bars print them, turned into spans with classes.
import { escape, tag } from './html.mjs';

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

function apply(style, codes) {
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 0) style = {};
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 22) style = { ...style, bold: false };
    else if (code >= 30 && code <= 37) style = { ...style, colour: COLOURS[code - 30] };
    else if (code >= 90 && code <= 97) style = { ...style, colour: COLOURS[code - 90] };
    else if (code === 39) style = { ...style, colour: undefined };
    else if (code === 38 || code === 48) {
      // 38;5;n is an indexed colour and 38;2;r;g;b a free one; of the first, the 16 basic ones are kept.
      if (code === 38 && codes[at + 1] === 5 && codes[at + 2] < 16) style = { ...style, colour: COLOURS[codes[at + 2] % 8] };
      at += codes[at + 1] === 5 ? 2 : 4;
    }
  }
  return style;
}

/** Terminal output as HTML. A carriage return starts its line afresh, as it does in a terminal. */
export function ansi(text) {
  const settled = text.replace(/\r\n/g, '\n').replace(/[^\n]*\r(?=[^\n])/g, '').replace(/\r/g, '');
  let style = {};
  let html = '';
  for (const piece of settled.split(/(\x1b\[[0-9;]*m)/)) {
    const sequence = /^\x1b\[([0-9;]*)m$/.exec(piece);
    if (sequence) style = apply(style, sequence[1].split(';').map(Number));
    else if (piece) {
      const clean = escape(piece.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, ''));
      const names = [style.colour && `ansi-${style.colour}`, style.bold && 'ansi-bold'].filter(Boolean).join(' ');
      html += names ? tag('span', { class: names }, clean) : clean;
    }
  }
  return html;
}
