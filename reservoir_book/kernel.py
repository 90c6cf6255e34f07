"""What the first cell of every chapter does once the library is there: it names what is missing, or the processor,
and lets training say how far it is and how long it still takes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from IPython import get_ipython

import reservoir
from reservoir.training.events import ALWAYS, Event, Finished, Started, Stepped, Stopped

MODULES = {
    "anywidget": "anywidget",
    "ipywidgets": "ipywidgets",
    "plotly": "plotly",
    "PIL": "pillow",
    "sacremoses": "sacremoses",
    "sklearn": "scikit-learn",
    "tyro": "tyro",
}
"""What the chapters import beyond the library's own needs: the module, and the package that brings it."""
REPLACED = ("ipywidgets", "numpy", "pandas", "plotly", "torch")
"""What a place such as an older Colab has loaded before the first cell runs, and installing the library may replace."""
ABOVE = "run the cells above first (Run → Run All Above Selected Cell; in Colab, Runtime → Run before)"


def ready(version: str = reservoir.__version__) -> None:
    """Say which version this is and whether training runs on a GPU; from now on explain missing names, show progress.

    Args:
        version: of the library that the notebook was written for.

    Raises:
        RuntimeError: the library that is loaded is another version, or a package that is loaded has been replaced.
        ModuleNotFoundError: packages of the extra `chapters` are missing; the message names them.
    """
    if reservoir.__version__ != version:
        raise RuntimeError(
            f"this notebook is of the library's version {version}, and {reservoir.__version__} is loaded:"
            f" install {version} or open the notebook of that version, then restart the kernel"
        )
    if missing := [package for module, package in MODULES.items() if not find_spec(module)]:
        raise ModuleNotFoundError(
            f"the chapters need {', '.join(missing)}, missing here: run `%pip install {' '.join(missing)}`"
            " and restart the kernel"
        )
    if old := [name for name in REPLACED if _loaded(name) not in ("", metadata.version(name))]:
        raise RuntimeError(
            f"{' and '.join(old)} had been loaded before the installation replaced {'them' if old[1:] else 'it'}:"
            " restart the kernel (in Colab, Runtime → Restart session) and run this cell again"
        )
    # Not above: a kernel that starts asks for `explain_names` alone, and should not wait for torch.
    import pandas as pd
    import torch

    # Tables of the book are shown whole.
    pd.options.display.max_colwidth, pd.options.display.max_rows = None, 200

    gpu = torch.cuda.is_available()
    device = f"the GPU, {torch.cuda.get_device_name()}" if gpu else "the CPU; no chapter needs a GPU"
    print(f"reservoir {reservoir.__version__}. Training runs on {device}.")
    own_manager = "google.colab" in sys.modules or any(name.startswith("VSCODE_") for name in os.environ)
    if not own_manager and not find_spec("jupyterlab_widgets"):
        print(
            "Explorables stay pictures here, since Jupyter's widget manager is missing: run `%pip install ipywidgets`"
            " and reload the page."
        )
    explain_names(get_ipython())
    show_progress(get_ipython())


def _loaded(name: str) -> str:
    """The version of a module that this process has loaded; '' if it has not."""
    return str(getattr(sys.modules.get(name), "__version__", ""))


def explain_names(shell: Any) -> None:
    """Let a NameError in `shell`, an IPython shell or None, say what to do for a cell that was run out of turn."""

    def explain(shell: Any, kind: type, error: NameError, trace: TracebackType, tb_offset: int | None = None):
        error.args = (f"{error}: if a cell above defines it, {ABOVE}",)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    if shell is not None:
        shell.set_custom_exc((NameError,), explain)


EVERY = 0.5  # seconds between two lines


class Progress:
    """A listener that says the step, the loss and the time left in one line, which it updates.

    Args:
        show: called with each new line.
        patience: seconds before the first.
        clock: seconds; only differences count.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        *,
        patience: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.show, self.patience, self.clock = show, patience, clock
        self.begun, self.first, self.steps, self.said = 0.0, 0, 0, 0.0

    def __call__(self, event: Event) -> None:
        now = self.clock()
        match event:
            case Started(step=step, steps=steps):
                self.begun, self.first, self.steps, self.said = now, step, steps, now + self.patience - EVERY
            case Stepped(step=step, loss=loss) if now - self.said >= EVERY:
                self.said = now
                left = (now - self.begun) * (self.steps - step) / max(step - self.first, 1)
                self.show(f"step {step:,} of {self.steps:,}, loss {loss:.2f}, {duration(left)} left")
            case Finished(step=step) | Stopped(step=step) if now - self.begun >= self.patience:
                taken = step - self.first  # by this call; a run that goes on had taken the others before
                self.show(f"{taken:,} {'step' if taken == 1 else 'steps'} in {duration(now - self.begun)}")


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = round(seconds)
    return f"{whole} s" if whole < 90 else f"{whole // 60} min {whole % 60:02d} s"


class InPlace:
    """One output of a cell, updated in place."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __call__(self, bundle: dict[str, Any], **metadata: Any) -> None:
        # Imported here: training without a notebook needs no IPython.
        from IPython.display import display

        # As plain data: a figure would also show itself, next to the output that is updated.
        if self.handle is None:
            self.handle = display(bundle, raw=True, display_id=True, metadata=metadata)
        else:
            self.handle.update(bundle, raw=True, metadata=metadata)


class Line:
    """A line of words for each cell that runs, updated in place."""

    def __init__(self, shell: Any):
        self.shell, self.cell, self.output = shell, None, InPlace()

    def __call__(self, words: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # a control trains there, and says so itself
        if self.cell != self.shell.execution_count:
            self.cell, self.output = self.shell.execution_count, InPlace()
        # By `passing`, theme/lab.py leaves it out of what is saved.
        self.output({"text/plain": words}, passing=True)


def answered(shell: Any = None) -> bool:
    """Whether somebody can press a button here: programs that run notebooks, such as nbclient, say that nobody can."""
    kernel = getattr(shell or get_ipython(), "kernel", None)
    parent: dict[str, Any] = getattr(kernel, "get_parent", dict)()
    return bool(parent.get("content", {}).get("allow_stdin"))


def show_progress(shell: Any) -> None:
    """Let all training in `shell`, an IPython shell or None, say how far it is, where you are there to see it.

    Where nobody is, the book's stored outputs have no such line.
    """
    if answered(shell) and not any(isinstance(one, Progress) for one in ALWAYS):
        ALWAYS.append(Progress(Line(shell)))
