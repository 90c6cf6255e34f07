// Frozen bodies: shares, rows and the cut of the bar.
import assert from 'node:assert/strict';
import test from 'node:test';
import { bar, cost, PARTS, percent, rowOf } from '../../reservoir_book/explorables/frozen_body/model.mjs';

const of = { input: 1, output: 2, positions: 30, norms: 4, attention: 400, feed_forward: 800 };
const none = Object.fromEntries(PARTS.map((part) => [part, false]));
const rows = [
  { start: 'random', trained: ['output'] },
  { start: 'pretrained', trained: ['output'] },
  { start: 'random', trained: PARTS },
];

test('what moves adds up to the whole', () => {
  assert.deepEqual(cost(of, none), { total: 1237, trained: 0, share: 0 });
  const each = PARTS.map((part) => cost(of, { ...none, [part]: true }).trained);
  assert.equal(each.reduce((a, b) => a + b), 1237);
});

test('a run is found by where its body is from and by what is trained, in any order', () => {
  assert.equal(rowOf(rows, 'pretrained', { ...none, output: true }), rows[1]);
  assert.equal(rowOf(rows, 'random', Object.fromEntries(PARTS.map((part) => [part, true]))), rows[2]);
  assert.equal(rowOf(rows, 'random', none), undefined);
});

test('a bar fills its width, every part can be seen, and the large ones keep their proportions', () => {
  for (const width of [290, 640]) {
    const found = bar(of, width);
    assert.ok(Math.abs(found.at(-1).x + found.at(-1).width - width) < 1e-9);
    assert.ok(found.every((piece) => piece.width >= 3));
    const wide = Object.fromEntries(found.map((piece) => [piece.part, piece.width]));
    assert.ok(Math.abs(wide.feed_forward / wide.attention - 2) < 1e-9);
  }
});

test('shares are short', () => {
  assert.deepEqual([0, 0.0003, 0.044, 0.5, 1].map(percent), ['0 %', '0.03 %', '4.4 %', '50 %', '100 %']);
});
