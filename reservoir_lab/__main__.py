"""`reservoir`: see `reservoir_lab.launch.cli`."""

import sys

from reservoir_lab import launch
from reservoir_lab.launch.memory import keep_memory

TRAIN = ("run", "queue", "audit")  # the commands that a process with other settings is worth


def main() -> int:
    """The command line, in a process of its own."""
    if sys.argv[1:2] and sys.argv[1] in TRAIN:
        keep_memory()
    return launch.cli.main()


if __name__ == "__main__":
    sys.exit(main())
