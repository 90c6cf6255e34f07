// What every explorable is made of: controls bound to the model's settings, drawing once a frame, words for what is
// shown, and settings in the page's address. Nothing here knows what is explored.
//
//     import { explorable } from './ui.mjs';
//     export default {
//       render({ model, el }) {
//         const ui = explorable({ model, el });
//         ui.slider('k', { label: 'dimensions', min: 1, max: 512, log: true });
//         const chart = ui.chart({ x: { label: 'ratio', domain: [0, 2] }, y: { label: 'pairs', domain: [0, 1] } });
//         ui.draw(({ k }) => {
//           chart.update({ marks: [{ kind: 'line', x: […], y: […], origin: 'seeded', name: 'projected' }] });
//           ui.say(`With ${k} dimensions …`);
//         });
//         return ui.close;
//       },
//     };
//
// Where the book's page mounts the module, `model.book` keeps settings in the address and finds figures by label. In
// JupyterLab and Colab there is none, and the notebook keeps the settings itself.
import { chart, heatmap, number, unique } from './svg.mjs';

export { chart, heatmap, logTicks, number, svg, ticks } from './svg.mjs';

/** The origins of a weight, as reservoir_book.plots names and colours them: `origin: 'seeded'` in a mark. */
export const ORIGINS = ['trained', 'seeded', 'masked', 'pretrained', 'fixed'];
const QUIET = 900; // ms without a change before the words are read aloud

/** An element with properties (`class`, `text`, attributes) and children. */
export function html(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    element.setAttribute(key, value === true ? '' : value);
  }
  if (text !== undefined) element.textContent = text;
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
/** To the nearest step from `min`, without the dust of binary fractions. */
const snapped = (value, { min, max, step }) => clamp(Number((min + Math.round((value - min) / step) * step).toPrecision(12)), min, max);

/**
 * The frame of one explorable. Controls appear in the order in which they are asked for; each is bound to the model's
 * setting of that name, and a change of either changes the other.
 */
