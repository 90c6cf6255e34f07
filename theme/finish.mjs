// What a built site lacks until all its pages stand: the search index. `node finish.mjs SITE`
import fs from 'node:fs';
import path from 'node:path';
import { close, createIndex } from 'pagefind';

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
  return added.page_count;
}

try {
  console.log(`${await search(process.argv[2])} pages can be searched`);
} catch (error) {
  console.error(`the search index was not made: ${error.message}`);
  process.exit(1);
}
