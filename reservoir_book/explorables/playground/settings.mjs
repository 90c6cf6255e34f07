// What a reader can choose: sizes, how it is trained, and the origin of each part; and what follows from that. Settings with
// a `task` of the bench are of a tagger, those without one of a translator.

/** The start: the recipe transformer/miniature at its laptop scale, everything trained. */
export const STANDARD = { width: 64, encoder: 2, decoder: 2, steps: 500, rate: 8e-3, warmup: 60, decay: 1e-4, smoothing: 0.1, keep: 0.5, seed: 0, parts: '' };
export const HEADS = 4;
export const headsOf = ({ task }) => (task ? 2 : HEADS);
export const RANGES = { width: [32, 48, 64, 96], encoder: [1, 2, 3], decoder: [1, 2, 3], steps: [50, 100, 200, 300, 500, 1000], keep: [0.1, 0.9], rate: [1e-4, 1000], seed: [0, 2 ** 32 - 1] };
const TAGGER = { width: [16, 32, 64], layers: [1, 2, 3, 4, 5, 6], steps: [100, 200, 500, 800, 1000, 1500, 2000, 3000], keep: RANGES.keep, rate: RANGES.rate, seed: RANGES.seed };
export const LETTERS = { t: 'trained', s: 'seeded', m: 'masked', f: 'fixed', n: 'none' };
export const WHAT = { embedding: 'embeddings', attention: 'attention', cross: 'attention to the source', feed_forward: 'feed-forward', norms: 'norms', norm: 'last norm', readout: 'readout' };
const START = 0.3; // the spread of a tagger's embeddings and positions
const MASKS = 0.5;

/** What may be chosen. */
export const rangesOf = ({ task }) => (task ? { ...TAGGER, steps: [...new Set([...TAGGER.steps, task.steps])].sort((a, b) => a - b) } : RANGES);

/** The start: of a task its recipe with everything trained. */
export const standardOf = (task) => (task ? { task, width: 32, layers: task.layers, steps: task.steps, rate: task.rate, keep: MASKS, seed: 0, parts: '' } : STANDARD);

/** The parts of a model that have an origin each: [{name, kind, side, layer, letters}], from the bottom up. */
export function partsOf({ task, layers, encoder, decoder }) {
  if (task) {
    const inner = ['attention', 'feed_forward', 'norms'];
    const of = (layer) => inner.map((kind) => ({ name: `encoder.${layer}.${kind}`, kind, side: 'encoder', layer, letters: kind === 'norms' ? 'tf' : 'tsmn' }));
    return [{ name: 'embedding', kind: 'embedding', letters: 'tsm' }, ...Array.from({ length: layers }, (_, layer) => of(layer)).flat(), { name: 'norm', kind: 'norm', letters: 'tf' }, { name: 'readout', kind: 'readout', letters: 'ts' }];
  }
  const found = [{ name: 'embedding', kind: 'embedding', letters: 'tsm' }];
  for (const [side, depth] of [['encoder', encoder], ['decoder', decoder]]) {
    for (let layer = 0; layer < depth; layer += 1) {
      const kinds = side === 'encoder' ? ['attention', 'feed_forward', 'norms'] : ['attention', 'cross', 'feed_forward', 'norms'];
      for (const kind of kinds) found.push({ name: `${side}.${layer}.${kind}`, kind, side, layer, letters: kind === 'norms' ? 'tf' : kind === 'attention' && side === 'encoder' ? 'tsmf' : 'tsm' });
    }
    found.push({ name: `${side}.norm`, kind: 'norm', side, letters: 'tf' });
  }
  return found;
}

/** The letters of `parts` by part; those that are not said are trained. */
export const lettersOf = (settings) => new Map(partsOf(settings).map(({ name }, i) => [name, settings.parts[i] ?? 't']));

/** Settings with one part's letter changed. */
export function withPart(settings, name, letter) {
  const letters = lettersOf(settings).set(name, letter);
  const text = [...letters.values()].join('');
  return { ...settings, parts: /[^t]/.test(text) ? text : '' };
}

