"""Numbers, objective and constraints of an optimisation, checked against the scene."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.scene import read_optimise
from pysim.scene.toml.includes import read_with_includes
from pysim.scene.toml.overrides import apply_overrides
from pysim.sweeps.parameters import SHARED
from pysim.sweeps.signal_statistics import signal_names, split_quantity
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.worlds.loading import Scene

Bounds = Sequence[float]


@dataclass(frozen=True)
class Problem:
    """Numbers within bounds, an objective and constraints.

    Attributes:
        names: paths of the keys that change.
        lower: (n,), in the units of the keys.
        upper: (n,).
        start: (n,).
        minimise: a quantity, SIGNAL.STATISTIC; "" for least squares.
        residuals: signals, half the sum of whose squares over all outputs is minimised.
        constraints: bounds by quantity.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    start: Array
    minimise: str
    residuals: tuple[str, ...]
    constraints: Mapping[str, tuple[float, float]]

    @property
    def signals(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Quantities and signals that runs have to record."""
        objective = (self.minimise,) if self.minimise else ()
        return (*objective, *self.constraints), self.residuals

    def values(self, points: Array) -> dict[str, Array]:
        """Return the numbers by key at points (worlds, n) of the unit cube between the bounds."""
        numbers = self.lower + points * (self.upper - self.lower)
        return dict(zip(self.names, numbers.T, strict=True))


def problem_of(
    path: Path,
    overrides: Mapping[str, Any],
    numbers: Mapping[str, Bounds] | None,
    minimise: str | None,
    residuals: Sequence[str] | str | None,
    constraints: Mapping[str, Bounds] | None,
) -> Problem:
    """Return the problem of a call, or of the scene's `[optimise]` table where the call says nothing.

    Raises:
        SimulationError: a number without bounds or a start, or no objective, or two.
    """
    table = read_optimise(path, overrides)
    if minimise is None and residuals is None:
        minimise, residuals = table.minimise, table.residuals
    numbers = table.numbers if numbers is None else numbers
    constraints = table.constraints if constraints is None else constraints
    listed = [residuals] if isinstance(residuals, str) else list(residuals or ())
    if bool(minimise) == bool(listed):
        got = "both" if minimise else "none"
        remedy = 'write minimise = "SIGNAL.rms", or residuals = ["SIGNAL"]'
        raise SimulationError(
            "optimise", f"needs one of minimise and residuals, got {got}; {remedy}"
        )
    if not numbers:
        remedy = 'give bounds by key, {"parameters.length": [0.1, 0.5]}, or an [optimise] table'
        raise SimulationError("numbers", f"there are none; {remedy}")
    values = read_with_includes(path).values
    apply_overrides(values, overrides)
    ranges = [_range(values, key, bounds) for key, bounds in numbers.items()]
    lower, upper, start = np.array(ranges).T
    return Problem(
        tuple(numbers), lower, upper, start, minimise or "", tuple(listed),
        {name: _interval(name, bounds) for name, bounds in (constraints or {}).items()},
    )  # fmt: skip


def signals_read(problem: Problem, scene: Scene) -> list[str]:
    """Return the signals that quantities and residuals read.

    Raises:
        SimulationError: the scene has no such signal.
    """
    known = signal_names(scene)
    quantities, residuals = problem.signals
    signals = [split_quantity(name, known, "the scene")[0] for name in quantities]
    for name in residuals:
        if name not in known:
            signal, statistic = split_quantity(name, known, "the scene")
            problem_text = f"is the statistic {statistic!r} of a signal, and residuals are signals"
            raise SimulationError(f"residuals: {name!r}", f"{problem_text}; write {signal!r}")
    return list(dict.fromkeys([*signals, *residuals]))


def _range(values: dict[str, Any], key: str, bounds: Bounds) -> tuple[float, float, float]:
    """Return the lower and upper bound and the start of a number, by default that of the scene's values."""
    if key.split(".", maxsplit=1)[0] in SHARED:
        raise SimulationError(key, "is the same in all worlds; set it in the scene")
    found = np.asarray(bounds, float)
    if found.shape not in ((2,), (3,)) or not np.isfinite(found).all() or not found[0] < found[1]:
        problem = (
            f"must have finite bounds [lower, upper] or [lower, upper, start], got {list(bounds)}"
        )
        raise SimulationError(f"numbers: {key}", f"{problem}; give lower < upper")
    lower, upper = found[:2].tolist()
    start = float(found[2]) if len(found) == 3 else _in_scene(values, key)
    if not lower <= start <= upper:
        problem = f"starts at {start:g}, which is not between {lower:g} and {upper:g}"
        remedy = "widen the bounds, or give a start: [lower, upper, start]"
        raise SimulationError(f"numbers: {key}", f"{problem}; {remedy}")
    return lower, upper, start


def _in_scene(values: dict[str, Any], key: str) -> float:
    """Return the number of a key in the values of a scene."""
    (steps,) = apply_overrides(copy.deepcopy(values), {key: 0.0})
    found: Any = values
    for step in steps:
        is_there = step in found if isinstance(found, dict) else isinstance(found, list)
        found = found[step] if is_there else None
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        problem = "has no number in the scene" if found is None else f"is {found!r} in the scene"
        raise SimulationError(
            f"numbers: {key}", f"{problem}; give its start in SI units: [lower, upper, start]"
        )
    return float(found)


def _interval(name: str, bounds: Bounds) -> tuple[float, float]:
    found = np.asarray(bounds, float)
    if found.shape != (2,) or np.isnan(found).any() or not found[0] <= found[1]:
        problem = f"must have bounds [lower, upper], one may be infinite, got {list(bounds)}"
        raise SimulationError(f"constraints: {name}", f"{problem}; give lower ≤ upper")
    return float(found[0]), float(found[1])
