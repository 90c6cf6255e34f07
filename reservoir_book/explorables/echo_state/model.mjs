// Echo states without a page: the reservoir that reservoir.weights.EchoState draws, its readout, its forecasts.
//
// The weights are the same bits as Python's; what is computed from them agrees to rounding. Matrices are flat
// Float64Arrays, row by row; a series or a trajectory of states is one too, with a row for each step.
import { Stream } from '../shared/philox.mjs';
import { uniform } from '../shared/draws.mjs';

const SQUARINGS = 24;
const RADIUS_BITS = 16;

// ---- the reservoir

/** The exponent e with x = m · 2^e and 1/2 <= m < 1, as C's frexp has it. */
function exponentOf(x) {
  let e = Math.floor(Math.log2(x)) + 1;
  if (x >= 2 ** e) e += 1;
  if (x < 2 ** (e - 1)) e -= 1;
  return e;
}

function squared(a, n) {
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i += 1) {
    const row = out.subarray(i * n, (i + 1) * n);
    for (let k = 0; k < n; k += 1) {
      const f = a[i * n + k];
      const other = a.subarray(k * n, (k + 1) * n);
      for (let j = 0; j < n; j += 1) row[j] += f * other[j];
    }
  }
  return out;
}

/** The largest absolute eigenvalue of an (n, n) matrix, by Gelfand's formula at the 2^24th power. */
export function spectralRadius(matrix, n) {
  let power = Float64Array.from(matrix);
  let log2 = 0;
  for (let k = 0; ; k += 1) {
    const norm = Math.sqrt(power.reduce((sum, x) => sum + x * x, 0));
    if (norm === 0 || !Number.isFinite(norm)) return norm;
    const exponent = exponentOf(norm);
    log2 += exponent * 2 ** -k;
    if (k === SQUARINGS) return 2 ** (log2 + Math.log2(norm * 2 ** -exponent) * 2 ** -SQUARINGS);
    power = squared(power.map((x) => x * 2 ** -exponent), n);
  }
}

const radii = new Map();

/** The spectral radius of the matrix that a stream gives with bound 1, rounded to 16 significant bits. */
export function unitRadius(stream, n) {
  const key = `${stream.seed} ${stream.name} ${n}`;
  if (!radii.has(key)) {
    const found = spectralRadius(uniform(stream, n * n, { bound: 1 }), n);
    const unit = 2 ** (exponentOf(found) - RADIUS_BITS);
    radii.set(key, Math.round(found / unit) * unit);
  }
  return radii.get(key);
}

/** What `initialise(EchoState(inputs, size, stream=…, recurrent=SpectralRadius(radius), …), seed=seed)` has. */
export function echoState({ seed, stream, inputs, size, radius, leak = 1, inputScaling = 1, biasScaling = 0 }) {
  const draw = (part, n, bound) => Float64Array.from(uniform(new Stream(seed, `${stream}.${part}`), n, { bound }));
  return {
    inputs, size, leak,
    W: draw('W', size * size, radius / unitRadius(new Stream(seed, `${stream}.W`), size)),
    Win: draw('W_in', size * inputs, inputScaling),
    b: draw('b', size, biasScaling),
  };
}

/** One update, x ← (1-a) x + a tanh(W x + W_in u + b), of `from` into `to`, which must be another array. */
export function step({ W, Win, b, size, inputs, leak }, from, u, to) {
  for (let i = 0; i < size; i += 1) {
    let sum = b[i];
    for (let j = 0; j < inputs; j += 1) sum += Win[i * inputs + j] * u[j];
    const row = i * size;
    for (let j = 0; j < size; j += 1) sum += W[row + j] * from[j];
    to[i] = from[i] + leak * (Math.tanh(sum) - from[i]);
  }
}

/** The states that a series (steps × inputs) drives the reservoir through: steps × size. */
export function run(echo, series, start = new Float64Array(echo.size)) {
  const steps = series.length / echo.inputs;
  const states = new Float64Array(steps * echo.size);
  let x = start;
  for (let t = 0; t < steps; t += 1) {
    const next = states.subarray(t * echo.size, (t + 1) * echo.size);
    step(echo, x, series.subarray(t * echo.inputs, (t + 1) * echo.inputs), next);
    x = next;
  }
  return states;
}

