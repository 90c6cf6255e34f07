// Things that stand in a box: admonitions, exercises and solutions, theorems, dropdowns, tabs, cards, margin notes.
import { classes, escape, plain, tag } from './html.mjs';

const TONES = {
  note: 'note', important: 'note', seealso: 'note', tip: 'tip', hint: 'tip',
  attention: 'caution', caution: 'caution', warning: 'caution', danger: 'danger', error: 'danger',
};

function split(node) {
  const title = node.children.find((child) => child.type === 'admonitionTitle');
  return { title, body: node.children.filter((child) => child !== title) };
}

/** A box with a title; `dropdown` among its classes makes it one that folds. */
function box(node, page, { kind, title, id, tone }) {
  const names = (node.class ?? '').split(/\s+/);
  const folded = names.includes('dropdown');
  const attributes = { id, class: classes('box', kind, tone && `tone-${tone}`, names.filter((name) => name && name !== 'dropdown')) };
  const body = tag('div', { class: 'box-body' }, split(node).body.map((child) => page.render(child)));
  if (folded) return tag('details', { ...attributes, open: node.open }, tag('summary', { class: 'box-title' }, title), body);
  return tag('section', { ...attributes, 'aria-label': kind === 'admonition' ? undefined : plain(split(node).title) || undefined },
    title && tag('p', { class: 'box-title' }, title), body);
}

function admonition(node, page) {
  const { title } = split(node);
  const kind = node.kind ?? 'admonition';
  return box(node, page, { kind: 'admonition', title: title && page.children(title), tone: TONES[kind] ?? 'plain', id: page.claim(node) });
}

const LEVELS = { easy: '●○○', medium: '●●○', hard: '●●●' };

/** How hard an exercise is, and whether it changes an experiment: the classes that its author gave it. */
function marks(node) {
  const names = (node.class ?? '').split(/\s+/);
  const level = names.find((name) => Object.hasOwn(LEVELS, name));
  const words = [level && `${tag('span', { 'aria-hidden': 'true' }, LEVELS[level])} ${level}`, names.includes('change') && 'change, predict, run, explain'].filter(Boolean);
  return words.length > 0 && tag('span', { class: 'difficulty' }, words.join(' · '));
}

const capitalise = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** `Theorem 1 (Cover)`: what it is, its number, and its own title in brackets. */
function numbered(label) {
  return (node, page) => {
    const { title } = split(node);
    const word = label ?? capitalise(node.kind ?? 'proof');
    const number = node.enumerator && (label || node.kind !== 'proof') ? ` ${escape(node.enumerator)}` : '';
    const own = title && tag('span', { class: 'own-title' }, page.children(title));
    const id = page.claim(node);
    // What is clicked to unfold a box is no link beside that.
    const link = id && number && !/\bdropdown\b/.test(node.class ?? '');
    const head = tag('span', { class: 'box-label' }, link ? tag('a', { class: 'self', href: page.local(id) }, word, number) : word + number);
    return box(node, page, { kind: label ? label.toLowerCase() : `proof kind-${node.kind}`, title: [head, own, label && marks(node)].filter(Boolean).join(' '), id });
  };
}

function solution(node, page) {
  const { title } = split(node);
  return box(node, page, { kind: 'solution', title: title ? page.inline(title) : 'Solution', id: page.claim(node) });
}

function details(node, page) {
  const summary = node.children.find((child) => child.type === 'summary');
  const body = node.children.filter((child) => child !== summary).map((child) => page.render(child));
  return tag('details', { class: 'box dropdown', open: node.open, id: page.claim(node) },
    tag('summary', { class: 'box-title' }, summary ? page.children(summary) : 'More'), tag('div', { class: 'box-body' }, body));
}

// Radio buttons: they work by keyboard and without scripts; the script only keeps sets with the same `sync` together.
function tabSet(node, page) {
  const set = `tabs-${(page.tabs += 1)}`;
  const chosen = Math.max(0, node.children.findIndex((item) => item.selected));
  const tabs = node.children.map((item, index) => {
    const id = `${set}-${index + 1}`;
    const radio = tag('input', { type: 'radio', name: set, id, checked: index === chosen, 'data-sync': item.sync });
    return radio + tag('label', { for: id }, escape(item.title)) + tag('div', { class: 'tab-body' }, page.children(item));
  });
  return tag('div', { class: 'tabs', role: 'group', 'aria-label': node.children.map((item) => item.title).join(', ') }, tabs);
}

function card(node, page) {
  const title = node.children.find((child) => child.type === 'cardTitle');
  const body = node.children.filter((child) => child !== title).map((child) => page.render(child));
  const words = title && page.inline(title);
  const head = words && tag('p', { class: 'card-title' }, node.url ? tag('a', { href: page.href(node) }, words) : words);
  return tag('div', { class: classes('card', node.class) }, head, body);
}

function aside(node, page) {
  const { title, body } = split(node);
  return tag('aside', { class: classes('margin-note', node.class) },
    title && tag('p', { class: 'margin-title' }, page.children(title)), body.map((child) => page.render(child)));
}

export const boxes = {
  admonition,
  exercise: numbered('Exercise'),
  solution,
  proof: numbered(),
  details,
  tabSet,
  card,
  aside,
  header: (node, page) => tag('div', { class: 'card-header' }, page.children(node)),
  footer: (node, page) => tag('div', { class: 'card-footer' }, page.children(node)),
  grid: (node, page) => tag('div', { class: 'grid', style: `--columns: ${Math.max(...(node.columns ?? [2]))}` }, page.children(node)),
};
