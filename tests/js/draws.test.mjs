// Known answers and properties of the generator in JavaScript; test_explorables_draws.py compares it with Python's.
import assert from 'node:assert/strict';
import test from 'node:test';
import { normal, orthogonal, permutation, sign, uniform } from '../../reservoir_book/explorables/shared/draws.mjs';
import { nameHash, philox, Stream } from '../../reservoir_book/explorables/shared/philox.mjs';

test('Philox gives the published vectors', () => { // Random123's kat_vectors, lines "philox4x32 10"
  const words = (text) => text.split(' ').map((word) => parseInt(word, 16));
  for (const [counter, key, expected] of [
    ['00000000 00000000 00000000 00000000', '00000000 00000000', '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    ['ffffffff ffffffff ffffffff ffffffff', 'ffffffff ffffffff', '408f276d 41c83b0e a20bc7c6 6d5451fd'],
    ['243f6a88 85a308d3 13198a2e 03707344', 'a4093822 299f31d0', 'd16cfe09 94fdcceb 5001e420 24126ea1'],
  ]) assert.deepEqual(philox(words(counter), words(key)), words(expected));
});

test('names are hashed by FNV-1a', () => {
  assert.deepEqual(['', 'a', 'foobar'].map(nameHash), [0xcbf29ce484222325n, 0xaf63dc4c8601ec8cn, 0x85944171f73967e8n]);
});

test('a slice is the slice of the whole', () => {
  const stream = new Stream(1, 'slices');
  const whole = stream.words(0, 100);
  for (const [start, stop] of [[0, 0], [3, 3], [1, 6], [4, 8], [7, 100]]) assert.deepEqual(stream.words(start, stop), whole.slice(start, stop));
  assert.deepEqual(uniform(stream, 9, { bound: 2, start: 5 }), uniform(stream, 14, { bound: 2 }).slice(5));
  assert.deepEqual(sign(stream, 50, { scale: 3, start: 37 }), sign(stream, 87, { scale: 3 }).slice(37));
  assert.deepEqual(normal(stream, 7, { std: 2, start: 3 }), normal(stream, 10, { std: 2 }).slice(3));
});

test('a counter goes on beyond 32 bits', () => {
  const stream = new Stream(0, 'far');
  const at = 2 ** 34; // word 0 of block 2^32
  assert.deepEqual([...stream.words(at - 2, at + 2)].slice(2), [...stream.words(at, at + 2)]);
  assert.notDeepEqual(stream.words(at, at + 4), stream.words(0, 4));
});

test('an orthogonal matrix is orthogonal, whichever side is longer', () => {
  for (const [rows, cols] of [[1, 1], [5, 3], [3, 5], [16, 16], [37, 20]]) {
    const q = orthogonal(new Stream(2, 'q'), rows, cols, { gain: 1.5 });
    const short = Math.min(rows, cols);
    const at = (vector, i) => (rows >= cols ? q[i * cols + vector] : q[vector * cols + i]);
    for (let a = 0; a < short; a += 1) {
      for (let b = 0; b < short; b += 1) {
        let sum = 0;
        for (let i = 0; i < Math.max(rows, cols); i += 1) sum += at(a, i) * at(b, i);
        assert.ok(Math.abs(sum - (a === b ? 2.25 : 0)) < 1e-6);
      }
    }
  }
});

test('a permutation has each number once', () => {
  assert.deepEqual([...permutation(new Stream(3, 'p'), 1000)].sort((a, b) => a - b), Array.from({ length: 1000 }, (_, i) => i));
});

test('a seed is a whole number, a BigInt or digits, and nothing else', () => {
  assert.deepEqual(new Stream('18446744073709551615', 'a').words(0, 4), new Stream(2n ** 64n - 1n, 'a').words(0, 4));
  for (const seed of [-1, 2n ** 64n, 1.5, '', 'x', true, null, 2 ** 60]) assert.throws(() => new Stream(seed, 'a'), /seed must be an integer in \[0, 2\*\*64\), got/);
  assert.throws(() => new Stream(0, 3), /name must be a string/);
  assert.throws(() => new Stream(0, 'a').words(5, 4), /start and stop must satisfy/);
  assert.throws(() => uniform(new Stream(0, 'a'), -1, { bound: 1 }), /n must be a whole number/);
});
