// What moves on every page: light and dark, the outline that follows the text, copying code, tabs that agree.
(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches);
  /** The element that an address's anchor names, also where a part of it is no percent-encoding (`#%`). */
  function named(hash) {
    const name = hash.slice(1);
    try {
      return document.getElementById(decodeURIComponent(name));
    } catch {
      return document.getElementById(name);
    }
  }
  const announce = () => document.dispatchEvent(new CustomEvent('book:theme', { detail: { dark: isDark() } }));

  // The reader's choice is kept only while it differs from the system's, so that the page follows the system again later.
  function choose(theme) {
    const own = (theme === 'dark') !== dark.matches;
    if (own) root.dataset.theme = theme;
    else delete root.dataset.theme;
    try {
      if (own) localStorage.setItem('book-theme', theme);
      else localStorage.removeItem('book-theme');
    } catch { /* a browser that keeps nothing still switches */ }
    announce();
  }
  document.querySelectorAll('.theme-switch').forEach((button) => button.addEventListener('click', () => choose(isDark() ? 'light' : 'dark')));
  dark.addEventListener('change', announce);

  // The section whose heading was passed last is the one being read.
  function follow() {
    const links = [...document.querySelectorAll('.outline a')];
    const headings = links.map((link) => named(link.hash));
    if (!links.length) return;
    let here;
    const mark = () => {
      const line = innerHeight * 0.25;
      const atEnd = innerHeight + scrollY >= root.scrollHeight - 4;
      let passed = headings.findLastIndex((heading) => heading && heading.getBoundingClientRect().top <= line);
      if (atEnd && scrollY > 0) passed = headings.length - 1;
      if (links[passed] === here) return;
      here?.classList.remove('here');
      here?.removeAttribute('aria-current');
      here = links[passed];
      here?.classList.add('here');
      here?.setAttribute('aria-current', 'location');
      const sidebar = document.getElementById('sidebar');
      if (!here || !sidebar?.offsetParent) return;
      const box = here.getBoundingClientRect();
      if (box.top < 60 || box.bottom > innerHeight - 60) sidebar.scrollTop += box.top - innerHeight / 2;
    };
    let waiting = false;
    addEventListener('scroll', () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; mark(); });
    }, { passive: true });
    mark();
  }

  function addCopyButtons() {
    if (!navigator.clipboard) return;
    document.querySelectorAll('.code').forEach((block) => {
      const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
      button.setAttribute('aria-live', 'polite');
      button.addEventListener('click', async () => {
        await navigator.clipboard.writeText(block.querySelector('code').textContent.replace(/\n$/, ''));
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 1600);
      });
      block.append(button);
    });
  }

  // A box that scrolls sideways must be reachable by keyboard.
  function reachScrollers() {
    document.querySelectorAll('.scroll, .formula, pre').forEach((box) => {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute('tabindex');
    });
  }

  function agreeOnTabs() {
    document.addEventListener('change', ({ target }) => {
      const { sync } = target.dataset ?? {};
      if (!sync || !target.checked) return;
      document.querySelectorAll('.tabs > input').forEach((other) => { if (other.dataset.sync === sync) other.checked = true; });
    });
  }

  // The reader's choice for all code: what is meant to be read (the author's folds), all of it, or none. It is kept.
  function switchCode() {
    const choice = document.querySelector('.code-switch select');
    if (!choice) return;
    const show = (mode) => {
      document.querySelectorAll('.cell .code:not(details > *)').forEach((code) => {
        if (mode !== 'none') return;
        const fold = Object.assign(document.createElement('details'), { className: 'folded by-reader' });
        fold.innerHTML = '<summary>Show code</summary>';
        code.replaceWith(fold);
        fold.append(code);
      });
      document.querySelectorAll('details.by-reader').forEach((fold) => { if (mode !== 'none') fold.replaceWith(fold.lastElementChild); });
      document.querySelectorAll('details.folded:has(> .code, > .cell):not(.result)').forEach((fold) => { fold.open = mode === 'all'; });
      reachScrollers();
    };
    try {
      choice.value = localStorage.getItem('book-code') ?? '';
    } catch { /* a browser that keeps nothing still switches */ }
    if (choice.value) show(choice.value);
    choice.addEventListener('change', () => {
      show(choice.value);
      try {
        if (choice.value) localStorage.setItem('book-code', choice.value);
        else localStorage.removeItem('book-code');
      } catch { /* as above */ }
    });
  }

  // The answers of a prediction become buttons: to choose one is to commit, and opens the result.
  function askFirst() {
    const results = [...document.querySelectorAll('details.result')];
    document.querySelectorAll('.prediction').forEach((box, number) => {
      const result = results[number];
      const choices = [...box.querySelectorAll('ul > li')].map((item) => {
        const button = Object.assign(document.createElement('button'), { type: 'button', className: 'choice' });
        button.setAttribute('aria-pressed', 'false');
        button.append(...item.childNodes);
        item.append(button);
        return button;
      });
      choices.forEach((button) => button.addEventListener('click', () => {
        choices.forEach((other) => other.setAttribute('aria-pressed', String(other === button)));
        if (result) result.open = true;
      }));
    });
  }

  // A link into something folded opens it.
  function unfoldTarget() {
    const target = location.hash && named(location.hash);
    for (let box = target && target.closest('details'); box; box = box.parentElement.closest('details')) box.open = true;
    if (target) target.scrollIntoView();
  }

  // Opened from disk there is no server to find a folder's index.
  function linkFromDisk() {
    if (location.protocol !== 'file:') return;
    document.querySelectorAll('a[href]').forEach((link) => {
      if (link.protocol === 'file:' && link.pathname.endsWith('/')) link.pathname += 'index.html';
    });
  }

  document.getElementById('sidebar')?.addEventListener('click', ({ target, currentTarget }) => {
    if (target.closest('.outline a') && currentTarget.matches(':popover-open')) currentTarget.hidePopover();
  });
  addEventListener('hashchange', unfoldTarget);
  addEventListener('resize', reachScrollers);
  follow();
  addCopyButtons();
  switchCode();
  askFirst();
  reachScrollers();
  document.fonts?.ready.then(reachScrollers); // letters of another font are wider: what fitted may scroll now
  agreeOnTabs();
  linkFromDisk();
  if (document.querySelector('details') && location.hash) unfoldTarget();
})();
