// The document around a page's content: head, sidebar, title, references, footnotes, previous and next.
import { storedExplorables } from './explorables.mjs';
import { classes, escape, plain, tag } from './html.mjs';
import { policy } from './policy.mjs';
import { neighbours, pagePath } from './site.mjs';

// Before the first paint: a reader's own choice of light or dark, so that the page does not flash.
const EARLY = `try{var t=localStorage.getItem('book-theme');if(t)document.documentElement.dataset.theme=t}catch(e){}document.documentElement.classList.add('js')`;

const label = (entry) => [entry.number && tag('span', { class: 'number' }, escape(entry.number)), tag('span', {}, escape(entry.title))];

const LONGEST = 200; // characters of a description

/** What a page says of itself, or how it begins. */
function describe(page, { description }) {
  if (description) return description;
  const first = (node) => (node.type === 'paragraph' ? plain(node).replace(/\s+/g, ' ').trim() : node.children?.map(first).find(Boolean));
  const opening = first(page.mdast) ?? '';
  return opening.length <= LONGEST ? opening : `${opening.slice(0, opening.lastIndexOf(' ', LONGEST))} …`;
}

/** What other sites show of a page that is linked there. Their address and pictures are absolute, so they need a host. */
function sharing(page, name, description) {
  const { address } = page.site.publication;
  const property = (key, content) => content && tag('meta', { property: `og:${key}`, content });
  const here = address && address + pagePath(page.site, page.slug);
  return [
    address && tag('link', { rel: 'canonical', href: here }),
    property('type', page.slug === page.site.entries[0].slug ? 'website' : 'article'),
    property('site_name', page.site.title), property('title', name), property('description', description), property('url', here),
    address && property('image', `${address}card.png`), address && property('image:alt', page.site.title),
    tag('meta', { name: 'twitter:card', content: address ? 'summary_large_image' : 'summary' }),
  ];
}

function head(page, frontmatter) {
  const { title, robots } = frontmatter;
  const description = describe(page, frontmatter);
  const { root, site, uses } = page;
  const name = page.slug === site.entries[0].slug ? site.title : `${title} · ${site.title}`;
  const style = (href) => tag('link', { rel: 'stylesheet', href: `${root}${href}` });
  const font = (file) => tag('link', { rel: 'preload', href: `${root}vendor/fonts/${file}`, as: 'font', type: 'font/woff2', crossorigin: 'anonymous' });
  const script = (file) => tag('script', { src: `${root}${file}`, defer: true });
  return [
    '<meta charset="utf-8">',
    tag('meta', { 'http-equiv': 'Content-Security-Policy', content: policy([EARLY]) }),
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    tag('title', {}, escape(name)),
    description && tag('meta', { name: 'description', content: description }),
    robots ? tag('meta', { name: 'robots', content: robots }) : sharing(page, title ?? site.title, description),
    tag('link', { rel: 'icon', href: `${root}favicon.svg`, type: 'image/svg+xml' }),
    tag('script', {}, EARLY),
    font('source-serif-4-latin-wght-normal.woff2'),
    font('source-sans-3-latin-wght-normal.woff2'),
    style('vendor/fonts.css'),
    uses.math && style('vendor/katex/katex.css'),
    style('book.css'),
    script('book.js'),
    script('previews.js'),
    script('search.js'),
    uses.figures && script('figures.js'),
    uses.explorables && script('explorables.js'),
  ].flat().filter(Boolean).join('\n');
}

/** This page's sections, nested as their headings are. */
function outline(page) {
  const item = ({ id, number, title }) => tag('a', { href: `#${id}` }, number && tag('span', { class: 'number' }, escape(number)), tag('span', {}, title));
  const tree = [];
  for (const entry of page.outline) {
    if (entry.level === 2 || tree.length === 0) tree.push({ entry, below: [] });
    else tree.at(-1).below.push(entry);
  }
  if (tree.length === 0) return '';
  const items = tree.map(({ entry, below }) => tag('li', {}, item(entry), below.length > 0 && tag('ol', {}, below.map((child) => tag('li', {}, item(child))))));
  return tag('nav', { class: 'outline', 'aria-label': 'On this page' }, tag('ol', {}, items));
}

function chapters(page) {
  const { site, root, slug } = page;
  // Pages below another page are listed while one reads that branch, not beside every chapter.
  const above = (entry) => site.entries.slice(0, site.entries.indexOf(entry)).findLast(({ level }) => level < entry.level);
  const deep = (entry) => Boolean(entry.slug && above(entry)?.slug && !above(entry).landing);
  const branch = []; // the page and those above it
  for (let entry = site.entries.find((one) => one.slug === slug); entry; entry = above(entry)) branch.push(entry);
  const items = site.entries.filter((entry) => !deep(entry) || branch.includes(above(entry))).map((entry) => {
    if (!entry.slug) return tag('li', { class: 'part' }, escape(entry.title));
    const current = entry.slug === slug;
    const title = entry.landing ? { ...entry, title: 'Start' } : entry;
    const link = tag('a', { href: root + pagePath(site, entry.slug), 'aria-current': current && 'page' }, label(title));
    return tag('li', { class: classes(current && 'current', deep(entry) && 'deep') }, link, current && outline(page));
  });
  return tag('nav', { class: 'chapters', 'aria-label': 'Chapters' }, tag('ol', {}, items));
}

