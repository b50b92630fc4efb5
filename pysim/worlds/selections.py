"""Selections of worlds: masks, or lists of their numbers. Errors name the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.worlds.argument_checks import checked_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Selections:
    """Selections of `count` worlds, which are numbered from 0."""

    def __init__(self, count: int) -> None:
        self._count = count

    def of(self, where: ArrayLike | None) -> NDArray[np.int32] | None:
        """Return the numbers of the worlds that a mask (n,) or numbers choose; None for all."""
        if where is None:
            return None
        mask = np.atleast_1d(checked_array(where, "where"))
        if mask.dtype == bool:
            if mask.shape != (self._count,):
                raise SimulationError(
                    "where", f"must have shape ({self._count},), got {mask.shape}"
                )
            return np.flatnonzero(mask).astype(np.int32)
        return self.numbers(mask, "where")

    def numbers(self, worlds: ArrayLike, name: str, *, repeated: bool = False) -> NDArray[np.int32]:
        """Return numbers of worlds, of an argument of this name; each occurs once, unless they may be repeated."""
        numbers = np.atleast_1d(checked_array(worlds, name))
        if numbers.size == 0:
            return np.zeros(0, np.int32)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise SimulationError(name, f"must be numbers of worlds, got {worlds!r}")
        if numbers.min() < 0 or numbers.max() >= self._count:
            wrong = numbers[(numbers < 0) | (numbers >= self._count)][0]
            raise SimulationError(
                name, f"there is no world {wrong}; they are numbered 0 to {self._count - 1}"
            )
        if not repeated and len(np.unique(numbers)) != len(numbers):
            raise SimulationError(name, "names a world twice; name each once")
        return np.ascontiguousarray(numbers, np.int32)

    def number(self, world: int) -> int:
        """Return the number of a world."""
        if isinstance(world, (bool, np.bool_)) or not isinstance(world, (int, np.integer)):
            raise SimulationError("world", f"must be the number of a world, got {world!r}")
        return int(self.numbers([world], "world")[0])
