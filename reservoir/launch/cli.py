"""The command line of the library: recipes and data of your own, trained, shown, queued, and their models used.

examples:
  python -m reservoir list
  python -m reservoir list components
  python -m reservoir show transformer/multi30k
  python -m reservoir run transformer/miniature
  python -m reservoir run transformer/multi30k --scale laptop --seeds 0 1 2
  python -m reservoir run transformer/miniature --optimiser.lr 1e-3 --budget.steps 200
  python -m reservoir run components --scale full --dry-run --gpu h100 --price 2.20
  torchrun --nproc-per-node 8 --max-restarts 3 -m reservoir run components/baseline --scale full
  python -m reservoir submit components narrow --scale full --seeds 0 1 2 --gpus 8 --hours 12
  python -m reservoir table transformer
  python -m reservoir table poster/big
  python -m reservoir export seeds/miniature --to my-translator
  python -m reservoir data multi30k
  python -m reservoir queue data/queue.toml --dry-run
  python -m reservoir audit --sample 10
  python -m reservoir gpu --minutes 10
  python -m reservoir run --data it-en --task.src it
  python -m reservoir translate it-en "tre due uno"

The page "Use it on your own data" (reference/own-data.md) has a command and its output for each kind of data.

exit status:
  0   done
  1   it failed, and the last line says why
  2   the command line cannot be understood
  75  a signal asked the run to stop: the same command continues from the checkpoint
  130 interrupted with Ctrl-C
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

from reservoir import launch
from reservoir.datasets.errors import DataError
from reservoir.launch.console import UsageError
from reservoir.training.preemption import EXIT_STATUS, Preempted

EXTRAS = {
    "tyro": "cli",
    "sacremoses": "data",
    "PIL": "pictures",
    "sklearn": "pictures",
    "plotly": "pages",
    "anywidget": "pages",
    "submitit": "cluster",
}
"""Module -> the extra of the package that installs it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit status, which the docstring of this module lists."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        execute(words or ["--help"])
        return 0
    except Preempted as signal:
        status, message = EXIT_STATUS, f"{signal}; {_continues(words)}"
    except KeyboardInterrupt:
        status, message = 130, f"stopped; {_continues(words)}" if "run" in words[:1] else "stopped"
    except UsageError as error:
        status, message = 2, str(error)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        install = f"python -m pip install 'reservoir-book[{EXTRAS[error.name]}]'"
        status, message = 1, f"this needs the package {error.name}: {install}"
    except (DataError, OSError, ValueError) as error:
        status, message = 1, str(error)
    except RuntimeError as error:
        if not isinstance(error, launch.train.EXPLAINED):
            raise
        status, message = 1, str(error)
    print(f"error: {message}", file=sys.stderr)
    if "reservoir.training.distribution" in sys.modules:  # without it, this process has joined no others
        launch.train.leave_world(status)
    return status


def execute(words: list[str]) -> None:
    """Parse the words of a command line and do what they ask for.

    Raises:
        UsageError: there is no such command, or it does not take such an argument.
        SystemExit: help was printed.
    """
    commands = launch.commands.COMMANDS
    name, *rest = words
    if not name.startswith("-") and name not in commands:
        near = difflib.get_close_matches(name, commands, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(commands)}"
        raise UsageError(f"there is no command {name!r}; {hint}")
    takes_fields = name in launch.commands.TAKE_FIELDS
    if takes_fields and {"--help", "-h"} & set(rest) and not rest[0].startswith("-"):
        launch.fields.show_fields(rest[0])
        return
    command, fields = launch.commands.parse(words, description=__doc__ or "")
    if fields and not takes_fields:
        raise UsageError(f"unknown argument {fields[0]!r}; see python -m reservoir {name} --help")
    command(fields)


def _continues(words: Sequence[str]) -> str:
    without = " without --fresh" if "--fresh" in words else ""
    return f"the same command{without} goes on from the last checkpoint, if there is one"
