"""`python -m reservoir`: see `reservoir.experiments.cli`."""

import sys

from reservoir.experiments.cli import main

if __name__ == "__main__":
    sys.exit(main())
