// The arithmetic of the playground in WebAssembly with 128-bit SIMD: products, norms, attention, loss, masks and Adam.
//
// AssemblyScript; `make explorables` compiles it to kernels.wasm. Every function takes addresses in one memory that the
// page lays out once (engine.mjs); nothing is allocated. All numbers are f32 unless said otherwise, rows lie one after the
// other, and widths are multiples of 8. No fused multiply-add is used, so each browser computes the same bits.

const FLOAT: usize = 4;
const ROWS: i32 = 64; // of the left factor that stay in the first cache
const DEPTH: i32 = 128; // terms of a sum at a time

// @ts-ignore: decorator
@inline function at(base: usize, i: i32): usize { return base + ((<usize>i) << 2); }
// @ts-ignore: decorator
@inline function mad(sum: v128, a: v128, b: v128): v128 { return f32x4.add(sum, f32x4.mul(a, b)); }
// @ts-ignore: decorator
@inline function total(v: v128): f32 {
  return f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3));
}

/** exp of four numbers that are not above 88, by powers of two and a polynomial (Cephes' expf). */
// @ts-ignore: decorator
@inline function exp4(given: v128): v128 {
  const x = f32x4.max(given, f32x4.splat(-87.3));
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504)));
  const r = f32x4.sub(f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375))), f32x4.mul(n, f32x4.splat(-2.12194440e-4)));
  let p = f32x4.splat(1.9875691500e-4);
  p = mad(f32x4.splat(1.3981999507e-3), p, r);
  p = mad(f32x4.splat(8.3334519073e-3), p, r);
  p = mad(f32x4.splat(4.1665795894e-2), p, r);
  p = mad(f32x4.splat(1.6666665459e-1), p, r);
  p = mad(f32x4.splat(0.5), p, r);
  p = f32x4.add(mad(r, p, f32x4.mul(r, r)), f32x4.splat(1));
  const power = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(p, power);
}

/** C (m, n) = A (m, k) B (k, n), plus `bias` (n) if there is one, without its negative part if `relu`; added to C if `more`.
 *  m is rounded up to a multiple of 4: the rows beyond it must exist. `room` has ROWS x DEPTH numbers, for tiles of A. */
export function product(a: usize, lda: i32, b: usize, ldb: i32, c: usize, ldc: i32, m: i32, n: i32, k: i32, bias: usize, relu: bool, more: bool, room: usize): void {
  const zero = f32x4.splat(0);
  const rowA = (<usize>lda) * FLOAT, rowB = (<usize>ldb) * FLOAT, rowC = (<usize>ldc) * FLOAT;
  for (let begin = 0; begin < k; begin += DEPTH) {
    const deep = min(DEPTH, k - begin), last = begin + deep == k, added = more || begin > 0;
    for (let from = 0; from < m; from += ROWS) {
      const to = min(from + ROWS, m);
      let tile = room;
      for (let i = from; i < to; i += 4) { // four numbers of a column of A side by side
        let p = at(a, begin) + <usize>i * rowA;
        for (let l = 0; l < deep; l += 1, p += FLOAT, tile += 16) {
          store<f32>(tile, load<f32>(p)); store<f32>(tile, load<f32>(p + rowA), 4); store<f32>(tile, load<f32>(p + 2 * rowA), 8); store<f32>(tile, load<f32>(p + 3 * rowA), 12);
        }
      }
      for (let j = 0; j < n; j += 8) {
        let p = room;
        for (let i = from; i < to; i += 4) {
          let q = at(b, j) + <usize>begin * rowB;
          let s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero, s30 = zero, s31 = zero;
          for (const end = p + (<usize>deep) * 16; p < end; p += 16, q += rowB) {
            const left = v128.load(q), right = v128.load(q, 16);
            let one = v128.load_splat<f32>(p); s00 = mad(s00, one, left); s01 = mad(s01, one, right);
            one = v128.load_splat<f32>(p, 4); s10 = mad(s10, one, left); s11 = mad(s11, one, right);
            one = v128.load_splat<f32>(p, 8); s20 = mad(s20, one, left); s21 = mad(s21, one, right);
            one = v128.load_splat<f32>(p, 12); s30 = mad(s30, one, left); s31 = mad(s31, one, right);
          }
          if (bias && last) {
            const left = v128.load(at(bias, j)), right = v128.load(at(bias, j), 16);
            s00 = f32x4.add(s00, left); s10 = f32x4.add(s10, left); s20 = f32x4.add(s20, left); s30 = f32x4.add(s30, left);
            s01 = f32x4.add(s01, right); s11 = f32x4.add(s11, right); s21 = f32x4.add(s21, right); s31 = f32x4.add(s31, right);
          }
          let r = at(c, j) + <usize>i * rowC;
          const floor = relu && last;
          put(r, s00, s01, added, floor); r += rowC; put(r, s10, s11, added, floor); r += rowC; put(r, s20, s21, added, floor); r += rowC; put(r, s30, s31, added, floor);
        }
      }
    }
  }
}

