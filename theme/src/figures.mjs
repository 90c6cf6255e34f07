// Figures, images and tables, with their captions.
import { classes, plain, tag } from './html.mjs';

const part = (node, type) => node.children.find((child) => child.type === type);

/** A figure, table, listing or quotation: what it shows, then (for tables and listings: before it) its caption. */
function container(node, page) {
  const caption = part(node, 'caption');
  const shown = node.children.filter((child) => child !== caption);
  const id = page.claim(node);
  const around = page.container;
  page.container = id;
  const written = caption && page.render(caption);
  page.container = around;
  const above = node.kind === 'table' || node.kind === 'code';
  const outer = page.alternative;
  page.alternative = outer ?? (caption && plain(caption).trim());
  const body = shown.map((child) => page.render(child));
  page.alternative = outer;
  return tag('figure', { id, class: classes(`kind-${node.kind ?? 'figure'}`, node.class) },
    above && written, tag('div', { class: 'figure-body' }, body), !above && written);
}

function captionNumber(node, page) {
  const number = page.container ? tag('a', { class: 'self', href: page.local(page.container) }, page.children(node)) : page.children(node);
  return tag('span', { class: 'caption-number' }, number, ' ');
}

function image(node, page) {
  if (/^https?:/.test(node.url)) page.fail(node, `the image ${node.url} lies elsewhere; keep a copy beside the chapter`);
  const alt = node.alt ?? page.alternative;
  if (!alt) page.fail(node, `the image ${node.urlSource ?? node.url} has no alternative text; give it one (:alt: in a figure, ![text] in Markdown)`);
  const style = [node.width && `width: ${node.width}`, node.height && `height: ${node.height}`].filter(Boolean).join('; ');
  return tag('img', { src: page.asset(node.url), alt, style, class: classes(node.class, node.align && `align-${node.align}`), loading: 'lazy', decoding: 'async' });
}

function table(node, page) {
  const headLength = node.children.findIndex((row) => !row.children.every((cell) => cell.header));
  const cut = headLength === -1 ? node.children.length : headLength;
  const rows = (part) => part.map((row) => page.render(row));
  return tag('div', { class: 'scroll' }, tag('table', { class: node.class, id: page.claim(node) },
    cut > 0 && tag('thead', {}, rows(node.children.slice(0, cut))), tag('tbody', {}, rows(node.children.slice(cut)))));
}

function tableCell(node, page) {
  // mystmd wraps the cells of a list-table in paragraphs; a lone one is just the cell's text.
  const body = node.children.length === 1 && node.children[0].type === 'paragraph' ? page.children(node.children[0]) : page.children(node);
  const { colspan, rowspan } = node;
  return tag(node.header ? 'th' : 'td', { colspan, rowspan, class: node.align && `align-${node.align}`, scope: node.header ? 'col' : undefined }, body);
}

export const figures = {
  container,
  caption: (node, page) => tag('figcaption', {}, page.children(node)),
  legend: (node, page) => tag('div', { class: 'legend' }, page.children(node)),
  captionNumber,
  image,
  table,
  tableRow: (node, page) => tag('tr', {}, page.children(node)),
  tableCell,
};
