"""Starts of episodes: numbers of the scene that are drawn, the level, and the keyframe at which a world begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.draws import philox_uniforms
from pysim.environments.levels import Levels
from pysim.environments.randomised import accept_drawn
from pysim.errors import SimulationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.environments.plan import Plan
    from pysim.simulation.worlds import Worlds
    from pysim.typing import Array

KEYFRAME = 3  # use of the draws


class Starts:
    """Lets worlds of an environment begin, and draws numbers of the scene anew while they go on.

    Args:
        plan: of the environment.
        worlds: of the scene.
    """

    def __init__(self, plan: Plan, worlds: Worlds) -> None:
        self._plan, self._worlds = plan, worlds
        self.recurring = plan.recurring()
        self.levels = None
        if plan.curriculum is not None:
            self.levels = Levels(plan.curriculum, worlds, plan.length)

    def begin(self, chosen: NDArray[np.int32], key: Array, is_first: NDArray[np.bool_]) -> None:
        """Begin episodes of worlds.

        Args:
            chosen: numbers (k,) of the worlds.
            key: (k,) of their random numbers.
            is_first: (k,) whether it is the first episode of a world.
        """
        if self._plan.randomised:  # before the start, whose first outputs follow them
            self._draw_numbers(chosen, key, is_first)
        moved = None if self.levels is None else self.levels.begin(chosen, key, is_first)
        keyframes = self._plan.keyframes
        if len(keyframes) == 1:
            self._worlds.begin_again(chosen, keyframe=keyframes[0], displacement=moved)
            return
        drawn = (philox_uniforms(key, 0, KEYFRAME, 1)[:, 0] * len(keyframes)).astype(int)
        for k in np.unique(drawn):
            rows = drawn == k
            dq = None if moved is None else moved[rows]
            self._worlds.begin_again(chosen[rows], keyframe=keyframes[k], displacement=dq)

    def _draw_numbers(
        self, chosen: NDArray[np.int32], key: Array, is_first: NDArray[np.bool_]
    ) -> None:
        parameters = self._worlds.parameters
        for randomised in self._plan.randomised:
            rows = slice(None) if randomised.is_redrawn else is_first
            if len(chosen[rows]):
                randomised.draw(parameters, chosen[rows], key[rows], 0)
        accept_drawn(self._plan.randomised, parameters)

    @property
    def level_of_worlds(self) -> NDArray[np.int64] | None:
        """Levels (n,), live; None without a curriculum."""
        return None if self.levels is None else self.levels.of_worlds

    @property
    def level_count(self) -> int:
        """Number of levels, 0 without a curriculum."""
        return 0 if self.levels is None else len(self.levels)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that the next starts depend on, live."""
        return {} if self.levels is None else self.levels.state()

    def note_step(
        self, terms: Array, terminated: NDArray[np.bool_], truncated: NDArray[np.bool_]
    ) -> None:
        """Note the reward of a control step and the episodes that it ends, for the next levels."""
        if self.levels is not None:
            self.levels.note_step(terms, terminated, truncated)

    def draw_again(
        self, occurs: NDArray[np.bool_], key: Array, steps: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Draw numbers of the scene anew where it is time; return the worlds that this changes.

        Args:
            occurs: (n, schedules) whether each schedule is due in each world.
            key: (n,) of the random numbers of worlds.
            steps: (n,) control steps of their episodes.
        """
        parameters, changed = self._worlds.parameters, np.zeros(len(self._worlds), bool)
        for randomised in self.recurring:
            is_due = occurs[:, randomised.schedule]
            due = np.flatnonzero(is_due)
            if len(due):
                randomised.draw(parameters, due, key[due], steps[due])
                accept_drawn([randomised], parameters)
                changed |= is_due
        return np.flatnonzero(changed).astype(np.int32)


def chosen_worlds(where: ArrayLike | None, n: int) -> NDArray[np.int32]:
    """Return the numbers of the worlds that a mask (n,) or numbers choose, all for None.

    Raises:
        SimulationError: it is neither.
    """
    if where is None:
        return np.arange(n, dtype=np.int32)
    given = np.atleast_1d(np.asarray(where))
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given).astype(np.int32)
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n):
        problem = f"must be a mask ({n},) or numbers from 0 to {n - 1}"
        raise SimulationError("where", f"{problem}; got {given.dtype} {given.shape}")
    return np.unique(given.astype(np.int32))
