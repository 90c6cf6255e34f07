// What the pages load besides the theme's own files, gathered into `public/vendor`: fonts, KaTeX's style, plotly.js.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const FAMILIES = ['source-serif-4', 'source-sans-3', 'source-code-pro'];
const SUBSETS = /-(?:latin|latin-ext|greek)-wght-/;

function copy(from, to) {
  const { size, mtimeMs } = fs.statSync(from);
  const there = fs.statSync(to, { throwIfNoEntry: false });
  if (there?.size === size && there.mtimeMs >= mtimeMs) return;
  fs.mkdirSync(path.dirname(to), { recursive: true });
  // Copied beside and moved into place: two builds at once must not see half a file.
  const beside = `${to}.${process.pid}`;
  fs.copyFileSync(from, beside);
  fs.renameSync(beside, to);
}

function write(to, text) {
  if (fs.existsSync(to) && fs.readFileSync(to, 'utf8') === text) return;
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.writeFileSync(`${to}.${process.pid}`, text);
  fs.renameSync(`${to}.${process.pid}`, to);
}

/** The `@font-face` rules for the subsets that the book uses, and the files that they name. */
export function fontFaces(css) {
  const rules = [...css.matchAll(/\/\* \S+-wght-(?:normal|italic) \*\/\s*(@font-face \{[^}]*\})/g)]
    .map(([, rule]) => rule)
    .filter((rule) => SUBSETS.test(rule));
  const files = rules.map((rule) => /url\(\.\/files\/([^)]+)\)/.exec(rule)[1]);
  return { css: rules.join('\n').replaceAll('./files/', './fonts/'), files };
}

function fonts(modules, vendor) {
  let all = '';
  for (const family of FAMILIES) {
    const folder = path.join(modules, '@fontsource-variable', family);
    for (const style of family === 'source-code-pro' ? ['index.css'] : ['index.css', 'wght-italic.css']) {
      const { css, files } = fontFaces(fs.readFileSync(path.join(folder, style), 'utf8'));
      all += `${css}\n`;
      for (const file of files) copy(path.join(folder, 'files', file), path.join(vendor, 'fonts', file));
    }
  }
  write(path.join(vendor, 'fonts.css'), all);
}

// The version of KaTeX in package.json is the one inside mystmd, which wrote the HTML that this style is for.
function katex(modules, vendor) {
  const folder = path.join(modules, 'katex/dist');
  const css = fs.readFileSync(path.join(folder, 'katex.min.css'), 'utf8').replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[^"]*"\)/g, '');
  write(path.join(vendor, 'katex/katex.css'), css);
  for (const file of fs.readdirSync(path.join(folder, 'fonts'))) {
    if (file.endsWith('.woff2')) copy(path.join(folder, 'fonts', file), path.join(vendor, 'katex/fonts', file));
  }
}

function plotly(vendor) {
  const python = process.env.PYTHON || 'python3';
  const find = 'import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec("plotly").origin).parent / "package_data" / "plotly.min.js")';
  let file;
  try {
    file = execFileSync(python, ['-c', find], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    throw new Error(`plotly.js was not found: ${python} cannot import plotly. Activate the book's environment, or set PYTHON to its interpreter.`);
  }
  copy(file, path.join(vendor, 'plotly.min.js'));
}

/** Fill `public/vendor` below the theme's folder. Files that are there already stay. */
export function gatherAssets(theme) {
  const vendor = path.join(theme, 'public/vendor');
  const modules = path.join(theme, 'node_modules');
  fonts(modules, vendor);
  katex(modules, vendor);
  plotly(vendor);
}
