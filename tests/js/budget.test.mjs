// Budgets: who is within them, who wins and who might have, and the steps of the best.
import assert from 'node:assert/strict';
import test from 'node:test';
import { affordable, bestWithin, drawn, priced, spread, stairs } from '../../reservoir_book/explorables/budget/model.mjs';
import { short } from '../../reservoir_book/explorables/shared/records.mjs';

const methods = [
  { name: 'large', quality: [31, 30], bytes: 90 },
  { name: 'small', quality: [24], bytes: 30 },
  { name: 'middle', quality: [29.5, 30.5, 27], bytes: 60 },
  { name: 'wasteful', quality: [20], bytes: 60 },
];
const named = (found) => found.map((method) => method.name);

test('only what a budget pays for is in the race, the best first', () => {
  assert.deepEqual(named(affordable(methods, 'bytes', 60)), ['middle', 'small', 'wasteful']);
  assert.deepEqual(named(affordable(methods, 'bytes', 29)), []);
  assert.equal(methods[0].name, 'large'); // the list itself stays as it was
});

test('the winner has the highest mean, and its rivals a seed that beats its worst', () => {
  const { best, rivals, low, high } = bestWithin(methods, 'bytes', 100);
  assert.deepEqual([best.name, named(rivals), low, high], ['large', ['middle'], 30, 31]);
  assert.deepEqual(named(bestWithin(methods, 'bytes', 60, 4).rivals), ['small']); // one seed, lent four to either side
  assert.deepEqual(named(bestWithin(methods, 'bytes', 60).rivals), []);
  assert.equal(bestWithin(methods, 'bytes', 1), null);
});

test('nothing is lent to a method with two seeds', () => {
  assert.deepEqual(spread(methods[0], 5), { low: 30, mean: 30.5, high: 31 });
  assert.deepEqual(spread(methods[1], 5), { low: 19, mean: 24, high: 29 });
});

test('the best at every budget rises in steps, worst seeds, means and best seeds apart', () => {
  const steps = stairs(methods, 'bytes');
  assert.deepEqual(steps.map((step) => step.cost), [30, 60, 90]);
  assert.deepEqual(steps[1], { cost: 60, low: 27, mean: 29, high: 30.5 });
  const line = drawn(steps, 100);
  assert.deepEqual(line.x, [30, 60, 60, 90, 90, 100]);
  assert.deepEqual(line.mean, [24, 24, 29, 29, 30.5, 30.5]);
});

test('costs are short', () => {
  assert.deepEqual([914_000, 1_310_208, 8.44e12, 999_600, 37].map(short), ['914 k', '1.31 M', '8.44 T', '1 M', '37']);
  assert.deepEqual([priced(1_645_440, 'B'), priced(154.2, 's'), priced(500, 'B'), priced(914_000, '')], ['1.65 MB', '154 s', '500 B', '914 k']);
});
