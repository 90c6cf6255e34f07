"""Explorables: pieces of the page that compute what they show, without a kernel.

Each is a small Python class and an ES module. The notebook stores the module's text and the settings (as a widget's
state), and the page mounts them from there, so that one source runs in JupyterLab, in Colab and on the static page.

To make one, declare its settings in a class, each a traitlet with `.tag(sync=True)`:

    class Wave(Explorable):
        module = "wave.mjs"
        waves = traitlets.Int(2).tag(sync=True)

and draw them in `js/wave.mjs`. `ui.mjs` has the controls, charts, and words for what is shown; each control is bound to
the setting of its name, and `draw` is called with all of them, once a frame at most, when one has changed:

    import { explorable } from './ui.mjs';
    import { heights } from './wave-model.mjs';

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

A chapter shows it with `Wave(label="A wave", text="Two waves in a second.")`: what it is, and what it shows at
first, for readers who see no picture. What is computed lies in a module of its own (`wave-model.mjs`) that knows no
page, so that node can run it and a test can hold it against Python; `philox.mjs` and `draws.mjs` draw the same bits
as `reservoir.weights`. Settings go into the page's address by themselves. A plotly figure of the same page follows
with `ui.figure("fig-label")?.restyle(…)`. After a change to the JavaScript, `make explorables` brings executed
notebooks up to date.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
