// A model as reservoir.models.save_pretrained wrote it: weights drawn from their seeds, bits applied, digests checked.
//
// The folder's files are read as they are: config.json, model.safetensors, tokenizer.json. What does not agree is refused
// with the tensor's name, as Python refuses it.
import { Vocabulary } from '../shared/bpe.mjs';
import { digest, digestOfSums, head } from '../shared/digest.mjs';
import { normal, sign, uniform } from '../shared/draws.mjs';
import { EncoderDecoder } from '../shared/encoder-decoder.mjs';
import { Stream } from '../shared/philox.mjs';

const FORMATS = ['reservoir-model-3', 'reservoir-model-2', 'reservoir-model-1'];
const GENERATOR = 'philox4x32-10, names by FNV-1a, version 1';
const DTYPES = { F32: ['torch.float32', 4], U8: ['torch.uint8', 1] };
const END = 2;
const UNKNOWN = 3;

/** A stored model cannot be used; the message says which tensor, and why. */
export class StoredError extends Error {}

const text = (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** The tensors of a safetensors file by name, and its metadata. */
export function readSafetensors(bytes) {
  let header;
  let start;
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    start = 8 + Number(view.getBigUint64(0, true));
    header = JSON.parse(text(bytes.subarray(8, start)));
  } catch (error) {
    throw new StoredError(`the file is damaged, or no safetensors file (${error.message})`);
  }
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(entries)) {
    const [written, width] = DTYPES[dtype] ?? [];
    if (!width || to - from !== width * product(shape)) throw new StoredError(`${name} is damaged: ${dtype} of (${shape})`);
    if (start + to > bytes.length) throw new StoredError(`the file ends within ${name}`);
    tensors.set(name, { shape, written, bytes: bytes.slice(start + from, start + to) });
  }
  return { tensors, metadata };
}

/** The contents of formats 2 and 3, one entry for each parameter and mask, in the groups of format 1. */
function byOrigin({ parameters, masks }) {
  const groups = { seeded: {}, trained: {}, pretrained: {} };
  for (const [name, said] of Object.entries(parameters)) groups[said.origin][name] = said;
  const masked = {};
  for (const [name, { modules }] of Object.entries(masks)) for (const module of modules) masked[module] = name;
  return { drawn: groups.seeded, trained: groups.trained, pretrained: groups.pretrained, masks, masked };
}

/** What an initialisation draws, as `Initialisation.elementwise` says: [a draw, its options]. */
function elementwise(said, shape, blocks) {
  const larger = Math.sqrt(1 / (said.keep ?? 1));
  const window = product(shape.slice(2));
  const fanIn = shape[1] * window;
  const fanOut = Math.floor(shape[0] / blocks) * window;
  switch (said.kind) {
    case 'XavierUniform': return [uniform, { bound: (said.gain ?? 1) * Math.sqrt(6 / (fanIn + fanOut)) * larger }];
    case 'KaimingUniform': return [uniform, { bound: Math.sqrt(6 / ((1 + said.a * said.a) * fanIn)) * larger }];
    case 'SignedConstant': return [sign, { scale: (said.gain / Math.sqrt(fanIn)) * larger }];
    case 'Normal': return [normal, { std: said.std * larger }];
    case 'Uniform': return [uniform, { bound: said.bound * larger }];
    case 'Constant': return [(stream, n, { value }) => new Float32Array(n).fill(value), { value: said.value * larger }];
    default: throw new StoredError(`a page does not draw ${said.kind}`);
  }
}

/** A tensor that is nothing but a seed, a name and an initialisation, held against its digest. */
function draw(name, said, shape, { metadata }) {
  const [kind, options] = elementwise(said.initialisation, shape, said.blocks);
  const drawn = kind(new Stream(said.seed, said.stream), product(shape), options);
  if (said.zero_row !== null) drawn.fill(0, said.zero_row * shape[1], (said.zero_row + 1) * shape[1]);
  const found = metadata.format === FORMATS[0] ? digestOfSums('torch.float32', shape, bytesOf(drawn)) : digest(bytesOf(drawn));
  if (found !== said.digest) throw new StoredError(`${name}, drawn from seed ${said.seed}, is not what its digest says`);
  return drawn;
}

