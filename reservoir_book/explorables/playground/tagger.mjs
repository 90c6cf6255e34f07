// A stack of layers that answers at each place and trains: what reservoir.models.Tagger, PuzzleTask and the bench's recipes
// compute. All sequences have the same length; what is asked is asked at the last places of each. Above the last attention
// each place is alone, so from there on only the places that are asked are computed.
import { Engine } from './engine.mjs';
import { headsOf, lettersOf, tensorsOf } from './settings.mjs';

const FALL = 0.3; // the share of steps in which the rate comes down
const up = (n, to) => Math.ceil(n / to) * to;

/** The learning rate of a step, counted from 1: a rise, a plain, and a straight line down. */
export function trapezoid(step, { rate, steps, task: { warmup } }) {
  const rise = Math.max(1, warmup);
  if (step < rise) return (rate * step) / rise;
  const fall = Math.max(1, Math.round(FALL * steps));
  return rate * Math.min(1, (steps + 1 - step) / (fall + 1));
}

export class Tagger extends Engine {
  /**
   * @param {WebAssembly.Module|Bench} place as Engine has it
   * @param {object} settings as settings.mjs says: the task, and the letters of parts, among them
   */
  constructor(place, settings) {
    const { task, width } = settings;
    super(place, settings, tensorsOf(settings), { heads: headsOf(settings), wide: 4 * width, tokens: task.batch * task.length, longest: up(task.length, 4) });
  }

  rate(step) { return trapezoid(step, this.settings); }

  lay(rows, room) {
    const { settings, settings: { task }, d, named } = this;
    this.wide = up(task.answers, 8);
    this.batch = { ids: rows(1), at: rows(1), y: rows(task.questions), best: rows(task.questions), spans: rows(6), sentences: 0 };
    const letters = lettersOf(settings);
    const subs = Array.from({ length: settings.layers }, (_, i) => ['attention', 'feed_forward'].map((kind) => {
      const part = `encoder.${i}.${kind}`;
      return { kind, part, causal: task.causal, spans: this.batch.spans, norm: `encoder.${i}.${kind === 'attention' ? 'mixing' : kind}.norm` };
    })).flat().filter(({ part }) => letters.get(part) !== 'n');
    const all = this.stack(subs, 'norm', rows);
    Object.assign(this, { layers: all.layers, top: all.top, bottom: all.bottom });
    this.apart = this.layers.findLastIndex(({ kind }) => kind === 'attention') + 1; // the first sublayer in which each place is alone
    // What enters there: of the places that are asked alone, unless all are.
    if (task.places < task.length) {
      this.full = rows(d);
      if (this.apart) this.layers[this.apart - 1].next = this.full;
      else this.bottom = this.full;
    }
    this.looked = { ids: named.get('embedding'), at: named.get('positions') };
    let below = this.looked.ids.moves;
    for (const layer of this.layers) { layer.below = below; below ||= layer.moves; }
    this.top.below = below;
    this.readout = { w: named.get('readout'), groups: task.questions * this.wide };
    this.logits = rows(this.readout.groups);
    this.back = { x: rows(d), full: rows(d), h: rows(d), o: rows(d), wide: rows(4 * d) };
  }

  /** Lay out sequences number `from` to `to` of {x: (n, length) ids, y: (n, places, questions) answers, or -1}. */
  load({ x, y }, from, to) {
    const { batch, i, settings: { task: { length, places, questions } } } = this;
    const n = to - from;
    if (n * length > this.tokens) throw new RangeError(`a batch must have at most ${Math.floor(this.tokens / length)} sequences, got ${n}`);
    i.set(x.subarray(from * length, to * length), batch.ids / 4);
    i.set(y.subarray(from * places * questions, to * places * questions), batch.y / 4);
    const row = this.heads * length * up(length, 4);
    for (let s = 0; s < n; s += 1) {
      this.span(batch.spans, s, s * length, length, s * length, length, s * row);
      for (let p = 0; p < length; p += 1) i[batch.at / 4 + s * length + p] = p;
    }
    batch.sentences = n;
    this.asked = 0;
    for (let a = from * places * questions; a < to * places * questions; a += 1) this.asked += y[a] >= 0;
  }

