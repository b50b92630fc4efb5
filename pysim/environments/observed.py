"""Signals that an environment reads: those of its scene, the last action and its change."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from pysim.elements.graph_types import names_of_numbers
from pysim.environments.plan import NumberRange
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.simulation.worlds import Worlds

LAST_ACTION, ACTION_RATE = "last_action", "action_rate"


class Observed:
    """Numbers that rewards, ends and observations read: all signals of the scene, the last action and its change.

    Args:
        worlds: whose signals are read.
        action_size: numbers of an action.
    """

    def __init__(self, worlds: Worlds, action_size: int) -> None:
        self._worlds = worlds
        own = worlds.signals
        self.signal_count = max((own.columns(name).stop for name in own), default=0)
        first, last = self.signal_count, self.signal_count + action_size
        self._actions = {
            LAST_ACTION: slice(first, last),
            ACTION_RATE: slice(last, last + action_size),
        }
        self._read: dict[str, None] = {}  # signals of the scene that were asked for
        self._is_plain: bool | None = None  # whether the engine alone computes these

    def of(self, worlds: Worlds) -> Observed:
        """Return the same numbers of other worlds of the scene."""
        other = copy(self)
        other._worlds = worlds  # noqa: SLF001, its own
        return other

    def __contains__(self, name: str) -> bool:
        return name in (LAST_ACTION, ACTION_RATE) or name in self._worlds.signals

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all signals."""
        return (*self._worlds.signals, *self._actions)

    def range(self, name: str) -> NumberRange:
        """Return the columns of a signal in `rows`; it is read from now on."""
        place = self._actions.get(name)
        if place is None or name in self._worlds.signals:
            place = self._worlds.signals.columns(name)
            self._read[name] = self._is_plain = None
        return NumberRange(place.start, place.stop - place.start)

    def columns(self, name: str) -> NDArray[np.intp]:
        """Return the columns of a signal in `rows`; it is read from now on."""
        x = self.range(name)
        return np.arange(x.first, x.first + x.count)

    def labels(self, name: str) -> list[str]:
        """Return a name for each number of a signal."""
        return names_of_numbers(name, self.range(name).count)

    def readings(self, chosen: NDArray[np.int32] | None = None) -> Array | None:
        """Return the signals of all worlds, or of those chosen; None if the engine reads them alone."""
        own = self._worlds.signals
        if self._is_plain is None:
            self._is_plain = own.are_plain(self._read)
        return None if self._is_plain else own.rows(chosen, names=self._read)

    def rows(self, action: Array, action_rate: Array) -> Array:
        """Return the numbers of all worlds at their states; signals that nobody asked for are meaningless."""
        return np.hstack([self._worlds.signals.rows(names=self._read), action, action_rate])