function header(page, frontmatter, tools) {
  const { site, slug } = page;
  const entry = site.entries.find((candidate) => candidate.slug === slug);
  const kicker = entry?.number && (/^\d/.test(entry.number) ? `Chapter ${entry.number}` : `Appendix ${entry.number}`);
  return tag('header', { class: 'title' },
    kicker && tag('p', { class: 'kicker', 'data-pagefind-meta': 'kicker' }, escape(kicker)),
    tag('h1', {}, escape(frontmatter.title ?? entry?.title)),
    frontmatter.subtitle && tag('p', { class: 'subtitle' }, escape(frontmatter.subtitle)), tools);
}

function references(page) {
  const { order = [], data = {} } = page.references.cite ?? {};
  const keys = [...new Set(order)].filter((key) => page.cited.has(key));
  if (keys.length === 0) return '';
  // In alphabetical order of authors: the citations are by author and year, so that is how one looks them up.
  const sorted = keys.sort((a, b) => data[a].html.localeCompare(data[b].html, 'en'));
  const items = sorted.map((key) => tag('li', { id: `ref-${key}` }, data[key].html.replace(/ target="_blank"/g, '')));
  return tag('section', { class: 'references', 'aria-labelledby': 'references' }, tag('h2', { id: 'references' }, 'References',
    tag('a', { class: 'permalink', href: '#references', 'aria-label': 'Link to the references' }, '#')), tag('ul', {}, items));
}

function footnotes(page) {
  const used = page.footnotes.filter((note) => page.footnoteUses.has(note.identifier)).sort((a, b) => a.enumerator - b.enumerator);
  if (used.length === 0) return '';
  const items = used.map(({ identifier, enumerator, html }) => {
    const back = tag('a', { class: 'back', href: `#fnref-${identifier}`, 'aria-label': `Back to where note ${enumerator} is called` }, '↩');
    const body = html.endsWith('</p>') ? `${html.slice(0, -4)} ${back}</p>` : `${html} ${back}`;
    return tag('li', { id: `fn-${identifier}`, value: enumerator }, body);
  });
  return tag('section', { class: 'footnotes', 'aria-label': 'Footnotes' }, tag('ol', {}, items));
}

function pager(page) {
  const { previous, next } = neighbours(page.site, page.slug);
  const link = (entry, relation, word) => entry && tag('a', { class: relation, rel: relation, href: page.root + pagePath(page.site, entry.slug) },
    tag('span', { class: 'direction' }, word), tag('span', { class: 'name' }, entry.number && `${escape(entry.number)}. `, escape(entry.landing ? 'Start' : entry.title)));
  if (!previous && !next) return '';
  return tag('nav', { class: 'pager', 'aria-label': 'Previous and next' }, link(previous, 'prev', 'Previous'), link(next, 'next', 'Next'));
}

/** The whole document for a page whose body has been rendered. */
export function layout(page, body, frontmatter, { templates = '', tools = '' } = {}) {
  const { site, root } = page;
  if (page.references.cite?.order?.length) page.outline.push(...(page.cited.size ? [{ id: 'references', level: 2, title: 'References' }] : []));
  const switcher = tag('button', { class: 'theme-switch', type: 'button', 'aria-label': 'Change between light and dark', title: 'Light or dark' }, '<span aria-hidden="true"></span>');
  const lens = '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="7" cy="7" r="4.6" fill="none" stroke="currentcolor" stroke-width="1.5"/><path d="m10.4 10.4 3.6 3.6" stroke="currentcolor" stroke-width="1.5" stroke-linecap="round"/></svg>';
  const search = tag('button', { class: 'search-open', type: 'button', 'aria-keyshortcuts': '/ Control+K' }, lens, tag('span', {}, 'Search'), '<kbd aria-hidden="true">/</kbd>');
  const home = tag('a', { class: 'home', href: root }, escape(site.title));
  const sidebar = tag('aside', { id: 'sidebar', popover: 'auto', 'aria-label': 'The book' }, tag('div', { class: 'sidebar-head' }, home, switcher), search, chapters(page));
  const bar = tag('header', { class: 'bar' }, tag('button', { type: 'button', class: 'menu', popovertarget: 'sidebar', 'aria-label': 'Chapters' }, '<span aria-hidden="true"></span>'), home, tag('button', { class: 'search-open', type: 'button', 'aria-label': 'Search' }, lens), switcher);
  const main = tag('main', { id: 'content' }, tag('article', {}, header(page, frontmatter, tools), body, footnotes(page), references(page)), pager(page));
  // No `</head>`: HTML allows it to be left out, and mystmd would put a redirect before it that breaks pages opened from disk.
  return `<!DOCTYPE html>\n<html lang="en">\n<head>\n${head(page, frontmatter)}\n<body>\n<a class="skip" href="#content">Skip to the text</a>\n${bar}\n<div class="book">\n${sidebar}\n${main}\n</div>\n${templates}\n${page.uses.explorables ? `${storedExplorables(page)}\n` : ''}</body>\n</html>\n`;
}
