// Which sentences make the batches of an epoch, in which order: what reservoir.datasets.TokenBatches does, so that the page
// sees the same batches as Python.

const MASK = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;

/** numpy's PCG64(SeedSequence([seed, number])).random_raw: 64-bit words as BigInts. */
export function words(seed, number) {
  const low = (value) => Number(BigInt(value) & 0xffffffffn);
  const entropy = [seed, number].flatMap((value) => { // at least one word each, the lowest first
    const found = [];
    for (let rest = BigInt(value); found.length === 0 || rest; rest >>= 32n) found.push(low(rest));
    return found;
  });
  let constant = 0x43b0d7e5;
  const hash = (given) => {
    let value = given ^ constant;
    constant = Math.imul(constant, 0x931e8875);
    value = Math.imul(value, constant);
    return value ^ (value >>> 16);
  };
  const mixed = (x, y) => { const found = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y); return found ^ (found >>> 16); };
  const pool = [0, 1, 2, 3].map((i) => hash(entropy[i] ?? 0));
  for (let from = 0; from < 4; from += 1) for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mixed(pool[to], hash(pool[from]));
  for (const word of entropy.slice(4)) for (let to = 0; to < 4; to += 1) pool[to] = mixed(pool[to], hash(word));
  constant = 0x8b51f9dd;
  const state = Array.from({ length: 8 }, (_, i) => {
    let value = pool[i % 4] ^ constant;
    constant = Math.imul(constant, 0x58f38ded);
    value = Math.imul(value, constant);
    return BigInt((value ^ (value >>> 16)) >>> 0);
  });
  const wide = (i) => (state[i] | (state[i + 1] << 32n));
  const [begin, stream] = [(wide(0) << 64n) | wide(2), (wide(4) << 64n) | wide(6)];
  const step = ((stream << 1n) | 1n) & MASK;
  let at = (step + begin) & MASK;
  at = (at * MULTIPLIER + step) & MASK;
  return () => {
    at = (at * MULTIPLIER + step) & MASK;
    const value = (at >> 64n) ^ (at & 0xffffffffffffffffn);
    const turn = at >> 122n;
    return ((value >> turn) | (value << (64n - turn))) & 0xffffffffffffffffn;
  };
}

/** The order of drawn words, the earlier first in a tie. */
export const ranked = (drawn) => drawn.map((_, i) => i).sort((a, b) => (drawn[a] < drawn[b] ? -1 : drawn[a] > drawn[b] ? 1 : a - b));

const shuffled = (word, n) => ranked(Array.from({ length: n }, word));

/** The batches of an epoch as arrays of the numbers of pairs; `most` tokens on the longer side, with padding. */
export function epoch(src, tgt, { seed, number, most = 1024 }) {
  const word = words(seed, number);
  const pool = shuffled(word, src.length); // of one pool: the miniature has fewer than 2^16 pairs
  const [a, b] = [src, tgt].map((side) => side.map((ids) => ids.length + 1));
  const rank = (i) => (a[i] % 2 ? -b[i] : b[i]);
  const place = new Map(pool.map((i, at) => [i, at]));
  pool.sort((i, j) => a[i] - a[j] || rank(i) - rank(j) || place.get(i) - place.get(j));
  let room = 1 + Number(word() % BigInt(most));
  const cuts = [];
  let [start, widest] = [0, 0];
  pool.forEach((i, at) => {
    const width = Math.max(a[i], b[i]);
    widest = Math.max(widest, width);
    if (at > start && (at + 1 - start) * widest > room) {
      cuts.push(pool.slice(start, at));
      [start, widest, room] = [at, width, most];
    }
  });
  cuts.push(pool.slice(start));
  return shuffled(word, cuts.length).map((i) => cuts[i]);
}
