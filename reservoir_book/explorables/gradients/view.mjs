// A run to scrub through: the true gradient below a reservoir, word by word, beside an estimate of it.
import { KINDS, arrows, worst } from './model.mjs';
import { explorable, number } from '../shared/ui.mjs';

const NAMES = { value: 'value network', identity: 'identity', synthetic: 'synthetic gradient' };
const ORIGIN = { value: 'trained', identity: 'fixed', synthetic: 'trained' };
const REACH = 1.35; // of the drawing, in longest true arrows
const WIDE = 0.42; // how much of the way to the next word such an arrow would take
const NARROW = 460; // pixels in which the words have no room in one line
const bytes = (value) => (value instanceof DataView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value));

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const [words, steps, losses, cosines] = ['words', 'steps', 'losses', 'cosines'].map((name) => model.get(name));
    const data = bytes(model.get('arrows'));
    const last = steps[steps.length - 1];
    ui.slider('frame', { label: 'Step', min: 0, max: steps.length - 1, format: (frame) => number(steps[frame], 4) });
    ui.choice('kind', { label: 'Estimate', options: KINDS.map((kind) => [kind, NAMES[kind]]) });
    const field = ui.chart({ height: 230, label: 'Gradients of each word', x: { label: '', domain: [-0.6, words.length - 0.4], ticks: words.map((_, i) => i), format: (i) => words[i] }, y: { label: '', domain: [-REACH, REACH], ticks: [] } });
    const curves = ui.chart({ height: 190, label: 'Cosine with the true gradient', x: { label: 'steps', domain: [0, last] }, y: { label: 'cosine', domain: [-1, 1.05], ticks: [-1, 0, 1] } });

    ui.draw(({ frame, kind }) => {
      const true_ = arrows(data, { frame, words: words.length });
      const guess = arrows(data, { frame, kind, words: words.length });
      const marks = [];
      for (const [own, origin, dash, name] of [[true_, undefined, undefined, 'true gradient'], [guess, ORIGIN[kind], '5 3', NAMES[kind]]]) {
        const x = [];
        const y = [];
        own.forEach(([dx, dy], i) => { x.push(i, i + WIDE * dx, NaN); y.push(0, dy, NaN); });
        marks.push({ kind: 'line', x, y, origin, dash, name });
        marks.push({ kind: 'points', x: own.map(([dx], i) => i + WIDE * dx), y: own.map(([, dy]) => dy), size: 3, origin, open: origin !== undefined });
      }
      field.update({ marks });
      if (ui.stage.clientWidth < NARROW) field.element.querySelectorAll('.ex-tick').forEach((word, i) => word.setAttribute('dy', i % 2 ? 14 : 0)); // in two lines
      curves.update({
        marks: [
          ...KINDS.map((each) => ({ kind: 'line', x: steps, y: cosines[each], origin: ORIGIN[each], dash: each === 'synthetic' ? '5 3' : undefined, name: NAMES[each] })),
          { kind: 'rule', x: steps[frame], label: '' },
          { kind: 'points', x: [steps[frame]], y: [cosines[kind][frame]], origin: ORIGIN[kind], size: 5 },
        ],
      });
      const { word, miss } = worst(true_, guess);
      ui.say(`Step ${number(steps[frame], 4)}, loss ${number(losses[frame])}: the ${NAMES[kind]} has a cosine of ${number(cosines[kind][frame], 2)} with the true gradient of this sentence. `
        + `It misses most at “${words[word]}”, by ${number(miss, 2)} of the longest true arrow in this plane, which holds ${Math.round(100 * model.get('share'))}\u202f% of the true gradients’ squared length.`);
    });
    return ui.close;
  },
};
