"""Signals that an environment reads: those of its scene, the last action and its change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.simulation.worlds import Worlds

    Array = NDArray[np.float64]

LAST_ACTION, ACTION_RATE = "last_action", "action_rate"


class Observed:
    """Columns of the numbers that rewards, ends and observations read, by name."""

    def __init__(self, worlds: Worlds, action_size: int) -> None:
        self._worlds = worlds
        signals = worlds.signals
        self._places = {name: signals.columns(name) for name in signals}
        readings = max((place.stop for place in self._places.values()), default=0)
        for name in (LAST_ACTION, ACTION_RATE):
            self._places[name] = slice(readings, readings + action_size)
            readings += action_size

    def __contains__(self, name: str) -> bool:
        return name in self._places

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all signals."""
        return tuple(self._places)

    def columns(self, name: str) -> NDArray[np.intp]:
        """Return the columns of a signal in `rows`."""
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
        readings = self._worlds.signals.rows(chosen)
        return np.concatenate([readings, action[own], action_rate[own]], axis=1)
