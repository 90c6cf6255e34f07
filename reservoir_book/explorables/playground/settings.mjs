// What a reader can choose: sizes, how it is trained, and the origin of each part; and what follows from that.

/** The start: the recipe transformer/miniature at its laptop scale, everything trained. */
export const STANDARD = { width: 64, encoder: 2, decoder: 2, steps: 500, rate: 8e-3, warmup: 60, decay: 1e-4, smoothing: 0.1, keep: 0.5, seed: 0, parts: '' };
export const HEADS = 4;
export const RANGES = { width: [32, 48, 64, 96], encoder: [1, 2, 3], decoder: [1, 2, 3], steps: [50, 100, 200, 300, 500, 1000], keep: [0.1, 0.9], rate: [1e-4, 1000], seed: [0, 2 ** 32 - 1] };
export const LETTERS = { t: 'trained', s: 'seeded', m: 'masked', f: 'fixed' };
export const WHAT = { embedding: 'embeddings', attention: 'attention', cross: 'attention to the source', feed_forward: 'feed-forward', norms: 'norms', norm: 'last norm' };

/** The parts of a model that have an origin each: [{name, kind, side, layer, letters}], from the bottom up. */
export function partsOf({ encoder, decoder }) {
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
  for (const name of ['width', 'encoder', 'decoder', 'steps']) {
    if (!RANGES[name].includes(settings[name])) return `${name} must be one of ${RANGES[name].join(', ')}, got ${settings[name]}`;
  }
  for (const name of ['keep', 'rate', 'seed']) {
    const [low, high] = RANGES[name];
    if (!(settings[name] >= low && settings[name] <= high)) return `${name} must be from ${low} to ${high}, got ${settings[name]}`;
  }
  if (!Number.isInteger(settings.seed)) return `seed must be a whole number, got ${settings.seed}`;
  const all = partsOf(settings);
  if (settings.parts && settings.parts.length !== all.length) return `parts must have ${all.length} letters for ${settings.encoder} and ${settings.decoder} layers, got ${settings.parts.length}`;
  const wrong = all.findIndex(({ letters }, i) => settings.parts && !letters.includes(settings.parts[i]));
  if (wrong >= 0) return `the letter of ${all[wrong].name} must be one of ${[...all[wrong].letters].join(', ')}, got ${settings.parts[wrong]}`;
  if (![...lettersOf(settings).values()].some((letter) => letter === 't' || letter === 'm')) return 'nothing is left to train: every part is frozen';
  return undefined;
}

/** Every tensor: {stream, shape, kind, part, blocks, origin}. kind: 'table', 'matrix', 'bias', 'gain' or 'shift'. */
export function tensorsOf(settings, vocabulary) {
  const d = settings.width;
  const letters = lettersOf(settings);
  const found = [];
  const add = (part, stream, shape, kind, blocks) => {
    const letter = letters.get(part);
    const weight = kind === 'table' || kind === 'matrix';
    found.push({ stream, shape, kind, part, blocks, origin: letter === 't' ? 'trained' : weight ? LETTERS[letter] : 'fixed' });
  };
  const linear = (part, stream, rows, columns, blocks) => { add(part, stream, [rows, columns], 'matrix', blocks); add(part, `${stream}.bias`, [rows], 'bias'); };
  const norm = (part, stream) => { add(part, stream, [d], 'gain'); add(part, `${stream}.bias`, [d], 'shift'); };
  add('embedding', 'embedding', [vocabulary, d], 'table');
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

const KEYS = { w: 'width', e: 'encoder', d: 'decoder', n: 'steps', r: 'rate', k: 'keep', s: 'seed', p: 'parts' };

/** Settings as a line for a link, such as "w48.s3.pttsf…"; what is standard is left out. */
export const written = (settings) => Object.entries(KEYS).filter(([, name]) => settings[name] !== STANDARD[name]).map(([key, name]) => `${key}${settings[name]}`).join('_');

/** Settings from such a line. Throws a sentence if it says what cannot be. */
export function read(line) {
  const settings = { ...STANDARD };
  for (const word of line.split('_').filter(Boolean)) {
    const name = KEYS[word[0]];
    const value = word.slice(1);
    if (!name) throw new Error(`${word.slice(0, 20)} is no setting of the playground`);
    if (name !== 'parts' && !(value && Number.isFinite(Number(value)))) throw new Error(`${name} must be a number, got ${value.slice(0, 20) || 'nothing'}`);
    settings[name] = name === 'parts' ? value : Number(value);
  }
  const why = refused(settings);
  if (why) throw new Error(why);
  return settings;
}
