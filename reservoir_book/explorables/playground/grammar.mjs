// The miniature grammar in the page: the sentences that reservoir.datasets.grammar makes, one for one. The words come
// from Python (`lexicon`), so that they stand in one place.

const [N, M] = [624, 397];

/** Python's random.Random(seed).random: a Mersenne twister, two words to a number in [0, 1). */
function uniform(seed) {
  const state = new Uint32Array(N);
  state[0] = 19650218;
  for (let i = 1; i < N; i += 1) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let i = 1;
  const next = () => { i += 1; if (i >= N) { state[0] = state[N - 1]; i = 1; } };
  for (let k = N; k; k -= 1) { state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1664525)) + seed; next(); }
  for (let k = N - 1; k; k -= 1) { state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1566083941)) - i; next(); }
  state[0] = 0x80000000;
  let at = N;
  const word = () => {
    if (at === N) {
      for (let k = 0; k < N; k += 1) {
        const y = (state[k] & 0x80000000) | (state[(k + 1) % N] & 0x7fffffff);
        state[k] = state[(k + M) % N] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at];
    at += 1;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  return () => { const [a, b] = [word() >>> 5, word() >>> 6]; return (a * 67108864 + b) / 9007199254740992; };
}

const NUMBERS = ['m', 'f', 'n', 'pl'];
const CASES = ['nom', 'acc', 'dat'];
const words = (text) => text.split(' ');
// What follows the stem, for masculine, feminine, neuter and plural in each case.
const DER = [['der', 'die', 'das', 'die'], ['den', 'die', 'das', 'die'], ['dem', 'der', 'dem', 'den']];
const DIES = [['er', 'e', 'es', 'e'], ['en', 'e', 'es', 'e'], ['em', 'er', 'em', 'en']];
const EIN = [['', 'e', '', 'e'], ['en', 'e', '', 'e'], ['em', 'er', 'em', 'en']];
const WEAK = [['e', 'e', 'e', 'en'], ['en', 'e', 'e', 'en'], ['en', 'en', 'en', 'en']];
const MIXED = [['er', 'e', 'es', 'en'], ['en', 'e', 'es', 'en'], ['en', 'en', 'en', 'en']];
const STRONG = ['e', 'e', 'en'];

class NounPhrase {
  constructor(noun, determiner, plural, adjective) { Object.assign(this, { noun, determiner, plural, adjective, definite: determiner !== 'ein' }); }

  german(name) {
    const { noun, determiner, plural, adjective } = this;
    const of = CASES.indexOf(name);
    const column = NUMBERS.indexOf(plural ? 'pl' : noun.gender);
    const found = [];
    if (determiner === 'der') found.push(DER[of][column]);
    else if (determiner === 'dieser') found.push(`dies${DIES[of][column]}`);
    else if (determiner === 'mein') found.push(`mein${EIN[of][column]}`);
    else if (!plural) found.push(`ein${EIN[of][column]}`);
    if (adjective) found.push(adjective[0] + (determiner === 'ein' && plural ? STRONG[of] : (['ein', 'mein'].includes(determiner) ? MIXED : WEAK)[of][column]));
    found.push(plural ? (name === 'dat' ? noun.dative_plural : noun.plural) : name === 'nom' ? noun.singular : noun.oblique);
    return found;
  }

  english() {
    const { noun, determiner, plural, adjective } = this;
    const found = [...(adjective ? [adjective[1]] : []), plural ? noun.en_plural : noun.en];
    if (determiner !== 'ein') return [{ der: 'the', mein: 'my', dieser: plural ? 'these' : 'this' }[determiner], ...found];
    return plural ? found : ['aeiou'.includes(found[0][0]) ? 'an' : 'a', ...found];
  }
}

class Pronoun {
  constructor(name, forms) { Object.assign(this, { name, forms, plural: forms[5], definite: true }); }

  german(name) { return [this.forms[CASES.indexOf(name)]]; }

  english(name) { return [this.forms[name === 'nom' ? 3 : 4]]; }
}

class Clause {
  constructor(said, lexicon) { Object.assign(this, said, { lexicon }); }

  statement(front) { const [finite, rest] = this.#verbs(); return [...this.#part(front), finite, ...this.#middle(front), ...rest]; }

  question() { const [finite, rest] = this.#verbs(); return [finite, ...this.#middle(), ...rest]; }

  subordinate() { return [...this.#middle(), ...this.#verbs()[2]]; }

  /** The finite verb, what ends the clause with it, and the cluster that ends a subordinate clause. */
  #verbs() {
    const { verb, modal, perfect, lexicon } = this;
    const { plural } = this.subject;
    const both = (finite, last) => [finite, [last], [last, finite]];
    if (modal) return both(lexicon.modals[modal][Number(plural)], verb.prefix + verb.plural);
    if (perfect) return both(plural ? 'haben' : 'hat', verb.participle);
    const form = plural ? verb.plural : verb.third;
    return [form, verb.prefix ? [verb.prefix] : [], [verb.prefix + form]];
  }

  #part(name) {
    const part = this[name];
    if (!part) return [];
    if (name === 'time') return [part];
    if (name === 'place') return part[0];
    return part.german({ subject: 'nom', accusative: 'acc', dative: 'dat' }[name]);
  }

  /** Between the verbs: pronouns first, known before new, time before place, "nicht" before "mit". */
  #middle(front) {
    const pronouns = ['accusative', 'dative'].filter((name) => this[name] instanceof Pronoun);
    const fresh = this.place && this.accusative && !this.accusative.definite;
    const order = ['subject', ...pronouns, 'dative', ...(fresh ? ['place', 'accusative'] : ['accusative', 'place'])];
    order.splice(this.negated ? order.length : 1 + pronouns.length, 0, 'time');
    const found = [...new Set(order)].filter((name) => name !== front).flatMap((name) => this.#part(name));
    if (this.negated) found.push('nicht');
    if (this.companion) found.push('mit', ...this.companion.german('dat'));
    return found;
  }

  english(front, question = false) {
    const { verb, place, time } = this;
    const [helper, main] = this.#englishVerbs(question);
    const subject = this.subject.english('nom');
    const often = time === 'oft' && front !== 'time' ? ['often'] : [];
    const found = question ? [...helper, ...subject, ...often, ...main] : [...subject, ...helper, ...often, ...main];
    const some = (text) => (text ? words(text) : []);
    if (this.dative) found.push(...this.dative.english('dat'));
    if (this.accusative) found.push(...some(verb.en_preposition), ...this.accusative.english('acc'));
    found.push(...some(verb.en_particle));
    if (this.companion) found.push('with', ...this.companion.english('dat'));
    const where = place ? words(place[1]) : [];
    const when = time && !often.length ? [this.lexicon.times[time]] : [];
    if (front === 'place') return [...where, ...found, ...when];
    if (front === 'time') return [...when, ...found, ...where];
    return [...found, ...where, ...when];
  }

  /** What changes place with the subject in a question, and the verb proper. */
  #englishVerbs(question) {
    const { verb, negated, perfect, modal } = this;
    const { plural } = this.subject;
    let bare = [verb.en];
    if (modal) {
      const [, , one, many, withDo] = this.lexicon.modals[modal];
      const form = plural ? many : one;
      if (!withDo) return [[negated ? 'cannot' : form], [verb.en]];
      if (!(negated || question)) return [[], [...words(form), verb.en]];
      bare = [...words(withDo), verb.en];
    } else if (!(negated || question)) return [[], [perfect ? verb.en_past : plural ? verb.en : verb.en_third]];
    const helper = perfect ? 'did' : plural ? 'do' : 'does';
    return [negated ? [helper, 'not'] : [helper], bare];
  }
}

/** Sentence pairs without end, each new in both languages: [German, English]. */
export function* sentences(seed, lexicon) {
  const random = uniform(seed);
  const below = (n) => Math.floor(random() * n);
  const chance = (p) => random() < p;
  const pick = (options) => options[below(options.length)];
  const known = new Map();
  const fitting = (groups) => {
    const names = new Set(words(groups));
    if (!known.has(groups)) known.set(groups, lexicon.nouns.filter(({ group, singular }) => names.has(group) || names.has(singular)));
    return known.get(groups);
  };
  const pronoun = (name) => new Pronoun(name, lexicon.pronouns[name]);
  const has = (groups) => groups.includes('adult');

  function nounPhrase(groups, taken) {
    const used = taken.map(({ noun }) => noun);
    const noun = pick(fitting(groups).filter((one) => !used.includes(one)));
    const determiner = pick(['der', 'der', 'ein', 'dieser', noun.mine ? 'mein' : 'der']);
    const adjective = chance(0.35) ? pick(lexicon.adjectives[noun.group]) : undefined;
    const phrase = new NounPhrase(noun, determiner, chance(0.3), adjective);
    taken.push(phrase);
    return phrase;
  }
  const actor = (groups) => (has(groups) && chance(0.25) ? pronoun(pick(['er', 'sie', 'wir', 'sie alle'])) : nounPhrase(groups, []));
  function undergoer(groups, taken, name) {
    if (!has(groups) || !chance(0.25)) return nounPhrase(groups, taken);
    let names = Object.keys(lexicon.pronouns).filter((one) => lexicon.pronouns[one][CASES.indexOf(name)]);
    if (taken.some((part) => part.name === 'wir')) names = names.filter((one) => !['ich', 'wir'].includes(one));
    return pronoun(pick(names));
  }
  function clause({ tense, timed = true, negatable = true } = {}) {
    const verb = pick(lexicon.verbs);
    const subject = actor(verb.subjects);
    const taken = [subject];
    const dative = verb.dative ? undergoer(verb.dative, taken, 'dat') : undefined;
    const accusative = verb.accusative ? undergoer(verb.accusative, taken, 'acc') : undefined;
    const companion = verb.companion && chance(0.7) ? nounPhrase(verb.companion, taken) : undefined;
    const perfect = tense === undefined ? chance(0.25) : tense;
    const modal = !perfect && chance(0.4) ? pick(['können', 'müssen', 'wollen', 'dürfen']) : undefined;
    const definite = [dative, accusative].every((part) => !part || part.definite);
    const negated = negatable && definite && !['müssen', 'dürfen'].includes(modal) && chance(0.2);
    const place = verb.place && !negated && chance(0.3) ? pick(lexicon.places) : undefined;
    const time = timed && chance(0.35) ? pick(['heute', perfect ? 'gestern' : 'jetzt', ...(modal || negated ? [] : ['oft'])]) : undefined;
    return new Clause({ subject, verb, accusative, dative, companion, modal, perfect, negated, time, place }, lexicon);
  }
  function front(said) {
    const options = ['time', 'place'].filter((name) => said[name]);
    for (const [name, genders] of [['accusative', 'm'], ['dative', 'mfn']]) {
      const part = said[name];
      if (part instanceof NounPhrase && part.definite && !said.negated && ((genders.includes(part.noun.gender) && !part.plural) || (part.plural && name === 'dative'))) options.push(name);
    }
    return options.length && chance(0.5) ? pick(options) : 'subject';
  }
  const text = (parts) => parts.map((word) => (',.?'.includes(word) ? word : ` ${word}`)).join('').slice(1);
  const finish = (german, english, stop) => [german, english].map(([first, ...rest]) => text([first[0].toUpperCase() + first.slice(1), ...rest, stop]));
  function report() {
    const [third, many, en, enThird] = pick(lexicon.reporting);
    const subject = actor('adult sibling child');
    const negated = chance(0.15);
    const { plural } = subject;
    const said = clause();
    const knows = negated ? [plural ? 'do' : 'does', 'not', en] : [plural ? en : enThird];
    return finish([...subject.german('nom'), plural ? many : third, ...(negated ? ['nicht'] : []), ',', 'dass', ...said.subordinate()], [...subject.english('nom'), ...knows, 'that', ...said.english()], '.');
  }
  function reason() {
    const main = clause();
    const why = clause({ tense: main.perfect, timed: main.time === undefined });
    if (chance(0.35)) return finish(['weil', ...why.subordinate(), ',', ...main.question()], ['because', ...why.english(), ',', ...main.english()], '.');
    const first = front(main);
    return finish([...main.statement(first), ',', 'weil', ...why.subordinate()], [...main.english(first), 'because', ...why.english()], '.');
  }
  function sentence() {
    const kind = below(100);
    if (kind < 42) {
      const said = clause();
      const first = front(said);
      return finish(said.statement(first), said.english(first), '.');
    }
    if (kind < 54) {
      const said = clause({ negatable: false });
      return finish(said.question(), said.english(undefined, true), '?');
    }
    return kind < 77 ? report() : reason();
  }
  const seen = new Set();
  for (;;) {
    const pair = sentence();
    if (pair.some((one) => seen.has(one))) continue;
    for (const one of pair) seen.add(one);
    yield pair;
  }
}

/** The miniature in three parts, as `reservoir_lab.corpora.parallel("miniature")` has it: {test, valid, train} of pairs. */
export function miniature(lexicon, sizes = { test: 500, valid: 500, train: 6000 }) {
  const stream = sentences(0, lexicon);
  return Object.fromEntries(Object.entries(sizes).map(([part, size]) => [part, Array.from({ length: size }, () => stream.next().value)]));
}