/** A tensor of the file, held against its digest. */
function stored(name, said, { tensors, metadata }) {
  const tensor = tensors.get(name);
  if (!tensor) throw new StoredError(`the file has nothing for ${name}`);
  const { written, shape, bytes } = tensor;
  const found = metadata.format === FORMATS[0] ? digestOfSums(written, shape, bytes) : digest(head(written, shape), bytes);
  if (found !== said.digest) throw new StoredError(`${name} is damaged: its digest does not match`);
  return tensor;
}

/** Shapes of an encoder-decoder's tensors by stream, for one layer a side. */
function shapes({ src_vocab: src, tgt_vocab: tgt, d_model: d, d_ff: ff, tie }) {
  const found = { 'encoder.norm': [d], 'decoder.norm': [d] };
  if (tie === 'all') found.embedding = [src, d];
  else Object.assign(found, { 'encoder.embedding': [src, d], 'decoder.embedding': [tgt, d] });
  for (const side of ['encoder', 'decoder']) {
    const matrices = { 'attention.qkv': [3 * d, d], 'attention.out': [d, d], 'feed_forward.up': [ff, d], 'feed_forward.down': [d, ff] };
    if (side === 'decoder') Object.assign(matrices, { 'cross.query': [d, d], 'cross.kv': [2 * d, d], 'cross.out': [d, d] });
    for (const [name, shape] of Object.entries(matrices)) found[`${side}.*.${name}`] = shape;
    for (const part of side === 'decoder' ? ['mixing', 'cross', 'feed_forward'] : ['mixing', 'feed_forward']) found[`${side}.*.${part}.norm`] = [d];
  }
  return found;
}

/** What encoder-decoder.mjs calls the tensor of a stream: "encoder.0.attention.qkv" is encoder.0.mixing.sublayer.qkv. */
const called = (stream) => stream
  .replace(/^embedding$|^encoder\.embedding$/, 'src_embedding').replace(/^decoder\.embedding$/, 'tgt_embedding')
  .replace(/^(encoder|decoder)\.norm$/, '$1_norm')
  .replace(/\.attention\./, '.mixing.sublayer.').replace(/\.(cross|feed_forward)\.(?!norm$)/, '.$1.sublayer.');

/** Bits of a packed mask as zeros and ones: element i is bit i % 8 of byte i // 8. */
function unpacked(bytes, n) {
  const bits = new Uint8Array(n);
  for (let i = 0; i < n; i += 1) bits[i] = (bytes[i >> 3] >> (i & 7)) & 1;
  return bits;
}

