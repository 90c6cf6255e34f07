// Drawings in SVG: charts that know their axes, and a few shapes. Colours come from classes (ui.css), so that light and
// dark, and the colour of a weight's origin, are decided in one place.

const SPACE = 'http://www.w3.org/2000/svg';

/**
 * A name that nothing else in the document has. By chance, since a counter would not do: each explorable brings a copy of
 * this module.
 */
export const unique = () => `ex-${Math.random().toString(36).slice(2, 10)}`;

/** An SVG element with attributes and children; undefined, null and false attributes are left out. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ''));
  return element;
}

/** Round numbers between low and high, about `count` of them: 1, 2 or 5 times a power of ten apart. */
export function ticks(low, high, count = 5) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Powers of `base` between low and high; few powers are joined by 2 and 5 times them. */
export function logTicks(low, high, base = 10) {
  const from = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const to = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const powers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => Number((base ** (from + i)).toPrecision(12)));
  if (base !== 10 || powers.length > 2) return powers;
  const all = [];
  for (let power = from - 1; power <= to; power += 1) all.push(...[1, 2, 5].map((factor) => Number((factor * 10 ** power).toPrecision(12))));
  return all.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

/** A number for a tick or a sentence: no more digits than it needs, a true minus, commas between thousands. */
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return value === Infinity ? '∞' : value === -Infinity ? '−∞' : '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split('e');
    return `${Number(mantissa)}·10^${Number(exponent)}`.replaceAll('-', '−');
  }
  const text = size >= 10 ** (digits - 1) ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
  const [whole, part] = text.replace('-', '−').split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? `.${part}` : '');
}

function scale({ domain: [low, high], log = false }, from, to) {
  const at = log ? Math.log : (value) => value;
  const [a, b] = [at(low), at(high)];
  const span = b - a || 1;
  const map = (value) => from + ((at(value) - a) / span) * (to - from);
  map.invert = (pixel) => {
    const value = a + ((pixel - from) / (to - from)) * span;
    return log ? Math.exp(value) : value;
  };
  return map;
}

const clip = (value) => Math.max(-1e5, Math.min(1e5, value)); // what lies outside is cut off, but SVG dislikes infinities

function path(xs, ys, x, y) {
  let text = '';
  let pen = 'M';
  for (let i = 0; i < ys.length; i += 1) {
    if (!Number.isFinite(ys[i])) { pen = 'M'; continue; } // a gap
    text += `${pen}${clip(x(xs ? xs[i] : i)).toFixed(1)} ${clip(y(ys[i])).toFixed(1)}`;
    pen = 'L';
  }
  return text;
}

/** The marks that a chart can draw; each gets its description and the two scales. */
const MARKS = {
  /** {x, y, origin, dash, width, faint}: x may be left out (0, 1, 2 …); a y that is no number is a gap. */
  line: (mark, x, y) => svg('path', { d: path(mark.x, mark.y, x, y), class: `ex-line ${mark.faint ? 'ex-faint' : ''}`, 'stroke-dasharray': mark.dash, style: mark.width && `stroke-width: ${mark.width}` }),
  /** {x, low, high, origin}: between two curves. */
  band: (mark, x, y) => {
    const there = mark.x.map((at, i) => `${clip(x(at)).toFixed(1)} ${clip(y(mark.high[i])).toFixed(1)}`);
    const back = mark.x.map((at, i) => `${clip(x(at)).toFixed(1)} ${clip(y(mark.low[i])).toFixed(1)}`).reverse();
    return svg('path', { d: `M${[...there, ...back].join('L')}Z`, class: 'ex-band' });
  },
  /** {x, y, origin, size, shape, open}: points; shape is 'circle' or 'square', one for all or one each. */
  points: (mark, x, y) => Array.from(mark.x, (at, i) => {
    const size = mark.size ?? 3.5;
    const [cx, cy] = [clip(x(at)), clip(y(mark.y[i]))];
    const shape = Array.isArray(mark.shape) ? mark.shape[i] : mark.shape;
    const kind = `ex-point ${mark.open ? 'ex-open' : ''}`;
    return shape === 'square'
      ? svg('rect', { x: (cx - size).toFixed(1), y: (cy - size).toFixed(1), width: 2 * size, height: 2 * size, class: kind })
      : svg('circle', { cx: cx.toFixed(1), cy: cy.toFixed(1), r: size, class: kind });
  }),
  /** {from, to, y, origin}: a histogram: bars between from[i] and to[i], as high as y[i]. */
  bars: (mark, x, y, box) => Array.from(mark.y, (value, i) => {
    const [left, right] = [x(mark.from[i]), x(mark.to[i])];
    const top = y(value);
    return svg('rect', { x: (left + 0.5).toFixed(1), y: top.toFixed(1), width: Math.max(0.5, right - left - 1).toFixed(1), height: Math.max(0, box.bottom - top).toFixed(1), class: 'ex-bar' });
  }),
  /** {x} or {y}, {label, origin, dash}: a line across the whole plot. */
  rule: (mark, x, y, box) => {
    const upright = mark.x !== undefined;
    const at = upright ? x(mark.x) : y(mark.y);
    const ends = upright ? { x1: at, x2: at, y1: box.top, y2: box.bottom } : { x1: box.left, x2: box.right, y1: at, y2: at };
    const label = mark.label && svg('text', upright ? { x: at + 4, y: box.top + 11 } : { x: box.right - 4, y: at - 4, 'text-anchor': 'end' }, mark.label);
    return [svg('line', { ...ends, class: 'ex-rule', 'stroke-dasharray': mark.dash ?? '4 3' }), label];
  },
  /** {from, to} along x: a stretch of the plot, shaded. */
  span: (mark, x, y, box) => svg('rect', { x: x(mark.from), width: Math.max(0, x(mark.to) - x(mark.from)), y: box.top, height: box.bottom - box.top, class: 'ex-span' }),
};