/** Settings with other depths; parts of layers that stay keep their origins, new ones are like the layer below. */
export function withDepths(settings, depths) {
  const wanted = { ...settings, ...depths };
  const old = lettersOf(settings);
  const text = partsOf(wanted).map(({ name, side, kind, layer }) => {
    for (let from = layer; from >= 0; from -= 1) if (old.has(`${side}.${from}.${kind}`)) return old.get(`${side}.${from}.${kind}`);
    return old.get(name);
  }).join('');
  return { ...wanted, parts: /[^t]/.test(text) ? text : '' };
}

/** Why settings cannot be used, in a sentence; undefined if they can. */
export function refused(settings) {
  const ranges = rangesOf(settings);
  for (const name of Object.keys(ranges).filter((one) => !['keep', 'rate', 'seed'].includes(one))) {
    if (!ranges[name].includes(settings[name])) return `${name} must be one of ${ranges[name].join(', ')}, got ${settings[name]}`;
  }
  for (const name of ['keep', 'rate', 'seed']) {
    const [low, high] = ranges[name];
    if (!(settings[name] >= low && settings[name] <= high)) return `${name} must be from ${low} to ${high}, got ${settings[name]}`;
  }
  if (!Number.isInteger(settings.seed)) return `seed must be a whole number, got ${settings.seed}`;
  const all = partsOf(settings);
  if (settings.parts && settings.parts.length !== all.length) return `parts must have ${all.length} letters for ${settings.task ? settings.layers : `${settings.encoder} and ${settings.decoder}`} layers, got ${settings.parts.length}`;
  const wrong = all.findIndex(({ letters }, i) => settings.parts && !letters.includes(settings.parts[i]));
  if (wrong >= 0) return `the letter of ${all[wrong].name} must be one of ${[...all[wrong].letters].join(', ')}, got ${settings.parts[wrong]}`;
  if (![...lettersOf(settings).values()].some((letter) => letter === 't' || letter === 'm')) return 'nothing is left to train: every part is frozen';
  const letters = lettersOf(settings);
  const empty = Array.from({ length: settings.layers ?? 0 }, (_, layer) => layer).find((layer) => ['attention', 'feed_forward'].every((kind) => letters.get(`encoder.${layer}.${kind}`) === 'n'));
  if (empty !== undefined) return `layer ${empty + 1} has neither attention nor feed-forward: choose fewer layers in its place`;
  return undefined;
}

/** Every tensor: {stream, shape, kind, part, blocks, origin}. kind: 'table', 'matrix', 'bias', 'gain' or 'shift'. */
export function tensorsOf(settings, vocabulary) {
  const { task, width: d } = settings;
  const letters = lettersOf(settings);
  const found = [];
  const add = (part, stream, shape, kind, blocks, more) => {
    const letter = letters.get(part);
    const weight = kind === 'table' || kind === 'matrix';
    const bias = kind === 'bias' && task && letter === 'm' ? 'trained' : 'fixed'; // the bench's masks leave biases to be trained
    found.push({ stream, shape, kind, part, blocks, signs: Boolean(task) && letter === 'm', origin: letter === 't' ? 'trained' : weight ? LETTERS[letter] : bias, ...more });
  };
  const linear = (part, stream, rows, columns, blocks) => { add(part, stream, [rows, columns], 'matrix', blocks); add(part, `${stream}.bias`, [rows], 'bias'); };
  const norm = (part, stream) => { add(part, stream, [d], 'gain'); add(part, `${stream}.bias`, [d], 'shift'); };
  if (task) {
    add('embedding', 'embedding', [task.vocabulary + 1, d], 'table', undefined, { std: START, padded: true, looked: true });
    add('embedding', 'positions', [task.length, d], 'table', undefined, { std: START, looked: true });
    for (let layer = 0; layer < settings.layers; layer += 1) {
      const at = `encoder.${layer}`;
      if (letters.get(`${at}.attention`) !== 'n') { norm(`${at}.norms`, `${at}.mixing.norm`); linear(`${at}.attention`, `${at}.attention.qkv`, 3 * d, d, 3); linear(`${at}.attention`, `${at}.attention.out`, d, d); }
      if (letters.get(`${at}.feed_forward`) !== 'n') { norm(`${at}.norms`, `${at}.feed_forward.norm`); linear(`${at}.feed_forward`, `${at}.feed_forward.up`, 4 * d, d); linear(`${at}.feed_forward`, `${at}.feed_forward.down`, d, 4 * d); }
    }
    norm('norm', 'norm');
    add('readout', 'readout', [task.questions * task.answers, d], 'matrix', undefined, { spread: { groups: task.questions, wide: Math.ceil(task.answers / 8) * 8 } });
    return found;
  }
  add('embedding', 'embedding', [vocabulary, d], 'table', undefined, { padded: true });
  for (const { name, kind, side } of partsOf(settings)) {
    const under = name.replace(/\.\w+$/, '');
    if (kind === 'attention' && letters.get(name) !== 'f') { linear(name, `${name}.qkv`, 3 * d, d, 3); linear(name, `${name}.out`, d, d); }
    if (kind === 'cross') { linear(name, `${name}.query`, d, d, 1); linear(name, `${name}.kv`, 2 * d, d, 2); linear(name, `${name}.out`, d, d); }
    if (kind === 'feed_forward') { linear(name, `${name}.up`, 2 * d, d); linear(name, `${name}.down`, d, 2 * d); }
    if (kind === 'norms') for (const of of side === 'encoder' ? ['mixing', 'feed_forward'] : ['mixing', 'cross', 'feed_forward']) norm(name, `${under}.${of}.norm`);
    if (kind === 'norm') norm(name, name);
  }
  return found;
}

