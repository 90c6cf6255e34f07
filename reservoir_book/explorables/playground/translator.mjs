// A small encoder-decoder transformer that trains: what reservoir.models.EncoderDecoder, smoothed_cross_entropy and AdamW
// compute. Sentences lie one after the other without padding, so every row counts.
import { Engine } from './engine.mjs';
import { HEADS, lettersOf, tensorsOf } from './settings.mjs';

const [BEGIN, END] = [1, 2];
export const LONGEST = 32; // tokens of a sentence with its end; what a Fourier transform is made for
const WRITTEN = 40; // tokens of a translation
const TOGETHER = 32; // sentences that are translated together

/** The learning rate of a step, counted from 1: a rise, then a straight line to zero. */
export const rateAt = (step, { rate, warmup, steps }) => {
  const rise = Math.max(1, Math.min(warmup, Math.floor(steps / 4)));
  return step < rise ? (rate * step) / rise : rate * Math.max(0, (steps + 1 - step) / Math.max(1, steps + 1 - rise));
};

export class Translator extends Engine {
  /**
   * @param {WebAssembly.Module|Bench} place as Engine has it
   * @param {object} settings as settings.mjs says, the letters of parts among them
   * @param {number} vocabulary how many pieces there are
   * @param {number} tokens the most tokens of a batch, on either side
   */
  constructor(place, settings, vocabulary, tokens = 1024) {
    super(place, settings, tensorsOf(settings, vocabulary), { heads: HEADS, wide: 2 * settings.width, tokens, longest: LONGEST });
    this.vocabulary = vocabulary;
  }

  get asked() { return this.batch.targets; }

  rate(step) { return rateAt(step, this.settings); }

  tables(room) {
    const { d } = this;
    const n = LONGEST;
    const at = { cos: room(d * d), sin: room(d * d), even: room(n ** 2), odd: room(n ** 2) };
    this.positions = room(64 * d);
    this.waves = at;
    return () => {
      const { f, positions } = this;
      for (let t = 0; t < 64; t += 1) {
        for (let j = 0; j < d / 2; j += 1) {
          const angle = t * 10000 ** ((-2 * j) / d);
          f[positions / 4 + t * d + j] = Math.sin(angle);
          f[positions / 4 + t * d + d / 2 + j] = Math.cos(angle);
        }
      }
      const fill = (to, m, wave, scale) => { for (let a = 0; a < m; a += 1) for (let b = 0; b < m; b += 1) f[to / 4 + a * m + b] = scale * wave((2 * Math.PI * ((a * b) % m)) / m); };
      fill(at.cos, d, Math.cos, 1 / Math.sqrt(n * d));
      fill(at.sin, d, Math.sin, 1 / Math.sqrt(n * d));
      fill(at.even, n, Math.cos, 1);
      fill(at.odd, n, Math.sin, 1);
    };
  }

  lay(rows, room, memory) {
    const { settings, d } = this;
    this.batch = { src: rows(1), srcAt: rows(1), tgt: rows(1), tgtAt: rows(1), out: rows(1), best: rows(1), srcSpans: rows(6), tgtSpans: rows(6), crossSpans: rows(6), sentences: 0, sources: 0, targets: 0 };
    const letters = lettersOf(settings);
    const subs = (side) => Array.from({ length: settings[side] }, (_, i) => (side === 'encoder' ? ['attention', 'feed_forward'] : ['attention', 'cross', 'feed_forward']).map((kind) => {
      const part = `${side}.${i}.${kind}`;
      const causal = side === 'decoder' && kind === 'attention';
      const spans = kind === 'cross' ? this.batch.crossSpans : causal ? this.batch.tgtSpans : this.batch.srcSpans;
      return { kind: letters.get(part) === 'f' ? 'fourier' : kind, part, causal, spans, norm: `${side}.${i}.${kind === 'attention' ? 'mixing' : kind}.norm` };
    })).flat();
    this.encoder = this.stack(subs('encoder'), 'encoder.norm', rows);
    this.decoder = this.stack(subs('decoder'), 'decoder.norm', rows);
    this.layers = [...this.encoder.layers, ...this.decoder.layers];
    this.table = this.named.get('embedding');
    // Where nothing below moves, the gradient goes no further; below an attention to the source lies the encoder.
    for (const { layers, top } of [this.encoder, this.decoder]) {
      let below = this.table.moves;
      for (const layer of layers) { layer.below = below; below ||= layer.moves || (layer.kind === 'cross' && this.reads); }
      top.below = below;
      this.reads ??= below || top.norm.w.moves; // whether anything in the encoder moves
    }
    const [vocabulary] = this.table.shape;
    this.logits = rows(vocabulary);
    const free = memory.end;
    this.back = { src: rows(d), tgt: rows(d), memory: rows(d), h: rows(d), o: rows(d), other: rows(d), wide: rows(3 * d) };
    const least = memory.end;
    memory.end = free; // a translation writes, once the source is encoded, where gradients are in training
    this.caches = this.decoder.layers.map(({ kind }) => (kind === 'attention' ? room(TOGETHER * WRITTEN * 3 * d) : 0));
    memory.end = Math.max(memory.end, least);
  }

