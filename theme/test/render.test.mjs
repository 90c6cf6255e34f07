import assert from 'node:assert/strict';
import test from 'node:test';
import katex from 'katex';
import { ContentError } from '../src/errors.mjs';
import { aligned, worded } from '../src/frames.mjs';
import { minutesToRead } from '../src/facts.mjs';
import { renderPage } from '../src/page.mjs';
import { chapterNumber, neighbours, pagePath, readSite, rootFrom } from '../src/site.mjs';
import { content, node, output, site, text } from './pages.mjs';

const fails = (children, message, rest) => assert.rejects(renderPage(site, content(children, rest)), (error) => {
  assert.ok(error instanceof ContentError, String(error.stack));
  assert.match(error.message, message);
  assert.match(error.message, /^chapters\/03-one\.ipynb/);
  return true;
});

test('a chapter has the number that its file carries', () => {
  assert.deepEqual(['chapters/03-one.ipynb', 'A1-claims.md', 'B-errata.ipynb', 'index.md', 'chapters/plain-name.md'].map(chapterNumber), ['3', 'A1', 'B', undefined, undefined]);
  assert.deepEqual(site.entries.map(({ slug, number }) => [slug, number]), [['index', undefined], [undefined, undefined], ['one', '3'], ['two', 'A']]);
});

test('pages address each other relatively, whatever their depth', () => {
  assert.deepEqual(['index', 'one'].map((slug) => [pagePath(site, slug), rootFrom(site, slug)]), [['', './'], ['one/', '../']]);
  assert.equal(rootFrom(site, 'part.deep'), '../../');
});

test('previous and next follow the reading order and skip the titles of parts', () => {
  assert.equal(neighbours(site, 'index').next.slug, 'one');
  assert.equal(neighbours(site, 'one').previous.slug, 'index');
  assert.equal(neighbours(site, 'two').next, undefined);
});

test('a node type without a renderer is an error that names it, its file and its line', async () => {
  await fails([{ type: 'hologram', position: { start: { line: 7 } } }], /03-one\.ipynb:7: .*"hologram"/);
  await fails([{ type: 'constructor' }], /"constructor"/); // not something that every object inherits
});

test('a reference that leads nowhere is an error', async () => {
  await fails([node('crossReference', [], { identifier: 'x', label: 'x', resolved: false })], /"x" leads nowhere/);
  await fails([node('cite', [], { label: 'nobody2020' })], /nobody2020/);
  await fails([node('link', [text('x')], { url: 'gone.md' })], /gone\.md/);
  await fails([text('A claim[^gone].')], /\[\^gone\]/);
});

test('an image without a text, or from elsewhere, is an error', async () => {
  await fails([{ type: 'image', url: '/a.png' }], /alternative text/);
  await fails([{ type: 'image', url: 'https://example.org/a.png', alt: 'a' }], /example\.org/);
});

test('text from the content cannot become markup', async () => {
  const html = await renderPage(site, content([node('paragraph', [text('<script>alert(1)</script>')])], { frontmatter: { title: '<b>' } }));
  assert.ok(!html.includes('<script>alert'));
  assert.ok(html.includes('<h1>&lt;b&gt;</h1>'));
});

test('an id stands once, however often its content is embedded', async () => {
  const figure = node('container', [node('paragraph', [text('x')])], { kind: 'figure', html_id: 'fig' });
  const html = await renderPage(site, content([figure, figure]));
  assert.equal(html.match(/id="fig"/g).length, 1);
});

test('footnotes and cited sources are listed, the others are not', async () => {
  const data = Object.fromEntries(['a', 'b'].map((key) => [key, { html: `Source ${key}` }]));
  const html = await renderPage(site, content([
    node('paragraph', [node('cite', [text('A')], { label: 'a' }), { type: 'footnoteReference', identifier: 'n', enumerator: '1' }]),
    node('footnoteDefinition', [node('paragraph', [text('The note.')])], { identifier: 'n', enumerator: '1' }),
  ], { references: { cite: { order: ['a', 'b'], data } } }));
  assert.match(html, /id="ref-a"/);
  assert.doesNotMatch(html, /id="ref-b"/);
  assert.match(html, /<li id="fn-n" value="1"><p>The note\. <a class="back" href="#fnref-n"/);
});

test('the outline lists the sections, with links that stand alone', async () => {
  const title = [text('On '), node('link', [text('links')], { url: 'https://example.org' })];
  const html = await renderPage(site, content([node('heading', title, { depth: 2, html_id: 'on-links', enumerator: '1' })]));
  assert.match(html, /<a href="#on-links"><span class="number">1<\/span><span>On links<\/span><\/a>/);
});

