// The front page's table: what is left of four tasks when a part is not learned. Each cell is a button that trains it here.
import { lacking } from '../playground/able.mjs';
import kernels from '../playground/kernels.wasm';
import { read } from '../playground/settings.mjs';
import { mean } from '../shared/records.mjs';
import { explorable, html } from '../shared/ui.mjs';
import source from './worker.mjs?worker';

const SEEDS = 2 ** 20; // those that a press draws from; runs that are recorded have smaller ones
const FEWEST = 1000;
const KEPT = 4; // curves of a cell that stay
const whole = (share) => (share >= 99.5 && share < 100 ? Math.min(share, 99.9).toFixed(1) : share.toFixed(0)); // 100 means all
const range = (scores) => { const [low, high] = [Math.min(...scores), Math.max(...scores)].map(whole); return low === high ? low : `${low} to ${high}`; };

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const [parts, lexicon] = ['parts', 'lexicon'].map((name) => model.get(name));
    const tasks = Object.fromEntries(model.get('tasks').map((task) => [task.name, task]));
    const why = lacking();
    const most = Math.max(1, Math.min(2, (navigator.hardwareConcurrency || 2) - 1)); // workers at a time
    const cells = new Map(parts.flatMap(({ of, how, origin, cells: found }) => Object.entries(found).map(([task, cell]) => [cell.name, { ...cell, task, of, how, origin, runs: [] }])));
    const queue = [];
    const busy = new Set();

    ui.setting('cell', { parse: (text) => (cells.has(text) ? text : undefined) });
    const chosen = () => cells.get(model.get('cell')) ?? [...cells.values()][0];
    const called = ({ of, how }) => (of === 'everything' ? 'everything trained' : `${of} ${how}`);

    // ---- runs ----
    function press(cell) {
      ui.set('cell', cell.name);
      if (why) return;
      cell.runs.filter(({ state }) => state === 'waiting' || state === 'training').forEach(stop);
      const seed = FEWEST + Math.floor(Math.random() * (SEEDS - FEWEST));
      const run = { cell, seed, state: 'waiting', step: 0, points: [], settings: { ...read(cell.line, tasks), seed } };
      cell.runs = [...cell.runs, run].slice(-KEPT);
      queue.push(run);
      next();
    }
    function next() {
      while (queue.length && busy.size < most) begin(queue.shift());
      ui.redraw();
    }
    function begin(run) {
      const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
      run.state = 'training';
      busy.add(run);
      try {
        run.worker = new Worker(url);
      } catch (error) {
        end(run, 'failed', `a worker could not be started (${error.message})`);
        return;
      }
      run.worker.onmessage = ({ data }) => {
        URL.revokeObjectURL(url);
        if (data.step) run.step = data.step;
        if (data.kind === 'point') { run.points.push(data); run.shown = data.shown; }
        if (data.kind === 'done') { Object.assign(run, { share: data.share, seconds: data.seconds }); end(run, 'done'); }
        if (data.kind === 'failed') end(run, 'failed', data.why ?? `at step ${data.step} the loss is ${data.loss}`);
        ui.redraw();
      };
      run.worker.onerror = (event) => end(run, 'failed', event.message || 'a worker could not be started');
      run.worker.postMessage({ kernels, settings: run.settings, lexicon });
    }
    function end(run, state, reason) {
      Object.assign(run, { state, why: reason });
      run.worker?.terminate();
      busy.delete(run);
      next();
    }
    function stop(run) {
      if (run.state === 'waiting') queue.splice(queue.indexOf(run), 1);
      run.cell.runs = run.cell.runs.filter((one) => one !== run);
      if (run.state === 'training') end(run, 'stopped');
    }

    // ---- the table ----
    const names = Object.keys(tasks);
    const head = html('thead', {}, html('tr', {}, html('td', { class: 'ft-unit', text: 'Answers that are right, in %' }), names.map((name) => html('th', { scope: 'col' }, html('span', { text: name[0].toUpperCase() + name.slice(1) }), html('small', { text: tasks[name].said })))));
    const buttons = new Map();
    const body = html('tbody', {}, parts.map((part, row) => html('tr', { class: part.of === parts[row - 1]?.of ? undefined : 'ft-first' },
      html('th', { scope: 'row' }, html('span', { class: 'ft-part' }, html('span', { class: part.of === parts[row - 1]?.of ? 'ft-of ft-again' : 'ft-of', text: part.of }), html('span', { class: `ft-how ex-mark ex-${part.origin}`, text: part.how }))),
      names.map((task) => {
        const cell = cells.get(part.cells[task]?.name);
        if (!cell) return html('td', { class: 'ft-none' });
        const button = html('button', { type: 'button', class: 'ft-cell', 'data-cell': cell.name }, html('span', { class: 'ft-share' }), html('small', { class: 'ft-yours' }), html('span', { class: 'ft-bar' }));
        button.addEventListener('click', () => press(cell));
        buttons.set(cell.name, button);
        return html('td', {}, button);
      }))));
    const table = html('table', { class: 'ft-table', 'aria-label': 'Share of answers that are right, in percent, by what is learned and by task' }, head, body);
    table.addEventListener('keydown', (event) => { // one stop of the tab key, the cell that is shown; arrows go from cell to cell
      const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      const at = event.target.closest?.('td');
      if (!way || !at) return;
      event.preventDefault();
      let [row, column] = [at.parentElement.rowIndex, at.cellIndex];
      for (;;) {
        row += way[0];
        column += way[1];
        const found = table.rows[row]?.cells[column];
        if (!found || row < 1) return;
        const button = found.querySelector('button');
        if (button) { button.focus(); return; }
      }
    });
    table.addEventListener('focusin', ({ target }) => { if (target.dataset.cell) ui.set('cell', target.dataset.cell); }); // where one is, is shown

    const title = html('p', { class: 'ft-title' });
    const panel = html('div', { class: 'ft-panel' }, title);
    ui.stage.append(html('div', { class: 'ft-main' }, html('div', { class: 'ft-left' }, table), panel));
    const chart = ui.chart({ height: 230, x: { label: 'steps', domain: [0, 1000] }, y: { label: 'right, %', domain: [0, 100] } });
    const example = html('dl', { class: 'ft-example' });
    panel.append(chart.element, ui.root.querySelector('.ex-words'), example);

    ui.draw(() => {
      const cell = chosen();
      for (const [name, button] of buttons) drawCell(cells.get(name), button, name === cell.name);
      const { band, origin, runs, task, line } = cell;
      const { steps } = read(line, tasks);
      title.textContent = `${task[0].toUpperCase()}${task.slice(1)}, ${called(cell)}`;
      const recorded = `${cell.scores.length} recorded seeds`;
      chart.update({
        label: `Share of answers that are right against steps: ${title.textContent}`,
        x: { domain: [0, steps] },
        marks: [
          ...(band ? [{ kind: 'band', ...band, origin: 'fixed', name: recorded }, { kind: 'line', x: band.x, y: band.mean, origin: 'fixed', width: 1.4 }] : []),
          ...runs.map((run, i) => ({ kind: 'line', x: run.points.map(({ step }) => step), y: run.points.map(({ share }) => share), origin, width: i === runs.length - 1 ? 2.6 : 1.2, faint: i < runs.length - 1, name: i === runs.length - 1 ? `seed ${run.seed}, here and now` : undefined })),
        ],
      });
      const shown = runs.at(-1)?.shown;
      example.hidden = !shown;
      if (shown) {
        const good = shown.find(([, right, said]) => said === right) ?? shown[0];
        const text = JSON.stringify(good);
        if (example.dataset.text !== text) {
          example.dataset.text = text;
          const [asked, right, said] = good;
          example.replaceChildren(html('dt', { text: 'asked' }), html('dd', { text: asked }), html('dt', { text: 'it says' }), html('dd', { class: said === right ? 'ft-right' : 'ft-wrong', text: said }), ...(said === right ? [] : [html('dt', { text: 'right is' }), html('dd', { text: right })]));
        }
      }
      ui.say(words(cell));
    });

    function drawCell(cell, button, now) {
      const run = cell.runs.at(-1);
      const share = cell.scores.length ? mean(cell.scores) : undefined;
      const mine = run?.share ?? run?.points.at(-1)?.share;
      const [big, small, bar] = button.children;
      const text = share === undefined ? (mine === undefined ? '·' : whole(mine)) : whole(share);
      const yours = run?.state === 'waiting' ? 'waits' : run?.state === 'training' ? (share === undefined ? '' : mine === undefined ? '…' : whole(mine)) : run?.state === 'done' && share !== undefined ? `yours ${whole(mine)}` : '';
      if (big.textContent !== text) big.textContent = text;
      if (small.textContent !== yours) small.textContent = yours;
      button.style.setProperty('--share', (share ?? mine ?? 0).toFixed(0));
      button.classList.toggle('ft-empty', share === undefined && mine === undefined);
      button.classList.toggle('ft-now', now);
      button.tabIndex = now ? 0 : -1;
      bar.style.width = run?.state === 'training' ? `${Math.round((100 * run.step) / run.settings.steps)}%` : '0';
      if (why) button.setAttribute('aria-disabled', 'true');
      const known = share === undefined ? 'not recorded yet' : `${whole(share)} % right, the mean of ${cell.scores.length} seeds`;
      const state = { waiting: 'waits for its turn', training: 'is being trained', done: `trained here: ${mine === undefined ? '' : whole(mine)} %` }[run?.state];
      const label = `${called(cell)}, ${cell.task}: ${known}${state ? `; ${state}` : ''}. Train it`;
      if (button.getAttribute('aria-label') !== label) button.setAttribute('aria-label', label);
    }

    function words(cell) {
      const run = cell.runs.at(-1);
      const known = cell.scores.length ? `The ${cell.scores.length} recorded seeds ended at ${range(cell.scores)} %.` : 'No run of it is recorded yet.';
      if (why) return `${known} Nothing can be trained here: ${why}.`;
      if (!run) return `${model.get('text')} ${known}`;
      const { steps } = run.settings;
      if (run.state === 'waiting') return `Seed ${run.seed} waits until another cell has ended. ${known}`;
      if (run.state === 'failed') return `Seed ${run.seed} stopped: ${run.why}. ${known}`;
      if (run.state === 'training') return `Seed ${run.seed}, step ${run.step} of ${steps}${run.points.length ? `: ${whole(run.points.at(-1).share)} % right` : ''}. ${known}`;
      return `Seed ${run.seed} ends at ${whole(run.share)} % right, after ${steps} steps and ${run.seconds.toFixed(1)} seconds in your browser. ${known} Press again for another seed.`;
    }

    return () => { queue.length = 0; for (const run of busy) run.worker?.terminate(); busy.clear(); ui.close(); };
  },
};
