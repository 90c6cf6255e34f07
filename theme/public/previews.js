// A card beside a reference, on hover and on focus, that shows what it leads to. One card for the whole page: its text
// describes the link to a screen reader, Escape closes it, the pointer can go into it. On a touch screen the first tap
// shows it, with a link to go on.
(() => {
  const LINKS = 'article :is(a.reference, a.citation, .footnote a)';
  const BLOCKS = 2; // of a section, after its heading
  const REST = 180; // ms that a pointer rests on a link before its card opens
  const GRACE = 220; // ms that the pointer has to reach the card
  const HEADING = /^H[1-6]$/;

  const place = (url) => `${url.pathname.replace(/index\.html$/, '')}${url.hash}`;
  const templates = new Map();
  document.querySelectorAll('template[data-for]').forEach((template) => {
    templates.set(place(new URL(template.dataset.for, location.href)), template);
  });

  const card = Object.assign(document.createElement('div'), { id: 'preview', className: 'preview' });
  card.setAttribute('role', 'tooltip');
  card.popover = 'manual';
  document.body.append(card);
  let shown; // the link whose card is open
  let at; // where in the window it stood then
  let timer;

  /** The elements that stand for a target on this page; a section is its heading and what follows. */
  function parts(target) {
    if (target.matches('.references li, .footnotes li')) return [...target.childNodes];
    if (target.matches('dt')) return [target, target.nextElementSibling];
    if (!HEADING.test(target.tagName)) return [target];
    const found = [target];
    for (let next = target.nextElementSibling; next && !HEADING.test(next.tagName) && found.length <= BLOCKS; next = next.nextElementSibling) found.push(next);
    return found;
  }

  function copyOf(element) {
    const copy = element.cloneNode(true);
    if (!(copy instanceof Element)) return copy;
    copy.querySelectorAll('.back, .permalink, .copy, .modebar-container, script').forEach((extra) => extra.remove());
    for (const each of [copy, ...copy.querySelectorAll('[id], [tabindex], [name]')]) ['id', 'tabindex', 'name'].forEach((name) => each.removeAttribute(name));
    if (copy.matches('details')) copy.open = true;
    return copy;
  }

  /** A figure is drawn for its card if it has not been: on this page where it stands, else in the card. */
  function draw(figures) {
    figures.forEach((figure) => document.dispatchEvent(new CustomEvent('book:draw', { detail: figure })));
  }

  function content(link) {
    const here = place(link) === `${location.pathname.replace(/index\.html$/, '')}${link.hash}`;
    if (!here) {
      const template = templates.get(place(link));
      return template && [template.content.cloneNode(true)];
    }
    const target = link.hash && document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (!target || target.contains(link)) return undefined;
    const found = parts(target);
    const waiting = target.querySelectorAll('.plotly-figure:not(.drawn, .failed)');
    draw(waiting);
    waiting.forEach((figure) => figure.addEventListener('book:drawn', () => { if (shown === link) fill(link); }, { once: true }));
    return found.map(copyOf);
  }

  function fill(link) {
    const nodes = content(link);
    if (!nodes) return false;
    card.replaceChildren(...nodes);
    // A figure that a cell drew: what it shows, without the cell.
    card.querySelectorAll('.kind-figure :is(.code, .folded)').forEach((extra) => extra.remove());
    card.querySelectorAll('a').forEach((inner) => { inner.tabIndex = -1; });
    // Plotly's drawing is as wide as its column: a copy is made smaller as a whole.
    card.querySelectorAll('.svg-container').forEach((drawing) => {
      const [width, height] = ['width', 'height'].map((name) => Number(drawing.querySelector('svg').getAttribute(name)));
      Object.assign(drawing.style, { width: `${width}px`, height: `${height}px` });
      const figure = drawing.closest('.plotly-figure');
      figure.classList.add('copied');
      figure.style.zoom = Math.min(1, (Math.min(innerWidth, 540) - 56) / width, 300 / height);
    });
    return true;
  }

  function position(link) {
    // A link broken across two lines has two boxes: the card belongs to the first.
    const box = link.getClientRects()[0] ?? link.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = card;
    const below = innerHeight - box.bottom;
    const up = below < height + 12 && box.top > below;
    at = box.top;
    card.style.left = `${Math.max(8, Math.min(box.left - 12, document.documentElement.clientWidth - width - 8))}px`;
    card.style.top = `${up ? Math.max(8, box.top - height - 8) : Math.min(box.bottom + 8, Math.max(8, innerHeight - height - 8))}px`;
  }

  function open(link, { touch = false } = {}) {
    clearTimeout(timer);
    if (shown === link) return true;
    close();
    if (!fill(link)) return false;
    shown = link;
    if (touch) {
      const on = Object.assign(document.createElement('a'), { className: 'preview-on', href: link.href, textContent: 'Go there' });
      card.append(on);
    }
    card.showPopover();
    position(link);
    link.setAttribute('aria-describedby', 'preview');
    draw(card.querySelectorAll('.plotly-figure[data-figure]:not(.drawn), .plotly-figure:has(> script):not(.drawn)'));
    return true;
  }

  function close() {
    clearTimeout(timer);
    if (!shown) return;
    shown.removeAttribute('aria-describedby');
    shown = undefined;
    card.hidePopover();
  }

  const after = (wait, run) => { clearTimeout(timer); timer = setTimeout(run, wait); };
  const linkAt = (target) => (target instanceof Element ? target.closest(LINKS) : null);

  // What the browser would show by itself says less than the card.
  document.querySelectorAll('a.citation[title]').forEach((link) => link.removeAttribute('title'));

  document.addEventListener('pointerover', ({ target, pointerType }) => {
    if (pointerType === 'touch') return;
    const link = linkAt(target);
    if (link) after(REST, () => open(link));
    else if (card.contains(target)) clearTimeout(timer);
    else if (shown && document.activeElement !== shown) after(GRACE, close);
    else if (!shown) clearTimeout(timer);
  });
  document.addEventListener('focusin', ({ target }) => {
    const link = linkAt(target);
    if (link?.matches(':focus-visible')) open(link);
  });
  document.addEventListener('focusout', ({ target }) => { if (target === shown) close(); });
  document.addEventListener('keydown', ({ key }) => { if (key === 'Escape') close(); });
  document.addEventListener('click', (event) => {
    const link = linkAt(event.target);
    if (link && event.pointerType === 'touch' && shown !== link && !link.matches('.to-page') && open(link, { touch: true })) event.preventDefault();
    else if (link || event.target.closest('.preview a') || !card.contains(event.target)) close();
  });
  // A reader who scrolls on is done with a card that the pointer opened; one that the keyboard opened goes along, since the
  // browser scrolls to the link. A figure drawn above may push the text a little.
  addEventListener('scroll', () => {
    if (!shown) return;
    if (shown.matches(':focus-visible')) position(shown);
    else if (Math.abs(shown.getClientRects()[0]?.top - at) > 40) close();
  }, { passive: true, capture: true });
  addEventListener('resize', close);
})();
