"""Ranges of forces and commands: a lowest and a highest value."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.errors import PysimError

Range = tuple[float, ...]  # lowest and highest value; empty for none


def check_range(name: str, limits: Range) -> None:
    """Reject a range that is not empty and not a lowest and a highest value.

    Raises:
        PysimError: it is not.
    """
    if len(limits) not in {0, 2} or (len(limits) == 2 and limits[0] > limits[1]):
        given = list(limits)
        raise PysimError(name, f"must be the lowest and the highest value, got {given}")


def clipped(value: Any, limits: Range) -> Any:
    """Return a value within a range; the value itself without one."""
    return np.clip(value, limits[0], limits[1]) if limits else value
