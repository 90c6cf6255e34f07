// What a cell printed: streams, errors, tables, images, LaTeX, plotly figures, widgets.
import katex from 'katex';
import { ansi } from './ansi.mjs';
import { widget } from './explorables.mjs';
import { aligned, worded } from './frames.mjs';
import { classes, escape, tag } from './html.mjs';

export const PLOTLY = 'application/vnd.plotly.v1+json';
export const WIDGET = 'application/vnd.jupyter.widget-view+json';
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const DEFAULT_HEIGHT = 450; // pixels: plotly's own default, reserved so that the text does not jump when it is drawn

/** The kinds of output the theme can show, best first: a cell usually leaves the same thing in several of them. */
const PREFERRED = [WIDGET, PLOTLY, 'text/html', 'image/svg+xml', ...IMAGES, 'text/latex', 'text/markdown', 'application/json', 'text/plain'];

/**
 * mystmd keeps long outputs in files of their own. Fetch those that are text (`fetchText(path)`) into the tree, so that
 * rendering needs no waiting.
 */
export async function loadOutputs(node, fetchText) {
  const jobs = [];
  const visit = (at) => {
    if (at.type === 'output') {
      const { jupyter_data: data } = at;
      if (data.path && data.output_type !== 'display_data') jobs.push(fetchText(data.path).then((text) => { data.text = text; data.traceback &&= text; }));
      for (const [kind, entry] of Object.entries(data.data ?? {})) {
        if (typeof entry === 'object' && entry.path && !IMAGES.includes(kind)) jobs.push(fetchText(entry.path).then((text) => { entry.content = text; }));
      }
    }
    at.children?.forEach(visit);
  };
  visit(node);
  await Promise.all(jobs);
}

// Columns that a cell has set with spaces stay below one another, even where the reader has to scroll for them.
const COLUMNS = /^ +\S|\S {2,}\S/;
const LONGEST = 90; // characters of a line: longer ones are sentences, which are broken

function text(html, kind) {
  const lines = html.replace(/<[^>]*>/g, '').split('\n');
  const columns = lines.filter((line) => COLUMNS.test(line)).length > 1 && lines.every((line) => line.length <= LONGEST);
  return tag('div', { class: classes('output-text', kind, columns && 'columns') }, tag('pre', {}, html));
}

function html(content, node, page) {
  if (/<script\b/i.test(content)) page.fail(node, 'an HTML output holds a script, which the page would not run; print a figure, a table or a widget instead');
  const remote = /\b(?:src|poster)\s*=\s*["']?(https?:\/\/[^"'\s>]+)/i.exec(content);
  if (remote) page.fail(node, `an HTML output loads ${remote[1]}; no page of the book may load from elsewhere`);
  // pandas scopes its styles to the frame; browsers dropped `scoped`, so they would reach the whole page.
  const written = worded(aligned(content.replace(/<style[\s\S]*?<\/style>/gi, '')), (tex) => {
    page.uses.math = true;
    return katex.renderToString(tex, { throwOnError: true });
  });
  return tag('div', { class: 'output-html scroll' }, written);
}

// A diagram of ours is part of the page: it takes the page's ink and paper, and its words can be selected and searched.
const DIAGRAM = /^<svg\b[^>]*\bclass="diagram"/;

function image(kind, entry, node, page, plainText) {
  if (kind === 'image/svg+xml' && DIAGRAM.test(entry.content ?? '')) return tag('div', { class: 'output-image' }, html(entry.content, node, page));
  const src = entry.path ? page.asset(entry.path) : `data:${kind};base64,${kind === 'image/svg+xml' ? Buffer.from(entry.content).toString('base64') : entry.content.replace(/\s/g, '')}`;
  const alt = page.alternative ?? plainText ?? '';
  return tag('div', { class: 'output-image' }, tag('img', { src, alt, loading: 'lazy', decoding: 'async' }));
}

function latex(content, node, page) {
  const [, display, source] = /^\s*(\$\$?|\\\[)?([\s\S]*?)(?:\$\$?|\\\])?\s*$/.exec(content);
  page.uses.math = true;
  try {
    return tag('div', { class: 'equation' }, tag('div', { class: 'formula' }, katex.renderToString(source, { displayMode: display !== '$' || /\\displaystyle/.test(source), throwOnError: true })));
  } catch (error) {
    return page.fail(node, `a LaTeX output was not typeset: ${error.message}`);
  }
}

function titleOf(figure) {
  const title = figure.layout?.title;
  return (typeof title === 'string' ? title : title?.text)?.replace(/<[^>]*>/g, '');
}

function plotly(entry, node, page) {
  page.uses.figures = true;
  const figure = JSON.parse(entry.content);
  const height = Number(figure.layout?.height) || DEFAULT_HEIGHT;
  const label = page.alternative ?? titleOf(figure) ?? 'An interactive figure';
  // `<` is escaped so that no text inside the figure can end the script element. build.py moves large figures into files.
  return tag('div', { class: 'plotly-figure', role: 'group', 'aria-label': label, style: `--height: ${height}px` },
    tag('script', { type: 'application/json' }, entry.content.replaceAll('<', '\\u003c')), tag('p', { class: 'plotly-waiting' }, escape(label)));
}

function bundle(node, page) {
  const data = node.jupyter_data.data ?? {};
  const kind = PREFERRED.find((name) => data[name] !== undefined);
  if (!kind) {
    if (Object.keys(data).length === 0) return '';
    page.fail(node, `an output comes only as ${Object.keys(data).join(', ')}, which the theme cannot show`);
  }
  const entries = Object.fromEntries(Object.entries(data).map(([name, value]) => [name, typeof value === 'object' ? value : { content: value }]));
  const entry = entries[kind];
  const plainText = entries['text/plain']?.content;
  if (kind === WIDGET) return widget(JSON.parse(entry.content), node, page, { text: plainText, picture: entries['image/svg+xml']?.content });
  if (kind === PLOTLY) return plotly(entry, node, page);
  if (kind === 'text/html') return html(entry.content, node, page);
  if (kind.startsWith('image/')) return image(kind, entry, node, page, plainText);
  if (kind === 'text/latex') return latex(entry.content, node, page);
  return text(ansi(entry.content), 'result');
}

function output(node, page) {
  const { jupyter_data: data } = node;
  if (data.output_type === 'stream') return text(ansi(data.text), data.name);
  if (data.output_type === 'error') {
    const trace = Array.isArray(data.traceback) ? data.traceback.join('\n') : data.traceback;
    return text(ansi(trace || `${data.ename}: ${data.evalue}`), 'error');
  }
  if (data.output_type === 'display_data' || data.output_type === 'execute_result') return bundle(node, page);
  return page.fail(node, `an output of the type "${data.output_type}" is unknown to the theme`);
}

/** What a cell prints arrives in pieces, cut wherever the kernel sent some off; a reader should see it as one. */
function joined(children) {
  const whole = [];
  for (const child of children) {
    const last = whole.at(-1)?.jupyter_data;
    const data = child.jupyter_data;
    if (data?.output_type === 'stream' && last?.output_type === 'stream' && last.name === data.name) {
      whole.push({ ...whole.pop(), jupyter_data: { ...last, text: last.text + data.text } });
    } else {
      whole.push(child);
    }
  }
  return whole;
}

export const outputs = {
  output,
  outputs: (node, page) => page.visible(node, 'Output', () => {
    const shown = joined(node.children).map((child) => page.render(child)).filter(Boolean);
    return shown.length ? tag('div', { class: 'outputs', id: page.claim(node) }, shown) : '';
  }),
};
