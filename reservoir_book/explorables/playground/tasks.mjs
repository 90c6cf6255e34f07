// The bench's tasks in the page: the sequences that reservoir.datasets.bench draws, number for number, and their measures.
// A task is an object as reservoir_book/explorables/bench.py writes it: {name, puzzle, length, places, questions, answers, …}.
import { sentences } from './grammar.mjs';
import { ranked, words } from './order.mjs';

const [TABLE, HIDDEN, LOOK] = [10 ** 9, 10 ** 9 + 2, 10 ** 9 + 3]; // numbers of streams that no batch reaches
const [VALID, TEST] = [1, 2]; // seeds of what is asked, in all runs
const TRAIN = 100; // added to a run's seed for the batches that it learns from
const modulo = (word, n) => Number(word % BigInt(n));
const take = (word, n) => Array.from({ length: n }, word);

const PUZZLES = {
  Circle: ({ length: n, hops }) => ({
    draw(many, seed, number) {
      const word = words(seed, number);
      const x = new Int32Array(many * n);
      const y = new Int32Array(many * n * hops.length);
      const all = take(word, many * n);
      const at = new Int32Array(n);
      for (let s = 0; s < many; s += 1) {
        const ring = ranked(all.slice(s * n, (s + 1) * n));
        ring.forEach((child, place) => { at[child] = place; });
        for (let p = 0; p < n; p += 1) {
          x[s * n + p] = ring[(at[p] + 1) % n] + 1;
          hops.forEach((hop, q) => { y[(s * n + p) * hops.length + q] = ring[(at[p] + hop) % n]; });
        }
      }
      return { x, y };
    },
  }),

  Brackets: ({ length, kinds }) => ({
    draw(many, seed, number) {
      const word = words(seed, number);
      const kind = take(word, many * length).map((one) => modulo(one, kinds));
      const heads = take(word, many * length).map((one) => one >> 63n);
      const x = new Int32Array(many * length);
      const y = new Int32Array(many * length).fill(-1);
      for (let s = 0; s < many; s += 1) {
        const open = [];
        for (let t = s * length; t < (s + 1) * length; t += 1) {
          if (!open.length || heads[t]) { open.push(kind[t]); x[t] = kind[t] + 1; } else { open.pop(); x[t] = kinds + 1; y[t] = open.at(-1) ?? kinds; }
        }
      }
      return { x, y };
    },
  }),

  Facts: ({ subjects, relations, values }, seedOfRun) => {
    const facts = subjects * relations;
    const word = words(seedOfRun, TABLE);
    const table = take(word, facts).map((one) => modulo(one, values));
    const asked = (which) => ({
      x: Int32Array.from(which.flatMap((fact) => [Math.floor(fact / relations) + 1, subjects + (fact % relations) + 1])),
      y: Int32Array.from(which, (fact) => table[fact]),
    });
    return {
      draw: (many, seed, number) => asked(take(words(seed, number), many).map((one) => modulo(one, facts))),
      valid: (many) => asked(ranked(take(words(seedOfRun, LOOK), facts)).slice(0, many)),
      test: () => asked(Array.from({ length: facts }, (_, i) => i)),
    };
  },

  Grammar: ({ longest, sentences: learned, held_out: held, hidden, words: { german, english } }, seedOfRun, lexicon) => {
    const stream = sentences(seedOfRun, lexicon);
    const some = (n) => take(() => stream.next().value, n);
    const test = some(held);
    some(1); // the sentence that validates, which nobody asks for
    const [of, to] = [german, english].map((list) => new Map(list.map((word, i) => [word, i])));
    const [mark, first, length] = [1 + german.length, 2 + german.length, 2 * longest + 1];
    const cover = first + english.length;
    const cut = (text) => text.match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu);
    function rows(pairs, number) {
      const kept = pairs.map((pair) => pair.map(cut)).filter((pair) => pair.every((one) => one.length <= longest));
      const places = hidden ? longest : longest + 1;
      const x = new Int32Array(kept.length * length);
      const y = new Int32Array(kept.length * places).fill(-1);
      kept.forEach(([de, en], row) => {
        const answers = en.map((word) => to.get(word));
        x.set(de.map((word) => 1 + of.get(word)), row * length + longest - de.length);
        x[row * length + longest] = mark;
        x.set(answers.map((id) => first + id), row * length + longest + 1);
        y.set(hidden ? answers : [...answers, english.length], row * places);
      });
      if (hidden) {
        const chance = take(words(seedOfRun, HIDDEN + number), kept.length * longest).map((one) => Number(one) / 2 ** 64);
        for (let row = 0; row < kept.length; row += 1) {
          const n = kept[row][1].length;
          const ours = chance.slice(row * longest, row * longest + n);
          const least = Math.min(...ours);
          for (let p = 0; p < n; p += 1) {
            if (ours[p] < hidden || ours[p] === least) x[row * length + longest + 1 + p] = cover;
            else y[row * places + p] = -1;
          }
        }
      }
      return { x, y };
    }
    const train = rows(some(learned), 0);
    const asked = rows(test, 1);
    return { train, valid: () => asked, test: () => asked };
  },
};

