// A prediction comes before its result: what follows it stays folded until the reader has committed to an answer.
import { tag } from './html.mjs';

const has = (node, name) => node?.type === 'admonition' && (node.class ?? '').split(/\s+/).includes(name);
const mark = (node) => has(node, 'prediction') || has(node, 'answer');
const isText = (block) => block.type === 'block' && block.kind !== 'notebook-code';

/** A block of text cut after each prediction and each answer, so that these end their piece. */
function pieces(block) {
  const cuts = [];
  for (const child of block.children) {
    if (cuts.length === 0 || mark(cuts.at(-1).at(-1))) cuts.push([]);
    cuts.at(-1).push(child);
  }
  return cuts.length < 2 ? [block] : cuts.map((children, index) => (index ? { type: 'block', kind: block.kind, children } : { ...block, children }));
}

/** Where the result of the prediction that ends block `at` ends: with its answer. */
function end(blocks, at) {
  for (let i = at + 1; i < blocks.length; i += 1) {
    if (has(blocks[i].children?.at(-1), 'answer')) return i;
    if (has(blocks[i].children?.at(-1), 'prediction') || blocks[i].children?.some(({ type, depth }) => type === 'heading' && depth < 3)) break;
  }
  return -1;
}

/** The page's blocks, with the result of each prediction in a fold. */
export function foldResults(root, page) {
  const blocks = root.children.flatMap((block) => (isText(block) ? pieces(block) : [block]));
  const out = [];
  for (let i = 0; i < blocks.length; i += 1) {
    out.push(blocks[i]);
    const last = blocks[i].children?.at(-1);
    if (!has(last, 'prediction')) continue;
    const to = end(blocks, i);
    if (to === -1) page.fail(last, 'a prediction is followed by no admonition of the class "answer"');
    out.push({ type: 'result', children: blocks.slice(i + 1, to + 1) });
    i = to;
  }
  return { ...root, children: out };
}

export const predictions = {
  result: (node, page) => tag('details', { class: 'folded result' }, tag('summary', {}, 'I have an answer: show the result'), page.children(node)),
};