test('the best form of an output is shown', async () => {
  const plotly = JSON.stringify({ data: [], layout: { title: { text: 'A </script> title' } } });
  const shown = (data) => renderPage(site, content([output(data)]));
  const figure = await shown({ 'application/vnd.plotly.v1+json': { content: plotly }, 'text/html': { content: '<p>page</p>' } });
  assert.match(figure, /class="plotly-figure"/);
  assert.doesNotMatch(figure, /<p>page/);
  assert.equal(figure.match(/A <\/script>/), null);
  assert.match(await shown({ 'text/html': { content: '<b>frame</b>' }, 'text/plain': { content: 'frame' } }), /<b>frame<\/b>/);
});

test('in a printed table numbers stand flush right, words flush left, and ranges are whole', () => {
  const long = 'A sentence about what the sources claim that is longer than sixty characters.';
  const frame = aligned(`<table class="dataframe"><thead><tr style="x"><th></th><th>BLEU</th><th class="c">claim</th><th>run</th></tr></thead><tbody>
    <tr><th>one</th><td>31.5 (30 to 32)</td><td>${long}</td><td>x/y</td></tr>
    <tr><th>two</th><td>not run</td><td class="data">short</td><td></td></tr></tbody></table>`);
  assert.match(frame, /^<table class="ranged dataframe">/);
  assert.match(frame, /<th>one<\/th><td>31\.5 <span class="range">\(30 to 32\)<\/span><\/td>/);
  assert.match(frame, /<th><\/th><th>BLEU<\/th><th class="words sentences c">claim<\/th><th class="words short">run<\/th>/);
  assert.match(frame, /<td class="words sentences">A sentence/);
  assert.match(frame, /<td>not run<\/td><td class="words sentences data">short<\/td><td class="words short"><\/td>/);
  assert.match(aligned(`<table><tr><th>${long}</th><td>not run yet</td></tr></table>`), /<th class="sentences">A sentence[^<]*<\/th><td>not run yet/);
  assert.match(aligned('<table><tr><td>9 of 20</td></tr></table>'), /<td>9\u00a0of\u00a020<\/td>/);
  assert.match(aligned('<table><tr><td>99.9 ± 0.1</td></tr></table>'), /<td>99\.9\u00a0±\u00a00\.1<\/td>/);
  assert.match(aligned('<table><tr><th>a label of 16 c.</th><td>2026-11-28</td></tr></table>'), /<th class="label">a label of 16 c\.<\/th><td class="whole">2026/);
  const four = '<td>1 (one run)</td>' + '<td>95.1 (94.8 to 95.5)</td>'.repeat(4);
  assert.match(aligned(`<table><tr>${four}</tr></table>`), /^<table class="ranged many"><tr><td class="whole">1 \(one run\)<\/td><td>95\.1 <span/);
  const apart = '<table><tr><th colspan="2">both</th></tr><tr><td>a</td><td>b</td></tr></table>';
  assert.equal(aligned(apart), apart);
  assert.equal(aligned('<b>no table</b>'), '<b>no table</b>');
  const three = '<td>95.1 (94.8 to 95.5)</td>'.repeat(3);
  assert.match(aligned(`<table><tr><th>a</th>${three}</tr></table>`), /^<table class="ranged">/);
  assert.match(aligned(`<table><tr>${'<td>1</td>'.repeat(5)}${three}</tr></table>`), /^<table class="ranged many">/);
  assert.match(aligned(`<table><tr>${'<td>1</td>'.repeat(8)}</tr></table>`), /^<table class="dense"><tr><td>1</);
  assert.match(aligned(`<table><tr><td>36 ${long}</td></tr><tr><td>words</td></tr></table>`), /<td class="words sentences">36/);
  const verdict = '<td>cannot tell</td>';
  assert.match(aligned(`<table><tr><th>${long}</th>${verdict}</tr></table>`), /<td class="words short">cannot tell/);
  assert.match(aligned(`<table><tr><th>${long}</th>${verdict}${verdict}</tr></table>`), /<td class="words">cannot tell/);
});

test('code and formulas of printed cells and paragraphs are set, and sums of money are not', () => {
  const formula = (tex) => `<i>${tex}</i>`;
  assert.equal(worded('`x`<p>`x`</p><tr><th class="a">as `a/b` of $\\sqrt{x}$</th><td>from $5 to $6 by \\mathbf{W}_1, p^2 of Base_{small}, `a --b-c`, `a^2` <a href="x^2">x^2</a></td></tr>', formula),
    '`x`<p><code>x</code></p><tr><th class="a">as <code>a/b</code> of <i>\\sqrt{x}</i></th><td>from $5 to $6 by <i>\\mathbf{W}_1</i>, p<sup>2</sup> of Base<sub>small</sub>, <code>a <span class="whole">--b-c</span></code>, <code>a^2</code> <a href="x^2">x<sup>2</sup></a></td></tr>');
});