// ---- what reads it

/**
 * The weights V (outputs × size) and c that minimise Σ ‖V x + c - y‖² + λ ‖V‖², or null where rounding makes the
 * matrix of this problem singular. The intercept is not held down.
 */
export function ridge(x, y, { size, outputs, regularisation }) {
  const samples = x.length / size;
  const [xMean, xs] = centred(x, size);
  const [yMean, ys] = centred(y, outputs);
  const gram = new Float64Array(size * size); // its lower triangle
  const right = new Float64Array(size * outputs);
  for (let t = 0; t < samples; t += 1) {
    const row = xs.subarray(t * size, (t + 1) * size);
    for (let i = 0; i < size; i += 1) {
      const f = row[i];
      const at = i * size;
      for (let j = 0; j <= i; j += 1) gram[at + j] += f * row[j];
      for (let k = 0; k < outputs; k += 1) right[i * outputs + k] += f * ys[t * outputs + k];
    }
  }
  for (let i = 0; i < size; i += 1) gram[i * size + i] += regularisation;
  if (!factorise(gram, size)) return null;
  const weight = new Float64Array(outputs * size);
  const bias = new Float64Array(outputs);
  const column = new Float64Array(size);
  for (let k = 0; k < outputs; k += 1) {
    for (let i = 0; i < size; i += 1) { // L z = right
      let sum = right[i * outputs + k];
      for (let j = 0; j < i; j += 1) sum -= gram[i * size + j] * column[j];
      column[i] = sum / gram[i * size + i];
    }
    for (let i = size - 1; i >= 0; i -= 1) { // Lᵀ v = z
      let sum = column[i];
      for (let j = i + 1; j < size; j += 1) sum -= gram[j * size + i] * column[j];
      column[i] = sum / gram[i * size + i];
    }
    weight.set(column, k * size);
    bias[k] = yMean[k] - column.reduce((sum, v, i) => sum + v * xMean[i], 0);
  }
  return { weight, bias, size, outputs };
}

/** The means of the columns, and the data without them. */
function centred(data, columns) {
  const samples = data.length / columns;
  const mean = new Float64Array(columns);
  for (let at = 0; at < data.length; at += columns) for (let j = 0; j < columns; j += 1) mean[j] += data[at + j];
  for (let j = 0; j < columns; j += 1) mean[j] /= samples;
  const rest = new Float64Array(data.length);
  for (let at = 0; at < data.length; at += columns) for (let j = 0; j < columns; j += 1) rest[at + j] = data[at + j] - mean[j];
  return [mean, rest];
}

/** Cholesky: the lower triangle of a symmetric matrix becomes L with L Lᵀ; false if it is not positive definite. */
function factorise(a, n) {
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k += 1) sum -= a[i * n + k] * a[j * n + k];
      if (i === j) {
        if (!(sum > 0)) return false;
        a[i * n + i] = Math.sqrt(sum);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
  }
  return true;
}

/** What a readout says of states (steps × size): steps × outputs. */
export function read({ weight, bias, size, outputs }, states) {
  const steps = states.length / size;
  const said = new Float64Array(steps * outputs);
  for (let t = 0; t < steps; t += 1) {
    for (let k = 0; k < outputs; k += 1) {
      let sum = bias[k];
      for (let i = 0; i < size; i += 1) sum += weight[k * size + i] * states[t * size + i];
      said[t * outputs + k] = sum;
    }
  }
  return said;
}

/** Let the prediction be the next input, `steps` times, from the state x: the forecast, and the states on its way. */
export function freeRun(echo, readout, x, steps) {
  const forecast = new Float64Array(steps * readout.outputs);
  const states = new Float64Array(steps * echo.size);
  for (let t = 0; t < steps; t += 1) {
    const u = read(readout, x);
    forecast.set(u, t * readout.outputs);
    const next = states.subarray(t * echo.size, (t + 1) * echo.size);
    step(echo, x, u, next);
    x = next;
  }
  return { forecast, states };
}

