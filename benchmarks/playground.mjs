// Steps of the playground's default run, by its own engine or by TensorFlow.js, for `python -m benchmarks playground`; and
// draws of weights.
//
//     node benchmarks/playground.mjs engine
//     node benchmarks/playground.mjs draws
//     node benchmarks/playground.mjs wasm|cpu NODE_MODULES     a backend of TensorFlow.js
//
// The first line of the input is JSON, {lexicon, tokenizer, batches, seed, drawn}; each line after that is a turn's number.
// Each turn makes one step on batch `turn % batches` and answers with the loss before it, per token, in nats, and with the
// seconds of processor time that it took; or it draws `drawn` numbers of the stream named `turn`, and answers with the size
// of the last one.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { drawn } from '../reservoir_book/explorables/playground/engine.mjs';
import { epoch } from '../reservoir_book/explorables/playground/order.mjs';
import { HEADS, STANDARD, tensorsOf } from '../reservoir_book/explorables/playground/settings.mjs';
import { rateAt, Translator } from '../reservoir_book/explorables/playground/translator.mjs';
import { prepare } from '../reservoir_book/explorables/playground/worker.mjs';
import { uniform } from '../reservoir_book/explorables/shared/draws.mjs';
import { Stream } from '../reservoir_book/explorables/shared/philox.mjs';

const [BEGIN, END] = [1, 2];
const [side, modules] = process.argv.slice(2);

/** The engine as the page runs it. */
function engine({ data, batches, settings, pieces }) {
  const wasm = readFileSync(new URL('../reservoir_book/explorables/playground/kernels.wasm', import.meta.url));
  const made = new Translator(new WebAssembly.Module(wasm), settings, pieces);
  return (turn) => {
    made.load(data.src, data.tgt, batches[turn % batches.length]);
    return made.train();
  };
}

