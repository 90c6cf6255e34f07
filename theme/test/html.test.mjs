import assert from 'node:assert/strict';
import test from 'node:test';
import { ansi } from '../src/ansi.mjs';
import { fontFaces } from '../src/assets.mjs';
import { highlight, splitLines } from '../src/code.mjs';
import { escape, plain, tag } from '../src/html.mjs';

test('text and attributes are escaped', () => {
  assert.equal(escape('<a href="x">&\'</a>'), '&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;');
  assert.equal(tag('p', { title: '"><script>' }, 'x'), '<p title="&quot;&gt;&lt;script&gt;">x</p>');
});

test('attributes without a value are left out, an empty alt stays', () => {
  assert.equal(tag('img', { alt: '', class: undefined, id: null, hidden: false, lazy: true }), '<img alt="" lazy>');
});

test('plain text leaves out numbers and notes', () => {
  assert.equal(plain([{ type: 'captionNumber', children: [{ value: 'Figure 1' }] }, { children: [{ value: 'a' }, { value: 'b' }] }]), 'ab');
});

test('highlighting keeps every character', () => {
  const code = 'def f(x: int) -> str:\n    """Say <b>&</b>."""\n    return f"{x!r}" # <-\n';
  const back = highlight(code, 'python').replace(/<[^>]*>/g, '').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&#x27;/g, "'").replace(/&amp;/g, '&');
  assert.equal(back, code);
});

test('a language that nobody knows stays plain', () => {
  assert.equal(highlight('a < b', 'klingon'), 'a &lt; b');
});

test('every line of highlighted code closes the spans that it opens', () => {
  const lines = splitLines(highlight('"""one\ntwo\nthree"""\nx = 1', 'python'));
  assert.equal(lines.length, 4);
  for (const line of lines) assert.equal(line.match(/<span/g)?.length ?? 0, line.match(/<\/span>/g)?.length ?? 0);
  assert.match(lines[1], /hljs-string/);
});

test('terminal colours become classes and nothing else survives', () => {
  assert.equal(ansi('\x1b[1;31mno\x1b[0m <yes>'), '<span class="ansi-red ansi-bold">no</span> &lt;yes&gt;');
  assert.equal(ansi('\x1b[38;5;196mx\x1b[39m\x1b[2K'), 'x');
  assert.equal(ansi('\x1b[48;2;1;2;3;32mx'), '<span class="ansi-green">x</span>');
});

test('a carriage return overwrites its line, as in a terminal', () => {
  assert.equal(ansi('10%\r50%\r100%\ndone\r\n'), '100%\ndone\n');
});

test('only the subsets that the book uses are kept of a font', () => {
  const face = (subset) => `/* f-${subset}-wght-normal */\n@font-face {\n  src: url(./files/f-${subset}-wght-normal.woff2) format('woff2');\n}\n`;
  const { css, files } = fontFaces(['cyrillic-ext', 'greek-ext', 'greek', 'latin-ext', 'latin'].map(face).join('\n'));
  assert.deepEqual(files, ['f-greek-wght-normal.woff2', 'f-latin-ext-wght-normal.woff2', 'f-latin-wght-normal.woff2']);
  assert.match(css, /url\(\.\/fonts\/f-latin-wght-normal\.woff2\)/);
});
