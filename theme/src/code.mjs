// Code, highlighted when the page is made, so that the reader's browser has nothing to do.
import hljs from 'highlight.js/lib/common';
import { classes, escape, tag } from './html.mjs';

const PLAIN = new Set(['', 'text', 'txt', 'none', 'console', 'output']);
const ALIASES = { ipython3: 'python', ipython: 'python', pycon: 'python-repl', jsonc: 'json', toml: 'ini', myst: 'markdown' };

/** The code as HTML with `hljs-…` spans; a language that the highlighter lacks stays plain. */
export function highlight(code, language = '') {
  const name = ALIASES[language] ?? language;
  if (PLAIN.has(name) || !hljs.getLanguage(name)) return escape(code);
  return hljs.highlight(code, { language: name, ignoreIllegals: true }).value;
}

/** Cut highlighted HTML into lines: a span that crosses the line's end is closed there and opened again. */
export function splitLines(html) {
  const open = [];
  return html.split('\n').map((line) => {
    const before = open.join('');
    for (const [found] of line.matchAll(/<span[^>]*>|<\/span>/g)) {
      if (found === '</span>') open.pop();
      else open.push(found);
    }
    return before + line + '</span>'.repeat(open.length);
  });
}

/** A block of code. Its text can be copied; single lines can be numbered and emphasised. */
export function codeBlock(node) {
  const html = highlight(node.value, node.lang);
  const emphasised = new Set(node.emphasizeLines ?? []);
  const first = node.startingLineNumber ?? 1;
  const byLine = node.showLineNumbers || emphasised.size > 0;
  const body = byLine
    ? splitLines(html).map((line, index) => tag('span', { class: classes('line', emphasised.has(index + 1) && 'emphasised'), 'data-line': node.showLineNumbers && String(first + index) }, `${line}\n`)).join('')
    : html;
  return tag('div', { class: classes('code', node.showLineNumbers && 'with-numbers', node.class), 'data-language': node.lang, 'data-pagefind-weight': '0.2' },
    node.filename && tag('p', { class: 'filename' }, escape(node.filename)), tag('pre', {}, tag('code', {}, body)));
}