/** The same model in TensorFlow.js: padded batches, its automatic gradients, its Adam (without weight decay), clipping. */
async function tensorflow({ data, batches, settings, pieces }) {
  const require = createRequire(path.join(path.resolve(modules), 'of-the-benchmark.js'));
  const tf = require('@tensorflow/tfjs');
  if (side === 'wasm') require('@tensorflow/tfjs-backend-wasm').setWasmPaths(`${path.join(path.resolve(modules), '@tensorflow', 'tfjs-backend-wasm', 'dist')}${path.sep}`);
  await tf.setBackend(side);
  await tf.ready();
  const d = settings.width;
  const v = Object.fromEntries(tensorsOf(settings, pieces).map((tensor) => [tensor.stream, tf.variable(tf.tensor(drawn(settings.seed, tensor), tensor.shape))]));

  const padded = (rows, begin) => { // ids in rows of equal length: {ids, places, free: 0 or 1, rows, length}
    const length = Math.max(...rows.map((row) => row.length));
    const flat = rows.flatMap((row) => [...row, ...Array(length - row.length).fill(0)]);
    const free = rows.flatMap((row) => [...Array(row.length).fill(1), ...Array(length - row.length).fill(0)]);
    return { ids: tf.tensor1d(flat, 'int32'), free, rows: rows.length, length, begin };
  };
  const cut = batches.map((chosen) => {
    const src = padded(chosen.map((i) => [...data.src[i], END]));
    const tgt = padded(chosen.map((i) => [BEGIN, ...data.tgt[i]]));
    const out = padded(chosen.map((i) => [...data.tgt[i], END]));
    const bar = (keys) => tf.tensor(keys.free.map((one) => (one ? 0 : -1e9)), [keys.rows, 1, 1, keys.length]);
    const causal = tf.tensor(Array.from({ length: tgt.length ** 2 }, (_, i) => (i % tgt.length > Math.floor(i / tgt.length) ? -1e9 : 0)), [1, 1, tgt.length, tgt.length]);
    const counted = out.free.reduce((a, b) => a + b, 0);
    return { src, tgt, out, srcBar: bar(src), causal, free: tf.tensor2d(out.free, [out.free.length, 1]), counted };
  });
  const waves = (length) => tf.tensor2d(Array.from({ length: length * d }, (_, i) => {
    const [t, j] = [Math.floor(i / d), i % d];
    const angle = t * 10000 ** ((-2 * (j % (d / 2))) / d);
    return j < d / 2 ? Math.sin(angle) : Math.cos(angle);
  }), [length, d]);
  const positions = new Map();
  for (const { src, tgt } of cut) for (const { length } of [src, tgt]) if (!positions.has(length)) positions.set(length, waves(length));

  // The gradient of a look-up by scattering: the backend in WebAssembly has none of its own.
  const look = tf.customGrad((table, ids, save) => {
    save([ids]);
    return { value: tf.gather(table, ids), gradFunc: (dy, [kept]) => [tf.scatterND(kept.expandDims(1), dy, table.shape), tf.zerosLike(kept)] };
  });
  const smoothed = (ids, free) => tf.customGrad((logits, save) => { // the loss summed over targets, with its gradient by hand
    const wanted = tf.oneHot(ids, pieces).mul(1 - settings.smoothing).add(settings.smoothing / pieces);
    const shifted = logits.sub(logits.max(1, true));
    const log = shifted.sub(shifted.exp().sum(1, true).log());
    save([log, wanted]);
    return { value: log.mul(wanted).sum(1, true).mul(free).sum().neg(), gradFunc: (dy, [kept, goal]) => kept.exp().sub(goal).mul(free).mul(dy) };
  });
  const embed = ({ ids, rows, length }) => look(v.embedding, ids).mul(Math.sqrt(d)).reshape([rows, length, d]).add(positions.get(length)).reshape([rows * length, d]);
  const norm = (x, stream) => {
    const centred = x.sub(x.mean(1, true));
    return centred.mul(centred.square().mean(1, true).add(1e-5).rsqrt()).mul(v[stream]).add(v[`${stream}.bias`]);
  };
  const linear = (x, stream) => tf.matMul(x, v[stream], false, true).add(v[`${stream}.bias`]);
  const heads = (x, rows, length) => x.reshape([rows, length, HEADS, d / HEADS]).transpose([0, 2, 1, 3]);
  const attend = (q, k, v_, rows, queries, keys, bar) => {
    const scores = tf.matMul(heads(q, rows, queries), heads(k, rows, keys), false, true).mul((d / HEADS) ** -0.5).add(bar);
    return tf.matMul(tf.softmax(scores), heads(v_, rows, keys)).transpose([0, 2, 1, 3]).reshape([rows * queries, d]);
  };
  const itself = (x, part, { rows, length }, bar) => {
    const [q, k, w] = tf.split(linear(x, `${part}.qkv`), 3, 1);
    return linear(attend(q, k, w, rows, length, length, bar), `${part}.out`);
  };
  const forward = (x, part) => linear(linear(x, `${part}.up`).relu(), `${part}.down`);
  function loss({ src, tgt, out, srcBar, causal, free, counted }) {
    let x = embed(src);
    for (let i = 0; i < settings.encoder; i += 1) {
      const at = `encoder.${i}`;
      x = x.add(itself(norm(x, `${at}.mixing.norm`), `${at}.attention`, src, srcBar));
      x = x.add(forward(norm(x, `${at}.feed_forward.norm`), `${at}.feed_forward`));
    }
    const memory = norm(x, 'encoder.norm');
    let y = embed(tgt);
    for (let i = 0; i < settings.decoder; i += 1) {
      const at = `decoder.${i}`;
      y = y.add(itself(norm(y, `${at}.mixing.norm`), `${at}.attention`, tgt, causal));
      const [k, w] = tf.split(linear(memory, `${at}.cross.kv`), 2, 1);
      const q = linear(norm(y, `${at}.cross.norm`), `${at}.cross.query`);
      y = y.add(linear(attend(q, k, w, src.rows, tgt.length, src.length, srcBar), `${at}.cross.out`));
      y = y.add(forward(norm(y, `${at}.feed_forward.norm`), `${at}.feed_forward`));
    }
    const logits = tf.matMul(norm(y, 'decoder.norm'), v.embedding, false, true);
    return smoothed(out.ids, free)(logits).div(counted);
  }
  const optimiser = tf.train.adam(settings.rate, 0.9, 0.98, 1e-8);
  let step = 0;
  return (turn) => tf.tidy(() => {
    step += 1;
    const { value, grads } = tf.variableGrads(() => loss(cut[turn % cut.length]), Object.values(v));
    const size = tf.addN(Object.values(grads).map((one) => one.square().sum())).sqrt();
    const by = tf.minimum(1, tf.div(1, size.add(1e-6)));
    optimiser.learningRate = rateAt(step, settings);
    optimiser.applyGradients(Object.fromEntries(Object.entries(grads).map(([name, one]) => [name, one.mul(by)])));
    return value.dataSync()[0];
  });
}

let answer;
for await (const line of createInterface({ input: process.stdin })) {
  if (answer) {
    const before = process.cpuUsage();
    const loss = answer(Number(line));
    const { user, system } = process.cpuUsage(before);
    console.log(`${loss} ${(user + system) / 1e6}`);
  } else {
    const { lexicon, tokenizer, batches, seed, drawn: n } = JSON.parse(line);
    if (side === 'draws') answer = (turn) => Math.abs(uniform(new Stream(seed, `${turn}`), n, { bound: 1 }).at(-1));
    else {
      const data = prepare({ lexicon, tokenizer });
      const given = { data, batches: epoch(data.src, data.tgt, { seed, number: 0 }).slice(0, batches), settings: { ...STANDARD, seed }, pieces: data.vocabulary.tokens.length };
      answer = side === 'engine' ? engine(given) : await tensorflow(given);
    }
    console.log('ready');
  }
}
