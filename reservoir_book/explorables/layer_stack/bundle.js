// reservoir_book/explorables/layer_stack/model.mjs
var LEAST = 1;
var MOST = 12;
function layerCost(kind, { d_model: d, d_ff: f, n_heads: heads, kernel, length }) {
  const half = Math.floor(d / 2);
  const norm = 2 * d;
  const [maps, rest, free, past] = {
    transformer: [4 * d * d + 2 * d * f, 5 * d + f + 2 * norm, 4 * length * d, 0],
    ffn: [2 * d * f, d + f + norm, 0, 0],
    gru: [6 * half * (d + half), 12 * half + norm, 0, 12 * half * half / length],
    conv: [3 * d * d + d * heads * kernel, 3 * d + norm, 0, 0]
  }[kind];
  return { parameters: maps + rest, forward: 2 * maps + free, inputs: 2 * maps + 2 * free - past, weights: 2 * maps };
}
function stackCost(stack, kind, below, sizes) {
  let moves = below;
  return [...stack].map((letter) => {
    const learns = letter === "L";
    const cost = layerCost(learns ? "transformer" : kind, sizes);
    const found = { letter, ...cost, inputs: moves || learns ? cost.inputs : 0, weights: learns ? cost.weights : 0 };
    moves ||= learns;
    return found;
  });
}
function sums(costs) {
  const total = { trained: 0, frozen: 0, forward: 0, inputs: 0, weights: 0 };
  for (const cost of costs) {
    total[cost.letter === "L" ? "trained" : "frozen"] += cost.parameters;
    for (const part of ["forward", "inputs", "weights"]) total[part] += cost[part];
  }
  return { ...total, step: total.forward + total.inputs + total.weights };
}
var parse = (text) => /^[LR]{1,12}$/.test(text) ? text : void 0;
var turned = (stack, i) => [...stack].map((letter, k) => k === i ? { L: "R", R: "L" }[letter] : letter).join("");
var key = (stack, kind) => stack.includes("R") ? `${stack} ${kind}` : stack;
var nearest = (records, stack, kind) => {
  const learning = (letters) => [...letters].filter((letter) => letter === "L").length;
  const far = (name) => {
    const [letters, its] = name.split(" ");
    return 1e3 * Math.abs(learning(letters) - learning(stack)) + 10 * Math.abs(letters.length - stack.length) + (its === void 0 || its === kind ? 0 : 1);
  };
  return Object.keys(records).sort((a, b) => far(a) - far(b))[0];
};

