// Frozen components: rows, shares and the drawing of the stack.
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, choices, cost, PARTS, rowOf } from '../../reservoir_book/explorables/frozen_components/model.mjs';
import { curve } from '../../reservoir_book/explorables/shared/records.mjs';

const of = { embeddings: 100, attention: 10, feed_forward: 20, norms: 4, encoder: 2, decoder: 3, across: 2, width: 4 };
const all = { embeddings: true, attention: true, feed_forward: true };
const rows = [
  { row: 'baseline', frozen: [], drawn: 'as-trained', curves: [] },
  { row: 'attention', frozen: ['attention'], drawn: 'as-trained', curves: [[[1, 2], [3, 4]], [[1, 2], [5, 4]]] },
  { row: 'attention-identity', frozen: ['attention'], drawn: 'identity', curves: [] },
];

test('what moves and what does not add up to the whole, norms always move', () => {
  assert.deepEqual(cost(of, all), { total: 284, trained: 284, share: 1, bytes: 1136 });
  const frozen = PARTS.map((part) => cost(of, { ...all, [part]: false }).trained);
  assert.deepEqual(frozen, [184, 204, 184]);
  assert.equal(cost(of, { embeddings: false, attention: false, feed_forward: false }).trained, of.norms);
});

test('a row is found by what is frozen, and by how where there is a choice', () => {
  assert.equal(rowOf(rows, all, 'identity').row, 'baseline');
  const moves = { ...all, attention: false };
  assert.equal(rowOf(rows, moves, 'as-trained').row, 'attention');
  assert.equal(rowOf(rows, moves, 'identity').row, 'attention-identity');
  assert.equal(rowOf(rows, moves, 'hollow').row, 'attention');
  assert.equal(rowOf(rows, { ...all, embeddings: false }, 'as-trained'), undefined);
  assert.deepEqual(choices(rows, moves), ['as-trained', 'identity']);
});

test('a curve is the mean of its seeds in a band, and nothing without seeds', () => {
  assert.deepEqual(curve(rows[1]), { x: [1, 2], mean: [4, 4], low: [3, 4], high: [5, 4] });
  assert.equal(curve(rows[0]), undefined);
  assert.equal(curve(undefined), undefined);
});

test('a box is as long as it has parameters, none leaves the picture, none lies on another', () => {
  for (const sizes of [of, { ...of, encoder: 0, across: 1 }, { ...of, embeddings: 5 }]) {
    const found = boxes(sizes, 300);
    const unit = found[0].width / sizes[found[0].part];
    for (const box of found) {
      assert.ok(Math.abs(box.width / sizes[box.part] - unit) < 1e-9);
      assert.ok(box.x >= 0 && box.x + box.width <= 300, JSON.stringify(box));
    }
    const count = (part) => found.filter((box) => box.part === part).length;
    assert.deepEqual([count('attention'), count('feed_forward'), count('embeddings')], [sizes.encoder + sizes.across * sizes.decoder, sizes.encoder + sizes.decoder, 1]);
    for (const a of found) for (const b of found) if (a !== b && a.y === b.y) assert.ok(a.x + a.width < b.x || b.x + b.width < a.x);
  }
});