test('only a page with figures loads their script', async () => {
  const plotly = { 'application/vnd.plotly.v1+json': { content: '{"data":[]}' } };
  assert.match(await renderPage(site, content([output(plotly)])), /figures\.js/);
  assert.doesNotMatch(await renderPage(site, content([])), /figures\.js/);
});

test('columns of spaces are not broken, long lines are', async () => {
  const printed = (value) => renderPage(site, content([node('outputs', [{ type: 'output', jupyter_data: { output_type: 'stream', name: 'stdout', text: value } }])]));
  assert.match(await printed('one    1\ntwo   22\n'), /class="output-text stdout columns"/);
  assert.match(await printed('one    1\none line alone'), /class="output-text stdout"/);
  assert.match(await printed(`one    1\ntwo   22\n${'word '.repeat(20)}`), /class="output-text stdout"/);
});

test('a short formula stays in one line, with what follows it', async () => {
  const formula = (value) => renderPage(site, content([node('paragraph', [{ type: 'inlineMath', value, html: katex.renderToString(value) }, text('.')])]));
  assert.match(await formula('(m, -k)'), /<span class="math whole"><span class="katex">/);
  assert.match(await formula('a = b + c + d + e + f + g + h + i + j + k + l'), /<span class="math"><span class="katex">/);
});

test('what a cell prints in pieces is shown as one, and what it prints to another stream is not', async () => {
  const piece = (name, text) => ({ type: 'output', jupyter_data: { output_type: 'stream', name, text } });
  const html = await renderPage(site, content([node('outputs', [piece('stdout', 'one\n'), piece('stdout', 'two\n'), piece('stderr', 'a warning\n')])]));
  assert.equal(html.match(/class="output-text/g).length, 2);
  assert.match(html, /one\ntwo\n/);
});

test('outputs that mystmd keeps in files are fetched', async () => {
  const stream = node('outputs', [{ type: 'output', jupyter_data: { output_type: 'stream', name: 'stdout', text: 'sh...', path: '/long.txt' } }]);
  const html = await renderPage(site, content([stream]), { fetchText: async (path) => `all of ${path}` });
  assert.match(html, /<pre>all of \/long\.txt<\/pre>/);
});

test('a widget is shown by its text, and that is said', async () => {
  const notes = [];
  const widget = { 'application/vnd.jupyter.widget-view+json': { content: '{"model_id":"abc"}' }, 'text/plain': { content: 'Drag to see.' } };
  const widgets = { 'application/vnd.jupyter.widget-state+json': { state: { abc: { model_module: '@jupyter-widgets/controls', state: {} } } } };
  const html = await renderPage(site, content([output(widget)], { widgets }), { note: (line) => notes.push(line) });
  assert.match(html, /data-model="abc"><p>Drag to see\./);
  assert.match(notes[0], /abc/);
});

test('a widget whose state was not stored is an error: an explorable would be gone', async () => {
  const view = { 'application/vnd.jupyter.widget-view+json': { content: '{"model_id":"new"}' }, 'text/plain': { content: 'Drag to see.' } };
  const widgets = { 'application/vnd.jupyter.widget-state+json': { state: { old: { model_module: 'anywidget', state: { _esm: '' } } } } };
  await fails([output(view)], /no state of the widget new.*make notebooks/, { widgets });
  await fails([output(view)], /no state of the widget new/);
});

test('a figure lies in the page, even where mystmd has kept it in a file: from disk nothing can be fetched', async () => {
  const figure = output({ 'application/vnd.plotly.v1+json': { path: '/large.json' } });
  const html = await renderPage(site, content([figure]), { fetchText: async () => '{"data":[],"layout":{"title":"<b>"}}' });
  assert.match(html, /<script type="application\/json">\{"data":\[\],"layout":\{"title":"\\u003cb>"\}\}<\/script>/);
  assert.doesNotMatch(html, /data-figure/);
});

test('an output in no form that can be shown is an error', async () => {
  await fails([output({ 'application/x-hologram': { content: 'x' } })], /application\/x-hologram/);
  await fails([output({ 'text/html': { content: '<SCRIPT src=x>' } })], /script/);
});

test('what a page refers to on another is written into it once, with addresses that hold there', async () => {
  const reference = node('crossReference', [text('Figure 1')], { identifier: 'fig', html_id: 'fig', url: '/two' });
  const figure = node('container', [node('paragraph', [node('cite', [text('A')], { label: 'a' })])], { kind: 'figure', html_id: 'fig', identifier: 'fig' });
  const two = content([figure], { slug: 'two', references: { cite: { order: ['a'], data: { a: { html: 'Source' } } } } });
  const html = await renderPage(site, content([reference, reference]), { fetchPage: async () => two });
  const [, address, inside, ...more] = /<template data-for="([^"]*)">(.*?)<\/template>(.*<template)?/s.exec(html);
  assert.equal(address, '../two/#fig');
  assert.match(inside, /href="\.\.\/two\/#ref-a"/);
  assert.doesNotMatch(inside, / id=/);
  assert.deepEqual(more, [undefined]);
});

