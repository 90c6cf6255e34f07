// The translator beside the page: it loads a stored model and translates, while the page goes on scrolling.
import { flipped, StoredModel } from './model.mjs';

const SQUARE = 24; // entries of a matrix that are shown, each way

/** What answers messages: {do: 'load', files, bit} or {do: 'translate', sentence} or {do: 'look', place}; each with an id. */
export function answering(now = () => performance.now()) {
  let model;
  const timed = (work) => { const start = now(); const found = work(); return { ...found, ms: now() - start }; };
  const work = {
    load({ files, bit }) {
      model = undefined;
      const weights = bit === undefined || bit === null ? files.weights : flipped(files.weights, bit);
      return timed(() => {
        model = new StoredModel({ ...files, weights });
        return { counts: model.counts, sizes: model.sizes, places: model.places.map(({ name }) => name) };
      });
    },
    translate: ({ sentence }) => (model ? timed(() => model.translate(sentence)) : { translation: '' }),
    look({ place }) {
      const found = model?.places.find(({ name }) => name === place) ?? model?.places[0];
      if (!found) return {};
      const [rows, columns] = [Math.min(SQUARE, found.rows), Math.min(SQUARE, found.columns)];
      const skip = found.rows > rows ? 1 : 0; // the first row of a table is padding, and zero
      const at = (i) => (skip + Math.floor(i / columns)) * found.columns + (i % columns);
      return {
        name: found.name, rows, columns, of: [found.rows, found.columns],
        drawn: Float32Array.from({ length: rows * columns }, (_, i) => found.weight[at(i)]),
        kept: Uint8Array.from({ length: rows * columns }, (_, i) => found.bits[at(i)]),
      };
    },
  };
  return ({ id, do: what, ...message }) => {
    try {
      return { id, ...work[what](message) };
    } catch (error) {
      return { id, refused: error.message };
    }
  };
}

export default function serve(worker) {
  const answer = answering();
  worker.onmessage = ({ data }) => worker.postMessage(answer(data));
}
