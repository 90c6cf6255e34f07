// A site and a page for tests, without mystmd.
import { readSite } from '../src/site.mjs';

export const site = readSite({
  title: 'A book',
  projects: [{
    index: 'index',
    title: 'A book',
    toc: [{ file: 'index.md' }, { title: 'A part', children: [{ file: 'chapters/03-one.ipynb' }, { file: 'chapters/A-two.md' }] }],
    pages: [{ level: 1, title: 'A part' }, { slug: 'one', title: 'One', level: 2 }, { slug: 'two', title: 'Two', level: 2 }],
  }],
});

export const text = (value) => ({ type: 'text', value });
export const node = (type, children = [], rest = {}) => ({ type, children, ...rest });
export const output = (data) => node('outputs', [{ type: 'output', jupyter_data: { output_type: 'display_data', data } }]);

/** A page's JSON as mystmd would hand it over. */
export function content(children, rest = {}) {
  return { slug: 'one', location: '/chapters/03-one.ipynb', frontmatter: { title: 'One' }, references: {}, mdast: node('root', children), ...rest };
}