/**
 * For each delay 0 … longest, how much of an independent input a readout finds in the states: what
 * `memory_curve(states, u, delays=range(longest + 1))` says.
 */
export function memoryCurve(states, u, { size, longest, regularisation = 1e-9 }) {
  const delays = longest + 1;
  const kept = u.length - longest;
  const split = Math.round(kept / 2);
  const targets = new Float64Array(kept * delays);
  for (let t = 0; t < kept; t += 1) for (let k = 0; k < delays; k += 1) targets[t * delays + k] = u[longest + t - k];
  const from = states.subarray(longest * size);
  const readout = ridge(from.subarray(0, split * size), targets.subarray(0, split * delays), { size, outputs: delays, regularisation });
  if (!readout) return null;
  const [, found] = centred(read(readout, from.subarray(split * size)), delays);
  const [, right] = centred(targets.subarray(split * delays), delays);
  return Float64Array.from({ length: delays }, (_, k) => {
    let [aa, bb, ab] = [0, 0, 0];
    for (let at = k; at < found.length; at += delays) {
      aa += found[at] ** 2;
      bb += right[at] ** 2;
      ab += found[at] * right[at];
    }
    return ab ** 2 / Math.max(aa * bb, 1e-300);
  });
}

/** The distance (root mean square over units) between two copies that differ in their first state alone and see one input. */
export function distance(echo, series) {
  const one = run(echo, series);
  const other = run(echo, series, new Float64Array(echo.size).fill(1));
  return Float64Array.from({ length: series.length / echo.inputs }, (_, t) => {
    let square = 0;
    for (let i = t * echo.size; i < (t + 1) * echo.size; i += 1) square += (one[i] - other[i]) ** 2;
    return Math.sqrt(square / echo.size);
  });
}

// ---- the series, operation by operation as reservoir.datasets.series has them, and so bit for bit

