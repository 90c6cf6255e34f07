// What a reference to another page shows before one follows it. Those to this page are cut out of it by the browser;
// these are written into the page as templates, so that they cost no request and work from disk.
import { escape, tag } from './html.mjs';
import { Page } from './render.mjs';

const BLOCKS = 2; // of a section, after its heading

/** The node with the id `id` below `tree`, with its siblings: `{node, siblings}`, or undefined. */
function find(tree, id) {
  for (const node of tree.children ?? []) {
    if ((node.html_id ?? node.identifier) === id && node.type !== 'crossReference' && node.type !== 'cite') return { node, siblings: tree.children };
    const below = find(node, id);
    if (below) return below;
  }
  return undefined;
}

/** The nodes that say what a target is: a heading with the blocks that follow, a term with its meaning, else itself. */
function excerpt({ node, siblings }) {
  const at = siblings.indexOf(node);
  if (node.type === 'heading') {
    const end = siblings.findIndex((other, index) => index > at && other.type === 'heading');
    return siblings.slice(at, end === -1 ? undefined : end).slice(0, 1 + BLOCKS);
  }
  if (node.type === 'definitionTerm') {
    const end = siblings.findIndex((other, index) => index > at && other.type === 'definitionTerm');
    return siblings.slice(at, end === -1 ? undefined : end);
  }
  return [node];
}

/** A page in brief: its number and title, and how it describes itself or begins. */
function summary(page, content) {
  const entry = page.site.entries.find(({ slug }) => slug === content.slug);
  const { title, description } = content.frontmatter ?? {};
  const first = (node) => (node.type === 'paragraph' ? node : node.children?.map(first).find(Boolean));
  const opening = description ? escape(description) : page.children(first(content.mdast) ?? {});
  return tag('p', { class: 'preview-title' }, entry?.number && `${escape(entry.number)}. `, escape(title ?? entry?.title ?? '')) + tag('p', {}, opening);
}

/**
 * Templates for everything that `page` refers to on other pages.
 *
 * @param {Page} page a page that has been rendered
 * @param {(slug: string) => Promise<object>} fetchPage another page's JSON, its outputs loaded
 * @returns {Promise<string>} the templates, each with the address it stands for in `data-for`
 */
export async function previews(page, fetchPage) {
  const made = [];
  for (const [address, { slug, id }] of page.elsewhere) {
    const content = await fetchPage(slug);
    const other = new Page(page.site, content, { from: page });
    const found = id && find(content.mdast, id);
    if (id && !found) continue;
    const html = found ? excerpt(found).map((node) => other.render(node)).join('') : summary(other, content);
    page.uses.math ||= other.uses.math;
    page.uses.figures ||= other.uses.figures;
    made.push(tag('template', { 'data-for': address }, html.replace(/ (?:id|aria-labelledby)="[^"]*"/g, '')));
  }
  return made.join('\n');
}

