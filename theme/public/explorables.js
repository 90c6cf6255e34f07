// A front end for explorables: anywidget modules, mounted near the view from the state that the notebook stored, without
// a kernel. A model answers as anywidget's does; beside that it has `book`: the page's address, links that name what is
// to be shown, and figures by label.
(() => {
  const texts = JSON.parse(document.getElementById('explorable-texts')?.textContent ?? '[]');
  const places = [...document.querySelectorAll('.explorable[data-model]')];
  const models = new Map(); // id -> promise of {model, definition}
  const arrived = new Map(); // id -> called with a state that comes in a file of its own
  const styled = new Set();
  const modules = new Map();

  // ---- What anywidget calls a model.

  class Model {
    #state;
    #listeners = new Map(); // event -> Set of callbacks

    constructor(state, book) {
      this.#state = state;
      this.book = book;
    }

    get(name) {
      return this.#state[name];
    }

    set(name, value) {
      const changes = typeof name === 'object' ? Object.entries(name) : [[name, value]];
      const changed = changes.filter(([key, to]) => !Object.is(this.#state[key], to));
      for (const [key, to] of changed) this.#state[key] = to;
      for (const [key, to] of changed) this.#emit(`change:${key}`, this, to);
      if (changed.length) this.#emit('change', this);
    }

    on(names, callback) {
      for (const name of names.split(/\s+/)) {
        if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
        this.#listeners.get(name).add(callback);
      }
    }

    off(names, callback) {
      for (const name of names ? names.split(/\s+/) : [...this.#listeners.keys()]) {
        if (callback) this.#listeners.get(name)?.delete(callback);
        else this.#listeners.delete(name);
      }
    }

    // There is no kernel: nothing to save to, nobody to send to, and no `msg:custom` ever comes.
    save_changes() {}

    send() {}

    get widget_manager() {
      return { get_model: () => Promise.reject(new Error('a widget on the page cannot reach another')) };
    }

    #emit(name, ...values) {
      for (const callback of [...(this.#listeners.get(name) ?? [])]) callback(...values);
    }
  }

  /** Bytes are stored as base64 beside the state; anywidget gives them as DataViews. */
  function withBuffers(state, buffers = []) {
    for (const { path, data } of buffers) {
      const text = atob(data);
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
      const parent = path.slice(0, -1).reduce((at, key) => at[key], state);
      parent[path.at(-1)] = new DataView(bytes.buffer);
    }
    return state;
  }

  // ---- The address: `?<key>.<setting>=<value>`, for settings that differ from the notebook's.

  const query = new URLSearchParams(location.search);
  let waiting = 0;

  function write() {
    waiting = 0;
    try {
      history.replaceState(history.state, '', address());
    } catch { /* a browser may refuse this to a page from disk */ }
  }

  function address(anchor) {
    const url = new URL(location.href);
    url.search = query.toString();
    if (anchor) url.hash = anchor;
    return url.href;
  }

  function addressOf(key, element) {
    return {
      get: (name) => query.get(`${key}.${name}`) ?? undefined,
      set(name, value) {
        const full = `${key}.${name}`;
        if ((query.get(full) ?? undefined) === value) return;
        if (value === undefined) query.delete(full);
        else query.set(full, value);
        waiting ||= setTimeout(write, 250); // browsers limit how often an address may change
      },
      link: () => address(element.id),
    };
  }

  // ---- Figures: a plotly figure on the same page, once it is drawn.

  const hoping = new Map(); // label -> callbacks for when it is drawn

  function figure(label, whenDrawn) {
    const stage = document.getElementById(label)?.querySelector('.plotly-figure.drawn .js-plotly-plot');
    if (stage) {
      return {
        restyle: (update, traces) => window.Plotly.restyle(stage, update, traces),
        relayout: (update) => window.Plotly.relayout(stage, update),
      };
    }
    if (whenDrawn) hoping.set(label, (hoping.get(label) ?? new Set()).add(whenDrawn));
    return undefined;
  }

  document.addEventListener('book:drawn', () => {
    for (const [label, callbacks] of hoping) {
      if (!figure(label)) continue;
      hoping.delete(label);
      callbacks.forEach((callback) => callback());
    }
  }, true); // the figure hears of it first, and tells nobody above

  // ---- Mounting.

  window.bookExplorable = (id, stored) => arrived.get(id)?.(stored);

  /** The stored state of a model: in the page or, if it is large, in a file. A script, since that loads from disk too. */
  function stored(id) {
    const element = document.querySelector(`script.explorable-state[data-model="${CSS.escape(id)}"]`);
    if (!element.dataset.src) return Promise.resolve(JSON.parse(element.textContent));
    return new Promise((resolve, reject) => {
      arrived.set(id, resolve);
      const script = Object.assign(document.createElement('script'), { src: new URL(element.dataset.src, location.href).href });
      script.addEventListener('error', () => {
        script.remove();
        reject(new Error(`${element.dataset.src} could not be loaded`));
      });
      document.head.append(script);
    });
  }

  function moduleOf(number) {
    if (!modules.has(number)) {
      const url = URL.createObjectURL(new Blob([texts[number]], { type: 'text/javascript' }));
      modules.set(number, import(url).finally(() => URL.revokeObjectURL(url)));
    }
    return modules.get(number);
  }

  function style(number) {
    if (number === undefined || styled.has(number)) return;
    styled.add(number);
    document.head.append(Object.assign(document.createElement('style'), { textContent: texts[number] }));
  }

  /** Two explorables of one kind on a page need two names in the address. */
  const keys = new Map();
  const taken = new Set();
  for (const element of places) {
    if (keys.has(element.dataset.model)) continue;
    const own = element.dataset.key;
    let key = own;
    for (let number = 2; taken.has(key); number += 1) key = `${own}-${number}`;
    taken.add(key);
    keys.set(element.dataset.model, key);
  }

  // ---- Links to `#<key>-<name>` lead to an explorable and tell it the name: `model.book.named` hears of it.

  const named = new Map(); // key -> the last name, or who wants to hear of names
  const shown = new Map(); // element -> brings it into view, when it is mounted

  function hear(key, callback) {
    const last = named.get(key);
    named.set(key, callback);
    if (typeof last === 'string') callback(last);
  }

  /** Follow such a link; `arriving` with the page, what the address says of settings stays. */
  function follow(hash, arriving = false) {
    for (const element of places) {
      const key = keys.get(element.dataset.model);
      if (!hash.startsWith(`#${key}-`)) continue;
      if (arriving && [...query.keys()].some((name) => name.startsWith(`${key}.`))) return;
      const name = hash.slice(key.length + 2);
      const hearing = named.get(key);
      if (typeof hearing === 'function') hearing(name);
      else named.set(key, name);
      const target = document.getElementById(hash.slice(1));
      if (arriving && target && target.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) return; // read what stands above it first
      element.tabIndex = -1;
      const show = () => { element.focus({ preventScroll: true }); element.scrollIntoView(); };
      show();
      // The browser looks for the place once more when the page is loaded, and what is mounted has another height.
      if (arriving) { shown.set(element, show); addEventListener('load', () => setTimeout(show)); }
      return;
    }
  }

  document.addEventListener('click', ({ target }) => {
    const link = target.closest?.('a[href*="#"]');
    if (link && link.href.split('#')[0] === location.href.split('#')[0]) setTimeout(follow, 0, link.hash); // after the browser's own scrolling
  });

  async function create(id, element) {
    const { module, style: css, state, buffers } = await stored(id);
    style(css);
    const found = (await moduleOf(module)).default;
    const definition = typeof found === 'function' ? await found() : found;
    if (typeof definition?.render !== 'function') throw new Error('its module exports no render function');
    const model = new Model(withBuffers(state, buffers), {
      address: addressOf(keys.get(id), element), figure, named: (callback) => hear(keys.get(id), callback),
    });
    await definition.initialize?.({ model, ...unused() });
    return { model, definition };
  }

  // Given to a module by anywidget, and of no use on a page.
  const unused = () => ({ signal: new AbortController().signal, experimental: { invoke: () => Promise.reject(new Error('there is no kernel')) } });

  const busy = new Set(); // elements that are being mounted

  async function mount(element) {
    if (busy.has(element)) return;
    busy.add(element);
    element.classList.remove('failed');
    const id = element.dataset.model;
    const el = document.createElement('div');
    el.className = 'explorable-view';
    try {
      if (!models.has(id)) models.set(id, create(id, element).catch((error) => { models.delete(id); throw error; }));
      const { model, definition } = await models.get(id);
      element.append(el);
      await definition.render({ model, el, ...unused() });
      element.classList.add('mounted');
      watcher.unobserve(element);
      element.querySelector('.explorable-still')?.remove();
      shown.get(element)?.();
    } catch (error) {
      el.remove();
      element.classList.add('failed');
      const note = element.querySelector('.widget-note');
      if (note) note.textContent = 'This part should move, but could not be started; reload the page.';
      console.error(`an explorable could not be mounted: ${error.stack ?? error}`);
    } finally {
      busy.delete(element);
    }
  }

  // An explorable stays watched until it is mounted: one that failed is tried again when it next comes near the view.
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) mount(target);
  }, { rootMargin: '600px' });
  places.forEach((element) => watcher.observe(element));
  follow(location.hash, true);
})();