// @ts-ignore: decorator
@inline function put(to: usize, left: v128, right: v128, more: bool, floor: bool): void {
  if (more) { left = f32x4.add(left, v128.load(to)); right = f32x4.add(right, v128.load(to, 16)); }
  if (floor) { left = f32x4.max(left, f32x4.splat(0)); right = f32x4.max(right, f32x4.splat(0)); }
  v128.store(to, left); v128.store(to, right, 16);
}

/** C (m, n) += Aᵀ B for A (k, m) and B (k, n): the gradient of a weight. m is a multiple of 4. */
export function outer(a: usize, lda: i32, b: usize, ldb: i32, c: usize, ldc: i32, m: i32, n: i32, k: i32): void {
  const zero = f32x4.splat(0);
  const rowA = (<usize>lda) * FLOAT, rowB = (<usize>ldb) * FLOAT, rowC = (<usize>ldc) * FLOAT;
  for (let from = 0; from < k; from += DEPTH) {
    const to = min(from + DEPTH, k);
    for (let i = 0; i < m; i += 4) {
      for (let j = 0; j < n; j += 8) {
        let p = at(a, i) + <usize>from * rowA, q = at(b, j) + <usize>from * rowB;
        const end = at(a, i) + <usize>to * rowA;
        let s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero, s30 = zero, s31 = zero;
        while (p < end) {
          const left = v128.load(q), right = v128.load(q, 16);
          let one = v128.load_splat<f32>(p); s00 = mad(s00, one, left); s01 = mad(s01, one, right);
          one = v128.load_splat<f32>(p, 4); s10 = mad(s10, one, left); s11 = mad(s11, one, right);
          one = v128.load_splat<f32>(p, 8); s20 = mad(s20, one, left); s21 = mad(s21, one, right);
          one = v128.load_splat<f32>(p, 12); s30 = mad(s30, one, left); s31 = mad(s31, one, right);
          p += rowA; q += rowB;
        }
        let r = at(c, j) + <usize>i * rowC;
        put(r, s00, s01, true, false); r += rowC; put(r, s10, s11, true, false); r += rowC; put(r, s20, s21, true, false); r += rowC; put(r, s30, s31, true, false);
      }
    }
  }
}

/** `to` (n, m) = the transpose of `from` (m, n). */
export function transpose(from: usize, to: usize, m: i32, n: i32): void {
  for (let i = 0; i < m; i += 1) for (let j = 0; j < n; j += 1) store<f32>(at(to, j * m + i), load<f32>(at(from, i * n + j)));
}

/** x[i] += y[i] */
export function add(x: usize, y: usize, n: i32): void {
  for (const end = at(x, n); x < end; x += 16, y += 16) v128.store(x, f32x4.add(v128.load(x), v128.load(y)));
}

/** `sums` (n) += the sum of the rows of x (m, n): the gradient of a bias. */
export function columns(x: usize, sums: usize, m: i32, n: i32): void {
  for (let j = 0; j < n; j += 4) {
    let sum = v128.load(at(sums, j));
    for (let i = 0; i < m; i += 1) sum = f32x4.add(sum, v128.load(at(x, i * n + j)));
    v128.store(at(sums, j), sum);
  }
}

/** Zero in `grad` where `y`, what a ReLU gave, is zero. */
export function reluBack(grad: usize, y: usize, n: i32): void {
  const zero = f32x4.splat(0);
  for (const end = at(grad, n); grad < end; grad += 16, y += 16) v128.store(grad, v128.and(v128.load(grad), f32x4.gt(v128.load(y), zero)));
}

