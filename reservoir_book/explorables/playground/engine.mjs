// What trains in the page: a pre-norm transformer in fp32, with the origin of each part chosen. The classes in
// translator.mjs and tagger.mjs put their models together from what is here. The arithmetic is in kernels.ts; here is which
// numbers go where. Rows lie one after the other, memory is laid out once, and a step allocates nothing. Engines that take
// turns share one memory: most of it is what a step computes, and no engine needs that after its step.
import { normal, sign, uniform } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';

const PAGE = 65536;
const CLIP = 1;
const [BETA1, BETA2, EPSILON] = [0.9, 0.98, 1e-8];

/** How a tensor begins: `keep` is the share that a mask will keep, for which weights are drawn larger. */
export function drawn(seed, { stream, shape, kind, blocks, std, padded, signs }, keep = 1) {
  const n = shape.reduce((a, b) => a * b, 1);
  if (shape.length === 1) return new Float32Array(n).fill(kind === 'gain' ? 1 : 0);
  const larger = Math.sqrt(1 / keep);
  const words = new Stream(seed, stream);
  if (signs && keep < 1) return sign(words, n, { scale: (Math.SQRT2 / Math.sqrt(shape[1])) * larger }).fill(0, 0, padded ? shape[1] : 0);
  if (kind === 'table') return normal(words, n, { std: (std ?? shape[1] ** -0.5) * larger }).fill(0, 0, padded ? shape[1] : 0);
  const gain = blocks ? 2 ** -0.5 : 1; // of queries, keys and values
  return uniform(words, n, { bound: gain * Math.sqrt(6 / (shape[1] + shape[0] / (blocks ?? 1))) * larger });
}

/** Scores of a mask, from a uniform distribution: Kaiming's with a slope of √5, as torch.nn.Linear takes. */
const scored = (seed, { stream, shape }) => uniform(new Stream(seed, `${stream}.scores`), shape[0] * shape[1], { bound: Math.sqrt(6 / ((1 + Math.sqrt(5) * Math.sqrt(5)) * shape[1])) });

/** `keep · n` rounded; halves to the even number, as Python rounds. */
export function kept(n, keep) {
  const low = Math.floor(keep * n);
  const over = keep * n - low;
  return over > 0.5 || (over === 0.5 && low % 2) ? low + 1 : low;
}

/** A memory with its kernels, for engines that take turns in it. */
export class Bench {
  constructor(module) {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    this.k = new WebAssembly.Instance(module, { env: { memory: this.memory, abort() { throw new Error('the kernels stopped'); } } }).exports;
  }
}

/** The linear maps of a sublayer. */
const MAPS = { attention: ['qkv', 'out'], cross: ['query', 'kv', 'out'], feed_forward: ['up', 'down'], fourier: [] };

/** A class that extends it says what else a model has: `lay`, `load`, `forward`, `backward`, `asked` and `rate`. */
export class Engine {
  /**
   * @param {WebAssembly.Module|Bench} place kernels.wasm, or where engines take turns (`enter`)
   * @param {object} settings width, keep, seed and decay among them
   * @param {object[]} tensors as settings.mjs lists them; one that is `spread` has groups of rows that begin `wide` apart
   * @param {{heads: number, wide: number, tokens: number, longest: number}} sizes of a batch at most `tokens` rows, of a sentence at most `longest`
   */
  constructor(place, settings, tensors, { heads, wide, tokens, longest }) {
    this.bench = place instanceof Bench ? place : new Bench(place);
    const d = settings.width;
    Object.assign(this, { settings, d, ff: wide, heads, tokens, longest, operations: 0 });
    let end = PAGE; // the first page is the kernels' own
    const room = (n) => { const at = end; end += Math.ceil(n / 4) * 16; return at; };
    const rows = (n) => room((tokens + 4) * n); // products work on four rows at a time

    this.tensors = tensors.map((tensor) => {
      const masked = tensor.origin === 'masked';
      const n = tensor.shape.reduce((a, b) => a * b, 1);
      return { ...tensor, masked, moves: masked || tensor.origin === 'trained', n, room: tensor.spread ? tensor.spread.groups * tensor.spread.wide * d : n };
    });
    this.named = new Map(this.tensors.map((tensor) => [tensor.stream, tensor]));
    this.masks = this.tensors.filter(({ masked }) => masked);
    this.multiplied = this.tensors.filter(({ shape, looked }) => shape.length === 2 && !looked);
    this.turning = this.multiplied.filter(({ moves }) => moves);
    this.moving = this.tensors.reduce((sum, tensor) => sum + (tensor.moves ? tensor.room : 0), 0);
    Object.assign(this, { values: room(this.moving), first: room(this.moving), second: room(this.moving) });
    let at = 0;
    for (const tensor of this.tensors) {
      if (tensor.moves) { tensor.place = at; at += tensor.room; }
      tensor.weight = tensor.moves && !tensor.masked ? this.values + 4 * tensor.place : room(tensor.room);
    }
    const tables = this.tables(room);
    this.lasting = [PAGE / 4, end / 4]; // what a turn must find as the last one left it; all that follows is computed anew

    this.grads = room(this.moving);
    const inner = end;
    for (const tensor of this.masks) Object.assign(tensor, { scores: this.values + 4 * tensor.place, scoreGrad: this.grads + 4 * tensor.place, grad: room(tensor.room) });
    this.masked = [inner, end]; // gradients of masked weights, from which those of the scores come
    for (const tensor of this.tensors) {
      if (tensor.moves && !tensor.masked) tensor.grad = this.grads + 4 * tensor.place;
      tensor.used = tensor.masked ? room(tensor.room) : tensor.weight;
    }
    for (const tensor of this.multiplied) tensor.turned = room(tensor.room);
    Object.assign(this, { tiles: room(64 * 128), counts: room(2048), sums: room(4), row: room(64) });
    this.lay(rows, room, { get end() { return end; }, set end(value) { end = value; } });
    this.k = this.bench.k;
    const missing = Math.ceil(end / PAGE) + 1 - this.bench.memory.buffer.byteLength / PAGE;
    if (missing > 0) this.bench.memory.grow(missing);
    this.enter();
    tables?.();
    this.reset(settings.seed);
  }

