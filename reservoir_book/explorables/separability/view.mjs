// Random labels, and how many of them a plane can have: move the number of points past twice the number of dimensions.
import { chance, dot, draw, perceptron, separator } from './model.mjs';
import { explorable, number } from '../shared/ui.mjs';

const MANY = 60; // drawings that the share is counted on
const REACH = 3; // of the plane, to all sides
const CELLS = 45;

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.slider('n', { label: 'Points, N', min: 2, max: 60 });
    ui.slider('d', { label: 'Dimensions, d', min: 1, max: 30 });
    ui.choice('lifted', { label: 'Points', options: [['no', 'in d dimensions'], ['yes', 'in the plane, lifted to d']] });
    ui.number('seed', { label: 'Seed', max: 2 ** 32 });
    ui.button('Draw again', () => ui.set('number', model.get('number') + 1));
    ui.setting('number', { parse: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined) });
    const curve = ui.chart({ height: 210, label: 'The chance of being separable', x: { label: 'points N', domain: [0, 60] }, y: { label: 'chance of being separable', domain: [0, 1.04], ticks: [0, 0.25, 0.5, 0.75, 1] } });
    const one = ui.chart({ height: 260, label: 'One drawing', x: { label: '', domain: [-1, 1] }, y: { label: '', domain: [-1, 1] } });

    const counted = new Map(); // what was found at the places that the reader has been to
    ui.draw(({ n, d, lifted, seed, number: at }) => {
      const plane = lifted === 'yes';
      const place = [plane, seed, d].join();
      if (!counted.has(place)) counted.set(place, new Map());
      const found = counted.get(place);
      if (!found.has(n)) {
        let had = 0;
        for (let i = 0; i < MANY; i += 1) {
          const { points, labels } = draw({ seed, number: i, n, d, lifted: plane });
          had += separator(points, labels).w !== undefined;
        }
        found.set(n, had / MANY);
      }
      const all = Array.from({ length: 60 }, (_, i) => i + 1);
      curve.update({
        marks: [
          { kind: 'line', x: all, y: all.map((size) => chance(size, d)), origin: 'fixed', name: `Cover's formula, d = ${d}` },
          { kind: 'rule', x: 2 * d, label: 'N = 2d' },
          { kind: 'points', x: [...found.keys()], y: [...found.values()], size: 3, origin: 'seeded', open: true, name: `share of ${MANY} drawings` },
          { kind: 'points', x: [n], y: [found.get(n)], size: 5, origin: 'seeded' },
        ],
      });

      const { points, labels, place: spots, lift } = draw({ seed, number: at, n, d, lifted: plane });
      const { w } = separator(points, labels);
      const best = w ? { w, wrong: 0 } : perceptron(points, labels);
      const marks = [];
      const sides = [['plus', 1, 'circle'], ['minus', -1, 'square']];
      if (plane) {
        const cells = { x: [], y: [] };
        for (let i = 0; i < CELLS; i += 1) {
          for (let j = 0; j < CELLS; j += 1) {
            const [x, y] = [i, j].map((index) => (2 * (index + 0.5) / CELLS - 1) * REACH);
            if (dot(lift.features(x, y), best.w) > 0) { cells.x.push(x); cells.y.push(y); }
          }
        }
        marks.push({ kind: 'points', ...cells, size: 1.4, shape: 'square', origin: 'trained', name: 'read as plus' });
        for (const [name, label, shape] of sides) {
          const own = spots.filter((_, i) => labels[i] === label);
          marks.push({ kind: 'points', x: own.map(([x]) => x), y: own.map(([, y]) => y), shape, open: label < 0, size: 4, name });
        }
        one.update({ marks, x: { label: 'first coordinate in the plane', domain: [-REACH, REACH] }, y: { label: 'second', domain: [-REACH, REACH] } });
      } else {
        const length = Math.sqrt(dot(best.w, best.w)) || 1;
        const along = points.map((point) => dot(point, best.w) / length);
        const reach = Math.max(...along.map(Math.abs)) * 1.1 || 1;
        for (const [name, label, shape] of sides) {
          const own = along.map((value, i) => [value, i]).filter(([, i]) => labels[i] === label);
          marks.push({ kind: 'points', x: own.map(([value]) => value), y: own.map(([, i]) => i + 1), shape, open: label < 0, size: 4, name });
        }
        marks.unshift({ kind: 'span', from: 0, to: reach, origin: 'trained', name: 'read as plus' });
        one.update({ marks, x: { label: 'distance from the plane', domain: [-reach, reach] }, y: { label: 'point', domain: [0, n + 1] } });
      }
      ui.say(`${n} points with random labels in ${d} dimension${d === 1 ? '' : 's'}${plane ? ', to which they were lifted from the plane' : ''}: ${w ? 'these can be separated' : `these cannot be separated, and the perceptron leaves ${best.wrong} on the wrong side`}. `
        + `Of ${MANY} such drawings ${Math.round(100 * found.get(n))}\u202f% can; Cover's formula says ${number(100 * chance(n, d), 2)}\u202f%.`);
    });
    return ui.close;
  },
};
