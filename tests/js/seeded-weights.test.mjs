// Weights from a seed: what the page shows is what the settings say.
import assert from 'node:assert/strict';
import test from 'node:test';
import { correlation, KINDS, python, weights } from '../../reservoir_book/explorables/seeded_weights/model.mjs';

const settings = { seed: 3, name: 'encoder.0.attention.out', kind: 'uniform', size: 16 };

test('the same settings give the same bits, any other gives others', () => {
  const drawn = weights(settings);
  assert.deepEqual(weights({ ...settings }), drawn);
  for (const change of [{ seed: 4 }, { name: 'encoder.0.attention.ouu' }, { name: 'encoder.0.attention.out ' }]) {
    assert.ok(Math.abs(correlation(weights({ ...settings, ...change }), drawn)) < 0.25, JSON.stringify(change));
  }
});

test('all kinds have the same standard deviation', () => {
  for (const kind of Object.keys(KINDS)) {
    const drawn = weights({ ...settings, kind, size: 32 });
    const std = Math.sqrt(drawn.reduce((sum, value) => sum + value ** 2, 0) / drawn.length);
    assert.ok(Math.abs(std * Math.sqrt(32) - 1) < 0.1, `${kind}: ${std}`);
  }
});

test('correlation is one with itself and minus one with its mirror', () => {
  const drawn = weights(settings);
  assert.ok(Math.abs(correlation(drawn, drawn) - 1) < 1e-12);
  assert.ok(Math.abs(correlation(drawn, drawn.map((value) => -value)) + 1) < 1e-12);
});

test('a name is quoted for Python', () => {
  assert.equal(python({ ...settings, name: 'a "b"', kind: 'orthogonal' }), 'draws.orthogonal(Stream(3, "a \\"b\\""), 16, 16, gain=1.0)');
});