  /** Room for what is fixed and must last; returns what fills it. */
  tables() {}

  /** Begin a turn: what the engine before has learned is put aside, and what this one has learned comes back. */
  enter() {
    const { bench } = this;
    if (bench.user === this) return;
    bench.user?.leave();
    bench.user = this;
    const { buffer } = bench.memory; // another one than before, if the memory has grown
    this.f = new Float32Array(buffer);
    this.i = new Int32Array(buffer);
    this.losses = new Float64Array(buffer, this.sums, 2);
    if (!this.aside) return;
    this.f.set(this.aside, this.lasting[0]);
    this.apply(this.masks, this.multiplied);
  }

  leave() {
    const { buffer } = this.bench.memory;
    const [from, to] = this.lasting;
    this.aside ??= new Float32Array(to - from);
    this.aside.set(new Float32Array(buffer, 4 * from, to - from));
  }

  /** End the last turn: nothing of this engine is kept. */
  close() { if (this.bench.user === this) this.bench.user = undefined; }

  norm(stream) { return { w: this.named.get(stream), b: this.named.get(`${stream}.bias`) }; }

  /**
   * Room for sublayers, from the bottom up, and for the norm above them.
   * @param {{kind: string, part: string, norm: string, causal: boolean, spans: number}[]} subs
   */
  stack(subs, last, rows) {
    const { d, ff, named, heads, longest } = this;
    const base = () => ({ x: rows(d), h: rows(d), stats: rows(2) });
    const top = { ...base(), norm: this.norm(last) };
    const layers = subs.map((sub) => {
      const layer = { ...sub, ...base(), norm: this.norm(sub.norm) };
      for (const name of MAPS[layer.kind]) layer[name] = { w: named.get(`${layer.part}.${name}`), b: named.get(`${layer.part}.${name}.bias`) };
      if (layer.kind === 'attention' || layer.kind === 'cross') Object.assign(layer, { weights: rows(heads * longest), o: rows(d) });
      if (layer.kind === 'attention') layer.made = rows(3 * d);
      if (layer.kind === 'cross') Object.assign(layer, { q: rows(d), made: rows(2 * d) });
      if (layer.kind === 'feed_forward') layer.made = rows(ff);
      layer.moves = ['norm', ...MAPS[layer.kind]].some((name) => layer[name].w.moves || layer[name].b.moves);
      return layer;
    });
    layers.forEach((layer, i) => { layer.next = (layers[i + 1] ?? top).x; });
    return { layers, top, bottom: (layers[0] ?? top).x };
  }

