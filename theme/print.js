// What pdf.py takes out of a rendered page: its article as static HTML, whose ids and links hold in one document for the
// whole book. Evaluated in the page, with the address of the site's root, the names of the pages that are printed, and
// where the book is published ('' for nowhere). What is folded on the page, and the rest of long tables, stays there.
async ([base, printed, published]) => {
  const ROWS = 16; // of a table
  const LINES = 24; // of what a cell prints, and of code
  const HEAVY = 150000; // characters of a figure's SVG, above which a picture is smaller
  const named = (url) => url.pathname.slice(new URL(base).pathname.length).replace(/index\.html$/, '').replace(/\/$/, '') || 'start';
  const here = named(location);
  const figures = [...document.querySelectorAll('article .plotly-figure')];
  figures.forEach((figure) => document.dispatchEvent(new CustomEvent('book:draw', { detail: figure })));
  for (let waited = 0; figures.some((figure) => !figure.matches('.drawn, .failed')); waited += 50) {
    if (waited > 60000) throw new Error('a figure was not drawn within a minute');
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  const failed = figures.find((figure) => figure.matches('.failed'));
  if (failed) throw new Error(`a figure could not be drawn: ${failed.ariaLabel}`);

  const article = document.querySelector('article').cloneNode(true);
  const copies = [...article.querySelectorAll('.plotly-figure')];
  for (const [index, figure] of figures.entries()) {
    const plot = figure.querySelector('.js-plotly-plot');
    const { width, height } = plot._fullLayout;
    copies[index].className = 'printed-figure';
    const text = await window.Plotly.toImage(plot, { format: 'svg', imageDataOnly: true, width, height });
    if (text.length > HEAVY) {
      const picture = document.createElement('img');
      picture.src = await window.Plotly.toImage(plot, { format: 'jpeg', width, height, scale: 2 });
      picture.alt = figure.ariaLabel;
      copies[index].replaceChildren(picture);
      continue;
    }
    const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', figure.ariaLabel);
    copies[index].replaceChildren(document.importNode(svg, true));
  }

  article.querySelectorAll('script, template, .tools, .permalink, .copy, .widget-note, .back').forEach((element) => element.remove());

  // What stays on the page, counted by what it is.
  const left = {};
  const leave = (element, kind) => { left[kind] = (left[kind] ?? 0) + 1; element.remove(); };
  const shut = (element, kind) => {
    const question = Object.assign(document.createElement('p'), { className: 'question', id: element.id });
    question.append(...(element.querySelector('summary')?.childNodes ?? []));
    if (!element.id) question.removeAttribute('id');
    element.after(question);
    leave(element, kind);
  };
  const note = (words) => Object.assign(document.createElement('p'), { className: 'on-the-page', textContent: words });
  // One list of references at the book's end serves all pages; what a page's setup and its clock print says nothing on paper.
  const listed = here !== 'bibliography' && printed.includes('bibliography');
  if (listed) article.querySelector('.references')?.remove();
  article.querySelectorAll('.output-text').forEach((text) => { if (/^(reservoir \d\S* Training|The cells of this page took)/.test(text.textContent)) text.remove(); });
  article.querySelectorAll('details.folded:not(.result)').forEach((element) => leave(element, 'code'));
  article.querySelectorAll('details.solution').forEach((element) => leave(element, 'solutions'));
  article.querySelectorAll('.exercise details, details.hint').forEach((element) => leave(element, 'hints'));
  article.querySelectorAll('details.dropdown').forEach((element) => {
    if (/^Hint/.test(element.querySelector('summary')?.textContent.trim() ?? '')) leave(element, 'hints');
    else shut(element, 'answers');
  });
  article.querySelectorAll('details:not(.result)').forEach((element) => shut(element, 'particulars'));
  article.querySelectorAll('details').forEach((element) => {
    element.querySelector('summary')?.remove();
    element.replaceWith(...element.childNodes);
  });
  article.querySelectorAll('table').forEach((table) => {
    const rows = [...table.querySelectorAll('tr')];
    if (rows.length <= ROWS + 4) return;
    rows.slice(ROWS).forEach((row) => row.remove());
    table.after(note(`${rows.length - ROWS} more rows on the page.`));
    left.tables = (left.tables ?? 0) + 1;
  });
  // A cell that only imports shows nothing; of a long one the beginning stands for the rest.
  const bare = (line) => !line.trim() || /^(import |from |    \w+,|\)|#)/.test(line);
  article.querySelectorAll('.cell > .code').forEach((code) => { if (code.textContent.split('\n').every(bare)) leave(code, 'code'); });
  article.querySelectorAll('.output-text pre, .code pre').forEach((text) => {
    const lines = text.textContent.split('\n');
    if (lines.length <= LINES + 4) return;
    const range = document.createRange();
    range.selectNodeContents(text);
    let seen = 0;
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data } = walker.currentNode;
      const breaks = data.split('\n').length - 1;
      if (seen + breaks >= LINES) {
        let at = -1;
        for (; seen < LINES; seen += 1) at = data.indexOf('\n', at + 1);
        range.setStart(walker.currentNode, at);
        break;
      }
      seen += breaks;
    }
    range.deleteContents();
    text.after(note(`${lines.length - LINES} more lines on the page.`));
    left.tables = (left.tables ?? 0) + 1;
  });
  article.querySelectorAll('.cell, .outputs').forEach((element) => { if (!element.textContent.trim() && !element.querySelector('img, svg')) element.remove(); });
  const words = { code: 'folded code', hints: 'hints', solutions: 'solutions', answers: 'answers to the questions', particulars: 'what unfolds below a line', tables: 'the rest of long tables and listings' };
  const kinds = Object.keys(words).filter((kind) => left[kind]).map((kind) => words[kind]);
  if (kinds.length) {
    const list = kinds.length > 1 ? `${kinds.slice(0, -1).join(', ')} and ${kinds.at(-1)}` : kinds[0];
    const where = published ? `: ${new URL(here === 'start' ? '' : `${here}/`, published)}` : ' of the rendered book';
    article.append(note(`Not printed here: ${list}. They stand on this chapter’s page${where}.`));
  }
  article.querySelectorAll('[loading]').forEach((image) => image.removeAttribute('loading'));
  for (const [name, attribute] of [['img', 'src'], ['source', 'src']]) {
    article.querySelectorAll(`${name}[${attribute}]`).forEach((element) => element.setAttribute(attribute, new URL(element.getAttribute(attribute), location.href).href));
  }
  const inside = (id) => `${here}--${id}`;
  article.querySelectorAll('[id]').forEach((element) => { if (!element.closest('svg')) element.id = inside(element.id); });
  article.querySelectorAll('[for]').forEach((element) => element.setAttribute('for', inside(element.htmlFor)));
  article.querySelectorAll('input[name]').forEach((element) => { element.name = inside(element.name); });
  article.querySelectorAll('a[href]').forEach((link) => {
    const url = new URL(link.getAttribute('href'), location.href);
    if (!url.href.startsWith(base)) return;
    const file = /\.\w+$/.test(url.pathname) && !url.pathname.endsWith('.html'); // beside the pages
    if (file || !printed.includes(named(url))) {
      if (published) link.href = new URL(url.href.slice(base.length), published).href;
      else link.removeAttribute('href');
    } else if (listed && link.matches('.citation')) link.setAttribute('href', `#bibliography--${url.hash.slice(1)}`);
    else link.setAttribute('href', url.hash ? `#${named(url)}--${decodeURIComponent(url.hash.slice(1))}` : `#${named(url)}`);
  });
  const sections = [...article.querySelectorAll('h2[id]')].map((heading) => ({ id: heading.id, title: heading.textContent.trim() }));
  return { name: here, html: article.outerHTML, sections };
}
