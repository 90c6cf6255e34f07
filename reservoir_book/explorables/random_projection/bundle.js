// reservoir_book/explorables/shared/draws.mjs
var HALVES = 8;
var INDEX = 2 ** 21;
var extent = (n) => {
  if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`n must be a whole number, 0 or more, got ${n}`);
  return n;
};
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
function sparse(stream, n, { scale: scale2 = 1, share, start = 0 }) {
  if (!(share > 0 && share <= 1)) throw new RangeError(`share must be in (0, 1], got ${share}`);
  const size = Math.fround(scale2);
  const wanted = share * 2 ** 31;
  const even = 2 * Math.round(wanted / 2);
  const below = 2 * (wanted % 1 === 0.5 ? even : Math.round(wanted));
  return Float32Array.from(stream.words(start, start + extent(n)), (word) => word < below ? word & 1 ? -size : size : 0);
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

// reservoir_book/explorables/random_projection/model.mjs
var ROW = {
  gaussian: (stream, d, row) => normal(stream, d, { std: 1, start: row * d }),
  sign: (stream, d, row) => sign(stream, d, { scale: 1, start: row * d }),
  sparse: (stream, d, row) => sparse(stream, d, { scale: Math.sqrt(3), share: 1 / 3, start: row * d })
};
function points({ seed, cloud, n, d }) {
  if (cloud === "scattered") return normal(new Stream(seed, "points"), n * d, { std: 1 });
  if (n > d) throw new RangeError(`n words need n dimensions, got ${n} and ${d}`);
  const x = new Float32Array(n * d);
  for (let i = 0; i < n; i += 1) x[i * d + i] = 1;
  return x;
}
var Projections = class {
  constructor({ seed, kind, cloud, n, d }) {
    Object.assign(this, { kind, n, d, rows: [], x: points({ seed, cloud, n, d }), stream: new Stream(seed, "projection") });
    this.exact = this.pairs((i, j) => {
      let sum = 0;
      for (let c = 0; c < d; c += 1) sum += (this.x[i * d + c] - this.x[j * d + c]) ** 2;
      return sum;
    });
    this.sums = [new Float64Array(this.exact.length)];
  }
  pairs(of) {
    const found = new Float64Array(this.n * (this.n - 1) / 2);
    for (let i = 0, at = 0; i < this.n; i += 1) for (let j = i + 1; j < this.n; j += 1, at += 1) found[at] = of(i, j);
    return found;
  }
  /** Squared distances after a projection to k dimensions over those before it, a number for each pair. */
  ratios(k) {
    while (this.sums.length <= k) {
      const w = ROW[this.kind](this.stream, this.d, this.sums.length - 1);
      const y = new Float64Array(this.n);
      for (let i = 0; i < this.n; i += 1) for (let c = 0; c < this.d; c += 1) y[i] += w[c] * this.x[i * this.d + c];
      const before = this.sums.at(-1);
      this.sums.push(this.pairs((i, j) => (y[i] - y[j]) ** 2).map((square, at) => before[at] + square));
    }
    return this.sums[k].map((sum, at) => sum / k / this.exact[at]);
  }
  /** The largest |ratio - 1| of all pairs at k dimensions. */
  worst(k) {
    return this.ratios(k).reduce((most, ratio) => Math.max(most, Math.abs(ratio - 1)), 0);
  }
};
var enough = (n, epsilon) => Math.ceil(4 * Math.log(n) / (epsilon ** 2 / 2 - epsilon ** 3 / 3));
function promised(k, n) {
  if (enough(n, 1) > k) return void 0;
  let [low, high] = [0, 1];
  for (let i = 0; i < 40; i += 1) {
    const middle = (low + high) / 2;
    if (4 * Math.log(n) / (middle ** 2 / 2 - middle ** 3 / 3) <= k) high = middle;
    else low = middle;
  }
  return high;
}
function density(ratio, k) {
  if (ratio <= 0) return 0;
  const half = k / 2;
  return Math.exp(half * Math.log(half) - logGamma(half) + (half - 1) * Math.log(ratio) - half * ratio);
}
function logGamma(z) {
  const c = [0.9999999999998099, 676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -0.13857109526572012, 9984369578019572e-21, 15056327351493116e-23];
  if (z < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * z)) - logGamma(1 - z);
  const t = z + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (z - 0.5) * Math.log(t) - t + Math.log(c.slice(1).reduce((sum, one, i) => sum + one / (z + i), c[0]));
}

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

