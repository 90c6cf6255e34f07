// What the attention explorable computes: pieces, a translation, and where every head looks, for one sentence.
import { Vocabulary } from '../shared/bpe.mjs';
import { EncoderDecoder, unpack } from '../shared/encoder-decoder.mjs';

const END = 2;
const UNKNOWN = 3;

/** Bytes of a model's trait, however the front end hands them over, from the beginning of a buffer of their own. */
const bytes = (view) => view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);

export class Translator {
  constructor({ sizes, tokens, merges, names, numbers, steps }) {
    this.sizes = sizes;
    this.vocabulary = new Vocabulary(tokens, merges);
    this.model = new EncoderDecoder(sizes, unpack(names, new Float32Array(bytes(numbers)), new Uint8Array(bytes(steps))));
  }

  /**
   * @param {string} sentence
   * @returns {object} src, tgt: pieces with their end; p: the probability of each piece written; encoder and cross: maps,
   *   a Float32Array (rows, src) for each head, layer by layer; unknown: characters that training never saw; spelt: words
   *   that are read in pieces
   */
  look(sentence) {
    const { vocabulary, model, sizes } = this;
    const src = [...vocabulary.encode(sentence), END];
    const { memory, maps } = model.encode(src);
    const found = model.translate(memory, Math.floor(1.5 * src.length) + 10);
    const tgt = found.p.length > found.ids.length ? [...found.ids, END] : found.ids;
    const heads = (layers) => layers.flatMap((map) => Array.from({ length: sizes.n_heads }, (_, h) => map.subarray((h * map.length) / sizes.n_heads, ((h + 1) * map.length) / sizes.n_heads)));
    const piece = (id) => vocabulary.tokens[id];
    const known = new Set(vocabulary.tokens);
    return {
      src: src.map(piece), tgt: tgt.map(piece), p: found.p, encoder: heads(maps), cross: heads(found.maps),
      ids: { src, tgt }, translation: vocabulary.decode(found.ids), complete: tgt.at(-1) === END,
      unknown: src.includes(UNKNOWN) ? [...new Set(Vocabulary.normalise(sentence))].filter((c) => c !== ' ' && !known.has(c)) : [],
      spelt: Vocabulary.words(sentence).filter((word) => /^▁../u.test(word) && vocabulary.encode(word).length > 1).map((word) => word.slice(1)),
    };
  }

  /** The names of the heads: layer and head, as in "1.2". */
  heads(side) {
    const layers = side === 'tgt' ? this.sizes.decoder_layers : this.sizes.encoder_layers;
    return Array.from({ length: layers * this.sizes.n_heads }, (_, i) => `${Math.floor(i / this.sizes.n_heads) + 1}.${(i % this.sizes.n_heads) + 1}`);
  }
}

/** The weights of one row (the piece in focus) for each head, and their mean. */
export function rows(shown, side, index) {
  const width = shown.src.length;
  const each = shown[side === 'tgt' ? 'cross' : 'encoder'].map((map) => map.subarray(index * width, (index + 1) * width));
  const mean = Float32Array.from({ length: width }, (_, j) => each.reduce((sum, row) => sum + row[j], 0) / each.length);
  return { each, mean };
}
