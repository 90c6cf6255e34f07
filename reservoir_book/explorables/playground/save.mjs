// A trained model as the folder that reservoir.models.save_pretrained writes, in a zip: `from_pretrained` loads it.
import { digest, digestOfSums } from '../shared/digest.mjs';
import { LONGEST } from './translator.mjs';
import { countsOf, HEADS, lettersOf, written } from './settings.mjs';

const FORMAT = 'reservoir-model-3';
const GENERATOR = 'philox4x32-10, names by FNV-1a, version 1';
const encode = (text) => new TextEncoder().encode(text);
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
/** JSON with the keys of every object in order. */
const sorted = (value) => JSON.stringify(value, (_, one) => (one && typeof one === 'object' && !Array.isArray(one) ? Object.fromEntries(Object.keys(one).sort().map((key) => [key, one[key]])) : one));

function initialisation({ kind, shape, blocks, masked }, keep) {
  if (kind === 'table') return { kind: 'Normal', std: shape[1] ** -0.5, keep: masked ? keep : 1 };
  if (kind === 'matrix') return { kind: 'XavierUniform', gain: blocks ? 2 ** -0.5 : 1, keep: masked ? keep : 1 };
  return { kind: 'Constant', value: kind === 'gain' ? 1 : 0, keep: 1 };
}

function packed(chosen) {
  const bits = new Uint8Array(Math.ceil(chosen.length / 8));
  chosen.forEach((one, i) => { bits[i >> 3] |= one << (i & 7); });
  return bits;
}

/** config.json, model.safetensors, tokenizer.json and README.md, as bytes by name. */
export function folder(engine, tokenizer, about) {
  const { settings, vocabulary, tensors } = engine;
  const mixing = [...lettersOf(settings)].filter(([part]) => /^encoder\.\d+\.attention$/.test(part)).map(([, letter]) => (letter === 'f' ? 'fourier-normalised' : 'attention'));
  const counts = countsOf(settings, vocabulary);
  const config = `${JSON.stringify({
    config: {
      src_vocab: vocabulary, tgt_vocab: vocabulary, d_model: settings.width, n_heads: HEADS, d_ff: 2 * settings.width,
      encoder_layers: settings.encoder, decoder_layers: settings.decoder, norm_first: true, dropout: 0, max_length: LONGEST,
      tie: 'all', encoder_mixing: mixing.includes('fourier-normalised') ? mixing : [],
    },
    data: null, format: FORMAT, labels: [], model: 'EncoderDecoder',
    origins: Object.fromEntries(Object.entries(counts.byOrigin).map(([origin, { weights, bytes }]) => [origin, { weights, stored_bytes: bytes }])),
  }, undefined, 1)}\n`;
  const contents = { parameters: {}, masks: {}, buffers: {} };
  const stored = [];
  for (const tensor of tensors) {
    const { stream, shape, moves, masked, blocks, kind } = tensor;
    const values = engine.read(stream);
    const said = { shape, moves: moves && !masked };
    if (moves && !masked) {
      contents.parameters[stream] = { ...said, origin: 'trained', digest: digestOfSums('torch.float32', shape, bytesOf(values)) };
      stored.push([stream, 'F32', shape, values]);
    } else {
      contents.parameters[stream] = { ...said, origin: 'seeded', seed: engine.seed, stream, blocks: blocks ?? 1, zero_row: kind === 'table' ? 0 : null, initialisation: initialisation(tensor, settings.keep), digest: digestOfSums('torch.float32', shape, bytesOf(values)) };
    }
    if (!masked) continue;
    const bits = packed(engine.bits(stream));
    const name = `${stream}.mask`;
    contents.masks[name] = { shape, digest: digestOfSums('torch.uint8', [bits.length], bits), modules: kind === 'table' ? [stream, 'output'] : [stream] };
    stored.push([name, 'U8', [bits.length], bits]);
  }
  stored.sort(([, a], [, b]) => (a > b) - (a < b)); // words before bytes
  const rows = Object.entries(counts.byOrigin).map(([origin, { weights: many, bytes }]) => `| ${origin} | ${many} | ${bytes} |`);
  const card = ['---', 'library_name: reservoir', '---', '', '# A translator trained in the playground', '', about, '', `Settings: \`${written(settings) || 'standard'}\`.`, '', '| origin of the weights | weights | bytes to store |', '|---|---|---|', ...rows, '', '    from reservoir.models import from_pretrained', '    model = from_pretrained("this folder")', ''].join('\n');
  const others = { 'config.json': encode(config), 'tokenizer.json': encode(tokenizer), 'README.md': encode(card) };
  const text = sorted(contents);
  const files = sorted(Object.fromEntries(Object.entries(others).map(([name, bytes]) => [name, digest(bytes)])));
  const header = { __metadata__: { contents: text, digest: digest(encode(text + files)), files, format: FORMAT, generator: GENERATOR } };
  let at = 0;
  for (const [name, dtype, shape, values] of stored) header[name] = { dtype, shape, data_offsets: [at, (at += values.byteLength)] };
  let head = JSON.stringify(header);
  head += ' '.repeat((8 - (encode(head).length % 8)) % 8);
  const front = encode(head);
  const weights = new Uint8Array(8 + front.length + at);
  new DataView(weights.buffer).setUint32(0, front.length, true);
  weights.set(front, 8);
  let to = 8 + front.length;
  for (const [, , , values] of stored) { weights.set(bytesOf(values), to); to += values.byteLength; }
  return { ...others, 'model.safetensors': weights };
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => { let c = n; for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1; return c; });

function crc32(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** A zip of files as they are, without compression: weights do not shrink. */
export function zip(files, under) {
  const pieces = [];
  const directory = [];
  let at = 0;
  const record = (signature, fields) => { // [value, bytes] after the signature
    const bytes = new Uint8Array(4 + fields.reduce((sum, [, size]) => sum + size, 0));
    const view = new DataView(bytes.buffer);
    view.setUint32(0, signature, true);
    let to = 4;
    for (const [value, size] of fields) { if (size === 2) view.setUint16(to, value, true); else view.setUint32(to, value, true); to += size; }
    return bytes;
  };
  for (const [name, content] of Object.entries(files)) {
    const path = encode(`${under}/${name}`);
    const common = [[20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [crc32(content), 4], [content.length, 4], [content.length, 4], [path.length, 2], [0, 2]];
    directory.push(record(0x02014b50, [[20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), path);
    const local = record(0x04034b50, common);
    pieces.push(local, path, content);
    at += local.length + path.length + content.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const n = Object.keys(files).length;
  const all = [...pieces, ...directory, record(0x06054b50, [[0, 2], [0, 2], [n, 2], [n, 2], [size, 4], [at, 4], [0, 2]])];
  const whole = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
  let to = 0;
  for (const piece of all) { whole.set(piece, to); to += piece.length; }
  return whole;
}