// reservoir_book/explorables/shared/records.mjs
var mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// reservoir_book/explorables/shared/svg.mjs
var SPACE = "http://www.w3.org/2000/svg";
var unique = () => `ex-${Math.random().toString(36).slice(2, 10)}`;
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, name);
  for (const [key2, value] of Object.entries(attributes)) {
    if (value !== void 0 && value !== null && value !== false) element.setAttribute(key2, value === true ? "" : value);
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
  for (const [key2, value] of Object.entries(attributes)) {
    if (value === void 0 || value === null || value === false) continue;
    element.setAttribute(key2, value === true ? "" : value);
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
  function bind(name, { show, parse: parse2, write = String }) {
    if (model.get(name) === void 0) throw new Error(`the model has no setting "${name}": declare it in the Python class, with .tag(sync=True)`);
    names.push(name);
    first[name] = model.get(name);
    const told = model.book?.address.get(name);
    if (told !== void 0) {
      const value = parse2(told);
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
    setting(name, { parse: parse2 = (text) => text, write = String } = {}) {
      bind(name, { parse: parse2, write, show: () => {
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

// reservoir_book/explorables/layer_stack/view.mjs
var KINDS = [["ffn", "Feed-forward"], ["transformer", "Transformer"], ["gru", "GRU"], ["conv", "Convolution"]];
var NAMES = { transformer: "transformer", ffn: "feed-forward", gru: "GRU", conv: "convolution" };
var PARTS = [["forward", "forward pass"], ["inputs", "gradient handed down"], ["weights", "gradient of its weights"]];
var view_default = {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const sizes = Object.fromEntries(["d_model", "d_ff", "n_heads", "kernel", "length"].map((name) => [name, model.get(name)]));
    const records = model.get("records");
    ui.choice("kind", { label: "Reservoirs are", options: KINDS });
    ui.toggle("embeddings", { label: "The embeddings below learn" });
    ui.setting("stack", { parse });
    const change = (next) => ui.set("stack", next);
    const more = ui.button("Add a layer on top", () => change(`${model.get("stack")}L`));
    const fewer = ui.button("Take the top one off", () => change(model.get("stack").slice(0, -1)));
    if (Object.keys(records).length) {
      const wanted = html(
        "select",
        { "aria-label": "A recorded stack" },
        html("option", { value: "", text: "Go to a recorded stack" }),
        Object.entries(records).map(([name, { name: recipe }]) => html("option", { value: name, text: `${name} (${recipe.split("/")[1]})` }))
      );
      wanted.addEventListener("change", () => {
        const [stack, kind] = wanted.value.split(" ");
        if (kind) ui.set("kind", kind);
        if (stack) change(stack);
        wanted.value = "";
      });
      ui.controls.append(html("div", { class: "ex-field ex-action" }, wanted));
    }
    const rows = html("div", { class: "ls-rows", role: "group", "aria-label": "Layers, the top one first" });
    const legend = html("div", { class: "ls-legend" }, PARTS.map(([part, text]) => html("span", { class: "ex-key" }, html("span", { class: `ls-bar ls-${part}` }), text)));
    const table = html("dl", { class: "ls-sums" });
    ui.stage.append(rows, legend, table);
    const chart2 = Object.keys(records).length && ui.chart({ height: 220, label: "The recorded curve", x: { label: "steps", domain: [0, 1] }, y: { label: "BLEU, validation", domain: [0, 40] } });
    ui.draw(({ stack, kind, embeddings }) => {
      const costs = stackCost(stack, kind, embeddings, sizes);
      const whole = stackCost("L".repeat(stack.length), kind, true, sizes);
      const widest = Math.max(...whole.map((cost) => cost.forward + cost.inputs + cost.weights));
      const held = [...rows.children].findIndex((row) => row.contains(document.activeElement));
      rows.replaceChildren(...costs.map((cost, i) => {
        const what = cost.letter === "L" ? "learns" : `${NAMES[kind]} reservoir`;
        const button = html("button", { type: "button", class: `ls-layer ls-${cost.letter}`, text: cost.letter, "aria-pressed": cost.letter === "R" ? "true" : "false", "aria-label": `Layer ${i + 1} from below ${what}; click to turn it` });
        button.addEventListener("click", () => change(turned(stack, i)));
        const bars = PARTS.map(([part, text]) => html("span", { class: `ls-bar ls-${part}`, style: `flex-basis:${100 * cost[part] / widest}%`, title: `${text}: ${number(cost[part] / 1e3)} thousand operations a token` }));
        return html("div", { class: "ls-row" }, button, html("span", { class: "ls-what", text: what }), html("div", { class: "ls-bars" }, bars));
      }).reverse());
      if (held >= 0) rows.children[Math.min(held, rows.children.length - 1)].querySelector("button").focus();
      more.disabled = stack.length >= MOST;
      fewer.disabled = stack.length <= LEAST;
      const now = sums(costs);
      const all = sums(whole);
      const share = (value, of) => `${Math.round(100 * value / of)} %`;
      table.replaceChildren(...[
        ["Parameters that learn", Math.round(now.trained).toLocaleString("en")],
        ["Parameters that a seed gives back", Math.round(now.frozen).toLocaleString("en")],
        ["A step, compared with a stack as deep, all trained", share(now.step, all.step)],
        ["Its backward pass", share(now.inputs + now.weights, all.inputs + all.weights)]
      ].flatMap(([name, value]) => [html("dt", { text: name }), html("dd", { text: value })]));
      const exact = records[key(stack, kind)];
      const like = exact ? key(stack, kind) : nearest(records, stack, kind);
      const record = records[like];
      if (chart2) {
        const runs = record ? record.curves : [];
        const last = Math.max(1, ...Object.values(records).flatMap((one) => one.curves.map(([x]) => x.at(-1))));
        const high = Math.max(...Object.values(records).flatMap((one) => one.curves.flatMap(([, y]) => y)));
        const grey = records["LLLL"];
        const lines = (from, origin, name) => from.map(([x, y], i) => ({ kind: "line", x, y, origin, name: i ? void 0 : name }));
        chart2.update({
          x: { domain: [0, last] },
          y: { domain: [0, Math.ceil(high / 5) * 5] },
          marks: [...grey && like !== "LLLL" ? lines(grey.curves, "fixed", "LLLL, all four learn") : [], ...lines(runs, like?.includes("R") ? "seeded" : "trained", record ? `${like}, ${runs.length} ${runs.length > 1 ? "seeds" : "seed"}` : void 0)]
        });
      }
      const n = [...stack].filter((letter) => letter === "R").length;
      const free = costs.filter((cost) => cost.inputs === 0).length;
      ui.say([
        `${stack.length} ${stack.length === 1 ? "layer" : "layers"} from the bottom up, ${stack}: ${stack.length - n} learn and ${n} ${n === 1 ? "does" : "do"} not.`,
        `A training step of the stack costs ${share(now.step, all.step)} of one in which all layers are transformer layers that learn.`,
        free ? `No gradient has to reach the lowest ${free === 1 ? "layer" : `${free} layers`}, since nothing below moves: what ${free === 1 ? "it computes" : "they compute"} could be kept from one pass to the next.` : n ? "The gradient passes through every reservoir on its way down." : "",
        record ? `${exact ? "Recorded" : `The most similar recorded stack is ${like}`}: ${mean(record.test).toFixed(1)} BLEU on the test set and an area of ${mean(record.aucc).toFixed(1)}, ${record.test.length} ${record.test.length > 1 ? "seeds" : "seed"}.` : ""
      ].filter(Boolean).join(" "));
    });
    return ui.close;
  }
};
export {
  view_default as default
};
