// Runs of the playground, in a worker next to the page: they train in short turns, in one memory, and say how far they are;
// messages are answered between turns. The classic script that the page starts is `serve`.
import { vocabularyOf } from '../stored_translator/model.mjs';
import { bleu } from './bleu.mjs';
import { Bench } from './engine.mjs';
import { miniature } from './grammar.mjs';
import { epoch } from './order.mjs';
import { corner, note, Practice } from './practice.mjs';
import { folder, zip } from './save.mjs';
import { LONGEST, Translator } from './translator.mjs';

const TURN = 60; // ms of training before messages are answered
const POINTS = 20; // validations of a run, twice as many as in the recipes
const VALID = 200; // sentences of a validation
export const SAMPLES = [0, 1, 2, 5]; // test sentences that are shown

const wordsOf = (line) => line.normalize('NFC').match(/\p{L}+/gu) ?? [];

/** The text of the miniature, cut: one for all runs of a worker. Of the training text, only its words and pieces are kept. */
export function prepare({ lexicon, tokenizer }) {
  const vocabulary = vocabularyOf(tokenizer);
  const { train, valid, test } = miniature(JSON.parse(lexicon));
  const cut = (pairs, side) => pairs.map((pair) => vocabulary.encode(pair[side]));
  const known = new Set(train.flatMap(([de]) => wordsOf(de.toLowerCase())));
  const some = valid.slice(0, VALID);
  return { vocabulary, text: { valid: some, test }, known, src: cut(train, 0), tgt: cut(train, 1), valid: cut(some, 0), test: cut(test, 0) };
}

/** A run: an engine, the order of its batches, and what is said of it. */
export class Training {
  constructor(place, data, settings) {
    Object.assign(this, { data, settings, engine: new Translator(place, settings, data.vocabulary.tokens.length) });
    this.reset();
  }

