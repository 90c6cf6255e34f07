from . import cli, console, cost_model, dry_run, handed_in, show, submit, train

__all__ = [
    "cli",
    "console",
    "cost_model",
    "dry_run",
    "handed_in",
    "show",
    "submit",
    "train",
]