  /** Draw everything from the seed, and forget what was learned. */
  reset(seed) {
    this.seed = seed;
    this.step = 0;
    for (const moments of [this.first, this.second]) this.f.fill(0, moments / 4, moments / 4 + this.moving);
    for (const tensor of this.tensors) {
      this.put(tensor, drawn(seed, tensor, tensor.masked ? this.settings.keep : 1), tensor.weight / 4);
      if (tensor.masked) this.put(tensor, scored(seed, tensor), tensor.scores / 4);
    }
    this.apply(this.masks, this.multiplied);
  }

  /** What products use: the weights that masks keep, and transposes. */
  apply(masks, turning) {
    for (let t = 0; t < masks.length; t += 1) this.k.choose(masks[t].scores, masks[t].weight, masks[t].used, masks[t].n, kept(masks[t].n, this.settings.keep), this.counts);
    for (let t = 0; t < turning.length; t += 1) { const { used, turned, shape, room } = turning[t]; this.k.transpose(used, turned, room / shape[1], shape[1]); }
  }

  // ---- looking in: tests, pictures and files ----

  placeOf(tensor, what) { return (what === 'first' || what === 'second' ? this[what] + 4 * tensor.place : tensor[what]) / 4; }

  put({ n, spread, room }, values, at) {
    if (!spread) { this.f.set(values, at); return; }
    const size = n / spread.groups;
    this.f.fill(0, at, at + room);
    for (let g = 0; g < spread.groups; g += 1) this.f.set(values.subarray(g * size, (g + 1) * size), at + g * spread.wide * this.d);
  }

  /** A copy of a tensor's 'weight', of what is 'used' of it, of its 'scores', of its 'grad' or 'scoreGrad', or of Adam's moments, 'first' and 'second'. */
  read(stream, what = 'weight') {
    const { n, spread, ...tensor } = this.named.get(stream);
    const at = this.placeOf(tensor, what);
    if (!spread) return this.f.slice(at, at + n);
    const [found, size] = [new Float32Array(n), n / spread.groups];
    for (let g = 0; g < spread.groups; g += 1) { const from = at + g * spread.wide * this.d; found.set(this.f.subarray(from, from + size), g * size); }
    return found;
  }

  /** Put numbers there. */
  write(stream, values, what = 'weight') {
    const tensor = this.named.get(stream);
    this.put(tensor, values, this.placeOf(tensor, what));
    this.apply(tensor.masked ? [tensor] : [], tensor.turned ? [tensor] : []);
  }

  /** The bits of a mask: 1 where a weight is kept, by the scores as they are. */
  bits(stream) {
    const { n, scores, grad, scoreGrad } = this.named.get(stream); // between steps, gradients are free room
    this.f.fill(1, grad / 4, grad / 4 + n);
    this.k.choose(scores, grad, scoreGrad, n, kept(n, this.settings.keep), this.counts);
    return Uint8Array.from(this.f.subarray(scoreGrad / 4, scoreGrad / 4 + n));
  }

  /** The attention weights of a layer for one sentence of the last batch: {weights: (heads, queries, keys), queries, keys}. */
  attention(part, sentence = 0) {
    const layer = this.layers.find((one) => one.part === part);
    if (!layer?.weights) return undefined;
    const [, queries, , keys, from] = this.i.subarray(layer.spans / 4 + 6 * sentence, layer.spans / 4 + 6 * sentence + 5);
    const wide = (keys + 3) & ~3;
    const weights = new Float32Array(this.heads * queries * keys);
    for (let r = 0; r < this.heads * queries; r += 1) weights.set(this.f.subarray(layer.weights / 4 + from + r * wide, layer.weights / 4 + from + r * wide + keys), r * keys);
    return { weights, queries, keys };
  }

  // ---- forwards ----

  span(spans, r, q, queries, k, keys, weights) {
    const { i } = this;
    const to = spans / 4 + 6 * r;
    i[to] = q; i[to + 1] = queries; i[to + 2] = k; i[to + 3] = keys; i[to + 4] = weights; i[to + 5] = 0;
  }

  copy(from, to, n) { this.f.copyWithin(to / 4, from / 4, from / 4 + n); }

  clear(at, n) { this.f.fill(0, at / 4, at / 4 + n); }

  product(a, b, c, m, n, k, bias, relu, more) {
    this.operations += 2 * m * n * k;
    this.k.product(a, k, b, n, c, n, m, n, k, bias, relu, more, this.tiles);
  }

  linear({ w, b }, x, y, rows, relu, more) { this.product(x, w.turned, y, rows, w.shape[0], w.shape[1], b.used, relu, more); }

  normed(layer, rows) { this.k.norm(layer.x, layer.norm.w.used, layer.norm.b.used, layer.h, layer.stats, rows, this.d); }

