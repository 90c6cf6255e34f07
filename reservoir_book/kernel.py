"""What the first cell of every chapter does once the library is there: it names what is missing, or the processor."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from IPython import get_ipython

import reservoir
from reservoir_book.progress import show_progress

MODULES = {
    "anywidget": "anywidget",
    "plotly": "plotly",
    "PIL": "pillow",
    "sacremoses": "sacremoses",
    "sklearn": "scikit-learn",
    "tyro": "tyro",
}
"""What the chapters import beyond the library's own needs: the module, and the package that brings it."""
ABOVE = "run the cells above first (Run → Run All Above Selected Cell; in Colab, Runtime → Run before)"


def ready() -> None:
    """Say which version this is and whether training runs on a GPU; from now on explain missing names, show progress.

    Raises:
        ModuleNotFoundError: packages of the extra `chapters` are missing; the message names them.
    """
    if missing := [package for module, package in MODULES.items() if not find_spec(module)]:
        raise ModuleNotFoundError(
            f"the chapters need {', '.join(missing)}, missing here: run `%pip install {' '.join(missing)}`"
            " and restart the kernel"
        )
    import torch  # Not above: a kernel that starts asks for `explain_names` alone, and should not wait for torch.

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


def explain_names(shell: Any) -> None:
    """Let a NameError in `shell`, an IPython shell or None, say what to do for a cell that was run out of turn."""

    def explain(shell: Any, kind: type, error: NameError, trace: TracebackType, tb_offset: int | None = None):
        error.args = (f"{error}: if a cell above defines it, {ABOVE}",)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    if shell is not None:
        shell.set_custom_exc((NameError,), explain)
