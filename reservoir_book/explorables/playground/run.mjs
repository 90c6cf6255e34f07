// The runs of the playground as the page sees them: their settings, the workers that train them, and what those have said.
import { number } from '../shared/ui.mjs';
import kernels from './kernels.wasm';
import { countsOf, read, STANDARD } from './settings.mjs';
import source from './worker.mjs?worker';

/** Why a run has failed, in a sentence. */
function failure({ step, loss, rate, guessing }, { task }) {
  const what = Number.isFinite(loss)
    ? `At step ${step} the loss is ${number(loss)} nats ${task ? 'an answer' : 'a token'}, where guessing costs ${number(guessing)}`
    : `At step ${step} the loss is no number any more`;
  return `${what}: with a learning rate of ${number(rate)} each step goes too far and undoes the last one. Press Reset, and choose a smaller rate.`;
}

const large = ({ task, width, encoder, decoder }) => !task && (width > STANDARD.width || encoder > STANDARD.encoder || decoder > STANDARD.decoder);

/** The workers of a page. One costs tens of megabytes, so there are at most two, and runs that share one take turns. */
export class Crew {
  constructor(unable) { Object.assign(this, { unable, workers: [], runs: new Map(), number: 0 }); }

  get most() { return Math.min(2, navigator.hardwareConcurrency || 2); }

  /** Give a run that has none a worker: one without runs, a new one, or the one with the fewest; false if none can be had. */
  join(run) {
    if (run.worker) return true;
    const runsOf = (worker) => [...this.runs.values()].filter((one) => one.worker === worker);
    const load = (worker) => runsOf(worker).length;
    // A worker's memory is that of its largest model, so large models share one.
    let worker = large(run.settings) && this.workers.find((one) => runsOf(one).some(({ settings }) => large(settings)));
    if (!worker) {
      [worker] = [...this.workers].sort((a, b) => load(a) - load(b));
      if (!worker || (load(worker) && this.workers.length < this.most)) worker = this.#hire();
    }
    if (!worker) return false;
    this.number += 1;
    this.runs.set(this.number, Object.assign(run, { worker, number: this.number }));
    return true;
  }

  #hire() {
    const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    let heard = false;
    let worker;
    try {
      worker = new Worker(url);
    } catch (error) {
      this.unable(`a worker could not be started (${error.message})`);
      return undefined;
    }
    worker.onmessage = ({ data }) => { URL.revokeObjectURL(url); heard = true; this.runs.get(data.run)?.told(data); };
    worker.onerror = (event) => {
      for (const run of this.runs.values()) if (run.worker === worker) run.fail(`The worker stopped: ${event.message || 'it could not be started'}.`);
      if (!heard) this.unable(`a worker could not be started${event.message ? ` (${event.message})` : ''}`);
    };
    this.workers.push(worker);
    worker.postMessage({ kernels });
    return worker;
  }

  /** A run is given up, and its worker with it if that has no other. */
  leave(run) {
    const { worker } = run;
    if (!worker) return;
    this.runs.delete(run.number);
    worker.postMessage({ do: 'end', run: run.number });
    if ([...this.runs.values()].some((one) => one.worker === worker)) return;
    worker.terminate();
    this.workers.splice(this.workers.indexOf(worker), 1);
  }
}

const FRESH = { state: 'new', begun: false, step: 0, seconds: 0, operations: 0, samples: undefined, translated: undefined, test: undefined, why: undefined, look: undefined };
let lives = 0;

/** A run: its settings, what its worker has said, and `before`, what it was before its settings changed. */
export class Run {
  constructor(line, owner) { Object.assign(this, { owner, typed: '' }); this.set(line); }

  /** Begin anew with these settings. What was learned can be had back (`restore`) until it trains again. */
  set(line) {
    this.pause();
    if (this.begun && this.step) this.before = this.#said();
    Object.assign(this, FRESH, { line, settings: read(line, this.owner.tasks), losses: [], points: [], life: undefined, references: undefined });
    this.counts = countsOf(this.settings, this.owner.vocabulary);
  }

  /** All that `set` forgets. */
  #said() {
    const { line, settings, counts, losses, points, life, references } = this;
    return { line, settings, counts, losses, points, life, references, ...Object.fromEntries(Object.keys(FRESH).map((name) => [name, this[name]])) };
  }

  restore() {
    Object.assign(this, this.before, { before: undefined });
    if (this.typed) this.translate(this.typed);
  }

  #send(message) { this.worker.postMessage({ ...message, run: this.number, life: this.life }); }

  #start() {
    if (!this.owner.crew.join(this)) return false;
    if (this.begun) return true;
    lives += 1;
    Object.assign(this, { begun: true, before: undefined, life: lives });
    this.#send({ do: 'start', files: this.owner.files, settings: this.settings, sentence: this.typed });
    return true;
  }

  fail(why) { Object.assign(this, { state: 'failed', why }); this.owner.changed(); }

  /** What its worker says, of this life or of the one before. */
  told(data) {
    const to = [this, this.before].find((one) => one?.begun && one.life === data.life);
    if (!to) return;
    if (data.kind === 'ready') to.references = data.references;
    if (data.kind === 'told') {
      Object.assign(to, { step: data.step, seconds: data.seconds, operations: data.operations });
      if (data.loss !== undefined) to.losses.push(data.loss);
      if (data.score !== undefined) to.points.push({ step: data.step, seconds: data.seconds, score: data.score });
    }
    if (data.samples) to.samples = data.samples;
    if (data.typed) to.translated = data.typed;
    if (data.kind === 'done') Object.assign(to, { state: 'done', test: data.test });
    if (data.kind === 'failed') Object.assign(to, { state: 'failed', why: failure(data, to.settings) });
    if (data.kind === 'refused') Object.assign(to, { state: 'failed', why: `It stopped: ${data.why}.` });
    if (data.kind === 'looked') to.look = data;
    if (data.kind === 'saved') this.owner.saved(this, data.zip);
    this.owner.changed(data.kind);
  }

  get ended() { return this.state === 'done' || this.state === 'failed'; }

  train() {
    if (this.ended || !this.#start()) return;
    this.state = 'training';
    this.#send({ do: 'run' });
  }

  pause() { if (this.state === 'training') { this.state = 'paused'; this.#send({ do: 'pause' }); } }

  single() {
    if (this.ended || !this.#start()) return;
    this.state = 'paused';
    this.#send({ do: 'step' });
  }

  translate(sentence) { this.typed = sentence; if (this.begun) this.#send({ do: 'translate', sentence }); }

  show(part) { if (this.begun) this.#send({ do: 'look', part }); }

  save(about) { this.#send({ do: 'save', about }); }

  get score() { return this.test ?? this.points.at(-1)?.score; }

  close() { this.owner.crew.leave(this); }
}
