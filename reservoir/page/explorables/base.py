"""What every explorable is: a widget whose one ES module draws, listens and computes without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from reservoir.page.explorables.bundle import bundle

JS = Path(__file__).parent / "js"


class Explorable(anywidget.AnyWidget):
    """A piece of the page that a reader can drag, type into and click, in JupyterLab, in Colab and on the static page.

    A subclass names its ES module and declares its settings as traitlets with `.tag(sync=True)`. What the notebook
    stores is the module's text, with all that it imports, and the values of the settings, so the page needs no kernel.

    Attributes:
        module: the ES module with `export default { render({ model, el }) }`: a file in `explorables/js`, or a path.
            It may import other modules relatively. A stylesheet of the same name beside it is added.
        label: what it is, in a few words; its accessible name.
        text: what it shows at first, in a sentence or two: for who cannot see it, and where scripts do not run.
        key: stands before its settings in the page's address; by default the module's name.
    """

    module: ClassVar[str | Path]

    label = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    key = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if not hasattr(cls, "module"):
            raise TypeError(f'{cls.__name__} must name its ES module: module = "name.mjs"')
        # Traitlets derives a class from each instance's when it adds traits to it: that one has the text already.
        if "module" in cls.__dict__:
            path = JS / cls.module  # an absolute path stays as it is
            cls._esm = bundle(path)
            styles = [JS / "ui.css", path.with_suffix(".css")]
            cls._css = "\n".join(each.read_text(encoding="utf-8") for each in styles if each.is_file())
        super().__init_subclass__(**kwargs)

    def __init__(self, **settings: Any) -> None:
        known = {name for name in self.trait_names(sync=True) if not name.startswith("_")}
        if unknown := set(settings) - known:
            own = sorted(known - set(anywidget.AnyWidget.class_trait_names()))
            raise TypeError(
                f"{type(self).__name__} has no setting {', '.join(sorted(unknown))}; it has {', '.join(own)}"
            )
        settings.setdefault("key", Path(self.module).stem)
        super().__init__(**settings)
        if not self.label or not self.text:
            missing = "label" if not self.label else "text"
            raise ValueError(
                f"{type(self).__name__} needs a {missing}: what it "
                + ("is, in a few words" if missing == "label" else "shows at first, in a sentence or two")
            )

    def picture(self) -> str | None:
        """An SVG of what it shows at first, for where scripts do not run; None for the text alone."""
        return None

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        data["text/plain"] = f"{self.label}. {self.text}"
        if picture := self.picture():
            data["image/svg+xml"] = picture
        return data, metadata
