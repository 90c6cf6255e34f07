// What the explorable of frozen bodies computes: how much of a model moves, which run that was, and how its bar is cut.

export const PARTS = ['input', 'output', 'positions', 'norms', 'attention', 'feed_forward'];
const LEAST = 3; // of a piece of the bar, in pixels

/** Parameters in all and of those that move, and their share; `of` has the parameters of each part. */
export function cost(of, moves) {
  const total = PARTS.reduce((sum, part) => sum + of[part], 0);
  const trained = PARTS.reduce((sum, part) => sum + (moves[part] ? of[part] : 0), 0);
  return { total, trained, share: trained / total };
}

/** The run that begins so and trains these parts, or undefined: not every choice has a recipe. */
export function rowOf(rows, start, moves) {
  return rows.find((row) => row.start === start && PARTS.every((part) => row.trained.includes(part) === moves[part]));
}

/** A bar as long as `width`, cut by parameters: {part, x, width}. The smallest parts are wider than they are, to be seen. */
export function bar(of, width) {
  const total = PARTS.reduce((sum, part) => sum + of[part], 0);
  const small = PARTS.filter((part) => (of[part] / total) * width < LEAST);
  const rest = PARTS.reduce((sum, part) => sum + (small.includes(part) ? 0 : of[part]), 0);
  const unit = (width - LEAST * small.length) / rest;
  let x = 0;
  return PARTS.map((part) => {
    const piece = { part, x, width: small.includes(part) ? LEAST : of[part] * unit };
    x += piece.width;
    return piece;
  });
}

/** A share as one reads it: "4.4 %", "0.03 %". */
export function percent(share) {
  const digits = share === 0 || share >= 0.1 ? 0 : share >= 0.01 ? 1 : 2;
  return `${(100 * share).toFixed(digits)} %`;
}
