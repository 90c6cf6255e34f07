// Which words are hidden, and what is read there instead: as reservoir.training.mask does it, without a page.
import { permutation } from '../shared/draws.mjs';
import { Stream } from '../shared/philox.mjs';

const [MASKED, REPLACED] = [0.8, 0.1];

/** To the nearest whole number, a half to the even one, as Python rounds. */
export function rounded(value) {
  const low = Math.floor(value);
  const rest = value - low;
  return rest === 0.5 ? low + (low % 2) : Math.round(value);
}

/**
 * What is done to each of n words in an epoch: undefined, or { way: 'mask' | 'random' | 'kept', read }, where `read` is
 * the number of the word that stands there instead.
 */
export function hidden({ seed, epoch, n, share }) {
  const stream = new Stream(seed, `masking/${epoch}`);
  const asked = permutation(stream, n).subarray(0, Math.max(1, rounded(share * n)));
  const masks = rounded(MASKED * asked.length);
  const replaced = rounded((MASKED + REPLACED) * asked.length);
  const random = stream.words(n, 2 * n);
  const found = Array.from({ length: n });
  asked.forEach((word, place) => {
    if (place < masks) found[word] = { way: 'mask' };
    else if (place < replaced) found[word] = { way: 'random', read: random[place] % n };
    else found[word] = { way: 'kept', read: word };
  });
  return found;
}

/** The words that were asked about at least once in the first `epochs` epochs, drawn anew in each or once and for all. */
export function covered({ seed, epochs, n, share, anew }) {
  const seen = new Set();
  for (let epoch = 0; epoch < (anew ? epochs : 1); epoch += 1) {
    hidden({ seed, epoch, n, share }).forEach((one, word) => one && seen.add(word));
  }
  return seen.size;
}