/** dx/dt = 0.2 x(t-17) / (1 + x(t-17)¹⁰) - 0.1 x, sampled once a unit of time; ten Runge-Kutta steps a sample. */
export function mackeyGlass(steps, { skip = 1000 } = {}) {
  const [beta, gamma, substeps] = [0.2, 0.1, 10];
  const h = 1 / substeps;
  const lag = Math.round(17 / h);
  const production = (x) => {
    const x2 = x * x;
    const x4 = x2 * x2;
    return (beta * x) / (1 + x4 * x4 * x2);
  };
  const count = (skip + steps - 1) * substeps;
  const values = new Float64Array(lag + 1 + count).fill(1.2, 0, lag + 1);
  const slopes = new Float64Array(lag + 1 + count);
  for (let n = 0; n < count; n += 1) {
    const x = values[lag + n];
    const [then, next] = [values[n], values[n + 1]];
    const k1 = production(then) - gamma * x;
    slopes[lag + n] = k1;
    const arriving = n === lag - 1 ? 0 : slopes[n + 1]; // at t = 0 the slope jumps; before it, there is none
    const middle = production(0.5 * (then + next) + 0.125 * h * (slopes[n] - arriving));
    const k2 = middle - gamma * (x + 0.5 * h * k1);
    const k3 = middle - gamma * (x + 0.5 * h * k2);
    const k4 = production(next) - gamma * (x + h * k3);
    values[lag + n + 1] = x + (h / 6) * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  return Float64Array.from({ length: steps }, (_, n) => values[lag + (skip + n) * substeps]);
}

/** Lorenz's equations with his own parameters, sampled every 0.02; four Runge-Kutta steps a sample. Steps × 3. */
export function lorenz(steps, { skip = 1000, start = [1, 1, 1] } = {}) {
  const [sigma, rho, beta, substeps] = [10, 28, 8 / 3, 4];
  const h = 0.02 / substeps;
  const slope = ([x, y, z]) => [sigma * (y - x), x * (rho - z) - y, x * y - beta * z];
  const ahead = (state, k, by) => [state[0] + by * k[0], state[1] + by * k[1], state[2] + by * k[2]];
  const samples = new Float64Array(steps * 3);
  let state = start;
  for (let sample = 0; sample < skip + steps; sample += 1) {
    if (sample >= skip) samples.set(state, (sample - skip) * 3);
    for (let n = 0; n < substeps; n += 1) {
      const k1 = slope(state);
      const k2 = slope(ahead(state, k1, 0.5 * h));
      const k3 = slope(ahead(state, k2, 0.5 * h));
      const k4 = slope(ahead(state, k3, h));
      state = ahead(state, k1.map((a, i) => a + 2 * k2[i] + 2 * k3[i] + k4[i]), h / 6);
    }
  }
  return samples;
}

// ---- the lab: one setting of its controls, and everything that is shown of it

export const TASKS = {
  'mackey-glass': { inputs: 1, make: mackeyGlass, dt: 1, ahead: 900 },
  lorenz: { inputs: 3, make: lorenz, dt: 0.02, ahead: 500 },
};
export const WASHOUT = 200;
export const KNOWN = 1700; // steps that the readout is fitted on, with the washout
const NOISE = 2000;
const LONGEST = 60;
const COPIES = 200;
const WRONG = 0.4; // standard deviations: from here on a forecast counts as lost

const made = new Map();

/** The series of a task, with mean 0 and standard deviation 1 over what is known: (KNOWN + ahead) × inputs. */
export function task(name) {
  if (!made.has(name)) {
    const { inputs, make, ahead } = TASKS[name];
    const series = make(KNOWN + ahead);
    for (let k = 0; k < inputs; k += 1) {
      let [mean, square] = [0, 0];
      for (let t = 0; t < KNOWN; t += 1) mean += series[t * inputs + k] / KNOWN;
      for (let t = 0; t < KNOWN; t += 1) square += (series[t * inputs + k] - mean) ** 2 / KNOWN;
      for (let at = k; at < series.length; at += inputs) series[at] = (series[at] - mean) / Math.sqrt(square);
    }
    made.set(name, series);
  }
  return made.get(name);
}

/**
 * Drive the reservoir with what is known, fit the readout to the next step, let it go.
 *
 * `valid` is how many steps the forecast stays within 0.4 standard deviations of the truth; `copies` is the distance of
 * two copies over the first steps. Where the readout cannot be solved for, `readout` is null and there is no forecast.
 */
export function experiment({ seed, size, radius, leak, inputScaling, biasScaling, regularisation, task: name }) {
  const { inputs, ahead } = TASKS[name];
  const series = task(name);
  const echo = echoState({ seed, stream: 'lab', inputs, size, radius, leak, inputScaling, biasScaling });
  const states = run(echo, series.subarray(0, KNOWN * inputs));
  const copies = distance(echo, series.subarray(0, COPIES * inputs));
  const seen = states.subarray(WASHOUT * size, (KNOWN - 1) * size);
  const wanted = series.subarray((WASHOUT + 1) * inputs, KNOWN * inputs);
  const readout = ridge(seen, wanted, { size, outputs: inputs, regularisation });
  if (!readout) return { echo, series, states, copies, readout };
  const fitted = read(readout, seen);
  const error = Math.sqrt(fitted.reduce((sum, y, i) => sum + (y - wanted[i]) ** 2, 0) / fitted.length);
  const { forecast, states: free } = freeRun(echo, readout, states.subarray((KNOWN - 1) * size), ahead);
  let valid = 0;
  for (; valid < ahead; valid += 1) {
    let square = 0;
    for (let k = 0; k < inputs; k += 1) square += (forecast[valid * inputs + k] - series[(KNOWN + valid) * inputs + k]) ** 2;
    if (!(Math.sqrt(square / inputs) <= WRONG)) break;
  }
  return { echo, series, states, copies, readout, fitted, error, forecast, free, valid };
}

/** The memory curve of a reservoir with the same settings, for an input of variance 1 without any pattern. */
export function memory({ seed, size, radius, leak, inputScaling, biasScaling }) {
  const echo = echoState({ seed, stream: 'lab', inputs: 1, size, radius, leak, inputScaling, biasScaling });
  const u = Float64Array.from(uniform(new Stream(seed, 'lab.noise'), NOISE, { bound: Math.sqrt(3) }));
  return memoryCurve(run(echo, u), u, { size, longest: LONGEST });
}