// reservoir_book/explorables/random_projection/view.mjs
var POINTS = 40;
var MOST = 512;
var BINS = 36;
var WIDTH = 3;
var SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
var view_default = {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.slider("k", { label: "Project to", min: 1, max: MOST, log: true, format: (k) => `${number(k)} dimension${k === 1 ? "" : "s"}` });
    ui.slider("d", { label: "From", min: 64, max: 2048, log: true, format: (d) => `${number(d)} dimensions` });
    ui.slider("epsilon", { label: "Error to tolerate, ε", min: 0.05, max: 0.9, step: 0.05 });
    ui.choice("kind", { label: "Matrix", options: [["gaussian", "Gaussian"], ["sign", "±1"], ["sparse", "two thirds zeros"]] });
    ui.choice("cloud", { label: "Points", options: [["scattered", "scattered"], ["words", "one word each"]] });
    ui.number("seed", { label: "Seed", max: 2 ** 32 });
    const histogram = ui.chart({ height: 230, label: "Histogram of distance ratios", x: { label: "squared distance after / before", domain: [0, WIDTH] }, y: { label: "density", domain: [0, 2] } });
    const errors = ui.chart({ height: 200, label: "Worst error against dimensions", x: { label: "dimensions after projection, k", domain: [1, MOST], log: true, base: 2 }, y: { label: "worst error", domain: [0.1, 10], log: true } });
    let held;
    let key = "";
    ui.draw(({ k, d, epsilon, kind, cloud, seed }) => {
      if (key !== (key = [kind, cloud, seed, d].join())) held = new Projections({ seed, kind, cloud, n: POINTS, d });
      const ratios = held.ratios(k);
      const inside = ratios.filter((ratio) => Math.abs(ratio - 1) <= epsilon).length;
      const worst = held.worst(k);
      const step = WIDTH / BINS;
      const counts = new Float64Array(BINS);
      for (const ratio of ratios) counts[Math.min(BINS - 1, Math.floor(ratio / step))] += 1;
      const heights = counts.map((count) => count / ratios.length / step);
      const from = Array.from(counts, (_, i) => i * step);
      const at = Array.from({ length: 181 }, (_, i) => i * WIDTH / 180);
      const curve = at.map((ratio) => density(ratio, k));
      const top = Math.max(1, ...heights, Math.min(8, Math.max(...curve))) * 1.1;
      histogram.update({
        y: { domain: [0, top] },
        marks: [
          { kind: "span", from: 1 - epsilon, to: 1 + epsilon, origin: "fixed", name: `within ${number(epsilon)}` },
          { kind: "bars", from, to: from.map((edge) => edge + step), y: heights, origin: "seeded", name: `${ratios.length} pairs` },
          { kind: "line", x: at, y: curve, origin: "fixed", name: "one pair, over all Gaussian matrices" }
        ]
      });
      const sizes = [.../* @__PURE__ */ new Set([...SIZES.filter((size) => size < k), k])];
      const sure = Array.from({ length: 60 }, (_, i) => MOST ** (i / 59)).filter((size) => promised(size, POINTS));
      errors.update({
        marks: [
          { kind: "line", x: sure, y: sure.map((size) => promised(size, POINTS)), origin: "fixed", name: "promised" },
          { kind: "line", x: sizes, y: sizes.map((size) => held.worst(size)), origin: "seeded", name: "worst of all pairs, so far" },
          { kind: "points", x: [k], y: [worst], origin: "seeded" },
          { kind: "rule", y: epsilon, label: "ε" }
        ]
      });
      const sure_at = enough(POINTS, epsilon);
      const together = ratios.filter((ratio) => ratio === 0).length;
      ui.say(`${POINTS} points projected from ${number(d)} dimensions to ${number(k)}: ${Math.round(100 * inside / ratios.length)} % of ${ratios.length} squared distances are within ${number(epsilon)} of what they were, and the worst is off by ${number(worst, 2)}. ` + (together ? `${together} pair${together === 1 ? " has" : "s have"} fallen on the same place. ` : "") + `To keep them all within ${number(epsilon)}, the theorem asks for ${number(sure_at)} dimensions${sure_at > d ? ", more than there were" : ""}.`);
    });
    return ui.close;
  }
};
export {
  view_default as default
};
