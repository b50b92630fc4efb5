"""Levels of a curriculum: which each world has, and how they rise and fall [Rudin et al. 2022].

An episode that reaches its duration is judged by the mean of a term of the reward over its control steps, one that has
ended before by the sum over the control steps of a whole episode, so that falling early never raises a level. A world
that rises from the highest level begins at one that is drawn from all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.draws import Draws, philox_uniforms
from pysim.environments.randomised import accept_drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.environments.plan import CurriculumPlan
    from pysim.simulation.worlds import Worlds
    from pysim.typing import Array

LEVEL = 4  # stream of random numbers that the levels draw from
GOES_ON, TERMINATED, TRUNCATED = 0, 1, 2  # an episode, after its last step


class Levels:
    """Levels of the worlds of an environment.

    Args:
        plan: of the levels.
        worlds: of the scene.
        length: control steps of an episode.
    """

    def __init__(self, plan: CurriculumPlan, worlds: Worlds, length: int) -> None:
        self._plan, self._worlds, self._length = plan, worlds, length
        self._displacements = [Draws(level.displacement.distributions) for level in plan.levels]
        n = len(worlds)
        self.of_worlds = np.zeros(n, np.int64)
        self._sums, self._steps, self._outcome = np.zeros(n), np.zeros(n, int), np.zeros(n, int)

    def __len__(self) -> int:
        return len(self._plan.levels)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that the next levels depend on, live."""
        return {
            "level": self.of_worlds,
            "level_sum": self._sums,
            "level_steps": self._steps,
            "level_outcome": self._outcome,
        }

    def note_step(
        self, terms: Array, terminated: NDArray[np.bool_], truncated: NDArray[np.bool_]
    ) -> None:
        """Add the terms of the reward (n, rewards) of a control step, and note the episodes that it ends."""
        self._sums += terms[:, self._plan.reward]
        self._steps += 1
        self._outcome[:] = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, GOES_ON))

    def begin(
        self, chosen: NDArray[np.int32], key: Array, is_first: NDArray[np.bool_]
    ) -> Array | None:
        """Give worlds the levels and numbers of the episodes that they begin.

        Args:
            chosen: numbers (k,) of the worlds.
            key: (k,) of their random numbers.
            is_first: (k,) whether it is the first episode of a world.

        Returns:
            Displacements (k, nv) of their starts, None if no level has any.
        """
        own, level = self._plan, self.of_worlds[chosen]
        steps = np.where(self._outcome[chosen] == TRUNCATED, self._steps[chosen], self._length)
        mean = self._sums[chosen] / steps
        is_judged = self._outcome[chosen] != GOES_ON
        level = level + (is_judged & (mean > own.rise)) - (is_judged & (mean < own.fall))
        u = philox_uniforms(key, 0, LEVEL, 1)[:, 0]
        level = np.where(level >= len(self), (u * len(self)).astype(int), np.maximum(level, 0))
        level = np.where(is_first, (u * (own.first + 1)).astype(int), level)
        self.of_worlds[chosen] = level
        self._sums[chosen], self._steps[chosen], self._outcome[chosen] = 0.0, 0, GOES_ON
        self._set_numbers(chosen, key, level)
        return self._displaced(key, level)

    def _set_numbers(self, chosen: NDArray[np.int32], key: Array, level: NDArray[Any]) -> None:
        parameters = self._worlds.parameters
        for k, own in enumerate(self._plan.levels):
            rows = level == k
            for randomised in own.randomised if rows.any() else ():
                randomised.draw(parameters, chosen[rows], key[rows], 0)
        accept_drawn([x for own in self._plan.levels for x in own.randomised], parameters)

    def _displaced(self, key: Array, level: NDArray[Any]) -> Array | None:
        if not any(self._displacements):
            return None
        dq = np.zeros((len(key), self._worlds.model.nv))
        for k, (own, draws) in enumerate(zip(self._plan.levels, self._displacements, strict=True)):
            rows = np.flatnonzero(level == k)
            if len(rows) and len(draws):
                drawn = draws.values(key[rows], 0, own.displacement.use)
                dq[rows[:, None], own.displacement.places] = drawn
        return dq
