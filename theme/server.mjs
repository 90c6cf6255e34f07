// The theme's server. mystmd starts it with PORT, HOST, CONTENT_CDN_PORT and MODE set, asks it for every page, and saves
// the answers (`myst build --html`), or leaves it running for an author (`myst start`).
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gatherAssets } from './src/assets.mjs';
import { ContentError } from './src/errors.mjs';
import { renderPage } from './src/page.mjs';
import { pagePath, readSite, robots, sitemap } from './src/site.mjs';

const { PORT = '3000', HOST = 'localhost', CONTENT_CDN_PORT = '3100', MODE = 'app' } = process.env;
// Where the book is published: theme/build.py reads it from pyproject.toml.
const PUBLICATION = { repository: process.env.BOOK_REPOSITORY, tag: process.env.BOOK_TAG, address: process.env.BOOK_ADDRESS };
const THEME = path.dirname(fileURLToPath(import.meta.url));
const CONTENT = `http://${HOST}:${CONTENT_CDN_PORT}`;
const TYPES = {
  '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml',
  '.png': 'image/png', '.ico': 'image/x-icon', '.woff2': 'font/woff2', '.txt': 'text/plain', '.xml': 'application/xml',
};
// Asked for by mystmd besides the pages; the last two are other themes' files.
const STANDARD = { '/robots.txt': robots, '/sitemap.xml': sitemap, '/myst-theme.css': () => '', '/sitemap_style.xsl': () => '' };
const told = new Set();

const once = (line) => {
  if (told.has(line)) return;
  told.add(line);
  console.error(line);
};

async function fetchContent(url) {
  const answer = await fetch(CONTENT + url);
  if (!answer.ok) throw Object.assign(new Error(`the content server answers ${answer.status} for ${url}`), { status: answer.status });
  return answer;
}

const fetchJson = async (url) => (await fetchContent(url)).json();
const fetchText = async (url) => (await fetchContent(url)).text();

// Several pages refer to one. While an author writes (`myst start`) it may change; in a build it does not.
const pages = new Map();
function fetchPage(slug) {
  const known = MODE === 'static' && pages.get(slug);
  const page = known || fetchJson(`/content/${slug}.json`);
  pages.set(slug, page);
  return page;
}

async function answer(url) {
  const { pathname } = new URL(url, CONTENT);
  const extension = path.extname(pathname);
  if (Object.hasOwn(STANDARD, pathname)) {
    return { type: TYPES[extension], body: STANDARD[pathname](readSite(await fetchJson('/config.json'), PUBLICATION)) };
  }
  const file = path.join(THEME, 'public', path.normalize(pathname));
  if (extension && fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return { type: TYPES[extension], body: fs.readFileSync(file) };
  if (pathname.startsWith('/build/')) {
    const found = await fetchContent(pathname.slice('/build'.length));
    return { type: found.headers.get('content-type'), body: Buffer.from(await found.arrayBuffer()) };
  }
  if (extension === '.json') return { type: TYPES['.json'], body: await fetchText(`/content${pathname}`) };

  const site = readSite(await fetchJson('/config.json'), PUBLICATION);
  const wanted = pathname.replace(/^\/|\/$/g, '');
  const entry = site.entries.find(({ slug }) => slug && (slug === wanted || pagePath(site, slug).replace(/\/$/, '') === wanted));
  if (!entry) throw Object.assign(new Error(`${pathname} is no page of the book`), { status: 404 });
  // Pages address each other relatively, so a page has to be asked for at the address where it will lie.
  if (MODE !== 'static' && pathname !== `/${pagePath(site, entry.slug)}`) return { location: `/${pagePath(site, entry.slug)}` };
  const content = await fetchJson(`/content/${entry.slug}.json`);
  const note = (line) => once(`note: ${line}`);
  return { type: TYPES['.html'], body: await renderPage(site, content, { fetchText, fetchPage, note }) };
}

async function handle(request, response) {
  try {
    const { type, body, location } = await answer(request.url);
    if (location) response.writeHead(302, { location }).end();
    else response.writeHead(200, { 'content-type': Buffer.isBuffer(body) ? type ?? 'application/octet-stream' : `${type}; charset=utf-8` }).end(body);
  } catch (error) {
    // mystmd asks three times for a page that fails; once is enough to read why.
    if (error.status !== 404) once(error instanceof ContentError ? `⛔ ${error.message}` : `⛔ ${request.url}: ${error.stack}`);
    response.writeHead(error.status ?? 500, { 'content-type': 'text/plain; charset=utf-8' }).end(error.message);
  }
}

// mystmd leaves its theme running when it ends on an error. Without its content there is nothing to answer with.
function endWithContent() {
  let missed = 0;
  setInterval(async () => {
    missed = await fetch(CONTENT).then(() => 0, () => missed + 1);
    if (missed > 2) process.exit(0);
  }, 2000);
}

try {
  gatherAssets(THEME);
} catch (error) {
  console.error(`⛔ ${error.message}`);
  process.exit(1);
}
// mystmd waits for a line with this address before it asks for anything.
http.createServer(handle).listen(Number(PORT), HOST, () => {
  console.log(`The theme listens on http://${HOST}:${PORT}`);
  endWithContent();
});
