// Running text: paragraphs, headings, lists, links, references, citations, footnotes, mathematics.
import { classes, escape, inlineCode, plain, tag } from './html.mjs';

const wrap = (name, attributes) => (node, page) => tag(name, { class: node.class, ...attributes }, page.children(node));

function heading(node, page) {
  const id = page.claim(node);
  const number = node.enumerator && tag('span', { class: 'number' }, escape(node.enumerator), ' ');
  const permalink = id && tag('a', { class: 'permalink', href: page.local(id), 'aria-label': `Link to the section ${plain(node)}` }, '#');
  const level = Math.min(node.depth, 6);
  if (id && (level === 2 || level === 3)) page.outline.push({ id, level, number: node.enumerator, title: page.inline(node) });
  return tag(`h${level}`, { id }, number, page.children(node), permalink);
}

function link(node, page) {
  const minutes = page.timed && page.minutes.get(page.slugOf(node));
  return minutes ? `${anchor(node, page)}&nbsp;${tag('span', { class: 'minutes' }, `(${minutes}&nbsp;min)`)}` : anchor(node, page);
}

/** What stands in a division of the class `with-minutes` has the reading time after each link, and its sum after a list's item. */
function division(node, page) {
  const outer = page.timed;
  page.timed ||= (node.class ?? '').includes('with-minutes');
  const html = tag('div', { class: node.class }, page.children(node));
  page.timed = outer;
  return html;
}

function sum(node, page) {
  const links = page.timed ? [...new Set(linked(node).map((one) => page.slugOf(one)))].map((slug) => page.minutes.get(slug)).filter(Boolean) : [];
  return links.length > 1 && ` ${tag('span', { class: 'minutes' }, `${links.reduce((a, b) => a + b)} minutes in all.`)}`;
}

/** All links in a tree. */
export const linked = (node) => (node.type === 'link' || node.type === 'crossReference' ? [node] : (node.children ?? []).flatMap(linked));

/** The divisions of a tree that show reading times. */
export const timed = (node) => (node.type === 'div' && (node.class ?? '').includes('with-minutes') ? [node] : (node.children ?? []).flatMap(timed));

function anchor(node, page) {
  return tag('a', { href: page.href(node), class: classes(node.class, /^https?:/.test(node.url) && 'external', node.internal && 'reference to-page') }, page.children(node));
}

function crossReference(node, page) {
  if (node.resolved === false || !(node.html_id || node.url)) page.fail(node, `the reference "${node.label ?? node.identifier}" leads nowhere`);
  return tag('a', { class: classes('reference', node.kind && `to-${node.kind.replace(/\W/g, '-')}`), href: page.href(node) }, page.children(node));
}

function cite(node, page) {
  const source = page.references.cite?.data?.[node.label];
  if (node.error || !source) page.fail(node, `the citation "${node.label}" is in no bibliography`);
  page.cited.add(node.label);
  const title = source.html.replace(/<[^>]*>/g, '').replace(/&amp;/g, '&');
  return tag('a', { class: 'citation', href: page.local(`ref-${node.label}`), title }, page.children(node));
}

function citeGroup(node, page) {
  const list = node.children.map((child) => page.render(child)).join('; ');
  return tag('span', { class: 'citations' }, node.kind === 'narrative' ? list : `(${list})`);
}

function footnoteReference(node, page) {
  const count = (page.footnoteUses.get(node.identifier) ?? 0) + 1;
  page.footnoteUses.set(node.identifier, count);
  const id = count === 1 ? `fnref-${node.identifier}` : `fnref-${node.identifier}-${count}`;
  const number = escape(node.enumerator);
  return tag('sup', { class: 'footnote' }, tag('a', { id, href: page.local(`fn-${node.identifier}`), 'aria-label': `Footnote ${number}` }, number));
}

// Definitions stand wherever the author put them; the layout shows them at the foot of the page.
function footnoteDefinition(node, page) {
  page.footnotes.push({ identifier: node.identifier, enumerator: Number(node.enumerator), html: page.children(node) });
  return '';
}

