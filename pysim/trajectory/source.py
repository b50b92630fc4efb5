"""Source of signals from recorded runs: coordinates, velocities and signals of a trajectory file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Source, source
from pysim.elements.interpolation import hermite, pieces
from pysim.elements.library.sources import OUTSIDE, check_choice, domain_of, inside
from pysim.errors import PysimError, did_you_mean
from pysim.tracing.piecewise import piecewise
from pysim.trajectory.reader import load_trajectory
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.trajectory.record import Trajectory


@source("trajectory")
class RecordedRun(Source):
    """Coordinate, velocity or signal of a trajectory file.

    Between two rows a coordinate is the quintic polynomial with their values, velocities and accelerations; a velocity
    or signal is a natural cubic spline.
    """

    file: str  # trajectory file
    column: str  # coordinate, signal, or "v." and the name of a velocity
    outside: str = "error"  # error, hold or periodic

    def __post_init__(self) -> None:
        check_choice(self, "outside", OUTSIDE)

    def output(self, t: Any) -> Any:  # noqa: ANN401, symbolic numbers
        run = self._run()
        x = inside(t, run.t, self.outside)
        columns = [piecewise(x, run.t, part) for part in self._parts(run)]
        return columns[0] if len(columns) == 1 else columns

    def domain(self) -> tuple[float, float]:
        """Return the times [s] between which the signal is defined."""
        return domain_of(self._run().t, self.outside)

    def _run(self) -> Trajectory:
        run = load_trajectory(self.file)
        if len(run) < 2:
            problem = f"has {len(run)} rows; a signal needs two or more"
            raise PysimError(self.file, f"{problem}, so record a longer run")
        return run

    def _parts(self, run: Trajectory) -> list[Array]:
        """Return the pieces of each number of the column."""
        header = run.header
        coordinates, velocities = header.coordinate_names, header.velocity_names
        if self.column in coordinates:
            q = run.q[:, coordinates.index(self.column)]
            if self.column not in velocities:
                return [pieces(run.t, q, "natural")]
            k = velocities.index(self.column)
            self._check_finite(run.a[:, k])
            return [hermite(run.t, q, run.v[:, k], run.a[:, k])]
        if self.column.startswith("v.") and self.column[2:] in velocities:
            v = run.v[:, velocities.index(self.column[2:])]
            return [pieces(run.t, v, "natural")]
        if self.column in run.signals:
            values = np.atleast_2d(run.signals[self.column].T)
            self._check_finite(values)
            return [pieces(run.t, row, "natural") for row in values]
        known = [*coordinates, *run.signals, *(f"v.{name}" for name in velocities)]
        problem = f"has no coordinate, velocity or signal {self.column!r}"
        raise PysimError(self.file, f"{problem}{did_you_mean(self.column, known)}")

    def _check_finite(self, values: Array) -> None:
        if not np.isfinite(values).all():
            problem = f"{self.column!r} has infinite values, between which there is no curve"
            raise PysimError(self.file, f"{problem}; take a run or a signal without")
