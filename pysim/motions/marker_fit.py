"""Configurations in which the markers of a model are nearest to measured ones, at every instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import frame_placement
from pysim.errors import TrajectoryError, did_you_mean
from pysim.loops.inverse_kinematics import inverse_kinematics
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.motions.marker_files import Markers

FEWEST_MARKERS = 1  # markers that an instant needs


@dataclass(frozen=True)
class MarkerFit:
    """Configurations of a model that follow markers."""

    times: Array  # (n,) [s]
    q: Array  # (n, nq)
    names: tuple[str, ...]  # of the k markers that were fitted
    errors: Array  # (n, k) [m] distances, NaN of hidden markers

    @property
    def rms(self) -> float:
        """Root mean square of the distances [m]."""
        return float(np.sqrt(np.nanmean(self.errors**2)))


def fit_markers(
    model: Model,
    markers: Markers,
    weights: Mapping[str, float] | None = None,
    q0: ArrayLike | None = None,
    *,
    iterations: int = 40,
) -> MarkerFit:
    """Return the configurations with the least weighted squares of the distances of markers.

    Markers are frames of the model with the same names; others are left out. Every instant starts from the solution of
    the first one, so that instants are independent of each other.

    Args:
        model: the mechanism.
        markers: measured positions in the world.
        weights: of each marker, 1 by default, 0 to leave one out.
        q0: configuration (nq,) from which the first instant starts; `model.neutral()` by default.
        iterations: steps of an instant.

    Raises:
        TrajectoryError: no marker is a frame of the model, an instant has none, or a weight names none.
    """
    weight_of = dict(weights or {})
    for name, weight in weight_of.items():
        if name not in markers.names:
            known = did_you_mean(name, markers.names)
            raise TrajectoryError(f"weight of {name!r}", f"names no marker of the file{known}")
        if not (np.isfinite(weight) and weight >= 0):
            problem = f"must not be negative, got {weight!r}"
            raise TrajectoryError(f"weight of {name!r}", f"{problem}; give 0 or more")
    known_frames = {*model.frame_names, *model.body_names}
    names = tuple(n for n in markers.names if n in known_frames and weight_of.get(n, 1.0) > 0)
    if not names:
        problem = f"no marker is a frame of {model.name!r}"
        known = did_you_mean(markers.names[0], model.frame_names)
        raise TrajectoryError(f"markers {', '.join(markers.names[:5])}", f"{problem}{known}")
    measured = markers.positions[:, [markers.names.index(name) for name in names]]
    seen = np.asarray(np.isfinite(measured).all(axis=2))
    for k in np.flatnonzero(seen.sum(axis=1) < FEWEST_MARKERS):
        raise TrajectoryError(
            f"markers at {markers.times[k]:g} s", "are all hidden; cut the instant"
        )
    start = np.asarray(model.neutral() if q0 is None else q0, float)
    q = np.empty((len(markers.times), model.nq))
    first = _solve(model, names, measured[:1], seen[0], weight_of, start, iterations)[0]
    for pattern in np.unique(seen, axis=0):
        rows = np.flatnonzero((seen == pattern).all(axis=1))
        q[rows] = _solve(model, names, measured[rows], pattern, weight_of, first, iterations)
    placed = np.stack([frame_placement(model, q, name)[..., :3, 3] for name in names], axis=1)
    errors = np.linalg.norm(placed - measured, axis=2)
    return MarkerFit(markers.times, q, names, np.where(seen, errors, np.nan))


def _solve(
    model: Model,
    names: tuple[str, ...],
    measured: Array,
    seen: Array,
    weights: Mapping[str, float],
    start: Array,
    iterations: int,
) -> Array:
    """Return the configurations of instants that see the same markers."""
    chosen = [k for k in range(len(names)) if seen[k]]
    targets = {names[k]: measured[:, k] for k in chosen}
    own = {names[k]: float(np.sqrt(weights.get(names[k], 1.0))) for k in chosen}
    found = inverse_kinematics(
        model, targets, start, weights=own, restarts=0, iterations=iterations
    )
    return found.q
