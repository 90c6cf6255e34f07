"""The base class of explorables: a widget whose one ES module draws, listens and computes without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

HERE = Path(__file__).parent
STYLE = HERE / "shared" / "ui.css"


class Explorable(anywidget.AnyWidget):
    """A piece of the page that a reader can drag, type into and click, in JupyterLab, in Colab and on the static page.

    A subclass names the folder of its JavaScript, `class Wave(Explorable, folder="wave")`, next to this file or as a
    whole path, and declares its settings as traitlets with `.tag(sync=True)`. The folder holds `view.mjs`, whose
    default export has a function `render({ model, el })`; the bundle that `make explorables` makes of it, `bundle.js`;
    and perhaps a stylesheet, `style.css`. The notebook stores the bundle's text and the values of the settings, so the
    page needs no kernel.

    Attributes:
        label: what it is, in a few words; its accessible name.
        text: what it shows at first, in a sentence or two: for readers who cannot see it, and where scripts do not run.
        key: the prefix of its settings in the page's address; by default the folder's name.
        still: an SVG of what it shows at first, for where scripts do not run; empty for the text alone.
    """

    name_of_folder: ClassVar[str]
    still: str = ""

    label = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    key = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, *, folder: str | Path | None = None, **kwargs: Any) -> None:
        if folder is not None:
            where = HERE / folder
            cls.name_of_folder = where.name
            cls._esm = _text(where / "bundle.js")
            cls._css = "\n".join(_text(each) for each in (STYLE, where / "style.css") if each.is_file())
        # Traitlets derives a class from an instance's when it adds traits to it; that one inherits the text.
        elif not hasattr(cls, "name_of_folder"):
            raise TypeError(
                f"{cls.__name__} must name the folder of its view.mjs: (Explorable, folder='wave')"
            )
        super().__init_subclass__(**kwargs)

    def __init__(self, **settings: Any) -> None:
        known = {name for name in self.trait_names(sync=True) if not name.startswith("_")}
        if unknown := set(settings) - known:
            own = sorted(known - set(anywidget.AnyWidget.class_trait_names()))
            raise TypeError(
                f"{type(self).__name__} has no setting {', '.join(sorted(unknown))}; it has {', '.join(own)}"
            )
        settings.setdefault("key", self.name_of_folder.replace("_", "-"))
        super().__init__(**settings)
        if not self.label or not self.text:
            missing = "label" if not self.label else "text"
            what = "is, in a few words" if missing == "label" else "shows at first, in a sentence or two"
            raise ValueError(f"{type(self).__name__} needs a {missing}: what it {what}")

    def picture(self) -> str | None:
        """An SVG of what it shows at first, for where scripts do not run; None for the text alone."""
        return self.still or None

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        data["text/plain"] = f"{self.label}. {self.text}"
        if picture := self.picture():
            data["image/svg+xml"] = picture
        return data, metadata


def _text(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: `make explorables` makes it from view.mjs")
    return path.read_text(encoding="utf-8")