const SHORT = 20; // characters of a formula that stays in one line, and a few of its tags

function inlineMath(node, page) {
  if (!node.html) page.fail(node, `the formula "${node.value}" was not typeset`);
  page.uses.math = true;
  // Browsers break a line anywhere in a formula and between it and the full stop that follows.
  const shown = node.html.split('class="katex-html"').at(-1);
  const short = shown.replace(/<[^>]*>/g, '').length <= SHORT || shown.split('class="base"').length === 2;
  return tag('span', { class: classes('math', short && 'whole') }, node.html);
}

function math(node, page) {
  if (!node.html) page.fail(node, `the formula "${node.value}" was not typeset`);
  page.uses.math = true;
  const id = page.claim(node);
  const number = node.enumerator && tag('a', { class: 'equation-number', href: page.local(id), 'aria-label': `Link to equation ${node.enumerator}` }, `(${escape(node.enumerator)})`);
  return tag('div', { class: classes('equation', number && 'numbered'), id }, tag('div', { class: 'formula' }, node.html), number);
}

function list(node, page) {
  const start = node.ordered && node.start > 1 ? node.start : undefined;
  return tag(node.ordered ? 'ol' : 'ul', { start, class: classes(node.class, node.children.some((item) => 'checked' in item) && 'tasks') }, page.children(node));
}

function listItem(node, page) {
  const box = 'checked' in node && tag('input', { type: 'checkbox', disabled: true, checked: node.checked, 'aria-label': node.checked ? 'done' : 'to do' });
  // A list is tight or loose as a whole in HTML's eyes: a lone paragraph in an item needs no paragraph of its own.
  const body = node.children.map((child, index) => (child.type === 'paragraph' && index === 0 ? page.children(child) : page.render(child)));
  const loose = node.children.filter((child) => child.type === 'paragraph').length > 1;
  return tag('li', {}, box, loose ? page.children(node) : body, sum(node, page));
}

// The sign or unit stays on the line of its number, which may be an evaluated one that ends before this text.
const UNIT = /(?:^|(?<=[\d)])) (%|[kM]B\b)/g;

// mystmd takes a footnote without a definition for text, and says nothing of it.
function text(node, page) {
  const note = /\[\^[\w-]+\]/.exec(node.value);
  if (note) page.fail(node, `the footnote ${note[0]} has no definition`);
  return escape(node.value.replace(UNIT, '\u00a0$1'));
}

export const prose = {
  text,
  paragraph: wrap('p'),
  heading,
  strong: wrap('strong'),
  emphasis: wrap('em'),
  underline: wrap('u'),
  delete: wrap('del'),
  subscript: wrap('sub'),
  superscript: wrap('sup'),
  keyboard: wrap('kbd'),
  smallcaps: wrap('span', { class: 'smallcaps' }),
  inlineCode: (node) => inlineCode(escape(node.value)),
  break: () => '<br>',
  thematicBreak: () => '<hr>',
  span: wrap('span'),
  div: division,
  blockquote: wrap('blockquote'),
  abbreviation: (node, page) => tag('abbr', { title: node.title }, page.children(node)),
  si: (node) => `${escape(node.number)}&nbsp;${escape(node.alt ?? node.unit)}`,
  inlineExpression: (node, page) => (node.children?.length ? page.children(node)
    : page.fail(node, `the inline expression "${node.value}" has no recorded value`)),
  link,
  crossReference,
  cite,
  citeGroup,
  footnoteReference,
  footnoteDefinition,
  inlineMath,
  math,
  list,
  listItem,
  definitionList: wrap('dl'),
  definitionTerm: (node, page) => tag('dt', { id: page.claim(node) }, page.children(node)),
  definitionDescription: wrap('dd'),
  glossary: wrap('div', { class: 'glossary' }),
  include: (node, page) => page.children(node),
  comment: () => '',
};
