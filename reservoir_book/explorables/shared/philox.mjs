// Philox 4x32-10 and the streams that reservoir.weights.draws draws from: the same words, bit for bit.
//
// JavaScript has no 64-bit product of two 32-bit words, so its upper half is put together from four products of 16-bit
// halves (Math.imul keeps the lower 32 bits of each). All sums are of integers that fit 32 bits, which a browser adds as such:
// more than twice as fast as with doubles. BigInt would do it in one line and take twenty times as long.

const [M0, M1] = [0xd2511f53, 0xcd9e8d57];
const KEY_STEPS = [0x9e3779b9, 0xbb67ae85];
const ROUNDS = 10;
const TWO32 = 2 ** 32;
const [M0_LOW, M0_HIGH, M1_LOW, M1_HIGH] = [M0, M1].flatMap((m) => [m & 0xffff, m >>> 16]);

/** The two words of the key in each of the ten rounds, one after the other. */
function keySchedule(low, high) {
  const keys = new Int32Array(2 * ROUNDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    keys[2 * round] = low + Math.imul(round, KEY_STEPS[0]);
    keys[2 * round + 1] = high + Math.imul(round, KEY_STEPS[1]);
  }
  return keys;
}

/** `count` blocks of four words into `out`. The first has the counter (low, high, hash), and each next one more in it. */
function fill(out, low, high, count, keys, hashLow, hashHigh) {
  for (let at = 0; at < count; at += 1) {
    let c0 = (low + at) | 0; // modulo 2^32, like every |0
    let c1 = (high + Math.floor((low + at) / TWO32)) | 0;
    let c2 = hashLow;
    let c3 = hashHigh;
    for (let round = 0; round < 2 * ROUNDS; round += 2) {
      const low0 = c0 & 0xffff;
      const high0 = c0 >>> 16;
      const one0 = Math.imul(high0, M0_LOW);
      const other0 = Math.imul(low0, M0_HIGH);
      const carry0 = (one0 & 0xffff) + (other0 & 0xffff) + (Math.imul(low0, M0_LOW) >>> 16);
      const upper0 = (Math.imul(high0, M0_HIGH) + (one0 >>> 16) + (other0 >>> 16) + (carry0 >>> 16)) | 0;
      const low1 = c2 & 0xffff;
      const high1 = c2 >>> 16;
      const one1 = Math.imul(high1, M1_LOW);
      const other1 = Math.imul(low1, M1_HIGH);
      const carry1 = (one1 & 0xffff) + (other1 & 0xffff) + (Math.imul(low1, M1_LOW) >>> 16);
      const upper1 = (Math.imul(high1, M1_HIGH) + (one1 >>> 16) + (other1 >>> 16) + (carry1 >>> 16)) | 0;
      const lower0 = Math.imul(c0, M0);
      const lower1 = Math.imul(c2, M1);
      c0 = upper1 ^ c1 ^ keys[round];
      c1 = lower1;
      c2 = upper0 ^ c3 ^ keys[round + 1];
      c3 = lower0;
    }
    out[4 * at] = c0;
    out[4 * at + 1] = c1;
    out[4 * at + 2] = c2;
    out[4 * at + 3] = c3;
  }
  return out;
}

/** Philox 4x32-10 of one counter (four words) under a key (two words): four words. */
export function philox(counter, key) {
  const [c0, c1, c2, c3] = counter;
  return [...fill(new Uint32Array(4), c0, c1, 1, keySchedule(key[0] | 0, key[1] | 0), c2 | 0, c3 | 0)];
}

/** 64-bit FNV-1a over the UTF-8 bytes of `name`, as a BigInt. */
export function nameHash(name) {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(name)) value = ((value ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return value;
}

/** A seed as a BigInt: a whole number, a BigInt, or (as JSON has no large integers) its decimal digits. */
function seedOf(given) {
  const whole = typeof given === 'bigint' || Number.isSafeInteger(given) || (typeof given === 'string' && /^\d+$/.test(given));
  const seed = whole ? BigInt(given) : -1n;
  if (seed < 0n || seed >= 2n ** 64n) throw new RangeError(`seed must be an integer in [0, 2**64), got ${String(given)}; write one above 2**53 as text or BigInt`);
  return seed;
}

/**
 * An endless sequence of 32-bit random words, chosen by a seed and a name; `reservoir.weights.Stream` gives the same.
 * Word i is word i % 4 of block i // 4, and a block is Philox of (its number, the name's hash) under the seed.
 */
export class Stream {
  constructor(seed, name) {
    if (typeof name !== 'string') throw new TypeError(`name must be a string, got ${String(name)}`);
    this.seed = seedOf(seed);
    this.name = name;
    const hash = nameHash(name);
    const halves = (value) => [Number(value & 0xffffffffn) | 0, Number(value >> 32n) | 0];
    this.hash = halves(hash);
    this.keys = keySchedule(...halves(this.seed));
  }

  /** The stream of the same seed named `<name>/<part>`. */
  sub(part) {
    return new Stream(this.seed, `${this.name}/${part}`);
  }

  /** Blocks first … last, the latter left out, four words each: a Uint32Array. */
  blocks(first, last) {
    const count = last - first;
    return fill(new Uint32Array(4 * count), first % TWO32, Math.floor(first / TWO32), count, this.keys, ...this.hash);
  }

  /** Words start … stop, the latter left out: a Uint32Array. */
  words(start, stop) {
    if (!(Number.isSafeInteger(start) && Number.isSafeInteger(stop) && start >= 0 && start <= stop)) {
      throw new RangeError(`start and stop must satisfy 0 <= start <= stop, got ${start} and ${stop}`);
    }
    const first = Math.floor(start / 4);
    const drawn = this.blocks(first, Math.ceil(stop / 4));
    return drawn.subarray(start - 4 * first, stop - 4 * first);
  }
}
