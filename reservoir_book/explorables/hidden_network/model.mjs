// A random network and the mask that was found in it: weights from the seed, bits from the notebook, digits read with both.
import { sign } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';

export const INPUTS = 16; // pixels, four rows of four
export const HIDDEN = 20;
export const CLASSES = 10;
const GREYS = 15;
export const PITCH = 21; // of the pixels in the drawing

/** The bits of a text of hexadecimal digits, the highest of each first, as many as `n`. */
export function unpacked(text, n = 4 * text.length) {
  const bits = new Uint8Array(n);
  for (let i = 0; i < n; i += 1) bits[i] = (parseInt(text[i >> 2], 16) >> (3 - (i & 3))) & 1;
  return bits;
}

/** Plus or minus √(2 / fan_in), √(1 / keep) times as large: what Python draws, to the last bit. */
const drawn = (seed, name, rows, columns, keep) => sign(new Stream(seed, name), rows * columns, { scale: (Math.SQRT2 / Math.sqrt(columns)) * Math.sqrt(1 / keep) });

/** The network at a percentage: {up, down} as {weight, mask, rows, columns}, matrices row by row. */
export function network({ seed, percent, bits }) {
  const mask = unpacked(bits, INPUTS * HIDDEN + HIDDEN * CLASSES);
  const map = (name, rows, columns, from) => ({ rows, columns, weight: drawn(seed, name, rows, columns, percent / 100), mask: mask.subarray(from, from + rows * columns) });
  return { up: map('reader.up', HIDDEN, INPUTS, 0), down: map('reader.down', CLASSES, HIDDEN, INPUTS * HIDDEN) };
}

/** How many weights a map's mask keeps. */
export const kept = ({ mask }) => mask.reduce((sum, bit) => sum + bit, 0);

const applied = ({ weight, mask, rows, columns }, x) => {
  const y = new Float64Array(rows);
  for (let i = 0; i < rows; i += 1) {
    let sum = 0;
    for (let j = 0; j < columns; j += 1) if (mask[i * columns + j]) sum += weight[i * columns + j] * x[j];
    y[i] = sum;
  }
  return y;
};

/** The pixels of test digit number `at`, from 0 to 1. */
export const pixels = (pictures, at) => Float64Array.from({ length: INPUTS }, (_, i) => parseInt(pictures[at * INPUTS + i], 16) / GREYS);

/** What the network makes of pixels from 0 to 1: {hidden, logits, answer}. */
export function read(net, picture) {
  const hidden = applied(net.up, picture.map((value) => 2 * value - 1)).map((value) => Math.max(0, value));
  const logits = applied(net.down, hidden);
  return { hidden, logits, answer: logits.indexOf(Math.max(...logits)) };
}

/** Percent of the digits that it reads rightly. */
export function accuracy(net, pictures, labels) {
  let right = 0;
  for (let at = 0; at < labels.length; at += 1) right += read(net, pixels(pictures, at)).answer === Number(labels[at]);
  return (100 * right) / labels.length;
}

/** Where the nodes of the drawing stand, the pixels as the picture has them: {inputs, hidden, outputs}, each a list of [x, y]. */
export function places(width, height) {
  const column = (n, x, margin) => Array.from({ length: n }, (_, i) => [x, margin + ((height - 2 * margin) * i) / (n - 1)]);
  const inputs = Array.from({ length: INPUTS }, (_, i) => [12 + PITCH * (i % 4), height / 2 + PITCH * (Math.floor(i / 4) - 1.5)]);
  return { inputs, hidden: column(HIDDEN, width * 0.56, 8), outputs: column(CLASSES, width - 30, 24) };
}

/** What has been recorded at a percentage: [{name, mean, seeds}] of the curves that have a point there. */
export const recordedAt = (curves, percent) => curves.flatMap(({ name, points }) => points.filter((point) => point.percent === percent).map(({ mean, seeds }) => ({ name, mean, seeds })));