/** Rows of `table` by `ids` (i32), times `scale`, plus the row of `positions` for `places` (i32): (n, d). */
export function embed(ids: usize, places: usize, table: usize, positions: usize, out: usize, n: i32, d: i32, scale: f32): void {
  const by = f32x4.splat(scale);
  for (let i = 0; i < n; i += 1) {
    const row = at(table, load<i32>(at(ids, i)) * d), place = at(positions, load<i32>(at(places, i)) * d);
    for (let j = 0; j < d; j += 4) v128.store(at(out, i * d + j), mad(v128.load(at(place, j)), v128.load(at(row, j)), by));
  }
}

/** The gradient of `embed` in its table, added to it. */
export function embedBack(ids: usize, grad: usize, table: usize, n: i32, d: i32, scale: f32): void {
  const by = f32x4.splat(scale);
  for (let i = 0; i < n; i += 1) {
    const row = at(table, load<i32>(at(ids, i)) * d);
    for (let j = 0; j < d; j += 4) v128.store(at(row, j), mad(v128.load(at(row, j)), v128.load(at(grad, i * d + j)), by));
  }
}

/** Layer norm of the rows of x (n, d); `stats` (n, 2) gets their mean and 1 / standard deviation. */
export function norm(x: usize, weight: usize, bias: usize, y: usize, stats: usize, n: i32, d: i32): void {
  for (let i = 0; i < n; i += 1) {
    const row = at(x, i * d);
    let sum = f32x4.splat(0);
    for (let j = 0; j < d; j += 4) sum = f32x4.add(sum, v128.load(at(row, j)));
    const mean = total(sum) / <f32>d, centre = f32x4.splat(mean);
    let squares = f32x4.splat(0);
    for (let j = 0; j < d; j += 4) { const far = f32x4.sub(v128.load(at(row, j)), centre); squares = mad(squares, far, far); }
    const inverse: f32 = 1 / sqrt<f32>(total(squares) / <f32>d + 1e-5), by = f32x4.splat(inverse);
    for (let j = 0; j < d; j += 4) {
      const z = f32x4.mul(f32x4.sub(v128.load(at(row, j)), centre), by);
      v128.store(at(y, i * d + j), mad(v128.load(at(bias, j)), z, v128.load(at(weight, j))));
    }
    store<f32>(at(stats, 2 * i), mean); store<f32>(at(stats, 2 * i + 1), inverse);
  }
}

/** The gradients of `norm`: added to `dx`, and to those of weight and bias where there is an address for them. */
export function normBack(dy: usize, x: usize, weight: usize, stats: usize, dx: usize, dWeight: usize, dBias: usize, n: i32, d: i32): void {
  for (let i = 0; i < n; i += 1) {
    const centre = f32x4.splat(load<f32>(at(stats, 2 * i))), inverse = load<f32>(at(stats, 2 * i + 1)), by = f32x4.splat(inverse);
    const row = at(x, i * d), grad = at(dy, i * d), to = at(dx, i * d);
    let sum = f32x4.splat(0), along = f32x4.splat(0);
    for (let j = 0; j < d; j += 4) {
      const g = f32x4.mul(v128.load(at(grad, j)), v128.load(at(weight, j)));
      sum = f32x4.add(sum, g);
      along = mad(along, g, f32x4.mul(f32x4.sub(v128.load(at(row, j)), centre), by));
    }
    const mean = f32x4.splat(total(sum) / <f32>d), slope = f32x4.splat(total(along) / <f32>d);
    for (let j = 0; j < d; j += 4) {
      const g = v128.load(at(grad, j)), z = f32x4.mul(f32x4.sub(v128.load(at(row, j)), centre), by);
      const inner = f32x4.sub(f32x4.sub(f32x4.mul(g, v128.load(at(weight, j))), mean), f32x4.mul(z, slope));
      v128.store(at(to, j), mad(v128.load(at(to, j)), inner, by));
      if (dWeight) {
        v128.store(at(dWeight, j), mad(v128.load(at(dWeight, j)), g, z));
        v128.store(at(dBias, j), f32x4.add(v128.load(at(dBias, j)), g));
      }
    }
  }
}

// Attention works through `spans`, six i32 a sentence: its first query and their number, its first key and their number,
// where its weights begin, and the place of its first query (in decoding, the number of keys before it). The weights of a
// query are one row for each head, padded with zeros to a multiple of 4.