export function explorable({ model, el }) {
  const mine = unique();
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const controls = html('div', { class: 'ex-controls' });
  const stage = html('div', { class: 'ex-stage' });
  const words = html('p', { class: 'ex-words', text: model.get('text') ?? '' });
  const status = html('p', { class: 'ex-hidden', role: 'status' });
  const foot = html('div', { class: 'ex-foot' });
  const root = html('div', { class: 'ex', role: 'group', 'aria-label': model.get('label') ?? '' }, controls, stage, words, status, foot);
  // A notebook would take the arrow keys for itself.
  if (!model.book) {
    root.dataset.lmSuppressShortcuts = 'true';
    root.addEventListener('keydown', (event) => event.stopPropagation());
  }
  el.replaceChildren(root);

  const names = [];
  const closing = [() => document.removeEventListener('book:theme', redraw)];
  const first = {}; // the settings as the notebook keeps them
  let painter;
  let frame = 0;
  let quiet = 0;
  let open = true;

  function paint() {
    frame = 0;
    if (open && painter) painter(state());
  }
  const state = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const redraw = () => { frame ||= requestAnimationFrame(paint); };
  document.addEventListener('book:theme', redraw); // for what is drawn on a canvas, whose colours are no classes

  function set(name, value) {
    if (Object.is(model.get(name), value)) return;
    model.set(name, value);
    model.save_changes();
  }

  /** Ties a control to a setting: what the address says, then changes in both directions. */
  function bind(name, { show, parse, write = String }) {
    if (model.get(name) === undefined) throw new Error(`the model has no setting "${name}": declare it in the Python class, with .tag(sync=True)`);
    names.push(name);
    first[name] = model.get(name);
    const told = model.book?.address.get(name);
    if (told !== undefined) {
      const value = parse(told);
      if (value !== undefined) set(name, value);
    }
    const follow = () => {
      const value = model.get(name);
      show(value);
      model.book?.address.set(name, Object.is(value, first[name]) ? undefined : write(value));
      redraw();
    };
    model.on(`change:${name}`, follow);
    closing.push(() => model.off(`change:${name}`, follow));
    show(model.get(name));
  }

  const field = (label, input, { output, kind = '', hint } = {}) => {
    const box = html('div', { class: `ex-field ${kind}` },
      html('label', { for: input.id }, html('span', { class: 'ex-name', text: label }), output), input,
      hint && html('span', { class: 'ex-hint', id: `${input.id}-hint`, text: hint }));
    if (hint) input.setAttribute('aria-describedby', `${input.id}-hint`);
    controls.append(box);
    return box;
  };

  const ui = {
    root, controls, stage, model,
    /** Whether the reader asked for less motion: then show the end of what others see move. */
    get still() { return still.matches; },
    state, set, redraw,

    /**
     * A slider for a number. `log: true` spaces it by factors (with `min` above 0); `step` is what values snap to.
     * @param {{label: string, min: number, max: number, step?: number, log?: boolean, format?: (value: number) => string, hint?: string}} options
     */
    slider(name, { label, min, max, step = 1, log = false, format = number, hint }) {
      const STOPS = 400;
      const range = { min, max, step };
      const id = `${mine}-${name}`;
      const output = html('output', { for: id });
      const input = html('input', { type: 'range', id, ...(log ? { min: 0, max: STOPS, step: 1 } : range) });
      const place = (value) => (log ? (STOPS * Math.log(value / min)) / Math.log(max / min) : value);
      const read = () => (log ? snapped(min * (max / min) ** (Number(input.value) / STOPS), range) : Number(input.value));
      input.addEventListener('input', () => {
        const value = read();
        output.textContent = format(value);
        input.setAttribute('aria-valuetext', format(value));
        set(name, value);
      });
      if (log) {
        // A key must always move to another value, however close together the stops are.
        input.addEventListener('keydown', (event) => {
          const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          if (!way) return;
          event.preventDefault();
          const now = model.get(name);
          let next = now;
          for (let stop = Math.round(place(now)) + way; next === now && stop >= 0 && stop <= STOPS; stop += way) next = snapped(min * (max / min) ** (stop / STOPS), range);
          set(name, next);
        });
      }
      field(label, input, { output, kind: 'ex-range', hint });
      bind(name, {
        parse: (text) => { const value = Number(text); return text.trim() && Number.isFinite(value) ? snapped(value, range) : undefined; },
        show(value) {
          if (read() !== value) input.value = place(value);
          output.textContent = format(value);
          input.setAttribute('aria-valuetext', format(value));
        },
      });
      return input;
    },

    /** A box for a number: a seed, a size. */
    number(name, { label, min = 0, max = Number.MAX_SAFE_INTEGER, step = 1, hint }) {
      const range = { min, max, step };
      const input = html('input', { type: 'number', id: `${mine}-${name}`, ...range, inputmode: 'numeric' });
      const read = (text) => { const value = Number(text); return text.trim() && Number.isFinite(value) ? snapped(value, range) : undefined; };
      input.addEventListener('input', () => { const value = read(input.value); if (value !== undefined && value === Number(input.value)) set(name, value); });
      input.addEventListener('change', () => { set(name, read(input.value) ?? model.get(name)); input.value = model.get(name); });
      field(label, input, { hint });
      bind(name, { parse: read, show: (value) => { if (read(input.value) !== value) input.value = value; } });
      return input;
    },

    /** One of a few: `options` is [[value, label], …]. */
    choice(name, { label, options }) {
      const values = new Map(options.map(([value, text]) => [String(value), { value, text }]));
      const inputs = options.map(([value, text], i) => {
        const input = html('input', { type: 'radio', name: `${mine}-${name}`, id: `${mine}-${name}-${i}`, value: String(value) });
        input.addEventListener('change', () => { if (input.checked) set(name, value); });
        return [input, html('label', { for: input.id, text })];
      });
      controls.append(html('fieldset', { class: 'ex-field ex-choice' }, html('legend', { class: 'ex-name', text: label }), html('div', { class: 'ex-options' }, inputs)));
      bind(name, {
        parse: (text) => values.get(text)?.value,
        show(value) { for (const [input] of inputs) input.checked = input.value === String(value); },
      });
      return inputs.map(([input]) => input);
    },

    /** One of many: a list to unfold. `options` is [[value, label], …]. */
    select(name, { label, options }) {
      const values = new Map(options.map(([value]) => [String(value), value]));
      const input = html('select', { id: `${mine}-${name}` }, options.map(([value, text]) => html('option', { value: String(value), text })));
      input.addEventListener('change', () => set(name, values.get(input.value)));
      field(label, input);
      bind(name, { parse: (text) => values.get(text), show(value) { input.value = String(value); } });
      return input;
    },

    toggle(name, { label }) {
      const input = html('input', { type: 'checkbox', id: `${mine}-${name}` });
      input.addEventListener('change', () => set(name, input.checked));
      controls.append(html('div', { class: 'ex-field ex-toggle' }, input, html('label', { for: input.id, text: label })));
      bind(name, {
        parse: (text) => ({ 1: true, 0: false })[text], write: (value) => (value ? '1' : '0'), show(value) { input.checked = value; },
      });
      return input;
    },

    /** A line of text. */
    text(name, { label, maxLength = 200, hint, lang }) {
      const input = html('input', { type: 'text', id: `${mine}-${name}`, maxlength: maxLength, autocomplete: 'off', spellcheck: 'false', lang });
      input.addEventListener('input', () => set(name, input.value));
      field(label, input, { kind: 'ex-line-of-text', hint });
      bind(name, { parse: (text) => text.slice(0, maxLength), show: (value) => { if (input.value !== value) input.value = value; } });
      return input;
    },

    /** A setting without a control of its own, kept in the address all the same: what was tapped in a drawing. */
    setting(name, { parse = (text) => text, write = String } = {}) {
      bind(name, { parse, write, show: () => {} });
    },

    button(label, onClick) {
      const button = html('button', { type: 'button', text: label });
      button.addEventListener('click', onClick);
      controls.append(html('div', { class: 'ex-field ex-action' }, button));
      return button;
    },

    chart(options) {
      const made = chart(options);
      stage.append(made.element);
      closing.push(made.close);
      return made;
    },

    heatmap(options) {
      const made = heatmap(options);
      stage.append(made.element);
      return made;
    },

    /** What is shown, in a sentence or two. Read aloud once nothing has changed for a moment. */
    say(sentence) {
      if (words.textContent === sentence) return;
      words.textContent = sentence;
      clearTimeout(quiet);
      quiet = setTimeout(() => { if (open) status.textContent = sentence; }, QUIET);
    },

    /** What draws; called with all settings, once a frame at most, whenever one has changed, and once at first. */
    draw(draw) {
      painter = draw;
      const box = new ResizeObserver(() => { if (stage.clientWidth) { box.disconnect(); redraw(); } }); // has a width only when shown
      box.observe(stage);
      closing.push(() => box.disconnect());
      draw(state());
    },

    /**
     * Calls `step(seconds since the last call)` each frame until it returns false or `stop()` of what is returned here
     * is called. A reader who wants less motion gets no frames: step(Infinity) once, to show the end.
     */
    animate(step) {
      let last;
      let id = 0;
      if (still.matches) { step(Infinity); return { stop() {} }; }
      const next = (now) => {
        const go = open && step(last === undefined ? 0 : Math.min(0.1, (now - last) / 1000)) !== false;
        last = now;
        id = go ? requestAnimationFrame(next) : 0;
      };
      id = requestAnimationFrame(next);
      const stop = () => cancelAnimationFrame(id);
      closing.push(stop);
      return { stop };
    },

    /** The plotly figure with a label (`fig-…`) on the same page, once it is drawn: {restyle, relayout}; else undefined. */
    figure: (label) => model.book?.figure(label, redraw),

    close() {
      open = false;
      cancelAnimationFrame(frame);
      clearTimeout(quiet);
      closing.forEach((end) => end());
    },
  };
  ui.close = ui.close.bind(ui);
  closing.push(footer(ui, foot, first));
  return ui;
}

/** Start again and, on the page, copy a link that brings the settings along. */
function footer({ model, set }, foot, first) {
  const again = html('button', { type: 'button', class: 'ex-quiet', text: 'Start again' });
  again.addEventListener('click', () => Object.entries(first).forEach(([name, value]) => set(name, value)));
  foot.append(again);
  let back = 0;
  if (model.book) {
    const copy = html('button', { type: 'button', class: 'ex-quiet', text: 'Copy a link to this' });
    copy.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(model.book.address.link());
        copy.textContent = 'Copied';
      } catch {
        copy.textContent = 'It stands in the address bar';
      }
      clearTimeout(back);
      back = setTimeout(() => { copy.textContent = 'Copy a link to this'; }, 2000);
    });
    foot.append(copy);
  }
  return () => clearTimeout(back);
}
