// The page for an address that leads nowhere. It is served at any depth, so its own addresses start at the site's root.
import { tag } from './html.mjs';
import { layout } from './layout.mjs';
import { Page } from './render.mjs';

/** @param {object} site  @param {string} base the path below which the site lies: '' or '/book' */
export function notFound(site, base) {
  const page = new Page(site, { slug: '404', location: '404' });
  page.root = `${base}/`;
  const body = tag('p', {}, 'This address leads to no page of the book. It may have moved: the ', tag('a', { href: page.root }, 'start'),
    ' and the chapters beside this text lead on, and so does the search.');
  return layout(page, body, { title: 'No such page', robots: 'noindex' });
}