// @ts-ignore: decorator
@inline function seen(causal: bool, i: i32, first: i32, keys: i32): i32 { return causal ? min(keys, first + i + 1) : keys; }

/** The sums of four vectors, as one. */
// @ts-ignore: decorator
@inline function totals(a: v128, b: v128, c: v128, d: v128): v128 {
  const left = f32x4.add(v128.shuffle<f32>(a, b, 0, 4, 1, 5), v128.shuffle<f32>(a, b, 2, 6, 3, 7));
  const right = f32x4.add(v128.shuffle<f32>(c, d, 0, 4, 1, 5), v128.shuffle<f32>(c, d, 2, 6, 3, 7));
  return f32x4.add(v128.shuffle<f32>(left, right, 0, 1, 4, 5), v128.shuffle<f32>(left, right, 2, 3, 6, 7));
}

/** The products of x with four rows that lie `step` bytes apart. */
// @ts-ignore: decorator
@inline function dots(x: usize, row: usize, step: usize, width: i32): v128 {
  const zero = f32x4.splat(0);
  let s0 = zero, s1 = zero, s2 = zero, s3 = zero;
  for (const end = at(x, width); x < end; x += 16, row += 16) {
    const one = v128.load(x);
    s0 = mad(s0, one, v128.load(row)); s1 = mad(s1, one, v128.load(row + step)); s2 = mad(s2, one, v128.load(row + 2 * step)); s3 = mad(s3, one, v128.load(row + 3 * step));
  }
  return totals(s0, s1, s2, s3);
}

/** softmax(q kᵀ / √width) v of every head. q, k and v lie in rows of `ldq` and `ldk` numbers, `out` in rows of d. Three
 *  rows of k and v beyond the last must exist. */
export function attend(spans: usize, sentences: i32, q: usize, ldq: i32, k: usize, v: usize, ldk: i32, out: usize, weights: usize, d: i32, heads: i32, causal: bool): void {
  const width = d / heads, scale = f32x4.splat(1 / sqrt<f32>(<f32>width)), zero = f32x4.splat(0), step = (<usize>ldk) * FLOAT;
  for (let s = 0; s < sentences; s += 1) {
    const span = at(spans, 6 * s), queries = load<i32>(span, 4), keys = load<i32>(span, 12), first = load<i32>(span, 20), row = (keys + 3) & ~3;
    let p = at(weights, load<i32>(span, 16));
    for (let h = 0; h < heads; h += 1) {
      const kh = at(k, load<i32>(span, 8) * ldk + h * width), vh = at(v, load<i32>(span, 8) * ldk + h * width);
      for (let i = 0; i < queries; i += 1) {
        const qi = at(q, (load<i32>(span) + i) * ldq + h * width), oi = at(out, (load<i32>(span) + i) * d + h * width);
        const n = seen(causal, i, first, keys);
        let tops = f32x4.splat(-Infinity), j = 0;
        for (; j < n; j += 4) {
          v128.store(at(p, j), f32x4.mul(dots(qi, kh + (<usize>j) * step, step, width), scale));
          for (let l = n; l < j + 4; l += 1) store<f32>(at(p, l), -Infinity);
          tops = f32x4.max(tops, v128.load(at(p, j)));
        }
        const end = j, top = max(max(f32x4.extract_lane(tops, 0), f32x4.extract_lane(tops, 1)), max(f32x4.extract_lane(tops, 2), f32x4.extract_lane(tops, 3)));
        const most = f32x4.splat(top);
        let sum = zero;
        for (j = 0; j < end; j += 4) { const e = exp4(f32x4.sub(v128.load(at(p, j)), most)); v128.store(at(p, j), e); sum = f32x4.add(sum, e); }
        const by = f32x4.splat(1 / total(sum));
        for (j = 0; j < end; j += 4) v128.store(at(p, j), f32x4.mul(v128.load(at(p, j)), by));
        for (j = n; j < row; j += 1) store<f32>(at(p, j), 0);
        let c = 0;
        for (; c + 16 <= width; c += 16) {
          let m0 = zero, m1 = zero, m2 = zero, m3 = zero;
          let from = at(vh, c);
          for (j = 0; j < n; j += 1, from += step) {
            const weight = v128.load_splat<f32>(at(p, j));
            m0 = mad(m0, weight, v128.load(from)); m1 = mad(m1, weight, v128.load(from, 16)); m2 = mad(m2, weight, v128.load(from, 32)); m3 = mad(m3, weight, v128.load(from, 48));
          }
          const to = at(oi, c);
          v128.store(to, m0); v128.store(to, m1, 16); v128.store(to, m2, 32); v128.store(to, m3, 48);
        }
        for (; c < width; c += 4) {
          let mixed = zero;
          for (j = 0; j < n; j += 1) mixed = mad(mixed, v128.load_splat<f32>(at(p, j)), v128.load(at(vh, j * ldk + c)));
          v128.store(at(oi, c), mixed);
        }
        p = at(p, row);
      }
    }
  }
}

