// A sentence, epoch after epoch, with holes: how many are drawn, and whether they are drawn anew.
import { covered, hidden } from './model.mjs';
import { explorable, html } from '../shared/ui.mjs';

const WAYS = { mask: 'hidden', random: 'replaced by another word', kept: 'asked about but left alone' };
const MOST = 60; // words

export default {
  render({ model, el }) {
    const ui = explorable({ model, el });
    ui.slider('share', { label: 'Words asked about, %', min: 1, max: 60 });
    ui.slider('epochs', { label: 'Epochs', min: 1, max: 12 });
    ui.choice('drawn', { label: 'Holes', options: [['anew', 'drawn anew'], ['once', 'drawn once']] });
    ui.number('seed', { label: 'Seed', max: 2 ** 32 });
    ui.text('sentence', { label: 'Your text', maxLength: 400, hint: 'Any words; each counts as one token here.' });
    const lines = html('ol', { class: 'mk-lines', start: '1' });
    ui.stage.append(html('div', { class: 'mk' }, lines));
    ui.draw(({ share, epochs, drawn, seed, sentence }) => {
      const words = sentence.trim().split(/\s+/).filter(Boolean).slice(0, MOST);
      const n = words.length;
      if (!n) {
        lines.replaceChildren();
        ui.say('There is no word to hide yet.');
        return;
      }
      const anew = drawn === 'anew';
      lines.replaceChildren(...Array.from({ length: epochs }, (_, epoch) => {
        const done = hidden({ seed, epoch: anew ? epoch : 0, n, share: share / 100 });
        return html('li', {}, words.flatMap((word, i) => [
          done[i]
            ? html('span', { class: `mk-${done[i].way}`, title: `${word}: ${WAYS[done[i].way]}`, text: done[i].way === 'mask' ? '▢▢▢' : words[done[i].read] })
            : html('span', { text: word }),
          ' ',
        ]));
      }));
      const one = hidden({ seed, epoch: 0, n, share: share / 100 }).filter(Boolean);
      const count = (way) => one.filter((each) => each.way === way).length;
      const seen = covered({ seed, epochs, n, share: share / 100, anew });
      ui.say(`In each epoch ${share}\u202f% of ${n} words, which is ${one.length}, are asked about: ${count('mask')} hidden, ${count('random')} replaced, ${count('kept')} left alone. `
        + `After ${epochs} epoch${epochs === 1 ? '' : 's'} ${seen} of the ${n} have been asked about at least once, ${Math.round(100 * seen / n)}\u202f%.`);
    });
    return ui.close;
  },
};
