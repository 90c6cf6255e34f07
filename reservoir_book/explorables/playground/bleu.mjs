// Corpus BLEU as sacreBLEU has it, for texts whose only marks are those of the miniature: tokens by 13a's rules for them,
// "exp" smoothing, one reference.

const tokens = (line) => line.replace(/([.,?!:;"()])/g, ' $1 ').split(/\s+/).filter(Boolean);

function grams(list, n) {
  const found = new Map();
  for (let i = 0; i + n <= list.length; i += 1) { const gram = list.slice(i, i + n).join(' '); found.set(gram, (found.get(gram) ?? 0) + 1); }
  return found;
}

/** The score, from 0 to 100. */
export function bleu(written, references) {
  const [right, all] = [[0, 0, 0, 0], [0, 0, 0, 0]];
  let [length, wanted] = [0, 0];
  written.forEach((line, i) => {
    const [ours, theirs] = [tokens(line), tokens(references[i])];
    length += ours.length;
    wanted += theirs.length;
    for (let n = 1; n <= 4; n += 1) {
      const known = grams(theirs, n);
      for (const [gram, count] of grams(ours, n)) right[n - 1] += Math.min(count, known.get(gram) ?? 0);
      all[n - 1] += Math.max(0, ours.length - n + 1);
    }
  });
  if (!right.some(Boolean)) return 0;
  let [smoothed, sum] = [1, 0];
  for (let n = 0; n < 4 && all[n]; n += 1) {
    if (!right[n]) smoothed *= 2;
    sum += Math.log((right[n] || 1 / smoothed) / all[n]);
  }
  if (all.includes(0)) return 0;
  return 100 * Math.min(1, Math.exp(1 - wanted / length)) * Math.exp(sum / 4);
}
