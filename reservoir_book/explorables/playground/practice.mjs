// A run on a task of the bench: an engine, what it learns from, and what is said of it.
import { Tagger } from './tagger.mjs';
import { draws, many, share } from './tasks.mjs';

const SAMPLES = 4; // sequences that are shown
const NAMES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const OPEN = ['(', '[', '{', '<', '«', '⟨', '⌈', '⌊'];
const NONE = '∅'; // no bracket is open

/** Sequences as a reader sees them: `asked` of a row of x, and `answered` of its answers, right ones or not. */
const SHOWN = {
  Circle: ({ hops, length }) => ({
    asked: (x, _, row) => `${tokens({ puzzle: 'Circle' }, x).join(' ')}; ${hops.join(', ')} on from ${NAMES[row % length]}?`,
    answered: (said, _, __, row) => hops.map((___, q) => NAMES[said[(row % length) * hops.length + q]]).join(', '),
  }),
  Brackets: ({ kinds }) => ({
    asked: (x) => tokens({ puzzle: 'Brackets', kinds }, x).join(' '),
    answered: (said, y) => [...said].filter((_, p) => y[p] >= 0).map((kind) => OPEN.slice(0, kinds)[kind] ?? NONE).join(' '),
  }),
  Facts: ({ subjects }) => ({
    asked: (x) => `subject ${x[0]}, relation ${x[1] - subjects}`,
    answered: (said) => `value ${said[0] + 1}`,
  }),
  Grammar: ({ longest, words: { german, english } }) => ({
    asked: (x) => [...x.slice(0, longest)].filter(Boolean).map((id) => german[id - 1]).join(' '),
    answered: (said, y) => [...said].filter((_, p) => y[p] >= 0).map((word) => english[word] ?? '⏎').join(' ').replace(/ ⏎$/, ''),
  }),
};

/** Each place of a sequence in a word. */
function tokens({ puzzle, kinds, subjects, words }, x) {
  const of = {
    Circle: (id, p) => `${NAMES[p]}→${NAMES[id - 1]}`,
    Brackets: (id) => (id > kinds ? '×' : OPEN[id - 1]),
    Facts: (id) => (id > subjects ? `relation ${id - subjects}` : `subject ${id}`),
    Grammar: (id) => [' ', ...words.german, '⇒', ...words.english, '?'][id],
  }[puzzle];
  return Array.from(x, of);
}

const WILD = 2; // times the loss of guessing, or of the first step if that is larger, above which training stops

/** A step was made in `run`, with this loss: whether it goes on. */
export function note(run, loss) {
  if (run.level === undefined) run.begun = loss;
  run.level = run.level === undefined ? loss : 0.9 * run.level + 0.1 * loss; // a mean of the last ones
  if (!Number.isFinite(loss)) run.stopped = run.step + 1;
  else if (run.level > WILD * Math.max(run.guessing, run.begun)) run.stopped = run.step;
}

/** A corner of a tensor to look at: {name, rows, columns, values, bits}. */
export function corner(engine, part, skipped = 0, most = 64) {
  const tensor = engine.tensors.find((one) => one.part === part && one.shape.length === 2) ?? engine.tensors.find((one) => one.part === part);
  if (!tensor) return {};
  const [rows, columns] = tensor.shape.length === 2 ? tensor.shape : [1, tensor.shape[0]];
  const [r, c] = [Math.min(rows, most), Math.min(columns, most)];
  const skip = tensor.kind === 'table' ? skipped : 0; // special pieces, one of them zero
  const values = engine.read(tensor.stream);
  const bits = tensor.masked ? engine.bits(tensor.stream) : undefined;
  const pick = (from) => from && Float32Array.from({ length: r * c }, (_, i) => from[(Math.floor(i / c) + Math.min(skip, rows - r)) * columns + (i % c)]);
  return { name: tensor.stream, origin: tensor.origin, rows: r, columns: c, of: tensor.shape, values: pick(values), bits: pick(bits) };
}

export class Practice {
  /**
   * @param {WebAssembly.Module|Bench} place as Engine has it
   * @param {object} settings with a task
   * @param {object} lexicon the words of the grammar
   */
  constructor(place, settings, lexicon) {
    Object.assign(this, { settings, task: settings.task, data: draws(settings.task, settings.seed, lexicon), engine: new Tagger(place, settings) });
    const { test } = this.data;
    const some = Array.from({ length: SAMPLES }, (_, i) => Math.floor((i * many(test, this.task)) / SAMPLES));
    const { length, places, questions } = this.task;
    const rows = (of, each) => Int32Array.from(some.flatMap((row) => [...of.subarray(row * each, (row + 1) * each)]));
    this.shown = { x: rows(test.x, length), y: rows(test.y, places * questions), n: SAMPLES };
    this.reset();
  }

  reset() {
    this.engine.reset(this.settings.seed);
    Object.assign(this, { seconds: 0, operations: 0, level: undefined, stopped: undefined });
  }

  get step() { return this.engine.step; }

  get done() { return this.stopped !== undefined || this.step >= this.settings.steps; }

  /** The loss of one who finds all answers equally likely. */
  get guessing() { return Math.log(this.task.answers); }

  /** One optimiser step; the loss per answer, in nats. */
  train(now) {
    const begun = now();
    const { from, to, ...drawn } = this.data.batch(this.step);
    this.engine.load(drawn, from, to);
    const loss = this.engine.train();
    this.seconds += (now() - begun) / 1000;
    this.operations = this.engine.operations;
    note(this, loss);
    return loss;
  }

  /** The model's answers to sequences, as their y. */
  answers({ x, y, n }) {
    const { engine, task: { batch, places, questions } } = this;
    const said = new Int32Array(n * places * questions);
    for (let from = 0; from < n; from += batch) {
      engine.load({ x, y }, from, Math.min(n, from + batch));
      said.set(engine.answers(), from * places * questions);
    }
    return said;
  }

  valid() { return share(this.task, this.data.valid, this.answers(this.data.valid)); }

  test() { return share(this.task, this.data.test, this.answers(this.data.test)); }

  #written(said) {
    const { task, shown: { x, y } } = this;
    const { asked, answered } = SHOWN[task.puzzle](task);
    const each = task.places * task.questions;
    return Array.from({ length: SAMPLES }, (_, row) => {
      const [of, to] = [x.subarray(row * task.length, (row + 1) * task.length), y.subarray(row * each, (row + 1) * each)];
      return [asked(of, to, row), answered(said.subarray(row * each, (row + 1) * each), to, of, row)];
    });
  }

  /** What is shown: [question, right answer] of each. */
  get references() { return this.#written(this.shown.y); }

  /** The model's answers to it. */
  samples() { return this.#written(this.answers(this.shown)).map(([, answer]) => answer); }

  look(part) { return corner(this.engine, part, 1); }

  /** Where a part with attention looks in the first sequence that is shown: as Training has it. */
  attend(part) {
    const { engine, task, shown } = this;
    engine.load(shown, 0, 1);
    engine.predict();
    const found = engine.attention(part);
    if (!found) return undefined;
    const names = tokens(task, shown.x.subarray(0, task.length));
    return { weights: found.weights, rows: names, columns: names };
  }
}
