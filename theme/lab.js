// The book's part of JupyterLab: it completes what jupyterlab_myst leaves open (citations, numbers, terms), folds the answers
// of predictions, says what folded code holds, puts captions below figures, and opens links where they belong. What is
// folded, the cells say themselves. lab.py writes the names before it. Nothing here touches a notebook's content.
const UNKNOWN = '.myst [title="Citation Not Found"]';
const ANSWER = 'I have an answer: show the result';
const TERM = '.myst abbr';
const ASKED = /^:class: (?:.* )?prediction\b/gm; // as in notebooks.py
const TOLD = /^:class: (?:.* )?answer\b/gm;

const link = (words, title, href) => {
  const element = document.createElement(href ? 'a' : 'span');
  element.className = 'book-name';
  element.textContent = words;
  if (title) element.title = title;
  if (href) Object.assign(element, { href, target: '_blank', rel: 'noopener' });
  return element;
};

// React owns the element that says "not found": it is hidden, and what was meant stands after it.
const meant = (unknown) => {
  const key = unknown.textContent.trim();
  const source = NAMES.citations[key];
  if (!source) return undefined;
  const group = unknown.closest('.cite-group');
  return link(group?.classList.contains('narrative') ? `${source.who} (${source.year})` : `${source.who}, ${source.year}`, source.title, source.address);
};

const complete = () => {
  document.querySelectorAll('.book-name').forEach((name) => { if (!name.previousElementSibling?.matches('[hidden]')) name.remove(); });
  document.querySelectorAll(UNKNOWN).forEach((unknown) => {
    if (unknown.hidden && unknown.nextElementSibling?.matches('.book-name')) return;
    const name = meant(unknown);
    if (!name) return;
    unknown.hidden = true;
    unknown.after(name);
  });
};

// Whether the text of a cell begins between a prediction and its answer.
const waits = (panel, cell) => {
  let waiting = false;
  for (const one of panel.content.widgets) {
    if (one === cell) return waiting;
    if (one.model.type !== 'markdown') continue;
    const last = (kind) => [...one.model.sharedModel.source.matchAll(kind)].at(-1)?.index ?? -1;
    if (last(ASKED) !== last(TOLD)) waiting = last(ASKED) > last(TOLD);
  }
  return false;
};

// What stands between a prediction and its answer, the answer included, in a fold, as on the book's page.
const inFolds = (children, waiting) => {
  const has = (node, name) => node.type === 'admonition' && (node.class ?? '').split(/\s+/).includes(name);
  const out = [];
  let inside = waiting ? [] : undefined;
  const close = () => {
    if (inside?.length) out.push({ type: 'details', class: 'book-answer', children: [{ type: 'summary', children: [{ type: 'text', value: ANSWER }] }, ...inside] });
    inside = undefined;
  };
  for (const child of children) {
    (inside ?? out).push(child);
    if (has(child, 'answer')) close();
    if (has(child, 'prediction')) inside = [];
  }
  close();
  return out;
};

// The renderer looks for terms and figures in the notebook's texts alone, and complains of each: they are named before it looks.
// It also shows a text before it has read those below: until it has read `all`, a link to one of them is its words alone.
const known = (node, all) => {
  const children = node.children?.map((child) => known(child, all));
  if (node.type === 'crossReference' && /^term-/.test(node.identifier)) return { type: 'abbreviation', title: NAMES.terms[node.children?.[0]?.value] ?? node.label, children };
  const target = node.type === 'crossReference' ? node.identifier : node.type === 'link' && /^#(.*)/.exec(node.url)?.[1];
  const figure = NAMES.figures[target];
  if (target && (figure || !all)) return node.type === 'link' && children?.length ? { type: 'span', children } : { type: 'text', value: figure ?? '' };
  return children ? { ...node, children } : node;
};

// The renderer shows a text as this says: with terms and figures named, with its answers in folds, and the first one of a notebook with front matter, by
// which it numbers equations, exercises and tables. Ours stands in the notebook's metadata and in myst.yml.
const prepare = (panel, cell, all) => {
  const shown = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(cell), 'fragmentMDAST');
  if (!shown) return;
  Object.defineProperty(cell, 'fragmentMDAST', {
    get() {
      const tree = shown.get.call(cell);
      if (!tree) return tree;
      const children = tree.children.map((block) => known({ ...block, children: inFolds(block.children ?? [], waits(panel, cell)) }, all()));
      const first = panel.content.widgets.find((one) => one.model.type === 'markdown');
      if (cell !== first) return { ...tree, children };
      const numbering = { ...NAMES.numbering, ...panel.content.model.getMetadata('numbering') };
      return { ...tree, children: [{ type: 'code', lang: 'yaml', value: JSON.stringify({ numbering }) }, ...children] };
    },
  });
};

