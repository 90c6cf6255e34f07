// A pre-LN encoder-decoder transformer, forwards only: what reservoir.models.EncoderDecoder computes, with the attention
// weights kept. Vectors are rows of a flat Float32Array; every sum is taken in double precision and rounded once.

const BEGIN = 1;
const END = 2;
const EPSILON = 1e-5; // of the layer norms

/** The i-th group of six bits. */
function six(bytes, i) {
  const at = 3 * (i >> 2);
  if ((i & 3) === 0) return bytes[at] >> 2;
  if ((i & 3) === 1) return ((bytes[at] & 3) << 4) | (bytes[at + 1] >> 4);
  if ((i & 3) === 2) return ((bytes[at + 1] & 15) << 2) | (bytes[at + 2] >> 6);
  return bytes[at + 2] & 63;
}

/**
 * The tensors that Python packed, by name: matrices as 6-bit steps with one scale a row, vectors as they are.
 * @param {[string, number, number][]} names [name, rows, columns]; a vector has no columns (0)
 * @param {Float32Array} numbers scales of rows, and vectors
 * @param {Uint8Array} steps the matrices, each number plus 31, four of them in three bytes
 */
export function unpack(names, numbers, steps) {
  const tensors = new Map();
  let number = 0;
  let step = 0;
  for (const [name, rows, columns] of names) {
    const own = numbers.subarray(number, (number += rows));
    if (!columns) {
      tensors.set(name, own);
      continue;
    }
    const matrix = new Float32Array(rows * columns);
    for (let i = 0; i < matrix.length; i += 1) matrix[i] = (six(steps, step + i) - 31) * own[Math.floor(i / columns)];
    step += matrix.length;
    tensors.set(name, matrix);
  }
  return tensors;
}

/** `x Wᵀ + b` for rows of x; W is (outputs, inputs). */
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

/** Layer norm over each row of d numbers; without a weight or a bias of its own, it has ones and zeros. */
function norm(x, weight, bias, d) {
  const y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += d) {
    let mean = 0;
    for (let i = 0; i < d; i += 1) mean += x[at + i];
    mean /= d;
    let variance = 0;
    for (let i = 0; i < d; i += 1) variance += (x[at + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / d + EPSILON);
    for (let i = 0; i < d; i += 1) y[at + i] = (x[at + i] - mean) * scale * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
  }
  return y;
}

const add = (x, y) => x.map((value, i) => value + y[i]);

/**
 * Softmax attention of every head. q is (queries, d); k and v are (keys, d).
 * @returns {{mixed: Float32Array, weights: Float32Array}} (queries, d) and (heads, queries, keys)
 */
function attend(q, k, v, { d, heads, causal = false }) {
  const [queries, keys, width] = [q.length / d, k.length / d, d / heads];
  const mixed = new Float32Array(queries * d);
  const weights = new Float32Array(heads * queries * keys);
  for (let h = 0; h < heads; h += 1) {
    for (let i = 0; i < queries; i += 1) {
      const row = weights.subarray((h * queries + i) * keys, (h * queries + i + 1) * keys);
      const seen = causal ? keys - queries + i + 1 : keys; // the others keep a weight of nought
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

/** Columns [part · d, (part + 1) · d) of rows that hold `parts` blocks of d. */
function block(x, part, parts, d) {
  const rows = x.length / (parts * d);
  const y = new Float32Array(rows * d);
  for (let r = 0; r < rows; r += 1) y.set(x.subarray((r * parts + part) * d, (r * parts + part + 1) * d), r * d);
  return y;
}

const joined = (a, b) => { const whole = new Float32Array(a.length + b.length); whole.set(a); whole.set(b, a.length); return whole; };

export class EncoderDecoder {
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
    return this.tensors.get('tgt_embedding.weight') ?? this.tensors.get('src_embedding.weight');
  }

  /** Vectors of tokens at positions start, start + 1, …: √d times the table's row, and sines and cosines. */
  #embed(ids, start = 0, table = this.tensors.get('src_embedding.weight')) {
    const { d } = this;
    const x = new Float32Array(ids.length * d);
    ids.forEach((id, t) => {
      for (let i = 0; i < d; i += 1) {
        const angle = (start + t) * 10000 ** ((-2 * (i % (d / 2))) / d);
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
    return { memory: this.#norm(x, 'encoder_norm'), maps };
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
    for (let last = BEGIN; ids.length < maxLength;) {
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
      const scores = linear(this.#norm(x, 'decoder_norm'), table, undefined, d);
      const best = scores.reduce((at, score, i) => (score > scores[at] ? i : at), 0);
      p.push(1 / scores.reduce((sum, score) => sum + Math.exp(score - scores[best]), 0));
      gaps.push(scores.reduce((gap, score, i) => (i === best ? gap : Math.min(gap, scores[best] - score)), Infinity));
      if (best === END) break;
      ids.push(best);
      last = best;
    }
    return { ids, p, gaps, maps: cross.map(({ rows }) => gathered(rows, heads, source)) };
  }
}

/** Rows of (heads, keys), one a query, as (heads, queries, keys). */
function gathered(rows, heads, keys) {
  const whole = new Float32Array(heads * rows.length * keys);
  rows.forEach((row, i) => {
    for (let h = 0; h < heads; h += 1) whole.set(row.subarray(h * keys, (h + 1) * keys), (h * rows.length + i) * keys);
  });
  return whole;
}