/**
 * A chart with two axes. `update({ marks, x, y })` draws it anew; what is left out stays as it was. It is as wide as
 * its box, and redraws itself when that changes.
 *
 * @param {{height?: number, x: Axis, y: Axis, square?: boolean}} options where an Axis is
 *   `{label, domain: [low, high], log, base, ticks, format}`; only `label` and `domain` are needed
 */
export function chart({ height = 260, square = false, ...options }) {
  const drawing = svg('svg', { class: 'ex-chart', role: 'img', 'aria-label': options.label ?? '' });
  const legend = Object.assign(document.createElement('div'), { className: 'ex-legend' });
  const element = Object.assign(document.createElement('div'), { className: 'ex-figure' });
  element.append(drawing, legend);
  const clipId = unique();
  let state = { marks: [], ...options };
  let width = 0;
  let shownLegend = '';

  function draw() {
    width = element.clientWidth;
    if (!width) return;
    const tall = square ? Math.min(width, height) : height;
    const box = { left: 52, right: width - 17, top: 10, bottom: tall - 40 };
    const x = scale(state.x, box.left, box.right);
    const y = scale(state.y, box.bottom, box.top);
    drawing.setAttribute('viewBox', `0 0 ${width} ${tall}`);
    drawing.setAttribute('width', width);
    drawing.setAttribute('height', tall);
    const axis = (side) => {
      const of = state[side];
      const count = side === 'x' ? Math.max(2, Math.round(width / 90)) : Math.max(2, Math.round(tall / 55));
      const at = of.ticks ?? (of.log ? logTicks(...of.domain, of.base) : ticks(...of.domain, count));
      return at.map((tick) => {
        const text = (of.format ?? number)(tick);
        return side === 'x'
          ? [svg('line', { class: 'ex-grid', x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom }), svg('text', { class: 'ex-tick', x: x(tick), y: box.bottom + 15, 'text-anchor': 'middle' }, text)]
          : [svg('line', { class: 'ex-grid', x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }), svg('text', { class: 'ex-tick', x: box.left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, text)];
      });
    };
    const marks = state.marks.filter(Boolean).map((mark) => svg('g', { class: `ex-mark ${mark.origin ? `ex-${mark.origin}` : ''}` }, MARKS[mark.kind](mark, x, y, box)));
    drawing.replaceChildren(
      svg('defs', {}, svg('clipPath', { id: clipId }, svg('rect', { x: box.left - 5, y: box.top - 5, width: box.right - box.left + 10, height: box.bottom - box.top + 10 }))),
      ...axis('x').flat(), ...axis('y').flat(),
      svg('g', { 'clip-path': `url(#${clipId})` }, marks),
      svg('text', { class: 'ex-title', x: (box.left + box.right) / 2, y: tall - 6, 'text-anchor': 'middle' }, state.x.label ?? ''),
      svg('text', { class: 'ex-title', transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, state.y.label ?? ''),
    );
    element.scales = { x, y, box };
    drawLegend();
  }

  function drawLegend() {
    const named = state.marks.filter((mark) => mark?.name);
    const written = named.map((mark) => [mark.kind, mark.name, mark.origin, mark.dash, mark.open, mark.shape].join()).join(';');
    if (written === shownLegend) return;
    shownLegend = written;
    legend.replaceChildren(...named.map((mark) => {
      const sample = svg('svg', { width: 22, height: 12, 'aria-hidden': 'true' }, svg('g', { class: `ex-mark ${mark.origin ? `ex-${mark.origin}` : ''}` }, swatch(mark)));
      const entry = Object.assign(document.createElement('span'), { className: 'ex-key' });
      entry.append(sample, mark.name);
      return entry;
    }));
  }

  const watcher = new ResizeObserver(() => { if (element.clientWidth !== width) draw(); });
  watcher.observe(element);
  return {
    element,
    update(changes) {
      for (const side of ['x', 'y']) if (changes[side]) changes = { ...changes, [side]: { ...state[side], ...changes[side] } };
      state = { ...state, ...changes };
      if (changes.label) drawing.setAttribute('aria-label', changes.label);
      draw();
    },
    /** Where a pointer event lies, in the units of the axes. */
    at(event) {
      const { left, top } = drawing.getBoundingClientRect();
      return { x: element.scales.x.invert(event.clientX - left), y: element.scales.y.invert(event.clientY - top) };
    },
    close: () => watcher.disconnect(),
  };
}

function swatch(mark) {
  if (mark.kind === 'line' || mark.kind === 'rule') return svg('line', { x1: 0, x2: 22, y1: 6, y2: 6, class: mark.kind === 'line' ? 'ex-line' : 'ex-rule', 'stroke-dasharray': mark.dash ?? (mark.kind === 'rule' ? '4 3' : undefined) });
  if (mark.kind === 'points') return mark.shape === 'square' ? svg('rect', { x: 7, y: 2, width: 8, height: 8, class: `ex-point ${mark.open ? 'ex-open' : ''}` }) : svg('circle', { cx: 11, cy: 6, r: 4, class: `ex-point ${mark.open ? 'ex-open' : ''}` });
  return svg('rect', { x: 3, y: 1, width: 16, height: 10, class: mark.kind === 'bars' ? 'ex-bar' : mark.kind === 'band' ? 'ex-band' : 'ex-span' });
}

/**
 * A matrix as a heatmap: opacity is the share of `max`. `update({ values, rows, cols, max, rowLabels, colLabels })`.
 * @param {{origin?: string, label?: string, cell?: number}} options `cell`: the largest side of a cell in pixels
 */
export function heatmap({ origin = 'trained', label = '', cell = 28 } = {}) {
  const drawing = svg('svg', { class: `ex-heatmap ex-${origin}`, 'aria-hidden': 'true' }); // a picture once it shows something
  const named = (text) => {
    if (!text) return;
    drawing.removeAttribute('aria-hidden');
    drawing.setAttribute('role', 'img');
    drawing.setAttribute('aria-label', text);
  };
  named(label);
  const element = Object.assign(document.createElement('div'), { className: 'ex-figure' });
  element.append(drawing);
  return {
    element,
    update({ values, rows, cols, max = 1, rowLabels = [], colLabels = [], label: shown }) {
      const room = rowLabels.length ? Math.min(120, 12 + 7 * Math.max(...rowLabels.map((text) => text.length))) : 4;
      const above = colLabels.length ? Math.min(90, 10 + 6 * Math.max(...colLabels.map((text) => text.length))) : 4;
      const side = Math.max(2, Math.min(cell, ((element.clientWidth || 320) - room - 12) / cols));
      drawing.setAttribute('width', room + side * cols + 8);
      drawing.setAttribute('height', above + side * rows + 4);
      named(shown);
      const cells = [];
      for (let i = 0; i < rows; i += 1) {
        for (let j = 0; j < cols; j += 1) {
          const share = Math.max(0, Math.min(1, values[i * cols + j] / max));
          cells.push(svg('rect', { class: 'ex-cell', x: room + j * side, y: above + i * side, width: Math.max(1, side - 1), height: Math.max(1, side - 1), 'fill-opacity': (0.04 + 0.96 * share).toFixed(3) }));
        }
      }
      drawing.replaceChildren(...cells,
        ...rowLabels.map((text, i) => svg('text', { class: 'ex-tick', x: room - 5, y: above + (i + 0.5) * side + 4, 'text-anchor': 'end' }, text)),
        ...colLabels.map((text, j) => svg('text', { class: 'ex-tick', transform: `translate(${room + (j + 0.5) * side + 4} ${above - 5}) rotate(-50)` }, text)));
    },
  };
}
