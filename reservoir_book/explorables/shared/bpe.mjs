// Byte-pair encoding as reservoir.datasets.Vocabulary does it: text to the ids of pieces, and back.

const SPACE = '▁'; // stands for the space before a word
const UNKNOWN = 3;
const SPECIALS = 4; // pad, begin, end, unknown
const MARK = /[\p{P}!-/:-@[-`{-~]/u; // what the `tokenizers` library takes for punctuation

export class Vocabulary {
  /**
   * @param {string[]} tokens every piece, by id
   * @param {[number, number][]} merges pairs of ids that become one piece, the first to be merged first
   */
  constructor(tokens, merges) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.ranks = new Map(merges.map(([a, b], rank) => [a * tokens.length + b, { rank, id: this.ids.get(tokens[a] + tokens[b]) }]));
  }

  /** Composed characters, one space between words, none around. */
  static normalise(text) {
    return text.normalize('NFC').replace(/[\s▁]+/gu, ' ').trim();
  }

  /** The words of a text with the mark of the space before them; punctuation marks stand alone. */
  static words(text) {
    const whole = Vocabulary.normalise(text);
    if (!whole) return [];
    return whole.split(' ').flatMap((word) => {
      const parts = [''];
      for (const character of SPACE + word) {
        if (MARK.test(character)) parts.push(character, '');
        else parts.push(parts.pop() + character);
      }
      return parts.filter(Boolean);
    });
  }

  /** The ids of one sentence, without begin and end. */
  encode(text) {
    return Vocabulary.words(text).flatMap((word) => this.#merge(word));
  }

  #merge(word) {
    const ids = Array.from(word, (character) => this.ids.get(character) ?? UNKNOWN);
    for (;;) {
      let best;
      for (let i = 0; i + 1 < ids.length; i += 1) {
        const found = this.ranks.get(ids[i] * this.tokens.length + ids[i + 1]);
        if (found && (!best || found.rank < best.rank)) best = { ...found, at: i };
      }
      if (!best) return ids;
      ids.splice(best.at, 2, best.id);
    }
  }

  /** Pieces joined to text; special pieces are left out. */
  decode(ids) {
    return ids.filter((id) => id >= SPECIALS).map((id) => this.tokens[id]).join('').replaceAll(SPACE, ' ').replace(/^ /, '');
  }
}
