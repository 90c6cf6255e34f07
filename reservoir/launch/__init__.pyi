from . import cli, cost_model, dry_run, gpus, step_work, submit

__all__ = [
    "cli",
    "cost_model",
    "dry_run",
    "gpus",
    "step_work",
    "submit",
]
