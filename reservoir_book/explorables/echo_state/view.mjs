// The echo state lab: draw a reservoir, drive it, fit its readout, let it go, while the settings are dragged.
import { explorable, number } from '../shared/ui.mjs';
import { experiment, KNOWN, memory, TASKS } from './model.mjs';

const NAMES = { 'mackey-glass': 'Mackey-Glass', lorenz: 'Lorenz' };
const SHOWN = 8; // units whose states are drawn
const BEFORE = 2; // Lyapunov times before the release that are shown
const PATIENCE = 160; // ms without a change before the memory is measured, which takes as long as all the rest
const FLOOR = 1e-16;
const superscript = (n) => String(n).replace('-', '⁻').replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]);
const small = (x) => { const [m, e] = x.toExponential(1).split('e'); return e > -3 ? number(Number(x.toPrecision(2))) : `${m} · 10${superscript(Number(e))}`; };

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.stage.classList.add('ex-echo');
    ui.choice('task', { label: 'Series', options: Object.entries(NAMES) });
    ui.choice('size', { label: 'Units', options: [[50, '50'], [100, '100'], [200, '200']] });
    ui.slider('radius', { label: 'Spectral radius ρ', min: 0.05, max: 1.6, step: 0.05 });
    ui.slider('leak', { label: 'Leak a', min: 0.05, max: 1, step: 0.05 });
    ui.slider('scaling', { label: 'Input scaling', min: 0.02, max: 4, step: 0.01, log: true });
    ui.slider('penalty', { label: 'Readout’s λ', min: -9, max: 0, format: (e) => `10${superscript(e)}` });
    ui.number('seed', { label: 'Seed', max: 2 ** 32 });

    const rates = model.get('lyapunov');
    const time = { label: 'time since it was let go (Lyapunov times)', domain: [-BEFORE, 1] };
    const forecasts = ui.chart({ height: 230, label: 'The series and its forecast', x: time, y: { label: 'x (standard deviations)', domain: [-3, 3] } });
    const states = ui.chart({ height: 150, label: `States of ${SHOWN} units`, x: time, y: { label: 'states', domain: [-1, 1], ticks: [-1, 0, 1] } });
    const recall = ui.chart({ height: 190, label: 'Memory', x: { label: 'delay k (steps)', domain: [0, 60] }, y: { label: 'r² of recall', domain: [0, 1] } });
    const meeting = ui.chart({ height: 190, label: 'Two copies', x: { label: 'steps', domain: [0, 200] }, y: { label: 'two copies apart by', domain: [FLOOR, 3], log: true, ticks: [1e-15, 1e-10, 1e-5, 1], format: (x) => `10${superscript(Math.round(Math.log10(x)))}` } });
    let waiting = 0;

    ui.draw(({ task, size, radius, leak, scaling, penalty, seed }) => {
      const setting = { task, size, radius, leak, seed, inputScaling: scaling, biasScaling: model.get('bias'), regularisation: 10 ** penalty };
      const { inputs, dt, ahead } = TASKS[task];
      const rate = rates[task] * dt; // Lyapunov times in a step
      const found = experiment(setting);
      const before = Math.min(KNOWN - 1, Math.round(BEFORE / rate));
      const every = ahead * rate > 6 ? 2 : 1;
      const x = { domain: [-BEFORE, ahead * rate], ticks: Array.from({ length: Math.floor((ahead * rate + BEFORE) / every) + 1 }, (_, i) => i * every - BEFORE) };
      const column = (data, width, k, from, to) => Array.from({ length: to - from }, (_, t) => data[(from + t) * width + k]);
      const times = Array.from({ length: before + ahead }, (_, t) => (t + 1 - before) * rate);
      const lost = found.readout && found.valid < ahead;
      forecasts.update({
        x,
        marks: [
          { kind: 'span', from: 0, to: ahead * rate },
          { kind: 'line', x: times, y: column(found.series, inputs, 0, KNOWN - before, KNOWN + ahead), origin: 'fixed', width: 3.5, name: 'the true series' },
          found.readout && { kind: 'line', x: times.slice(before), y: column(found.forecast, inputs, 0, 0, ahead), origin: 'seeded', name: 'the reservoir’s forecast, fed back to itself' },
          { kind: 'rule', x: 0, label: 'let go', dash: 'none' },
          lost && { kind: 'rule', x: (found.valid + 1) * rate, label: 'lost' },
        ],
      });
      states.update({
        x,
        marks: Array.from({ length: SHOWN }, (_, i) => {
          const driven = column(found.states, size, i, KNOWN - before, KNOWN);
          return { kind: 'line', x: times, y: found.readout ? [...driven, ...column(found.free, size, i, 0, ahead)] : driven, origin: 'seeded', width: 1.1, name: i ? undefined : `states of ${SHOWN} of the ${size} units` };
        }),
      });
      meeting.update({ marks: [{ kind: 'line', y: Array.from(found.copies, (d) => Math.max(d, FLOOR)), origin: 'seeded', name: 'two starts, one input' }] });
      ui.figure('fig-rate')?.relayout({ 'shapes[1]': { type: 'line', x0: radius, x1: radius, y0: 0, y1: 1, yref: 'paper', line: { width: 1.5, dash: 'dot', color: '#70767c' } } });

      const met = found.copies.findIndex((d) => d < 1e-6);
      ui.say([
        `A reservoir of ${size} units with spectral radius ${number(radius)} and leak ${number(leak)}, drawn from seed ${seed}.`,
        found.readout
          ? `On ${NAMES[task]} its one-step error is ${small(found.error)} standard deviations; let go, it ${lost ? `holds for ${(found.valid * rate).toFixed(1)} Lyapunov times` : 'holds to the end of the picture'}.`
          : 'With so small a λ its readout cannot be solved for.',
        met >= 0 ? `Two copies that start apart are within a millionth after ${met} steps.` : `Two copies that start apart have not met after ${found.copies.length} steps.`,
      ].join(' '));
      clearTimeout(waiting);
      const measure = () => {
        const bars = memory(setting) ?? [];
        const total = `recall of patternless input: ${bars.slice(1).reduce((sum, r) => sum + r, 0).toFixed(1)} steps in all`;
        recall.update({
          label: `Memory, ${total}`,
          marks: [{ kind: 'bars', from: Array.from(bars, (_, k) => k - 0.5), to: Array.from(bars, (_, k) => k + 0.5), y: bars, origin: 'seeded', name: total }],
        });
      };
      waiting = setTimeout(measure, PATIENCE);
    });
    return () => { clearTimeout(waiting); ui.close(); };
  },
};
