// A small encoder-decoder transformer that trains: what reservoir.models.EncoderDecoder, smoothed_cross_entropy and AdamW
// compute, pre-LN, in fp32, with the origin of each part chosen. The arithmetic is in kernels.ts; here is which numbers go
// where. Sentences lie one after the other without padding, so every row counts. Memory is laid out once, and a step
// allocates nothing. Engines that take turns share one memory: most of it is what a step computes, and no engine needs
// that after its step.
import { normal, uniform } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';
import { HEADS, lettersOf, tensorsOf } from './settings.mjs';

const [BEGIN, END] = [1, 2];
export const LONGEST = 32; // tokens of a sentence with its end; what a Fourier transform is made for
const WRITTEN = 40; // tokens of a translation
const TOGETHER = 32; // sentences that are translated together
const PAGE = 65536;
const CLIP = 1;
const [BETA1, BETA2, EPSILON] = [0.9, 0.98, 1e-8];

/** How a tensor begins: `keep` is the share that a mask will keep, for which weights are drawn larger. */
export function drawn(seed, { stream, shape, kind, blocks }, keep = 1) {
  const n = shape.reduce((a, b) => a * b, 1);
  if (shape.length === 1) return new Float32Array(n).fill(kind === 'gain' ? 1 : 0);
  const larger = Math.sqrt(1 / keep);
  const words = new Stream(seed, stream);
  if (kind === 'table') return normal(words, n, { std: shape[1] ** -0.5 * larger }).fill(0, 0, shape[1]); // the padding's row
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

/** The learning rate of a step, counted from 1: a rise, then a straight line to zero. */
export const rateAt = (step, { rate, warmup, steps }) => {
  const rise = Math.max(1, Math.min(warmup, Math.floor(steps / 4)));
  return step < rise ? (rate * step) / rise : rate * Math.max(0, (steps + 1 - step) / Math.max(1, steps + 1 - rise));
};

/** A memory with its kernels, for engines that take turns in it. */
export class Bench {
  constructor(module) {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    this.k = new WebAssembly.Instance(module, { env: { memory: this.memory, abort() { throw new Error('the kernels stopped'); } } }).exports;
  }
}

export class Engine {
  /**
   * @param {WebAssembly.Module|Bench} place kernels.wasm, or where engines take turns (`enter`)
   * @param {object} settings as settings.mjs says, the letters of parts among them
   * @param {number} vocabulary how many pieces there are
   * @param {number} tokens the most tokens of a batch, on either side
   */
  constructor(place, settings, vocabulary, tokens = 1024) {
    this.bench = place instanceof Bench ? place : new Bench(place);
    this.settings = settings;
    const d = settings.width;
    Object.assign(this, { d, ff: 2 * d, vocabulary, tokens, operations: 0 });
    let end = PAGE; // the first page is the kernels' own
    const room = (n) => { const at = end; end += Math.ceil(n / 4) * 16; return at; };
    const rows = (n) => room((tokens + 4) * n); // products work on four rows at a time

    this.tensors = tensorsOf(settings, vocabulary).map((tensor) => {
      const masked = tensor.origin === 'masked';
      return { ...tensor, masked, moves: masked || tensor.origin === 'trained', n: tensor.shape.reduce((a, b) => a * b, 1) };
    });
    this.named = new Map(this.tensors.map((tensor) => [tensor.stream, tensor]));
    this.masks = this.tensors.filter(({ masked }) => masked);
    this.turning = this.tensors.filter(({ moves, shape }) => moves && shape.length === 2);
    this.moving = this.tensors.reduce((sum, { moves, n }) => sum + (moves ? n : 0), 0);
    Object.assign(this, { values: room(this.moving), first: room(this.moving), second: room(this.moving) });
    let at = 0;
    for (const tensor of this.tensors) {
      if (tensor.moves) { tensor.place = at; at += tensor.n; }
      tensor.weight = tensor.moves && !tensor.masked ? this.values + 4 * tensor.place : room(tensor.n);
    }
    this.positions = room(64 * d);
    this.tables = { cos: room(d * d), sin: room(d * d), even: room(LONGEST ** 2), odd: room(LONGEST ** 2) };
    this.lasting = [PAGE / 4, end / 4]; // what a turn must find as the last one left it; all that follows is computed anew

    this.grads = room(this.moving);
    const inner = end;
    for (const tensor of this.masks) Object.assign(tensor, { scores: this.values + 4 * tensor.place, scoreGrad: this.grads + 4 * tensor.place, grad: room(tensor.n) });
    this.masked = [inner, end]; // gradients of masked weights, from which those of the scores come
    for (const tensor of this.tensors) {
      if (tensor.moves && !tensor.masked) tensor.grad = this.grads + 4 * tensor.place;
      tensor.used = tensor.masked ? room(tensor.n) : tensor.weight;
      if (tensor.shape.length === 2) tensor.turned = room(tensor.n);
    }
    this.batch = { src: rows(1), srcAt: rows(1), tgt: rows(1), tgtAt: rows(1), out: rows(1), best: rows(1), srcSpans: rows(6), tgtSpans: rows(6), crossSpans: rows(6), sentences: 0, sources: 0, targets: 0 };
    Object.assign(this, { tiles: room(64 * 128), counts: room(2048), sums: room(4), row: room(64) });
    this.encoder = this.#stack('encoder', settings.encoder, rows);
    this.decoder = this.#stack('decoder', settings.decoder, rows);
    this.table = this.named.get('embedding');
    // Where nothing below moves, the gradient goes no further; below an attention to the source lies the encoder.
    for (const { layers, top } of [this.encoder, this.decoder]) {
      let below = this.table.moves;
      for (const layer of layers) { layer.below = below; below ||= layer.moves || (layer.kind === 'cross' && this.reads); }
      top.below = below;
      this.reads ??= below || top.norm.w.moves; // whether anything in the encoder moves
    }
    this.logits = rows(vocabulary);
    const free = end;
    this.back = { src: rows(d), tgt: rows(d), memory: rows(d), h: rows(d), o: rows(d), other: rows(d), wide: rows(3 * d) };
    const least = end;
    end = free; // a translation writes, once the source is encoded, where gradients are in training
    this.caches = this.decoder.layers.map(({ kind }) => (kind === 'attention' ? room(TOGETHER * WRITTEN * 3 * d) : 0));
    end = Math.max(end, least);
    this.k = this.bench.k;
    const missing = Math.ceil(end / PAGE) + 1 - this.bench.memory.buffer.byteLength / PAGE;
    if (missing > 0) this.bench.memory.grow(missing);
    this.enter();
    this.#constants();
    this.reset(settings.seed);
  }

  /** Begin a turn: what the engine before has learned is put aside, and what this one has learned comes back. */
  enter() {
    const { bench } = this;
    if (bench.user === this) return;
    bench.user?.#leave();
    bench.user = this;
    const { buffer } = bench.memory; // another one than before, if the memory has grown
    this.f = new Float32Array(buffer);
    this.i = new Int32Array(buffer);
    this.losses = new Float64Array(buffer, this.sums, 2);
    if (!this.aside) return;
    this.f.set(this.aside, this.lasting[0]);
    this.#apply(this.masks, this.tensors.filter(({ turned }) => turned));
  }

  #leave() {
    const { buffer } = this.bench.memory;
    const [from, to] = this.lasting;
    this.aside ??= new Float32Array(to - from);
    this.aside.set(new Float32Array(buffer, 4 * from, to - from));
  }

  /** End the last turn: nothing of this engine is kept. */
  close() { if (this.bench.user === this) this.bench.user = undefined; }

  #stack(side, depth, rows) {
    const { d, ff, named, settings } = this;
    const letters = lettersOf(settings);
    const norm = (stream) => ({ w: named.get(stream), b: named.get(`${stream}.bias`) });
    const base = () => ({ x: rows(d), h: rows(d), stats: rows(2) });
    const top = { ...base(), norm: norm(`${side}.norm`) };
    const layers = [];
    for (let i = 0; i < depth; i += 1) {
      for (const part of side === 'encoder' ? ['attention', 'feed_forward'] : ['attention', 'cross', 'feed_forward']) {
        const kind = letters.get(`${side}.${i}.${part}`) === 'f' ? 'fourier' : part;
        const layer = { kind, part: `${side}.${i}.${part}`, causal: side === 'decoder' && part === 'attention', ...base(), norm: norm(`${side}.${i}.${part === 'attention' ? 'mixing' : part}.norm`) };
        for (const name of { attention: ['qkv', 'out'], cross: ['query', 'kv', 'out'], feed_forward: ['up', 'down'], fourier: [] }[kind]) {
          layer[name] = { w: named.get(`${layer.part}.${name}`), b: named.get(`${layer.part}.${name}.bias`) };
        }
        if (kind === 'attention' || kind === 'cross') Object.assign(layer, { weights: rows(HEADS * LONGEST), o: rows(d) });
        if (kind === 'attention') layer.made = rows(3 * d);
        if (kind === 'cross') Object.assign(layer, { q: rows(d), made: rows(2 * d) });
        if (kind === 'feed_forward') layer.made = rows(ff);
        layer.moves = ['norm', 'qkv', 'query', 'kv', 'out', 'up', 'down'].some((name) => layer[name] && (layer[name].w.moves || layer[name].b.moves));
        layers.push(layer);
      }
    }
    layers.forEach((layer, i) => { layer.next = (layers[i + 1] ?? top).x; });
    return { layers, top, bottom: (layers[0] ?? top).x };
  }

  #constants() {
    const { d, f, positions, tables } = this;
    for (let t = 0; t < 64; t += 1) {
      for (let j = 0; j < d / 2; j += 1) {
        const angle = t * 10000 ** ((-2 * j) / d);
        f[positions / 4 + t * d + j] = Math.sin(angle);
        f[positions / 4 + t * d + d / 2 + j] = Math.cos(angle);
      }
    }
    const fill = (at, n, wave, scale) => { for (let a = 0; a < n; a += 1) for (let b = 0; b < n; b += 1) f[at / 4 + a * n + b] = scale * wave((2 * Math.PI * ((a * b) % n)) / n); };
    fill(tables.cos, d, Math.cos, 1 / Math.sqrt(LONGEST * d));
    fill(tables.sin, d, Math.sin, 1 / Math.sqrt(LONGEST * d));
    fill(tables.even, LONGEST, Math.cos, 1);
    fill(tables.odd, LONGEST, Math.sin, 1);
  }

  /** Draw everything from the seed, and forget what was learned. */
  reset(seed) {
    this.seed = seed;
    this.step = 0;
    for (const moments of [this.first, this.second]) this.f.fill(0, moments / 4, moments / 4 + this.moving);
    for (const tensor of this.tensors) {
      this.f.set(drawn(seed, tensor, tensor.masked ? this.settings.keep : 1), tensor.weight / 4);
      if (tensor.masked) this.f.set(scored(seed, tensor), tensor.scores / 4);
    }
    this.#apply(this.masks, this.tensors.filter(({ turned }) => turned));
  }

  /** What products use: the weights that masks keep, and transposes. */
  #apply(masks, turning) {
    for (let t = 0; t < masks.length; t += 1) this.k.choose(masks[t].scores, masks[t].weight, masks[t].used, masks[t].n, kept(masks[t].n, this.settings.keep), this.counts);
    for (let t = 0; t < turning.length; t += 1) this.k.transpose(turning[t].used, turning[t].turned, turning[t].shape[0], turning[t].shape[1]);
  }

  // ---- looking in: tests, pictures and files ----

  #place(tensor, what) { return (what === 'first' || what === 'second' ? this[what] + 4 * tensor.place : tensor[what]) / 4; }

  /** A copy of a tensor's 'weight', of what is 'used' of it, of its 'scores', of its 'grad' or 'scoreGrad', or of Adam's moments, 'first' and 'second'. */
  read(stream, what = 'weight') {
    const tensor = this.named.get(stream);
    const at = this.#place(tensor, what);
    return this.f.slice(at, at + tensor.n);
  }

  /** Put numbers there. */
  write(stream, values, what = 'weight') {
    const tensor = this.named.get(stream);
    this.f.set(values, this.#place(tensor, what));
    this.#apply(tensor.masked ? [tensor] : [], tensor.turned ? [tensor] : []);
  }

  /** The bits of a mask: 1 where a weight is kept, by the scores as they are. */
  bits(stream) {
    const { n, scores } = this.named.get(stream);
    const ones = this.logits; // room that is free between steps
    if (n > (this.tokens + 4) * this.vocabulary / 2) throw new RangeError(`${stream} is too large to look at`);
    this.f.fill(1, ones / 4, ones / 4 + n);
    this.k.choose(scores, ones, ones + 4 * n, n, kept(n, this.settings.keep), this.counts);
    return Uint8Array.from(this.f.subarray(ones / 4 + n, ones / 4 + 2 * n));
  }

  /** The attention weights of a layer for one sentence of the last batch: {weights: (heads, queries, keys), queries, keys}. */
  attention(part, sentence = 0) {
    const layer = [...this.encoder.layers, ...this.decoder.layers].find((one) => one.part === part);
    if (!layer?.weights) return undefined;
    const spans = part.startsWith('encoder') ? this.batch.srcSpans : layer.kind === 'cross' ? this.batch.crossSpans : this.batch.tgtSpans;
    const [, queries, , keys, from] = this.i.subarray(spans / 4 + 6 * sentence, spans / 4 + 6 * sentence + 5);
    const wide = (keys + 3) & ~3;
    const weights = new Float32Array(HEADS * queries * keys);
    for (let r = 0; r < HEADS * queries; r += 1) weights.set(this.f.subarray(layer.weights / 4 + from + r * wide, layer.weights / 4 + from + r * wide + keys), r * keys);
    return { weights, queries, keys };
  }

  // ---- a batch ----

  #span(spans, r, q, queries, k, keys, weights) {
    const { i } = this;
    const to = spans / 4 + 6 * r;
    i[to] = q; i[to + 1] = queries; i[to + 2] = k; i[to + 3] = keys; i[to + 4] = weights; i[to + 5] = 0;
  }

  /** Lay out the pairs of ids numbered `chosen`, without begin and end; a target may be left out. */
  load(src, tgt, chosen) {
    const { batch, i } = this;
    let [s, t, ps, pt, pc] = [0, 0, 0, 0, 0];
    for (let r = 0; r < chosen.length; r += 1) {
      const source = src[chosen[r]];
      const target = tgt && tgt[chosen[r]];
      const [ns, nt] = [source.length + 1, target ? target.length + 1 : 0];
      if (ns > LONGEST || nt > LONGEST) throw new RangeError(`a sentence must have at most ${LONGEST - 1} pieces, got ${Math.max(ns, nt) - 1}`);
      if (s + ns > this.tokens || t + nt > this.tokens) throw new RangeError(`a batch must have at most ${this.tokens} tokens on either side`);
      this.#span(batch.srcSpans, r, s, ns, s, ns, ps);
      this.#span(batch.tgtSpans, r, t, nt, t, nt, pt);
      this.#span(batch.crossSpans, r, t, nt, s, ns, pc);
      ps += HEADS * ns * ((ns + 3) & ~3);
      pt += HEADS * nt * ((nt + 3) & ~3);
      pc += HEADS * nt * ((ns + 3) & ~3);
      for (let p = 0; p < ns; p += 1) { i[batch.src / 4 + s + p] = p < ns - 1 ? source[p] : END; i[batch.srcAt / 4 + s + p] = p; }
      for (let p = 0; p < nt; p += 1) { i[batch.tgt / 4 + t + p] = p ? target[p - 1] : BEGIN; i[batch.tgtAt / 4 + t + p] = p; i[batch.out / 4 + t + p] = p < nt - 1 ? target[p] : END; }
      s += ns;
      t += nt;
    }
    batch.sentences = chosen.length;
    batch.sources = s;
    batch.targets = t;
  }

  // ---- forwards ----

  #copy(from, to, n) { this.f.copyWithin(to / 4, from / 4, from / 4 + n); }

  #product(a, b, c, m, n, k, bias, relu, more) {
    this.operations += 2 * m * n * k;
    this.k.product(a, k, b, n, c, n, m, n, k, bias, relu, more, this.tiles);
  }

  #linear({ w, b }, x, y, rows, relu, more) { this.#product(x, w.turned, y, rows, w.shape[0], w.shape[1], b.used, relu, more); }

  #norm(layer, rows) { this.k.norm(layer.x, layer.norm.w.used, layer.norm.b.used, layer.h, layer.stats, rows, this.d); }

  #embed(ids, places, out, rows) { this.k.embed(ids, places, this.table.used, this.positions, out, rows, this.d, Math.sqrt(this.d)); }

  /** y += the Fourier transform of x along sentences and features, which is its own transpose. */
  #fourier(x, y, rows) {
    const { d, tables, back, batch } = this;
    this.#product(x, tables.cos, back.o, rows, d, d, 0, false, false);
    this.#product(x, tables.sin, back.other, rows, d, d, 0, false, false);
    this.k.mix(batch.srcSpans, batch.sentences, back.o, back.other, tables.even, tables.odd, LONGEST, y, d);
  }

  #layer(layer, rows) {
    const { d, k, batch } = this;
    this.#norm(layer, rows);
    this.#copy(layer.x, layer.next, rows * d);
    if (layer.kind === 'fourier') this.#fourier(layer.h, layer.next, rows);
    else if (layer.kind === 'feed_forward') {
      this.#linear(layer.up, layer.h, layer.made, rows, true, false);
      this.#linear(layer.down, layer.made, layer.next, rows, false, true);
    } else {
      if (layer.kind === 'attention') {
        this.#linear(layer.qkv, layer.h, layer.made, rows, false, false);
        k.attend(layer.causal ? batch.tgtSpans : batch.srcSpans, batch.sentences, layer.made, 3 * d, layer.made + 4 * d, layer.made + 8 * d, 3 * d, layer.o, layer.weights, d, HEADS, layer.causal);
      } else {
        this.#linear(layer.query, layer.h, layer.q, rows, false, false);
        this.#linear(layer.kv, this.encoder.top.h, layer.made, batch.sources, false, false);
        k.attend(batch.crossSpans, batch.sentences, layer.q, d, layer.made, layer.made + 4 * d, 2 * d, layer.o, layer.weights, d, HEADS, false);
      }
      this.#linear(layer.out, layer.o, layer.next, rows, false, true);
    }
  }

  #encode() {
    const { batch, encoder } = this;
    this.#embed(batch.src, batch.srcAt, encoder.bottom, batch.sources);
    for (let l = 0; l < encoder.layers.length; l += 1) this.#layer(encoder.layers[l], batch.sources);
    this.#norm(encoder.top, batch.sources);
  }

  /** The logits of the loaded batch, and their loss: {smooth, plain} in `losses`, summed over its targets, in nats. */
  forward(smoothing = this.settings.smoothing) {
    const { batch, decoder, d, vocabulary } = this;
    this.#encode();
    this.#embed(batch.tgt, batch.tgtAt, decoder.bottom, batch.targets);
    for (let l = 0; l < decoder.layers.length; l += 1) this.#layer(decoder.layers[l], batch.targets);
    this.#norm(decoder.top, batch.targets);
    this.#product(decoder.top.h, this.table.turned, this.logits, batch.targets, vocabulary, d, 0, false, false);
    this.k.crossEntropy(this.logits, batch.out, this.sums, batch.targets, vocabulary, smoothing);
  }

  // ---- backwards ----

  /** The gradient of a linear map in its numbers, where they move, and (where `dx` is an address) in its input. */
  #linearBack({ w, b }, x, dy, dx, rows, more) {
    const [outputs, inputs] = w.shape;
    if (w.moves) {
      this.operations += 2 * rows * outputs * inputs;
      this.k.outer(dy, outputs, x, inputs, w.grad, inputs, outputs, inputs, rows);
    }
    if (b.moves) this.k.columns(dy, b.grad, rows, outputs);
    if (dx) this.#product(dy, w.used, dx, rows, inputs, outputs, 0, false, more);
  }

  /** Through a norm: into `dx`, which is added to, and the norm's own numbers. */
  #normBack(layer, dh, dx, rows) {
    const { w, b } = layer.norm;
    this.k.normBack(dh, layer.x, w.used, layer.stats, dx, w.moves ? w.grad : 0, b.moves ? b.grad : 0, rows, this.d);
  }

  #clear(at, n) { this.f.fill(0, at / 4, at / 4 + n); }

  /** From the gradient `dx` of what leaves a sublayer to that of what enters it, in place. */
  #layerBack(layer, dx, rows) {
    const { d, k, batch, back } = this;
    if (!layer.moves && !layer.below && layer.kind !== 'cross') return;
    const inward = layer.below || layer.norm.w.moves;
    if (layer.kind === 'fourier') {
      this.#clear(back.h, rows * d);
      if (inward) this.#fourier(dx, back.h, rows);
    } else if (layer.kind === 'feed_forward') {
      this.#linearBack(layer.down, layer.made, dx, back.wide, rows, false);
      k.reluBack(back.wide, layer.made, rows * this.ff);
      this.#linearBack(layer.up, layer.h, back.wide, inward ? back.h : 0, rows, false);
    } else {
      this.#linearBack(layer.out, layer.o, dx, back.o, rows, false);
      if (layer.kind === 'attention') {
        this.#clear(back.wide, rows * 3 * d);
        k.attendBack(layer.causal ? batch.tgtSpans : batch.srcSpans, batch.sentences, layer.made, back.wide, 3 * d, layer.made + 4 * d, layer.made + 8 * d, back.wide + 4 * d, back.wide + 8 * d, 3 * d, back.o, layer.weights, this.row, d, HEADS, layer.causal);
        this.#linearBack(layer.qkv, layer.h, back.wide, inward ? back.h : 0, rows, false);
      } else {
        this.#clear(back.wide, batch.sources * 2 * d);
        this.#clear(back.other, rows * d);
        k.attendBack(batch.crossSpans, batch.sentences, layer.q, back.other, d, layer.made, layer.made + 4 * d, back.wide, back.wide + 4 * d, 2 * d, back.o, layer.weights, this.row, d, HEADS, false);
        this.#linearBack(layer.query, layer.h, back.other, inward ? back.h : 0, rows, false);
        this.#linearBack(layer.kv, this.encoder.top.h, back.wide, this.reads ? back.memory : 0, batch.sources, true);
      }
    }
    if (inward) this.#normBack(layer, back.h, dx, rows);
  }

  /** The gradients of everything that moves, of the loss per target, after `forward`. */
  backward() {
    const { batch, decoder, encoder, back, table, d, k } = this;
    this.#clear(this.grads, this.moving);
    this.f.fill(0, this.masked[0] / 4, this.masked[1] / 4);
    if (table.moves) {
      this.operations += 2 * batch.targets * this.vocabulary * d;
      k.outer(this.logits, this.vocabulary, decoder.top.h, d, table.grad, d, this.vocabulary, d, batch.targets);
    }
    this.#product(this.logits, table.used, back.h, batch.targets, d, this.vocabulary, 0, false, false);
    this.#clear(back.tgt, batch.targets * d);
    this.#clear(back.memory, batch.sources * d);
    this.#normBack(decoder.top, back.h, back.tgt, batch.targets);
    for (let l = decoder.layers.length - 1; l >= 0; l -= 1) this.#layerBack(decoder.layers[l], back.tgt, batch.targets);
    if (table.moves) k.embedBack(batch.tgt, back.tgt, table.grad, batch.targets, d, Math.sqrt(d));
    if (this.reads) {
      this.#clear(back.src, batch.sources * d);
      this.#normBack(encoder.top, back.memory, back.src, batch.sources);
      for (let l = encoder.layers.length - 1; l >= 0; l -= 1) this.#layerBack(encoder.layers[l], back.src, batch.sources);
      if (table.moves) k.embedBack(batch.src, back.src, table.grad, batch.sources, d, Math.sqrt(d));
    }
    for (let t = 0; t < this.masks.length; t += 1) k.scoreBack(this.masks[t].grad, this.masks[t].weight, this.masks[t].scores, this.masks[t].scoreGrad, this.masks[t].n);
  }

  /** One step of AdamW on the loaded batch; returns the loss per target, which is not finite if no step could be made. */
  train() {
    const { settings, batch, k } = this;
    this.operations = 0;
    this.forward();
    const loss = this.losses[0] / batch.targets;
    this.backward();
    const size = Math.sqrt(k.squares(this.grads, this.moving));
    if (!Number.isFinite(loss) || !Number.isFinite(size)) return NaN;
    this.step += 1;
    k.adam(this.values, this.grads, this.first, this.second, this.moving, rateAt(this.step, settings), settings.decay, BETA1, BETA2, EPSILON, 1 - BETA1 ** this.step, 1 - BETA2 ** this.step, Math.min(1, CLIP / (size + 1e-6)));
    this.#apply(this.masks, this.turning);
    return loss;
  }

  // ---- translations ----

  /** Greedy translations of sentences of ids, as `translate(…, decoding=Decoding(beam=1))` makes them. */
  translate(sources) {
    const found = [];
    for (let from = 0; from < sources.length; from += TOGETHER) found.push(...this.#some(sources.slice(from, from + TOGETHER)));
    return found;
  }

  #some(sources) {
    const { batch, decoder, d, i, k } = this;
    const all = sources.map((_, r) => r);
    this.load(sources, undefined, all);
    this.#encode();
    for (const layer of decoder.layers) if (layer.kind === 'cross') this.#linear(layer.kv, this.encoder.top.h, layer.made, batch.sources, false, false);
    const begins = all.map((r) => i[batch.srcSpans / 4 + 6 * r]);
    const most = sources.map((ids) => Math.min(WRITTEN, Math.floor(1.5 * (ids.length + 1)) + 9));
    const written = sources.map(() => []);
    let live = all.filter((r) => sources[r].length);
    for (let t = 0; live.length && t < WRITTEN; t += 1) {
      live.forEach((r, row) => {
        i[batch.tgt / 4 + row] = t ? written[r][t - 1] : BEGIN;
        i[batch.tgtAt / 4 + row] = t;
        this.#span(batch.tgtSpans, row, row, 1, r * WRITTEN, t + 1, row * HEADS * WRITTEN);
        this.#span(batch.crossSpans, row, row, 1, begins[r], sources[r].length + 1, row * HEADS * LONGEST);
      });
      batch.sentences = live.length;
      this.#embed(batch.tgt, batch.tgtAt, decoder.bottom, live.length);
      decoder.layers.forEach((layer, l) => {
        if (layer.kind === 'feed_forward') { this.#layer(layer, live.length); return; }
        this.#norm(layer, live.length);
        this.#copy(layer.x, layer.next, live.length * d);
        if (layer.kind === 'attention') { // keys and values of each sentence so far lie in its cache, in rows like those of qkv
          this.#linear(layer.qkv, layer.h, layer.made, live.length, false, false);
          live.forEach((r, row) => this.#copy(layer.made + 12 * d * row, this.caches[l] + 12 * d * (r * WRITTEN + t), 3 * d));
          k.attend(batch.tgtSpans, live.length, layer.made, 3 * d, this.caches[l] + 4 * d, this.caches[l] + 8 * d, 3 * d, layer.o, layer.weights, d, HEADS, false);
        } else {
          this.#linear(layer.query, layer.h, layer.q, live.length, false, false);
          k.attend(batch.crossSpans, live.length, layer.q, d, layer.made, layer.made + 4 * d, 2 * d, layer.o, layer.weights, d, HEADS, false);
        }
        this.#linear(layer.out, layer.o, layer.next, live.length, false, true);
      });
      this.#norm(decoder.top, live.length);
      this.#product(decoder.top.h, this.table.turned, this.logits, live.length, this.vocabulary, d, 0, false, false);
      k.best(this.logits, batch.best, live.length, this.vocabulary);
      live = live.filter((r, row) => { // what is still open at its last place ends there
        const id = i[batch.best / 4 + row];
        if (id === END || t + 1 >= most[r]) return false;
        written[r].push(id);
        return true;
      });
    }
    return written;
  }
}
