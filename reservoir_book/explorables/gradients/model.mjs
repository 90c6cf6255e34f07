// Arrows that were recorded: where each begins and ends, and how alike two sets of them are.

export const KINDS = ['value', 'identity', 'synthetic']; // after the true ones, in the order in which they are stored
export const LEVELS = 100; // of an arrow as long as the longest true one of its step

/** The arrows of a step, [[x, y], …], one for each word: of the true gradient (`undefined`) or of an estimate. */
export function arrows(bytes, { frame, kind, words }) {
  const series = kind === undefined ? 0 : 1 + KINDS.indexOf(kind);
  const start = (frame * (1 + KINDS.length) + series) * words * 2;
  const signed = (at) => (bytes[at] << 24) >> 24;
  return Array.from({ length: words }, (_, i) => [signed(start + 2 * i) / LEVELS, signed(start + 2 * i + 1) / LEVELS]);
}

/** Cosine of the angle between two sets of arrows, each taken as one long vector. */
export function cosine(a, b) {
  const dot = (u, v) => u.reduce((sum, [x, y], i) => sum + x * v[i][0] + y * v[i][1], 0);
  const norms = Math.sqrt(dot(a, a) * dot(b, b));
  return norms ? dot(a, b) / norms : 0;
}

/** The word whose estimate misses most, and by how much of the longest true arrow. */
export function worst(a, b) {
  const misses = a.map(([x, y], i) => Math.hypot(x - b[i][0], y - b[i][1]));
  const most = Math.max(...misses);
  return { word: misses.indexOf(most), miss: most };
}
