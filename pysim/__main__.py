"""Entry point of `python -m pysim`, which is the command `pysim`."""

from __future__ import annotations

import sys

from pysim.cli import main

if __name__ == "__main__":
    sys.exit(main())
