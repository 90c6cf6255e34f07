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
  const step2 = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const first = Math.ceil(low / step2 - 1e-9);
  const last = Math.floor(high / step2 + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step2).toPrecision(12)));
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
    update({ values, rows, cols, max = 1, rowLabels = [], colLabels = [], label: shown }) {
      const room = rowLabels.length ? Math.min(120, 12 + 7 * Math.max(...rowLabels.map((text) => text.length))) : 4;
      const above = colLabels.length ? Math.min(90, 10 + 6 * Math.max(...colLabels.map((text) => text.length))) : 4;
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
var snapped = (value, { min, max, step: step2 }) => clamp(Number((min + Math.round((value - min) / step2) * step2).toPrecision(12)), min, max);
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
    slider(name, { label, min, max, step: step2 = 1, log = false, format = number, hint }) {
      const STOPS = 400;
      const range = { min, max, step: step2 };
      const id = `${mine}-${name}`;
      const output = html("output", { for: id });
      const input = html("input", { type: "range", id, ...log ? { min: 0, max: STOPS, step: 1 } : range });
      const place = (value) => log ? STOPS * Math.log(value / min) / Math.log(max / min) : value;
      const read2 = () => log ? snapped(min * (max / min) ** (Number(input.value) / STOPS), range) : Number(input.value);
      input.addEventListener("input", () => {
        const value = read2();
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
          if (read2() !== value) input.value = place(value);
          output.textContent = format(value);
          input.setAttribute("aria-valuetext", format(value));
        }
      });
      return input;
    },
    /** A box for a number: a seed, a size. */
    number(name, { label, min = 0, max = Number.MAX_SAFE_INTEGER, step: step2 = 1, hint }) {
      const range = { min, max, step: step2 };
      const input = html("input", { type: "number", id: `${mine}-${name}`, ...range, inputmode: "numeric" });
      const read2 = (text) => {
        const value = Number(text);
        return text.trim() && Number.isFinite(value) ? snapped(value, range) : void 0;
      };
      input.addEventListener("input", () => {
        const value = read2(input.value);
        if (value !== void 0 && value === Number(input.value)) set(name, value);
      });
      input.addEventListener("change", () => {
        set(name, read2(input.value) ?? model.get(name));
        input.value = model.get(name);
      });
      field(label, input, { hint });
      bind(name, { parse: read2, show: (value) => {
        if (read2(input.value) !== value) input.value = value;
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
      const made2 = chart(options);
      stage.append(made2.element);
      closing.push(made2.close);
      return made2;
    },
    heatmap(options) {
      const made2 = heatmap(options);
      stage.append(made2.element);
      return made2;
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
    animate(step2) {
      let last;
      let id = 0;
      if (still.matches) {
        step2(Infinity);
        return { stop() {
        } };
      }
      const next = (now) => {
        const go = open && step2(last === void 0 ? 0 : Math.min(0.1, (now - last) / 1e3)) !== false;
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
function fill(out, low, high, count, keys, hashLow, hashHigh) {
  for (let at = 0; at < count; at += 1) {
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
    const count = last - first;
    return fill(new Uint32Array(4 * count), first % TWO32, Math.floor(first / TWO32), count, this.keys, ...this.hash);
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

// reservoir_book/explorables/shared/draws.mjs
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

// reservoir_book/explorables/echo_state/model.mjs
var SQUARINGS = 24;
var RADIUS_BITS = 16;
function exponentOf(x) {
  let e = Math.floor(Math.log2(x)) + 1;
  if (x >= 2 ** e) e += 1;
  if (x < 2 ** (e - 1)) e -= 1;
  return e;
}
function squared(a, n) {
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i += 1) {
    const row = out.subarray(i * n, (i + 1) * n);
    for (let k = 0; k < n; k += 1) {
      const f = a[i * n + k];
      const other = a.subarray(k * n, (k + 1) * n);
      for (let j = 0; j < n; j += 1) row[j] += f * other[j];
    }
  }
  return out;
}
function spectralRadius(matrix, n) {
  let power = Float64Array.from(matrix);
  let log2 = 0;
  for (let k = 0; ; k += 1) {
    const norm = Math.sqrt(power.reduce((sum, x) => sum + x * x, 0));
    if (norm === 0 || !Number.isFinite(norm)) return norm;
    const exponent = exponentOf(norm);
    log2 += exponent * 2 ** -k;
    if (k === SQUARINGS) return 2 ** (log2 + Math.log2(norm * 2 ** -exponent) * 2 ** -SQUARINGS);
    power = squared(power.map((x) => x * 2 ** -exponent), n);
  }
}
var radii = /* @__PURE__ */ new Map();
function unitRadius(stream, n) {
  const key = `${stream.seed} ${stream.name} ${n}`;
  if (!radii.has(key)) {
    const found = spectralRadius(uniform(stream, n * n, { bound: 1 }), n);
    const unit = 2 ** (exponentOf(found) - RADIUS_BITS);
    radii.set(key, Math.round(found / unit) * unit);
  }
  return radii.get(key);
}
function echoState({ seed, stream, inputs, size, radius, leak = 1, inputScaling = 1, biasScaling = 0 }) {
  const draw = (part, n, bound) => Float64Array.from(uniform(new Stream(seed, `${stream}.${part}`), n, { bound }));
  return {
    inputs,
    size,
    leak,
    W: draw("W", size * size, radius / unitRadius(new Stream(seed, `${stream}.W`), size)),
    Win: draw("W_in", size * inputs, inputScaling),
    b: draw("b", size, biasScaling)
  };
}
function step({ W, Win, b, size, inputs, leak }, from, u, to) {
  for (let i = 0; i < size; i += 1) {
    let sum = b[i];
    for (let j = 0; j < inputs; j += 1) sum += Win[i * inputs + j] * u[j];
    const row = i * size;
    for (let j = 0; j < size; j += 1) sum += W[row + j] * from[j];
    to[i] = from[i] + leak * (Math.tanh(sum) - from[i]);
  }
}
function run(echo, series, start = new Float64Array(echo.size)) {
  const steps = series.length / echo.inputs;
  const states = new Float64Array(steps * echo.size);
  let x = start;
  for (let t = 0; t < steps; t += 1) {
    const next = states.subarray(t * echo.size, (t + 1) * echo.size);
    step(echo, x, series.subarray(t * echo.inputs, (t + 1) * echo.inputs), next);
    x = next;
  }
  return states;
}
function ridge(x, y, { size, outputs, regularisation }) {
  const samples = x.length / size;
  const [xMean, xs] = centred(x, size);
  const [yMean, ys] = centred(y, outputs);
  const gram = new Float64Array(size * size);
  const right = new Float64Array(size * outputs);
  for (let t = 0; t < samples; t += 1) {
    const row = xs.subarray(t * size, (t + 1) * size);
    for (let i = 0; i < size; i += 1) {
      const f = row[i];
      const at = i * size;
      for (let j = 0; j <= i; j += 1) gram[at + j] += f * row[j];
      for (let k = 0; k < outputs; k += 1) right[i * outputs + k] += f * ys[t * outputs + k];
    }
  }
  for (let i = 0; i < size; i += 1) gram[i * size + i] += regularisation;
  if (!factorise(gram, size)) return null;
  const weight = new Float64Array(outputs * size);
  const bias = new Float64Array(outputs);
  const column = new Float64Array(size);
  for (let k = 0; k < outputs; k += 1) {
    for (let i = 0; i < size; i += 1) {
      let sum = right[i * outputs + k];
      for (let j = 0; j < i; j += 1) sum -= gram[i * size + j] * column[j];
      column[i] = sum / gram[i * size + i];
    }
    for (let i = size - 1; i >= 0; i -= 1) {
      let sum = column[i];
      for (let j = i + 1; j < size; j += 1) sum -= gram[j * size + i] * column[j];
      column[i] = sum / gram[i * size + i];
    }
    weight.set(column, k * size);
    bias[k] = yMean[k] - column.reduce((sum, v, i) => sum + v * xMean[i], 0);
  }
  return { weight, bias, size, outputs };
}
function centred(data, columns) {
  const samples = data.length / columns;
  const mean = new Float64Array(columns);
  for (let at = 0; at < data.length; at += columns) for (let j = 0; j < columns; j += 1) mean[j] += data[at + j];
  for (let j = 0; j < columns; j += 1) mean[j] /= samples;
  const rest = new Float64Array(data.length);
  for (let at = 0; at < data.length; at += columns) for (let j = 0; j < columns; j += 1) rest[at + j] = data[at + j] - mean[j];
  return [mean, rest];
}
function factorise(a, n) {
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k += 1) sum -= a[i * n + k] * a[j * n + k];
      if (i === j) {
        if (!(sum > 0)) return false;
        a[i * n + i] = Math.sqrt(sum);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
  }
  return true;
}
function read({ weight, bias, size, outputs }, states) {
  const steps = states.length / size;
  const said = new Float64Array(steps * outputs);
  for (let t = 0; t < steps; t += 1) {
    for (let k = 0; k < outputs; k += 1) {
      let sum = bias[k];
      for (let i = 0; i < size; i += 1) sum += weight[k * size + i] * states[t * size + i];
      said[t * outputs + k] = sum;
    }
  }
  return said;
}
function freeRun(echo, readout, x, steps) {
  const forecast = new Float64Array(steps * readout.outputs);
  const states = new Float64Array(steps * echo.size);
  for (let t = 0; t < steps; t += 1) {
    const u = read(readout, x);
    forecast.set(u, t * readout.outputs);
    const next = states.subarray(t * echo.size, (t + 1) * echo.size);
    step(echo, x, u, next);
    x = next;
  }
  return { forecast, states };
}
function memoryCurve(states, u, { size, longest, regularisation = 1e-9 }) {
  const delays = longest + 1;
  const kept = u.length - longest;
  const split = Math.round(kept / 2);
  const targets = new Float64Array(kept * delays);
  for (let t = 0; t < kept; t += 1) for (let k = 0; k < delays; k += 1) targets[t * delays + k] = u[longest + t - k];
  const from = states.subarray(longest * size);
  const readout = ridge(from.subarray(0, split * size), targets.subarray(0, split * delays), { size, outputs: delays, regularisation });
  if (!readout) return null;
  const [, found] = centred(read(readout, from.subarray(split * size)), delays);
  const [, right] = centred(targets.subarray(split * delays), delays);
  return Float64Array.from({ length: delays }, (_, k) => {
    let [aa, bb, ab] = [0, 0, 0];
    for (let at = k; at < found.length; at += delays) {
      aa += found[at] ** 2;
      bb += right[at] ** 2;
      ab += found[at] * right[at];
    }
    return ab ** 2 / Math.max(aa * bb, 1e-300);
  });
}
function distance(echo, series) {
  const one = run(echo, series);
  const other = run(echo, series, new Float64Array(echo.size).fill(1));
  return Float64Array.from({ length: series.length / echo.inputs }, (_, t) => {
    let square = 0;
    for (let i = t * echo.size; i < (t + 1) * echo.size; i += 1) square += (one[i] - other[i]) ** 2;
    return Math.sqrt(square / echo.size);
  });
}
function mackeyGlass(steps, { skip = 1e3 } = {}) {
  const [beta, gamma, substeps] = [0.2, 0.1, 10];
  const h = 1 / substeps;
  const lag = Math.round(17 / h);
  const production = (x) => {
    const x2 = x * x;
    const x4 = x2 * x2;
    return beta * x / (1 + x4 * x4 * x2);
  };
  const count = (skip + steps - 1) * substeps;
  const values = new Float64Array(lag + 1 + count).fill(1.2, 0, lag + 1);
  const slopes = new Float64Array(lag + 1 + count);
  for (let n = 0; n < count; n += 1) {
    const x = values[lag + n];
    const [then, next] = [values[n], values[n + 1]];
    const k1 = production(then) - gamma * x;
    slopes[lag + n] = k1;
    const arriving = n === lag - 1 ? 0 : slopes[n + 1];
    const middle = production(0.5 * (then + next) + 0.125 * h * (slopes[n] - arriving));
    const k2 = middle - gamma * (x + 0.5 * h * k1);
    const k3 = middle - gamma * (x + 0.5 * h * k2);
    const k4 = production(next) - gamma * (x + h * k3);
    values[lag + n + 1] = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  return Float64Array.from({ length: steps }, (_, n) => values[lag + (skip + n) * substeps]);
}
function lorenz(steps, { skip = 1e3, start = [1, 1, 1] } = {}) {
  const [sigma, rho, beta, substeps] = [10, 28, 8 / 3, 4];
  const h = 0.02 / substeps;
  const slope = ([x, y, z]) => [sigma * (y - x), x * (rho - z) - y, x * y - beta * z];
  const ahead = (state2, k, by) => [state2[0] + by * k[0], state2[1] + by * k[1], state2[2] + by * k[2]];
  const samples = new Float64Array(steps * 3);
  let state = start;
  for (let sample = 0; sample < skip + steps; sample += 1) {
    if (sample >= skip) samples.set(state, (sample - skip) * 3);
    for (let n = 0; n < substeps; n += 1) {
      const k1 = slope(state);
      const k2 = slope(ahead(state, k1, 0.5 * h));
      const k3 = slope(ahead(state, k2, 0.5 * h));
      const k4 = slope(ahead(state, k3, h));
      state = ahead(state, k1.map((a, i) => a + 2 * k2[i] + 2 * k3[i] + k4[i]), h / 6);
    }
  }
  return samples;
}
var TASKS = {
  "mackey-glass": { inputs: 1, make: mackeyGlass, dt: 1, ahead: 900 },
  lorenz: { inputs: 3, make: lorenz, dt: 0.02, ahead: 500 }
};
var WASHOUT = 200;
var KNOWN = 1700;
var NOISE = 2e3;
var LONGEST = 60;
var COPIES = 200;
var WRONG = 0.4;
var made = /* @__PURE__ */ new Map();
function task(name) {
  if (!made.has(name)) {
    const { inputs, make, ahead } = TASKS[name];
    const series = make(KNOWN + ahead);
    for (let k = 0; k < inputs; k += 1) {
      let [mean, square] = [0, 0];
      for (let t = 0; t < KNOWN; t += 1) mean += series[t * inputs + k] / KNOWN;
      for (let t = 0; t < KNOWN; t += 1) square += (series[t * inputs + k] - mean) ** 2 / KNOWN;
      for (let at = k; at < series.length; at += inputs) series[at] = (series[at] - mean) / Math.sqrt(square);
    }
    made.set(name, series);
  }
  return made.get(name);
}
function experiment({ seed, size, radius, leak, inputScaling, biasScaling, regularisation, task: name }) {
  const { inputs, ahead } = TASKS[name];
  const series = task(name);
  const echo = echoState({ seed, stream: "lab", inputs, size, radius, leak, inputScaling, biasScaling });
  const states = run(echo, series.subarray(0, KNOWN * inputs));
  const copies = distance(echo, series.subarray(0, COPIES * inputs));
  const seen = states.subarray(WASHOUT * size, (KNOWN - 1) * size);
  const wanted = series.subarray((WASHOUT + 1) * inputs, KNOWN * inputs);
  const readout = ridge(seen, wanted, { size, outputs: inputs, regularisation });
  if (!readout) return { echo, series, states, copies, readout };
  const fitted = read(readout, seen);
  const error = Math.sqrt(fitted.reduce((sum, y, i) => sum + (y - wanted[i]) ** 2, 0) / fitted.length);
  const { forecast, states: free } = freeRun(echo, readout, states.subarray((KNOWN - 1) * size), ahead);
  let valid = 0;
  for (; valid < ahead; valid += 1) {
    let square = 0;
    for (let k = 0; k < inputs; k += 1) square += (forecast[valid * inputs + k] - series[(KNOWN + valid) * inputs + k]) ** 2;
    if (!(Math.sqrt(square / inputs) <= WRONG)) break;
  }
  return { echo, series, states, copies, readout, fitted, error, forecast, free, valid };
}
function memory({ seed, size, radius, leak, inputScaling, biasScaling }) {
  const echo = echoState({ seed, stream: "lab", inputs: 1, size, radius, leak, inputScaling, biasScaling });
  const u = Float64Array.from(uniform(new Stream(seed, "lab.noise"), NOISE, { bound: Math.sqrt(3) }));
  return memoryCurve(run(echo, u), u, { size, longest: LONGEST });
}

// reservoir_book/explorables/echo_state/view.mjs
var NAMES = { "mackey-glass": "Mackey-Glass", lorenz: "Lorenz" };
var SHOWN = 8;
var BEFORE = 2;
var PATIENCE = 160;
var FLOOR = 1e-16;
var superscript = (n) => String(n).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
var small = (x) => {
  const [m, e] = x.toExponential(1).split("e");
  return e > -3 ? number(Number(x.toPrecision(2))) : `${m} · 10${superscript(Number(e))}`;
};
var view_default = {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.stage.classList.add("ex-echo");
    ui.choice("task", { label: "Series", options: Object.entries(NAMES) });
    ui.choice("size", { label: "Units", options: [[50, "50"], [100, "100"], [200, "200"]] });
    ui.slider("radius", { label: "Spectral radius ρ", min: 0.05, max: 1.6, step: 0.05 });
    ui.slider("leak", { label: "Leak a", min: 0.05, max: 1, step: 0.05 });
    ui.slider("scaling", { label: "Input scaling", min: 0.02, max: 4, step: 0.01, log: true });
    ui.slider("penalty", { label: "Readout’s λ", min: -9, max: 0, format: (e) => `10${superscript(e)}` });
    ui.number("seed", { label: "Seed", max: 2 ** 32 });
    const rates = model.get("lyapunov");
    const time = { label: "time since it was let go (Lyapunov times)", domain: [-BEFORE, 1] };
    const forecasts = ui.chart({ height: 230, label: "The series and its forecast", x: time, y: { label: "x (standard deviations)", domain: [-3, 3] } });
    const states = ui.chart({ height: 150, label: `States of ${SHOWN} units`, x: time, y: { label: "states", domain: [-1, 1], ticks: [-1, 0, 1] } });
    const recall = ui.chart({ height: 190, label: "Memory", x: { label: "delay k (steps)", domain: [0, 60] }, y: { label: "r² of recall", domain: [0, 1] } });
    const meeting = ui.chart({ height: 190, label: "Two copies", x: { label: "steps", domain: [0, 200] }, y: { label: "two copies apart by", domain: [FLOOR, 3], log: true, ticks: [1e-15, 1e-10, 1e-5, 1], format: (x) => `10${superscript(Math.round(Math.log10(x)))}` } });
    let waiting = 0;
    ui.draw(({ task: task2, size, radius, leak, scaling, penalty, seed }) => {
      const setting = { task: task2, size, radius, leak, seed, inputScaling: scaling, biasScaling: model.get("bias"), regularisation: 10 ** penalty };
      const { inputs, dt, ahead } = TASKS[task2];
      const rate = rates[task2] * dt;
      const found = experiment(setting);
      const before = Math.min(KNOWN - 1, Math.round(BEFORE / rate));
      const every = ahead * rate > 6 ? 2 : 1;
      const x = { domain: [-BEFORE, ahead * rate], ticks: Array.from({ length: Math.floor((ahead * rate + BEFORE) / every) + 1 }, (_, i) => i * every - BEFORE) };
      const column = (data, width, k, from, to) => Array.from({ length: to - from }, (_, t) => data[(from + t) * width + k]);
      const times = Array.from({ length: before + ahead }, (_, t) => (t + 1 - before) * rate);
      const lost = found.readout && found.valid < ahead;
      forecasts.update({
        x,
        marks: [
          { kind: "span", from: 0, to: ahead * rate },
          { kind: "line", x: times, y: column(found.series, inputs, 0, KNOWN - before, KNOWN + ahead), origin: "fixed", width: 3.5, name: "the true series" },
          found.readout && { kind: "line", x: times.slice(before), y: column(found.forecast, inputs, 0, 0, ahead), origin: "seeded", name: "the reservoir’s forecast, fed back to itself" },
          { kind: "rule", x: 0, label: "let go", dash: "none" },
          lost && { kind: "rule", x: (found.valid + 1) * rate, label: "lost" }
        ]
      });
      states.update({
        x,
        marks: Array.from({ length: SHOWN }, (_, i) => {
          const driven = column(found.states, size, i, KNOWN - before, KNOWN);
          return { kind: "line", x: times, y: found.readout ? [...driven, ...column(found.free, size, i, 0, ahead)] : driven, origin: "seeded", width: 1.1, name: i ? void 0 : `states of ${SHOWN} of the ${size} units` };
        })
      });
      meeting.update({ marks: [{ kind: "line", y: Array.from(found.copies, (d) => Math.max(d, FLOOR)), origin: "seeded", name: "two starts, one input" }] });
      ui.figure("fig-rate")?.relayout({ "shapes[1]": { type: "line", x0: radius, x1: radius, y0: 0, y1: 1, yref: "paper", line: { width: 1.5, dash: "dot", color: "#70767c" } } });
      const met = found.copies.findIndex((d) => d < 1e-6);
      ui.say([
        `A reservoir of ${size} units with spectral radius ${number(radius)} and leak ${number(leak)}, drawn from seed ${seed}.`,
        found.readout ? `On ${NAMES[task2]} its one-step error is ${small(found.error)} standard deviations; let go, it ${lost ? `holds for ${(found.valid * rate).toFixed(1)} Lyapunov times` : "holds to the end of the picture"}.` : "With so small a λ its readout cannot be solved for.",
        met >= 0 ? `Two copies that start apart are within a millionth after ${met} steps.` : `Two copies that start apart have not met after ${found.copies.length} steps.`
      ].join(" "));
      clearTimeout(waiting);
      const measure = () => {
        const bars = memory(setting) ?? [];
        const total = `recall of patternless input: ${bars.slice(1).reduce((sum, r) => sum + r, 0).toFixed(1)} steps in all`;
        recall.update({
          label: `Memory, ${total}`,
          marks: [{ kind: "bars", from: Array.from(bars, (_, k) => k - 0.5), to: Array.from(bars, (_, k) => k + 0.5), y: bars, origin: "seeded", name: total }]
        });
      };
      waiting = setTimeout(measure, PATIENCE);
    });
    return () => {
      clearTimeout(waiting);
      ui.close();
    };
  }
};
export {
  view_default as default
};
