"""Run the command line by `python -m archline`."""

import sys

from archline.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
