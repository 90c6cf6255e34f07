// Recorded runs as explorables show them: curves over seeds, means, and large numbers in a few characters.

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The mean curve of a row over its seeds, and its lowest and highest: {x, mean, low, high}, or undefined. */
export function curve(row) {
  if (!row?.curves.length) return undefined;
  const [x] = row.curves[0];
  const at = x.map((_, i) => row.curves.map(([, y]) => y[i]).filter(Number.isFinite));
  return { x, mean: at.map(mean), low: at.map((values) => Math.min(...values)), high: at.map((values) => Math.max(...values)) };
}

/** A number in three significant figures with its letter: "1.31 M", "914 k", "8.4 T". */
export function short(value) {
  for (const [size, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    // A number that rounds up to a thousand takes the next letter.
    if (value >= size * 0.9995) return `${Number((value / size).toPrecision(3))} ${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}
