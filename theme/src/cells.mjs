// Blocks of a page and cells of a notebook: what is shown, folded away or left out.
import { codeBlock } from './code.mjs';
import { classes, escape, tag } from './html.mjs';

/** What folded code holds, in a reader's words: the comment that it begins with. */
function holds(node) {
  const code = node.type === 'code' ? node : node.children?.find(({ type }) => type === 'code');
  return /^\s*# (\S.*)/.exec(code?.value ?? '')?.[1];
}

/** `visibility` as mystmd sets it from a cell's tags: hide-… folds, remove-… leaves out. */
export function visible(node, label, render) {
  if (node.visibility === 'remove') return '';
  if (node.visibility !== 'hide') return render();
  const words = holds(node);
  return tag('details', { class: 'folded' }, tag('summary', {}, escape(`Show ${label.toLowerCase()}${words ? `: ${words}` : ''}`)), render());
}

function block(node, page) {
  const outer = page.alternative;
  page.alternative = node.data?.alt ?? outer;
  const html = visible(node, 'Cell', () => {
    const body = page.children(node);
    const cell = node.kind === 'notebook-code';
    const id = node.label || node.children.length === 0 ? page.claim(node) : undefined;
    if (!cell && !id && !node.class) return body;
    return body && tag('div', { class: classes(cell && 'cell', node.class), id }, body);
  });
  page.alternative = outer;
  return html;
}

export const cells = {
  block,
  code: (node, page) => visible(node, 'Code', () => {
    const id = node.label && page.claim(node);
    return id ? tag('div', { id }, codeBlock(node)) : codeBlock(node);
  }),
};
