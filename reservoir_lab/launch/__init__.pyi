from . import (
    catalogue,
    cli,
    console,
    cost_model,
    dry_run,
    gpus,
    handed_in,
    show,
    submit,
    train,
)

__all__ = [
    "catalogue",
    "cli",
    "console",
    "cost_model",
    "dry_run",
    "gpus",
    "handed_in",
    "show",
    "submit",
    "train",
]