const notebookJson = (...cells) => JSON.stringify({ cells: cells.map((execution) => ({ metadata: { execution } })) });
const exported = { frontmatter: { title: 'One', jupytext: { formats: 'md:myst,ipynb' }, exports: [{ format: 'ipynb', filename: '03-one.ipynb', url: '/03-one.ipynb' }] } };

test('the bar says how long a notebook took to run, from its own record', async () => {
  const cell = (from, to) => ({ 'iopub.execute_input': `2026-01-01T00:00:${from}.5Z`, 'shell.execute_reply': `2026-01-01T00:00:${to}.5Z` });
  const html = async (json) => renderPage(site, content([], exported), { fetchText: async () => json });
  assert.match(await html(notebookJson(cell('01', '05'), undefined, cell('10', '17'))), /<li class="fact">11 s to run/);
  assert.doesNotMatch(await html(notebookJson(undefined)), /to run/);
  const says = { cell_type: 'code', outputs: [{ text: ['The cells of this page took 35 s ', 'of processor time.\n'] }], metadata: { execution: cell('01', '59') } };
  assert.match(await html(JSON.stringify({ cells: [says] })), /<li class="fact">35 s to run/);
});

test('minutes to read count words, code and formulas, and nothing that is left out', () => {
  const words = (count, rest) => node('paragraph', [text(Array(count).fill('word').join(' '))], rest);
  assert.equal(minutesToRead(node('root', [words(400)])), 2);
  assert.equal(minutesToRead(node('root', [words(400, { visibility: 'remove' })])), 0);
  assert.equal(minutesToRead(node('root', [{ type: 'code', value: 'a\n\nb' }, { type: 'math', value: 'x' }])), 16 / 60);
});

test('what is folded away takes no reading time', () => {
  const code = { type: 'code', value: 'a\nb' };
  const folded = [{ ...code, visibility: 'hide' }, node('details', [code]), node('solution', [code]), node('admonition', [code], { class: 'dropdown' })];
  assert.equal(minutesToRead(node('root', folded)), 0);
  assert.ok(minutesToRead(node('root', [code])) > 0);
});

test('a page shows the reading times of those it leads to, and their sum, where its author wants them', async () => {
  const other = content([node('paragraph', [text(Array(1000).fill('word').join(' '))])]);
  const links = ['one', 'two'].map((slug) => node('link', [text(slug)], { url: `/${slug}`, internal: true }));
  const list = node('list', [node('listItem', links)]);
  const html = await renderPage(site, content([node('div', [list], { class: 'with-minutes' }), ...links]), { fetchPage: async () => other });
  assert.equal(html.match(/\(5&nbsp;min\)/g).length, 2);
  assert.match(html, /10 minutes in all\./);
});

const cell = (...children) => node('block', [{ type: 'code', value: 'x' }, ...children], { kind: 'notebook-code' });
const box = (name) => node('admonition', [text(name)], { class: name });
const paragraph = (words) => node('paragraph', [text(words)]);
const foldedText = (html) => /<details class="folded result">(.*?)<\/details>/s.exec(html)?.[1] ?? '';

test('the result of a prediction is folded as far as its answer, and no further', async () => {
  const before = node('block', [paragraph('before'), box('prediction'), paragraph('setup')]);
  const html = await renderPage(site, content([before, cell(output({ 'text/plain': '41' })), node('block', [paragraph('more')]), node('block', [box('answer'), paragraph('after')])]));
  const hidden = foldedText(html);
  for (const inside of ['setup', '41', 'more', '>answer']) assert.ok(hidden.includes(inside), inside);
  for (const outside of ['before', 'after']) assert.ok(html.includes(outside) && !hidden.includes(outside), outside);
});

test('a prediction without an answer is an error', async () => {
  await fails([node('block', [box('prediction')]), cell(output({ 'text/plain': '41' }))], /a prediction is followed by no admonition/);
});

