// A translator that is a seed and bits: type a sentence, damage the file, look at what was drawn and what was kept.
import { explorable, html, number } from '../shared/ui.mjs';
import { answering } from './worker.mjs';
import source from './worker.mjs?worker';

const bytes = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const count = (value) => value.toLocaleString('en');

/** Asks beside the page, in a worker; where there can be none, on the page itself. */
function helper() {
  const waiting = new Map();
  let ids = 0;
  let worker;
  let here;
  const settle = (answer) => { waiting.get(answer.id)?.resolve(answer); waiting.delete(answer.id); };
  const fallBack = () => { // what was asked so far is asked again, here
    worker?.terminate();
    worker = undefined;
    here = answering();
    for (const { message } of [...waiting.values()]) settle(here(message));
  };
  try {
    const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    worker = new Worker(url);
    worker.onmessage = ({ data }) => { URL.revokeObjectURL(url); settle(data); };
    worker.onerror = fallBack;
  } catch {
    here = answering();
  }
  return {
    ask: (message) => new Promise((resolve) => {
      const whole = { ...message, id: (ids += 1) };
      if (here) return void setTimeout(() => resolve(here(whole)));
      waiting.set(whole.id, { message: whole, resolve });
      worker.postMessage(whole);
    }),
    close: () => worker?.terminate(),
  };
}

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const files = { config: model.get('config'), weights: bytes(model.get('weights')), tokenizer: model.get('tokenizer') };
    const { ask, close } = helper();

    ui.text('sentence', { label: 'A German sentence', maxLength: 160, lang: 'de' });
    const examples = model.get('examples') ?? [];
    if (examples.length) {
      const input = html('select', { 'aria-label': 'Take another sentence' }, html('option', { value: '', text: 'or take another …' }), examples.map((text) => html('option', { text, lang: 'de' })));
      input.addEventListener('change', () => { if (input.value) ui.set('sentence', input.value); input.value = ''; });
      ui.controls.append(input);
    }
    ui.toggle('damaged', { label: 'Turn over one bit of the file' });
    const english = html('p', { class: 'st-english', lang: 'en', 'aria-live': 'off' });
    ui.stage.append(html('div', {}, html('span', { class: 'ex-name', text: 'What it writes' }), english));

    const places = html('select', { 'aria-label': 'Matrix to look at' });
    const maps = html('div', { class: 'st-maps' });
    ui.stage.append(html('label', { class: 'st-look' }, html('span', { class: 'ex-name', text: 'A corner of one of its matrices' }), places), maps);
    const pair = ['seeded', 'masked'].map((origin) => {
      const map = ui.heatmap({ origin, cell: 9 });
      maps.append(html('figure', { class: 'st-map' }, map.element, html('figcaption', { class: 'ex-name', text: origin === 'seeded' ? 'what the seed draws' : 'what the bits keep' })));
      return map;
    });
    ui.setting('place');
    places.addEventListener('change', () => ui.set('place', places.value));

    let loaded; // the answer to the last load
    let asked = {}; // what was asked last, so that an answer to something older is not shown
    let state; // damaged or not, as last loaded
    const busy = (now) => english.setAttribute('aria-busy', String(now)); // the worker has yet to answer

    async function load(damaged) {
      state = damaged;
      loaded = undefined;
      busy(true);
      const answer = await ask({ do: 'load', files, bit: damaged ? model.get('bit') : undefined });
      if (state !== damaged) return;
      loaded = answer;
      if (answer.places) places.replaceChildren(...answer.places.map((name) => html('option', { value: name, text: name })));
      asked = {};
      ui.redraw();
    }

    async function translate(sentence) {
      asked.sentence = sentence;
      busy(true);
      const answer = await ask({ do: 'translate', sentence });
      if (asked.sentence !== sentence) return;
      asked.translated = answer;
      busy(false);
      ui.redraw();
    }

    async function look(place) {
      asked.place = place;
      const answer = await ask({ do: 'look', place });
      if (asked.place !== place || !answer.drawn) return;
      places.value = answer.name;
      const max = answer.drawn.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);
      const size = { rows: answer.rows, cols: answer.columns, max };
      const sizes = answer.drawn.map(Math.abs);
      pair[0].update({ ...size, values: sizes, label: `${answer.rows} by ${answer.columns} entries of ${answer.name} as drawn, the stronger the larger` });
      pair[1].update({ ...size, values: sizes.map((value, i) => value * answer.kept[i]), label: 'The same entries where the bits keep them, and blanks where they do not' });
    }

    ui.draw(({ sentence, damaged, place }) => {
      if (state !== damaged) {
        english.textContent = '…';
        ui.say('The weights are drawn from their seed, and the bits applied.');
        load(damaged);
        return;
      }
      if (!loaded) return;
      maps.hidden = Boolean(loaded.refused);
      if (loaded.refused) {
        english.textContent = '—';
        busy(false);
        ui.say(`Refused: ${loaded.refused}.`);
        return;
      }
      if (asked.place !== place) look(place);
      if (asked.sentence !== sentence) translate(sentence);
      if (!asked.translated) return;
      const { counts, ms } = loaded;
      const { translation, complete, unknown, refused, ms: took = 0 } = asked.translated;
      english.textContent = refused ? '—' : `${translation}${complete ? '' : ' …'}`;
      const told = [`It writes “${translation}”${complete ? '' : ', and is cut off there'}${/[.?!]$/.test(translation) && complete ? '' : '.'}`];
      if (unknown?.length) told.push(`It has never seen ${unknown.map((c) => `“${c}”`).join(', ')}.`);
      told.push(`That took ${number(took, 2)} ms on this machine. Before it, ${count(counts.drawn)} weights were drawn from the seed, ${count(counts.bits)} bits said which of them count at each depth, and every digest was checked, in ${number(ms, 2)} ms; the file of the bits has ${count(files.weights.length)} bytes.`);
      ui.say(told.join(' '));
    });
    return () => { close(); ui.close(); };
  },
};
