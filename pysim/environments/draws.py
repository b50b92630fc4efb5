"""Random numbers of environments: functions of world, episode, control step and use, whatever the batch.

Each use, such as a reset or the noise of the observations, has streams of its own. A call of Philox gives four numbers
of 32 bits.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import SimulationError, did_you_mean
from pysim.sweeps.parameters import Distribution, distribution_of
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

FIRST_STREAM = 2**52 + 2  # beyond those of blocks and of the keys of worlds and episodes
STREAMS = 2**20  # of a use
LEAST = 2.0**-33  # the smallest number of a stream, whose quantile is the least that is drawn
UNIT = 2.0**-32


def uniforms(key: ArrayLike, index: ArrayLike, use: int, count: int) -> Array:
    """Return numbers (worlds, count) within (0, 1).

    Args:
        key: (worlds,) keys of the episodes.
        index: (worlds,) control steps in the episode, or one for all.
        use: what the numbers are for.
        count: numbers for a world.
    """
    own = np.asarray(key, float).astype(np.uint64)
    at = np.full(own.shape, index, np.uint64)
    words = _engine.philox_words(at, own, FIRST_STREAM + use * STREAMS, (count + 3) // 4)
    return np.asarray((words[:, :count] + 0.5) * UNIT)


class Draws:
    """Distributions of several numbers, and the places that they are for."""

    def __init__(self, distributions: Sequence[Distribution | float]) -> None:
        self._distributions = tuple(distributions)

    def __len__(self) -> int:
        return len(self._distributions)

    def values(self, key: ArrayLike, index: ArrayLike, use: int) -> Array:
        """Return values (worlds, numbers)."""
        return self._at(uniforms(key, index, use, len(self)))

    def quantiles(self, u: float) -> Array:
        """Return the quantiles (1, numbers) of all distributions at u."""
        return self._at(np.full((1, len(self)), u))

    def _at(self, u: Array) -> Array:
        for column, own in zip(u.T, self._distributions, strict=True):
            column[:] = own.values(column) if isinstance(own, Distribution) else own
        return u


class Schedule:
    """Control steps of an episode at which something recurs in each world.

    Args:
        every: control steps between, or the distribution of the time between [s]; 0 for never.
        period: of a control step [s].
        use: of the draws.
        worlds: number of worlds.
    """

    def __init__(self, every: int | Distribution, period: float, use: int, worlds: int) -> None:
        self.every, self._period, self._use = every, period, use
        self._draws = Draws([] if isinstance(every, int) else [every])
        self.due = np.zeros(worlds * len(self._draws), np.int64)  # the next control step, if drawn

    def begin(self, worlds: NDArray[np.intp], key: Array) -> None:
        """Begin episodes of worlds, by their keys."""
        if len(self.due):
            self.due[worlds] = self._intervals(key, np.zeros(len(worlds)))

    def occurs(self, key: Array, steps: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the worlds in which it happens after these control steps of their episodes."""
        if isinstance(self.every, int):
            return np.flatnonzero(steps % self.every == 0) if self.every else np.zeros(0, np.intp)
        found = np.flatnonzero(steps >= self.due)
        if len(found):
            self.due[found] = steps[found] + self._intervals(key[found], steps[found])
        return found

    def _intervals(self, key: Array, steps: ArrayLike) -> Array:
        seconds = self._draws.values(key, steps, self._use)[:, 0]
        return np.maximum(np.rint(seconds / self._period), 1.0)


def draws_by_name(
    where: str, given: Mapping[str, str], names: Sequence[str]
) -> tuple[list[int], Draws]:
    """Return the places of names that patterns match, in order, and what is drawn for them.

    Raises:
        SimulationError: a pattern matches none, or a text is no distribution.
    """
    found: dict[int, Distribution | float] = {}
    for pattern, text in given.items():
        matched = [k for k, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not matched:
            problem = f"matches no velocity of the scene{did_you_mean(pattern, names)}"
            raise SimulationError(f"{where}.{pattern}", problem)
        found |= dict.fromkeys(matched, distribution_of(f"{where}.{pattern}", text))
    places = sorted(found)
    return places, Draws([found[place] for place in places])