/** The gradients of `attend`, added to dq, dk and dv; `room` has a row of weights. */
export function attendBack(spans: usize, sentences: i32, q: usize, dq: usize, ldq: i32, k: usize, v: usize, dk: usize, dv: usize, ldk: i32, dOut: usize, weights: usize, room: usize, d: i32, heads: i32, causal: bool): void {
  const width = d / heads, scale = f32x4.splat(1 / sqrt<f32>(<f32>width)), zero = f32x4.splat(0), step = (<usize>ldk) * FLOAT;
  for (let s = 0; s < sentences; s += 1) {
    const span = at(spans, 6 * s), queries = load<i32>(span, 4), keys = load<i32>(span, 12), first = load<i32>(span, 20), row = (keys + 3) & ~3;
    let p = at(weights, load<i32>(span, 16));
    for (let h = 0; h < heads; h += 1) {
      const base = load<i32>(span, 8) * ldk + h * width;
      for (let i = 0; i < queries; i += 1) {
        const at0 = (load<i32>(span) + i) * ldq + h * width, gi = at(dOut, (load<i32>(span) + i) * d + h * width);
        const n = seen(causal, i, first, keys);
        let sum = zero;
        for (let j = 0; j < n; j += 4) { // beyond the last key weights are zero, and what is found there does not count
          const weight = v128.load(at(p, j)), found = v128.and(dots(gi, at(v, base + j * ldk), step, width), f32x4.gt(weight, zero));
          v128.store(at(room, j), found);
          sum = mad(sum, found, weight);
        }
        const along = f32x4.splat(total(sum));
        for (let j = 0; j < n; j += 4) v128.store(at(room, j), f32x4.mul(f32x4.mul(v128.load(at(p, j)), f32x4.sub(v128.load(at(room, j)), along)), scale));
        for (let c = 0; c < width; c += 8) {
          const g0 = v128.load(at(gi, c)), g1 = v128.load(at(gi, c), 16), q0 = v128.load(at(q, at0 + c)), q1 = v128.load(at(q, at0 + c), 16);
          const to = at(dq, at0 + c);
          let s0 = v128.load(to), s1 = v128.load(to, 16);
          let kj = at(k, base + c), dkj = at(dk, base + c), dvj = at(dv, base + c);
          for (let j = 0; j < n; j += 1, kj += step, dkj += step, dvj += step) {
            const weight = v128.load_splat<f32>(at(p, j)), by = v128.load_splat<f32>(at(room, j));
            s0 = mad(s0, by, v128.load(kj)); s1 = mad(s1, by, v128.load(kj, 16));
            v128.store(dkj, mad(v128.load(dkj), by, q0)); v128.store(dkj, mad(v128.load(dkj, 16), by, q1), 16);
            v128.store(dvj, mad(v128.load(dvj), weight, g0)); v128.store(dvj, mad(v128.load(dvj, 16), weight, g1), 16);
          }
          v128.store(to, s0); v128.store(to, s1, 16);
        }
        p = at(p, row);
      }
    }
  }
}

/** Along each sentence of `spans`: out += even · x - odd · y, for x and y (tokens, d) and two symmetric tables (size, size). */
export function mix(spans: usize, sentences: i32, x: usize, y: usize, even: usize, odd: usize, size: i32, out: usize, d: i32): void {
  for (let s = 0; s < sentences; s += 1) {
    const from = load<i32>(at(spans, 6 * s)), n = load<i32>(at(spans, 6 * s + 1));
    for (let i = 0; i < n; i += 1) {
      for (let c = 0; c < d; c += 4) {
        const to = at(out, (from + i) * d + c);
        let sum = v128.load(to);
        for (let j = 0; j < n; j += 1) {
          const place = (from + j) * d + c;
          sum = mad(sum, v128.load_splat<f32>(at(even, i * size + j)), v128.load(at(x, place)));
          sum = f32x4.sub(sum, f32x4.mul(v128.load_splat<f32>(at(odd, i * size + j)), v128.load(at(y, place))));
        }
        v128.store(to, sum);
      }
    }
  }
}

