// Drag the share of weights that is kept: the mask, the network that is left and what it reads, the recorded BLEU.
import { accuracy, kept, network, PITCH, pixels, places, read, recordedAt } from './model.mjs';
import { explorable, html, svg } from '../shared/ui.mjs';

const HEIGHT = 300;

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const masks = model.get('masks');
    const [pictures, labels, curves, seed] = ['pictures', 'labels', 'curves', 'seed'].map((name) => model.get(name));
    const percentages = Object.keys(masks).map(Number).sort((a, b) => a - b);
    const known = new Map(); // a percentage is computed when it is first shown
    const found = (percent) => {
      if (!known.has(percent)) {
        const net = network({ seed, percent, bits: masks[percent] });
        known.set(percent, { net, score: accuracy(net, pictures, labels) });
      }
      return known.get(percent);
    };
    ui.slider('keep', { label: 'Weights kept', min: percentages[0], max: percentages.at(-1), step: 10, format: (value) => `${value} %` });
    ui.slider('shown', { label: 'Test digit', min: 0, max: labels.length - 1, format: (value) => `number ${value + 1}` });

    const drawing = svg('svg', { class: 'hn-net', role: 'img' });
    const holder = html('div', { class: 'ex-figure hn-holder' }, drawing);
    const half = html('div', { class: 'hn-mask' }, html('p', { class: 'hn-note', text: 'The mask of the lower map: a row for each unit, a column for each pixel. Strong where a kept weight is plus, paler where it is minus, empty where it is left out.' }));
    ui.stage.append(html('div', { class: 'hn-pair' }, holder, half));
    const map = ui.heatmap({ origin: 'masked', cell: 15 });
    half.prepend(map.element);
    const points = curves.flatMap((curve) => curve.points);
    const top = Math.max(1, ...points.map((point) => point.high)) * 1.1;
    const chart = ui.chart({ height: 220, x: { label: 'weights kept (%)', domain: [0, 100] }, y: { label: 'BLEU, test', domain: [0, top] } });

    ui.draw(({ keep, shown }) => {
      const { net, score } = found(keep);
      const picture = pixels(pictures, shown);
      const { hidden, answer } = read(net, picture);
      const right = Number(labels[shown]);
      draw(drawing, holder, net, picture, hidden, answer);
      drawing.setAttribute('aria-label', `A network from 16 pixels over 20 units to 10 digits; ${kept(net.up)} and ${kept(net.down)} connections are drawn`);
      map.update({
        values: Array.from(net.up.mask, (bit, i) => (bit ? (net.up.weight[i] > 0 ? 1 : 0.4) : 0.02)), rows: net.up.rows, cols: net.up.columns,
        label: `The mask of the lower map: ${kept(net.up)} of ${net.up.mask.length} squares are filled`,
      });
      chart.update({
        label: points.length ? 'Recorded BLEU against the share of weights that is kept' : 'Recorded BLEU against the share that is kept; nothing has been run yet',
        marks: [
          { kind: 'rule', x: keep, label: points.length ? undefined : 'not run yet' },
          ...curves.flatMap(({ name, origin, points: of }) => of.length && [
            of.some(({ low, high }) => low < high) && { kind: 'band', x: of.map((p) => p.percent), low: of.map((p) => p.low), high: of.map((p) => p.high), origin },
            { kind: 'line', x: of.map((p) => p.percent), y: of.map((p) => p.mean), origin, name, dash: curves.find((one) => one.origin === origin).name === name ? undefined : '5 4' },
            { kind: 'points', x: of.map((p) => p.percent), y: of.map((p) => p.mean), origin },
          ]),
        ],
      });
      const there = recordedAt(curves, keep);
      ui.say(`With ${kept(net.up) + kept(net.down)} of ${net.up.mask.length + net.down.mask.length} random weights the small network reads ${score.toFixed(0)} % of ${labels.length} test digits. `
        + `This one is a ${right}, and it says ${answer}. `
        + (there.length ? `Translators at ${keep} %: ${there.map(({ name, mean, seeds }) => `${name} ${mean.toFixed(1)} BLEU (${seeds === 1 ? 'one seed' : `${seeds} seeds`})`).join('; ')}.`
          : `No translator has been run at ${keep} % yet.`));
    });
    return ui.close;
  },
};

/** The network: what is kept as lines, strong where something passes through, dashed where the weight is minus. */
function draw(drawing, holder, net, picture, hidden, answer) {
  const width = Math.min(460, holder.clientWidth || 460);
  const { inputs, hidden: units, outputs } = places(width, HEIGHT);
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT })) drawing.setAttribute(name, value);
  const largest = Math.max(1e-9, ...hidden);
  const lines = ({ mask, weight, rows, columns }, from, to, strength) => {
    const made = [];
    for (let i = 0; i < rows; i += 1) {
      for (let j = 0; j < columns; j += 1) {
        if (!mask[i * columns + j]) continue;
        made.push(svg('line', {
          x1: from[j][0].toFixed(1), y1: from[j][1].toFixed(1), x2: to[i][0].toFixed(1), y2: to[i][1].toFixed(1),
          class: 'hn-edge', 'stroke-opacity': (0.1 + 0.5 * strength(j)).toFixed(2), 'stroke-dasharray': weight[i * columns + j] < 0 ? '2 3' : undefined,
        }));
      }
    }
    return made;
  };
  drawing.replaceChildren(
    ...lines(net.up, inputs, units, (j) => Math.abs(2 * picture[j] - 1)),
    ...lines(net.down, units, outputs, (j) => hidden[j] / largest),
    ...inputs.flatMap(([x, y], i) => {
      const square = { x: x - PITCH / 2, y: y - PITCH / 2, width: PITCH, height: PITCH };
      return [svg('rect', { ...square, class: 'hn-under' }), svg('rect', { ...square, class: 'hn-pixel', 'fill-opacity': picture[i].toFixed(2) })];
    }),
    ...units.map(([x, y], i) => svg('circle', { cx: x, cy: y, r: 5, class: 'hn-unit', 'fill-opacity': (hidden[i] / largest).toFixed(2) })),
    ...outputs.flatMap(([x, y], i) => [
      svg('circle', { cx: x, cy: y, r: 10, class: i === answer ? 'hn-out hn-answer' : 'hn-out' }),
      svg('text', { x, y: y + 4, 'text-anchor': 'middle', class: i === answer ? 'hn-digit hn-said' : 'hn-digit' }, String(i)),
    ]),
  );
}
