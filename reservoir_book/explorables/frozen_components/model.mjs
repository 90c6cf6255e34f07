// What the component explorable computes: which row of a table is chosen, what moves in it, and how the stack is drawn.

export const PARTS = ['embeddings', 'attention', 'feed_forward'];
const HEIGHT = 15; // of a box, in pixels
const GAP = 3;

/** How many attentions and feed-forward layers a model has: `of` as `counted` in recorded.py makes it. */
const times = (of) => ({ embeddings: 1, attention: of.encoder + of.across * of.decoder, feed_forward: of.encoder + of.decoder });

/** Parameters in all and of those that move, their share, and the bytes to store: a frozen weight is drawn again. */
export function cost(of, moves) {
  const count = times(of);
  const total = PARTS.reduce((sum, part) => sum + of[part] * count[part], of.norms);
  const trained = PARTS.reduce((sum, part) => sum + (moves[part] ? of[part] * count[part] : 0), of.norms);
  return { total, trained, share: trained / total, bytes: 4 * trained };
}

/**
 * How a frozen map is drawn where it makes a difference: where attention or feed-forward layers alone are frozen. The
 * tables have no other row with a choice.
 */
export function drawnOf(rows, moves, drawn) {
  return rows.some((row) => row.drawn === drawn && fits(row, moves)) ? drawn : 'as-trained';
}

const fits = (row, moves) => PARTS.every((part) => row.frozen.includes(part) === !moves[part]);

/** The row of a table with these components frozen, or undefined: not every choice has been tried. */
export function rowOf(rows, moves, drawn) {
  return rows.find((row) => fits(row, moves) && row.drawn === drawnOf(rows, moves, drawn));
}

/** Whether the table has rows for these components that differ in how they are drawn. */
export const choices = (rows, moves) => rows.filter((row) => fits(row, moves)).map((row) => row.drawn);

/**
 * The stack as boxes that are as long as they have parameters, the top line first: {part, side, x, y, width, height}.
 * The longest line fills `width`.
 */
export function boxes(of, width) {
  const lines = [];
  for (let layer = Math.max(of.encoder, of.decoder) - 1; layer >= 0; layer -= 1) {
    const line = {};
    if (layer < of.encoder) line.encoder = ['attention', 'feed_forward'];
    if (layer < of.decoder) line.decoder = [...Array(of.across).fill('attention'), 'feed_forward'];
    lines.push(line);
  }
  const size = (parts) => (parts ?? []).reduce((sum, part) => sum + of[part], 0);
  const between = of.encoder ? 8 * GAP : 0;
  const unit = Math.min(
    (width - GAP * 3) / of.embeddings,
    ...lines.map((line) => (width - between - GAP * 5) / (size(line.encoder) + size(line.decoder))),
  );
  const left = of.encoder ? size(lines.at(-1).encoder) * unit + GAP + between : 0;
  const found = [];
  lines.forEach((line, number) => {
    for (const [side, parts] of Object.entries(line)) {
      let x = side === 'decoder' ? left : 0;
      for (const part of parts) {
        found.push({ part, side, x, y: number * (HEIGHT + GAP), width: of[part] * unit, height: HEIGHT });
        x += of[part] * unit + GAP;
      }
    }
  });
  found.push({ part: 'embeddings', side: 'both', x: 0, y: lines.length * (HEIGHT + GAP) + 2 * GAP, width: of.embeddings * unit, height: HEIGHT });
  return found;
}
