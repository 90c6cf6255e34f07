// Drag the number of dimensions that points are projected to, and see what becomes of their distances.
import { density, enough, Projections, promised } from './model.mjs';
import { explorable, number } from '../shared/ui.mjs';

const POINTS = 40;
const MOST = 512;
const BINS = 36;
const WIDTH = 3; // ratios are shown from 0 to here
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.slider('k', { label: 'Project to', min: 1, max: MOST, log: true, format: (k) => `${number(k)} dimension${k === 1 ? '' : 's'}` });
    ui.slider('d', { label: 'From', min: 64, max: 2048, log: true, format: (d) => `${number(d)} dimensions` });
    ui.slider('epsilon', { label: 'Error to tolerate, ε', min: 0.05, max: 0.9, step: 0.05 });
    ui.choice('kind', { label: 'Matrix', options: [['gaussian', 'Gaussian'], ['sign', '±1'], ['sparse', 'two thirds zeros']] });
    ui.choice('cloud', { label: 'Points', options: [['scattered', 'scattered'], ['words', 'one word each']] });
    ui.number('seed', { label: 'Seed', max: 2 ** 32 });
    const histogram = ui.chart({ height: 230, label: 'Histogram of distance ratios', x: { label: 'squared distance after / before', domain: [0, WIDTH] }, y: { label: 'density', domain: [0, 2] } });
    const errors = ui.chart({ height: 200, label: 'Worst error against dimensions', x: { label: 'dimensions after projection, k', domain: [1, MOST], log: true, base: 2 }, y: { label: 'worst error', domain: [0.1, 10], log: true } });

    let held;
    let key = '';
    ui.draw(({ k, d, epsilon, kind, cloud, seed }) => {
      if (key !== (key = [kind, cloud, seed, d].join())) held = new Projections({ seed, kind, cloud, n: POINTS, d });
      const ratios = held.ratios(k);
      const inside = ratios.filter((ratio) => Math.abs(ratio - 1) <= epsilon).length;
      const worst = held.worst(k);
      const step = WIDTH / BINS;
      const counts = new Float64Array(BINS);
      for (const ratio of ratios) counts[Math.min(BINS - 1, Math.floor(ratio / step))] += 1; // what lies beyond stands in the last
      const heights = counts.map((count) => count / ratios.length / step);
      const from = Array.from(counts, (_, i) => i * step);
      const at = Array.from({ length: 181 }, (_, i) => (i * WIDTH) / 180);
      const curve = at.map((ratio) => density(ratio, k));
      const top = Math.max(1, ...heights, Math.min(8, Math.max(...curve))) * 1.1;
      histogram.update({
        y: { domain: [0, top] },
        marks: [
          { kind: 'span', from: 1 - epsilon, to: 1 + epsilon, origin: 'fixed', name: `within ${number(epsilon)}` },
          { kind: 'bars', from, to: from.map((edge) => edge + step), y: heights, origin: 'seeded', name: `${ratios.length} pairs` },
          { kind: 'line', x: at, y: curve, origin: 'fixed', name: 'one pair, over all Gaussian matrices' },
        ],
      });
      const sizes = [...new Set([...SIZES.filter((size) => size < k), k])];
      const sure = Array.from({ length: 60 }, (_, i) => MOST ** (i / 59)).filter((size) => promised(size, POINTS));
      errors.update({
        marks: [
          { kind: 'line', x: sure, y: sure.map((size) => promised(size, POINTS)), origin: 'fixed', name: 'promised' },
          { kind: 'line', x: sizes, y: sizes.map((size) => held.worst(size)), origin: 'seeded', name: 'worst of all pairs, so far' },
          { kind: 'points', x: [k], y: [worst], origin: 'seeded' },
          { kind: 'rule', y: epsilon, label: 'ε' },
        ],
      });
      const sure_at = enough(POINTS, epsilon);
      const together = ratios.filter((ratio) => ratio === 0).length;
      ui.say(`${POINTS} points projected from ${number(d)} dimensions to ${number(k)}: ${Math.round((100 * inside) / ratios.length)}\u202f% of ${ratios.length} squared distances are within ${number(epsilon)} of what they were, and the worst is off by ${number(worst, 2)}. `
        + (together ? `${together} pair${together === 1 ? ' has' : 's have'} fallen on the same place. ` : '')
        + `To keep them all within ${number(epsilon)}, the theorem asks for ${number(sure_at)} dimensions${sure_at > d ? ', more than there were' : ''}.`);
    });
    return ui.close;
  },
};
