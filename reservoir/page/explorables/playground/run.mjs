// A run of the playground as the page sees it: its settings, the worker that trains it, and what that has said.
import { number } from '../shared/ui.mjs';
import kernels from './kernels.wasm';
import { countsOf, read } from './settings.mjs';
import source from './worker.mjs?worker';

// (module (func (drop (v128.const i32x4 0 0 0 0)))): valid where there is 128-bit SIMD
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26, 11);

/** Why nothing can be trained here, or undefined. */
export function lacking() {
  if (typeof WebAssembly !== 'object' || !WebAssembly.validate(SIMD)) return 'this browser has no WebAssembly with 128-bit SIMD (Chrome and Edge have it since version 91, Firefox since 89, Safari since 16.4)';
  if (typeof Worker !== 'function') return 'this page may start no worker';
  return undefined;
}

/** Why a run has failed, in a sentence. */
function failure({ step, loss, rate, guessing }) {
  const what = Number.isFinite(loss)
    ? `At step ${step} the loss is ${number(loss)} nats a token, where guessing costs ${number(guessing)}`
    : `At step ${step} the loss is no number any more`;
  return `${what}: with a learning rate of ${number(rate)} each step goes too far and undoes the last one. Press Reset, and choose a smaller rate.`;
}

/** A run: its settings, the worker that trains it, and what that has said. */
export class Run {
  constructor(line, owner) { Object.assign(this, { owner, worker: undefined, typed: '' }); this.set(line); }

  set(line) {
    Object.assign(this, { line, settings: read(line), state: 'new', step: 0, seconds: 0, operations: 0, losses: [], points: [], samples: undefined, translated: undefined, test: undefined, why: undefined, look: undefined });
    this.counts = countsOf(this.settings, this.owner.vocabulary);
    if (this.worker) this.#send({ do: 'pause' });
    this.begun = false;
  }

  #send(message) { this.worker.postMessage(message); }

  #start() {
    if (!this.worker) {
      const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
      let heard = false;
      try {
        this.worker = new Worker(url);
      } catch (error) {
        this.owner.unable(`a worker could not be started (${error.message})`);
        return false;
      }
      this.worker.onmessage = ({ data }) => { URL.revokeObjectURL(url); heard = true; this.#told(data); };
      this.worker.onerror = (event) => {
        this.#fail(`The worker stopped: ${event.message || 'it could not be started'}.`);
        if (!heard) this.owner.unable(`a worker could not be started${event.message ? ` (${event.message})` : ''}`);
        this.owner.changed();
      };
    }
    if (this.begun) return true;
    this.begun = true;
    this.life = (this.life ?? 0) + 1;
    this.#send({ do: 'start', life: this.life, files: this.owner.files, kernels, settings: this.settings });
    if (this.typed) this.#send({ do: 'translate', sentence: this.typed });
    return true;
  }

  #fail(why) { Object.assign(this, { state: 'failed', why }); }

  #told(data) {
    if (data.life !== this.life || !this.begun) return; // of settings that have changed since
    if (data.kind === 'ready') Object.assign(this, { bytes: data.bytes, references: data.references });
    if (data.kind === 'told') {
      Object.assign(this, { step: data.step, seconds: data.seconds, operations: data.operations });
      if (data.loss !== undefined) this.losses.push(data.loss);
      if (data.bleu !== undefined) this.points.push({ step: data.step, seconds: data.seconds, bleu: data.bleu });
    }
    if (data.samples) this.samples = data.samples;
    if (data.typed) this.translated = data.typed;
    if (data.kind === 'done') Object.assign(this, { state: 'done', test: data.test });
    if (data.kind === 'failed') this.#fail(failure(data));
    if (data.kind === 'refused') this.#fail(`It stopped: ${data.why}.`);
    if (data.kind === 'looked') this.look = data;
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

  get score() { return this.test ?? this.points.at(-1)?.bleu; }

  close() { this.worker?.terminate(); }
}
