// Small helpers that write HTML. Every string that comes from the content goes through `escape` or `tag`'s attributes.

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const UNBROKEN = 28; // characters of a word of code for which even a phone has room
const LONG = 13; // characters of a name that a column of a table on a phone may break after a point, a slash or an underscore
const VOID = new Set(['br', 'hr', 'img', 'input', 'link', 'meta']);

/** Text as HTML: the five characters that mean something become entities. */
export function escape(text) {
  return String(text ?? '').replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/**
 * One element. Attributes that are undefined, null, false or '' (but for alt and value) are left out, true is written
 * bare, anything else is escaped. Children are HTML already.
 */
export function tag(name, attributes = {}, ...children) {
  const written = Object.entries(attributes ?? {})
    .filter(([key, value]) => value !== undefined && value !== null && value !== false
      && (value !== '' || key === 'alt' || key === 'value'))
    .map(([key, value]) => (value === true ? ` ${key}` : ` ${key}="${escape(value)}"`))
    .join('');
  if (VOID.has(name)) return `<${name}${written}>`;
  return `<${name}${written}>${children.flat(Infinity).filter(Boolean).join('')}</${name}>`;
}

/** Code within a line, from text that is HTML already: a browser would break its words at their hyphens, and long names nowhere. */
export function inlineCode(html) {
  return `<code>${html.replace(/\S+/g, (word) => {
    if (/-\S/.test(word)) return word.length <= UNBROKEN ? `<span class="whole">${word}</span>` : word;
    return word.length < LONG ? word : word.replace(/(?<=[\w;][._/])(?=[a-z&])/g, '<wbr>'); // book.css: in a phone's tables
  })}</code>`;
}

/** Class names joined, the empty ones dropped. */
export function classes(...names) {
  return names.flat().filter(Boolean).join(' ') || undefined;
}

/** The words below a node, without markup: for titles, outlines and alternative texts. */
export function plain(node) {
  if (!node) return '';
  if (Array.isArray(node)) return node.map(plain).join('');
  if (node.type === 'captionNumber' || node.type === 'footnoteReference') return '';
  return node.value ?? plain(node.children);
}
