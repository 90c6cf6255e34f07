// Bundle each explorable: its view.mjs and all that it imports become one ES module, bundle.js, beside it. A notebook
// stores that text, and the wheel carries it, since Colab has no node. `make explorables` runs this.
//
//     node theme/bundle.mjs [--check] [VIEW ...]
//
// Without VIEW, all explorables are bundled, those of the tests too. --check writes nothing and fails if a bundle is stale.
//
// `import source from './worker.mjs?worker'` gives the text of a classic script for a worker: the default export of that
// module, called with the worker's global object. A classic script, since a page opened from disk may start no other.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const FOLDERS = ['reservoir_book/explorables', 'tests/explorables'];
// Comments in a bundle name each source by its path below absWorkingDir, so the bytes do not depend on where a clone lies.
const OPTIONS = { bundle: true, write: false, charset: 'utf8', target: 'es2022', absWorkingDir: ROOT, logLevel: 'silent', metafile: true, loader: { '.wasm': 'binary' } };

const relativeOnly = {
  name: 'relative-only',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path: wanted }) => ({
      errors: [{ text: `${wanted} is not a relative path: a page loads nothing from elsewhere` }],
    }));
  },
};

const workers = {
  name: 'workers',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?worker$/ }, ({ path: wanted, resolveDir }) => ({
      // Below the root, for the bundle's comments name it.
      path: path.relative(ROOT, path.join(resolveDir, wanted.replace(/\?worker$/, ''))), namespace: 'worker',
    }));
    onLoad({ filter: /./, namespace: 'worker' }, async ({ path: file }) => {
      const contents = `import serve from './${path.basename(file)}';\nserve(self);\n`;
      const stdin = { contents, resolveDir: path.dirname(path.join(ROOT, file)), sourcefile: 'worker' };
      const { outputFiles } = await build({ ...OPTIONS, stdin, format: 'iife', plugins: [relativeOnly] });
      return { contents: outputFiles[0].text, loader: 'text' };
    });
  },
};

/** The text of one ES module that does what the module `view` and all that it imports do. */
async function bundled(view) {
  // The name of the output is only for the metafile: nothing is written.
  const { outputFiles, metafile } = await build({ ...OPTIONS, entryPoints: [view], outfile: 'bundle.js', format: 'esm', plugins: [workers, relativeOnly] });
  const [{ exports }] = Object.values(metafile.outputs);
  if (!exports.includes('default')) throw new Error(`${view} has no default export: end it with \`export default { render }\``);
  return outputFiles[0].text;
}

const views = () => FOLDERS.flatMap((folder) => fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true })
  .map((entry) => path.join(ROOT, folder, entry.name, 'view.mjs')).filter((view) => fs.existsSync(view)).sort());

const words = process.argv.slice(2);
const check = words.includes('--check');
const named = words.filter((word) => word !== '--check').map((word) => path.resolve(word));
let wrong = 0;
for (const view of named.length ? named : views()) {
  const to = path.join(path.dirname(view), 'bundle.js');
  const shown = path.relative(ROOT, to);
  try {
    const text = await bundled(view);
    const old = fs.existsSync(to) ? fs.readFileSync(to, 'utf8') : undefined;
    if (text === old) continue;
    if (check) throw new Error(`${shown} is stale: run make explorables`);
    fs.writeFileSync(to, text);
    console.log(shown);
  } catch (error) {
    wrong += 1;
    const told = error.errors?.map(({ text, location: at }) => (at ? `${at.file}:${at.line}: ${text}` : text));
    console.error((told ?? [error.message]).join('\n'));
  }
}
process.exitCode = wrong ? 1 : 0;