/** How many sequences there are. */
export const many = ({ x }, { length }) => x.length / length;

/**
 * What a run of a task learns from and is asked: {batch(step) → {x, y, from, to}, valid, test}; `x` and `y` as in the Python
 * module, flat; of those that are asked, `n` are.
 */
export function draws(task, seed, lexicon) {
  const puzzle = PUZZLES[task.puzzle](task, seed, lexicon);
  const asked = (drawn, n = many(drawn, task)) => ({ ...drawn, n });
  const some = (n, from) => asked(puzzle.draw(n, from, 0));
  const valid = puzzle.valid ? asked(puzzle.valid(task.asked), task.asked) : some(task.asked, VALID);
  const test = puzzle.test ? asked(puzzle.test()) : some(task.tested, TEST);
  if (!puzzle.train) return { valid, test, batch: (step) => ({ ...puzzle.draw(task.batch, TRAIN + seed, step), from: 0, to: task.batch }) };
  const n = many(puzzle.train, task);
  const each = Math.ceil(n / task.batch);
  let [epoch, order] = [-1];
  return {
    valid, test,
    batch(step) {
      if (Math.floor(step / each) !== epoch) { epoch = Math.floor(step / each); order = ranked(take(words(TRAIN + seed, epoch), n)); }
      const rows = order.slice((step % each) * task.batch, ((step % each) + 1) * task.batch);
      const { length, places } = task;
      const [x, y] = [new Int32Array(rows.length * length), new Int32Array(rows.length * places)];
      rows.forEach((row, i) => {
        x.set(puzzle.train.x.subarray(row * length, (row + 1) * length), i * length);
        y.set(puzzle.train.y.subarray(row * places, (row + 1) * places), i * places);
      });
      return { x, y, from: 0, to: rows.length };
    },
  };
}

/** The share of what is asked that is answered right, in percent, by the measure that the task is judged by. */
export function share(task, { y, n }, said) {
  const { places, questions } = task;
  if (task.puzzle === 'Grammar') { // whole sentences
    let right = 0;
    for (let s = 0; s < n; s += 1) {
      let all = true;
      for (let p = s * places; p < (s + 1) * places; p += 1) all &&= y[p] < 0 || y[p] === said[p];
      right += all;
    }
    return (100 * right) / n;
  }
  const [judged, every] = task.puzzle === 'Circle' ? [questions - 1, questions] : [0, 1];
  let [right, asked] = [0, 0];
  for (let a = judged; a < n * places * questions; a += every) { asked += y[a] >= 0; right += y[a] >= 0 && y[a] === said[a]; }
  return (100 * right) / asked;
}
