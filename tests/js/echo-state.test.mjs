// Properties of the echo state lab's computations; test_explorables_echo_state.py compares them with Python's.
import assert from 'node:assert/strict';
import test from 'node:test';
import { distance, echoState, experiment, freeRun, KNOWN, lorenz, mackeyGlass, memory, memoryCurve, read, ridge, run, spectralRadius, task, WASHOUT } from '../../reservoir_book/explorables/echo_state/model.mjs';

const setting = { seed: 3, size: 40, radius: 0.8, leak: 0.5, inputScaling: 0.5, biasScaling: 0.3, regularisation: 1e-6, task: 'mackey-glass' };

test('a spectral radius that is known is found, also of a rotation and of a nilpotent matrix', () => {
  for (const [matrix, radius] of [[[0, 1, -1, 0], 1], [[2, -2, 2, -2], 0], [[3, 1, 0, -4], 4], [[0.5, 1e6, 0, 0.25], 0.5]]) {
    const found = spectralRadius(Float64Array.from(matrix), 2);
    assert.ok(Math.abs(found - radius) <= 3e-6 * radius + 1e-9, `${found} is not ${radius}`);
  }
});

test('a drawn reservoir has the spectral radius that was asked for', () => {
  const { W, size } = echoState({ ...setting, stream: 'lab', inputs: 1 });
  assert.ok(Math.abs(spectralRadius(W, size) - 0.8) < 1e-5);
});

test('a run is taken up where it was left', () => {
  const echo = echoState({ ...setting, stream: 'lab', inputs: 1 });
  const u = mackeyGlass(30);
  const whole = run(echo, u);
  const rest = run(echo, u.subarray(10), whole.subarray(9 * 40, 10 * 40));
  assert.deepEqual(rest, whole.slice(10 * 40));
});

test('ridge finds a line through points on it, and none where the matrix is singular', () => {
  const x = Float64Array.from([0, 1, 1, 0, 2, 3, 5, 1]); // 4 × 2
  const y = Float64Array.from([0, 1, 2, 3], (t) => 2 * x[2 * t] - x[2 * t + 1] + 7);
  const { weight, bias } = ridge(x, y, { size: 2, outputs: 1, regularisation: 1e-12 });
  [weight[0] - 2, weight[1] + 1, bias[0] - 7].forEach((off) => assert.ok(Math.abs(off) < 1e-9));
  assert.equal(ridge(new Float64Array(8), y, { size: 2, outputs: 1, regularisation: 0 }), null);
});

test('a free run begins with what the readout says', () => {
  const echo = echoState({ ...setting, stream: 'lab', inputs: 1 });
  const states = run(echo, mackeyGlass(60));
  const readout = ridge(states.subarray(0, 59 * 40), mackeyGlass(60).subarray(1), { size: 40, outputs: 1, regularisation: 1e-3 });
  const x = states.subarray(59 * 40);
  const { forecast, states: free } = freeRun(echo, readout, x, 5);
  assert.equal(forecast[0], read(readout, x)[0]);
  assert.deepEqual(free.slice(0, 40), run(echo, forecast.subarray(0, 1), x));
});

test('a shift register remembers its length and no more', () => {
  const u = Float64Array.from({ length: 1200 }, (_, i) => Math.sin(i * i)); // no pattern that a line could see
  const states = new Float64Array(1200 * 5);
  for (let t = 0; t < 1200; t += 1) for (let k = 0; k < 5; k += 1) states[t * 5 + k] = t >= k ? u[t - k] : 0;
  const curve = memoryCurve(states, u, { size: 5, longest: 9 });
  assert.ok(Math.min(...curve.slice(0, 5)) > 1 - 1e-9 && Math.max(...curve.slice(5)) < 0.05, String(curve));
});

test('memory stays below the number of units, and input scaling bends it away', () => {
  const total = (inputScaling) => memory({ ...setting, leak: 1, inputScaling }).slice(1).reduce((sum, r) => sum + r, 0);
  const [whisper, shout] = [total(0.02), total(4)];
  assert.ok(whisper < 40 && whisper > 2 * shout, `${whisper} and ${shout}`);
});

test('copies meet at a small radius and stay apart at a large one without input', () => {
  const quiet = (radius) => distance(echoState({ ...setting, radius, leak: 1, inputScaling: 0, biasScaling: 0, stream: 'lab', inputs: 1 }), new Float64Array(200));
  assert.ok(quiet(0.5).at(-1) < 1e-12 && quiet(1.5).at(-1) > 1e-3);
});

test('what is known has mean 0 and variance 1, and is let go after it', () => {
  for (const [name, inputs, make] of [['mackey-glass', 1, mackeyGlass], ['lorenz', 3, lorenz]]) {
    const known = task(name).subarray(0, KNOWN * inputs);
    for (let k = 0; k < inputs; k += 1) {
      const column = known.filter((_, i) => i % inputs === k);
      assert.ok(Math.abs(column.reduce((a, b) => a + b) / KNOWN) < 1e-12);
      assert.ok(Math.abs(column.reduce((a, b) => a + b * b, 0) / KNOWN - 1) < 1e-12);
    }
    assert.equal(make(5).length, 5 * inputs);
  }
  const found = experiment(setting);
  assert.equal(found.fitted.length, KNOWN - 1 - WASHOUT);
  assert.ok(found.error < 0.1 && found.valid > 10);
});
