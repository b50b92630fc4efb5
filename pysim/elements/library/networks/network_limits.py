"""Largest networks of policies. A file of a few kilobytes may hold zeros without end: sizes are checked before use."""

from __future__ import annotations

from pysim.errors import PysimError

FLOAT = 8  # bytes of a number
MOST_WEIGHTS = 1 << 22  # numbers of a file
# inputs of a network and outputs of all its layers; each is an operation or more of a step
MOST_UNITS = 1 << 15


def check_units(path: str, units: int) -> None:
    """Reject a network with more inputs and outputs of layers than `MOST_UNITS`.

    Raises:
        PysimError: it has more.
    """
    if units > MOST_UNITS:
        problem = f"has {units} inputs and outputs of layers, at most {MOST_UNITS} are allowed"
        raise PysimError(path, f"{problem}; train a smaller network")
