// One page: its JSON from mystmd in, its document out.
import { bar, minutesToRead, rounded } from './facts.mjs';
import { layout } from './layout.mjs';
import { loadOutputs } from './outputs.mjs';
import { previews } from './previews.mjs';
import { linked, timed } from './prose.mjs';
import { Page } from './render.mjs';

/**
 * @param {object} site what `readSite` made of `/config.json`
 * @param {object} content a page's JSON (`/content/<slug>.json`)
 * @param {{fetchText?: (path: string) => Promise<string>, fetchPage?: (slug: string) => Promise<object>,
 *   note?: (line: string) => void}} options how to get the outputs that mystmd keeps in files and the other pages' JSON
 *   (without it, no previews of them), and where to say what is worth knowing
 * @returns {Promise<string>} the document
 * @throws {ContentError} for anything that cannot be shown faithfully
 */
export async function renderPage(site, content, { fetchText, fetchPage, note } = {}) {
  await loadOutputs(content.mdast, fetchText);
  const page = new Page(site, content, { note });
  for (const node of fetchPage ? timed(content.mdast).flatMap(linked) : []) {
    const slug = page.slugOf(node);
    if (slug && !page.minutes.has(slug)) page.minutes.set(slug, rounded(minutesToRead((await fetchPage(slug)).mdast)));
  }
  const body = page.render(content.mdast);
  const other = async (slug) => {
    const found = await fetchPage(slug);
    await loadOutputs(found.mdast, fetchText);
    return found;
  };
  const templates = fetchPage ? await previews(page, other) : '';
  const frontmatter = content.frontmatter ?? {};
  const file = frontmatter.exports?.find(({ format, url }) => format === 'ipynb' && url);
  const notebook = file && fetchText ? JSON.parse(await fetchText(file.url)) : undefined;
  const tools = bar(page, frontmatter, { mdast: content.mdast, notebook });
  return layout(page, body, frontmatter, { templates, tools });
}
