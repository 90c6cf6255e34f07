from . import (
    catalogue,
    cli,
    console,
    cost_model,
    dry_run,
    gpus,
    handed_in,
    model_commands,
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
    "model_commands",
    "show",
    "submit",
    "train",
]
