// The book's part of JupyterLab: it completes what jupyterlab_myst leaves open (citations, numbers, terms), folds the code
// that the book folds, puts captions below figures, and opens links where they belong. lab.py writes the names before it.
// Nothing here touches a notebook's content.
const UNKNOWN = '.myst [title="Citation Not Found"], .myst [title="Cross Reference Not Found"]';
const TERM = '.myst a.hover-link[href="#"]';
const FOLDED = ['hide-input', 'remove-input', 'hide-cell', 'remove-cell'];

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
  if (NAMES.figures[key]) return link(NAMES.figures[key], '', '');
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
  document.querySelectorAll(TERM).forEach((term) => {
    const said = NAMES.terms[term.textContent];
    if (said && term.title !== said) term.title = said;
  });
};

// The renderer numbers equations, exercises and tables as the front matter in a notebook's first text says. Ours stands in
// the notebook's metadata and in myst.yml: so that text is shown to the renderer with it.
const number = (panel, cell) => {
  const shown = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(cell), 'fragmentMDAST');
  if (!shown) return;
  Object.defineProperty(cell, 'fragmentMDAST', {
    get() {
      const tree = shown.get.call(cell);
      const first = panel.content.widgets.find((one) => one.model.type === 'markdown');
      if (!tree || cell !== first) return tree;
      const numbering = { ...NAMES.numbering, ...panel.content.model.getMetadata('numbering') };
      return { ...tree, children: [{ type: 'code', lang: 'yaml', value: JSON.stringify({ numbering }) }, ...tree.children] };
    },
  });
};

// Once a notebook is there: number it as the book does, fold what the book folds, and say below a figure what it shows.
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
  const attend = () => {
    panel.content.widgets.filter((cell) => !seen.has(cell)).forEach((cell) => {
      seen.add(cell);
      if (cell.model.type === 'markdown') number(panel, cell);
      if (cell.model.type !== 'code') return;
      if ((cell.model.getMetadata('tags') || []).some((tag) => FOLDED.includes(tag))) cell.inputHidden = true;
      Promise.resolve(cell.ready).then(() => caption(cell));
    });
  };
  attend();
  panel.content.widgets.find((cell) => cell.render && cell.rendered)?.render(); // what was rendered before is numbered anew
  panel.content.modelContentChanged.connect(attend);
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