  /** A sublayer in its residual connection, from `layer.x` to `layer.next`. */
  sublayer(layer, rows) {
    const { d, k, heads, batch } = this;
    this.normed(layer, rows);
    this.copy(layer.x, layer.next, rows * d);
    if (layer.kind === 'feed_forward') {
      this.linear(layer.up, layer.h, layer.made, rows, true, false);
      this.linear(layer.down, layer.made, layer.next, rows, false, true);
    } else if (layer.kind === 'attention') {
      this.linear(layer.qkv, layer.h, layer.made, rows, false, false);
      k.attend(layer.spans, batch.sentences, layer.made, 3 * d, layer.made + 4 * d, layer.made + 8 * d, 3 * d, layer.o, layer.weights, d, heads, layer.causal);
      this.linear(layer.out, layer.o, layer.next, rows, false, true);
    } else this.other(layer, rows);
  }

  // ---- backwards ----

  /** The gradient of a linear map in its numbers, where they move, and (where `dx` is an address) in its input. */
  linearBack({ w, b }, x, dy, dx, rows, more) {
    const [outputs, inputs] = w.shape;
    if (w.moves) {
      this.operations += 2 * rows * outputs * inputs;
      this.k.outer(dy, outputs, x, inputs, w.grad, inputs, outputs, inputs, rows);
    }
    if (b.moves) this.k.columns(dy, b.grad, rows, outputs);
    if (dx) this.product(dy, w.used, dx, rows, inputs, outputs, 0, false, more);
  }

  /** Through a norm: into `dx`, which is added to, and the norm's own numbers. */
  normBack(layer, dh, dx, rows) {
    const { w, b } = layer.norm;
    this.k.normBack(dh, layer.x, w.used, layer.stats, dx, w.moves ? w.grad : 0, b.moves ? b.grad : 0, rows, this.d);
  }

  /** From the gradient `dx` of what leaves a sublayer to that of what enters it, in place. */
  sublayerBack(layer, dx, rows) {
    const { d, k, heads, batch, back } = this;
    if (!layer.moves && !layer.below && layer.kind !== 'cross') return;
    const inward = layer.below || layer.norm.w.moves;
    if (layer.kind === 'feed_forward') {
      this.linearBack(layer.down, layer.made, dx, back.wide, rows, false);
      k.reluBack(back.wide, layer.made, rows * this.ff);
      this.linearBack(layer.up, layer.h, back.wide, inward ? back.h : 0, rows, false);
    } else if (layer.kind === 'attention') {
      this.linearBack(layer.out, layer.o, dx, back.o, rows, false);
      this.clear(back.wide, rows * 3 * d);
      k.attendBack(layer.spans, batch.sentences, layer.made, back.wide, 3 * d, layer.made + 4 * d, layer.made + 8 * d, back.wide + 4 * d, back.wide + 8 * d, 3 * d, back.o, layer.weights, this.row, d, heads, layer.causal);
      this.linearBack(layer.qkv, layer.h, back.wide, inward ? back.h : 0, rows, false);
    } else this.otherBack(layer, dx, rows, inward);
    if (inward) this.normBack(layer, back.h, dx, rows);
  }

  /** Zeros where gradients are added up. */
  clearGradients() {
    this.clear(this.grads, this.moving);
    this.f.fill(0, this.masked[0] / 4, this.masked[1] / 4);
  }

  /** The gradients of scores, from those of the weights that they choose among. */
  scoreGradients() {
    for (let t = 0; t < this.masks.length; t += 1) this.k.scoreBack(this.masks[t].grad, this.masks[t].weight, this.masks[t].scores, this.masks[t].scoreGrad, this.masks[t].n);
  }

  /** One step of AdamW on the loaded batch; returns the loss per answer, which is not finite if no step could be made. */
  train() {
    const { settings, k } = this;
    this.operations = 0;
    this.forward();
    const loss = this.losses[0] / this.asked;
    this.backward();
    const size = Math.sqrt(k.squares(this.grads, this.moving));
    if (!Number.isFinite(loss) || !Number.isFinite(size)) return NaN;
    this.step += 1;
    k.adam(this.values, this.grads, this.first, this.second, this.moving, this.rate(this.step), settings.decay ?? 0, BETA1, BETA2, EPSILON, 1 - BETA1 ** this.step, 1 - BETA2 ** this.step, Math.min(1, CLIP / (size + 1e-6)));
    this.apply(this.masks, this.turning);
    return loss;
  }
}
