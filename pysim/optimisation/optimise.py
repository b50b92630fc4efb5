"""`optimise`: the numbers of a scene that minimise a quantity, or the squares of signals, of its run.

    best = pysim.optimise("linkage.toml", {"parameters.crank": [0.05, 0.2]}, residuals=["deviation.x", "deviation.y"])

SciPy searches; a point and its neighbours, from which slopes follow, run together in packs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim.errors import SimulationError, did_you_mean
from pysim.optimisation.evaluation import Evaluation, start_failed
from pysim.optimisation.problem import problem_of, signals_read
from pysim.simulation import load_scene
from pysim.sweeps.parameters import unit_samples, whole_number
from pysim.sweeps.pieces import PieceRunner
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from scipy.optimize import OptimizeResult

    from pysim.optimisation.problem import Bounds
    from pysim.worlds.loading import Scene

METHODS = ("local", "global")
TOLERANCE = 1e-10  # of the numbers, of their range, and of the objective
FAILED = 1e30  # objective of a world that fails
FEASIBLE = 1e-6  # of a constraint's size


@dataclass(frozen=True)
class OptimisationUpdate:
    """Progress of an optimisation."""

    worlds: int  # that have run
    value: float  # of the objective, the least so far


class OptimisationProgress(Protocol):
    """Callback that is called after each step of the search."""

    def __call__(self, update: OptimisationUpdate, /) -> None: ...


@dataclass(frozen=True)
class Optimum:
    """The best numbers that were found.

    Attributes:
        numbers: by the path of their key, as overrides of the scene.
        value: of the objective, half the sum of squares for residuals.
        constraints: the quantities that are bounded, at the optimum.
        success: whether the search ended by its tolerance, within the constraints.
        message: why it ended.
        worlds: how many worlds ran.
        path: the scene's file.
        overrides: further ones of the call.
        allow_code: as it was given.
    """

    numbers: dict[str, float]
    value: float
    constraints: dict[str, float]
    success: bool
    message: str
    worlds: int
    path: Path
    overrides: Mapping[str, Any]
    allow_code: bool = False

    def scene(self) -> Scene:
        """Return the scene with these numbers; its `save` writes it."""
        return load_scene(self.path, {**self.overrides, **self.numbers}, self.allow_code)


def optimise(
    scene: str | PathLike[str],
    numbers: Mapping[str, Bounds] | None = None,
    *,
    minimise: str | None = None,
    residuals: Sequence[str] | str | None = None,
    constraints: Mapping[str, Bounds] | None = None,
    method: str = "local",
    starts: int = 1,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    most_steps: int = 200,
    overrides: Mapping[str, Any] | None = None,
    threads: int = 0,
    progress: OptimisationProgress | None = None,
    allow_code: bool = False,
) -> Optimum:
    """Return the numbers of a scene that minimise a quantity of its run, within bounds and constraints.

    What is not given is taken from the scene's `[optimise]` table. Quantities are SIGNAL.STATISTIC, with the signals
    and statistics of a sweep: end, min, max, mean and rms; SIGNAL alone is its value at the end.

    Args:
        scene: the `.toml` file.
        numbers: [lower, upper] or [lower, upper, start] by the path of a key, in SI units; by default the start is the
            number in the scene.
        minimise: a quantity.
        residuals: signals, half the sum of whose squares over all outputs is minimised instead, by Gauss and Newton's
            method: for curves and motions that are to follow others.
        constraints: [lower, upper] by quantity; one of them may be infinite.
        method: "local", by slopes from the start: `scipy.optimize.least_squares` for residuals without constraints,
            SLSQP otherwise; or "global", differential evolution within the bounds and "local" from its end.
        starts: of "local": the start and points of a Sobol sequence within the bounds; the best end counts.
        seed: of these points and of "global".
        tolerance: at which a search ends, of the range of the numbers and of the objective.
        most_steps: of a search.
        overrides: other keys of the scene, as `load_scene` takes them.
        threads: that share the worlds; 0 uses every processor.
        progress: called after each step with an `OptimisationUpdate`.
        allow_code: whether the scene may name programs to run.

    Raises:
        SimulationError: a key, quantity or bound is invalid, or the start cannot be run.
    """
    path, shared = Path(scene), dict(overrides or {})
    if method not in METHODS:
        raise SimulationError("method", f"there is no {method!r}{did_you_mean(method, METHODS)}")
    count = whole_number("starts", starts, 1)
    problem = problem_of(path, shared, numbers, minimise, residuals, constraints)
    first = dict(zip(problem.names, problem.start.tolist(), strict=True))
    start_scene = load_scene(path, {**shared, **first}, allow_code)
    signals, records = signals_read(problem, start_scene), list(problem.residuals)
    runner = PieceRunner(str(path), shared, signals, records, threads, allow_code)
    evaluation = Evaluation(problem, runner)
    search = _Search(evaluation, tolerance, whole_number("most_steps", most_steps, 1), progress)
    ends = search.globally(seed) if method == "global" else search.from_starts(count, seed)
    best = min(ends, key=lambda end: (not search.is_feasible(end.values), end.value))
    is_feasible = search.is_feasible(best.values)
    quantities = best.values[search.objectives : search.objectives + len(problem.constraints)]
    message = best.message if is_feasible else "no numbers within the bounds keep the constraints"
    best_numbers = {key: float(value[0]) for key, value in problem.values(best.point[None]).items()}
    bounded = dict(zip(problem.constraints, quantities.tolist(), strict=True))
    return Optimum(
        best_numbers, best.value, bounded, best.success and is_feasible, message, evaluation.worlds, path, shared,
        allow_code,
    )  # fmt: skip


@dataclass(frozen=True)
class _End:
    """End of a search: its point in the unit cube, and the quantities there."""

    point: Array
    values: Array  # quantities and residuals there
    value: float  # of the objective
    success: bool
    message: str


class _Search:
    """Searches of one problem."""

    def __init__(
        self,
        evaluation: Evaluation,
        tolerance: float,
        most_steps: int,
        progress: OptimisationProgress | None,
    ) -> None:
        self.evaluation, self.problem = evaluation, evaluation.problem
        self.tolerance, self.most_steps, self.progress = tolerance, most_steps, progress
        self.objectives = 1 if self.problem.minimise else 0  # rows before those of the constraints
        self._first = self.objectives + len(self.problem.constraints)  # row of the residuals
        self._least = math.inf
        size = self.problem.upper - self.problem.lower
        self.start = np.clip((self.problem.start - self.problem.lower) / size, 0.0, 1.0)

    def from_starts(self, count: int, seed: int) -> list[_End]:
        """Return the ends of searches from the start and from further points."""
        starts = [self.start]
        if count > 1:
            starts += list(unit_samples("sobol", count - 1, len(self.start), seed))
        return [
            end for k, start in enumerate(starts) if (end := self._local(start, is_first=not k))
        ]

    def globally(self, seed: int) -> list[_End]:
        """Return the end of a local search from that of a differential evolution."""
        from scipy.optimize import differential_evolution  # noqa: PLC0415

        def objectives(points: Array) -> Array:
            values = self.evaluation.many(np.clip(points.T, 0.0, 1.0))
            found = np.array([self._objective(row) + FAILED * self._excess(row) for row in values])
            return np.where(np.isfinite(found), found, FAILED)

        found = differential_evolution(
            objectives, [(0.0, 1.0)] * len(self.start), vectorized=True, updating="deferred", rng=seed,
            maxiter=self.most_steps, polish=False, tol=1e-3, x0=self.start,
            callback=lambda intermediate_result: self._report(intermediate_result.fun),
        )  # fmt: skip
        end = self._local(np.clip(found.x, 0.0, 1.0), is_first=True)
        return [] if end is None else [end]

    def is_feasible(self, values: Array) -> bool:
        """Return whether quantities keep the constraints."""
        return self._excess(values) <= FEASIBLE

    def _excess(self, values: Array) -> float:
        """Return the largest relative amount by which a quantity is beyond its bounds, 0 if none is."""
        found = values[self.objectives : self._first]
        beyond = [
            max(low - x, x - high, 0.0) / max(abs(low if x < low else high), 1.0)
            for x, (low, high) in zip(found, self.problem.constraints.values(), strict=True)
        ]
        return max(beyond, default=0.0)

    def _objective(self, values: Array) -> float:
        if self.problem.minimise:
            return float(values[0])
        residuals = values[self._first :]
        return float(0.5 * residuals @ residuals)

    def _local(self, start: Array, *, is_first: bool) -> _End | None:
        """Return the end of a search by slopes; None from a further start that fails."""
        values, slopes = self.evaluation.at(start)
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            if is_first:
                raise start_failed(self.evaluation)
            return None
        self._report(self._objective(values))
        least_squares = self.problem.residuals and not self.problem.constraints
        return self._by_residuals(start) if least_squares else self._by_slopes(start)

    def _by_residuals(self, start: Array) -> _End:
        from scipy.optimize import least_squares  # noqa: PLC0415, takes a second to import

        def residuals(point: Array) -> Array:
            values, _ = self.evaluation.at(point)
            self._report(self._objective(values))
            return values[self._first :]

        inside = np.clip(start, 1e-10, 1 - 1e-10)
        found = least_squares(
            residuals, inside, lambda point: self.evaluation.at(point)[1][self._first :],
            bounds=(0.0, 1.0), xtol=self.tolerance, ftol=None, gtol=None, max_nfev=self.most_steps,
        )  # fmt: skip
        return self._end(found)

    def _by_slopes(self, start: Array) -> _End:
        from scipy.optimize import minimize  # noqa: PLC0415, takes a second to import

        size = abs(self._objective(self.evaluation.at(start)[0])) or 1.0

        def objective(point: Array) -> tuple[float, Array]:
            values, slopes = self.evaluation.at(point)
            if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
                return FAILED, np.zeros(len(point))
            self._report(self._objective(values))
            if self.problem.minimise:
                return float(values[0]) / size, slopes[0] / size
            residuals = values[self._first :]
            return self._objective(values) / size, residuals @ slopes[self._first :] / size

        found = minimize(
            objective, start, jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * len(start),
            constraints=self._inequalities(), options={"ftol": self.tolerance**1.5, "maxiter": self.most_steps},
        )  # fmt: skip
        return self._end(found)

    def _end(self, found: OptimizeResult) -> _End:
        """Return where SciPy's search ended."""
        point = np.clip(found.x, 0.0, 1.0)
        values, _ = self.evaluation.at(point)
        value = self._objective(values)
        return _End(point, values, value, bool(found.success), str(found.message))

    def _inequalities(self) -> list[dict[str, Any]]:
        """Return the bounds of quantities, equal ones as equations."""
        found = []
        for k, (low, high) in enumerate(self.problem.constraints.values(), self.objectives):
            kinds = (
                [("eq", 1.0, low)] if low == high else [("ineq", 1.0, low), ("ineq", -1.0, high)]
            )
            found += [self._inequality(k, *kind) for kind in kinds if math.isfinite(kind[2])]
        return found

    def _inequality(self, row: int, kind: str, sign: float, bound: float) -> dict[str, Any]:
        scale = sign / max(abs(bound), 1.0)

        def value(point: Array) -> float:
            return scale * float(self.evaluation.at(point)[0][row] - bound)

        def slope(point: Array) -> Array:
            return np.asarray(scale * self.evaluation.at(point)[1][row])

        functions: dict[str, Callable[[Array], Any]] = {"fun": value, "jac": slope}
        return {"type": kind, **functions}

    def _report(self, value: float) -> None:
        self._least = min(self._least, float(value))
        if self.progress is not None:
            self.progress(OptimisationUpdate(self.evaluation.worlds, self._least))
