// Holes in a text: how many there are, and how soon every word has been asked about.
import assert from 'node:assert/strict';
import test from 'node:test';
import { covered, hidden, rounded } from '../../reservoir_book/explorables/masking/model.mjs';

const settings = { seed: 1, epoch: 0, n: 200, share: 0.15 };

test('of the words asked about eight in ten are hidden, one replaced, one left', () => {
  const found = hidden(settings).filter(Boolean);
  const count = (way) => found.filter((one) => one.way === way).length;
  assert.deepEqual([count('mask'), count('random'), count('kept')], [24, 3, 3]);
});

test('another epoch has other holes, and the same one the same', () => {
  assert.deepEqual(hidden({ ...settings }), hidden(settings));
  assert.notDeepEqual(hidden({ ...settings, epoch: 1 }), hidden(settings));
});

test('holes that are drawn once never reach the other words', () => {
  assert.equal(covered({ ...settings, epochs: 12, anew: false }), 30);
  assert.ok(covered({ ...settings, epochs: 12, anew: true }) > 150);
});

test('a half goes to the even neighbour', () => {
  assert.deepEqual([0.5, 1.5, 2.5, 4.5, 2.4, 2.6].map(rounded), [0, 2, 2, 4, 2, 3]);
});
