// Digests of tensors in stored models, as reservoir/weights/files.py makes them.
import { sha256 } from './sha256.mjs';

const WORDS = 512; // of 64 bits in a row

const encode = (text) => new TextEncoder().encode(text);
/** The beginning of the hash of some bytes, one after the other. */
export const digest = (...pieces) => sha256(...pieces).slice(0, 16);

/** What stands before a tensor's numbers: such as "torch.float32 (3, 4)". */
export const head = (dtype, shape) => encode(`${dtype} (${shape.length === 1 ? `${shape[0]},` : shape.join(', ')})`);

/** The bytes of sums of 64-bit words, modulo 2^64, whose halves were added up apart. */
function sums(low, high) {
  const words = new Uint32Array(2 * low.length);
  low.forEach((sum, i) => {
    words[2 * i] = sum % 2 ** 32;
    words[2 * i + 1] = (high[i] + Math.floor(sum / 2 ** 32)) % 2 ** 32;
  });
  return new Uint8Array(words.buffer);
}

/** The digest of sums over the rows and columns of a tensor's 64-bit words; the last row is filled up with zeros. */
export function digestOfSums(dtype, shape, bytes) {
  const rows = Math.ceil(bytes.length / (8 * WORDS));
  const padded = new Uint8Array(8 * WORDS * rows);
  padded.set(bytes);
  const halves = new Uint32Array(padded.buffer);
  const [lowRows, highRows] = [new Float64Array(rows), new Float64Array(rows)];
  const [lowColumns, highColumns] = [new Float64Array(WORDS), new Float64Array(WORDS)];
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < WORDS; column++, at += 2) {
      lowRows[row] += halves[at];
      highRows[row] += halves[at + 1];
      lowColumns[column] += halves[at];
      highColumns[column] += halves[at + 1];
    }
  }
  return digest(head(dtype, shape), sums(lowRows, highRows), sums(lowColumns, highColumns));
}
