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
function ticks(low, high, count2 = 5) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count2;
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
  const text2 = size >= 10 ** (digits - 1) ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
  const [whole, part] = text2.replace("-", "−").split(".");
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
  let text2 = "";
  let pen = "M";
  for (let i = 0; i < ys.length; i += 1) {
    if (!Number.isFinite(ys[i])) {
      pen = "M";
      continue;
    }
    text2 += `${pen}${clip(x(xs ? xs[i] : i)).toFixed(1)} ${clip(y(ys[i])).toFixed(1)}`;
    pen = "L";
  }
  return text2;
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
  function draw2() {
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
      const count2 = side === "x" ? Math.max(2, Math.round(width / 90)) : Math.max(2, Math.round(tall / 55));
      const at = of.ticks ?? (of.log ? logTicks(...of.domain, of.base) : ticks(...of.domain, count2));
      return at.map((tick) => {
        const text2 = (of.format ?? number)(tick);
        return side === "x" ? [svg("line", { class: "ex-grid", x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom }), svg("text", { class: "ex-tick", x: x(tick), y: box.bottom + 15, "text-anchor": "middle" }, text2)] : [svg("line", { class: "ex-grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }), svg("text", { class: "ex-tick", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, text2)];
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
    if (element.clientWidth !== width) draw2();
  });
  watcher.observe(element);
  return {
    element,
    update(changes) {
      for (const side of ["x", "y"]) if (changes[side]) changes = { ...changes, [side]: { ...state[side], ...changes[side] } };
      state = { ...state, ...changes };
      if (changes.label) drawing.setAttribute("aria-label", changes.label);
      draw2();
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
  const named = (text2) => {
    if (!text2) return;
    drawing.removeAttribute("aria-hidden");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", text2);
  };
  named(label);
  const element = Object.assign(document.createElement("div"), { className: "ex-figure" });
  element.append(drawing);
  return {
    element,
    update({ values, rows, cols, max = 1, rowLabels = [], colLabels = [], label: shown }) {
      const room = rowLabels.length ? Math.min(120, 12 + 7 * Math.max(...rowLabels.map((text2) => text2.length))) : 4;
      const above = colLabels.length ? Math.min(90, 10 + 6 * Math.max(...colLabels.map((text2) => text2.length))) : 4;
      const side = Math.max(2, Math.min(cell, ((element.clientWidth || 320) - room - 12) / cols));
      drawing.setAttribute("width", room + side * cols + 8);
      drawing.setAttribute("height", above + side * rows + 4);
      named(shown);
      const cells = [];
      for (let i = 0; i < rows; i += 1) {
        for (let j = 0; j < cols; j += 1) {
          const share = Math.max(0, Math.min(1, values[i * cols + j] / max));
          cells.push(svg("rect", { class: "ex-cell", x: room + j * side, y: above + i * side, width: Math.max(1, side - 1), height: Math.max(1, side - 1), "fill-opacity": (0.04 + 0.96 * share).toFixed(3) }));
        }
      }
      drawing.replaceChildren(
        ...cells,
        ...rowLabels.map((text2, i) => svg("text", { class: "ex-tick", x: room - 5, y: above + (i + 0.5) * side + 4, "text-anchor": "end" }, text2)),
        ...colLabels.map((text2, j) => svg("text", { class: "ex-tick", transform: `translate(${room + (j + 0.5) * side + 4} ${above - 5}) rotate(-50)` }, text2))
      );
    }
  };
}

// reservoir_book/explorables/shared/ui.mjs
var QUIET = 900;
function html(name, { text: text2, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === void 0 || value === null || value === false) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  if (text2 !== void 0) element.textContent = text2;
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
    const told = model.book?.address.get(name);
    if (told !== void 0) {
      const value = parse(told);
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
        parse: (text2) => {
          const value = Number(text2);
          return text2.trim() && Number.isFinite(value) ? snapped(value, range) : void 0;
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
      const read = (text2) => {
        const value = Number(text2);
        return text2.trim() && Number.isFinite(value) ? snapped(value, range) : void 0;
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
      const values = new Map(options.map(([value, text2]) => [String(value), { value, text: text2 }]));
      const inputs = options.map(([value, text2], i) => {
        const input = html("input", { type: "radio", name: `${mine}-${name}`, id: `${mine}-${name}-${i}`, value: String(value) });
        input.addEventListener("change", () => {
          if (input.checked) set(name, value);
        });
        return [input, html("label", { for: input.id, text: text2 })];
      });
      controls.append(html("fieldset", { class: "ex-field ex-choice" }, html("legend", { class: "ex-name", text: label }), html("div", { class: "ex-options" }, inputs)));
      bind(name, {
        parse: (text2) => values.get(text2)?.value,
        show(value) {
          for (const [input] of inputs) input.checked = input.value === String(value);
        }
      });
      return inputs.map(([input]) => input);
    },
    /** One of many: a list to unfold. `options` is [[value, label], …]. */
    select(name, { label, options }) {
      const values = new Map(options.map(([value]) => [String(value), value]));
      const input = html("select", { id: `${mine}-${name}` }, options.map(([value, text2]) => html("option", { value: String(value), text: text2 })));
      input.addEventListener("change", () => set(name, values.get(input.value)));
      field(label, input);
      bind(name, { parse: (text2) => values.get(text2), show(value) {
        input.value = String(value);
      } });
      return input;
    },
    toggle(name, { label }) {
      const input = html("input", { type: "checkbox", id: `${mine}-${name}` });
      input.addEventListener("change", () => set(name, input.checked));
      controls.append(html("div", { class: "ex-field ex-toggle" }, input, html("label", { for: input.id, text: label })));
      bind(name, {
        parse: (text2) => ({ 1: true, 0: false })[text2],
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
      bind(name, { parse: (text2) => text2.slice(0, maxLength), show: (value) => {
        if (input.value !== value) input.value = value;
      } });
      return input;
    },
    /** A setting without a control of its own, kept in the address all the same: what was tapped in a drawing. */
    setting(name, { parse = (text2) => text2, write = String } = {}) {
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
    draw(draw2) {
      painter = draw2;
      const box = new ResizeObserver(() => {
        if (stage.clientWidth) {
          box.disconnect();
          redraw();
        }
      });
      box.observe(stage);
      closing.push(() => box.disconnect());
      draw2(state());
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
  static normalise(text2) {
    return text2.normalize("NFC").replace(/[\s▁]+/gu, " ").trim();
  }
  /** The words of a text with the mark of the space before them; punctuation marks stand alone. */
  static words(text2) {
    const whole = _Vocabulary.normalise(text2);
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
  encode(text2) {
    return _Vocabulary.words(text2).flatMap((word) => this.#merge(word));
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

// reservoir_book/explorables/shared/sha256.mjs
var K = new Uint32Array(64);
var START = new Uint32Array(8);
{
  const fraction = (root) => (root - Math.floor(root)) * 2 ** 32 >>> 0;
  for (let n = 2, found = 0; found < 64; n += 1) {
    let prime = true;
    for (let d = 2; d * d <= n; d += 1) if (n % d === 0) {
      prime = false;
      break;
    }
    if (!prime) continue;
    if (found < 8) START[found] = fraction(Math.sqrt(n));
    K[found] = fraction(Math.cbrt(n));
    found += 1;
  }
}
function sha256(...pieces) {
  const h = START.slice();
  const w = new Uint32Array(64);
  const rest = new Uint8Array(64);
  let filled = 0;
  let length = 0;
  function block2(bytes2, at) {
    for (let i = 0; i < 16; i += 1, at += 4) w[i] = bytes2[at] << 24 | bytes2[at + 1] << 16 | bytes2[at + 2] << 8 | bytes2[at + 3];
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;
      const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, last] = h;
    for (let i = 0; i < 64; i += 1) {
      const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
      const t1 = last + s1 + (e & f ^ ~e & g) + K[i] + w[i] | 0;
      const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
      const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
      last = g;
      g = f;
      f = e;
      e = d + t1 | 0;
      d = c;
      c = b;
      b = a;
      a = t1 + t2 | 0;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
    h[5] += f;
    h[6] += g;
    h[7] += last;
  }
  function add2(bytes2) {
    let at = 0;
    if (filled) {
      at = Math.min(64 - filled, bytes2.length);
      rest.set(bytes2.subarray(0, at), filled);
      filled += at;
      if (filled < 64) return;
      block2(rest, 0);
      filled = 0;
    }
    for (; at + 64 <= bytes2.length; at += 64) block2(bytes2, at);
    rest.set(bytes2.subarray(at));
    filled = bytes2.length - at;
  }
  for (const piece of pieces) {
    add2(piece);
    length += piece.length;
  }
  const end = new Uint8Array((filled < 56 ? 64 : 128) - filled);
  end[0] = 128;
  const view = new DataView(end.buffer);
  view.setUint32(end.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(end.length - 4, length * 8 >>> 0);
  add2(end);
  return [...h].map((word) => word.toString(16).padStart(8, "0")).join("");
}

// reservoir_book/explorables/shared/digest.mjs
var WORDS = 512;
var encode = (text2) => new TextEncoder().encode(text2);
var digest = (...pieces) => sha256(...pieces).slice(0, 16);
var head = (dtype, shape) => encode(`${dtype} (${shape.length === 1 ? `${shape[0]},` : shape.join(", ")})`);
function sums(low, high) {
  const words = new Uint32Array(2 * low.length);
  low.forEach((sum, i) => {
    words[2 * i] = sum % 2 ** 32;
    words[2 * i + 1] = (high[i] + Math.floor(sum / 2 ** 32)) % 2 ** 32;
  });
  return new Uint8Array(words.buffer);
}
function digestOfSums(dtype, shape, bytes2) {
  const rows = Math.ceil(bytes2.length / (8 * WORDS));
  const padded = new Uint8Array(8 * WORDS * rows);
  padded.set(bytes2);
  const halves = new Uint32Array(padded.buffer);
  const [lowRows, highRows] = [new Float64Array(rows), new Float64Array(rows)];
  const [lowColumns, highColumns] = [new Float64Array(WORDS), new Float64Array(WORDS)];
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < WORDS; column++, at += 2) {
      lowRows[row] += halves[at];
      highRows[row] += halves[at + 1];
      lowColumns[column] += halves[at];
      highColumns[column] += halves[at + 1];
    }
  }
  return digest(head(dtype, shape), sums(lowRows, highRows), sums(lowColumns, highColumns));
}

// reservoir_book/explorables/shared/draws.mjs
var HALVES = 8;
var INDEX = 2 ** 21;
var extent = (n) => {
  if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`n must be a whole number, 0 or more, got ${n}`);
  return n;
};
function uniform(stream, n, { bound, start = 0 }) {
  const scale2 = Math.fround(bound * 2 ** -23);
  const words = stream.words(start, start + extent(n));
  const drawn = new Float32Array(n);
  for (let i = 0; i < n; i += 1) drawn[i] = ((words[i] >>> 8) - 2 ** 23) * scale2;
  return drawn;
}
function sign(stream, n, { scale: scale2 = 1, start = 0 } = {}) {
  const size = Math.fround(scale2);
  const first = Math.floor(start / 32);
  const words = stream.words(first, Math.ceil((start + extent(n)) / 32));
  const drawn = new Float32Array(n);
  for (let i = 0; i < n; i += 1) {
    const bit = start - 32 * first + i;
    drawn[i] = words[bit >>> 5] >>> (bit & 31) & 1 ? size : -size;
  }
  return drawn;
}
function normal(stream, n, { std, start = 0 }) {
  const scale2 = Math.fround(std / Math.sqrt(HALVES * (2 ** 32 - 1) / 3));
  const words = stream.blocks(start, start + extent(n));
  const drawn = new Float32Array(n);
  for (let i = 0; i < n; i += 1) {
    let total = 0;
    for (let at = 4 * i; at < 4 * i + 4; at += 1) total += (words[at] & 65535) + (words[at] >>> 16);
    drawn[i] = (2 * total - HALVES * 65535) * scale2;
  }
  return drawn;
}

// reservoir_book/explorables/shared/encoder-decoder.mjs
var BEGIN = 1;
var END = 2;
var EPSILON = 1e-5;
function linear(x, weight, bias, inputs) {
  const rows = x.length / inputs;
  const outputs = weight.length / inputs;
  const y = new Float32Array(rows * outputs);
  for (let r = 0; r < rows; r += 1) {
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
  const rows = x.length / (parts * d);
  const y = new Float32Array(rows * d);
  for (let r = 0; r < rows; r += 1) y.set(x.subarray((r * parts + part) * d, (r * parts + part + 1) * d), r * d);
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
    return { ids, p, gaps, maps: cross.map(({ rows }) => gathered(rows, heads, source)) };
  }
};
function gathered(rows, heads, keys) {
  const whole = new Float32Array(heads * rows.length * keys);
  rows.forEach((row, i) => {
    for (let h = 0; h < heads; h += 1) whole.set(row.subarray(h * keys, (h + 1) * keys), (h * rows.length + i) * keys);
  });
  return whole;
}

// reservoir_book/explorables/shared/philox.mjs
var [M0, M1] = [3528531795, 3449720151];
var KEY_STEPS = [2654435769, 3144134277];
var ROUNDS = 10;
var TWO32 = 2 ** 32;
var [M0_LOW, M0_HIGH, M1_LOW, M1_HIGH] = [M0, M1].flatMap((m) => [m & 65535, m >>> 16]);
function keySchedule(low, high) {
  const keys = new Int32Array(2 * ROUNDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    keys[2 * round] = low + Math.imul(round, KEY_STEPS[0]);
    keys[2 * round + 1] = high + Math.imul(round, KEY_STEPS[1]);
  }
  return keys;
}
function fill(out, low, high, count2, keys, hashLow, hashHigh) {
  for (let at = 0; at < count2; at += 1) {
    let c0 = low + at | 0;
    let c1 = high + Math.floor((low + at) / TWO32) | 0;
    let c2 = hashLow;
    let c3 = hashHigh;
    for (let round = 0; round < 2 * ROUNDS; round += 2) {
      const low0 = c0 & 65535;
      const high0 = c0 >>> 16;
      const one0 = Math.imul(high0, M0_LOW);
      const other0 = Math.imul(low0, M0_HIGH);
      const carry0 = (one0 & 65535) + (other0 & 65535) + (Math.imul(low0, M0_LOW) >>> 16);
      const upper0 = Math.imul(high0, M0_HIGH) + (one0 >>> 16) + (other0 >>> 16) + (carry0 >>> 16) | 0;
      const low1 = c2 & 65535;
      const high1 = c2 >>> 16;
      const one1 = Math.imul(high1, M1_LOW);
      const other1 = Math.imul(low1, M1_HIGH);
      const carry1 = (one1 & 65535) + (other1 & 65535) + (Math.imul(low1, M1_LOW) >>> 16);
      const upper1 = Math.imul(high1, M1_HIGH) + (one1 >>> 16) + (other1 >>> 16) + (carry1 >>> 16) | 0;
      const lower0 = Math.imul(c0, M0);
      const lower1 = Math.imul(c2, M1);
      c0 = upper1 ^ c1 ^ keys[round];
      c1 = lower1;
      c2 = upper0 ^ c3 ^ keys[round + 1];
      c3 = lower0;
    }
    out[4 * at] = c0;
    out[4 * at + 1] = c1;
    out[4 * at + 2] = c2;
    out[4 * at + 3] = c3;
  }
  return out;
}
function nameHash(name) {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(name)) value = (value ^ BigInt(byte)) * 0x100000001b3n & 0xffffffffffffffffn;
  return value;
}
function seedOf(given) {
  const whole = typeof given === "bigint" || Number.isSafeInteger(given) || typeof given === "string" && /^\d+$/.test(given);
  const seed = whole ? BigInt(given) : -1n;
  if (seed < 0n || seed >= 2n ** 64n) throw new RangeError(`seed must be an integer in [0, 2**64), got ${String(given)}; write one above 2**53 as text or BigInt`);
  return seed;
}
var Stream = class _Stream {
  constructor(seed, name) {
    if (typeof name !== "string") throw new TypeError(`name must be a string, got ${String(name)}`);
    this.seed = seedOf(seed);
    this.name = name;
    const hash = nameHash(name);
    const halves = (value) => [Number(value & 0xffffffffn) | 0, Number(value >> 32n) | 0];
    this.hash = halves(hash);
    this.keys = keySchedule(...halves(this.seed));
  }
  /** The stream of the same seed named `<name>/<part>`. */
  sub(part) {
    return new _Stream(this.seed, `${this.name}/${part}`);
  }
  /** Blocks first … last, the latter left out, four words each: a Uint32Array. */
  blocks(first, last) {
    const count2 = last - first;
    return fill(new Uint32Array(4 * count2), first % TWO32, Math.floor(first / TWO32), count2, this.keys, ...this.hash);
  }
  /** Words start … stop, the latter left out: a Uint32Array. */
  words(start, stop) {
    if (!(Number.isSafeInteger(start) && Number.isSafeInteger(stop) && start >= 0 && start <= stop)) {
      throw new RangeError(`start and stop must satisfy 0 <= start <= stop, got ${start} and ${stop}`);
    }
    const first = Math.floor(start / 4);
    const drawn = this.blocks(first, Math.ceil(stop / 4));
    return drawn.subarray(start - 4 * first, stop - 4 * first);
  }
};

// reservoir_book/explorables/stored_translator/model.mjs
var FORMAT = "reservoir-model-3";
var GENERATOR = "philox4x32-10, names by FNV-1a, version 1";
var DTYPES = { F32: ["torch.float32", 4], U8: ["torch.uint8", 1] };
var END2 = 2;
var UNKNOWN2 = 3;
var StoredError = class extends Error {
};
var text = (bytes2) => new TextDecoder("utf-8", { fatal: true }).decode(bytes2);
var bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
var product = (shape) => shape.reduce((a, b) => a * b, 1);
function readSafetensors(bytes2) {
  let header;
  let start;
  try {
    const view = new DataView(bytes2.buffer, bytes2.byteOffset, bytes2.byteLength);
    start = 8 + Number(view.getBigUint64(0, true));
    header = JSON.parse(text(bytes2.subarray(8, start)));
  } catch (error) {
    throw new StoredError(`the file is damaged, or no safetensors file (${error.message})`);
  }
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = /* @__PURE__ */ new Map();
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(entries)) {
    const [written, width] = DTYPES[dtype] ?? [];
    if (!width || to - from !== width * product(shape)) throw new StoredError(`${name} is damaged: ${dtype} of (${shape})`);
    if (start + to > bytes2.length) throw new StoredError(`the file ends within ${name}`);
    tensors.set(name, { shape, written, bytes: bytes2.slice(start + from, start + to) });
  }
  return { tensors, metadata };
}
function byOrigin({ parameters, masks }) {
  const groups = { seeded: {}, trained: {}, pretrained: {} };
  for (const [name, said] of Object.entries(parameters)) groups[said.origin][name] = said;
  const masked = {};
  for (const [name, { modules }] of Object.entries(masks)) for (const module of modules) masked[module] = name;
  return { drawn: groups.seeded, trained: groups.trained, pretrained: groups.pretrained, masks, masked };
}
function elementwise(said, shape, blocks) {
  const larger = Math.sqrt(1 / (said.keep ?? 1));
  const window = product(shape.slice(2));
  const fanIn = shape[1] * window;
  const fanOut = Math.floor(shape[0] / blocks) * window;
  switch (said.kind) {
    case "XavierUniform":
      return [uniform, { bound: (said.gain ?? 1) * Math.sqrt(6 / (fanIn + fanOut)) * larger }];
    case "KaimingUniform":
      return [uniform, { bound: Math.sqrt(6 / ((1 + said.a * said.a) * fanIn)) * larger }];
    case "SignedConstant":
      return [sign, { scale: said.gain / Math.sqrt(fanIn) * larger }];
    case "Normal":
      return [normal, { std: said.std * larger }];
    case "Uniform":
      return [uniform, { bound: said.bound * larger }];
    case "Constant":
      return [(stream, n, { value }) => new Float32Array(n).fill(value), { value: said.value * larger }];
    default:
      throw new StoredError(`a page does not draw ${said.kind}`);
  }
}
function draw(name, said, shape) {
  const [kind, options] = elementwise(said.initialisation, shape, said.blocks);
  const drawn = kind(new Stream(said.seed, said.stream), product(shape), options);
  if (said.zero_row !== null) drawn.fill(0, said.zero_row * shape[1], (said.zero_row + 1) * shape[1]);
  const found = digestOfSums("torch.float32", shape, bytesOf(drawn));
  if (found !== said.digest) throw new StoredError(`${name}, drawn from seed ${said.seed}, is not what its digest says`);
  return drawn;
}
function stored(name, said, { tensors }) {
  const tensor = tensors.get(name);
  if (!tensor) throw new StoredError(`the file has nothing for ${name}`);
  const { written, shape, bytes: bytes2 } = tensor;
  const found = digestOfSums(written, shape, bytes2);
  if (found !== said.digest) throw new StoredError(`${name} is damaged: its digest does not match`);
  return tensor;
}
function shapes({ src_vocab: src, tgt_vocab: tgt, d_model: d, d_ff: ff, tie }) {
  const found = { "encoder.norm": [d], "decoder.norm": [d] };
  if (tie === "all") found.embedding = [src, d];
  else Object.assign(found, { "encoder.embedding": [src, d], "decoder.embedding": [tgt, d] });
  for (const side of ["encoder", "decoder"]) {
    const matrices = { "attention.qkv": [3 * d, d], "attention.out": [d, d], "feed_forward.up": [ff, d], "feed_forward.down": [d, ff] };
    if (side === "decoder") Object.assign(matrices, { "cross.query": [d, d], "cross.kv": [2 * d, d], "cross.out": [d, d] });
    for (const [name, shape] of Object.entries(matrices)) found[`${side}.*.${name}`] = shape;
    for (const part of side === "decoder" ? ["mixing", "cross", "feed_forward"] : ["mixing", "feed_forward"]) found[`${side}.*.${part}.norm`] = [d];
  }
  return found;
}
var called = (stream) => stream.replace(/^embedding$|^encoder\.embedding$/, "src_embedding").replace(/^decoder\.embedding$/, "tgt_embedding").replace(/^(encoder|decoder)\.norm$/, "$1_norm").replace(/\.attention\./, ".mixing.sublayer.").replace(/\.(cross|feed_forward)\.(?!norm$)/, ".$1.sublayer.");
function unpacked(bytes2, n) {
  const bits = new Uint8Array(n);
  for (let i = 0; i < n; i += 1) bits[i] = bytes2[i >> 3] >> (i & 7) & 1;
  return bits;
}
var StoredModel = class {
  /**
   * @param {{config: string, weights: Uint8Array, tokenizer: string}} files of the folder
   * @throws {StoredError} something is damaged, missing or of another version
   */
  constructor({ config, weights, tokenizer }) {
    const file = readSafetensors(weights);
    const { metadata } = file;
    if (metadata.format !== FORMAT) throw new StoredError(`the file must have the format ${FORMAT}, got ${String(metadata.format).slice(0, 60)}`);
    let contents;
    let files;
    let sizes;
    try {
      contents = JSON.parse(metadata.contents.replace(/"seed": ?(\d+)/g, '"seed": "$1"'));
      contents = byOrigin(contents);
      files = JSON.parse(metadata.files);
      const said = JSON.parse(config);
      if (said.model !== "EncoderDecoder") throw new Error(`a page runs an EncoderDecoder, not ${said.model}`);
      sizes = said.config;
    } catch (error) {
      throw new StoredError(`what the model is cannot be read (${error.message})`);
    }
    const drawn = Object.keys(contents.drawn);
    if (drawn.length && metadata.generator !== GENERATOR) throw new StoredError(`${drawn[0]} was drawn by “${metadata.generator}”, and this page draws by “${GENERATOR}”`);
    for (const [name, content] of Object.entries({ "config.json": config, "tokenizer.json": tokenizer })) {
      if (files[name] !== digest(new TextEncoder().encode(content))) throw new StoredError(`the file was not written with the ${name} next to it, or one of the two is damaged`);
    }
    for (const [name, wanted] of Object.entries({ norm_first: true, activation: "relu", positions: "sinusoidal" })) {
      if (sizes[name] !== wanted) throw new StoredError(`a page runs a model with ${name}=${wanted}, got ${sizes[name]}`);
    }
    this.sizes = sizes;
    this.contents = contents;
    this.counts = { drawn: 0, bits: 0, trained: 0 };
    this.places = [];
    this.model = new EncoderDecoder(sizes, this.#tensors(file));
    if (metadata.digest !== digest(new TextEncoder().encode(metadata.contents + metadata.files))) throw new StoredError("its list of contents is damaged: its digest does not match");
    this.vocabulary = vocabularyOf(tokenizer);
  }
  #tensors(file) {
    const { contents, sizes } = this;
    const raw = /* @__PURE__ */ new Map();
    const masks = /* @__PURE__ */ new Map();
    const tensors = /* @__PURE__ */ new Map();
    const base = (stream) => sizes.share_layers ? stream.replace(/^(encoder|decoder)\.\d+\./, "$1.0.") : stream;
    const own = (name, shape) => {
      if (raw.has(name)) return raw.get(name);
      let found;
      if (contents.drawn[name]) {
        found = draw(name, contents.drawn[name], shape);
        this.counts.drawn += found.length;
      } else if (contents.trained[name] ?? contents.pretrained[name]) {
        const { bytes: bytes2, written, shape: has } = stored(name, contents.trained[name] ?? contents.pretrained[name], file);
        if (written !== "torch.float32" || product(has) !== product(shape)) throw new StoredError(`the file has (${has}) for ${name}, not (${shape})`);
        found = new Float32Array(bytes2.buffer);
        this.counts.trained += found.length;
      }
      raw.set(name, found);
      return found;
    };
    const mask = (name, n) => {
      if (!masks.has(name)) {
        const { bytes: bytes2, shape } = stored(name, contents.masks[name] ?? {}, file);
        if (shape[0] !== Math.ceil(n / 8)) throw new StoredError(`the file has (${shape}) for ${name}, not (${Math.ceil(n / 8)})`);
        masks.set(name, unpacked(bytes2, n));
        this.counts.bits += n;
      }
      return masks.get(name);
    };
    for (const [pattern, shape] of Object.entries(shapes(sizes))) {
      const depth = pattern.includes("*") ? sizes[`${pattern.slice(0, 7)}_layers`] : 1;
      for (let layer = 0; layer < depth; layer += 1) {
        const stream = pattern.replace("*", layer);
        const weight = own(base(stream), shape);
        if (!weight && !/norm$/.test(stream)) throw new StoredError(`nothing is said of ${stream}`);
        if (!weight) continue;
        let used = weight;
        if (contents.masked[stream]) {
          const bits = mask(contents.masked[stream], weight.length);
          used = weight.map((value, i) => value * bits[i]);
          this.places.push({ name: stream, rows: shape[0], columns: shape[1], weight, bits });
        }
        tensors.set(`${called(stream)}.weight`, used);
        const bias = own(`${base(stream)}.bias`, [shape[0]]);
        if (bias) tensors.set(`${called(stream)}.bias`, bias);
      }
    }
    return tensors;
  }
  /**
   * A greedy translation, as `translate(…, decoding=Decoding(beam=1))` makes it.
   * @returns {{translation: string, ids: number[], complete: boolean, gap: number, unknown: string[]}} gap: the least
   *   distance between the two highest logits on the way, which says how nearly it would have been another one
   */
  translate(sentence) {
    const { vocabulary, model } = this;
    const src = [...vocabulary.encode(sentence), END2];
    if (src.length === 1) return { translation: "", ids: [], complete: true, gap: Infinity, unknown: [] };
    const { memory } = model.encode(src);
    const { ids, p, gaps } = model.translate(memory, Math.floor(1.5 * src.length) + 9);
    const known = new Set(vocabulary.tokens);
    return {
      translation: vocabulary.decode(ids),
      ids,
      complete: p.length > ids.length,
      gap: Math.min(...gaps),
      unknown: src.includes(UNKNOWN2) ? [...new Set(Vocabulary.normalise(sentence))].filter((c) => c !== " " && !known.has(c)) : []
    };
  }
};
function vocabularyOf(tokenizer) {
  const { model } = JSON.parse(tokenizer);
  const tokens = [];
  for (const [piece, id] of Object.entries(model.vocab)) tokens[id] = piece;
  const pairs = model.merges.map((pair) => Array.isArray(pair) ? pair : pair.split(" "));
  return new Vocabulary(tokens, pairs.map((pair) => pair.map((piece) => model.vocab[piece])));
}
function flipped(bytes2, bit) {
  const copy = bytes2.slice();
  copy[bit >> 3] ^= 1 << (bit & 7);
  return copy;
}

// reservoir_book/explorables/stored_translator/worker.mjs
var SQUARE = 24;
function answering(now = () => performance.now()) {
  let model;
  const timed = (work2) => {
    const start = now();
    const found = work2();
    return { ...found, ms: now() - start };
  };
  const work = {
    load({ files, bit }) {
      model = void 0;
      const weights = bit === void 0 || bit === null ? files.weights : flipped(files.weights, bit);
      return timed(() => {
        model = new StoredModel({ ...files, weights });
        return { counts: model.counts, sizes: model.sizes, places: model.places.map(({ name }) => name) };
      });
    },
    translate: ({ sentence }) => model ? timed(() => model.translate(sentence)) : { translation: "" },
    look({ place }) {
      const found = model?.places.find(({ name }) => name === place) ?? model?.places[0];
      if (!found) return {};
      const [rows, columns] = [Math.min(SQUARE, found.rows), Math.min(SQUARE, found.columns)];
      const skip = found.rows > rows ? 1 : 0;
      const at = (i) => (skip + Math.floor(i / columns)) * found.columns + i % columns;
      return {
        name: found.name,
        rows,
        columns,
        of: [found.rows, found.columns],
        drawn: Float32Array.from({ length: rows * columns }, (_, i) => found.weight[at(i)]),
        kept: Uint8Array.from({ length: rows * columns }, (_, i) => found.bits[at(i)])
      };
    }
  };
  return ({ id, do: what, ...message }) => {
    try {
      return { id, ...work[what](message) };
    } catch (error) {
      return { id, refused: error.message };
    }
  };
}

// worker:reservoir_book/explorables/stored_translator/worker.mjs
var worker_default = '(() => {\n  // reservoir_book/explorables/shared/bpe.mjs\n  var SPACE = "▁";\n  var UNKNOWN = 3;\n  var SPECIALS = 4;\n  var MARK = /[\\p{P}!-/:-@[-`{-~]/u;\n  var Vocabulary = class _Vocabulary {\n    /**\n     * @param {string[]} tokens every piece, by id\n     * @param {[number, number][]} merges pairs of ids that become one piece, the first to be merged first\n     */\n    constructor(tokens, merges) {\n      this.tokens = tokens;\n      this.ids = new Map(tokens.map((token, id) => [token, id]));\n      this.ranks = new Map(merges.map(([a, b], rank) => [a * tokens.length + b, { rank, id: this.ids.get(tokens[a] + tokens[b]) }]));\n    }\n    /** Composed characters, one space between words, none around. */\n    static normalise(text2) {\n      return text2.normalize("NFC").replace(/[\\s▁]+/gu, " ").trim();\n    }\n    /** The words of a text with the mark of the space before them; punctuation marks stand alone. */\n    static words(text2) {\n      const whole = _Vocabulary.normalise(text2);\n      if (!whole) return [];\n      return whole.split(" ").flatMap((word) => {\n        const parts = [""];\n        for (const character of SPACE + word) {\n          if (MARK.test(character)) parts.push(character, "");\n          else parts.push(parts.pop() + character);\n        }\n        return parts.filter(Boolean);\n      });\n    }\n    /** The ids of one sentence, without begin and end. */\n    encode(text2) {\n      return _Vocabulary.words(text2).flatMap((word) => this.#merge(word));\n    }\n    #merge(word) {\n      const ids = Array.from(word, (character) => this.ids.get(character) ?? UNKNOWN);\n      for (; ; ) {\n        let best;\n        for (let i = 0; i + 1 < ids.length; i += 1) {\n          const found = this.ranks.get(ids[i] * this.tokens.length + ids[i + 1]);\n          if (found && (!best || found.rank < best.rank)) best = { ...found, at: i };\n        }\n        if (!best) return ids;\n        ids.splice(best.at, 2, best.id);\n      }\n    }\n    /** Pieces joined to text; special pieces are left out. */\n    decode(ids) {\n      return ids.filter((id) => id >= SPECIALS).map((id) => this.tokens[id]).join("").replaceAll(SPACE, " ").replace(/^ /, "");\n    }\n  };\n\n  // reservoir_book/explorables/shared/sha256.mjs\n  var K = new Uint32Array(64);\n  var START = new Uint32Array(8);\n  {\n    const fraction = (root) => (root - Math.floor(root)) * 2 ** 32 >>> 0;\n    for (let n = 2, found = 0; found < 64; n += 1) {\n      let prime = true;\n      for (let d = 2; d * d <= n; d += 1) if (n % d === 0) {\n        prime = false;\n        break;\n      }\n      if (!prime) continue;\n      if (found < 8) START[found] = fraction(Math.sqrt(n));\n      K[found] = fraction(Math.cbrt(n));\n      found += 1;\n    }\n  }\n  function sha256(...pieces) {\n    const h = START.slice();\n    const w = new Uint32Array(64);\n    const rest = new Uint8Array(64);\n    let filled = 0;\n    let length = 0;\n    function block2(bytes, at) {\n      for (let i = 0; i < 16; i += 1, at += 4) w[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];\n      for (let i = 16; i < 64; i += 1) {\n        const x = w[i - 15];\n        const y = w[i - 2];\n        const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;\n        const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;\n        w[i] = w[i - 16] + s0 + w[i - 7] + s1;\n      }\n      let [a, b, c, d, e, f, g, last] = h;\n      for (let i = 0; i < 64; i += 1) {\n        const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);\n        const t1 = last + s1 + (e & f ^ ~e & g) + K[i] + w[i] | 0;\n        const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);\n        const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;\n        last = g;\n        g = f;\n        f = e;\n        e = d + t1 | 0;\n        d = c;\n        c = b;\n        b = a;\n        a = t1 + t2 | 0;\n      }\n      h[0] += a;\n      h[1] += b;\n      h[2] += c;\n      h[3] += d;\n      h[4] += e;\n      h[5] += f;\n      h[6] += g;\n      h[7] += last;\n    }\n    function add2(bytes) {\n      let at = 0;\n      if (filled) {\n        at = Math.min(64 - filled, bytes.length);\n        rest.set(bytes.subarray(0, at), filled);\n        filled += at;\n        if (filled < 64) return;\n        block2(rest, 0);\n        filled = 0;\n      }\n      for (; at + 64 <= bytes.length; at += 64) block2(bytes, at);\n      rest.set(bytes.subarray(at));\n      filled = bytes.length - at;\n    }\n    for (const piece of pieces) {\n      add2(piece);\n      length += piece.length;\n    }\n    const end = new Uint8Array((filled < 56 ? 64 : 128) - filled);\n    end[0] = 128;\n    const view = new DataView(end.buffer);\n    view.setUint32(end.length - 8, Math.floor(length / 2 ** 29));\n    view.setUint32(end.length - 4, length * 8 >>> 0);\n    add2(end);\n    return [...h].map((word) => word.toString(16).padStart(8, "0")).join("");\n  }\n\n  // reservoir_book/explorables/shared/digest.mjs\n  var WORDS = 512;\n  var encode = (text2) => new TextEncoder().encode(text2);\n  var digest = (...pieces) => sha256(...pieces).slice(0, 16);\n  var head = (dtype, shape) => encode(`${dtype} (${shape.length === 1 ? `${shape[0]},` : shape.join(", ")})`);\n  function sums(low, high) {\n    const words = new Uint32Array(2 * low.length);\n    low.forEach((sum, i) => {\n      words[2 * i] = sum % 2 ** 32;\n      words[2 * i + 1] = (high[i] + Math.floor(sum / 2 ** 32)) % 2 ** 32;\n    });\n    return new Uint8Array(words.buffer);\n  }\n  function digestOfSums(dtype, shape, bytes) {\n    const rows = Math.ceil(bytes.length / (8 * WORDS));\n    const padded = new Uint8Array(8 * WORDS * rows);\n    padded.set(bytes);\n    const halves = new Uint32Array(padded.buffer);\n    const [lowRows, highRows] = [new Float64Array(rows), new Float64Array(rows)];\n    const [lowColumns, highColumns] = [new Float64Array(WORDS), new Float64Array(WORDS)];\n    for (let row = 0, at = 0; row < rows; row++) {\n      for (let column = 0; column < WORDS; column++, at += 2) {\n        lowRows[row] += halves[at];\n        highRows[row] += halves[at + 1];\n        lowColumns[column] += halves[at];\n        highColumns[column] += halves[at + 1];\n      }\n    }\n    return digest(head(dtype, shape), sums(lowRows, highRows), sums(lowColumns, highColumns));\n  }\n\n  // reservoir_book/explorables/shared/draws.mjs\n  var HALVES = 8;\n  var INDEX = 2 ** 21;\n  var extent = (n) => {\n    if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`n must be a whole number, 0 or more, got ${n}`);\n    return n;\n  };\n  function uniform(stream, n, { bound, start = 0 }) {\n    const scale = Math.fround(bound * 2 ** -23);\n    const words = stream.words(start, start + extent(n));\n    const drawn = new Float32Array(n);\n    for (let i = 0; i < n; i += 1) drawn[i] = ((words[i] >>> 8) - 2 ** 23) * scale;\n    return drawn;\n  }\n  function sign(stream, n, { scale = 1, start = 0 } = {}) {\n    const size = Math.fround(scale);\n    const first = Math.floor(start / 32);\n    const words = stream.words(first, Math.ceil((start + extent(n)) / 32));\n    const drawn = new Float32Array(n);\n    for (let i = 0; i < n; i += 1) {\n      const bit = start - 32 * first + i;\n      drawn[i] = words[bit >>> 5] >>> (bit & 31) & 1 ? size : -size;\n    }\n    return drawn;\n  }\n  function normal(stream, n, { std, start = 0 }) {\n    const scale = Math.fround(std / Math.sqrt(HALVES * (2 ** 32 - 1) / 3));\n    const words = stream.blocks(start, start + extent(n));\n    const drawn = new Float32Array(n);\n    for (let i = 0; i < n; i += 1) {\n      let total = 0;\n      for (let at = 4 * i; at < 4 * i + 4; at += 1) total += (words[at] & 65535) + (words[at] >>> 16);\n      drawn[i] = (2 * total - HALVES * 65535) * scale;\n    }\n    return drawn;\n  }\n\n  // reservoir_book/explorables/shared/encoder-decoder.mjs\n  var BEGIN = 1;\n  var END = 2;\n  var EPSILON = 1e-5;\n  function linear(x, weight, bias, inputs) {\n    const rows = x.length / inputs;\n    const outputs = weight.length / inputs;\n    const y = new Float32Array(rows * outputs);\n    for (let r = 0; r < rows; r += 1) {\n      for (let o = 0; o < outputs; o += 1) {\n        let sum = bias ? bias[o] : 0;\n        for (let i = 0, a = r * inputs, b = o * inputs; i < inputs; i += 1) sum += x[a + i] * weight[b + i];\n        y[r * outputs + o] = sum;\n      }\n    }\n    return y;\n  }\n  function norm(x, weight, bias, d) {\n    const y = new Float32Array(x.length);\n    for (let at = 0; at < x.length; at += d) {\n      let mean = 0;\n      for (let i = 0; i < d; i += 1) mean += x[at + i];\n      mean /= d;\n      let variance = 0;\n      for (let i = 0; i < d; i += 1) variance += (x[at + i] - mean) ** 2;\n      const scale = 1 / Math.sqrt(variance / d + EPSILON);\n      for (let i = 0; i < d; i += 1) y[at + i] = (x[at + i] - mean) * scale * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);\n    }\n    return y;\n  }\n  var add = (x, y) => x.map((value, i) => value + y[i]);\n  function attend(q, k, v, { d, heads, causal = false }) {\n    const [queries, keys, width] = [q.length / d, k.length / d, d / heads];\n    const mixed = new Float32Array(queries * d);\n    const weights = new Float32Array(heads * queries * keys);\n    for (let h = 0; h < heads; h += 1) {\n      for (let i = 0; i < queries; i += 1) {\n        const row = weights.subarray((h * queries + i) * keys, (h * queries + i + 1) * keys);\n        const seen = causal ? keys - queries + i + 1 : keys;\n        let top = -Infinity;\n        for (let j = 0; j < seen; j += 1) {\n          let score = 0;\n          for (let c = h * width; c < (h + 1) * width; c += 1) score += q[i * d + c] * k[j * d + c];\n          row[j] = score / Math.sqrt(width);\n          top = Math.max(top, row[j]);\n        }\n        let total = 0;\n        for (let j = 0; j < seen; j += 1) total += row[j] = Math.exp(row[j] - top);\n        for (let j = 0; j < seen; j += 1) row[j] /= total;\n        for (let c = h * width; c < (h + 1) * width; c += 1) {\n          let sum = 0;\n          for (let j = 0; j < seen; j += 1) sum += row[j] * v[j * d + c];\n          mixed[i * d + c] = sum;\n        }\n      }\n    }\n    return { mixed, weights };\n  }\n  function block(x, part, parts, d) {\n    const rows = x.length / (parts * d);\n    const y = new Float32Array(rows * d);\n    for (let r = 0; r < rows; r += 1) y.set(x.subarray((r * parts + part) * d, (r * parts + part + 1) * d), r * d);\n    return y;\n  }\n  var joined = (a, b) => {\n    const whole = new Float32Array(a.length + b.length);\n    whole.set(a);\n    whole.set(b, a.length);\n    return whole;\n  };\n  var EncoderDecoder = class {\n    /** @param {{d_model, n_heads, encoder_layers, decoder_layers}} sizes  @param {Map<string, Float32Array>} tensors */\n    constructor(sizes, tensors) {\n      this.sizes = sizes;\n      this.d = sizes.d_model;\n      this.tensors = tensors;\n    }\n    #linear(x, name, inputs = this.d) {\n      return linear(x, this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`), inputs);\n    }\n    #norm(x, name) {\n      return norm(x, this.tensors.get(`${name}.weight`), this.tensors.get(`${name}.bias`), this.d);\n    }\n    /** The target\'s table, which is the output\'s too; the source\'s where both languages share one. */\n    get #target() {\n      return this.tensors.get("tgt_embedding.weight") ?? this.tensors.get("src_embedding.weight");\n    }\n    /** Vectors of tokens at positions start, start + 1, …: √d times the table\'s row, and sines and cosines. */\n    #embed(ids, start = 0, table = this.tensors.get("src_embedding.weight")) {\n      const { d } = this;\n      const x = new Float32Array(ids.length * d);\n      ids.forEach((id, t) => {\n        for (let i = 0; i < d; i += 1) {\n          const angle = (start + t) * 1e4 ** (-2 * (i % (d / 2)) / d);\n          const position = Math.fround(i < d / 2 ? Math.sin(angle) : Math.cos(angle));\n          x[t * d + i] = Math.fround(table[id * d + i] * Math.sqrt(d)) + position;\n        }\n      });\n      return x;\n    }\n    #feedForward(x, name) {\n      const inner = this.#linear(this.#norm(x, `${name}.norm`), `${name}.sublayer.up`).map((value) => Math.max(0, value));\n      return add(x, this.#linear(inner, `${name}.sublayer.down`, inner.length / (x.length / this.d)));\n    }\n    /**\n     * The encoder over the ids of a sentence with its end.\n     * @returns {{memory: Float32Array, maps: Float32Array[]}} (length, d), and for each layer (heads, length, length)\n     */\n    encode(ids) {\n      const { d, sizes: { n_heads: heads } } = this;\n      const maps = [];\n      let x = this.#embed(ids);\n      for (let layer = 0; layer < this.sizes.encoder_layers; layer += 1) {\n        const name = `encoder.${layer}`;\n        const qkv = this.#linear(this.#norm(x, `${name}.mixing.norm`), `${name}.mixing.sublayer.qkv`);\n        const { mixed, weights } = attend(block(qkv, 0, 3, d), block(qkv, 1, 3, d), block(qkv, 2, 3, d), { d, heads });\n        maps.push(weights);\n        x = this.#feedForward(add(x, this.#linear(mixed, `${name}.mixing.sublayer.out`)), `${name}.feed_forward`);\n      }\n      return { memory: this.#norm(x, "encoder_norm"), maps };\n    }\n    /**\n     * Greedy translation: the most probable token, again and again, until the end.\n     * @returns {{ids: number[], p: number[], gaps: number[], maps: Float32Array[]}} the tokens, the end left out; of each\n     *   and of the end its probability, and how far its logit lies above the next; for each layer the cross-attention\n     *   (heads, tokens and end, source)\n     */\n    translate(memory, maxLength) {\n      const { d, sizes: { n_heads: heads, decoder_layers: layers } } = this;\n      const table = this.#target;\n      const source = memory.length / d;\n      const cross = Array.from({ length: layers }, (_, layer) => {\n        const kv = this.#linear(memory, `decoder.${layer}.cross.sublayer.kv`);\n        return { k: block(kv, 0, 2, d), v: block(kv, 1, 2, d), rows: [] };\n      });\n      const own = Array.from({ length: layers }, () => ({ k: new Float32Array(0), v: new Float32Array(0) }));\n      const ids = [];\n      const p = [];\n      const gaps = [];\n      for (let last = BEGIN; ids.length < maxLength; ) {\n        let x = this.#embed([last], ids.length, table);\n        for (let layer = 0; layer < layers; layer += 1) {\n          const name = `decoder.${layer}`;\n          const qkv = this.#linear(this.#norm(x, `${name}.mixing.norm`), `${name}.mixing.sublayer.qkv`);\n          own[layer].k = joined(own[layer].k, block(qkv, 1, 3, d));\n          own[layer].v = joined(own[layer].v, block(qkv, 2, 3, d));\n          const self2 = attend(block(qkv, 0, 3, d), own[layer].k, own[layer].v, { d, heads });\n          x = add(x, this.#linear(self2.mixed, `${name}.mixing.sublayer.out`));\n          const q = this.#linear(this.#norm(x, `${name}.cross.norm`), `${name}.cross.sublayer.query`);\n          const looked = attend(q, cross[layer].k, cross[layer].v, { d, heads });\n          cross[layer].rows.push(looked.weights);\n          x = add(x, this.#linear(looked.mixed, `${name}.cross.sublayer.out`));\n          x = this.#feedForward(x, `${name}.feed_forward`);\n        }\n        const scores = linear(this.#norm(x, "decoder_norm"), table, void 0, d);\n        const best = scores.reduce((at, score, i) => score > scores[at] ? i : at, 0);\n        p.push(1 / scores.reduce((sum, score) => sum + Math.exp(score - scores[best]), 0));\n        gaps.push(scores.reduce((gap, score, i) => i === best ? gap : Math.min(gap, scores[best] - score), Infinity));\n        if (best === END) break;\n        ids.push(best);\n        last = best;\n      }\n      return { ids, p, gaps, maps: cross.map(({ rows }) => gathered(rows, heads, source)) };\n    }\n  };\n  function gathered(rows, heads, keys) {\n    const whole = new Float32Array(heads * rows.length * keys);\n    rows.forEach((row, i) => {\n      for (let h = 0; h < heads; h += 1) whole.set(row.subarray(h * keys, (h + 1) * keys), (h * rows.length + i) * keys);\n    });\n    return whole;\n  }\n\n  // reservoir_book/explorables/shared/philox.mjs\n  var [M0, M1] = [3528531795, 3449720151];\n  var KEY_STEPS = [2654435769, 3144134277];\n  var ROUNDS = 10;\n  var TWO32 = 2 ** 32;\n  var [M0_LOW, M0_HIGH, M1_LOW, M1_HIGH] = [M0, M1].flatMap((m) => [m & 65535, m >>> 16]);\n  function keySchedule(low, high) {\n    const keys = new Int32Array(2 * ROUNDS);\n    for (let round = 0; round < ROUNDS; round += 1) {\n      keys[2 * round] = low + Math.imul(round, KEY_STEPS[0]);\n      keys[2 * round + 1] = high + Math.imul(round, KEY_STEPS[1]);\n    }\n    return keys;\n  }\n  function fill(out, low, high, count, keys, hashLow, hashHigh) {\n    for (let at = 0; at < count; at += 1) {\n      let c0 = low + at | 0;\n      let c1 = high + Math.floor((low + at) / TWO32) | 0;\n      let c2 = hashLow;\n      let c3 = hashHigh;\n      for (let round = 0; round < 2 * ROUNDS; round += 2) {\n        const low0 = c0 & 65535;\n        const high0 = c0 >>> 16;\n        const one0 = Math.imul(high0, M0_LOW);\n        const other0 = Math.imul(low0, M0_HIGH);\n        const carry0 = (one0 & 65535) + (other0 & 65535) + (Math.imul(low0, M0_LOW) >>> 16);\n        const upper0 = Math.imul(high0, M0_HIGH) + (one0 >>> 16) + (other0 >>> 16) + (carry0 >>> 16) | 0;\n        const low1 = c2 & 65535;\n        const high1 = c2 >>> 16;\n        const one1 = Math.imul(high1, M1_LOW);\n        const other1 = Math.imul(low1, M1_HIGH);\n        const carry1 = (one1 & 65535) + (other1 & 65535) + (Math.imul(low1, M1_LOW) >>> 16);\n        const upper1 = Math.imul(high1, M1_HIGH) + (one1 >>> 16) + (other1 >>> 16) + (carry1 >>> 16) | 0;\n        const lower0 = Math.imul(c0, M0);\n        const lower1 = Math.imul(c2, M1);\n        c0 = upper1 ^ c1 ^ keys[round];\n        c1 = lower1;\n        c2 = upper0 ^ c3 ^ keys[round + 1];\n        c3 = lower0;\n      }\n      out[4 * at] = c0;\n      out[4 * at + 1] = c1;\n      out[4 * at + 2] = c2;\n      out[4 * at + 3] = c3;\n    }\n    return out;\n  }\n  function nameHash(name) {\n    let value = 0xcbf29ce484222325n;\n    for (const byte of new TextEncoder().encode(name)) value = (value ^ BigInt(byte)) * 0x100000001b3n & 0xffffffffffffffffn;\n    return value;\n  }\n  function seedOf(given) {\n    const whole = typeof given === "bigint" || Number.isSafeInteger(given) || typeof given === "string" && /^\\d+$/.test(given);\n    const seed = whole ? BigInt(given) : -1n;\n    if (seed < 0n || seed >= 2n ** 64n) throw new RangeError(`seed must be an integer in [0, 2**64), got ${String(given)}; write one above 2**53 as text or BigInt`);\n    return seed;\n  }\n  var Stream = class _Stream {\n    constructor(seed, name) {\n      if (typeof name !== "string") throw new TypeError(`name must be a string, got ${String(name)}`);\n      this.seed = seedOf(seed);\n      this.name = name;\n      const hash = nameHash(name);\n      const halves = (value) => [Number(value & 0xffffffffn) | 0, Number(value >> 32n) | 0];\n      this.hash = halves(hash);\n      this.keys = keySchedule(...halves(this.seed));\n    }\n    /** The stream of the same seed named `<name>/<part>`. */\n    sub(part) {\n      return new _Stream(this.seed, `${this.name}/${part}`);\n    }\n    /** Blocks first … last, the latter left out, four words each: a Uint32Array. */\n    blocks(first, last) {\n      const count = last - first;\n      return fill(new Uint32Array(4 * count), first % TWO32, Math.floor(first / TWO32), count, this.keys, ...this.hash);\n    }\n    /** Words start … stop, the latter left out: a Uint32Array. */\n    words(start, stop) {\n      if (!(Number.isSafeInteger(start) && Number.isSafeInteger(stop) && start >= 0 && start <= stop)) {\n        throw new RangeError(`start and stop must satisfy 0 <= start <= stop, got ${start} and ${stop}`);\n      }\n      const first = Math.floor(start / 4);\n      const drawn = this.blocks(first, Math.ceil(stop / 4));\n      return drawn.subarray(start - 4 * first, stop - 4 * first);\n    }\n  };\n\n  // reservoir_book/explorables/stored_translator/model.mjs\n  var FORMAT = "reservoir-model-3";\n  var GENERATOR = "philox4x32-10, names by FNV-1a, version 1";\n  var DTYPES = { F32: ["torch.float32", 4], U8: ["torch.uint8", 1] };\n  var END2 = 2;\n  var UNKNOWN2 = 3;\n  var StoredError = class extends Error {\n  };\n  var text = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);\n  var bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);\n  var product = (shape) => shape.reduce((a, b) => a * b, 1);\n  function readSafetensors(bytes) {\n    let header;\n    let start;\n    try {\n      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);\n      start = 8 + Number(view.getBigUint64(0, true));\n      header = JSON.parse(text(bytes.subarray(8, start)));\n    } catch (error) {\n      throw new StoredError(`the file is damaged, or no safetensors file (${error.message})`);\n    }\n    const { __metadata__: metadata = {}, ...entries } = header;\n    const tensors = /* @__PURE__ */ new Map();\n    for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(entries)) {\n      const [written, width] = DTYPES[dtype] ?? [];\n      if (!width || to - from !== width * product(shape)) throw new StoredError(`${name} is damaged: ${dtype} of (${shape})`);\n      if (start + to > bytes.length) throw new StoredError(`the file ends within ${name}`);\n      tensors.set(name, { shape, written, bytes: bytes.slice(start + from, start + to) });\n    }\n    return { tensors, metadata };\n  }\n  function byOrigin({ parameters, masks }) {\n    const groups = { seeded: {}, trained: {}, pretrained: {} };\n    for (const [name, said] of Object.entries(parameters)) groups[said.origin][name] = said;\n    const masked = {};\n    for (const [name, { modules }] of Object.entries(masks)) for (const module of modules) masked[module] = name;\n    return { drawn: groups.seeded, trained: groups.trained, pretrained: groups.pretrained, masks, masked };\n  }\n  function elementwise(said, shape, blocks) {\n    const larger = Math.sqrt(1 / (said.keep ?? 1));\n    const window = product(shape.slice(2));\n    const fanIn = shape[1] * window;\n    const fanOut = Math.floor(shape[0] / blocks) * window;\n    switch (said.kind) {\n      case "XavierUniform":\n        return [uniform, { bound: (said.gain ?? 1) * Math.sqrt(6 / (fanIn + fanOut)) * larger }];\n      case "KaimingUniform":\n        return [uniform, { bound: Math.sqrt(6 / ((1 + said.a * said.a) * fanIn)) * larger }];\n      case "SignedConstant":\n        return [sign, { scale: said.gain / Math.sqrt(fanIn) * larger }];\n      case "Normal":\n        return [normal, { std: said.std * larger }];\n      case "Uniform":\n        return [uniform, { bound: said.bound * larger }];\n      case "Constant":\n        return [(stream, n, { value }) => new Float32Array(n).fill(value), { value: said.value * larger }];\n      default:\n        throw new StoredError(`a page does not draw ${said.kind}`);\n    }\n  }\n  function draw(name, said, shape) {\n    const [kind, options] = elementwise(said.initialisation, shape, said.blocks);\n    const drawn = kind(new Stream(said.seed, said.stream), product(shape), options);\n    if (said.zero_row !== null) drawn.fill(0, said.zero_row * shape[1], (said.zero_row + 1) * shape[1]);\n    const found = digestOfSums("torch.float32", shape, bytesOf(drawn));\n    if (found !== said.digest) throw new StoredError(`${name}, drawn from seed ${said.seed}, is not what its digest says`);\n    return drawn;\n  }\n  function stored(name, said, { tensors }) {\n    const tensor = tensors.get(name);\n    if (!tensor) throw new StoredError(`the file has nothing for ${name}`);\n    const { written, shape, bytes } = tensor;\n    const found = digestOfSums(written, shape, bytes);\n    if (found !== said.digest) throw new StoredError(`${name} is damaged: its digest does not match`);\n    return tensor;\n  }\n  function shapes({ src_vocab: src, tgt_vocab: tgt, d_model: d, d_ff: ff, tie }) {\n    const found = { "encoder.norm": [d], "decoder.norm": [d] };\n    if (tie === "all") found.embedding = [src, d];\n    else Object.assign(found, { "encoder.embedding": [src, d], "decoder.embedding": [tgt, d] });\n    for (const side of ["encoder", "decoder"]) {\n      const matrices = { "attention.qkv": [3 * d, d], "attention.out": [d, d], "feed_forward.up": [ff, d], "feed_forward.down": [d, ff] };\n      if (side === "decoder") Object.assign(matrices, { "cross.query": [d, d], "cross.kv": [2 * d, d], "cross.out": [d, d] });\n      for (const [name, shape] of Object.entries(matrices)) found[`${side}.*.${name}`] = shape;\n      for (const part of side === "decoder" ? ["mixing", "cross", "feed_forward"] : ["mixing", "feed_forward"]) found[`${side}.*.${part}.norm`] = [d];\n    }\n    return found;\n  }\n  var called = (stream) => stream.replace(/^embedding$|^encoder\\.embedding$/, "src_embedding").replace(/^decoder\\.embedding$/, "tgt_embedding").replace(/^(encoder|decoder)\\.norm$/, "$1_norm").replace(/\\.attention\\./, ".mixing.sublayer.").replace(/\\.(cross|feed_forward)\\.(?!norm$)/, ".$1.sublayer.");\n  function unpacked(bytes, n) {\n    const bits = new Uint8Array(n);\n    for (let i = 0; i < n; i += 1) bits[i] = bytes[i >> 3] >> (i & 7) & 1;\n    return bits;\n  }\n  var StoredModel = class {\n    /**\n     * @param {{config: string, weights: Uint8Array, tokenizer: string}} files of the folder\n     * @throws {StoredError} something is damaged, missing or of another version\n     */\n    constructor({ config, weights, tokenizer }) {\n      const file = readSafetensors(weights);\n      const { metadata } = file;\n      if (metadata.format !== FORMAT) throw new StoredError(`the file must have the format ${FORMAT}, got ${String(metadata.format).slice(0, 60)}`);\n      let contents;\n      let files;\n      let sizes;\n      try {\n        contents = JSON.parse(metadata.contents.replace(/"seed": ?(\\d+)/g, \'"seed": "$1"\'));\n        contents = byOrigin(contents);\n        files = JSON.parse(metadata.files);\n        const said = JSON.parse(config);\n        if (said.model !== "EncoderDecoder") throw new Error(`a page runs an EncoderDecoder, not ${said.model}`);\n        sizes = said.config;\n      } catch (error) {\n        throw new StoredError(`what the model is cannot be read (${error.message})`);\n      }\n      const drawn = Object.keys(contents.drawn);\n      if (drawn.length && metadata.generator !== GENERATOR) throw new StoredError(`${drawn[0]} was drawn by “${metadata.generator}”, and this page draws by “${GENERATOR}”`);\n      for (const [name, content] of Object.entries({ "config.json": config, "tokenizer.json": tokenizer })) {\n        if (files[name] !== digest(new TextEncoder().encode(content))) throw new StoredError(`the file was not written with the ${name} next to it, or one of the two is damaged`);\n      }\n      for (const [name, wanted] of Object.entries({ norm_first: true, activation: "relu", positions: "sinusoidal" })) {\n        if (sizes[name] !== wanted) throw new StoredError(`a page runs a model with ${name}=${wanted}, got ${sizes[name]}`);\n      }\n      this.sizes = sizes;\n      this.contents = contents;\n      this.counts = { drawn: 0, bits: 0, trained: 0 };\n      this.places = [];\n      this.model = new EncoderDecoder(sizes, this.#tensors(file));\n      if (metadata.digest !== digest(new TextEncoder().encode(metadata.contents + metadata.files))) throw new StoredError("its list of contents is damaged: its digest does not match");\n      this.vocabulary = vocabularyOf(tokenizer);\n    }\n    #tensors(file) {\n      const { contents, sizes } = this;\n      const raw = /* @__PURE__ */ new Map();\n      const masks = /* @__PURE__ */ new Map();\n      const tensors = /* @__PURE__ */ new Map();\n      const base = (stream) => sizes.share_layers ? stream.replace(/^(encoder|decoder)\\.\\d+\\./, "$1.0.") : stream;\n      const own = (name, shape) => {\n        if (raw.has(name)) return raw.get(name);\n        let found;\n        if (contents.drawn[name]) {\n          found = draw(name, contents.drawn[name], shape);\n          this.counts.drawn += found.length;\n        } else if (contents.trained[name] ?? contents.pretrained[name]) {\n          const { bytes, written, shape: has } = stored(name, contents.trained[name] ?? contents.pretrained[name], file);\n          if (written !== "torch.float32" || product(has) !== product(shape)) throw new StoredError(`the file has (${has}) for ${name}, not (${shape})`);\n          found = new Float32Array(bytes.buffer);\n          this.counts.trained += found.length;\n        }\n        raw.set(name, found);\n        return found;\n      };\n      const mask = (name, n) => {\n        if (!masks.has(name)) {\n          const { bytes, shape } = stored(name, contents.masks[name] ?? {}, file);\n          if (shape[0] !== Math.ceil(n / 8)) throw new StoredError(`the file has (${shape}) for ${name}, not (${Math.ceil(n / 8)})`);\n          masks.set(name, unpacked(bytes, n));\n          this.counts.bits += n;\n        }\n        return masks.get(name);\n      };\n      for (const [pattern, shape] of Object.entries(shapes(sizes))) {\n        const depth = pattern.includes("*") ? sizes[`${pattern.slice(0, 7)}_layers`] : 1;\n        for (let layer = 0; layer < depth; layer += 1) {\n          const stream = pattern.replace("*", layer);\n          const weight = own(base(stream), shape);\n          if (!weight && !/norm$/.test(stream)) throw new StoredError(`nothing is said of ${stream}`);\n          if (!weight) continue;\n          let used = weight;\n          if (contents.masked[stream]) {\n            const bits = mask(contents.masked[stream], weight.length);\n            used = weight.map((value, i) => value * bits[i]);\n            this.places.push({ name: stream, rows: shape[0], columns: shape[1], weight, bits });\n          }\n          tensors.set(`${called(stream)}.weight`, used);\n          const bias = own(`${base(stream)}.bias`, [shape[0]]);\n          if (bias) tensors.set(`${called(stream)}.bias`, bias);\n        }\n      }\n      return tensors;\n    }\n    /**\n     * A greedy translation, as `translate(…, decoding=Decoding(beam=1))` makes it.\n     * @returns {{translation: string, ids: number[], complete: boolean, gap: number, unknown: string[]}} gap: the least\n     *   distance between the two highest logits on the way, which says how nearly it would have been another one\n     */\n    translate(sentence) {\n      const { vocabulary, model } = this;\n      const src = [...vocabulary.encode(sentence), END2];\n      if (src.length === 1) return { translation: "", ids: [], complete: true, gap: Infinity, unknown: [] };\n      const { memory } = model.encode(src);\n      const { ids, p, gaps } = model.translate(memory, Math.floor(1.5 * src.length) + 9);\n      const known = new Set(vocabulary.tokens);\n      return {\n        translation: vocabulary.decode(ids),\n        ids,\n        complete: p.length > ids.length,\n        gap: Math.min(...gaps),\n        unknown: src.includes(UNKNOWN2) ? [...new Set(Vocabulary.normalise(sentence))].filter((c) => c !== " " && !known.has(c)) : []\n      };\n    }\n  };\n  function vocabularyOf(tokenizer) {\n    const { model } = JSON.parse(tokenizer);\n    const tokens = [];\n    for (const [piece, id] of Object.entries(model.vocab)) tokens[id] = piece;\n    const pairs = model.merges.map((pair) => Array.isArray(pair) ? pair : pair.split(" "));\n    return new Vocabulary(tokens, pairs.map((pair) => pair.map((piece) => model.vocab[piece])));\n  }\n  function flipped(bytes, bit) {\n    const copy = bytes.slice();\n    copy[bit >> 3] ^= 1 << (bit & 7);\n    return copy;\n  }\n\n  // reservoir_book/explorables/stored_translator/worker.mjs\n  var SQUARE = 24;\n  function answering(now = () => performance.now()) {\n    let model;\n    const timed = (work2) => {\n      const start = now();\n      const found = work2();\n      return { ...found, ms: now() - start };\n    };\n    const work = {\n      load({ files, bit }) {\n        model = void 0;\n        const weights = bit === void 0 || bit === null ? files.weights : flipped(files.weights, bit);\n        return timed(() => {\n          model = new StoredModel({ ...files, weights });\n          return { counts: model.counts, sizes: model.sizes, places: model.places.map(({ name }) => name) };\n        });\n      },\n      translate: ({ sentence }) => model ? timed(() => model.translate(sentence)) : { translation: "" },\n      look({ place }) {\n        const found = model?.places.find(({ name }) => name === place) ?? model?.places[0];\n        if (!found) return {};\n        const [rows, columns] = [Math.min(SQUARE, found.rows), Math.min(SQUARE, found.columns)];\n        const skip = found.rows > rows ? 1 : 0;\n        const at = (i) => (skip + Math.floor(i / columns)) * found.columns + i % columns;\n        return {\n          name: found.name,\n          rows,\n          columns,\n          of: [found.rows, found.columns],\n          drawn: Float32Array.from({ length: rows * columns }, (_, i) => found.weight[at(i)]),\n          kept: Uint8Array.from({ length: rows * columns }, (_, i) => found.bits[at(i)])\n        };\n      }\n    };\n    return ({ id, do: what, ...message }) => {\n      try {\n        return { id, ...work[what](message) };\n      } catch (error) {\n        return { id, refused: error.message };\n      }\n    };\n  }\n  function serve(worker) {\n    const answer = answering();\n    worker.onmessage = ({ data }) => worker.postMessage(answer(data));\n  }\n\n  // reservoir_book/explorables/stored_translator/worker\n  serve(self);\n})();\n';

// reservoir_book/explorables/stored_translator/view.mjs
var bytes = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
var count = (value) => value.toLocaleString("en");
function helper() {
  const waiting = /* @__PURE__ */ new Map();
  let ids = 0;
  let worker;
  let here;
  const settle = (answer) => {
    waiting.get(answer.id)?.resolve(answer);
    waiting.delete(answer.id);
  };
  const fallBack = () => {
    worker?.terminate();
    worker = void 0;
    here = answering();
    for (const { message } of [...waiting.values()]) settle(here(message));
  };
  try {
    const url = URL.createObjectURL(new Blob([worker_default], { type: "text/javascript" }));
    worker = new Worker(url);
    worker.onmessage = ({ data }) => {
      URL.revokeObjectURL(url);
      settle(data);
    };
    worker.onerror = fallBack;
  } catch {
    here = answering();
  }
  return {
    ask: (message) => new Promise((resolve) => {
      const whole = { ...message, id: ids += 1 };
      if (here) return void setTimeout(() => resolve(here(whole)));
      waiting.set(whole.id, { message: whole, resolve });
      worker.postMessage(whole);
    }),
    close: () => worker?.terminate()
  };
}
var view_default = {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const files = { config: model.get("config"), weights: bytes(model.get("weights")), tokenizer: model.get("tokenizer") };
    const { ask, close } = helper();
    ui.text("sentence", { label: "A German sentence", maxLength: 160, lang: "de" });
    const examples = model.get("examples") ?? [];
    if (examples.length) {
      const input = html("select", { "aria-label": "Take another sentence" }, html("option", { value: "", text: "or take another …" }), examples.map((text2) => html("option", { text: text2, lang: "de" })));
      input.addEventListener("change", () => {
        if (input.value) ui.set("sentence", input.value);
        input.value = "";
      });
      ui.controls.append(input);
    }
    ui.toggle("damaged", { label: "Turn over one bit of the file" });
    const english = html("p", { class: "st-english", lang: "en", "aria-live": "off" });
    ui.stage.append(html("div", {}, html("span", { class: "ex-name", text: "What it writes" }), english));
    const places = html("select", { "aria-label": "Matrix to look at" });
    const maps = html("div", { class: "st-maps" });
    ui.stage.append(html("label", { class: "st-look" }, html("span", { class: "ex-name", text: "A corner of one of its matrices" }), places), maps);
    const pair = ["seeded", "masked"].map((origin) => {
      const map = ui.heatmap({ origin, cell: 9 });
      maps.append(html("figure", { class: "st-map" }, map.element, html("figcaption", { class: "ex-name", text: origin === "seeded" ? "what the seed draws" : "what the bits keep" })));
      return map;
    });
    ui.setting("place");
    places.addEventListener("change", () => ui.set("place", places.value));
    let loaded;
    let asked = {};
    let state;
    const busy = (now) => english.setAttribute("aria-busy", String(now));
    async function load(damaged) {
      state = damaged;
      loaded = void 0;
      busy(true);
      const answer = await ask({ do: "load", files, bit: damaged ? model.get("bit") : void 0 });
      if (state !== damaged) return;
      loaded = answer;
      if (answer.places) places.replaceChildren(...answer.places.map((name) => html("option", { value: name, text: name })));
      asked = {};
      ui.redraw();
    }
    async function translate(sentence) {
      asked.sentence = sentence;
      busy(true);
      const answer = await ask({ do: "translate", sentence });
      if (asked.sentence !== sentence) return;
      asked.translated = answer;
      busy(false);
      ui.redraw();
    }
    async function look(place) {
      asked.place = place;
      const answer = await ask({ do: "look", place });
      if (asked.place !== place || !answer.drawn) return;
      places.value = answer.name;
      const max = answer.drawn.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);
      const size = { rows: answer.rows, cols: answer.columns, max };
      const sizes = answer.drawn.map(Math.abs);
      pair[0].update({ ...size, values: sizes, label: `${answer.rows} by ${answer.columns} entries of ${answer.name} as drawn, the stronger the larger` });
      pair[1].update({ ...size, values: sizes.map((value, i) => value * answer.kept[i]), label: "The same entries where the bits keep them, and blanks where they do not" });
    }
    ui.draw(({ sentence, damaged, place }) => {
      if (state !== damaged) {
        english.textContent = "…";
        ui.say("The weights are drawn from their seed, and the bits applied.");
        load(damaged);
        return;
      }
      if (!loaded) return;
      maps.hidden = Boolean(loaded.refused);
      if (loaded.refused) {
        english.textContent = "—";
        busy(false);
        ui.say(`Refused: ${loaded.refused}.`);
        return;
      }
      if (asked.place !== place) look(place);
      if (asked.sentence !== sentence) translate(sentence);
      if (!asked.translated) return;
      const { counts, ms } = loaded;
      const { translation, complete, unknown, refused, ms: took = 0 } = asked.translated;
      english.textContent = refused ? "—" : `${translation}${complete ? "" : " …"}`;
      const told = [`It writes “${translation}”${complete ? "" : ", and is cut off there"}${/[.?!]$/.test(translation) && complete ? "" : "."}`];
      if (unknown?.length) told.push(`It has never seen ${unknown.map((c) => `“${c}”`).join(", ")}.`);
      told.push(`That took ${number(took, 2)} ms on this machine. Before it, ${count(counts.drawn)} weights were drawn from the seed, ${count(counts.bits)} bits said which of them count at each depth, and every digest was checked, in ${number(ms, 2)} ms; the file of the bits has ${count(files.weights.length)} bytes.`);
      ui.say(told.join(" "));
    });
    return () => {
      close();
      ui.close();
    };
  }
};
export {
  view_default as default
};
