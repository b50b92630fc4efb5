"""Memory of the numbers of several parameters of worlds, in which what was written is found at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ParameterBlock:
    """Rows of numbers of all worlds: those that users write, and those that were taken over."""

    def __init__(self, rows: int, count: int) -> None:
        self._now, self._seen = np.zeros((2, rows, count))
        self._differs = np.zeros((rows, count), bool)
        self._names: list[str] = []  # of every row in use
        self._low, self._high = np.zeros((2, rows, 1))  # bounds of what was found to be valid

    def has_room(self, size: int) -> bool:
        """Return whether a parameter of `size` numbers fits."""
        return len(self._names) + size <= len(self._now)

    def add(self, name: str, start: Array) -> tuple[slice, Array, Array]:
        """Return the rows of a parameter, its values (n, size), and those that were taken over.

        `start` (size,) or (n, size) are those of the scene or of each world's.
        """
        rows = slice(len(self._names), len(self._names) + start.shape[-1])
        self._now[rows] = self._seen[rows] = start[:, None] if start.ndim == 1 else start.T
        self._names += [name] * start.shape[-1]
        return rows, self._now[rows].T, self._seen[rows].T

    def written_worlds(self) -> NDArray[np.bool_]:
        """Return the worlds (n,) that were written."""
        used = len(self._names)
        differs = np.not_equal(self._now[:used], self._seen[:used], out=self._differs[:used])
        return np.asarray(differs.any(axis=0))

    def written_names(self, worlds: NDArray[np.intp]) -> list[str]:
        """Return the names of the parameters that were written in worlds."""
        rows = self._differs[: len(self._names), worlds].any(axis=1)
        return list(dict.fromkeys(self._names[k] for k in np.flatnonzero(rows).tolist()))

    def of(self, worlds: NDArray[np.intp]) -> Array:
        """Return the numbers (rows, k) of worlds."""
        return self._now[: len(self._names), worlds]

    def note_numbers(self, worlds: NDArray[np.intp], numbers: Array) -> None:
        """Take over numbers (rows, k) of worlds."""
        self._seen[: len(numbers), worlds] = numbers

    def allow(self, rows: slice, low: Array, high: Array) -> None:
        """Set the bounds (size,) of what is valid without a check."""
        self._low[rows, 0], self._high[rows, 0] = low, high

    def are_allowed(self, numbers: Array) -> bool:
        """Return whether numbers (rows, k) are within their bounds."""
        used = len(numbers)
        inside = (numbers >= self._low[:used]) & (numbers <= self._high[:used])
        return bool(inside.all())