// Who opens an answer sees the outputs that it is about: those between the prediction and the text of the answer.
const reveal = (panel, answer) => {
  const { widgets } = panel.content;
  for (let at = widgets.findIndex((cell) => cell.node.contains(answer)) - 1; at >= 0 && widgets[at].model.type === 'code'; at -= 1) widgets[at].outputHidden = false;
};

// A bar of folded code says what the code holds: the comment that it begins with, below the book's own options.
const name = (cell) => {
  const say = () => {
    const line = cell.model.sharedModel.source.split('\n').find((one) => !one.startsWith('#|')) ?? '';
    if (cell.inputHidden && cell._inputPlaceholder) cell._inputPlaceholder.text = line.replace(/^# /, '');
  };
  const folded = cell.handleInputHidden;
  cell.handleInputHidden = (hidden) => { folded.call(cell, hidden); say(); };
  say();
};

// Once a notebook is there: number and fold its text as the book does, name its folds, and say below a figure what it shows.
const read = async (panel) => {
  await panel.context.ready;
  await panel.revealed;
  const caption = (cell) => {
    const label = /^#\| label: (\S+)$/m.exec(cell.model.sharedModel.source)?.[1];
    if (!NAMES.captions[label] || cell.node.querySelector('.book-caption')) return;
    const said = document.createElement('div');
    said.className = 'book-caption jp-RenderedHTMLCommon';
    said.innerHTML = NAMES.captions[label];
    cell.node.append(said);
  };
  const seen = new WeakSet();
  let all = false;
  const attend = () => {
    panel.content.widgets.filter((cell) => !seen.has(cell)).forEach((cell) => {
      seen.add(cell);
      if (cell.model.type === 'markdown') prepare(panel, cell, () => all);
      if (cell.model.type !== 'code') return;
      Promise.resolve(cell.ready).then(() => { name(cell); caption(cell); });
    });
  };
  attend();
  panel.content.modelContentChanged.connect(attend);
  panel.content.node.addEventListener('toggle', ({ target }) => { if (target.open && target.matches('details') && target.querySelector('.answer, .book-answer') ) reveal(panel, target); }, true);
  await Promise.all(panel.content.widgets.map((cell) => cell.updateFragmentMDAST?.()));
  all = true;
  panel.content.widgets.find((cell) => cell.render && cell.rendered)?.render(); // what was rendered before is shown anew, all of it
};

// JupyterLab calls a notebook changed as soon as a kernel or a renderer has added something to it. To a reader it is
// changed once a cell was edited, added, moved, removed or run: until then there is nothing to save.
const calm = async (panel) => {
  await panel.context.ready;
  const { model } = panel.context;
  const state = () => model.sharedModel.cells.map((cell) => `${cell.id} ${cell.cell_type} ${cell.getSource?.() ?? cell.source} ${cell.execution_count ?? ''}`).join('\n');
  let saved = state();
  const look = () => { if (model.dirty && state() === saved) model.dirty = false; };
  model.stateChanged.connect((_, change) => { if (change.name === 'dirty') look(); });
  panel.context.saveState.connect((_, step) => { if (step === 'completed') { saved = state(); look(); } });
  look();
};

const plugin = {
  id: 'reservoir-book:plugin',
  autoStart: true,
  activate: (app) => {
    const style = document.createElement('style');
    style.textContent = `${UNKNOWN.split(', ').map((part) => `${part}[hidden]`).join(', ')} { display: none; }
      .jp-CodeCell:has(> .jp-Cell-outputWrapper.lm-mod-hidden, .jp-OutputPlaceholder) .book-caption { display: none; }
      .book-caption { margin: 4px 0 12px calc(var(--jp-cell-prompt-width) + 10px); max-width: 52em; color: var(--jp-ui-font-color2); }
      .cite-group.parenthetical .book-name { text-decoration: none; }`;
    document.head.append(style);
    let waiting = false;
    new MutationObserver(() => {
      if (waiting) return;
      waiting = true;
      setTimeout(() => { waiting = false; complete(); }, 100);
    }).observe(document.body, { childList: true, subtree: true });
    document.addEventListener('click', (event) => {
      const term = event.target.closest?.(TERM);
      if (!term || !NAMES.terms[term.textContent]) return;
      event.preventDefault();
      app.commands.execute('docmanager:open', { path: 'reference/glossary.md', factory: 'Markdown Preview' });
    }, true);
    const known = new WeakSet();
    app.restored.then(() => {
      const look = () => {
        for (const panel of app.shell.widgets('main')) {
          if (known.has(panel) || !panel.context || !panel.content?.modelContentChanged) continue;
          known.add(panel);
          read(panel);
          calm(panel);
        }
      };
      look();
      app.shell.layoutModified.connect(look);
    });
  },
};

window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB['reservoir-book'] = {
  init: () => {},
  get: async () => () => ({ __esModule: true, default: plugin }),
};
