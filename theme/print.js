// What pdf.py takes out of a rendered page: its article as static HTML, whose ids and links hold in one document for the
// whole book. Evaluated in the page, with the address of the site's root.
async (base) => {
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
    const text = await window.Plotly.toImage(plot, { format: 'svg', imageDataOnly: true, width, height });
    const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', figure.ariaLabel);
    copies[index].replaceChildren(document.importNode(svg, true));
    copies[index].className = 'printed-figure';
  }

  article.querySelectorAll('script, template, .tools, .permalink, .copy, .widget-note, .back').forEach((element) => element.remove());
  article.querySelectorAll('details').forEach((element) => { element.open = true; });
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
    if (/\.\w+$/.test(url.pathname) && !url.pathname.endsWith('.html')) link.removeAttribute('href'); // a file beside the pages
    else link.setAttribute('href', url.hash ? `#${named(url)}--${decodeURIComponent(url.hash.slice(1))}` : `#${named(url)}`);
  });
  const sections = [...article.querySelectorAll('h2[id]')].map((heading) => ({ id: heading.id, title: heading.textContent.trim() }));
  return { name: here, html: article.outerHTML, sections };
}
