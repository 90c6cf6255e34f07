// The stack's costs: what is left out where a layer does not learn.
import assert from 'node:assert/strict';
import test from 'node:test';
import { key, layerCost, nearest, parse, stackCost, sums, turned } from '../../reservoir_book/explorables/layer_stack/model.mjs';

const sizes = { d_model: 64, d_ff: 128, n_heads: 4, kernel: 7, length: 10 };

test('a reservoir saves the gradient of its weights, and hands the rest down', () => {
  const [learning, frozen] = stackCost('LR', 'transformer', true, sizes);
  assert.equal(frozen.inputs, learning.inputs);
  assert.ok(learning.weights > 0 && frozen.weights === 0);
});

test('no gradient goes to a frozen bottom over frozen embeddings', () => {
  assert.deepEqual(stackCost('RRLR', 'ffn', false, sizes).map(({ inputs }) => inputs > 0), [false, false, true, true]);
  assert.ok(stackCost('RRLR', 'ffn', true, sizes).every(({ inputs }) => inputs > 0));
});

test('sums are sums', () => {
  const found = sums(stackCost('LRL', 'gru', true, sizes));
  assert.equal(found.trained, 2 * layerCost('transformer', sizes).parameters);
  assert.equal(found.frozen, layerCost('gru', sizes).parameters);
  assert.equal(found.step, found.forward + found.inputs + found.weights);
});

test('a stack is read, turned and named', () => {
  assert.deepEqual(['LRL', '', 'LXR', 'L'.repeat(13)].map(parse), ['LRL', undefined, undefined, undefined]);
  assert.equal(turned('LRL', 0), 'RRL');
  assert.equal(turned('LRL', 1), 'LLL');
  assert.deepEqual([key('LRL', 'ffn'), key('LLL', 'ffn')], ['LRL ffn', 'LLL']);
});

test('a stack that is not recorded finds the one that is most like it', () => {
  const records = { LLLL: {}, LLLLLL: {}, 'LRLRLL ffn': {}, 'LRLRLL gru': {} };
  assert.equal(nearest(records, 'LRLLRL', 'gru'), 'LRLRLL gru');
  assert.equal(nearest(records, 'LRLLL', 'ffn'), 'LLLL');
  assert.equal(nearest(records, 'LLLLL', 'ffn'), 'LLLL');
  assert.equal(nearest({}, 'L', 'ffn'), undefined);
});