test('a bar of folded code says what the code holds', async () => {
  const code = (value, visibility) => ({ type: 'code', lang: 'python', value, visibility });
  const html = await renderPage(site, content([code('# The area <under> a curve\nx = 1', 'hide'), code('x = 1', 'hide'), node('block', [code('# Both', 'show')], { kind: 'notebook-code', visibility: 'hide' })]));
  assert.deepEqual([...html.matchAll(/<summary>(Show .*?)<\/summary>/g)].map(([, words]) => words), ['Show code: The area &lt;under&gt; a curve', 'Show code', 'Show cell: Both']);
});

test('a diagram of ours is drawn in the page, and another picture is shown as one', async () => {
  const svg = (name) => `<svg xmlns="http://www.w3.org/2000/svg" class="${name}"></svg>`;
  const html = await renderPage(site, content([output({ 'image/svg+xml': svg('diagram') }), output({ 'image/svg+xml': svg('other') })]));
  assert.equal(html.match(/<svg [^>]*class="diagram"/g).length, 1);
  assert.equal(html.match(/src="data:image\/svg/g).length, 1);
});

test('an exercise says how hard it is', async () => {
  const html = await renderPage(site, content([node('exercise', [], { class: 'medium change' })]));
  assert.match(html, /●●○<\/span> medium · change, predict, run, explain/);
});

test('a published book links to Colab, Binder and its source, another to none', async () => {
  const links = async (publication) => {
    const html = await renderPage({ ...site, publication }, content([], exported), { fetchText: async () => notebookJson() });
    return [...html.matchAll(/href="(https:[^"]*)" aria-label="([^"]*)"/g)].map(([, href, label]) => `${label}: ${href}`);
  };
  assert.deepEqual(await links({}), []);
  assert.deepEqual(await links({ repository: 'https://github.com/someone/a-book', tag: 'v1.2' }), [
    'Open in Colab: https://colab.research.google.com/github/someone/a-book/blob/notebooks/03-one.ipynb',
    'Open in Binder: https://mybinder.org/v2/gh/someone/a-book/notebooks?urlpath=lab/tree/03-one.ipynb',
    'View the source: https://github.com/someone/a-book/blob/v1.2/chapters/03-one.md',
  ]);
});

test('pages below a page are listed in the sidebar while one reads that branch', async () => {
  const pages = [{ level: 1, title: 'A part' }, { slug: 'one', title: 'One', level: 2 }, { slug: 'below', title: 'Below', level: 3 }, { slug: 'two', title: 'Two', level: 2 }];
  const tree = readSite({ title: 'A book', projects: [{ index: 'index', title: 'A book', pages }] });
  const listed = async (slug) => /href="[^"]*below\/"/.test(/<nav class="chapters".*?<\/nav>/s.exec(await renderPage(tree, content([], { slug })))[0]);
  assert.deepEqual([await listed('one'), await listed('below'), await listed('two'), await listed('index')], [true, true, false, false]);
});

test('an explorable gets its place, its stored state and its text, and a module stands once', async () => {
  const stored = (key) => ({ model_module: 'anywidget', state: { _esm: 'export default {}; // </script>', _css: '.ex {}', layout: 'IPY_MODEL_1', key, label: 'A wave', text: 'Two waves.', waves: 2 } });
  const view = (id) => output({ 'application/vnd.jupyter.widget-view+json': { content: JSON.stringify({ model_id: id }) }, 'text/plain': { content: 'A wave.' }, 'image/svg+xml': { content: '<svg/>' } });
  const widgets = { 'application/vnd.jupyter.widget-state+json': { state: { one: stored('wave'), two: stored('wave'), unused: stored('gone') } } };
  const html = await renderPage(site, content([view('one'), view('two')], { widgets }));
  assert.equal(html.match(/class="explorable"/g).length, 2);
  assert.equal(html.match(/id="explorable-wave"/g).length, 1);
  assert.match(html, /<strong>A wave\. <\/strong>Two waves\./);
  assert.match(html, /src="data:image\/svg\+xml;base64,/);
  assert.match(html, /explorables\.js/);
  assert.equal(html.match(/export default \{\}; \/\/ \\u003c\/script>/g).length, 1);
  const states = [...html.matchAll(/class="explorable-state" data-model="(\w+)">(.*?)<\/script>/g)].map(([, id, json]) => [id, JSON.parse(json).state]);
  assert.deepEqual(states, ['one', 'two'].map((id) => [id, { key: 'wave', label: 'A wave', text: 'Two waves.', waves: 2 }]));
  assert.doesNotMatch(await renderPage(site, content([])), /explorables\.js|explorable-texts/);
});