export class StoredModel {
  /**
   * @param {{config: string, weights: Uint8Array, tokenizer: string}} files of the folder
   * @throws {StoredError} something is damaged, missing or of another version
   */
  constructor({ config, weights, tokenizer }) {
    const file = readSafetensors(weights);
    const { metadata } = file;
    if (!FORMATS.includes(metadata.format)) throw new StoredError(`the file must have the format ${FORMATS.join(' or ')}, got ${String(metadata.format).slice(0, 60)}`);
    let contents;
    let sizes;
    try {
      contents = JSON.parse(metadata.contents.replace(/"seed": ?(\d+)/g, '"seed": "$1"')); // 64 bits are too many for a number
      if (metadata.format !== FORMATS.at(-1)) contents = byOrigin(contents);
      const said = JSON.parse(config);
      if (said.model !== 'EncoderDecoder') throw new Error(`a page runs an EncoderDecoder, not ${said.model}`);
      sizes = said.config;
    } catch (error) {
      throw new StoredError(`what the model is cannot be read (${error.message})`);
    }
    const drawn = Object.keys(contents.drawn);
    if (drawn.length && metadata.generator !== GENERATOR) throw new StoredError(`${drawn[0]} was drawn by “${metadata.generator}”, and this page draws by “${GENERATOR}”`);
    if (metadata.config !== digest(new TextEncoder().encode(config))) throw new StoredError('the file was not written with the config.json next to it, or one of the two is damaged');
    for (const [name, wanted] of Object.entries({ norm_first: true, activation: 'relu', positions: 'sinusoidal' })) {
      if (sizes[name] !== wanted) throw new StoredError(`a page runs a model with ${name}=${wanted}, got ${sizes[name]}`);
    }
    this.sizes = sizes;
    this.contents = contents;
    this.counts = { drawn: 0, bits: 0, trained: 0 };
    this.places = []; // of masked matrices, to look at: {name, rows, columns, weight, bits}
    this.model = new EncoderDecoder(sizes, this.#tensors(file));
    if (metadata.digest !== digest(new TextEncoder().encode(metadata.contents))) throw new StoredError('its list of contents is damaged: its digest does not match');
    this.vocabulary = vocabularyOf(tokenizer);
  }

  #tensors(file) {
    const { contents, sizes } = this;
    const raw = new Map(); // owners, by stream
    const masks = new Map();
    const tensors = new Map();
    const base = (stream) => (sizes.share_layers ? stream.replace(/^(encoder|decoder)\.\d+\./, '$1.0.') : stream);
    const own = (name, shape) => {
      if (raw.has(name)) return raw.get(name);
      let found;
      if (contents.drawn[name]) {
        found = draw(name, contents.drawn[name], shape, file);
        this.counts.drawn += found.length;
      } else if (contents.trained[name] ?? contents.pretrained[name]) {
        const { bytes, written, shape: has } = stored(name, contents.trained[name] ?? contents.pretrained[name], file);
        if (written !== 'torch.float32' || product(has) !== product(shape)) throw new StoredError(`the file has (${has}) for ${name}, not (${shape})`);
        found = new Float32Array(bytes.buffer);
        this.counts.trained += found.length;
      }
      raw.set(name, found);
      return found;
    };
    const mask = (name, n) => {
      if (!masks.has(name)) {
        const { bytes, shape } = stored(name, contents.masks[name] ?? {}, file);
        if (shape[0] !== Math.ceil(n / 8)) throw new StoredError(`the file has (${shape}) for ${name}, not (${Math.ceil(n / 8)})`);
        masks.set(name, unpacked(bytes, n));
        this.counts.bits += n;
      }
      return masks.get(name);
    };
    for (const [pattern, shape] of Object.entries(shapes(sizes))) {
      const depth = pattern.includes('*') ? sizes[`${pattern.slice(0, 7)}_layers`] : 1;
      for (let layer = 0; layer < depth; layer += 1) {
        const stream = pattern.replace('*', layer);
        const weight = own(base(stream), shape);
        if (!weight && !/norm$/.test(stream)) throw new StoredError(`nothing is said of ${stream}`);
        if (!weight) continue; // a norm without numbers of its own
        let used = weight;
        if (contents.masked[stream]) {
          const bits = mask(contents.masked[stream], weight.length);
          used = weight.map((value, i) => value * bits[i]);
          this.places.push({ name: stream, rows: shape[0], columns: shape[1], weight, bits });
        }
        tensors.set(`${called(stream)}.weight`, used);
        const bias = own(`${base(stream)}.bias`, [shape[0]]);
        if (bias) tensors.set(`${called(stream)}.bias`, bias);
      }
    }
    return tensors;
  }

  /**
   * A greedy translation, as `translate(…, decoding=Decoding(beam=1))` makes it.
   * @returns {{translation: string, ids: number[], complete: boolean, gap: number, unknown: string[]}} gap: the least
   *   distance between the two highest logits on the way, which says how nearly it would have been another one
   */
  translate(sentence) {
    const { vocabulary, model } = this;
    const src = [...vocabulary.encode(sentence), END];
    if (src.length === 1) return { translation: '', ids: [], complete: true, gap: Infinity, unknown: [] };
    const { memory } = model.encode(src);
    const { ids, p, gaps } = model.translate(memory, Math.floor(1.5 * src.length) + 9); // one place is the end's
    const known = new Set(vocabulary.tokens);
    return {
      translation: vocabulary.decode(ids), ids, complete: p.length > ids.length, gap: Math.min(...gaps),
      unknown: src.includes(UNKNOWN) ? [...new Set(Vocabulary.normalise(sentence))].filter((c) => c !== ' ' && !known.has(c)) : [],
    };
  }
}

/** The vocabulary of a tokenizer.json: its pieces by id, and its merges as pairs of ids. */
export function vocabularyOf(tokenizer) {
  const { model } = JSON.parse(tokenizer);
  const tokens = [];
  for (const [piece, id] of Object.entries(model.vocab)) tokens[id] = piece;
  const pairs = model.merges.map((pair) => (Array.isArray(pair) ? pair : pair.split(' ')));
  return new Vocabulary(tokens, pairs.map((pair) => pair.map((piece) => model.vocab[piece])));
}

/** A copy of the bytes with one bit turned over. */
export function flipped(bytes, bit) {
  const copy = bytes.slice();
  copy[bit >> 3] ^= 1 << (bit & 7);
  return copy;
}
