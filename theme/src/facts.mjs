// What the bar under a chapter's title says: how long it takes to read and to run, and where else it can be opened.
import { tag } from './html.mjs';

// A textbook is read slowly: words a minute, and seconds for what is not words.
const WORDS = 200;
const FORMULA = 10;
const FIGURE = 15;
const LINE_OF_CODE = 3;

const FOLDED = /\b(dropdown|solution)\b/;

/** Minutes to read a page, from its words, formulas, figures and visible lines of code; what is left out or folded away is not counted. */
export function minutesToRead(mdast) {
  let seconds = 0;
  const visit = (node) => {
    if (node.visibility === 'remove' || node.type === 'outputs' || node.type === 'comment' || node.type === 'details' || node.type === 'solution') return;
    if (node.type === 'admonition' && FOLDED.test(node.class)) return;
    if (node.type === 'code' && node.visibility === 'hide') return;
    if (node.type === 'text') seconds += ((node.value.match(/[\p{L}\p{N}][\p{L}\p{N}’'-]*/gu)?.length ?? 0) * 60) / WORDS;
    else if (node.type === 'math') seconds += FORMULA;
    else if (node.type === 'inlineMath') seconds += 60 / WORDS;
    else if (node.type === 'code') seconds += node.value.split('\n').filter((line) => line.trim()).length * LINE_OF_CODE;
    else if (node.type === 'container' && node.kind === 'figure') seconds += FIGURE;
    node.children?.forEach(visit);
  };
  visit(mdast);
  return seconds / 60;
}

/**
 * Seconds that a notebook's cells took when it was last executed, or undefined if it does not say: the processor time
 * that its last cell prints, which a busy machine does not change, or else the sum of its cells' recorded times.
 */
export function secondsToRun(notebook) {
  const last = notebook.cells.findLast(({ cell_type: type, outputs }) => type === 'code' && outputs?.length);
  const printed = last?.outputs.map(({ text = [] }) => [text].flat().join('')).join('');
  const total = /took (\d+) s of processor time/.exec(printed ?? '');
  if (total) return Number(total[1]);
  const times = notebook.cells.map(({ metadata }) => metadata?.execution).filter((times) => times?.['iopub.execute_input']);
  if (times.length === 0) return undefined;
  const ended = (cell) => Date.parse(cell['shell.execute_reply'] ?? cell['iopub.status.idle']);
  return times.reduce((sum, cell) => sum + (ended(cell) - Date.parse(cell['iopub.execute_input'])) / 1000, 0);
}

export const rounded = (minutes) => (minutes < 10 ? Math.max(1, Math.round(minutes)) : 5 * Math.round(minutes / 5));

// The plain twins of the notebooks: their folder in the site, and the branch to which they are published.
const TWINS = 'notebooks';

/** `{colab, binder, source}`: where a file of the published book can be opened; without a repository, nothing. */
export function elsewhere({ repository, tag: revision }, location, { source = location } = {}) {
  const [, owned] = /^https:\/\/github\.com\/([^/]+\/[^/]+?)\/?$/.exec(repository ?? '') ?? [];
  if (!owned || !location) return {};
  const path = location.replace(/^\//, '').split('/').map(encodeURIComponent).join('/');
  const where = revision || 'main';
  const twin = path.endsWith('.ipynb') && path.split('/').at(-1);
  return {
    colab: twin && `https://colab.research.google.com/github/${owned}/blob/${TWINS}/${twin}`,
    binder: twin && `https://mybinder.org/v2/gh/${owned}/${TWINS}?urlpath=lab/tree/${twin}`,
    source: `https://github.com/${owned}/blob/${where}/${source.replace(/^\//, '')}`,
  };
}

const ICONS = {
  run: '<path d="M4 2.8v10.4l9-5.2z"/>',
  download: '<path d="M8 2v8M4.6 6.8 8 10.2l3.4-3.4M2.5 13.5h11"/>',
  source: '<path d="M5.5 4 1.8 8l3.7 4M10.5 4l3.7 4-3.7 4"/>',
};
const icon = (name) => `<svg viewBox="0 0 16 16" aria-hidden="true">${ICONS[name]}</svg>`;

/** The bar itself. `notebook` is the notebook's JSON, where the page is one. */
export function bar(page, frontmatter, { mdast, notebook }) {
  const file = frontmatter.exports?.find(({ format, url }) => format === 'ipynb' && url);
  const paired = frontmatter.jupytext?.formats?.includes('md');
  const places = elsewhere(page.site.publication, page.location, { source: paired ? page.location.replace(/\.ipynb$/, '.md') : page.location });
  const twin = file && page.location.split('/').at(-1);
  const minutes = minutesToRead(mdast);
  const seconds = notebook && secondsToRun(notebook);
  const link = (href, name, words, more = {}) => href && tag('li', {}, tag('a', { href, ...more }, icon(name), words));
  const facts = [
    file && `${rounded(minutes)} min to read`,
    seconds !== undefined && (seconds < 1 ? 'runs in a second' : `${Math.round(seconds)} s to run`),
  ].filter(Boolean);
  const links = [
    link(places.colab, 'run', 'Colab', { 'aria-label': 'Open in Colab' }), link(places.binder, 'run', 'Binder', { 'aria-label': 'Open in Binder' }),
    link(twin && `${page.root}${TWINS}/${twin}`, 'download', 'Notebook', { download: twin, 'aria-label': 'Download the notebook' }),
    link(places.source, 'source', 'Source', { 'aria-label': 'View the source' }),
  ].filter(Boolean);
  const shown = [['', 'to learn from'], ['all', 'all'], ['none', 'none']].map(([value, words]) => tag('option', { value }, words));
  const folds = notebook?.cells.some(({ cell_type: type }) => type === 'code');
  if (folds) links.unshift(tag('li', { class: 'code-switch' }, tag('label', {}, 'Code: ', tag('select', {}, shown))));
  if (facts.length + links.length === 0) return '';
  return tag('ul', { class: 'tools' }, facts.map((fact) => tag('li', { class: 'fact' }, fact)), links);
}