  /** The last places of each sequence, from all rows to their own; or back, the others zero. */
  narrow(from, to) {
    const { d, f, batch: { sentences }, settings: { task: { length, places } } } = this;
    for (let s = 0; s < sentences; s += 1) {
      const at = from / 4 + (s * length + length - places) * d;
      f.copyWithin(to / 4 + s * places * d, at, at + places * d);
    }
  }

  widen(from, to) {
    const { d, f, batch: { sentences }, settings: { task: { length, places } } } = this;
    this.clear(to, sentences * length * d);
    for (let s = 0; s < sentences; s += 1) f.copyWithin(to / 4 + (s * length + length - places) * d, from / 4 + s * places * d, from / 4 + (s + 1) * places * d);
  }

  get rows() { return this.batch.sentences * this.settings.task.length; }

  get alone() { return this.batch.sentences * this.settings.task.places; }

  predict() {
    const { batch, layers, top, d, k, looked, apart, full, readout, rows, alone } = this;
    k.embed(batch.ids, batch.at, looked.ids.used, looked.at.used, this.bottom, rows, d, 1);
    for (let l = 0; l < apart; l += 1) this.sublayer(layers[l], rows);
    if (full) this.narrow(full, (layers[apart] ?? top).x);
    for (let l = apart; l < layers.length; l += 1) this.sublayer(layers[l], alone);
    this.normed(top, alone);
    this.product(top.h, readout.w.turned, this.logits, alone, readout.groups, d, 0, false, false);
    this.operations += 4 * this.layers.filter(({ kind }) => kind === 'attention').length * rows * this.settings.task.length * d;
  }

  /** The loss of the loaded batch in `losses`, summed over its answers, in nats; its gradient in the logits' place; returns how many answers are right. */
  forward() {
    this.predict();
    const { batch, settings: { task } } = this;
    return this.k.answer(this.logits, batch.y, this.sums, this.alone * task.questions, this.wide, task.answers, 1 / this.asked);
  }

  /** Answers to the loaded batch, as its `y`. */
  answers() {
    this.predict();
    const { batch, i, settings: { task } } = this;
    const n = this.alone * task.questions;
    this.k.best(this.logits, batch.best, n, this.wide, task.answers);
    return i.slice(batch.best / 4, batch.best / 4 + n);
  }

  backward() {
    const { batch, layers, top, d, k, looked, apart, full, readout, rows, alone, back } = this;
    this.clearGradients();
    const { w, groups } = readout;
    if (w.moves) {
      this.operations += 2 * alone * groups * d;
      k.outer(this.logits, groups, top.h, d, w.grad, d, groups, d, alone);
    }
    if (!top.below && !top.norm.w.moves) return;
    this.product(this.logits, w.used, back.h, alone, d, groups, 0, false, false);
    let dx = back.x;
    this.clear(dx, alone * d);
    this.normBack(top, back.h, dx, alone);
    for (let l = layers.length - 1; l >= apart; l -= 1) this.sublayerBack(layers[l], dx, alone);
    if (!layers.slice(0, apart).some(({ moves }) => moves) && !looked.ids.moves) { this.scoreGradients(); return; }
    if (full) { this.widen(dx, back.full); dx = back.full; }
    for (let l = apart - 1; l >= 0; l -= 1) this.sublayerBack(layers[l], dx, rows);
    this.operations += 8 * layers.filter(({ kind }) => kind === 'attention').length * rows * this.settings.task.length * d;
    if (looked.ids.moves) {
      k.embedBack(batch.ids, dx, looked.ids.grad, rows, d, 1);
      this.clear(looked.ids.grad, d); // the padding's row
      k.embedBack(batch.at, dx, looked.at.grad, rows, d, 1);
    }
    this.scoreGradients();
  }
}
