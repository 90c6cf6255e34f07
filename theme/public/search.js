// Full-text search without a server of its own: the index lies beside the pages, and is fetched when the dialog opens.
(() => {
  const here = document.currentScript.src;
  const PAGES = 8; // of results
  const SECTIONS = 3; // of each page
  const WAIT = 120; // ms without a key before a search
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  const FROM_DISK = 'Search needs a server, and this page was opened from disk: run “make read” in the book’s folder.';

  let dialog;
  let input;
  let list;
  let status;
  let index;
  let failures = 0; // to load the index
  let asked = 0; // the newest search: answers to older ones are dropped

  function build() {
    input = make('input', {
      type: 'search', placeholder: 'Search the book', 'aria-label': 'Search the book', role: 'combobox', 'aria-expanded': 'false',
      'aria-controls': 'search-results', 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false', enterkeyhint: 'go',
    });
    list = make('div', { id: 'search-results', role: 'listbox', 'aria-label': 'Results' });
    status = make('p', { class: 'search-status', role: 'status' });
    const done = make('button', { type: 'button', class: 'search-close' }, 'Close');
    dialog = make('dialog', { class: 'search', 'aria-label': 'Search' }, make('div', { class: 'search-head' }, input, done), status, list);
    document.body.append(dialog);
    done.addEventListener('click', () => dialog.close());
    dialog.addEventListener('click', ({ target }) => { if (target === dialog || target.closest('a')) dialog.close(); });
    input.addEventListener('input', () => { const mine = (asked += 1); setTimeout(() => { if (mine === asked) search(mine); }, WAIT); });
    input.addEventListener('keydown', choose);
  }

  /** The index, loaded once, but after a failure anew; from disk a browser refuses to. */
  function load() {
    // A browser remembers which module it could not load: another query makes it another module.
    const again = failures ? `?again=${failures}` : '';
    index ??= import(new URL(`pagefind/pagefind.js${again}`, here).href).then(async (pagefind) => {
      await pagefind.options({ baseUrl: new URL('.', here).pathname, excerptLength: 22 });
      return pagefind;
    });
    return index;
  }

  function forget() {
    index = undefined;
    failures += 1;
  }

  async function search(mine) {
    const words = input.value.trim();
    if (!words) return show([], '');
    try {
      const found = (await (await load()).search(words)).results;
      const pages = await Promise.all(found.slice(0, PAGES).map((result) => result.data()));
      if (mine !== asked) return undefined;
      const more = found.length > PAGES ? `, the first ${PAGES} shown` : '';
      return show(pages, found.length ? `Found on ${found.length} ${found.length === 1 ? 'page' : 'pages'}${more}` : `Nothing found for “${words}”`);
    } catch {
      forget();
      if (mine !== asked) return undefined;
      return show([], location.protocol === 'file:' ? FROM_DISK : 'The search index could not be loaded. Type on to try again, or reload the page.');
    }
  }

  function show(pages, message) {
    status.textContent = message;
    let count = 0;
    const entry = (url, className, title, excerpt) => {
      const words = make('span', { class: 'search-excerpt' });
      words.innerHTML = excerpt; // pagefind's own: escaped text with <mark> around what was found
      return make('a', { role: 'option', id: `search-${(count += 1)}`, class: className, href: url, tabindex: '-1', 'aria-selected': 'false' },
        make('span', { class: 'search-title' }, title), words);
    };
    list.replaceChildren(...pages.map(({ url, meta, excerpt, sub_results: sections }) => {
      const weight = ({ weighted_locations: places = [] }) => places.reduce((sum, place) => sum + place.balanced_score, 0);
      const best = sections.filter((section) => section.url.includes('#')).sort((a, b) => weight(b) - weight(a)).slice(0, SECTIONS);
      const title = meta.kicker ? `${meta.kicker}: ${meta.title}` : meta.title;
      return make('div', { role: 'group', 'aria-label': title }, entry(url, 'search-page', title, best.length ? '' : excerpt),
        ...best.map((section) => entry(section.url, 'search-section', section.title, section.excerpt)));
    }));
    list.scrollTop = 0;
    input.setAttribute('aria-expanded', String(count > 0));
    // Where a section matches, that is what one most likely wants.
    select(list.querySelector('.search-section') ?? list.querySelector('.search-page'));
  }

  const selected = () => list.querySelector('[aria-selected="true"]');

  function select(option) {
    selected()?.setAttribute('aria-selected', 'false');
    option?.setAttribute('aria-selected', 'true');
    option?.scrollIntoView({ block: 'nearest' });
    if (option) input.setAttribute('aria-activedescendant', option.id);
    else input.removeAttribute('aria-activedescendant');
  }

  function choose(event) {
    const options = [...list.querySelectorAll('[role="option"]')];
    const at = options.indexOf(selected());
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) select(options[(at + step + options.length) % options.length]);
    else if (event.key === 'Enter' && options[at]) options[at].click();
    else if (event.key === 'Escape') dialog.close(); // a search field by itself would only be emptied
    else return;
    event.preventDefault();
  }

  function open() {
    if (!dialog) build();
    if (dialog.open) return;
    const sidebar = document.getElementById('sidebar');
    if (sidebar?.matches(':popover-open')) sidebar.hidePopover();
    dialog.showModal();
    input.select();
    if (location.protocol === 'file:') show([], FROM_DISK);
    else load().catch(forget);
  }

  document.querySelectorAll('.search-open').forEach((button) => button.addEventListener('click', open));
  document.addEventListener('keydown', (event) => {
    const typing = event.composedPath()[0].closest?.('input, textarea, select, [contenteditable]');
    const slash = event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    const k = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!slash && !k) return;
    event.preventDefault();
    open();
  });
})();