/** Label-smoothed cross-entropy of rows of logits (n, vocab), which become its gradient divided by n.
 *  `losses` (2, f64) gets the sums of the smoothed loss and of the plain one, in nats. */
export function crossEntropy(logits: usize, targets: usize, losses: usize, n: i32, vocab: i32, smoothing: f32): void {
  let smooth: f64 = 0, plain: f64 = 0;
  const share: f32 = 1 / <f32>n, low = f32x4.splat(smoothing / <f32>vocab * share);
  for (let i = 0; i < n; i += 1) {
    const row = at(logits, i * vocab), target = load<i32>(at(targets, i));
    let tops = v128.load(row), sum = f32x4.splat(0);
    for (let j = 0; j < vocab; j += 4) { const z = v128.load(at(row, j)); tops = f32x4.max(tops, z); sum = f32x4.add(sum, z); }
    const top = max(max(f32x4.extract_lane(tops, 0), f32x4.extract_lane(tops, 1)), max(f32x4.extract_lane(tops, 2), f32x4.extract_lane(tops, 3)));
    const mean = total(sum) / <f32>vocab, chosen = load<f32>(at(row, target)), most = f32x4.splat(top);
    sum = f32x4.splat(0);
    for (let j = 0; j < vocab; j += 4) { const e = exp4(f32x4.sub(v128.load(at(row, j)), most)); v128.store(at(row, j), e); sum = f32x4.add(sum, e); }
    const all = total(sum), log = Math.log(<f64>all) + <f64>top, by = f32x4.splat(share / all);
    plain += log - <f64>chosen;
    smooth += log - <f64>(1 - smoothing) * <f64>chosen - <f64>smoothing * <f64>mean;
    for (let j = 0; j < vocab; j += 4) v128.store(at(row, j), f32x4.sub(f32x4.mul(v128.load(at(row, j)), by), low));
    store<f32>(at(row, target), load<f32>(at(row, target)) - (1 - smoothing) * share);
  }
  store<f64>(losses, smooth); store<f64>(losses, plain, 8);
}

/** The cross-entropy of rows of logits (n, wide), of which `classes` numbers count, and their gradient times `share`, in
 *  their place. A target of -1 asks nothing. `losses` (2, f64) gets the sum, in nats; returns how many rows are right. */
export function answer(logits: usize, targets: usize, losses: usize, n: i32, wide: i32, classes: i32, share: f32): i32 {
  let loss: f64 = 0, right = 0;
  for (let i = 0; i < n; i += 1) {
    const row = at(logits, i * wide), target = load<i32>(at(targets, i));
    if (target < 0) { memory.fill(row, 0, (<usize>wide) * FLOAT); continue; }
    let place = 0, top = load<f32>(row);
    for (let j = 1; j < classes; j += 1) { const z = load<f32>(at(row, j)); if (z > top) { top = z; place = j; } }
    if (place == target) right += 1;
    const chosen = load<f32>(at(row, target)), most = f32x4.splat(top);
    let sum = f32x4.splat(0);
    for (let j = 0; j < wide; j += 4) {
      const e = exp4(f32x4.sub(v128.load(at(row, j)), most));
      v128.store(at(row, j), e);
      for (let l = max(j, classes); l < j + 4; l += 1) store<f32>(at(row, l), 0);
      sum = f32x4.add(sum, v128.load(at(row, j)));
    }
    const all = total(sum), by = f32x4.splat(share / all);
    loss += Math.log(<f64>all) + <f64>top - <f64>chosen;
    for (let j = 0; j < wide; j += 4) v128.store(at(row, j), f32x4.mul(v128.load(at(row, j)), by));
    store<f32>(at(row, target), load<f32>(at(row, target)) - share);
  }
  store<f64>(losses, loss);
  return right;
}

