// The playground: choose where each part of a small transformer comes from, train it here, and read what it writes.
import { mean, short } from '../shared/records.mjs';
import { explorable, heatmap, html } from '../shared/ui.mjs';
import { lacking } from './able.mjs';
import { Crew, Run } from './run.mjs';
import { headsOf, lettersOf, LETTERS, partsOf, rangesOf, read, refused, standardOf, WHAT, withDepths, withPart, written } from './settings.mjs';

const RUNS = 4;
const CALM = 400; // ms between drawings while runs report: each leaves behind a tenth of a megabyte
const DASHES = [undefined, '7 4', '2 3', '9 3 2 3'];
const ORIGIN_WORDS = { t: 'trained', s: 'seeded, frozen', m: 'masked', f: 'fixed', n: 'removed' };
const ORIGIN_HINTS = {
  t: 'Trained: every number is learned.',
  s: 'Seeded, frozen: the weights stay as the seed drew them.',
  m: 'Masked: the weights stay as the seed drew them, and a mask learns which of them to keep.',
  f: 'Fixed by a formula, not by a seed: a Fourier transform for the encoder’s attention, ones and zeros for norms.',
  n: 'Removed: what comes from below goes past it. A layer keeps attention or feed-forward.',
};
const BUDGETS = [30_000, 100_000, 300_000];
const SMALL = 520; // pixels, below which the translator is a smaller one
const PHONE = 'w48_n300';
const bytes = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} MB` : n >= 1000 ? `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB` : `${n} bytes`);
const seconds = (s) => (s < 10 ? `${s.toFixed(1)} s` : `${Math.round(s)} s`);
const fixed = (value, digits = 1) => (value === undefined ? '–' : value.toFixed(digits));
const named = ({ kind, side, layer }) => (!side ? WHAT[kind] : `${side}${layer === undefined ? '' : ` layer ${layer + 1}`}, ${WHAT[kind]}`);

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const presets = model.get('presets');
    const tasks = Object.fromEntries(model.get('tasks').map((task) => [task.name, task]));
    const reading = (line) => read(line, tasks);
    const knownOf = (line) => { const found = written({ ...reading(line), seed: 0 }); return presets.find((one) => one.line === found); };
    let why = lacking();
    const pieces = Object.keys(JSON.parse(model.get('tokenizer')).model.vocab).length;
    let complaint;
    let active = 0;
    let part = 'encoder.0.attention';
    let looking = false;
    let budget = BUDGETS[1];
    const best = new Map(); // by budget: {score, line}
    const held = new Set(); // runs that wait until the page is seen again

    const owner = {
      vocabulary: pieces,
      tasks,
      files: { lexicon: model.get('lexicon'), tokenizer: model.get('tokenizer') },
      changed(kind) {
        if (kind === 'done') for (const size of BUDGETS) {
          const run = runs.find((one) => one.state === 'done' && !one.settings.task && one.counts.bytes <= size && one.test > (best.get(size)?.score ?? 0));
          if (run) best.set(size, { score: run.test, line: run.line });
        }
        if (kind !== 'looked' && looking && runs[active].begun && performance.now() - looked > 700) peek();
        later ||= setTimeout(() => { later = 0; ui.redraw(); }, CALM);
      },
      saved(run, zip) {
        const link = html('a', { href: URL.createObjectURL(new Blob([zip], { type: 'application/zip' })), download: 'reservoir-playground.zip' });
        ui.root.append(link);
        link.click();
        link.remove();
        setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      },
      unable(reason) { why = reason; stopAll(); ui.redraw(); },
    };
    let looked = 0;
    let later = 0;
    owner.crew = new Crew(owner.unable);
    const peek = () => { looked = performance.now(); runs[active].show(part); };

    // ---- the settings: one line a run, in the address ----
    ui.setting('setup', {
      parse(text) {
        try {
          const lines = text.split('~');
          if (lines.length > RUNS) throw new Error(`there are at most ${RUNS} runs, got ${lines.length}`);
          lines.forEach(reading);
          return text;
        } catch (error) {
          complaint = `The link cannot be used: ${error.message}. The page’s own settings are shown.`;
          return undefined;
        }
      },
    });
    ui.setting('brush', { parse: (text) => (Object.hasOwn(LETTERS, text) ? text : undefined) });
    const small = el.clientWidth && el.clientWidth < SMALL;
    const plain = () => { if (small && !model.get('setup')) model.set('setup', PHONE); }; // what a phone begins with
    if (!model.book?.address.get('setup')) plain();
    let runs = model.get('setup').split('~').map((line) => new Run(line, owner));
    const current = () => runs[active];
    const keep = () => ui.set('setup', runs.map(({ line }) => line).join('~'));
    const change = (settings) => {
      const bad = refused(settings);
      if (bad) { complaint = `That cannot be: ${bad}.`; ui.redraw(); return; }
      complaint = undefined;
      current().set(written(settings));
      if (current().typed !== model.get('sentence')) current().translate(model.get('sentence'));
      keep();
      ui.redraw();
    };
    const set = (line) => change({ ...reading(line), seed: current().settings.seed });
    model.on('change:setup', () => {
      if (model.get('setup') === runs.map(({ line }) => line).join('~')) return;
      plain(); // from elsewhere: "Start again", or the notebook
      const lines = model.get('setup').split('~');
      runs.splice(lines.length).forEach((run) => run.close());
      lines.forEach((line, i) => { if (runs[i]) runs[i].set(line); else runs.push(new Run(line, owner)); });
      active = Math.min(active, runs.length - 1);
      complaint = heard = undefined; // a new run has not heard the sentence yet
      ui.redraw();
    });

    // ---- controls ----
    const button = (text, title, onClick, kind) => { const made = html('button', { type: 'button', title, class: kind, text }); made.addEventListener('click', onClick); return made; };
    const labelled = (text, control) => html('label', { class: 'ex-field' }, html('span', { class: 'ex-name', text }), control);
    const select = (label, options, onChange) => { const made = html('select', { 'aria-label': label }, options.map(([value, text]) => html('option', { value, text }))); made.addEventListener('change', () => onChange(made.value)); return made; };
    const taskSelect = select('Task', [['', 'translate from German'], ...Object.values(tasks).map(({ name, said }) => [name, `${name}: ${said}`])], (name) => set(name || !small ? written(standardOf(tasks[name])) : PHONE));
    const preset = select('Preset', [['?', 'own settings']], (line) => { if (line !== '?') set(line); });
    const again = () => { complaint = undefined; current().set(current().line); ui.redraw(); };
    const train = button('Train', 'Train, pause, or begin again', () => { complaint = undefined; const run = current(); if (run.ended) again(); else if (run.state === 'training') run.pause(); else run.train(); ui.redraw(); }, 'pg-train');
    const every = button('Train all', 'Train all runs: on two processor cores where there are as many, in turns', () => { complaint = undefined; for (const run of runs) run.train(); ui.redraw(); });
    const step = button('One step', 'Make one step of the optimiser', () => { complaint = undefined; current().single(); ui.redraw(); });
    const reset = button('Reset', 'Begin again; Undo brings back what was learned', again);
    const undo = button('Undo', 'Bring back what this run was and had learned before its settings changed', () => { complaint = undefined; current().restore(); keep(); ui.redraw(); train.focus(); });
    const seed = button('New seed', 'Draw all weights from another seed', () => change({ ...current().settings, seed: (current().settings.seed + 1) % 2 ** 32 }));
    const beside = button('Compare with another run', 'Keep this run and what it has learned, and set up one next to it', () => {
      const { line } = current();
      if (current().before) current().restore(); // what was learned stays here, and what was changed goes next to it
      runs.push(new Run(line, owner));
      active = runs.length - 1;
      current().translate(model.get('sentence'));
      keep();
      ui.redraw();
    });
    ui.controls.append(labelled('Task', taskSelect), labelled('Preset', preset), html('div', { class: 'pg-buttons' }, train, every, step, reset, undo, seed, beside));
    const tabs = html('div', { class: 'pg-tabs', role: 'group', 'aria-label': 'Runs' });

    const brushes = html('div', { class: 'pg-brushes', role: 'radiogroup', 'aria-label': 'Origin that a click gives' }, Object.entries(ORIGIN_WORDS).map(([letter, text]) => {
      const made = html('button', { type: 'button', role: 'radio', class: `pg-brush pg-${LETTERS[letter]}`, 'data-letter': letter, text });
      made.addEventListener('click', () => ui.set('brush', letter));
      made.addEventListener('keydown', (event) => {
        const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!way) return;
        event.preventDefault();
        const all = [...brushes.children].filter((one) => !one.hidden);
        const next = all[(all.indexOf(made) + way + all.length) % all.length];
        ui.set('brush', next.dataset.letter);
        next.focus();
      });
      return made;
    }));
    const brushHint = html('p', { class: 'ex-hint pg-origin' });
    const fill = html('div', { class: 'pg-fill' }, html('span', { text: 'Give it to all' }), [['attention', ['attention', 'cross']], ['feed-forward', ['feed_forward']], ['norms', ['norms', 'norm']], ['parts', undefined]].map(([text, kinds]) => button(text, `Give the chosen origin to all ${text} that can have it`, () => {
      const letter = model.get('brush');
      const able = partsOf(current().settings).filter(({ kind, letters }) => (!kinds || kinds.includes(kind)) && letters.includes(letter));
      if (able.length) change(able.reduce((settings, { name }) => withPart(settings, name, letter), current().settings));
      else complain(partsOf(current().settings).find(({ kind }) => kinds.includes(kind)));
    }, 'ex-quiet')));
    const net = html('div', { class: 'pg-net', role: 'group', 'aria-label': 'The model, from the bottom up' });
    const of = (n, what) => `${n} ${what}${n > 1 ? 's' : ''}`;
    const SIZES = {
      layers: ['Layers', (n) => of(n, 'layer')], encoder: ['encoder layers', (n) => of(n, 'encoder layer')], decoder: ['decoder layers', (n) => of(n, 'decoder layer')],
      width: ['Width', (n) => `${n} wide`], steps: ['Steps', (n) => `${n} steps`], rate: ['Learning rate', (n) => `rate ${n}`], keep: ['Share that masks keep', (n) => `masks keep ${Math.round(100 * n)} %`],
    };
    const FREE = { rate: [0.001, 0.002, 0.003, 0.004, 0.008, 0.01, 0.016, 0.03, 0.05, 0.2, 1], keep: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] };
    const sizesBox = html('div', { class: 'pg-sizes' });
    let sizes = {};
    function drawSizes({ settings }) {
      const ranges = rangesOf(settings);
      sizes = Object.fromEntries(Object.entries(SIZES).filter(([name]) => name in ranges).map(([name, [label, text]]) => [name, select(label, (FREE[name] ?? ranges[name]).map((n) => [n, text(n)]), (n) => {
        const changed = { [name]: Number(n) };
        change(['layers', 'encoder', 'decoder'].includes(name) ? withDepths(current().settings, changed) : { ...current().settings, ...changed });
      })]));
      sizesBox.replaceChildren(...Object.values(sizes));
    }
    const left = html('div', { class: 'pg-left' }, brushes, brushHint, fill, net, sizesBox);

    const axes = { y: 'score', x: 'step' };
    const pickAxis = (axis, options) => select(axis === 'y' ? 'Curve of' : 'Against', options, (value) => { axes[axis] = value; ui.redraw(); });
    const right = html('div', { class: 'pg-curve' }, html('div', { class: 'pg-axes' }, pickAxis('y', [['score', 'score on validation'], ['loss', 'training loss']]), html('span', { text: 'against' }), pickAxis('x', [['step', 'steps'], ['seconds', 'seconds']])));
    const bar = html('div', { class: 'pg-bar', role: 'progressbar', 'aria-label': 'Steps of this run' }, html('span'));
    const numbers = html('div', { class: 'pg-numbers' });
    ui.stage.append(tabs, html('div', { class: 'pg-main' }, right, left, numbers));
    const chart = ui.chart({ height: 190, x: { label: 'steps', domain: [0, 500] }, y: { label: 'BLEU', domain: [0, 100] } });
    right.append(bar, chart.element);
    const facts = html('table', { class: 'pg-facts' });
    numbers.append(html('div', { class: 'pg-scroll', tabindex: 0, role: 'region', 'aria-label': 'The runs in numbers' }, facts), html('p', { class: 'ex-hint pg-bleu', text: 'BLEU, from 0 to 100, says how many of a translation’s words, alone and in rows of up to four, stand in the reference as well. Chapter 3 explains it.' }));

    const lines = html('tbody');
    const repeated = html('p', { class: 'ex-hint', text: 'The same piece again and again: a model first learns which pieces are frequent, whatever it reads. What the German says comes later.' });
    const heads = ['', '', ''].map(() => html('th', { scope: 'col' }));
    right.append(html('div', { class: 'pg-texts' }, html('table', {}, html('thead', {}, html('tr', {}, heads)), lines), repeated));
    const typed = ui.text('sentence', { label: 'Type a German sentence', maxLength: 140, lang: 'de', hint: 'It knows some hundred words: Mann, Frau, Lehrer, Ärztin, Hund, Katze, Buch, Kuchen, sehen, helfen, zeigen, aufmachen …' });
    const answer = html('p', { class: 'pg-answer', lang: 'en' });
    const typing = html('div', { class: 'pg-typed' }, typed.parentElement, answer);
    ui.stage.append(typing);
    ui.root.insertBefore(ui.root.querySelector('.ex-words'), ui.stage); // what is going on, above what shows it

    const canvas = html('canvas', { class: 'pg-canvas', width: 64, height: 64, role: 'img', 'aria-label': 'No weights yet' });
    const partSelect = select('Part to look at', [['', '']], (name) => { part = name; ui.redraw(); });
    const lookNote = html('p', { class: 'ex-hint' });
    let head = 'mean';
    const headSelect = select('Head', [['mean', 'mean of the heads'], ...[0, 1, 2, 3].map((h) => [h, `head ${h + 1}`])], (value) => { head = value; ui.redraw(); });
    const map = heatmap({ cell: 18 });
    const mapNote = html('p', { class: 'ex-hint' });
    const attention = html('div', { class: 'pg-look' }, html('div', {}, headSelect, mapNote), html('div', { class: 'pg-scroll', tabindex: 0, role: 'region', 'aria-label': 'Attention weights' }, map.element));
    const look = html('details', { class: 'pg-more' }, html('summary', { text: 'Look at weights, masks and attention' }), html('div', { class: 'pg-look' }, html('div', {}, partSelect, lookNote), canvas), attention);
    look.addEventListener('toggle', () => { looking = look.open; if (looking) peek(); ui.redraw(); });
    const challenge = html('div', {});
    const budgetSelect = select('Budget', BUDGETS.map((n) => [n, bytes(n)]), (n) => { budget = Number(n); ui.redraw(); });
    budgetSelect.value = budget;
    const winner = button('Set that model up', 'The settings of the best run within the budget', () => change(reading(best.get(budget).line)), 'ex-quiet');
    const contest = html('details', { class: 'pg-more' }, html('summary', { text: 'The challenge: the best score for the fewest bytes' }), html('p', {}, 'A model is stored as its trained numbers (4 bytes each), its masks (a bit for each weight) and its seed. Get the best BLEU on the test split within ', budgetSelect, '.'), challenge, winner);
    ui.stage.append(look, contest);
    const save = button('Download the model', 'A zip that reservoir.models.from_pretrained loads', () => current().save(`Trained in the page for ${current().step} of ${current().settings.steps} steps; BLEU on test: ${fixed(current().test)}.`));
    const saveNote = html('span', { class: 'ex-hint', text: 'Unpack the zip; in Python, from_pretrained(folder) loads it and writes the same translations.' });
    const saving = html('div', { class: 'pg-save' }, save, saveNote);
    ui.stage.append(saving);

    const away = () => {
      if (document.hidden) for (const run of runs) { if (run.state === 'training') { run.pause(); held.add(run); } } else { for (const run of held) if (run.state === 'paused') run.train(); held.clear(); }
      ui.redraw();
    };
    document.addEventListener('visibilitychange', away);

    function stopAll() { for (const one of [train, every, step, reset, undo, seed, beside, save]) one.disabled = true; }
    if (why) stopAll();
    let shown = {}; // what the drawing shows, so that it is made anew only when that changes
    let heard = '';

    ui.draw(({ brush, sentence }) => {
      const run = current();
      const { settings } = run;
      if (sentence !== heard) { heard = sentence; for (const one of runs) one.translate(sentence); }
      const { task } = settings;
      const known = knownOf(run.line);
      if (!('task' in shown) || shown.task !== task) { drawSizes(run); drawTask(task); }
      preset.value = known?.line ?? '?';
      for (const [name, control] of Object.entries(sizes)) {
        if (![...control.options].some((option) => Number(option.value) === settings[name])) control.append(html('option', { value: settings[name], text: SIZES[name][1](settings[name]) }));
        control.value = settings[name];
      }
      sizes.keep.hidden = ![...lettersOf(settings).values()].includes('m');
      for (const one of brushes.children) { const on = one.dataset.letter === brush; one.setAttribute('aria-checked', String(on)); one.tabIndex = on ? 0 : -1; }
      brushHint.textContent = ORIGIN_HINTS[brush];
      train.textContent = run.ended ? 'Reset' : run.state === 'training' ? 'Pause' : run.step ? 'Go on' : 'Train';
      reset.style.visibility = run.ended ? 'hidden' : ''; // it has the place of Train then
      every.hidden = runs.length < 2;
      if (!why) {
        step.disabled = run.ended;
        undo.disabled = !run.before;
        every.disabled = runs.every((one) => one.ended || one.state === 'training');
        beside.disabled = runs.length === RUNS;
        save.disabled = !run.step || run.state === 'training';
      }
      const done = Math.round((100 * run.step) / settings.steps);
      bar.firstChild.style.width = `${done}%`;
      bar.setAttribute('aria-valuenow', done);
      const key = `${active} ${runs.map(({ line: each, state }) => `${each}:${state}`).join(' ')}`;
      if (shown.key !== key) { shown = { key, task }; drawTabs(); drawNet(run); }
      drawCurves(known);
      drawFacts();
      drawTexts(run);
      drawLook(run);
      drawAttention(run);
      const inside = run.counts.bytes <= budget;
      const top = best.get(budget);
      winner.hidden = !top;
      challenge.replaceChildren(html('p', { text: `This model takes ${bytes(run.counts.bytes)}: ${inside ? `${bytes(budget - run.counts.bytes)} are left.` : `${bytes(run.counts.bytes - budget)} too many.`} ${top ? `Your best so far: ${top.score.toFixed(1)} BLEU.` : 'No run within the budget has ended yet.'}` }));
      ui.say(complaint ?? (why ? `Nothing can be trained here: ${why}. The curves are recorded runs of the presets, made in Python.` : words(run, runs, known)));
    });

    /** What depends on the task alone. */
    function drawTask(task) {
      const mine = presets.filter(({ line }) => reading(line).task === task);
      taskSelect.value = task?.name ?? '';
      preset.replaceChildren(...[['?', 'own settings'], ...mine.map(({ line, about, chapter }) => [line, `${chapter ? `Chapter ${chapter}: ` : ''}${about.replace(/\.$/, '')}`])].map(([value, text]) => html('option', { value, text })));
      heads.forEach((head, i) => { head.textContent = (task ? ['asked', 'should be', 'it says'] : ['German, never seen in training', 'should be', 'the run writes'])[i]; });
      for (const element of [typing, contest, saving, numbers.querySelector('.pg-bleu')]) element.hidden = Boolean(task);
      for (const one of brushes.children) if (one.dataset.letter === 'n') one.hidden = !task;
      if (!task && model.get('brush') === 'n') ui.set('brush', 's'); // of a translator nothing can be removed
      headSelect.lastChild.hidden = headSelect.children[3].hidden = headsOf({ task }) < 4;
      if (headsOf({ task }) < 4 && Number(head) > 1) headSelect.value = head = 'mean';
    }

    function drawTabs() {
      const focused = [...tabs.querySelectorAll('button')].indexOf(document.activeElement);
      tabs.hidden = runs.length < 2;
      tabs.replaceChildren(...runs.map((one, i) => {
        const tab = html('button', { type: 'button', 'aria-pressed': String(i === active), text: `Run ${'ABCD'[i]}` });
        tab.addEventListener('click', () => { active = i; complaint = undefined; ui.redraw(); });
        const gone = html('button', { type: 'button', class: 'ex-quiet', 'aria-label': `Remove run ${'ABCD'[i]}`, text: '×' });
        gone.addEventListener('click', () => { runs.splice(i, 1)[0].close(); if (i < active) active -= 1; active = Math.min(active, runs.length - 1); keep(); ui.redraw(); });
        return html('span', { class: 'pg-tab' }, tab, gone);
      }));
      if (focused >= 0) (tabs.hidden ? beside : [...tabs.querySelectorAll('button')].at(Math.min(focused, 2 * runs.length - 1))).focus();
    }

    /** Say that a part cannot have the chosen origin, and which it can have. */
    function complain({ kind, letters }) {
      const what = WHAT[kind];
      complaint = `${what[0].toUpperCase()}${what.slice(1)} cannot be ${LETTERS[model.get('brush')]} here, only ${[...letters].map((letter) => LETTERS[letter]).join(' or ')}.`;
      ui.redraw();
    }

    function drawNet(run) {
      const letters = lettersOf(run.settings);
      const focused = document.activeElement?.dataset?.part;
      const { task } = run.settings;
      const box = (one) => {
        const letter = letters.get(one.name);
        const fourier = one.kind === 'attention' && letter === 'f';
        const made = html('button', { type: 'button', class: `pg-part pg-${LETTERS[letter]} pg-kind-${one.kind}`, 'data-part': one.name },
          html('span', {}, one.side && html('span', { class: 'ex-hidden', text: `${one.side}${one.layer === undefined ? '' : ` layer ${one.layer + 1}`}, ` }), fourier ? 'Fourier transform' : WHAT[one.kind]), html('small', { text: letter === 'f' && !fourier ? 'fixed: ones, zeros' : ORIGIN_WORDS[letter] }));
        made.addEventListener('click', () => {
          const brush = model.get('brush');
          if (!one.letters.includes(brush)) {
            complain(one);
            return;
          }
          change(withPart(current().settings, one.name, letter === brush ? 't' : brush));
        });
        return made;
      };
      const all = partsOf(run.settings);
      const stack = (side) => html('div', { class: 'pg-stack' }, html('span', { class: 'pg-side', text: side }),
        Array.from({ length: run.settings[side] }, (_, layer) => html('div', { class: 'pg-layer', role: 'group', 'aria-label': `${side} layer ${layer + 1}` }, all.filter((one) => one.side === side && one.layer === layer).map(box))),
        all.filter((one) => one.side === side && one.kind === 'norm').map(box));
      if (task) {
        const layers = Array.from({ length: run.settings.layers }, (_, layer) => html('div', { class: 'pg-layer', role: 'group', 'aria-label': `layer ${layer + 1}` }, all.filter((one) => one.layer === layer).map(box)));
        net.replaceChildren(html('div', { class: 'pg-input', text: '↑ in: read from here up' }), box(all[0]), html('div', { class: 'pg-stack pg-single' }, layers), ...all.slice(-2).map(box), html('div', { class: 'pg-output', text: 'out: an answer at each place' }));
      } else net.replaceChildren(html('div', { class: 'pg-input', text: '↑ in: German words (encoder) and the English so far (decoder); read from here up' }), box(all[0]), html('div', { class: 'pg-stacks' }, stack('encoder'), html('span', { class: 'pg-arrow', 'aria-hidden': 'true', text: '→' }), stack('decoder')), html('div', { class: 'pg-output', text: 'out: the next English word, by the same embeddings' }));
      if (focused) net.querySelector(`[data-part="${focused}"]`)?.focus();
      const options = all.map((one) => [one.name, named(one)]);
      partSelect.replaceChildren(...options.map(([value, text]) => html('option', { value, text })));
      if (!options.some(([value]) => value === part)) part = 'embedding';
      partSelect.value = part;
    }

    function drawCurves(known) {
      const scored = axes.y === 'score';
      const bench = Boolean(runs[active].settings.task);
      const unit = bench ? 'right, %' : 'BLEU';
      const alike = (run) => Boolean(run.settings.task) === bench; // scores of one kind are on one axis
      // Drawn anew only where it changes: a drawing that is thrown away five times a second fills memory.
      const now = JSON.stringify([axes, active, why, runs.map(({ line, life, points, losses }) => [line, life, scored ? points.length : Math.floor(losses.length / 5)])]);
      if (shown.curves === now) return;
      shown.curves = now;
      const smooth = (run) => { // the mean of the last ten, at most 200 points
        const every = Math.max(1, Math.ceil(run.losses.length / 200));
        const found = { x: [], y: [] };
        for (let i = 0; i < run.losses.length; i += every) { found.x.push(axes.x === 'step' ? i + 1 : ((i + 1) * run.seconds) / run.step); found.y.push(mean(run.losses.slice(Math.max(0, i - 9), i + 1))); }
        return found;
      };
      const line = (run) => (scored ? { x: [0, ...run.points.map((point) => point[axes.x])], y: [bench ? NaN : 0, ...run.points.map(({ score }) => score)] } : smooth(run));
      const found = runs.map((run) => (alike(run) ? line(run) : { x: [], y: [] }));
      const recorded = scored && axes.x === 'step' ? (why ? presets.filter((one) => reading(one.line).task === runs[active].settings.task) : [known]).filter((one) => one?.band) : [];
      const far = axes.x === 'step' ? Math.max(...runs.filter(alike).map(({ settings }) => settings.steps)) : Math.max(5, ...found.flatMap(({ x }) => x));
      const high = scored ? 100 : Math.max(2, ...found.flatMap(({ y }) => y));
      chart.update({
        label: `${scored ? (bench ? 'Share of answers that are right' : 'BLEU on validation sentences') : 'Training loss'} against ${axes.x === 'step' ? 'steps' : 'seconds'} of ${of(runs.length, 'run')}`,
        x: { label: axes.x === 'step' ? 'steps' : 'seconds of training on this machine', domain: [0, far] },
        y: { label: scored ? unit : `loss, nats ${bench ? 'an answer' : 'a token'}`, domain: [0, high] },
        marks: [
          ...recorded.flatMap(({ band, about, scores }, i) => [{ kind: 'band', ...band, origin: 'fixed' }, { kind: 'line', x: band.x, y: band.mean, origin: 'fixed', width: 1.4, dash: why ? DASHES[i % 4] : undefined, name: why ? about : `recorded in Python, ${of(scores.length, 'seed')}` }]),
          ...found.map((each, i) => ({ kind: 'line', ...each, width: i === active ? 2.6 : 1.5, dash: DASHES[i], origin: 'trained', name: runs.length > 1 ? `run ${'ABCD'[i]}` : 'this run, here and now' })),
          ...(scored ? found.map((each, i) => ({ kind: 'points', x: each.x.slice(1), y: each.y.slice(1), size: i === active ? 2.6 : 1.8, origin: 'trained' })) : []),
        ],
      });
    }

    function drawFacts() {
      const scores = runs.some(({ settings }) => settings.task) ? (runs.every(({ settings }) => settings.task) ? 'right, %' : 'score') : 'BLEU';
      const rows = [
        ['trainable', ({ counts }) => short(counts.trainable)],
        ['stored', ({ counts }) => bytes(counts.bytes)],
        ['operations a step', ({ operations }) => (operations ? short(operations) : '–')],
        ['steps', ({ step: at, settings }) => `${at} of ${settings.steps}`],
        ['training', (run) => (run.step ? `${seconds(run.seconds)}, ${(run.step / run.seconds).toFixed(0)} a second` : '–')],
        [`${scores}, validation`, ({ points }) => fixed(points.at(-1)?.score)],
        [`${scores}, test`, (run) => { const known = knownOf(run.line); return `${fixed(run.test)}${known?.scores.length ? ` (Python ${fixed(mean(known.scores))})` : ''}`; }],
      ];
      if (!shown.facts) {
        shown.facts = rows.map(() => runs.map(() => html('td')));
        facts.replaceChildren(
          ...(runs.length > 1 ? [html('thead', {}, html('tr', {}, html('td'), runs.map((_, i) => html('th', { scope: 'col', text: 'ABCD'[i], class: i === active ? 'pg-now' : undefined }))))] : []),
          html('tbody', {}, rows.map(([name], i) => html('tr', {}, html('th', { scope: 'row', text: name }), shown.facts[i])))
        );
      }
      rows.forEach(([, value], i) => runs.forEach((run, j) => { const text = value(run); if (shown.facts[i][j].textContent !== text) shown.facts[i][j].textContent = text; }));
    }

    function drawTexts(run) {
      const references = run.references ?? [];
      const { task } = run.settings;
      const rows = references.map(([de, en], i) => [de, en, run.samples?.[i] ?? '']);
      const text = JSON.stringify(rows);
      if (lines.dataset.text !== text) {
        lines.dataset.text = text;
        lines.replaceChildren(...(rows.length ? rows.map(([de, en, ours]) => html('tr', {}, html('td', { lang: task && task.puzzle !== 'Grammar' ? undefined : 'de', text: de }), html('td', { lang: 'en', text: en }), html('td', { lang: 'en', class: ours === en ? 'pg-right-one' : undefined, text: ours || '…' }))) : [html('tr', {}, html('td', { colspan: 3, class: 'ex-hint', text: 'Examples appear here when training begins.' }))]));
      }
      const texts = (run.samples ?? []).map((text) => text.toLowerCase().match(/\p{L}+|[.,?]/gu) ?? []);
      repeated.hidden = Boolean(task) || !texts.length || texts.some((all) => all.length < 4 || 2 * new Set(all).size > all.length); // each piece twice or more, in the mean
      const { translated } = run;
      answer.textContent = translated && run.typed ? `${translated.translation || '–'}${translated.unknown.length ? ` (it has never seen ${translated.unknown.map((word) => `“${word}”`).join(', ')})` : ''}${translated.cut ? ' (only the beginning was read)' : ''}` : run.begun ? (run.typed && '…') : 'Press Train, and this run translates it while it learns.';
    }

    function drawLook(run) {
      if (!look.open) return;
      const found = run.look?.part === part ? run.look : undefined;
      const asked = `${run.life} ${part}`; // another run, or another part of this one
      if (!found && shown.asked !== asked) { shown.asked = asked; peek(); }
      canvas.hidden = !found?.values;
      if (!found?.values) { lookNote.textContent = run.begun ? (found ? `${run.settings.task ? 'What is removed' : 'A Fourier transform'} has no weights.` : '…') : 'Press Train or One step: weights are drawn when a run begins.'; return; }
      const { rows, columns, values, bits, origin, name, of } = found;
      canvas.width = columns;
      canvas.height = rows;
      canvas.style.aspectRatio = `${columns} / ${rows}`;
      const [r, g, b] = getComputedStyle(ui.root).getPropertyValue(`--${origin}`).trim().match(/\w\w/g).map((hex) => parseInt(hex, 16));
      const context = canvas.getContext('2d');
      const image = context.createImageData(columns, rows);
      const max = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-12);
      for (let i = 0; i < values.length; i += 1) image.data.set([r, g, b, bits && !bits[i] ? 0 : 20 + 235 * (Math.abs(values[i]) / max)], 4 * i);
      context.putImageData(image, 0, 0);
      const text = `${name}, ${of.join(' × ')}${rows * columns < of.reduce((x, y) => x * y, 1) ? `, of which ${rows} × ${columns} are shown` : ''}: ${origin === 'masked' ? 'what the mask keeps of weights drawn from the seed' : origin === 'trained' ? 'trained, the stronger the larger' : 'as drawn, never moved'}.`;
      lookNote.textContent = text;
      canvas.setAttribute('aria-label', text);
    }

    function drawAttention(run) {
      if (!look.open) return;
      const found = run.look?.part === part ? run.look.attention : undefined;
      attention.hidden = !found;
      if (!found) return;
      const { weights, rows, columns } = found;
      const n = rows.length * columns.length;
      const of = (h) => weights.subarray(h * n, (h + 1) * n);
      const values = head === 'mean' ? of(0).map((_, i) => mean(Array.from({ length: headsOf(run.settings) }, (__, h) => weights[h * n + i]))) : of(Number(head));
      map.element.firstChild.setAttribute('class', `ex-heatmap ex-${run.look.origin}`);
      mapNote.textContent = `${part.endsWith('.cross') ? 'How much each piece of the translation takes from each piece of the German sentence' : 'How much each piece, a row, takes from each of the pieces above the columns'}, ${run.settings.task || !run.typed ? 'in the first example' : 'for the sentence that you typed'}.`;
      map.update({ values, rows: rows.length, cols: columns.length, rowLabels: rows, colLabels: columns, label: `${mapNote.textContent} ${head === 'mean' ? 'Mean of the heads' : `Head ${Number(head) + 1}`}.` });
    }

    model.book?.named((name) => {
      const found = presets.find((one) => one.name === name);
      if (!found) return;
      const own = current();
      const unused = runs.filter((run) => run !== own && run.state === 'new'); // what the page opened with
      runs = runs.filter((run) => !unused.includes(run));
      unused.forEach((run) => run.close());
      active = runs.indexOf(own);
      set(found.line);
    });

    return () => { clearTimeout(later); document.removeEventListener('visibilitychange', away); runs.forEach((run) => run.close()); ui.close(); };
  },
};

/** What is shown, in words. */
function words(run, runs, known) {
  if (run.state === 'failed') return run.why;
  const { counts, settings } = run;
  const share = Math.round((100 * counts.trainable) / counts.weights);
  const what = known ? known.about : `${share} % of ${short(counts.weights)} weights are trained or chosen by masks.`;
  const said = [what];
  if (run.before) said.push(`What it learned in ${run.before.step} steps is set aside until you press Train: Undo brings it back, and Compare with another run keeps both.`);
  else if (run.state === 'new') said.push(`${short(counts.trainable)} numbers can learn, and ${bytes(counts.bytes)} would be stored. What do you expect? Press Train.`);
  else if (run.state === 'training' && !run.step) said.push('The text is made by its grammar, and the weights are drawn from the seed.');
  else if (run.test !== undefined) said.push(`After ${run.step} steps and ${seconds(run.seconds)} ${settings.task ? `${run.test.toFixed(1)} % of its answers are right` : `it has ${run.test.toFixed(1)} BLEU on the test split`}${known?.scores.length ? `; Python’s recorded runs have ${mean(known.scores).toFixed(1)}${settings.task ? ' %' : ''}` : ''}.`);
  else said.push(`Step ${run.step} of ${settings.steps}${run.points.length ? `: ${run.points.at(-1).score.toFixed(1)} ${settings.task ? '% right' : 'BLEU'} on validation` : ''}.`);
  if (run.score !== undefined) for (const other of runs) {
    if (other === run || other.score === undefined || other.settings.task !== settings.task) continue;
    const gap = run.score - other.score;
    const size = counts.bytes / other.counts.bytes;
    said.push(`Compared with run ${'ABCD'[runs.indexOf(other)]} it has ${Math.abs(gap) < 0.05 ? `the same score` : `${Math.abs(gap).toFixed(1)} ${settings.task ? 'points' : 'BLEU'} ${gap < 0 ? 'less' : 'more'}`} and stores ${size < 1 ? `${(1 / size).toFixed(1)} times fewer` : size > 1 ? `${size.toFixed(1)} times as many` : 'as many'} bytes.`);
  }
  return said.join(' ');
}
