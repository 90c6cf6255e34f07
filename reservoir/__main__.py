"""`python -m reservoir`: see `reservoir.launch.cli`."""

import sys

from reservoir import launch
from reservoir.launch.memory import keep_memory

TRAIN = ("run", "queue", "audit")  # the commands that a process with other settings is worth


def main() -> int:
    """The command line, in a process of its own."""
    if sys.argv[1:2] and sys.argv[1] in TRAIN:
        keep_memory()
    return launch.cli.main()


if __name__ == "__main__":
    sys.exit(main())