/** The place of the largest of the first `classes` numbers of each row of x (n, wide), the first of equal ones, as i32. */
export function best(x: usize, out: usize, n: i32, wide: i32, classes: i32): void {
  for (let i = 0; i < n; i += 1) {
    let place = 0, top = load<f32>(at(x, i * wide));
    for (let j = 1; j < classes; j += 1) { const z = load<f32>(at(x, i * wide + j)); if (z > top) { top = z; place = j; } }
    store<i32>(at(out, i), place);
  }
}

/** The sum of squares of n numbers. */
export function squares(x: usize, n: i32): f64 {
  let sum: f64 = 0;
  for (let i = 0; i < n; i += 256) { // in stretches, so that a long sum keeps its digits
    let part = f32x4.splat(0);
    for (let j = i; j < min(i + 256, n); j += 4) { const one = v128.load(at(x, j)); part = mad(part, one, one); }
    sum += <f64>total(part);
  }
  return sum;
}

/** AdamW on n numbers w with gradient g · `clip` and moments m and v; `first` and `second` are what corrects their start. */
export function adam(w: usize, g: usize, m: usize, v: usize, n: i32, rate: f32, decay: f32, beta1: f32, beta2: f32, eps: f32, first: f32, second: f32, clip: f32): void {
  const shrink = f32x4.splat(1 - rate * decay), by = f32x4.splat(clip), step = f32x4.splat(rate / first), tiny = f32x4.splat(eps), root = f32x4.splat(sqrt<f32>(second));
  const b1 = f32x4.splat(beta1), a1 = f32x4.splat(1 - beta1), b2 = f32x4.splat(beta2), a2 = f32x4.splat(1 - beta2);
  for (let i = 0; i < n; i += 4) {
    const grad = f32x4.mul(v128.load(at(g, i)), by);
    const mean = mad(f32x4.mul(v128.load(at(m, i)), b1), grad, a1), power = mad(f32x4.mul(v128.load(at(v, i)), b2), f32x4.mul(grad, grad), a2);
    v128.store(at(m, i), mean); v128.store(at(v, i), power);
    const size = f32x4.add(f32x4.div(f32x4.sqrt(power), root), tiny);
    v128.store(at(w, i), f32x4.sub(f32x4.mul(v128.load(at(w, i)), shrink), f32x4.div(f32x4.mul(step, mean), size)));
  }
}

/** `out` = w where the score is among the k largest in magnitude, else zero; of equal ones the first are taken.
 *  `counts` has room for 2048 i32. Magnitudes are compared by their bits, which have the order of the numbers. */
export function choose(scores: usize, w: usize, out: usize, n: i32, k: i32, counts: usize): void {
  let prefix: u32 = 0, known: u32 = 0, left = k;
  for (let shift = 20; shift >= 0; shift -= 10) { // the bits of the k-th largest magnitude, ten or eleven at a time
    memory.fill(counts, 0, 2048 * 4);
    const field: u32 = shift == 20 ? 0x7ff : 0x3ff;
    for (let i = 0; i < n; i += 1) {
      const bits = load<u32>(at(scores, i)) & 0x7fffffff;
      if ((bits & known) == prefix) { const to = at(counts, (bits >> shift) & field); store<i32>(to, load<i32>(to) + 1); }
    }
    let digit: i32 = field;
    for (; digit > 0; digit -= 1) { const many = load<i32>(at(counts, digit)); if (many >= left) break; left -= many; }
    prefix |= (<u32>digit) << shift; known |= field << shift;
  }
  for (let i = 0; i < n; i += 1) { // `left` of those that equal the threshold are taken
    const bits = load<u32>(at(scores, i)) & 0x7fffffff;
    let take = bits > prefix;
    if (bits == prefix && left > 0) { take = true; left -= 1; }
    store<f32>(at(out, i), take ? load<f32>(at(w, i)) : 0);
  }
}

/** The gradient of scores, by taking the choice for the identity: grad · w · sign(score), into `out`. */
export function scoreBack(grad: usize, w: usize, scores: usize, out: usize, n: i32): void {
  const zero = f32x4.splat(0), one = f32x4.splat(1);
  for (let i = 0; i < n; i += 4) {
    const s = v128.load(at(scores, i));
    const sign = f32x4.sub(v128.and(f32x4.gt(s, zero), one), v128.and(f32x4.lt(s, zero), one));
    v128.store(at(out, i), f32x4.mul(f32x4.mul(v128.load(at(grad, i)), v128.load(at(w, i))), sign));
  }
}
