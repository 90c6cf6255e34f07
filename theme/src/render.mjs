// From a page's tree to its HTML: one function per node type, and an error for a type that has none.
import { boxes } from './boxes.mjs';
import { cells, visible } from './cells.mjs';
import { ContentError } from './errors.mjs';
import { widgetStates } from './explorables.mjs';
import { figures } from './figures.mjs';
import { outputs } from './outputs.mjs';
import { foldResults, predictions } from './predictions.mjs';
import { prose } from './prose.mjs';
import { pagePath, rootFrom } from './site.mjs';

export const renderers = { root: (node, page) => page.children(foldResults(node, page)), ...prose, ...boxes, ...figures, ...cells, ...outputs, ...predictions };

/** What the renderers share while one page is made: where it lies, and what the layout will need to know of it. */
export class Page {
  /** `from` is the page to show a piece of this one on: addresses are then written as from there. */
  constructor(site, content, { note = () => {}, from } = {}) {
    this.site = site;
    this.slug = content.slug;
    this.mdast = content.mdast ?? { children: [] };
    this.location = content.location ?? content.slug;
    this.shownOn = from?.slug ?? content.slug;
    this.root = rootFrom(site, this.shownOn);
    this.references = content.references ?? {};
    this.note = note;
    this.outline = []; // {id, level, number, title}
    this.footnotes = []; // {identifier, enumerator, html}
    this.footnoteUses = new Map();
    this.cited = new Set();
    this.elsewhere = new Map(); // address -> {slug, id} of what it means on another page
    this.uses = { math: false, figures: false, explorables: false };
    this.widgets = widgetStates(content);
    this.explorables = new Map(); // id -> its stored model
    this.minutes = new Map(); // slug of another page -> minutes to read it, where this page shows them
    this.timed = false; // whether links are followed by those minutes just now
    this.tabs = 0;
    this.ids = new Set();
    this.container = undefined; // the id of the figure or table whose caption is being written
    this.alternative = undefined; // the text for a figure without one of its own: its cell's `alt`, its caption
  }

  render(node) {
    const renderer = Object.hasOwn(renderers, node.type) ? renderers[node.type] : undefined;
    if (!renderer) this.fail(node, `the theme does not know the node type "${node.type}"`);
    return renderer(node, this);
  }

  children(node) {
    return (node.children ?? []).map((child) => this.render(child)).join('');
  }

  /** A title's inline content without its links, so that it can stand inside another link. */
  inline(node) {
    return this.children(node).replace(/<a\b[^>]*>|<\/a>/g, '').replace(/ id="[^"]*"/g, '');
  }

  visible(node, label, render) {
    return visible(node, label, render);
  }

  fail(node, message) {
    throw new ContentError(this, node, message);
  }

  /** The node's id for the page, once: content that is embedded a second time gets none. */
  claim(node) {
    const id = node.html_id ?? node.identifier;
    if (!id || this.ids.has(id)) return undefined;
    this.ids.add(id);
    return id;
  }

  /** The address of something on this page, wherever it is shown. */
  local(id) {
    return this.#address(this.slug, id);
  }

  /** The address of a file that came with the content; mystmd puts them all into `build/`. */
  asset(url) {
    return `${this.root}build${url}`;
  }

  /** The address that a link or reference points at, relative to this page. */
  href(node) {
    const { url = '', html_id: target } = node;
    if (node.type === 'crossReference') {
      return this.#address(this.#slugOf(node, url) ?? this.slug, target ?? node.identifier);
    }
    if (node.static) return this.asset(url);
    if (node.internal) {
      const [path, hash] = url.split('#');
      return this.#address(this.#slugOf(node, path), hash);
    }
    if (/^(https?:|mailto:|#)/.test(url)) return url;
    return this.fail(node, `the link "${node.urlSource ?? url}" leads to no page or file of the book`);
  }

  /** The page of the book that a link leads to, or undefined. */
  slugOf(node) {
    return node.internal || node.type === 'crossReference' ? this.#slugOf(node, (node.url ?? '').split('#')[0]) : undefined;
  }

  #address(slug, id) {
    const hash = id ? `#${id}` : '';
    if (slug === this.shownOn && hash) return hash;
    const address = this.root + pagePath(this.site, slug) + hash;
    this.elsewhere.set(address, { slug, id });
    return address;
  }

  #slugOf(node, url) {
    if (!url) return undefined;
    const wanted = url.replace(/^\/+|\/+$/g, '');
    if (wanted === '') return this.site.entries[0].slug;
    const found = this.site.entries.find((entry) => entry.slug && (entry.slug === wanted || entry.slug.replaceAll('.', '/') === wanted));
    return found ? found.slug : this.fail(node, `"${url}" is no page of the book`);
  }
}
