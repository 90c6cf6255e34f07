// A hidden network: bits, what they leave of the weights, and what is read with them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { accuracy, CLASSES, HIDDEN, INPUTS, kept, network, pixels, places, read, recordedAt, unpacked } from '../../reservoir_book/explorables/hidden_network/model.mjs';

const N = INPUTS * HIDDEN + HIDDEN * CLASSES;

test('bits are unpacked from the highest of each digit on', () => {
  assert.deepEqual([...unpacked('a1')], [1, 0, 1, 0, 0, 0, 0, 1]);
  assert.deepEqual([...unpacked('f0', 5)], [1, 1, 1, 1, 0]);
});

test('a mask leaves out what it has no bit for, and nothing passes through it', () => {
  const none = network({ seed: 0, percent: 50, bits: '0'.repeat(N / 4) });
  assert.equal(kept(none.up) + kept(none.down), 0);
  assert.deepEqual([...read(none, pixels('f'.repeat(INPUTS), 0)).logits], Array(CLASSES).fill(0));
  const all = network({ seed: 0, percent: 50, bits: 'f'.repeat(N / 4) });
  assert.equal(kept(all.up) + kept(all.down), N);
  const picture = pixels('0123456789abcdef', 0);
  const expected = Array.from({ length: HIDDEN }, (_, i) => Math.max(0, picture.reduce((sum, value, j) => sum + all.up.weight[i * INPUTS + j] * (2 * value - 1), 0)));
  read(all, picture).hidden.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-12));
});

test('weights are one constant with both signs, larger where fewer are kept', () => {
  const [half, tenth] = [50, 10].map((percent) => network({ seed: 0, percent, bits: 'f'.repeat(N / 4) }));
  assert.deepEqual([...new Set([...half.up.weight].map(Math.abs))], [Math.fround(Math.sqrt(2 / 16 / 0.5))]);
  assert.ok(Math.abs(tenth.up.weight[0] / half.up.weight[0] - Math.sqrt(5)) < 1e-6);
  assert.notDeepEqual(half.up.weight, network({ seed: 1, percent: 50, bits: 'f'.repeat(N / 4) }).up.weight);
});

test('the share of right answers is one of all pictures', () => {
  const net = network({ seed: 0, percent: 50, bits: 'f'.repeat(N / 4) });
  const pictures = '0123456789abcdef'.repeat(4);
  const { answer } = read(net, pixels(pictures, 2));
  assert.equal(accuracy(net, pictures, `${answer}${answer}${answer}${(answer + 1) % 10}`), 75);
});

test('nodes stay within the drawing', () => {
  for (const width of [280, 460]) for (const column of Object.values(places(width, 300))) for (const [x, y] of column) assert.ok(x >= 10 && x <= width - 10 && y >= 5 && y <= 295);
});

test('records are looked up by percentage', () => {
  const curves = [{ name: 'a', points: [{ percent: 50, mean: 12, seeds: 1 }] }, { name: 'b', points: [] }];
  assert.deepEqual(recordedAt(curves, 50), [{ name: 'a', mean: 12, seeds: 1 }]);
  assert.deepEqual(recordedAt(curves, 60), []);
});
