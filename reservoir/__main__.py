"""`python -m reservoir`: see `reservoir.launch.cli`."""

import sys

from reservoir.launch.cli import main

if __name__ == "__main__":
    sys.exit(main())
