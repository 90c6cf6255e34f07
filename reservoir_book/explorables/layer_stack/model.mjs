// What a training step spends in each layer of a stack: the closed form of reservoir_lab.runs.flops.
export const LEAST = 1;
export const MOST = 12;
export const KINDS = ['transformer', 'ffn', 'gru', 'conv'];

/** Parameters, and operations a padded token: forward, backward to the input, backward to the layer's own weights. */
export function layerCost(kind, { d_model: d, d_ff: f, n_heads: heads, kernel, length }) {
  const half = Math.floor(d / 2);
  const norm = 2 * d;
  const [maps, rest, free, past] = {
    transformer: [4 * d * d + 2 * d * f, 5 * d + f + 2 * norm, 4 * length * d, 0],
    ffn: [2 * d * f, d + f + norm, 0, 0],
    gru: [6 * half * (d + half), 12 * half + norm, 0, (12 * half * half) / length],
    conv: [3 * d * d + d * heads * kernel, 3 * d + norm, 0, 0],
  }[kind];
  return { parameters: maps + rest, forward: 2 * maps + free, inputs: 2 * maps + 2 * free - past, weights: 2 * maps };
}

/** The same for each layer from the bottom, with what the backward pass leaves out; `below`: whether the embeddings move. */
export function stackCost(stack, kind, below, sizes) {
  let moves = below;
  return [...stack].map((letter) => {
    const learns = letter === 'L';
    const cost = layerCost(learns ? 'transformer' : kind, sizes);
    const found = { letter, ...cost, inputs: moves || learns ? cost.inputs : 0, weights: learns ? cost.weights : 0 };
    moves ||= learns;
    return found;
  });
}

/** Sums over the layers. */
export function sums(costs) {
  const total = { trained: 0, frozen: 0, forward: 0, inputs: 0, weights: 0 };
  for (const cost of costs) {
    total[cost.letter === 'L' ? 'trained' : 'frozen'] += cost.parameters;
    for (const part of ['forward', 'inputs', 'weights']) total[part] += cost[part];
  }
  return { ...total, step: total.forward + total.inputs + total.weights };
}

/** The letters if they are a stack, else undefined. */
export const parse = (text) => (/^[LR]{1,12}$/.test(text) ? text : undefined);

/** With layer i turned into the other letter. */
export const turned = (stack, i) => [...stack].map((letter, k) => (k === i ? { L: 'R', R: 'L' }[letter] : letter)).join('');

/** How a record is found: reservoirs have a kind, a stack without has none. */
export const key = (stack, kind) => (stack.includes('R') ? `${stack} ${kind}` : stack);

/** The recorded stack, as a key of `records`, that is most like this one: in what learns first, then in depth, then in kind. */
export const nearest = (records, stack, kind) => {
  const learning = (letters) => [...letters].filter((letter) => letter === 'L').length;
  const far = (name) => {
    const [letters, its] = name.split(' ');
    return 1000 * Math.abs(learning(letters) - learning(stack)) + 10 * Math.abs(letters.length - stack.length) + (its === undefined || its === kind ? 0 : 1);
  };
  return Object.keys(records).sort((a, b) => far(a) - far(b))[0];
};
