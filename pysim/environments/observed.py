"""Signals that an environment reads: those of its scene, the last action and its change."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.simulation.batches.worlds import Worlds

LAST_ACTION, ACTION_RATE = "last_action", "action_rate"


class Observed:
    """Numbers that rewards, ends and observations read, side by side in the order in which they were first asked for.

    Args:
        worlds: whose signals are read.
        action_size: numbers of an action.
    """

    def __init__(self, worlds: Worlds, action_size: int) -> None:
        self._worlds = worlds
        self._action_size = action_size
        self._places: dict[str, slice] = {}  # of what was asked for
        self._sources: dict[str, slice] = {}  # columns of the scene's signals among these
        self._count = 0

    def of(self, worlds: Worlds) -> Observed:
        """Return the same columns of other worlds of the scene."""
        other = copy(self)
        other._worlds = worlds  # noqa: SLF001, its own
        return other

    def __contains__(self, name: str) -> bool:
        return name in (LAST_ACTION, ACTION_RATE) or name in self._worlds.signals

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all signals."""
        return (*self._worlds.signals, LAST_ACTION, ACTION_RATE)

    def columns(self, name: str) -> NDArray[np.intp]:
        """Return the columns of a signal in `rows`, which has them from now on."""
        if name not in self._places:
            size = self._action_size
            if name in self._worlds.signals:
                source = self._sources[name] = self._worlds.signals.columns(name)
                size = source.stop - source.start
            self._places[name] = slice(self._count, self._count + size)
            self._count += size
        place = self._places[name]
        return np.arange(place.start, place.stop)

    def labels(self, name: str) -> list[str]:
        """Return a name for each number of a signal."""
        size = len(self.columns(name))
        return [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]

    def rows(
        self, action: Array, action_rate: Array, chosen: NDArray[np.intp] | None = None
    ) -> Array:
        """Return the numbers of all worlds, or of those chosen, at their states."""
        own = slice(None) if chosen is None else chosen
        readings = self._worlds.signals.rows(chosen, names=self._sources)
        rows = np.empty((len(readings), self._count))
        for name, place in self._places.items():
            if name in self._sources:
                rows[:, place] = readings[:, self._sources[name]]
            else:
                rows[:, place] = (action if name == LAST_ACTION else action_rate)[own]
        return rows
