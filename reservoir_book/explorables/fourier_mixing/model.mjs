// A signal over tokens and features, its Fourier transform, and what comes back from a part of it: without a page.

export const TOKENS = 8;
export const FEATURES = 10;
const VALUES = { 0: 0, 1: 1, 2: -1 };

/** A signal as the address keeps it: a digit an entry, row by row; 0 is nothing, 1 is one, 2 is minus one. */
export const parse = (text) => (new RegExp(`^[012]{${TOKENS * FEATURES}}$`).test(text) ? text : undefined);

/** The numbers of a signal, row by row. */
export const numbers = (signal) => Float64Array.from(signal, (digit) => VALUES[digit]);

/** The signal with entry i drawn as `digit`. */
export const drawn = (signal, i, digit) => signal.slice(0, i) + digit + signal.slice(i + 1);

/** What a tap makes of an entry: nothing, one, minus one, nothing. */
export const next = (digit) => String((Number(digit) + 1) % 3);

/** Reversed along tokens, along features, or along both: the first stays where it is, as the transform counts. */
export function reversed(signal, { tokens = false, features = false }) {
  return Array.from(signal, (_, i) => {
    const [n, k] = [Math.floor(i / FEATURES), i % FEATURES];
    return signal[(tokens ? (TOKENS - n) % TOKENS : n) * FEATURES + (features ? (FEATURES - k) % FEATURES : k)];
  }).join('');
}

/** Sums of rows or columns with sines and cosines; sign -1 is the transform, +1 its inverse without the factor. */
function along({ re, im }, axis, sign) {
  const size = axis === 0 ? TOKENS : FEATURES;
  const step = axis === 0 ? FEATURES : 1;
  const [outRe, outIm] = [new Float64Array(re.length), new Float64Array(re.length)];
  for (let i = 0; i < re.length; i += 1) {
    const at = axis === 0 ? Math.floor(i / FEATURES) : i % FEATURES;
    const start = i - at * step;
    for (let j = 0; j < size; j += 1) {
      const angle = (sign * 2 * Math.PI * ((at * j) % size)) / size;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      const from = start + j * step;
      outRe[i] += re[from] * c - im[from] * s;
      outIm[i] += re[from] * s + im[from] * c;
    }
  }
  return { re: outRe, im: outIm };
}

/** The transform over features and then over tokens. Its real part is what the layer mixes to. */
export const transform = (x) => along(along({ re: x, im: new Float64Array(x.length) }, 1, -1), 0, -1);

/** Which entries of a transform are kept when no frequency above `tokens` and `features` is. */
export function kept(tokens, features) {
  return Array.from({ length: TOKENS * FEATURES }, (_, i) => {
    const [n, k] = [Math.floor(i / FEATURES), i % FEATURES];
    return Math.min(n, TOKENS - n) <= tokens && Math.min(k, FEATURES - k) <= features;
  });
}

/** The signal that the kept entries of a transform belong to: of both its parts, or of the real one alone. */
export function back({ re, im }, keep, part) {
  const whole = along(along({
    re: re.map((value, i) => (keep[i] ? value : 0)),
    im: im.map((value, i) => (keep[i] && part === 'both' ? value : 0)),
  }, 1, 1), 0, 1);
  return whole.re.map((value) => value / re.length);
}

/** The share of the squared size of `x` that is still in `y`. */
export function share(x, y) {
  const energy = (values) => values.reduce((sum, value) => sum + value * value, 0);
  return energy(x) ? energy(y) / energy(x) : 0;
}
