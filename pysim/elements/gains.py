"""Gains of controllers and servos: one number for all numbers of a signal, or a list with one for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.errors import PysimError
from pysim.tracing.symbolic_array import array_of

Gain = float | tuple[float, ...]


def gain_of(name: str, gain: Any, numbers: Any) -> Any:
    """Return a gain as a factor of the numbers of a signal.

    Raises:
        PysimError: it is a list of another length, at its key.
    """
    if not isinstance(gain, tuple):
        return gain
    count = len(numbers) if isinstance(numbers, np.ndarray) else 1
    if len(gain) != count:
        problem = f"has {len(gain)} numbers for a signal of {count}"
        raise PysimError(name, f"{problem}; write one number for all, or {count}")
    return gain[0] if count == 1 else array_of(gain)