  reset() {
    this.engine.reset(this.settings.seed);
    Object.assign(this, { seconds: 0, operations: 0, number: 0, at: 0, batches: this.#epoch(0), level: undefined, stopped: undefined });
  }

  #epoch(number) { return epoch(this.data.src, this.data.tgt, { seed: this.settings.seed, number }); }

  get step() { return this.engine.step; }

  get done() { return this.stopped !== undefined || this.step >= this.settings.steps; }

  /** One optimiser step; the loss per token, in nats. */
  train(now) {
    if (this.at === this.batches.length) { this.number += 1; this.at = 0; this.batches = this.#epoch(this.number); }
    const begun = now();
    this.engine.load(this.data.src, this.data.tgt, this.batches[this.at]);
    const loss = this.engine.train();
    this.at += 1;
    this.seconds += (now() - begun) / 1000;
    this.operations = this.engine.operations;
    note(this, loss);
    return loss;
  }

  /** The loss of one who finds all pieces equally likely. */
  get guessing() { return Math.log(this.data.vocabulary.tokens.length); }

  write(ids) { return this.engine.translate(ids).map((one) => this.data.vocabulary.decode(one)); }

  valid() { return bleu(this.write(this.data.valid), this.data.text.valid.map(([, en]) => en)); }

  test() { return bleu(this.write(this.data.test), this.data.text.test.map(([, en]) => en)); }

  samples() { return this.write(SAMPLES.map((i) => this.data.test[i])); }

  /** A sentence that somebody typed: {translation, cut: whether it was too long, unknown: words that the training text has not}. */
  translate(sentence) {
    const ids = this.data.vocabulary.encode(sentence);
    const unknown = [...new Set(wordsOf(sentence))].filter((word) => !this.data.known.has(word.toLowerCase()));
    return { translation: this.write([ids.slice(0, LONGEST - 1)])[0], cut: ids.length > LONGEST - 1, unknown };
  }

  /** Where a part with attention looks while a sentence is translated: {weights: (heads, rows, columns), rows, columns}, pieces. */
  attend(part, sentence) {
    const { engine, data: { vocabulary } } = this;
    const source = vocabulary.encode(sentence).slice(0, LONGEST - 1);
    const target = engine.translate([source])[0].slice(0, LONGEST - 1);
    engine.load([source], [target], [0]);
    engine.forward();
    const found = source.length ? engine.attention(part) : undefined;
    if (!found) return undefined;
    const pieces = (ids) => ids.map((id) => vocabulary.tokens[id].replace('▁', '') || '␣');
    const [read, write] = [[...pieces(source), 'end'], [...pieces(target), 'end']];
    const cross = part.endsWith('.cross');
    return { weights: found.weights, rows: part.startsWith('encoder') ? read : write, columns: cross || part.startsWith('encoder') ? read : ['begin', ...pieces(target)] };
  }

  look(part) { return corner(this.engine, part, 4); }

  get references() { return SAMPLES.map((i) => this.data.text.test[i]); }

  zip(tokenizer, about) { return zip(folder(this.engine, tokenizer, about), 'reservoir-playground'); }
}

/**
 * Answers messages {do, run, …} with `post`: 'start' {life, files, settings}, 'run', 'pause', 'step', 'translate', 'look',
 * 'save', 'end'. What is posted has the number of its run, and its life: the number of the start that it belongs to.
 */
export function serving(kernels, post, { now = () => performance.now(), later = (turn) => setTimeout(turn) } = {}) {
  const bench = new Bench(kernels);
  const runs = new Map(); // by number, the next to have its turn first: {life, training, going, asked}
  let [files, text, waiting] = [undefined, undefined, false]; // `text` is what a translator learns from
  const say = (number, message, life = runs.get(number)?.life) => post({ ...message, run: number, life });
  const told = (number, more = {}) => { const { step, seconds, operations } = runs.get(number).training; say(number, { kind: 'told', step, seconds, operations, ...more }); };
  const shown = ({ training, asked }) => ({ samples: training.samples(), ...(asked && training.translate ? { typed: training.translate(asked) } : {}) });

  function one(number) {
    const run = runs.get(number);
    const { training, training: { settings } } = run;
    const loss = training.train(now);
    if (training.stopped !== undefined) {
      run.going = false;
      say(number, { kind: 'failed', step: training.stopped, loss, rate: settings.rate, guessing: training.guessing });
      return;
    }
    const { step } = training;
    const every = settings.task?.every ?? Math.max(1, Math.floor(settings.steps / POINTS));
    const point = step % every === 0 || step === settings.steps ? { score: training.valid() } : {};
    told(number, { loss, ...point, ...(point.score === undefined ? {} : shown(run)) });
    if (step === settings.steps) {
      run.going = false;
      say(number, { kind: 'done', test: training.test(), seconds: training.seconds });
    }
  }
  function turn() {
    waiting = false;
    const [number, run] = [...runs].find(([, { going }]) => going) ?? [];
    if (!run) return;
    runs.delete(number); // to the end of the row
    runs.set(number, run);
    guarded(number, () => {
      run.training.engine.enter();
      const until = now() + TURN;
      while (run.going && now() < until) one(number);
    });
    wait();
  }
  function wait() { if (!waiting && [...runs.values()].some(({ going }) => going)) { waiting = true; later(turn); } }
  function guarded(number, work, life) {
    try {
      work();
    } catch (error) {
      if (runs.has(number)) runs.get(number).going = false;
      say(number, { kind: 'refused', why: error.message }, life);
    }
  }

  const work = {
    start(run, { run: number, life, files: given, settings, sentence }) {
      runs.get(number)?.training.engine.close();
      files ??= given;
      if (!settings.task) text ??= prepare(files);
      const training = settings.task ? new Practice(bench, settings, JSON.parse(files.lexicon)) : new Training(bench, text, settings);
      const begun = { life, training, going: false, asked: sentence };
      runs.set(number, begun);
      say(number, { kind: 'ready', references: training.references, ...shown(begun) });
    },
    run(run) { run.going = !run.training.done; wait(); },
    pause(run) { run.going = false; },
    step(run, { run: number }) { run.going = false; if (!run.training.done) one(number); told(number, run.training.done ? {} : shown(run)); },
    translate(run, { run: number, sentence }) { run.asked = sentence; told(number, shown(run)); },
    look({ training, asked }, { run: number, part }) { say(number, { kind: 'looked', part, ...training.look(part), attention: training.attend(part, asked || training.references[0][0]) }); },
    save({ training }, { run: number, about }) { say(number, { kind: 'saved', zip: training.zip(files.tokenizer, about) }); },
    end(run, { run: number }) { run.training.engine.close(); runs.delete(number); },
  };
  return (message) => guarded(message.run, () => {
    const run = runs.get(message.run);
    if (run) run.training.engine.enter();
    else if (message.do !== 'start') return; // it has ended
    work[message.do](run, message);
  }, message.life);
}

export default function serve(worker) {
  let answer;
  worker.onmessage = ({ data }) => {
    if (answer) answer(data);
    else answer = serving(new WebAssembly.Module(data.kernels), (message) => worker.postMessage(message)); // the first message
  };
}
