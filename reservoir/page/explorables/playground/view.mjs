// The playground: choose where each part of a small transformer comes from, train it here, and read what it writes.
import { curve, mean, short } from '../shared/records.mjs';
import { explorable, html, number } from '../shared/ui.mjs';
import kernels from './kernels.wasm';
import { countsOf, lettersOf, LETTERS, partsOf, RANGES, read, refused, STANDARD, WHAT, withDepths, withPart, written } from './settings.mjs';
import source from './worker.mjs?worker';

const RUNS = 4;
const CALM = 120; // ms between drawings while runs report
const DASHES = [undefined, '7 4', '2 3', '9 3 2 3'];
const ORIGIN_WORDS = { t: 'trained', s: 'seeded, frozen', m: 'masked', f: 'fixed' };
const BUDGETS = [30_000, 100_000, 300_000];
const SMALL = 520; // pixels, below which the first run is a smaller one
const PHONE = 'w48_n300';
// (module (func (drop (v128.const i32x4 0 0 0 0)))): valid where there is 128-bit SIMD
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26, 11);
const bytes = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} MB` : n >= 1000 ? `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB` : `${n} bytes`);
const seconds = (s) => (s < 10 ? `${s.toFixed(1)} s` : `${Math.round(s)} s`);
const fixed = (value, digits = 1) => (value === undefined ? '–' : value.toFixed(digits));
const named = ({ name, kind, side, layer }) => (kind === 'embedding' ? 'embeddings' : `${side}${layer === undefined ? '' : ` layer ${layer + 1}`}, ${WHAT[kind]}`);
const without = (line) => written({ ...read(line), seed: STANDARD.seed });

/** Why nothing can be trained here, or undefined. */
function lacking() {
  if (typeof WebAssembly !== 'object' || !WebAssembly.validate(SIMD)) return 'this browser has no WebAssembly with 128-bit SIMD (Chrome and Edge have it since version 91, Firefox since 89, Safari since 16.4)';
  if (typeof Worker !== 'function') return 'this page may start no worker';
  return undefined;
}

/** A run: its settings, the worker that trains it, and what that has said. */
class Run {
  constructor(line, owner) { Object.assign(this, { owner, worker: undefined, typed: '' }); this.set(line); }

  set(line) {
    Object.assign(this, { line, settings: read(line), state: 'new', step: 0, seconds: 0, operations: 0, losses: [], points: [], samples: undefined, translated: undefined, test: undefined, why: undefined, look: undefined });
    this.counts = countsOf(this.settings, this.owner.vocabulary);
    if (this.worker) this.#send({ do: 'pause' });
    this.begun = false;
  }

  #send(message) { this.worker.postMessage(message); }

  #start() {
    if (!this.worker) {
      const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
      this.worker = new Worker(url);
      this.worker.onmessage = ({ data }) => { URL.revokeObjectURL(url); this.#told(data); };
      this.worker.onerror = (event) => { this.state = 'failed'; this.why = `The worker stopped: ${event.message || 'it could not be started'}.`; this.owner.changed(); };
    }
    if (this.begun) return;
    this.begun = true;
    this.life = (this.life ?? 0) + 1;
    this.state = 'preparing';
    this.#send({ do: 'start', life: this.life, files: this.owner.files, kernels, settings: this.settings });
    if (this.typed) this.#send({ do: 'translate', sentence: this.typed });
  }

  #told(data) {
    if (data.life !== this.life || !this.begun) return; // of settings that have changed since
    if (data.kind === 'ready') Object.assign(this, { state: this.state === 'preparing' ? 'paused' : this.state, bytes: data.bytes, references: data.references });
    if (data.kind === 'told') {
      Object.assign(this, { step: data.step, seconds: data.seconds, operations: data.operations });
      if (data.loss !== undefined) this.losses.push(data.loss);
      if (data.bleu !== undefined) this.points.push({ step: data.step, seconds: data.seconds, bleu: data.bleu });
    }
    if (data.samples) this.samples = data.samples;
    if (data.typed) this.translated = data.typed;
    if (data.kind === 'done') Object.assign(this, { state: 'done', test: data.test });
    if (data.kind === 'failed') Object.assign(this, { state: 'failed', why: `The loss is no number any more at step ${data.step}: with a learning rate of ${number(data.rate)} the steps were too large. Reset, and take a smaller one.` });
    if (data.kind === 'refused') Object.assign(this, { state: 'failed', why: `It stopped: ${data.why}.` });
    if (data.kind === 'looked') this.look = data;
    if (data.kind === 'saved') this.owner.saved(this, data.zip);
    this.owner.changed(data.kind);
  }

  train() { if (['done', 'failed'].includes(this.state)) return; this.#start(); this.state = 'training'; this.#send({ do: 'run' }); }

  pause() { if (this.state === 'training') { this.state = 'paused'; this.#send({ do: 'pause' }); } }

  single() { if (['done', 'failed'].includes(this.state)) return; this.#start(); this.state = 'paused'; this.#send({ do: 'step' }); }

  translate(sentence) { this.typed = sentence; if (this.begun) this.#send({ do: 'translate', sentence }); }

  show(part) { if (this.begun) this.#send({ do: 'look', part }); }

  save(about) { this.#send({ do: 'save', about }); }

  get score() { return this.test ?? this.points.at(-1)?.bleu; }

  close() { this.worker?.terminate(); }
}

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const presets = model.get('presets');
    const why = lacking();
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
      files: { lexicon: model.get('lexicon'), tokenizer: model.get('tokenizer') },
      changed(kind) {
        if (kind === 'done') for (const size of BUDGETS) {
          const run = runs.find((one) => one.state === 'done' && one.counts.bytes <= size && one.test > (best.get(size)?.score ?? 0));
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
    };
    let looked = 0;
    let later = 0;
    const peek = () => { looked = performance.now(); runs[active].show(part); };

    // ---- the settings: one line a run, in the address ----
    ui.setting('setup', {
      parse(text) {
        try {
          const lines = text.split('~');
          if (lines.length > RUNS) throw new Error(`there are at most ${RUNS} runs, got ${lines.length}`);
          lines.forEach(read);
          return text;
        } catch (error) {
          complaint = `The link cannot be used: ${error.message}. The standard settings are shown.`;
          return undefined;
        }
      },
    });
    ui.setting('brush', { parse: (text) => (text in LETTERS ? text : undefined) });
    if (!model.get('setup') && el.clientWidth && el.clientWidth < SMALL && !model.book?.address.get('setup')) model.set('setup', PHONE);
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
    const set = (line) => change({ ...read(line), seed: current().settings.seed });
    model.on('change:setup', () => { // from elsewhere: "Start again", or the notebook
      const lines = model.get('setup').split('~');
      if (lines.join('~') === runs.map(({ line }) => line).join('~')) return;
      runs.splice(lines.length).forEach((run) => run.close());
      lines.forEach((line, i) => { if (runs[i]) runs[i].set(line); else runs.push(new Run(line, owner)); });
      active = Math.min(active, runs.length - 1);
      complaint = undefined;
      ui.redraw();
    });

    // ---- controls ----
    const button = (text, title, onClick, kind) => { const made = html('button', { type: 'button', title, class: kind, text }); made.addEventListener('click', onClick); return made; };
    const labelled = (text, control) => html('label', { class: 'ex-field' }, html('span', { class: 'ex-name', text }), control);
    const select = (label, options, onChange) => { const made = html('select', { 'aria-label': label }, options.map(([value, text]) => html('option', { value, text }))); made.addEventListener('change', () => onChange(made.value)); return made; };
    const preset = select('Preset', [['', 'own settings'], ...presets.map(({ line, about, chapter }) => [line, chapter ? `Chapter ${chapter}: ${about.replace(/\.$/, '')}` : about.replace(/\.$/, '')])].map(([value, text], i) => [i ? value : '?', text]), (line) => { if (line !== '?') set(line); });
    const train = button('Train', 'Train, or pause', () => { if (current().state === 'training') current().pause(); else current().train(); ui.redraw(); }, 'pg-train');
    const step = button('One step', 'Make one step of the optimiser', () => { current().single(); ui.redraw(); });
    const reset = button('Reset', 'Forget what was learned', () => { current().set(current().line); ui.redraw(); });
    const seed = button('New seed', 'Draw all weights from another seed', () => change({ ...current().settings, seed: (current().settings.seed + 1) % 2 ** 32 }));
    const beside = button('Compare with another run', 'Keep this run, and set up one next to it', () => {
      runs.push(new Run(current().line, owner));
      active = runs.length - 1;
      current().translate(model.get('sentence'));
      keep();
      ui.redraw();
    });
    ui.controls.append(labelled('Preset', preset), html('div', { class: 'pg-buttons' }, train, step, reset, seed, beside));
    const tabs = html('div', { class: 'pg-tabs', role: 'tablist', 'aria-label': 'Runs' });

    const brushes = html('div', { class: 'pg-brushes', role: 'radiogroup', 'aria-label': 'Origin that a click gives' }, Object.entries(ORIGIN_WORDS).map(([letter, text]) => {
      const made = html('button', { type: 'button', role: 'radio', class: `pg-brush pg-${LETTERS[letter]}`, 'data-letter': letter, text });
      made.addEventListener('click', () => ui.set('brush', letter));
      made.addEventListener('keydown', (event) => {
        const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!way) return;
        event.preventDefault();
        const all = [...brushes.children];
        const next = all[(all.indexOf(made) + way + all.length) % all.length];
        ui.set('brush', next.dataset.letter);
        next.focus();
      });
      return made;
    }));
    const fill = html('div', { class: 'pg-fill' }, html('span', { text: 'Give it to all' }), [['attention', ['attention', 'cross']], ['feed-forward', ['feed_forward']], ['norms', ['norms', 'norm']], ['parts', undefined]].map(([text, kinds]) => button(text, `Give the chosen origin to all ${text} that can have it`, () => {
      const letter = model.get('brush');
      change(partsOf(current().settings).filter(({ kind, letters }) => (!kinds || kinds.includes(kind)) && letters.includes(letter)).reduce((settings, { name }) => withPart(settings, name, letter), current().settings));
    }, 'ex-quiet')));
    const net = html('div', { class: 'pg-net', role: 'group', 'aria-label': 'The model, from the bottom up' });
    const depth = (side) => select(`${side} layers`, RANGES[side].map((n) => [n, `${n} ${side} layer${n > 1 ? 's' : ''}`]), (n) => change(withDepths(current().settings, { [side]: Number(n) })));
    const sizes = {
      encoder: depth('encoder'), decoder: depth('decoder'),
      width: select('Width', RANGES.width.map((n) => [n, `${n} wide`]), (n) => change({ ...current().settings, width: Number(n) })),
      steps: select('Steps', RANGES.steps.map((n) => [n, `${n} steps`]), (n) => change({ ...current().settings, steps: Number(n) })),
      rate: select('Learning rate', [0.001, 0.002, 0.004, 0.008, 0.016, 0.05, 0.2, 1].map((n) => [n, `rate ${n}`]), (n) => change({ ...current().settings, rate: Number(n) })),
      keep: select('Share that masks keep', [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map((n) => [n, `masks keep ${Math.round(100 * n)} %`]), (n) => change({ ...current().settings, keep: Number(n) })),
    };
    const left = html('div', { class: 'pg-left' }, brushes, fill, net, html('div', { class: 'pg-sizes' }, Object.values(sizes)));

    const axes = { y: 'bleu', x: 'step' };
    const pickAxis = (axis, options) => select(axis === 'y' ? 'Curve of' : 'Against', options, (value) => { axes[axis] = value; ui.redraw(); });
    const right = html('div', { class: 'pg-right' }, html('div', { class: 'pg-axes' }, pickAxis('y', [['bleu', 'BLEU on validation'], ['loss', 'training loss']]), html('span', { text: 'against' }), pickAxis('x', [['step', 'steps'], ['seconds', 'seconds']])));
    const bar = html('div', { class: 'pg-bar' }, html('span'));
    ui.stage.append(tabs, html('div', { class: 'pg-main' }, left, right));
    const chart = ui.chart({ height: 250, x: { label: 'steps', domain: [0, 500] }, y: { label: 'BLEU', domain: [0, 100] } });
    right.append(bar, chart.element);
    const facts = html('table', { class: 'pg-facts' });
    right.append(html('div', { class: 'pg-scroll', tabindex: 0, role: 'region', 'aria-label': 'The runs in numbers' }, facts));

    const lines = html('tbody');
    ui.stage.append(html('div', { class: 'pg-texts' }, html('table', {}, html('thead', {}, html('tr', {}, ['German, never seen in training', 'should be', 'the run writes'].map((text) => html('th', { scope: 'col', text })))), lines)));
    const typed = ui.text('sentence', { label: 'Type a German sentence', maxLength: 140, lang: 'de', hint: 'The run knows the words of the miniature: Mann, Frau, Lehrer, Ärztin, Hund, Katze, Buch, Kuchen, sehen, helfen, zeigen, aufmachen …' });
    const answer = html('p', { class: 'pg-answer', lang: 'en' });
    ui.stage.append(html('div', { class: 'pg-typed' }, typed.parentElement, answer));
    ui.root.insertBefore(ui.root.querySelector('.ex-words'), ui.stage); // what is going on, above what shows it

    const canvas = html('canvas', { class: 'pg-canvas', width: 64, height: 64, role: 'img' });
    const partSelect = select('Part to look at', [['', '']], (name) => { part = name; current().look = undefined; peek(); ui.redraw(); });
    const lookNote = html('p', { class: 'ex-hint' });
    const look = html('details', { class: 'pg-more' }, html('summary', { text: 'Look at the weights and masks' }), html('div', { class: 'pg-look' }, html('div', {}, partSelect, lookNote), canvas));
    look.addEventListener('toggle', () => { looking = look.open; if (looking) peek(); });
    const challenge = html('div', {});
    const budgetSelect = select('Budget', BUDGETS.map((n) => [n, bytes(n)]), (n) => { budget = Number(n); ui.redraw(); });
    budgetSelect.value = budget;
    ui.stage.append(look, html('details', { class: 'pg-more' }, html('summary', { text: 'The challenge: the best score for the fewest bytes' }), html('p', {}, 'A model is stored as its trained numbers (4 bytes each), its masks (a bit a weight) and its seed. Get the best BLEU on the test split within ', budgetSelect, '.'), challenge));
    const save = button('Download the model', 'A zip that reservoir.models.from_pretrained loads', () => current().save(`Trained in the page for ${current().step} of ${current().settings.steps} steps; BLEU on test: ${fixed(current().test)}.`));
    const saveNote = html('span', { class: 'ex-hint', text: 'Unpack the zip; in Python, from_pretrained(folder) loads it and writes the same translations.' });
    ui.stage.append(html('div', { class: 'pg-save' }, save, saveNote));

    const away = () => {
      if (document.hidden) for (const run of runs) { if (run.state === 'training') { run.pause(); held.add(run); } } else { for (const run of held) if (run.state === 'paused') run.train(); held.clear(); }
      ui.redraw();
    };
    document.addEventListener('visibilitychange', away);

    if (why) for (const one of [train, step, reset, seed, beside, save]) one.disabled = true;
    let shown = {}; // what the drawing shows, so that it is made anew only when that changes
    let heard = '';

    ui.draw(({ brush, sentence }) => {
      const run = current();
      const { settings } = run;
      if (sentence !== heard) { heard = sentence; for (const one of runs) one.translate(sentence); }
      const line = without(run.line);
      const known = presets.find((one) => one.line === line);
      preset.value = known ? line : '?';
      for (const [name, control] of Object.entries(sizes)) {
        if (![...control.options].some((option) => Number(option.value) === settings[name])) control.append(html('option', { value: settings[name], text: String(settings[name]) }));
        control.value = settings[name];
      }
      sizes.keep.hidden = ![...lettersOf(settings).values()].includes('m');
      for (const one of brushes.children) { const on = one.dataset.letter === brush; one.setAttribute('aria-checked', String(on)); one.tabIndex = on ? 0 : -1; }
      train.textContent = run.state === 'training' ? 'Pause' : run.state === 'preparing' ? 'Preparing …' : run.step && run.state !== 'done' ? 'Go on' : 'Train';
      if (!why) {
        train.disabled = step.disabled = run.state === 'done' || run.state === 'failed';
        beside.disabled = runs.length === RUNS;
        save.disabled = !run.step || run.state === 'training';
      }
      bar.firstChild.style.width = `${(100 * run.step) / settings.steps}%`;
      const key = `${active} ${runs.map(({ line: each, state }) => `${each}:${state}`).join(' ')}`;
      if (shown.key !== key) { shown = { key }; drawTabs(); drawNet(run, brush); }
      drawCurves(known);
      drawFacts();
      drawTexts(run);
      drawLook(run);
      const inside = run.counts.bytes <= budget;
      const top = best.get(budget);
      challenge.replaceChildren(html('p', { text: `This model takes ${bytes(run.counts.bytes)}: ${inside ? `${bytes(budget - run.counts.bytes)} are left.` : `${bytes(run.counts.bytes - budget)} too many.`} ${top ? `Your best so far: ${top.score.toFixed(1)} BLEU.` : 'No run within the budget has ended yet.'}` }));
      ui.say(complaint ?? (why ? `Nothing can be trained here: ${why}. The curves are recorded runs of the presets, made in Python.` : words(run, runs, known)));
    });

    function drawTabs() {
      tabs.hidden = runs.length < 2;
      tabs.replaceChildren(...runs.map((one, i) => {
        const tab = html('button', { type: 'button', role: 'tab', 'aria-selected': String(i === active), text: `Run ${'ABCD'[i]}` });
        tab.addEventListener('click', () => { active = i; ui.redraw(); });
        const gone = html('button', { type: 'button', class: 'ex-quiet', 'aria-label': `Remove run ${'ABCD'[i]}`, text: '×' });
        gone.addEventListener('click', () => { runs.splice(i, 1)[0].close(); active = Math.min(active, runs.length - 1); keep(); ui.redraw(); });
        return html('span', { class: 'pg-tab' }, tab, gone);
      }));
    }

    function drawNet(run) {
      const letters = lettersOf(run.settings);
      const focused = document.activeElement?.dataset?.part;
      const box = (one) => {
        const letter = letters.get(one.name);
        const fourier = one.kind === 'attention' && letter === 'f';
        const made = html('button', { type: 'button', class: `pg-part pg-${LETTERS[letter]} pg-kind-${one.kind}`, 'data-part': one.name },
          html('span', {}, one.side && html('span', { class: 'ex-hidden', text: `${one.side}${one.layer === undefined ? '' : ` layer ${one.layer + 1}`}, ` }), fourier ? 'Fourier transform' : WHAT[one.kind]), html('small', { text: ORIGIN_WORDS[letter] }));
        made.addEventListener('click', () => {
          const brush = model.get('brush');
          if (!one.letters.includes(brush)) {
            complaint = `${named(one)[0].toUpperCase()}${named(one).slice(1)} cannot be ${ORIGIN_WORDS[brush]}: it can be ${[...one.letters].map((each) => ORIGIN_WORDS[each]).join(' or ')}.`;
            ui.redraw();
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
      net.replaceChildren(box(all[0]), html('div', { class: 'pg-stacks' }, stack('encoder'), html('span', { class: 'pg-arrow', 'aria-hidden': 'true', text: '→' }), stack('decoder')), html('div', { class: 'pg-output', text: 'English words, by the same embeddings' }));
      if (focused) net.querySelector(`[data-part="${focused}"]`)?.focus();
      const options = all.map((one) => [one.name, named(one)]);
      partSelect.replaceChildren(...options.map(([value, text]) => html('option', { value, text })));
      if (!options.some(([value]) => value === part)) part = 'embedding';
      partSelect.value = part;
    }

    function drawCurves(known) {
      const bleu = axes.y === 'bleu';
      const smooth = (run) => { // the mean of the last ten, at most 200 points
        const every = Math.max(1, Math.ceil(run.losses.length / 200));
        const found = { x: [], y: [] };
        for (let i = 0; i < run.losses.length; i += every) { found.x.push(axes.x === 'step' ? i + 1 : ((i + 1) * run.seconds) / run.step); found.y.push(mean(run.losses.slice(Math.max(0, i - 9), i + 1))); }
        return found;
      };
      const of = (run) => (bleu ? { x: [0, ...run.points.map((point) => point[axes.x])], y: [0, ...run.points.map((point) => point.bleu)] } : smooth(run));
      const found = runs.map(of);
      const recorded = bleu && axes.x === 'step' ? (why ? presets : [known]).map((one) => one && { name: one.about, ...curve(one) }).filter((one) => one?.x) : [];
      const far = axes.x === 'step' ? Math.max(...runs.map(({ settings }) => settings.steps)) : Math.max(5, ...found.flatMap(({ x }) => x));
      const high = bleu ? 100 : Math.max(2, ...found.flatMap(({ y }) => y));
      chart.update({
        label: `${bleu ? 'BLEU on validation sentences' : 'Training loss'} against ${axes.x === 'step' ? 'steps' : 'seconds'} of ${runs.length} runs`,
        x: { label: axes.x === 'step' ? 'steps' : 'seconds of training on this machine', domain: [0, far] },
        y: { label: bleu ? 'BLEU, validation' : 'loss, nats a token', domain: [0, high] },
        marks: [
          ...recorded.flatMap((one, i) => [{ kind: 'band', x: one.x, low: one.low, high: one.high, origin: 'fixed' }, { kind: 'line', x: one.x, y: one.mean, origin: 'fixed', width: 1.4, dash: why ? DASHES[i % 4] : undefined, name: why ? one.name : 'recorded in Python, three seeds' }]),
          ...found.map((line, i) => ({ kind: 'line', ...line, width: i === active ? 2.6 : 1.5, dash: DASHES[i], origin: 'trained', name: runs.length > 1 ? `run ${'ABCD'[i]}` : 'this run, here and now' })),
          ...(bleu ? found.map((line, i) => ({ kind: 'points', x: line.x.slice(1), y: line.y.slice(1), size: i === active ? 2.6 : 1.8, origin: 'trained' })) : []),
        ],
      });
    }

    function drawFacts() {
      const rows = [
        ['trainable', ({ counts }) => short(counts.trainable)],
        ['stored', ({ counts }) => bytes(counts.bytes)],
        ['operations a step', ({ operations }) => (operations ? short(operations) : '–')],
        ['steps', ({ step: at, settings }) => `${at} of ${settings.steps}`],
        ['training', (run) => (run.step ? `${seconds(run.seconds)}, ${(run.step / run.seconds).toFixed(0)} a second` : '–')],
        ['BLEU, validation', ({ points }) => fixed(points.at(-1)?.bleu)],
        ['BLEU, test', (run) => { const known = presets.find(({ line }) => line === without(run.line)); return `${fixed(run.test)}${known?.scores.length ? ` (Python ${fixed(mean(known.scores))})` : ''}`; }],
      ];
      const text = rows.map(([, value]) => runs.map(value).join('|')).join('/') + active;
      if (facts.dataset.text === text) return;
      facts.dataset.text = text;
      facts.replaceChildren(
        ...(runs.length > 1 ? [html('thead', {}, html('tr', {}, html('td'), runs.map((_, i) => html('th', { scope: 'col', text: 'ABCD'[i], class: i === active ? 'pg-now' : undefined }))))] : []),
        html('tbody', {}, rows.map(([name, value]) => html('tr', {}, html('th', { scope: 'row', text: name }), runs.map((run) => html('td', { text: value(run) })))))
      );
    }

    function drawTexts(run) {
      const references = runs.find((one) => one.references)?.references ?? [];
      const rows = references.map(([de, en], i) => [de, en, run.samples?.[i] ?? '']);
      const text = JSON.stringify(rows);
      if (lines.dataset.text !== text) {
        lines.dataset.text = text;
        lines.replaceChildren(...(rows.length ? rows.map(([de, en, ours]) => html('tr', {}, html('td', { lang: 'de', text: de }), html('td', { lang: 'en', text: en }), html('td', { lang: 'en', class: ours === en ? 'pg-right-one' : undefined, text: ours || '…' }))) : [html('tr', {}, html('td', { colspan: 3, class: 'ex-hint', text: 'Sentences appear here when training begins.' }))]));
      }
      const { translated } = run;
      answer.textContent = !translated ? '…' : `${translated.translation || '–'}${translated.unknown.length ? ` (it has never seen ${translated.unknown.join(' ')})` : ''}${translated.cut ? ' (only the beginning was read)' : ''}`;
    }

    function drawLook(run) {
      if (!look.open) return;
      const found = run.look;
      canvas.hidden = !found?.values;
      if (!found?.values) { lookNote.textContent = run.begun ? (found ? 'A Fourier transform has no weights.' : '…') : 'Press Train or One step: weights are drawn when a run begins.'; return; }
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

    model.book?.named((name) => { const found = presets.find((one) => one.name === name); if (found) set(found.line); });

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
  if (run.state === 'new') said.push(`${short(counts.trainable)} numbers can learn, and ${bytes(counts.bytes)} would be stored. What do you expect? Press Train.`);
  else if (run.state === 'preparing' || (run.state === 'training' && !run.step)) said.push('The text is made by its grammar, and the weights are drawn from the seed.');
  else if (run.test !== undefined) said.push(`After ${run.step} steps and ${seconds(run.seconds)} it has ${run.test.toFixed(1)} BLEU on the test split${known?.scores.length ? `; Python’s recorded runs have ${mean(known.scores).toFixed(1)}` : ''}.`);
  else said.push(`Step ${run.step} of ${settings.steps}${run.points.length ? `: ${run.points.at(-1).bleu.toFixed(1)} BLEU on validation` : ''}.`);
  const other = runs.find((one) => one !== run && one.score !== undefined);
  if (other && run.score !== undefined) {
    const gap = run.score - other.score;
    const size = counts.bytes / other.counts.bytes;
    said.push(`Compared with run ${'ABCD'[runs.indexOf(other)]} it has ${Math.abs(gap).toFixed(1)} BLEU ${gap < 0 ? 'less' : 'more'} and stores ${size < 1 ? `${(1 / size).toFixed(1)} times fewer` : size > 1 ? `${size.toFixed(1)} times as many` : 'as many'} bytes.`);
  }
  return said.join(' ');
}
