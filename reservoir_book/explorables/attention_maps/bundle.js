// reservoir_book/explorables/shared/svg.mjs
var SPACE = "http://www.w3.org/2000/svg";
var unique = () => `ex-${Math.random().toString(36).slice(2, 10)}`;
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== void 0 && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== void 0 && child !== null && child !== false && child !== ""));
  return element;
}
function ticks(low, high, count = 5) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
function logTicks(low, high, base = 10) {
  const from = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const to = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const powers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => Number((base ** (from + i)).toPrecision(12)));
  if (base !== 10 || powers.length > 2) return powers;
  const all = [];
  for (let power = from - 1; power <= to; power += 1) all.push(...[1, 2, 5].map((factor) => Number((factor * 10 ** power).toPrecision(12))));
  return all.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}
function number(value, digits = 3) {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : value === -Infinity ? "−∞" : "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
    return `${Number(mantissa)}·10^${Number(exponent)}`.replaceAll("-", "−");
  }
  const text = size >= 10 ** (digits - 1) ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
  const [whole, part] = text.replace("-", "−").split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
}
function scale({ domain: [low, high], log = false }, from, to) {
  const at = log ? Math.log : (value) => value;
  const [a, b] = [at(low), at(high)];
  const span = b - a || 1;
  const map = (value) => from + (at(value) - a) / span * (to - from);
  map.invert = (pixel) => {
    const value = a + (pixel - from) / (to - from) * span;
    return log ? Math.exp(value) : value;
  };
  return map;
}
var clip = (value) => Math.max(-1e5, Math.min(1e5, value));
function path(xs, ys, x, y) {
  let text = "";
  let pen = "M";
  for (let i = 0; i < ys.length; i += 1) {
    if (!Number.isFinite(ys[i])) {
      pen = "M";
      continue;
    }
    text += `${pen}${clip(x(xs ? xs[i] : i)).toFixed(1)} ${clip(y(ys[i])).toFixed(1)}`;
    pen = "L";
  }
  return text;
}
var MARKS = {
  /** {x, y, origin, dash, width, faint}: x may be left out (0, 1, 2 …); a y that is no number is a gap. */
  line: (mark, x, y) => svg("path", { d: path(mark.x, mark.y, x, y), class: `ex-line ${mark.faint ? "ex-faint" : ""}`, "stroke-dasharray": mark.dash, style: mark.width && `stroke-width: ${mark.width}` }),
  /** {x, low, high, origin}: between two curves. */
  band: (mark, x, y) => {
    const there = mark.x.map((at, i) => `${clip(x(at)).toFixed(1)} ${clip(y(mark.high[i])).toFixed(1)}`);
    const back = mark.x.map((at, i) => `${clip(x(at)).toFixed(1)} ${clip(y(mark.low[i])).toFixed(1)}`).reverse();
    return svg("path", { d: `M${[...there, ...back].join("L")}Z`, class: "ex-band" });
  },
  /** {x, y, origin, size, shape, open}: points; shape is 'circle' or 'square', one for all or one each. */
  points: (mark, x, y) => Array.from(mark.x, (at, i) => {
    const size = mark.size ?? 3.5;
    const [cx, cy] = [clip(x(at)), clip(y(mark.y[i]))];
    const shape = Array.isArray(mark.shape) ? mark.shape[i] : mark.shape;
    const kind = `ex-point ${mark.open ? "ex-open" : ""}`;
    return shape === "square" ? svg("rect", { x: (cx - size).toFixed(1), y: (cy - size).toFixed(1), width: 2 * size, height: 2 * size, class: kind }) : svg("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: size, class: kind });
  }),
  /** {from, to, y, origin}: a histogram: bars between from[i] and to[i], as high as y[i]. */
  bars: (mark, x, y, box) => Array.from(mark.y, (value, i) => {
    const [left, right] = [x(mark.from[i]), x(mark.to[i])];
    const top = y(value);
    return svg("rect", { x: (left + 0.5).toFixed(1), y: top.toFixed(1), width: Math.max(0.5, right - left - 1).toFixed(1), height: Math.max(0, box.bottom - top).toFixed(1), class: "ex-bar" });
  }),
  /** {x} or {y}, {label, origin, dash}: a line across the whole plot. */
  rule: (mark, x, y, box) => {
    const upright = mark.x !== void 0;
    const at = upright ? x(mark.x) : y(mark.y);
    const ends = upright ? { x1: at, x2: at, y1: box.top, y2: box.bottom } : { x1: box.left, x2: box.right, y1: at, y2: at };
    const label = mark.label && svg("text", upright ? { x: at + 4, y: box.top + 11 } : { x: box.right - 4, y: at - 4, "text-anchor": "end" }, mark.label);
    return [svg("line", { ...ends, class: "ex-rule", "stroke-dasharray": mark.dash ?? "4 3" }), label];
  },
  /** {from, to} along x: a stretch of the plot, shaded. */
  span: (mark, x, y, box) => svg("rect", { x: x(mark.from), width: Math.max(0, x(mark.to) - x(mark.from)), y: box.top, height: box.bottom - box.top, class: "ex-span" })
};
function chart({ height = 260, square = false, ...options }) {
  const drawing = svg("svg", { class: "ex-chart", role: "img", "aria-label": options.label ?? "" });
  const legend = Object.assign(document.createElement("div"), { className: "ex-legend" });
  const element = Object.assign(document.createElement("div"), { className: "ex-figure" });
  element.append(drawing, legend);
  const clipId = unique();
  let state = { marks: [], ...options };
  let width = 0;
  let shownLegend = "";
  function draw() {
    width = element.clientWidth;
    if (!width) return;
    const tall = square ? Math.min(width, height) : height;
    const box = { left: 52, right: width - 17, top: 10, bottom: tall - 40 };
    const x = scale(state.x, box.left, box.right);
    const y = scale(state.y, box.bottom, box.top);
    drawing.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", tall);
    const axis = (side) => {
      const of = state[side];
      const count = side === "x" ? Math.max(2, Math.round(width / 90)) : Math.max(2, Math.round(tall / 55));
      const at = of.ticks ?? (of.log ? logTicks(...of.domain, of.base) : ticks(...of.domain, count));
      return at.map((tick) => {
        const text = (of.format ?? number)(tick);
        return side === "x" ? [svg("line", { class: "ex-grid", x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom }), svg("text", { class: "ex-tick", x: x(tick), y: box.bottom + 15, "text-anchor": "middle" }, text)] : [svg("line", { class: "ex-grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }), svg("text", { class: "ex-tick", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, text)];
      });
    };
    const marks = state.marks.filter(Boolean).map((mark) => svg("g", { class: `ex-mark ${mark.origin ? `ex-${mark.origin}` : ""}` }, MARKS[mark.kind](mark, x, y, box)));
    drawing.replaceChildren(
      svg("defs", {}, svg("clipPath", { id: clipId }, svg("rect", { x: box.left - 5, y: box.top - 5, width: box.right - box.left + 10, height: box.bottom - box.top + 10 }))),
      ...axis("x").flat(),
      ...axis("y").flat(),
      svg("g", { "clip-path": `url(#${clipId})` }, marks),
      svg("text", { class: "ex-title", x: (box.left + box.right) / 2, y: tall - 6, "text-anchor": "middle" }, state.x.label ?? ""),
      svg("text", { class: "ex-title", transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, state.y.label ?? "")
    );
    element.scales = { x, y, box };
    drawLegend();
  }
  function drawLegend() {
    const named = state.marks.filter((mark) => mark?.name);
    const written = named.map((mark) => [mark.kind, mark.name, mark.origin, mark.dash, mark.open, mark.shape].join()).join(";");
    if (written === shownLegend) return;
    shownLegend = written;
    legend.replaceChildren(...named.map((mark) => {
      const sample = svg("svg", { width: 22, height: 12, "aria-hidden": "true" }, svg("g", { class: `ex-mark ${mark.origin ? `ex-${mark.origin}` : ""}` }, swatch(mark)));
      const entry = Object.assign(document.createElement("span"), { className: "ex-key" });
      entry.append(sample, mark.name);
      return entry;
    }));
  }
  const watcher = new ResizeObserver(() => {
    if (element.clientWidth !== width) draw();
  });
  watcher.observe(element);
  return {
    element,
    update(changes) {
      for (const side of ["x", "y"]) if (changes[side]) changes = { ...changes, [side]: { ...state[side], ...changes[side] } };
      state = { ...state, ...changes };
      if (changes.label) drawing.setAttribute("aria-label", changes.label);
      draw();
    },
    /** Where a pointer event lies, in the units of the axes. */
    at(event) {
      const { left, top } = drawing.getBoundingClientRect();
      return { x: element.scales.x.invert(event.clientX - left), y: element.scales.y.invert(event.clientY - top) };
    },
    close: () => watcher.disconnect()
  };
}
function swatch(mark) {
  if (mark.kind === "line" || mark.kind === "rule") return svg("line", { x1: 0, x2: 22, y1: 6, y2: 6, class: mark.kind === "line" ? "ex-line" : "ex-rule", "stroke-dasharray": mark.dash ?? (mark.kind === "rule" ? "4 3" : void 0) });
  if (mark.kind === "points") return mark.shape === "square" ? svg("rect", { x: 7, y: 2, width: 8, height: 8, class: `ex-point ${mark.open ? "ex-open" : ""}` }) : svg("circle", { cx: 11, cy: 6, r: 4, class: `ex-point ${mark.open ? "ex-open" : ""}` });
  return svg("rect", { x: 3, y: 1, width: 16, height: 10, class: mark.kind === "bars" ? "ex-bar" : mark.kind === "band" ? "ex-band" : "ex-span" });
}
function heatmap({ origin = "trained", label = "", cell = 28 } = {}) {
  const drawing = svg("svg", { class: `ex-heatmap ex-${origin}`, "aria-hidden": "true" });
  const named = (text) => {
    if (!text) return;
    drawing.removeAttribute("aria-hidden");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", text);
  };
  named(label);
  const element = Object.assign(document.createElement("div"), { className: "ex-figure" });
  element.append(drawing);
  return {
    element,
    update({ values, rows: rows2, cols, max = 1, rowLabels = [], colLabels = [], label: shown }) {
      const room = rowLabels.length ? Math.min(120, 12 + 7 * Math.max(...rowLabels.map((text) => text.length))) : 4;
      const above = colLabels.length ? Math.min(90, 10 + 6 * Math.max(...colLabels.map((text) => text.length))) : 4;
      const side = Math.max(2, Math.min(cell, ((element.clientWidth || 320) - room - 12) / cols));
      drawing.setAttribute("width", room + side * cols + 8);
      drawing.setAttribute("height", above + side * rows2 + 4);
      named(shown);
      const cells = [];
      for (let i = 0; i < rows2; i += 1) {
        for (let j = 0; j < cols; j += 1) {
          const share = Math.max(0, Math.min(1, values[i * cols + j] / max));
          cells.push(svg("rect", { class: "ex-cell", x: room + j * side, y: above + i * side, width: Math.max(1, side - 1), height: Math.max(1, side - 1), "fill-opacity": (0.04 + 0.96 * share).toFixed(3) }));
        }
      }
      drawing.replaceChildren(
        ...cells,
        ...rowLabels.map((text, i) => svg("text", { class: "ex-tick", x: room - 5, y: above + (i + 0.5) * side + 4, "text-anchor": "end" }, text)),
        ...colLabels.map((text, j) => svg("text", { class: "ex-tick", transform: `translate(${room + (j + 0.5) * side + 4} ${above - 5}) rotate(-50)` }, text))
      );
    }
  };
}

// reservoir_book/explorables/shared/ui.mjs
var QUIET = 900;
function html(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === void 0 || value === null || value === false) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  if (text !== void 0) element.textContent = text;
  element.append(...children.flat(Infinity).filter((child) => child !== void 0 && child !== null && child !== false));
  return element;
}
var clamp = (value, low, high) => Math.min(Math.max(value, low), high);
var snapped = (value, { min, max, step }) => clamp(Number((min + Math.round((value - min) / step) * step).toPrecision(12)), min, max);
function explorable({ model, el }) {
  const mine = unique();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const controls = html("div", { class: "ex-controls" });
  const stage = html("div", { class: "ex-stage" });
  const words = html("p", { class: "ex-words", text: model.get("text") ?? "" });
  const status = html("p", { class: "ex-hidden", role: "status" });
  const foot = html("div", { class: "ex-foot" });
  const root = html("div", { class: "ex", role: "group", "aria-label": model.get("label") ?? "" }, controls, stage, words, status, foot);
  if (!model.book) {
    root.dataset.lmSuppressShortcuts = "true";
    root.addEventListener("keydown", (event) => event.stopPropagation());
  }
  el.replaceChildren(root);
  const names = [];
  const closing = [() => document.removeEventListener("book:theme", redraw)];
  const first = {};
  let painter;
  let frame = 0;
  let quiet = 0;
  let open = true;
  function paint() {
    frame = 0;
    if (open && painter) painter(state());
  }
  const state = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const redraw = () => {
    frame ||= requestAnimationFrame(paint);
  };
  document.addEventListener("book:theme", redraw);
  function set(name, value) {
    if (Object.is(model.get(name), value)) return;
    model.set(name, value);
    model.save_changes();
  }
  function bind(name, { show, parse, write = String }) {
    if (model.get(name) === void 0) throw new Error(`the model has no setting "${name}": declare it in the Python class, with .tag(sync=True)`);
    names.push(name);
    first[name] = model.get(name);
    const told2 = model.book?.address.get(name);
    if (told2 !== void 0) {
      const value = parse(told2);
      if (value !== void 0) set(name, value);
    }
    const follow = () => {
      const value = model.get(name);
      show(value);
      model.book?.address.set(name, Object.is(value, first[name]) ? void 0 : write(value));
      redraw();
    };
    model.on(`change:${name}`, follow);
    closing.push(() => model.off(`change:${name}`, follow));
    show(model.get(name));
  }
  const field = (label, input, { output, kind = "", hint } = {}) => {
    const box = html(
      "div",
      { class: `ex-field ${kind}` },
      html("label", { for: input.id }, html("span", { class: "ex-name", text: label }), output),
      input,
      hint && html("span", { class: "ex-hint", id: `${input.id}-hint`, text: hint })
    );
    if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
    controls.append(box);
    return box;
  };
  const ui = {
    root,
    controls,
    stage,
    model,
    /** Whether the reader asked for less motion: then show the end of what others see move. */
    get still() {
      return still.matches;
    },
    state,
    set,
    redraw,
    /**
     * A slider for a number. `log: true` spaces it by factors (with `min` above 0); `step` is what values snap to.
     * @param {{label: string, min: number, max: number, step?: number, log?: boolean, format?: (value: number) => string, hint?: string}} options
     */
    slider(name, { label, min, max, step = 1, log = false, format = number, hint }) {
      const STOPS = 400;
      const range = { min, max, step };
      const id = `${mine}-${name}`;
      const output = html("output", { for: id });
      const input = html("input", { type: "range", id, ...log ? { min: 0, max: STOPS, step: 1 } : range });
      const place = (value) => log ? STOPS * Math.log(value / min) / Math.log(max / min) : value;
      const read = () => log ? snapped(min * (max / min) ** (Number(input.value) / STOPS), range) : Number(input.value);
      input.addEventListener("input", () => {
        const value = read();
        output.textContent = format(value);
        input.setAttribute("aria-valuetext", format(value));
        set(name, value);
      });
      if (log) {
        input.addEventListener("keydown", (event) => {
          const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          if (!way) return;
          event.preventDefault();
          const now = model.get(name);
          let next = now;
          for (let stop = Math.round(place(now)) + way; next === now && stop >= 0 && stop <= STOPS; stop += way) next = snapped(min * (max / min) ** (stop / STOPS), range);
          set(name, next);
        });
      }
      field(label, input, { output, kind: "ex-range", hint });
      bind(name, {
        parse: (text) => {
          const value = Number(text);
          return text.trim() && Number.isFinite(value) ? snapped(value, range) : void 0;
        },
        show(value) {
          if (read() !== value) input.value = place(value);
          output.textContent = format(value);
          input.setAttribute("aria-valuetext", format(value));
        }
      });
      return input;
    },
    /** A box for a number: a seed, a size. */
    number(name, { label, min = 0, max = Number.MAX_SAFE_INTEGER, step = 1, hint }) {
      const range = { min, max, step };
      const input = html("input", { type: "number", id: `${mine}-${name}`, ...range, inputmode: "numeric" });
      const read = (text) => {
        const value = Number(text);
        return text.trim() && Number.isFinite(value) ? snapped(value, range) : void 0;
      };
      input.addEventListener("input", () => {
        const value = read(input.value);
        if (value !== void 0 && value === Number(input.value)) set(name, value);
      });
      input.addEventListener("change", () => {
        set(name, read(input.value) ?? model.get(name));
        input.value = model.get(name);
      });
      field(label, input, { hint });
      bind(name, { parse: read, show: (value) => {
        if (read(input.value) !== value) input.value = value;
      } });
      return input;
    },
    /** One of a few: `options` is [[value, label], …]. */
    choice(name, { label, options }) {
      const values = new Map(options.map(([value, text]) => [String(value), { value, text }]));
      const inputs = options.map(([value, text], i) => {
        const input = html("input", { type: "radio", name: `${mine}-${name}`, id: `${mine}-${name}-${i}`, value: String(value) });
        input.addEventListener("change", () => {
          if (input.checked) set(name, value);
        });
        return [input, html("label", { for: input.id, text })];
      });
      controls.append(html("fieldset", { class: "ex-field ex-choice" }, html("legend", { class: "ex-name", text: label }), html("div", { class: "ex-options" }, inputs)));
      bind(name, {
        parse: (text) => values.get(text)?.value,
        show(value) {
          for (const [input] of inputs) input.checked = input.value === String(value);
        }
      });
      return inputs.map(([input]) => input);
    },
    /** One of many: a list to unfold. `options` is [[value, label], …]. */
    select(name, { label, options }) {
      const values = new Map(options.map(([value]) => [String(value), value]));
      const input = html("select", { id: `${mine}-${name}` }, options.map(([value, text]) => html("option", { value: String(value), text })));
      input.addEventListener("change", () => set(name, values.get(input.value)));
      field(label, input);
      bind(name, { parse: (text) => values.get(text), show(value) {
        input.value = String(value);
      } });
      return input;
    },
    toggle(name, { label }) {
      const input = html("input", { type: "checkbox", id: `${mine}-${name}` });
      input.addEventListener("change", () => set(name, input.checked));
      controls.append(html("div", { class: "ex-field ex-toggle" }, input, html("label", { for: input.id, text: label })));
      bind(name, {
        parse: (text) => ({ 1: true, 0: false })[text],
        write: (value) => value ? "1" : "0",
        show(value) {
          input.checked = value;
        }
      });
      return input;
    },
    /** A line of text. */
    text(name, { label, maxLength = 200, hint, lang }) {
      const input = html("input", { type: "text", id: `${mine}-${name}`, maxlength: maxLength, autocomplete: "off", spellcheck: "false", lang });
      input.addEventListener("input", () => set(name, input.value));
      field(label, input, { kind: "ex-line-of-text", hint });
      bind(name, { parse: (text) => text.slice(0, maxLength), show: (value) => {
        if (input.value !== value) input.value = value;
      } });
      return input;
    },
    /** A setting without a control of its own, kept in the address all the same: what was tapped in a drawing. */
    setting(name, { parse = (text) => text, write = String } = {}) {
      bind(name, { parse, write, show: () => {
      } });
    },
    button(label, onClick) {
      const button = html("button", { type: "button", text: label });
      button.addEventListener("click", onClick);
      controls.append(html("div", { class: "ex-field ex-action" }, button));
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
      quiet = setTimeout(() => {
        if (open) status.textContent = sentence;
      }, QUIET);
    },
    /** What draws; called with all settings, once a frame at most, whenever one has changed, and once at first. */
    draw(draw) {
      painter = draw;
      const box = new ResizeObserver(() => {
        if (stage.clientWidth) {
          box.disconnect();
          redraw();
        }
      });
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
      if (still.matches) {
        step(Infinity);
        return { stop() {
        } };
      }
      const next = (now) => {
        const go = open && step(last === void 0 ? 0 : Math.min(0.1, (now - last) / 1e3)) !== false;
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
    }
  };
  ui.close = ui.close.bind(ui);
  closing.push(footer(ui, foot, first));
  return ui;
}
function footer({ model, set }, foot, first) {
  const again = html("button", { type: "button", class: "ex-quiet", text: "Start again" });
  again.addEventListener("click", () => Object.entries(first).forEach(([name, value]) => set(name, value)));
  foot.append(again);
  let back = 0;
  if (model.book) {
    const copy = html("button", { type: "button", class: "ex-quiet", text: "Copy a link to this" });
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(model.book.address.link());
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "It stands in the address bar";
      }
      clearTimeout(back);
      back = setTimeout(() => {
        copy.textContent = "Copy a link to this";
      }, 2e3);
    });
    foot.append(copy);
  }
  return () => clearTimeout(back);
}

// reservoir_book/explorables/shared/bpe.mjs
var SPACE2 = "▁";
var UNKNOWN = 3;
var SPECIALS = 4;
var MARK = /[\p{P}!-/:-@[-`{-~]/u;
var Vocabulary = class _Vocabulary {
  /**
   * @param {string[]} tokens every piece, by id
   * @param {[number, number][]} merges pairs of ids that become one piece, the first to be merged first
   */
  constructor(tokens, merges) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.ranks = new Map(merges.map(([a, b], rank) => [a * tokens.length + b, { rank, id: this.ids.get(tokens[a] + tokens[b]) }]));
  }
  /** Composed characters, one space between words, none around. */
  static normalise(text) {
    return text.normalize("NFC").replace(/[\s▁]+/gu, " ").trim();
  }
  /** The words of a text with the mark of the space before them; punctuation marks stand alone. */
  static words(text) {
    const whole = _Vocabulary.normalise(text);
    if (!whole) return [];
    return whole.split(" ").flatMap((word) => {
      const parts = [""];
      for (const character of SPACE2 + word) {
        if (MARK.test(character)) parts.push(character, "");
        else parts.push(parts.pop() + character);
      }
      return parts.filter(Boolean);
    });
  }
  /** The ids of one sentence, without begin and end. */
  encode(text) {
    return _Vocabulary.words(text).flatMap((word) => this.#merge(word));
  }
  #merge(word) {
    const ids = Array.from(word, (character) => this.ids.get(character) ?? UNKNOWN);
    for (; ; ) {
      let best;
      for (let i = 0; i + 1 < ids.length; i += 1) {
        const found = this.ranks.get(ids[i] * this.tokens.length + ids[i + 1]);
        if (found && (!best || found.rank < best.rank)) best = { ...found, at: i };
      }
      if (!best) return ids;
      ids.splice(best.at, 2, best.id);
    }
  }
  /** Pieces joined to text; special pieces are left out. */
  decode(ids) {
    return ids.filter((id) => id >= SPECIALS).map((id) => this.tokens[id]).join("").replaceAll(SPACE2, " ").replace(/^ /, "");
  }
};

// reservoir_book/explorables/shared/encoder-decoder.mjs
var BEGIN = 1;
var END = 2;
var EPSILON = 1e-5;
function six(bytes2, i) {
  const at = 3 * (i >> 2);
  if ((i & 3) === 0) return bytes2[at] >> 2;
  if ((i & 3) === 1) return (bytes2[at] & 3) << 4 | bytes2[at + 1] >> 4;
  if ((i & 3) === 2) return (bytes2[at + 1] & 15) << 2 | bytes2[at + 2] >> 6;
  return bytes2[at + 2] & 63;
}
function unpack(names, numbers, steps) {
  const tensors = /* @__PURE__ */ new Map();
  let number2 = 0;
  let step = 0;
  for (const [name, rows2, columns] of names) {
    const own = numbers.subarray(number2, number2 += rows2);
    if (!columns) {
      tensors.set(name, own);
      continue;
    }
    const matrix = new Float32Array(rows2 * columns);
    for (let i = 0; i < matrix.length; i += 1) matrix[i] = (six(steps, step + i) - 31) * own[Math.floor(i / columns)];
    step += matrix.length;
    tensors.set(name, matrix);
  }
  return tensors;
}
function linear(x, weight, bias, inputs) {
  const rows2 = x.length / inputs;
  const outputs = weight.length / inputs;
  const y = new Float32Array(rows2 * outputs);
  for (let r = 0; r < rows2; r += 1) {
    for (let o = 0; o < outputs; o += 1) {
      let sum = bias ? bias[o] : 0;
      for (let i = 0, a = r * inputs, b = o * inputs; i < inputs; i += 1) sum += x[a + i] * weight[b + i];
      y[r * outputs + o] = sum;
    }
  }
  return y;
}
function norm(x, weight, bias, d) {
  const y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += d) {
    let mean = 0;
    for (let i = 0; i < d; i += 1) mean += x[at + i];
    mean /= d;
    let variance = 0;
    for (let i = 0; i < d; i += 1) variance += (x[at + i] - mean) ** 2;
    const scale2 = 1 / Math.sqrt(variance / d + EPSILON);
    for (let i = 0; i < d; i += 1) y[at + i] = (x[at + i] - mean) * scale2 * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
  }
  return y;
}
var add = (x, y) => x.map((value, i) => value + y[i]);
function attend(q, k, v, { d, heads, causal = false }) {
  const [queries, keys, width] = [q.length / d, k.length / d, d / heads];
  const mixed = new Float32Array(queries * d);
  const weights = new Float32Array(heads * queries * keys);
  for (let h = 0; h < heads; h += 1) {
    for (let i = 0; i < queries; i += 1) {
      const row = weights.subarray((h * queries + i) * keys, (h * queries + i + 1) * keys);
      const seen = causal ? keys - queries + i + 1 : keys;
      let top = -Infinity;
      for (let j = 0; j < seen; j += 1) {
        let score = 0;
        for (let c = h * width; c < (h + 1) * width; c += 1) score += q[i * d + c] * k[j * d + c];
        row[j] = score / Math.sqrt(width);
        top = Math.max(top, row[j]);
      }
      let total = 0;
      for (let j = 0; j < seen; j += 1) total += row[j] = Math.exp(row[j] - top);
      for (let j = 0; j < seen; j += 1) row[j] /= total;
      for (let c = h * width; c < (h + 1) * width; c += 1) {
        let sum = 0;
        for (let j = 0; j < seen; j += 1) sum += row[j] * v[j * d + c];
        mixed[i * d + c] = sum;
      }
    }
  }
  return { mixed, weights };
}
function block(x, part, parts, d) {
  const rows2 = x.length / (parts * d);
  const y = new Float32Array(rows2 * d);
  for (let r = 0; r < rows2; r += 1) y.set(x.subarray((r * parts + part) * d, (r * parts + part + 1) * d), r * d);
  return y;
}
var joined = (a, b) => {
  const whole = new Float32Array(a.length + b.length);
  whole.set(a);
  whole.set(b, a.length);
  return whole;
};
var EncoderDecoder = class {
  /** @param {{d_model, n_heads, encoder_layers, decoder_layers}} sizes  @param {Map<string, Float32Array>} tensors */
  constructor(sizes, tensors) {
    this.sizes = sizes;
    this.d = sizes.d_model;
    this.tensors = tensors;
  }
  #linear(x, name, inputs = this.d) {
    return linear(x, this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`), inputs);
  }
  #norm(x, name) {
    return norm(x, this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`), this.d);
  }
  /** The target's table, which is the output's too; the source's where both languages share one. */
  get #target() {
    return this.tensors.get("tgt_embedding.weight") ?? this.tensors.get("src_embedding.weight");
  }
  /** Vectors of tokens at positions start, start + 1, …: √d times the table's row, and sines and cosines. */
  #embed(ids, start = 0, table = this.tensors.get("src_embedding.weight")) {
    const { d } = this;
    const x = new Float32Array(ids.length * d);
    ids.forEach((id, t) => {
      for (let i = 0; i < d; i += 1) {
        const angle = (start + t) * 1e4 ** (-2 * (i % (d / 2)) / d);
        const position = Math.fround(i < d / 2 ? Math.sin(angle) : Math.cos(angle));
        x[t * d + i] = Math.fround(table[id * d + i] * Math.sqrt(d)) + position;
      }
    });
    return x;
  }
  #feedForward(x, name) {
    const inner = this.#linear(this.#norm(x, `${name}.norm`), `${name}.sublayer.up`).map((value) => Math.max(0, value));
    return add(x, this.#linear(inner, `${name}.sublayer.down`, inner.length / (x.length / this.d)));
  }
  /**
   * The encoder over the ids of a sentence with its end.
   * @returns {{memory: Float32Array, maps: Float32Array[]}} (length, d), and for each layer (heads, length, length)
   */
  encode(ids) {
    const { d, sizes: { n_heads: heads } } = this;
    const maps = [];
    let x = this.#embed(ids);
    for (let layer = 0; layer < this.sizes.encoder_layers; layer += 1) {
      const name = `encoder.${layer}`;
      const qkv = this.#linear(this.#norm(x, `${name}.mixing.norm`), `${name}.mixing.sublayer.qkv`);
      const { mixed, weights } = attend(block(qkv, 0, 3, d), block(qkv, 1, 3, d), block(qkv, 2, 3, d), { d, heads });
      maps.push(weights);
      x = this.#feedForward(add(x, this.#linear(mixed, `${name}.mixing.sublayer.out`)), `${name}.feed_forward`);
    }
    return { memory: this.#norm(x, "encoder_norm"), maps };
  }
  /**
   * Greedy translation: the most probable token, again and again, until the end.
   * @returns {{ids: number[], p: number[], gaps: number[], maps: Float32Array[]}} the tokens, the end left out; of each
   *   and of the end its probability, and how far its logit lies above the next; for each layer the cross-attention
   *   (heads, tokens and end, source)
   */
  translate(memory, maxLength) {
    const { d, sizes: { n_heads: heads, decoder_layers: layers } } = this;
    const table = this.#target;
    const source = memory.length / d;
    const cross = Array.from({ length: layers }, (_, layer) => {
      const kv = this.#linear(memory, `decoder.${layer}.cross.sublayer.kv`);
      return { k: block(kv, 0, 2, d), v: block(kv, 1, 2, d), rows: [] };
    });
    const own = Array.from({ length: layers }, () => ({ k: new Float32Array(0), v: new Float32Array(0) }));
    const ids = [];
    const p = [];
    const gaps = [];
    for (let last = BEGIN; ids.length < maxLength; ) {
      let x = this.#embed([last], ids.length, table);
      for (let layer = 0; layer < layers; layer += 1) {
        const name = `decoder.${layer}`;
        const qkv = this.#linear(this.#norm(x, `${name}.mixing.norm`), `${name}.mixing.sublayer.qkv`);
        own[layer].k = joined(own[layer].k, block(qkv, 1, 3, d));
        own[layer].v = joined(own[layer].v, block(qkv, 2, 3, d));
        const self = attend(block(qkv, 0, 3, d), own[layer].k, own[layer].v, { d, heads });
        x = add(x, this.#linear(self.mixed, `${name}.mixing.sublayer.out`));
        const q = this.#linear(this.#norm(x, `${name}.cross.norm`), `${name}.cross.sublayer.query`);
        const looked = attend(q, cross[layer].k, cross[layer].v, { d, heads });
        cross[layer].rows.push(looked.weights);
        x = add(x, this.#linear(looked.mixed, `${name}.cross.sublayer.out`));
        x = this.#feedForward(x, `${name}.feed_forward`);
      }
      const scores = linear(this.#norm(x, "decoder_norm"), table, void 0, d);
      const best = scores.reduce((at, score, i) => score > scores[at] ? i : at, 0);
      p.push(1 / scores.reduce((sum, score) => sum + Math.exp(score - scores[best]), 0));
      gaps.push(scores.reduce((gap, score, i) => i === best ? gap : Math.min(gap, scores[best] - score), Infinity));
      if (best === END) break;
      ids.push(best);
      last = best;
    }
    return { ids, p, gaps, maps: cross.map(({ rows: rows2 }) => gathered(rows2, heads, source)) };
  }
};
function gathered(rows2, heads, keys) {
  const whole = new Float32Array(heads * rows2.length * keys);
  rows2.forEach((row, i) => {
    for (let h = 0; h < heads; h += 1) whole.set(row.subarray(h * keys, (h + 1) * keys), (h * rows2.length + i) * keys);
  });
  return whole;
}

// reservoir_book/explorables/attention_maps/model.mjs
var END2 = 2;
var UNKNOWN2 = 3;
var bytes = (view) => view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
var Translator = class {
  constructor({ sizes, tokens, merges, names, numbers, steps }) {
    this.sizes = sizes;
    this.vocabulary = new Vocabulary(tokens, merges);
    this.model = new EncoderDecoder(sizes, unpack(names, new Float32Array(bytes(numbers)), new Uint8Array(bytes(steps))));
  }
  /**
   * @param {string} sentence
   * @returns {object} src, tgt: pieces with their end; p: the probability of each piece written; encoder and cross: maps,
   *   a Float32Array (rows, src) for each head, layer by layer; unknown: characters that training never saw; spelt: words
   *   that are read in pieces
   */
  look(sentence) {
    const { vocabulary, model, sizes } = this;
    const src = [...vocabulary.encode(sentence), END2];
    const { memory, maps } = model.encode(src);
    const found = model.translate(memory, Math.floor(1.5 * src.length) + 10);
    const tgt = found.p.length > found.ids.length ? [...found.ids, END2] : found.ids;
    const heads = (layers) => layers.flatMap((map) => Array.from({ length: sizes.n_heads }, (_, h) => map.subarray(h * map.length / sizes.n_heads, (h + 1) * map.length / sizes.n_heads)));
    const piece = (id) => vocabulary.tokens[id];
    const known = new Set(vocabulary.tokens);
    return {
      src: src.map(piece),
      tgt: tgt.map(piece),
      p: found.p,
      encoder: heads(maps),
      cross: heads(found.maps),
      ids: { src, tgt },
      translation: vocabulary.decode(found.ids),
      complete: tgt.at(-1) === END2,
      unknown: src.includes(UNKNOWN2) ? [...new Set(Vocabulary.normalise(sentence))].filter((c) => c !== " " && !known.has(c)) : [],
      spelt: Vocabulary.words(sentence).filter((word) => /^▁../u.test(word) && vocabulary.encode(word).length > 1).map((word) => word.slice(1))
    };
  }
  /** The names of the heads: layer and head, as in "1.2". */
  heads(side) {
    const layers = side === "tgt" ? this.sizes.decoder_layers : this.sizes.encoder_layers;
    return Array.from({ length: layers * this.sizes.n_heads }, (_, i) => `${Math.floor(i / this.sizes.n_heads) + 1}.${i % this.sizes.n_heads + 1}`);
  }
};
function rows(shown, side, index) {
  const width = shown.src.length;
  const each = shown[side === "tgt" ? "cross" : "encoder"].map((map) => map.subarray(index * width, (index + 1) * width));
  const mean = Float32Array.from({ length: width }, (_, j) => each.reduce((sum, row) => sum + row[j], 0) / each.length);
  return { each, mean };
}

// reservoir_book/explorables/attention_maps/view.mjs
var SHOWN = { "</s>": "end", "<unk>": "□", "▁": "␣" };
var SAID = { "</s>": "the end of the sentence", "<unk>": "what it does not know", "▁": "a space" };
var bare = (piece) => SHOWN[piece] ?? piece.replace("▁", "");
var quoted = (piece) => SAID[piece] ?? `“${bare(piece)}”`;
var listed = (words) => words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
function rove(group, { back, on }) {
  group.addEventListener("keydown", (event) => {
    const way = { [back]: -1, [on]: 1 }[event.key];
    if (!way) return;
    const buttons = [...group.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(document.activeElement) + way];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}
function line(name, lang, choose) {
  const pieces = html("div", { class: "at-pieces", role: "group", "aria-label": name, lang });
  const element = html("div", { class: "at-line" }, html("span", { class: "ex-name", text: name }), pieces);
  const picked = (event) => {
    const button = event.target.closest("button");
    if (button) choose(Number(button.dataset.i));
  };
  pieces.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") picked(event);
  });
  pieces.addEventListener("focusin", picked);
  pieces.addEventListener("click", picked);
  rove(pieces, { back: "ArrowLeft", on: "ArrowRight" });
  return {
    element,
    write(tokens) {
      pieces.replaceChildren(...tokens.map((token, i) => html("button", {
        type: "button",
        "data-i": i,
        text: bare(token),
        class: `at-piece ${token.startsWith("▁") || token === "</s>" ? "at-start" : ""} ${token === "</s>" ? "at-end" : ""}`
      })));
    },
    mark(chosen, weights) {
      [...pieces.children].forEach((button, i) => {
        button.setAttribute("aria-pressed", String(i === chosen));
        button.tabIndex = i === Math.max(0, chosen) ? 0 : -1;
        button.style.setProperty("--weight", weights ? weights[i].toFixed(3) : 0);
      });
    }
  };
}
function grid(choose) {
  const element = html("div", { class: "at-heads", role: "group", "aria-label": "Heads" });
  rove(element, { back: "ArrowUp", on: "ArrowDown" });
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) choose(button.dataset.head);
  });
  let strips = [];
  return {
    element,
    write(tokens, names) {
      element.style.setProperty("--count", tokens.length);
      const above = html("div", { class: "at-row at-above", "aria-hidden": "true", lang: "de" }, html("span"), tokens.map((token) => html("span", { text: bare(token) })));
      strips = ["mean", ...names].map((name) => {
        const cells = tokens.map(() => html("span", { class: "at-cell" }));
        const row = html("button", { type: "button", class: "at-row", "data-head": name }, html("span", { class: "at-name", text: name }), cells);
        return { name, row, cells };
      });
      element.replaceChildren(above, ...strips.map(({ row }) => row));
    },
    mark(head, tokens, { each, mean }) {
      strips.forEach(({ name, row, cells }, i) => {
        const weights = i ? each[i - 1] : mean;
        const top = weights.indexOf(Math.max(...weights));
        cells.forEach((cell, j) => cell.style.setProperty("--weight", weights[j].toFixed(3)));
        row.setAttribute("aria-pressed", String(name === head));
        row.tabIndex = name === head ? 0 : -1;
        row.setAttribute("aria-label", `${i ? `Head ${name}` : "Mean of all heads"}: most at ${bare(tokens[top])}, ${weights[top].toFixed(2)}`);
      });
    }
  };
}
var view_default = {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const translator = new Translator(Object.fromEntries(["sizes", "tokens", "merges", "names", "numbers", "steps"].map((name) => [name, model.get(name)])));
    ui.text("sentence", { label: "A German sentence", maxLength: 120, lang: "de" });
    const examples = model.get("examples") ?? [];
    if (examples.length) {
      const input = html("select", { class: "at-examples", "aria-label": "Take another sentence" }, html("option", { value: "", text: "or take another …" }), examples.map((text) => html("option", { text, lang: "de" })));
      input.addEventListener("change", () => {
        if (input.value) ui.set("sentence", input.value);
        input.value = "";
      });
      ui.controls.append(input);
    }
    ui.setting("at", { parse: (text) => /^(src|tgt)-\d{1,3}$/.test(text) ? text : void 0 });
    ui.setting("head", { parse: (text) => /^(mean|\d+\.\d+)$/.test(text) ? text : void 0 });
    const german = line("What it reads", "de", (i) => ui.set("at", `src-${i}`));
    const english = line("What it writes", "en", (i) => ui.set("at", `tgt-${i}`));
    const heads = grid((name) => ui.set("head", name));
    ui.stage.append(german.element, english.element, heads.element);
    let read;
    let shown;
    let sideShown;
    ui.draw(({ sentence, at, head }) => {
      const anew = sentence !== read;
      if (anew) {
        shown = translator.look(sentence);
        read = sentence;
        german.write(shown.src);
        english.write(shown.tgt);
      }
      const [side, place] = at.split("-");
      const index = Math.min(Number(place), shown[side].length - 1);
      const names = translator.heads(side);
      const chosen = names.includes(head) ? head : "mean";
      if (anew || side !== sideShown) heads.write(shown.src, names);
      sideShown = side;
      const found = rows(shown, side, index);
      const weights = chosen === "mean" ? found.mean : found.each[names.indexOf(chosen)];
      german.mark(side === "src" ? index : -1, weights);
      english.mark(side === "tgt" ? index : -1);
      heads.mark(chosen, shown.src, found);
      ui.say(told({ shown, side, index, chosen, names, found, weights }));
    });
    return ui.close;
  }
};
function told({ shown, side, index, chosen, names, found, weights }) {
  const piece = shown[side][index];
  const peak = (row) => row.indexOf(Math.max(...row));
  const share = (row) => `${row[peak(row)].toFixed(2)} of ${row === found.mean ? "their" : "its"} weight`;
  const sharpest = found.each.reduce((best, row, i) => Math.max(...row) > Math.max(...found.each[best]) ? i : best, 0);
  const ended = /[.?!]$/.test(shown.translation) && shown.complete ? "" : ".";
  const sentences = [`The model writes “${shown.translation}”${shown.complete ? "" : " and is cut off there"}${ended}`];
  const doing = side === "tgt" ? `Writing ${quoted(piece)} (probability ${number(shown.p[index], 2)})` : `Reading ${quoted(piece)}`;
  sentences.push(chosen === "mean" ? `${doing}, its ${names.length} heads look most at ${quoted(shown.src[peak(weights)])}: ${share(weights)} on average. The sharpest is head ${names[sharpest]}, with ${found.each[sharpest][peak(found.each[sharpest])].toFixed(2)} on ${quoted(shown.src[peak(found.each[sharpest])])}.` : `${doing}, head ${chosen} looks most at ${quoted(shown.src[peak(weights)])}: ${share(weights)}.`);
  if (shown.unknown.length) sentences.push(`It has never seen ${listed(shown.unknown.map((character) => `“${character}”`))}, and reads a blank (□) there.`);
  if (shown.spelt.length) sentences.push(`It has no piece for ${listed(shown.spelt.map((word) => `“${word}”`))} as a whole, and reads ${shown.spelt.length > 1 ? "them" : "it"} in parts.`);
  return sentences.join(" ");
}
export {
  view_default as default
};