  // ---- a batch ----

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
      this.span(batch.srcSpans, r, s, ns, s, ns, ps);
      this.span(batch.tgtSpans, r, t, nt, t, nt, pt);
      this.span(batch.crossSpans, r, t, nt, s, ns, pc);
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

  embed(ids, places, out, rows) { this.k.embed(ids, places, this.table.used, this.positions, out, rows, this.d, Math.sqrt(this.d)); }

  /** y += the Fourier transform of x along sentences and features, which is its own transpose. */
  fourier(x, y, rows) {
    const { d, waves, back, batch } = this;
    this.product(x, waves.cos, back.o, rows, d, d, 0, false, false);
    this.product(x, waves.sin, back.other, rows, d, d, 0, false, false);
    this.k.mix(batch.srcSpans, batch.sentences, back.o, back.other, waves.even, waves.odd, LONGEST, y, d);
  }

  other(layer, rows) {
    const { d, k, batch } = this;
    if (layer.kind === 'fourier') { this.fourier(layer.h, layer.next, rows); return; }
    this.linear(layer.query, layer.h, layer.q, rows, false, false);
    this.linear(layer.kv, this.encoder.top.h, layer.made, batch.sources, false, false);
    k.attend(layer.spans, batch.sentences, layer.q, d, layer.made, layer.made + 4 * d, 2 * d, layer.o, layer.weights, d, HEADS, false);
    this.linear(layer.out, layer.o, layer.next, rows, false, true);
  }

  encode() {
    const { batch, encoder } = this;
    this.embed(batch.src, batch.srcAt, encoder.bottom, batch.sources);
    for (let l = 0; l < encoder.layers.length; l += 1) this.sublayer(encoder.layers[l], batch.sources);
    this.normed(encoder.top, batch.sources);
  }

  /** The logits of the loaded batch, and their loss: {smooth, plain} in `losses`, summed over its targets, in nats. */
  forward(smoothing = this.settings.smoothing) {
    const { batch, decoder, d, vocabulary } = this;
    this.encode();
    this.embed(batch.tgt, batch.tgtAt, decoder.bottom, batch.targets);
    for (let l = 0; l < decoder.layers.length; l += 1) this.sublayer(decoder.layers[l], batch.targets);
    this.normed(decoder.top, batch.targets);
    this.product(decoder.top.h, this.table.turned, this.logits, batch.targets, vocabulary, d, 0, false, false);
    this.k.crossEntropy(this.logits, batch.out, this.sums, batch.targets, vocabulary, smoothing);
  }

  // ---- backwards ----

  otherBack(layer, dx, rows, inward) {
    const { d, k, batch, back } = this;
    if (layer.kind === 'fourier') {
      this.clear(back.h, rows * d);
      if (inward) this.fourier(dx, back.h, rows);
      return;
    }
    this.linearBack(layer.out, layer.o, dx, back.o, rows, false);
    this.clear(back.wide, batch.sources * 2 * d);
    this.clear(back.other, rows * d);
    k.attendBack(layer.spans, batch.sentences, layer.q, back.other, d, layer.made, layer.made + 4 * d, back.wide, back.wide + 4 * d, 2 * d, back.o, layer.weights, this.row, d, HEADS, false);
    this.linearBack(layer.query, layer.h, back.other, inward ? back.h : 0, rows, false);
    this.linearBack(layer.kv, this.encoder.top.h, back.wide, this.reads ? back.memory : 0, batch.sources, true);
  }

