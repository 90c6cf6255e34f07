// Plotly figures: the library is fetched when the first one comes near the view, and the figures take the page's colours.
(() => {
  const here = document.currentScript.src;
  const figures = new Map(); // element -> the figure as the notebook kept it
  const loading = new Map(); // address -> promise that the script there has run

  /** Run the script at an address, once; one that could not be loaded is asked for again. */
  function script(address) {
    if (!loading.has(address)) {
      loading.set(address, new Promise((resolve, reject) => {
        const element = Object.assign(document.createElement('script'), { src: address });
        element.addEventListener('load', resolve);
        element.addEventListener('error', () => {
          element.remove();
          loading.delete(address);
          reject(new Error(`${address} could not be loaded`));
        });
        document.head.append(element);
      }));
    }
    return loading.get(address);
  }

  async function load() {
    await script(new URL('vendor/plotly.min.js', here).href);
    return window.Plotly;
  }

  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

  /** `over` laid on `base`, deeply; neither is changed. */
  function merge(base, over) {
    if (!isObject(base) || !isObject(over)) return over === undefined ? base : over;
    const merged = { ...base };
    for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value);
    return merged;
  }

  const isNarrow = (element) => element.clientWidth < 480;

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
        shapedefaults: { line: { color: colour('--ink-3') } },
        legend: { bgcolor: 'rgba(0,0,0,0)' }, annotationdefaults: { font: { color: colour('--ink') }, arrowcolor: colour('--ink-2') },
        hoverlabel: { bgcolor: colour('--paper-2'), bordercolor: colour('--line'), font: { color: colour('--ink') } },
        modebar: { bgcolor: 'rgba(0,0,0,0)', color: colour('--ink-3'), activecolor: colour('--accent') },
        updatemenudefaults: control, sliderdefaults: { ...control, activebgcolor: colour('--accent'), tickcolor: colour('--ink-3') },
      },
    });
  }

  // On a phone the names of rows would leave no room for the plot: they are broken into lines, wherever they stand, since
  // an axis knows its places by them. What is written next to points may leave the plot. Between crowded points (words
  // without marks of their own) in panels side by side no word has room: there the names are shown at a touch alone.
  const LONGEST = { x: 12, y: 22 }; // characters of a line
  const broken = (text, most) => (typeof text === 'string' && !text.includes('<') && Number.isNaN(Number(text))
    ? text.replace(new RegExp(`(.{1,${most}})(?: +|$)`, 'g'), '$1<br>').replace(/<br>$/, '') : text);
  function narrowed({ data, layout = {}, frames, ...rest }) {
    const names = (values, most) => (Array.isArray(values) ? values.map((one) => broken(one, most)) : values);
    const placed = (one) => ({ ...one, ...Object.fromEntries(Object.entries(LONGEST).filter(([axis]) => axis in one).map(([axis, most]) => [axis, names(one[axis], most)])) });
    const ticks = (axis, most) => ({ ...axis, ...Object.fromEntries(['categoryarray', 'ticktext'].filter((key) => axis[key]).map((key) => [key, names(axis[key], most)])) });
    const named = Object.entries(layout).map(([key, value]) => {
      const most = LONGEST[/^([xy])axis\d*$/.exec(key)?.[1]];
      if (key === 'annotations') return [key, value.map((one) => ({ ...one, ...Object.fromEntries(Object.entries(LONGEST).map(([axis, n]) => [axis, broken(one[axis], n)])) }))];
      if (!most) return [key, value];
      const title = value.title?.text && key.startsWith('x') ? { title: { ...value.title, text: broken(value.title.text, 30) } } : {};
      return [key, { ...ticks(value, most), ...title }];
    });
    const beside = (layout.xaxis2?.domain?.[0] ?? 0) > 0;
    return { ...rest, data: data.map((trace) => ({ ...placed(trace), ...(beside && trace.mode === 'text' ? { visible: false } : {}), ...(trace.text && trace.mode?.includes('text') ? { cliponaxis: false, textfont: { ...trace.textfont, size: 12 } } : {}) })),
      layout: Object.fromEntries(named), frames: frames?.map((frame) => ({ ...frame, data: frame.data?.map(placed) })) };
  }

  // Between powers of ten plotly writes small single digits, and many of them: 2, 5 and whole numbers can be read. On a
  // phone even those of two powers do not fit.
  function counted(axis, key, data, narrow) {
    if (axis?.type !== 'log' || axis.exponentformat || axis.tickvals) return axis;
    const letter = key[0];
    const shown = data.filter((trace) => (trace[`${letter}axis`] ?? letter) === key.replace('axis', '')).flatMap((trace) => trace[letter] ?? []).filter((value) => value > 0);
    const decades = Math.log10(shown.reduce((most, value) => Math.max(most, value), 0) / shown.reduce((least, value) => Math.min(least, value), Infinity));
    const spaced = decades >= (narrow ? 2 : 3) ? { dtick: 1 } : decades >= (narrow ? 0.5 : 1) ? { dtick: 'D2' } : {};
    return { tickformat: ',~g', ...spaced, ...axis };
  }

  // A legend above the plot stands over the titles of panels, however many lines it takes.
  function above({ legend, margin = {}, annotations = [], height = 450 }) {
    const titled = annotations.filter(({ yref, y, yanchor }) => yref === 'paper' && y >= 0.99 && yanchor === 'bottom');
    if (!titled.length || legend?.yanchor !== 'bottom') return {};
    const lines = Math.max(...titled.map(({ text }) => text.split('<br>').length));
    return { legend: { y: (legend.y ?? 1) + (24 * lines) / (height - (margin.t ?? 0) - (margin.b ?? 0)) } };
  }

  // Plotly writes a colour of words into each of them; the style sheet mixes it with the page's ink.
  function own(stage) {
    for (const words of stage.querySelectorAll('.textpoint text, .annotation-text')) words.style.setProperty('--own', words.style.fill);
  }

  function layoutOf(figure, element) {
    const { width, ...given } = figure.layout ?? {}; // the column decides how wide a figure is
    const narrow = isNarrow(element);
    const layout = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, /^[xy]axis\d*$/.test(key) ? counted(value, key, figure.data, narrow) : value]));
    const base = { autosize: true, margin: { l: narrow ? 48 : 64, r: 16, t: layout.title ? 56 : 24, b: 48 } };
    // Beside the plot a legend would take half of a phone: there it goes below.
    const legend = narrow && layout.legend?.orientation !== 'h' ? { legend: { orientation: 'h', x: 0, y: -0.2, yanchor: 'top' } } : {};
    const merged = merge(merge(base, layout), legend);
    return { ...merge(merged, above(merged)), template: template(layout.template) };
  }

  // On a phone the tools would lie over the legend, and fingers zoom without them.
  const toolsOf = (element) => (isNarrow(element) || matchMedia('(hover: none)').matches
    ? { displayModeBar: false } : { displayModeBar: 'hover', modeBarButtonsToRemove: ['select2d', 'lasso2d'] });

  /** What stands in a figure's place until it is drawn. */
  function wait(element, words) {
    const place = element.querySelector('.plotly-waiting');
    if (place) place.textContent = words;
  }

  async function draw(element) {
    if (figures.has(element)) return;
    figures.set(element, undefined);
    const label = element.getAttribute('aria-label') ?? '';
    const stage = document.createElement('div');
    if (element.classList.contains('failed')) wait(element, label);
    element.classList.remove('failed');
    try {
      const [Plotly, kept] = await Promise.all([load(), read(element)]);
      const figure = isNarrow(element) ? narrowed(kept) : kept;
      figures.set(element, figure);
      stage.style.height = getComputedStyle(element).getPropertyValue('--height');
      element.append(stage);
      const mixed = () => own(stage);
      await Plotly.newPlot(stage, figure.data, layoutOf(figure, element), { ...toolsOf(element), ...figure.config, responsive: true, displaylogo: false });
      mixed();
      stage.on('plotly_afterplot', mixed);
      if (figure.frames?.length) await Plotly.addFrames(stage, figure.frames);
      element.classList.add('drawn');
      watcher.unobserve(element);
      element.dispatchEvent(new CustomEvent('book:drawn'));
    } catch (error) {
      stage.remove();
      figures.delete(element);
      element.classList.add('failed');
      wait(element, `This figure could not be loaded; reload the page. ${label}`);
      console.error(`a figure could not be drawn: ${error.message}`);
    }
  }

  const arrived = new Map(); // name of a large figure -> the figure
  window.bookFigure = (name, figure) => arrived.set(name, figure);

  /** The figure as the notebook kept it: in the page or, if it is large, in a file. A script, since that loads from disk too. */
  async function read(element) {
    const { figure: address } = element.dataset;
    if (!address) return JSON.parse(element.querySelector('script[type="application/json"]').textContent);
    await script(new URL(address, location.href).href);
    return structuredClone(arrived.get(address.split('/').at(-1))); // plotly changes what it draws, and a preview draws it again
  }

  // A figure stays watched until it is drawn: one that failed is tried again when it next comes near the view.
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) draw(target);
  }, { rootMargin: '400px' });
  document.querySelectorAll('.plotly-figure').forEach((element) => watcher.observe(element));

  // Paper has no second look: what was never seen is drawn when printing begins.
  addEventListener('beforeprint', () => document.querySelectorAll('article .plotly-figure:not(.drawn)').forEach(draw));

  // A preview of a figure wants it drawn before the reader has come to it.
  document.addEventListener('book:draw', ({ detail }) => draw(detail));

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
