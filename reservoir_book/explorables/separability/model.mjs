// Which labellings of random points a plane can separate: the numbers behind the explorable, without a page.
import { normal, sign, uniform } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';

const GAMMA = 5; // of the random Fourier features that lift the plane

/** The chance that random labels of n points in general position in d dimensions can be separated (Cover 1965). */
export function chance(n, d) {
  let [sum, term] = [0, 2 ** (1 - n)]; // the binomials of n - 1, already divided by 2^(n-1)
  for (let k = 0; k < Math.min(d, n); k += 1) {
    sum += term;
    term *= (n - 1 - k) / (k + 1);
  }
  return Math.min(1, sum);
}

/** Random Fourier features of points in the plane, as reservoir.weights.FourierFeatures(2, d, seed=seed, gamma=5). */
export class Lift {
  constructor(seed, d) {
    this.d = d;
    this.w = normal(new Stream(seed, 'kitchen-sinks'), 2 * d, { std: Math.sqrt(2 * GAMMA) });
    this.b = uniform(new Stream(seed, 'kitchen-sinks.bias'), d, { bound: Math.PI });
  }

  features(x, y) {
    return Float64Array.from({ length: this.d }, (_, i) => Math.sqrt(2 / this.d) * Math.cos(this.w[2 * i] * x + this.w[2 * i + 1] * y + this.b[i]));
  }
}

/** n random points and labels. `place` has the points in the plane if they were lifted from there. */
export function draw({ seed, number, n, d, lifted }) {
  const stream = new Stream(seed, `separability/${number}`);
  const labels = sign(stream.sub('labels'), n, { scale: 1 });
  const flat = normal(stream.sub('points'), n * (lifted ? 2 : d), { std: 1 });
  if (!lifted) return { labels, points: Array.from({ length: n }, (_, i) => Float64Array.from(flat.subarray(i * d, (i + 1) * d))) };
  const lift = new Lift(seed, d);
  const place = Array.from({ length: n }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
  return { labels, place, lift, points: place.map(([x, y]) => lift.features(x, y)) };
}

const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i]; return sum; };

/**
 * A w with labels[i] w·points[i] > 0 for all i, or the mixture of the labels[i] points[i] that is nought and so proves
 * that there is none. Both come from the mixture (weights not negative, Σ = 1 asked for) nearest to nought, which
 * Lawson and Hanson's active sets find: least squares over the weights that are positive, one let in at a time.
 */
export function separator(points, labels) {
  const z = points.map((point, i) => point.map((value) => labels[i] * value));
  const n = z.length;
  const gram = z.map((a) => z.map((b) => dot(a, b) + 1)); // the one is the row that asks for Σ = 1
  const weights = new Float64Array(n);
  const inside = [];
  const slope = (i) => 1 - inside.reduce((sum, j) => sum + gram[i][j] * weights[j], 0);
  for (let turn = 0; turn < 3 * n; turn += 1) {
    let best = -1;
    let most = 1e-9;
    for (let i = 0; i < n; i += 1) if (!inside.includes(i) && slope(i) > most) [best, most] = [i, slope(i)];
    if (best < 0) break;
    inside.push(best);
    for (;;) {
      const wanted = solve(inside.map((i) => inside.map((j) => gram[i][j])));
      if (wanted === undefined) { inside.pop(); break; }
      const low = inside.filter((i, at) => wanted[at] <= 1e-12);
      if (!low.length) { inside.forEach((i, at) => { weights[i] = wanted[at]; }); break; }
      let part = 1; // how far the weights can go towards what is wanted before one of them is nought
      inside.forEach((i, at) => { if (wanted[at] <= 1e-12) part = Math.min(part, weights[i] / (weights[i] - wanted[at])); });
      inside.forEach((i, at) => { weights[i] += part * (wanted[at] - weights[i]); });
      for (let at = inside.length - 1; at >= 0; at -= 1) if (weights[inside[at]] <= 1e-12) { weights[inside[at]] = 0; inside.splice(at, 1); }
      if (!inside.length) break;
    }
  }
  const w = new Float64Array(points[0].length);
  z.forEach((row, i) => row.forEach((value, c) => { w[c] += weights[i] * value; }));
  const size = Math.max(...w.map(Math.abs));
  if (size > 1e-7 * Math.max(...z.flatMap((row) => [...row.map(Math.abs)])) && z.every((row) => dot(row, w) > 0)) return { w };
  const sum = weights.reduce((a, b) => a + b, 0);
  return { mixture: weights.map((weight) => weight / sum) };
}

/** The solution of A s = 1 for a symmetric positive A, or undefined if it is not that (Cholesky). */
function solve(a) {
  const n = a.length;
  const low = a.map((row) => Float64Array.from(row));
  for (let j = 0; j < n; j += 1) {
    for (let k = 0; k < j; k += 1) for (let i = j; i < n; i += 1) low[i][j] -= low[i][k] * low[j][k];
    if (low[j][j] <= 1e-11 * a[j][j]) return undefined;
    const root = Math.sqrt(low[j][j]);
    for (let i = j; i < n; i += 1) low[i][j] /= root;
  }
  const s = new Float64Array(n).fill(1);
  for (let i = 0; i < n; i += 1) { for (let k = 0; k < i; k += 1) s[i] -= low[i][k] * s[k]; s[i] /= low[i][i]; }
  for (let i = n - 1; i >= 0; i -= 1) { for (let k = i + 1; k < n; k += 1) s[i] -= low[k][i] * s[k]; s[i] /= low[i][i]; }
  return s;
}

/** The perceptron after some passes: the w that had the fewest points on the wrong side, and how many. */
export function perceptron(points, labels, passes = 200) {
  const w = new Float64Array(points[0].length);
  const wrong = () => points.reduce((count, point, i) => count + (labels[i] * dot(point, w) <= 0), 0);
  let best = { w: w.slice(), wrong: points.length };
  for (let pass = 0; pass < passes && best.wrong; pass += 1) {
    points.forEach((point, i) => { if (labels[i] * dot(point, w) <= 0) point.forEach((value, c) => { w[c] += labels[i] * value; }); });
    const now = wrong();
    if (now < best.wrong) best = { w: w.slice(), wrong: now };
  }
  return best;
}

export { dot };
