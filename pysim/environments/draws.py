"""Random numbers of environments: functions of world, episode, control step and use, whatever the batch.

Each use, such as a start or the noise of the observations, has streams of its own. A call of Philox gives four numbers
of 32 bits. Starts, commands, pushes, times and noise are drawn by the engine (cpp/engine/environment_tables.cpp).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.environments.plan import DrawPlan
from pysim.errors import SimulationError, did_you_mean
from pysim.sweeps.parameters import Distribution, distribution_of
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

FIRST_STREAM = 2**52 + 2  # beyond those of blocks and of the keys of worlds and episodes
STREAMS = 2**20  # of a use
LEAST_UNIFORM = (
    2.0**-33
)  # the smallest number of a stream, whose quantile is the least that is drawn
UNIT = 2.0**-32


def philox_uniforms(key: ArrayLike, index: ArrayLike, use: int, count: int) -> Array:
    """Return uniformly distributed numbers (worlds, count) in (0, 1), from the counter-based generator Philox.

    Args:
        key: (worlds,) keys of the episodes.
        index: (worlds,) control steps in the episode, or one for all.
        use: number of the purpose, such as `LEVEL`; each has its own stream.
        count: numbers for a world.
    """
    own = np.asarray(key, float).astype(np.uint64)
    at = np.full(own.shape, index, np.uint64)
    words = _engine.philox_words(at, own, FIRST_STREAM + use * STREAMS, (count + 3) // 4)
    return np.asarray((words[:, :count] + 0.5) * UNIT)


class Draws:
    """Distributions of several numbers."""

    def __init__(self, distributions: Sequence[Distribution]) -> None:
        self._distributions = tuple(distributions)

    def __len__(self) -> int:
        return len(self._distributions)

    def values(self, key: ArrayLike, index: ArrayLike, use: int) -> Array:
        """Return values (worlds, numbers)."""
        return self._at(philox_uniforms(key, index, use, len(self)))

    def quantiles(self, u: float) -> Array:
        """Return the quantiles (1, numbers) of all distributions at u."""
        return self._at(np.full((1, len(self)), u))

    def _at(self, u: Array) -> Array:
        for column, own in zip(u.T, self._distributions, strict=True):
            column[:] = own.values(column)
        return u


def distribution_or_number(where: str, given: str | float) -> Distribution:
    """Return the distribution that a text names, or that of one number alone.

    Raises:
        SimulationError: it is neither.
    """
    drawn = distribution_of(where, given)
    return drawn if isinstance(drawn, Distribution) else Distribution("constant", (drawn,))


def draws_by_name(
    where: str, given: Mapping[str, str | float], names: Sequence[str], use: int
) -> DrawPlan:
    """Return what is drawn for names that patterns match, in their order, for a use.

    Raises:
        SimulationError: a pattern matches none, or a text is no distribution.
    """
    found: dict[int, Distribution] = {}
    for pattern, text in given.items():
        matched = [k for k, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not matched:
            problem = f"matches no velocity of the scene{did_you_mean(pattern, names)}"
            raise SimulationError(f"{where}.{pattern}", problem)
        found |= dict.fromkeys(matched, distribution_or_number(f"{where}.{pattern}", text))
    places = sorted(found)
    return DrawPlan([found[place] for place in places], places, use)
