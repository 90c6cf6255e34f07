// Tables that a cell printed: numbers are set flush right, words flush left, sentences get room, and ranges stay whole.
import { inlineCode } from './html.mjs';

const ROW = /<tr\b[^>]*>[\s\S]*?<\/tr>/gi;
const CELL = /<(td|th)\b([^>]*)>([\s\S]*?)<\/\1>/gi;
const WORDS = /<(td|th|p)\b([^>]*)>([\s\S]*?)<\/\1>/gi;
const NUMBER = /^[-+−±×<≥≤~]?\s*[\d.]/;
const ABSENT = /^(not run\b|never$|–$)/; // says that there is no number
const RANGE = /^([^()<>]*\d[^()<>]*?)\s*(\([^()<>]*\d to [^()<>]*\))$/; // 30.4 (30.3 to 30.5)
const COUNT = /(\d) (of|±) (?=\d)/g; // 3 of 20, 99.9 ± 0.1
const MANY = 4; // columns of ranges, for which a page is too narrow if range and mean share a line
const WIDE = 7; // columns in all, with which three columns of ranges are too many
const DENSE = 8; // columns in all, from which on they stand closer together
const SENTENCE = 60; // characters
const FIGURE = 14; // characters of a number with its unit, a range, a date or a name, which is not broken
const LABEL = 14; // characters of a row's label from which on the labels need room
const SHORT = 36; // characters of a cell that is not broken next to a column of sentences

const CODE = /`([^`<]+)`/g;
// No amount of money: no space within the signs, at either end. Quotations also have commands, indices and powers
// without them. Code and tags are found first, and stay.
const MATH = /<code\b[\s\S]*?<\/code>|<[^>]*>|\$(\S|\S[^$<&]*\S)\$|(\\[a-z]+\{\w+\}(?:[_^]\w)?)|(?<=\w)(?:_\{([\w/]+)\}|\^(\w)\b)/g;

const plain = (html) => html.replace(/<[^>]*>/g, '').trim();
const parts = (text, pattern) => [...text.matchAll(pattern)];
const marked = (attributes, kind) => (/\bclass="/.test(attributes) ? attributes.replace(/\bclass="/, `class="${kind} `) : `${attributes} class="${kind}"`);

/** What a column holds, "words" or "sentences"; nothing is said of numbers, and of columns that are empty. */
function kindOf(cells) {
  const filled = cells.map(plain).filter((cell) => cell && !ABSENT.test(cell));
  if (filled.length === 0 || filled.filter((cell) => NUMBER.test(cell) && cell.length <= SENTENCE).length * 2 >= filled.length) return undefined;
  if (filled.some((cell) => cell.length > SENTENCE)) return 'words sentences';
  return filled.every((cell) => cell.length <= SHORT) ? 'words short' : 'words long';
}

/** A table in which no range is broken: it follows its mean, or stands below it where there are many or little room. */
function ranged(table) {
  const rows = parts(table, ROW).map(([row]) => parts(row, CELL).map(([, , , inside]) => inside));
  const columns = Math.max(0, ...rows.map((cells) => cells.filter((inside) => RANGE.test(inside)).length));
  const many = columns >= MANY || (columns === MANY - 1 && rows[0].length > WIDE);
  const whole = table.replace(CELL, (cell, name, attributes, inside) => {
    const found = RANGE.exec(inside);
    const shown = found ? `${found[1]} <span class="range">${found[2]}</span>` : inside.replace(COUNT, '$1\u00a0$2\u00a0');
    return `<${name}${attributes}>${shown}</${name}>`;
  });
  return !columns ? whole : whole.replace(/^<table\b([^>]*)/i, (_, attributes) => `<table${marked(attributes, many ? 'ranged many' : 'ranged')}`);
}

/** The HTML with each table's cells marked by what their columns hold. pandas' frames have equally many cells in every row. */
export function aligned(html) {
  return html.replace(/<table\b[\s\S]*?<\/table>/gi, (one) => {
    const table = ranged(one);
    const rows = parts(table, ROW).map(([row]) => parts(row, CELL));
    const body = rows.map((cells) => cells.filter(([, name]) => name === 'td').map(([, , , inside]) => inside)).filter((cells) => cells.length);
    const width = body[0]?.length;
    if (!width || /\bcolspan=/.test(table) || body.some((cells) => cells.length !== width)) return table;
    const found = body[0].map((_, column) => kindOf(body.map((cells) => cells[column])));
    const alone = found.filter((kind) => kind === 'words short').length === 1; // of several, each may take two lines
    const dense = rows[0].length >= DENSE && !/^[^>]*\bmany\b/.test(table) ? table.replace(/^<table\b([^>]*)/i, (_, attributes) => `<table${marked(attributes, 'dense')}`) : table;
    const kinds = alone ? found : found.map((kind) => kind?.replace(' short', ''));
    const labelled = rows.some((cells) => cells.slice(0, cells.length - width).some(([, , , inside]) => plain(inside).length > LABEL));
    return dense.replace(ROW, (row) => {
      let column = width - parts(row, CELL).length; // labels of the rows stand before the columns
      return row.replace(CELL, (cell, name, attributes, inside) => {
        const short = plain(inside).length <= FIGURE && (NUMBER.test(plain(inside)) || !/\s/.test(plain(inside))); // a number with a unit, a name with hyphens
        const figure = !kinds[column] && short && /[ -]/.test(plain(inside)) && 'whole';
        const kind = column >= 0 ? kinds[column] || figure : plain(inside).length > SENTENCE ? 'sentences' : labelled && 'label';
        column += 1;
        return kind ? `<${name}${marked(attributes, kind)}>${inside}</${name}>` : cell;
      });
    });
  });
}

/** The HTML with what its cells and paragraphs have between backticks as code, and between dollar signs as `formula` sets it. */
export function worded(html, formula) {
  const set = (all, tex, bare, index, power) => (index ? `<sub>${index}</sub>` : power ? `<sup>${power}</sup>` : tex || bare ? formula(tex ?? bare) : all);
  return html.replace(WORDS, (_, name, attributes, inside) => `<${name}${attributes}>${inside.replace(CODE, (_, code) => inlineCode(code)).replace(MATH, set)}</${name}>`);
}
