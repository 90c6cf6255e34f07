// Widgets: an explorable (an anywidget whose module the notebook stored) is mounted by public/explorables.js; of any
// other widget the page shows the text, since only a kernel could bring it to life. One whose state the notebook does not
// hold stops the build: an explorable would be gone from its page.
import { escape, tag } from './html.mjs';

const STATE = 'application/vnd.jupyter.widget-state+json';
// What Jupyter keeps of a widget for its own use.
const PRIVATE = /^(_(model|view)_.*|_dom_classes|_anywidget_id|_esm|_css|layout|tabbable|tooltip)$/;

/** The widgets of a page by their id, as the notebook stored them. */
export const widgetStates = (content) => content.widgets?.[STATE]?.state ?? {};

/** JSON inside a script element: `<` is escaped, so that no text in it can end the element. */
const json = (value) => JSON.stringify(value).replaceAll('<', '\\u003c');

/** An output that is a widget: its place on the page, and until it is mounted there its picture and its text. */
export function widget({ model_id: id }, node, page, { text, picture }) {
  const stored = page.widgets[id];
  if (!stored) page.fail(node, `the notebook holds no state of the widget ${id}; execute it again (\`make notebooks\` does)`);
  if (stored.model_module !== 'anywidget' || typeof stored.state?._esm !== 'string') {
    page.note(`${page.location}: the widget ${id} is shown by its text`);
    return tag('div', { class: 'widget', 'data-model': id },
      tag('p', {}, escape(text || 'An interactive widget.')), tag('p', { class: 'widget-note' }, 'This part moves when the notebook is run.'));
  }
  page.uses.explorables = true;
  page.explorables.set(id, stored);
  const { label, key, text: words } = stored.state;
  const alt = words ?? text ?? 'An interactive figure.';
  const name = key && `explorable-${key}`;
  const still = tag('div', { class: 'explorable-still' },
    picture && tag('img', { src: `data:image/svg+xml;base64,${Buffer.from(picture).toString('base64')}`, alt: '' }),
    tag('p', {}, label && tag('strong', {}, `${escape(label)}. `), escape(alt)),
    tag('p', { class: 'widget-note' }, 'This part moves where the page’s scripts run.'));
  return tag('div', { class: 'explorable', 'data-model': id, 'data-key': key ?? 'explorable', id: name && page.claim({ html_id: name }) }, still);
}

/**
 * What `explorables.js` reads: the texts of modules and stylesheets, each once, and a state for each model. build.py moves
 * large states into files of their own.
 */
export function storedExplorables(page) {
  const texts = [];
  const place = (text) => {
    if (!text) return undefined;
    if (!texts.includes(text)) texts.push(text);
    return texts.indexOf(text);
  };
  const models = [...page.explorables].map(([id, { state, buffers }]) => {
    const kept = Object.fromEntries(Object.entries(state).filter(([name]) => !PRIVATE.test(name)));
    return tag('script', { type: 'application/json', class: 'explorable-state', 'data-model': id },
      json({ module: place(state._esm), style: place(state._css), state: kept, buffers }));
  });
  return [tag('script', { type: 'application/json', id: 'explorable-texts' }, json(texts)), ...models].join('\n');
}
