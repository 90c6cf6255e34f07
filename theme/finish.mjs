// What a built site lacks until all its pages stand: the search index, and the page for addresses that lead nowhere.
// `node finish.mjs SITE BASE`, where BASE is the path below which a host serves the site: '' or '/book'.
import fs from 'node:fs';
import path from 'node:path';
import { close, createIndex } from 'pagefind';
import { notFound } from './src/notfound.mjs';
import { readSite } from './src/site.mjs';

// Formulas are written twice (to be seen and to be read out), and nobody searches for what a cell printed.
const UNSEARCHED = ['.katex-html', 'annotation', '.outputs', '.tools', '.number', '.permalink', '.copy', '.back', '.kicker', '.references', 'script', 'template'];

/** Index the articles below `site` into `site/pagefind`, without the search pages that pagefind would add of its own. */
async function search(site) {
  const { index, errors } = await createIndex({ rootSelector: 'article', excludeSelectors: UNSEARCHED, forceLanguage: 'en' });
  if (!index) throw new Error(errors.join('; '));
  const added = await index.addDirectory({ path: site, glob: '**/index.html' });
  const { files, errors: failed } = await index.getFiles();
  const problems = [...added.errors, ...failed];
  if (problems.length) throw new Error(problems.join('; '));
  for (const { path: name, content } of files) {
    if (/ui|playground|highlight/.test(name)) continue;
    const to = path.join(site, 'pagefind', name);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, content);
  }
  await close();
}

const [, , site, base = ''] = process.argv;
try {
  await search(site);
} catch (error) {
  console.error(`the search index was not made: ${error.message}`);
  process.exit(1);
}
const config = JSON.parse(fs.readFileSync(path.join(site, 'config.json'), 'utf8'));
fs.writeFileSync(path.join(site, '404.html'), notFound(readSite(config), base));
