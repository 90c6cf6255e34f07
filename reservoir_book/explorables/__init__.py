"""Explorables: pieces of the page that compute what they show, without a kernel.

Each is a small Python class and a folder with its JavaScript. The notebook stores the JavaScript's text
and the settings (as a widget's state), and the page mounts them from there, so that one source runs in JupyterLab, in
Colab and on the static page.

To make one, declare its settings in a class, each a traitlet with `.tag(sync=True)`:

    class Wave(Explorable, folder="wave"):
        waves = traitlets.Int(2).tag(sync=True)

and draw them in `view.mjs`. `shared/ui.mjs` has controls, charts, and words for what is shown. Each control is bound to
the setting of its name; `draw` is called with all settings after one has changed, at most once a frame:

    import { explorable } from '../shared/ui.mjs';
    import { heights } from './model.mjs';

    export default {
      render({ model, el }) {
        const ui = explorable({ model, el });
        ui.slider('waves', { label: 'Waves', min: 1, max: 9 });
        const chart = ui.chart({ x: { label: 'time (s)', domain: [0, 1] }, y: { label: 'height', domain: [-1, 1] } });
        ui.draw(({ waves }) => {
          const { x, y } = heights(waves);
          chart.update({ marks: [{ kind: 'line', x, y, origin: 'fixed', name: 'wave' }] });
          ui.say(`${waves} waves in a second.`);
        });
        return ui.close;
      },
    };

A chapter shows it with `Wave(label="A wave", text="Two waves in a second.")`: what it is, and what it shows at first,
for readers who see no picture. Computation lies in `model.mjs`, which knows no page, so that node can run it and a test
can compare it with Python; `shared/philox.mjs` and `shared/draws.mjs` draw the same bits as `reservoir.weights`.
Settings go into the page's address by themselves. A plotly figure of the same page follows with
`ui.figure("fig-label")?.restyle(…)`.

After a change to the JavaScript, `make explorables` bundles each `view.mjs` with esbuild into `bundle.js`, which is
committed since Colab has no node, and brings executed notebooks up to date.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
