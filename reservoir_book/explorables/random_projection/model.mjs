// What a random projection does to the distances between points: the numbers behind the explorable, without a page.
// The weights are those of reservoir.weights.RandomProjection(d, k, seed=seed, kind=kind), row by row.
import { normal, sign, sparse } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';

const ROW = {
  gaussian: (stream, d, row) => normal(stream, d, { std: 1, start: row * d }),
  sign: (stream, d, row) => sign(stream, d, { scale: 1, start: row * d }),
  sparse: (stream, d, row) => sparse(stream, d, { scale: Math.sqrt(3), share: 1 / 3, start: row * d }),
};

/** n points in d dimensions, flat: scattered at random, or "words": each with a one in a place of its own. */
export function points({ seed, cloud, n, d }) {
  if (cloud === 'scattered') return normal(new Stream(seed, 'points'), n * d, { std: 1 });
  if (n > d) throw new RangeError(`n words need n dimensions, got ${n} and ${d}`);
  const x = new Float32Array(n * d);
  for (let i = 0; i < n; i += 1) x[i * d + i] = 1;
  return x;
}

/** Projections of one set of points to any number of dimensions. Rows are drawn when they are first asked for. */
export class Projections {
  constructor({ seed, kind, cloud, n, d }) {
    Object.assign(this, { kind, n, d, rows: [], x: points({ seed, cloud, n, d }), stream: new Stream(seed, 'projection') });
    this.exact = this.pairs((i, j) => {
      let sum = 0;
      for (let c = 0; c < d; c += 1) sum += (this.x[i * d + c] - this.x[j * d + c]) ** 2;
      return sum;
    });
    this.sums = [new Float64Array(this.exact.length)]; // after 0, 1, 2 … rows: Σ (w·x_i - w·x_j)² of each pair
  }

  pairs(of) {
    const found = new Float64Array((this.n * (this.n - 1)) / 2);
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
}

/** Johnson and Lindenstrauss with the constants of Dasgupta & Gupta 2003: the least k for n points and an error ε. */
export const enough = (n, epsilon) => Math.ceil((4 * Math.log(n)) / (epsilon ** 2 / 2 - epsilon ** 3 / 3));

/** The smallest ε in (0, 1) that k dimensions promise for n points; undefined where they promise none. */
export function promised(k, n) {
  if (enough(n, 1) > k) return undefined;
  let [low, high] = [0, 1];
  for (let i = 0; i < 40; i += 1) {
    const middle = (low + high) / 2;
    if ((4 * Math.log(n)) / (middle ** 2 / 2 - middle ** 3 / 3) <= k) high = middle; else low = middle;
  }
  return high;
}

/** The density of χ²_k / k: how the ratio of one pair is distributed over Gaussian matrices. */
export function density(ratio, k) {
  if (ratio <= 0) return 0;
  const half = k / 2;
  return Math.exp(half * Math.log(half) - logGamma(half) + (half - 1) * Math.log(ratio) - half * ratio);
}

function logGamma(z) { // Lanczos, g = 7
  const c = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  if (z < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * z)) - logGamma(1 - z);
  const t = z + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (z - 0.5) * Math.log(t) - t + Math.log(c.slice(1).reduce((sum, one, i) => sum + one / (z + i), c[0]));
}
