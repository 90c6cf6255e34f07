// A signal and its transform: what the real part keeps, and what the mirror images have in common.
import assert from 'node:assert/strict';
import test from 'node:test';
import { back, drawn, FEATURES, kept, next, numbers, parse, reversed, share, TOKENS, transform } from '../../reservoir_book/explorables/fourier_mixing/model.mjs';

const ENTRIES = TOKENS * FEATURES;
const signal = Array.from({ length: ENTRIES }, (_, i) => String((i * i + 3 * i) % 7 % 3)).join('');
const all = kept(TOKENS / 2, FEATURES / 2);
const near = (a, b) => a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) < 1e-9, `${i}: ${value} and ${b[i]}`));

test('both parts give the signal back, the real part the mean of it and its mirror image', () => {
  const x = numbers(signal);
  const mirror = numbers(reversed(signal, { tokens: true, features: true }));
  near(back(transform(x), all, 'both'), x);
  near(back(transform(x), all, 'real'), x.map((value, i) => (value + mirror[i]) / 2));
});

test('reversing both axes changes nothing, reversing the tokens reverses the mixing', () => {
  const mixing = transform(numbers(signal)).re;
  near(transform(numbers(reversed(signal, { tokens: true, features: true }))).re, mixing);
  const turned = transform(numbers(reversed(signal, { tokens: true }))).re;
  for (let n = 0; n < TOKENS; n += 1) {
    const from = ((TOKENS - n) % TOKENS) * FEATURES;
    near(turned.slice(n * FEATURES, (n + 1) * FEATURES), mixing.slice(from, from + FEATURES));
  }
});

test('without any frequency but the slowest the mean is left', () => {
  const x = numbers(signal);
  const mean = x.reduce((sum, value) => sum + value, 0) / ENTRIES;
  near(back(transform(x), kept(0, 0), 'both'), x.map(() => mean));
  assert.equal(kept(0, 0).filter(Boolean).length, 1);
  assert.equal(kept(1, FEATURES / 2).filter(Boolean).length, 3 * FEATURES);
});

test('half of one entry comes back, and all of one that is its own mirror image', () => {
  const one = numbers(drawn('0'.repeat(ENTRIES), FEATURES + 1, '1'));
  const middle = numbers(drawn('0'.repeat(ENTRIES), 0, '2'));
  assert.ok(Math.abs(share(one, back(transform(one), all, 'real')) - 0.5) < 1e-9);
  assert.ok(Math.abs(share(middle, back(transform(middle), all, 'real')) - 1) < 1e-9);
});

test('a tap goes round, and an address that is no signal is refused', () => {
  assert.deepEqual(['0', '1', '2'].map(next), ['1', '2', '0']);
  assert.equal(parse(signal), signal);
  assert.equal(parse(signal.slice(1)), undefined);
  assert.equal(parse(`3${signal.slice(1)}`), undefined);
});
