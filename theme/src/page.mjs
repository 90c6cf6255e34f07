// One page: its JSON from mystmd in, its document out.
import { layout } from './layout.mjs';
import { loadOutputs } from './outputs.mjs';
import { Page } from './render.mjs';

/**
 * @param {object} site what `readSite` made of `/config.json`
 * @param {object} content a page's JSON (`/content/<slug>.json`)
 * @param {{fetchText?: (path: string) => Promise<string>, note?: (line: string) => void}} options how to get the outputs
 *   that mystmd keeps in files, and where to say what is worth knowing
 * @returns {Promise<string>} the document
 * @throws {ContentError} for anything that cannot be shown faithfully
 */
export async function renderPage(site, content, { fetchText, note } = {}) {
  await loadOutputs(content.mdast, fetchText);
  const page = new Page(site, content, { note });
  const body = page.render(content.mdast);
  return layout(page, body, content.frontmatter ?? {});
}