  /** The gradients of everything that moves, of the loss per target, after `forward`. */
  backward() {
    const { batch, decoder, encoder, back, table, d, k } = this;
    this.clearGradients();
    if (table.moves) {
      this.operations += 2 * batch.targets * this.vocabulary * d;
      k.outer(this.logits, this.vocabulary, decoder.top.h, d, table.grad, d, this.vocabulary, d, batch.targets);
    }
    this.product(this.logits, table.used, back.h, batch.targets, d, this.vocabulary, 0, false, false);
    this.clear(back.tgt, batch.targets * d);
    this.clear(back.memory, batch.sources * d);
    this.normBack(decoder.top, back.h, back.tgt, batch.targets);
    for (let l = decoder.layers.length - 1; l >= 0; l -= 1) this.sublayerBack(decoder.layers[l], back.tgt, batch.targets);
    if (table.moves) k.embedBack(batch.tgt, back.tgt, table.grad, batch.targets, d, Math.sqrt(d));
    if (this.reads) {
      this.clear(back.src, batch.sources * d);
      this.normBack(encoder.top, back.memory, back.src, batch.sources);
      for (let l = encoder.layers.length - 1; l >= 0; l -= 1) this.sublayerBack(encoder.layers[l], back.src, batch.sources);
      if (table.moves) k.embedBack(batch.src, back.src, table.grad, batch.sources, d, Math.sqrt(d));
    }
    this.scoreGradients();
  }

  // ---- translations ----

  /** Greedy translations of sentences of ids, as `translate(…, decoding=Decoding(beam=1))` makes them. */
  translate(sources) {
    const found = [];
    for (let from = 0; from < sources.length; from += TOGETHER) found.push(...this.some(sources.slice(from, from + TOGETHER)));
    return found;
  }

  some(sources) {
    const { batch, decoder, d, i, k } = this;
    const all = sources.map((_, r) => r);
    this.load(sources, undefined, all);
    this.encode();
    for (const layer of decoder.layers) if (layer.kind === 'cross') this.linear(layer.kv, this.encoder.top.h, layer.made, batch.sources, false, false);
    const begins = all.map((r) => i[batch.srcSpans / 4 + 6 * r]);
    const most = sources.map((ids) => Math.min(WRITTEN, Math.floor(1.5 * (ids.length + 1)) + 9));
    const written = sources.map(() => []);
    let live = all.filter((r) => sources[r].length);
    for (let t = 0; live.length && t < WRITTEN; t += 1) {
      live.forEach((r, row) => {
        i[batch.tgt / 4 + row] = t ? written[r][t - 1] : BEGIN;
        i[batch.tgtAt / 4 + row] = t;
        this.span(batch.tgtSpans, row, row, 1, r * WRITTEN, t + 1, row * HEADS * WRITTEN);
        this.span(batch.crossSpans, row, row, 1, begins[r], sources[r].length + 1, row * HEADS * LONGEST);
      });
      batch.sentences = live.length;
      this.embed(batch.tgt, batch.tgtAt, decoder.bottom, live.length);
      decoder.layers.forEach((layer, l) => {
        if (layer.kind === 'feed_forward') { this.sublayer(layer, live.length); return; }
        this.normed(layer, live.length);
        this.copy(layer.x, layer.next, live.length * d);
        if (layer.kind === 'attention') { // keys and values of each sentence so far lie in its cache, in rows like those of qkv
          this.linear(layer.qkv, layer.h, layer.made, live.length, false, false);
          live.forEach((r, row) => this.copy(layer.made + 12 * d * row, this.caches[l] + 12 * d * (r * WRITTEN + t), 3 * d));
          k.attend(batch.tgtSpans, live.length, layer.made, 3 * d, this.caches[l] + 4 * d, this.caches[l] + 8 * d, 3 * d, layer.o, layer.weights, d, HEADS, false);
        } else {
          this.linear(layer.query, layer.h, layer.q, live.length, false, false);
          k.attend(batch.crossSpans, live.length, layer.q, d, layer.made, layer.made + 4 * d, 2 * d, layer.o, layer.weights, d, HEADS, false);
        }
        this.linear(layer.out, layer.o, layer.next, live.length, false, true);
      });
      this.normed(decoder.top, live.length);
      this.product(decoder.top.h, this.table.turned, this.logits, live.length, this.vocabulary, d, 0, false, false);
      k.best(this.logits, batch.best, live.length, this.vocabulary, this.vocabulary);
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
