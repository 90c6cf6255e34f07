// Numbers drawn from a stream: the same bits as reservoir.weights.draws.
//
// An elementwise draw is an integer below 2^24 times one float32 scale. The product is exact in a double, and Math.fround
// rounds it once, which is what a float32 multiplication does. Element i depends on the stream and on i alone (row-major
// in a matrix), so `start` draws any stretch without what comes before it.

const HALVES = 8; // 16-bit halves in a block of four words
const ROUNDS = 3; // of signs, permutation and Hadamard windows in an orthogonal draw
const INDEX = 2 ** 21; // a permutation's sort key is word · 2^21 + index, which a double holds exactly

const extent = (n) => {
  if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`n must be a whole number, 0 or more, got ${n}`);
  return n;
};

/** Uniform on [-bound, bound): a signed 24-bit integer times bound · 2^-23. One word an element. */
export function uniform(stream, n, { bound, start = 0 }) {
  const scale = Math.fround(bound * 2 ** -23);
  const words = stream.words(start, start + extent(n));
  const drawn = new Float32Array(n);
  for (let i = 0; i < n; i += 1) drawn[i] = ((words[i] >>> 8) - 2 ** 23) * scale;
  return drawn;
}

/** +scale or -scale with equal odds: element i is bit i % 32 of word i // 32, and a set bit is a plus. */
export function sign(stream, n, { scale = 1, start = 0 } = {}) {
  const size = Math.fround(scale);
  const first = Math.floor(start / 32);
  const words = stream.words(first, Math.ceil((start + extent(n)) / 32));
  const drawn = new Float32Array(n);
  for (let i = 0; i < n; i += 1) {
    const bit = start - 32 * first + i;
    drawn[i] = (words[bit >>> 5] >>> (bit & 31)) & 1 ? size : -size;
  }
  return drawn;
}

/** Zero, +scale or -scale: not zero where a word is less than share · 2^32, and plus where it is even. */
export function sparse(stream, n, { scale = 1, share, start = 0 }) {
  if (!(share > 0 && share <= 1)) throw new RangeError(`share must be in (0, 1], got ${share}`);
  const size = Math.fround(scale);
  const wanted = share * 2 ** 31;
  const even = 2 * Math.round(wanted / 2); // a half goes to the even neighbour, as Python rounds
  const below = 2 * (wanted % 1 === 0.5 ? even : Math.round(wanted));
  return Float32Array.from(stream.words(start, start + extent(n)), (word) => (word < below ? (word & 1 ? -size : size) : 0));
}

/** Nearly normal with mean 0: the centred sum of a block's eight 16-bit halves, times one scale. */
export function normal(stream, n, { std, start = 0 }) {
  const scale = Math.fround(std / Math.sqrt((HALVES * (2 ** 32 - 1)) / 3));
  const words = stream.blocks(start, start + extent(n));
  const drawn = new Float32Array(n);
  for (let i = 0; i < n; i += 1) {
    let total = 0;
    for (let at = 4 * i; at < 4 * i + 4; at += 1) total += (words[at] & 0xffff) + (words[at] >>> 16);
    drawn[i] = (2 * total - HALVES * 65535) * scale;
  }
  return drawn;
}

/** A random order of 0 … n-1 as an Int32Array: the places of n words once sorted, the earlier first in a tie. */
export function permutation(stream, n) {
  if (extent(n) > INDEX) throw new RangeError(`n must be at most ${INDEX}, got ${n}`);
  const words = stream.words(0, n);
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i += 1) keys[i] = words[i] * INDEX + i;
  keys.sort();
  return Int32Array.from(keys, (key) => key % INDEX);
}

/**
 * A random matrix Q with QᵀQ = gain² I (rows >= cols) or QQᵀ = gain² I (rows <= cols), a flat Float32Array.
 * Rounds of permutation, signs and Walsh-Hadamard windows over integers, exact in 53 bits (see the Python side).
 */
export function orthogonal(stream, rows, cols, { gain = 1 } = {}) {
  if (!(Number.isSafeInteger(rows) && Number.isSafeInteger(cols) && rows >= 1 && cols >= 1)) {
    throw new RangeError(`rows and cols must be at least 1, got ${rows} and ${cols}`);
  }
  const n = Math.max(rows, cols);
  const width = Math.min(rows, cols);
  const half = Math.floor(Math.floor(Math.log2(n)) / 2); // the window has 4^half coordinates
  const window = 4 ** half;
  const spans = [[0, n - (n % window)]];
  if (n % window > 0) spans.push([n - window, n]);
  const bits = ROUNDS * spans.length * half;
  if (bits > 53) throw new RangeError(`rows and cols must be at most ${4 ** 9} for exact sums, got ${rows} and ${cols}`);

  let x = new Float64Array(n * width); // (n, width), one column a vector; integers throughout
  for (let i = 0; i < width; i += 1) x[i * width + i] = 1;
  for (let round = 0; round < ROUNDS; round += 1) {
    const part = stream.sub(round);
    const order = permutation(part.sub('permutation'), n);
    const moved = new Float64Array(n * width);
    for (let i = 0; i < n; i += 1) moved.set(x.subarray(order[i] * width, (order[i] + 1) * width), i * width);
    x = moved;
    spans.forEach(([low, high], place) => {
      const signs = sign(part.sub(`sign/${place}`), n);
      for (let i = 0; i < n; i += 1) {
        // What this span leaves out grows by the same factor as its transform.
        const factor = i < low || i >= high ? signs[i] * 2 ** half : signs[i];
        for (let j = i * width; j < (i + 1) * width; j += 1) x[j] *= factor;
      }
      hadamard(x, low, high, window, width);
    });
  }
  const scale = gain * 2 ** -bits;
  const drawn = new Float32Array(rows * cols);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < width; j += 1) drawn[rows >= cols ? i * cols + j : j * cols + i] = x[i * width + j] * scale + 0; // an integer has one zero, a double two
  }
  return drawn;
}

/** Walsh-Hadamard transform, in place, of each stretch of `window` rows between low and high, by butterflies. */
function hadamard(x, low, high, window, width) {
  for (let reach = 1; reach < window; reach *= 2) {
    for (let start = low; start < high; start += 2 * reach) {
      for (let i = start * width; i < (start + reach) * width; i += 1) {
        const a = x[i];
        const b = x[i + reach * width];
        x[i] = a + b;
        x[i + reach * width] = a - b;
      }
    }
  }
}
