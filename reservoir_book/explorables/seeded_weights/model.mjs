// A square matrix of weights that is nothing but a seed, a name, a kind and a size: the bits of reservoir.weights.draws.
import { normal, orthogonal, sign, uniform } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';

/** Each kind with a standard deviation of 1 / √size, so that they can be compared. */
export const KINDS = {
  uniform: (stream, size) => uniform(stream, size * size, { bound: Math.sqrt(3 / size) }),
  sign: (stream, size) => sign(stream, size * size, { scale: 1 / Math.sqrt(size) }),
  normal: (stream, size) => normal(stream, size * size, { std: 1 / Math.sqrt(size) }),
  orthogonal: (stream, size) => orthogonal(stream, size, size),
};

/** The size × size weights, row by row, a Float32Array. */
export function weights({ seed, name, kind, size }) {
  return KINDS[kind](new Stream(seed, name), size);
}

/** Pearson's correlation of two lists of numbers, entry by entry. */
export function correlation(a, b) {
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [ma, mb] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) ** 2;
    bb += (b[i] - mb) ** 2;
  }
  return ab / Math.sqrt(aa * bb);
}

/** The call that gives the same bits in Python. */
export function python({ seed, name, kind, size }) {
  const stream = `Stream(${seed}, ${JSON.stringify(name)})`;
  const rest = { uniform: `bound=(3 / ${size}) ** 0.5`, sign: `scale=${size} ** -0.5`, normal: `std=${size} ** -0.5` };
  return kind === 'orthogonal'
    ? `draws.orthogonal(${stream}, ${size}, ${size}, gain=1.0)`
    : `draws.${kind}(${stream}, (${size}, ${size}), ${rest[kind]})`;
}
