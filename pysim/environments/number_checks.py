"""Errors of numbers that are not finite: the signal, the world, and the table that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pysim.environments.observed import Observed
    from pysim.environments.plan import Plan
    from pysim.environments.table_places import TablePlaces
    from pysim.simulation.worlds import Worlds
    from pysim.typing import Array

END, REWARD, OBSERVATION = 1, 2, 4  # bits of the engine's faults


class NumberChecks:
    """Requires that numbers of an environment are finite in worlds that are not lost.

    Args:
        plan: of the environment.
        places: of the keys of its tables.
        observed: the signals that it reads.
        worlds: of the scene.
    """

    def __init__(self, plan: Plan, places: TablePlaces, observed: Observed, worlds: Worlds) -> None:
        self._plan, self._places, self._observed, self._worlds = plan, places, observed, worlds

    def raise_first(self, faults: int, numbers: Array, terms: Array) -> None:
        """Raise the error of the first number that is not finite.

        Args:
            faults: of the engine, a bit for each kind of table.
            numbers: (n, numbers) that the engine has read.
            terms: (n, rewards).
        """
        plan = self._plan
        for k, end in enumerate(plan.ends if faults & END else ()):
            self.check_signal(("end", k), end.signal, numbers)
        for k, reward in enumerate(plan.rewards if faults & REWARD else ()):
            self._check(terms[:, k : k + 1], ("reward", k), reward.signal)
        for k, own in enumerate(plan.observed if faults & OBSERVATION else ()):
            self.check_signal(("observations", k), own.signal, numbers)

    def check_signal(self, keys: tuple[str | int, ...], name: str, numbers: Array) -> None:
        """Require that a signal among numbers (n, numbers) is finite."""
        self._check(numbers[:, self._observed.columns(name)], keys, name)

    def _check(self, x: Array, keys: tuple[str | int, ...], signal: str) -> None:
        wrong = np.argwhere(~np.isfinite(x) & ~np.asarray(self._worlds.lost)[:, None])
        if len(wrong):
            world, column = (int(i) for i in wrong[0])
            problem = f"is {x[world, column]} in world {world} at {self._worlds.t[world]:g} s"
            raise self._places.error(keys, f"{problem}; look at the signal {signal!r}")
