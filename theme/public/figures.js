// Plotly figures: the library is fetched when the first one comes near the view, and the figures take the page's colours.
(() => {
  const here = document.currentScript.src;
  const figures = new Map(); // element -> the figure as the notebook kept it
  let library;

  function load() {
    library ??= new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement('script'), { src: new URL('vendor/plotly.min.js', here).href });
      script.addEventListener('load', () => resolve(window.Plotly));
      script.addEventListener('error', () => reject(new Error('plotly.js could not be loaded')));
      document.head.append(script);
    });
    return library;
  }

  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

  /** `over` laid on `base`, deeply; neither is changed. */
  function merge(base, over) {
    if (!isObject(base) || !isObject(over)) return over === undefined ? base : over;
    const merged = { ...base };
    for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value);
    return merged;
  }

  // The page's colours go into the figure's template: whatever the figure itself sets still wins.
  function template(own) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour('--line'), linecolor: colour('--ink-3'), zerolinecolor: colour('--line'), tickcolor: colour('--ink-3') };
    const control = { bgcolor: colour('--paper-2'), bordercolor: colour('--line') };
    const scene = { ...axis, backgroundcolor: 'rgba(0,0,0,0)' };
    return merge(own ?? {}, {
      layout: {
        paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
        font: { color: colour('--ink'), family: style.getPropertyValue('--sans').trim() },
        xaxis: axis, yaxis: axis, scene: { xaxis: scene, yaxis: scene, zaxis: scene },
        polar: { bgcolor: 'rgba(0,0,0,0)', angularaxis: axis, radialaxis: axis },
        legend: { bgcolor: 'rgba(0,0,0,0)' }, annotationdefaults: { font: { color: colour('--ink') }, arrowcolor: colour('--ink-2') },
        hoverlabel: { bgcolor: colour('--paper-2'), bordercolor: colour('--line'), font: { color: colour('--ink') } },
        modebar: { bgcolor: 'rgba(0,0,0,0)', color: colour('--ink-3'), activecolor: colour('--accent') },
        updatemenudefaults: control, sliderdefaults: { ...control, activebgcolor: colour('--accent'), tickcolor: colour('--ink-3') },
      },
    });
  }

  function layoutOf(figure, element) {
    const { width, ...layout } = figure.layout ?? {}; // the column decides how wide a figure is
    const narrow = element.clientWidth < 480;
    const base = { autosize: true, margin: { l: narrow ? 48 : 64, r: 16, t: layout.title ? 56 : 24, b: 48 } };
    // Beside the plot a legend would take half of a phone: there it goes below.
    const legend = narrow && layout.legend?.orientation !== 'h' ? { legend: { orientation: 'h', x: 0, y: -0.2, yanchor: 'top' } } : {};
    return { ...merge(merge(base, layout), legend), template: template(layout.template) };
  }

  // On a phone the tools would lie over the legend, and fingers zoom without them.
  const toolsOf = (element) => (element.clientWidth < 480 || matchMedia('(hover: none)').matches
    ? { displayModeBar: false } : { displayModeBar: 'hover', modeBarButtonsToRemove: ['select2d', 'lasso2d'] });

  async function draw(element) {
    if (figures.has(element) || element.classList.contains('failed')) return;
    figures.set(element, undefined);
    try {
      const [Plotly, figure] = await Promise.all([load(), read(element)]);
      figures.set(element, figure);
      const stage = document.createElement('div');
      stage.style.height = getComputedStyle(element).getPropertyValue('--height');
      element.append(stage);
      await Plotly.newPlot(stage, figure.data, layoutOf(figure, element), { ...toolsOf(element), ...figure.config, responsive: true, displaylogo: false });
      if (figure.frames?.length) await Plotly.addFrames(stage, figure.frames);
      element.classList.add('drawn');
      element.dispatchEvent(new CustomEvent('book:drawn'));
    } catch (error) {
      element.classList.add('failed');
      console.error(`a figure could not be drawn: ${error.message}`);
    }
  }

  async function read(element) {
    if (!element.dataset.figure) return JSON.parse(element.querySelector('script[type="application/json"]').textContent);
    const answer = await fetch(element.dataset.figure);
    if (!answer.ok) throw new Error(`${element.dataset.figure}: ${answer.status}`);
    return answer.json();
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      draw(target);
    }
  }, { rootMargin: '400px' });
  document.querySelectorAll('.plotly-figure').forEach((element) => watcher.observe(element));

  // Paper has no second look: what was never seen is drawn when printing begins.
  addEventListener('beforeprint', () => document.querySelectorAll('article .plotly-figure:not(.drawn, .failed)').forEach(draw));

  // A preview of a figure wants it drawn before the reader has come to it.
  document.addEventListener('book:draw', ({ detail }) => { watcher.unobserve(detail); draw(detail); });

  // Only the colours change: what the reader zoomed, hid or slid stays. Paper is white, whatever the screen is.
  function recolour() {
    for (const [element, figure] of figures) {
      const stage = element.querySelector('.js-plotly-plot');
      if (stage) window.Plotly.relayout(stage, { template: template(figure?.layout?.template) });
    }
  }
  document.addEventListener('book:theme', recolour);
  matchMedia('print').addEventListener('change', recolour);
})();
