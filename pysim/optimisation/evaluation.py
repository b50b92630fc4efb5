"""Values and slopes of a problem: the worlds of a point and of its neighbours run together, in packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.optimisation.problem import Problem
from pysim.sweeps.signal_statistics import STATISTICS, split_quantity
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.sweeps.pieces import PieceRunner

# distance of neighbours in the unit cube, at which truncation and rounding errors are alike
RELATIVE_DIFFERENCE = float(np.finfo(float).eps) ** (1 / 3)
PIECE = 256  # worlds that run together


class Evaluation:
    """Objective, residuals and constraints at points of the unit cube, with their slopes.

    Args:
        problem: with n numbers.
        runner: of the worlds, which records the problem's signals.
    """

    def __init__(self, problem: Problem, runner: PieceRunner) -> None:
        self.problem, self._runner = problem, runner
        self.worlds = 0  # that have run
        self._point: Array | None = None
        self._values: Array = np.empty(0)
        self._slopes: Array = np.empty(0)
        quantities, _ = problem.signals
        places = [split_quantity(name, runner.signals, "the scene") for name in quantities]
        self._rows = [runner.signals.index(signal) for signal, _ in places]
        self._columns = [STATISTICS.index(statistic) for _, statistic in places]
        self.failure = ""  # of the first world that failed last

    def many(self, points: Array) -> Array:
        """Return quantities and residuals (worlds, m) at points (worlds, n); NaN for a world that fails."""
        return np.concatenate(
            [self._piece(x) for x in np.split(points, range(PIECE, len(points), PIECE))]
        )

    def at(self, point: Array) -> tuple[Array, Array]:
        """Return quantities and residuals (m,) at a point (n,), and their slopes (m, n) by central differences.

        A point beyond the bounds is that at them, where the differences are one-sided, of the same order.
        """
        point = np.clip(point, 0.0, 1.0)
        if self._point is None or not np.array_equal(point, self._point):
            n = len(point)
            side = np.where(
                point < RELATIVE_DIFFERENCE,
                1.0,
                np.where(point > 1 - RELATIVE_DIFFERENCE, -1.0, 0.0),
            )
            first = np.where(side == 0, -1.0, side)  # in steps
            second = np.where(side == 0, 1.0, 2 * side)
            steps = np.concatenate([np.diag(first), np.diag(second)]) * RELATIVE_DIFFERENCE
            found = self.many(np.vstack([point, point + steps]))
            here, one, two = found[0], found[1 : n + 1], found[n + 1 :]
            central = (two - one) / (2 * RELATIVE_DIFFERENCE)
            one_sided = side[:, None] * (4 * one - 3 * here - two) / (2 * RELATIVE_DIFFERENCE)
            self._values = here
            self._slopes = np.where(side[:, None] == 0, central, one_sided).T
            self._point = point
        return self._values, self._slopes

    def _piece(self, points: Array) -> Array:
        result = self._runner.run(self.problem.values(points), self.worlds)
        self.worlds += len(points)
        self.failure = next((text for text in result.failures if text), "")
        quantities = result.summary[:, self._rows, self._columns]
        residuals = result.series.reshape(len(points), -1)
        found = np.hstack([quantities, residuals])
        found[[bool(text) for text in result.failures]] = np.nan
        return np.asarray(found)


def start_failed(evaluation: Evaluation) -> SimulationError:
    """Return the error of a start that cannot be run."""
    reason = evaluation.failure or "its objective is not finite"
    return SimulationError("optimise", f"the start fails: {reason}")