/** What a model takes: {weights, trainable, bytes, byOrigin: {origin: {weights, bytes}}}; a masked weight is a bit. */
export function countsOf(settings, vocabulary) {
  const byOrigin = {};
  for (const { origin, shape } of tensorsOf(settings, vocabulary)) {
    const n = shape.reduce((a, b) => a * b, 1);
    const of = (byOrigin[origin] ??= { weights: 0, bytes: 0 });
    of.weights += n;
    of.bytes += { trained: 4 * n, masked: Math.ceil(n / 8) }[origin] ?? 0;
  }
  const sum = (key, of = Object.keys(byOrigin)) => of.reduce((total, origin) => total + (byOrigin[origin]?.[key] ?? 0), 0);
  return { weights: sum('weights'), trainable: sum('weights', ['trained', 'masked']), bytes: sum('bytes'), byOrigin };
}

const KEYS = { b: 'task', w: 'width', l: 'layers', e: 'encoder', d: 'decoder', n: 'steps', r: 'rate', k: 'keep', s: 'seed', p: 'parts' };

/** Settings as a line for a link, such as "w48_s3_pttsf…"; what is standard is left out. */
export function written(settings) {
  const standard = standardOf(settings.task);
  const words = Object.entries(KEYS).filter(([, name]) => name !== 'task' && settings[name] !== standard[name]).map(([key, name]) => `${key}${settings[name]}`);
  return [...(settings.task ? [`b${settings.task.name}`] : []), ...words].join('_');
}

/** Settings from such a line. Throws a sentence if it says what cannot be. */
export function read(line, tasks = {}) {
  const words = line.split('_').filter(Boolean);
  const of = words.find(([key]) => key === 'b')?.slice(1);
  if (of !== undefined && !Object.hasOwn(tasks, of)) throw new Error(`the task must be one of ${Object.keys(tasks).join(', ') || 'those that a page gives'}, got ${of.slice(0, 20) || 'nothing'}`);
  const settings = { ...standardOf(tasks[of]) };
  for (const word of words) {
    const name = KEYS[word[0]];
    const value = word.slice(1);
    if (!name || !(name in settings)) throw new Error(`${word.slice(0, 20)} is no setting ${of ? `of the task ${of}` : 'of the playground'}`);
    if (name === 'task') continue;
    if (name !== 'parts' && !(value && Number.isFinite(Number(value)))) throw new Error(`${name} must be a number, got ${value.slice(0, 20) || 'nothing'}`);
    settings[name] = name === 'parts' ? value : Number(value);
  }
  const why = refused(settings);
  if (why) throw new Error(why);
  return settings;
}
