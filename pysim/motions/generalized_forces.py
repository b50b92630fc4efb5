"""Inverse dynamics of a measured motion: the generalised forces that it needs besides loads from the ground.

    τ = M(q) v̇ + h(q, v) − Σ Jᵀ f

q(t) is the quintic spline through the configurations. With a cutoff they are filtered before: by a Butterworth filter
of third order, forwards and backwards, of the motion continued by half of its length at both ends, as in OpenSim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import frame_placement, jacobian, rnea
from pysim.errors import TrajectoryError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

DEGREE = 5  # of the spline through the configurations
STEP = 0.02  # of the time between rows, in differences along a group
ORDER = 3  # of the filter, applied forwards and backwards


@dataclass(frozen=True)
class GroundLoad:
    """Load on a body, as of a force plate: all in the world's axes."""

    body: str
    force: Array  # (n, 3) [N]
    point: Array  # (n, 3) [m] at which it acts
    torque: Array | None = None  # (n, 3) [N·m], free


def inverse_dynamics(
    model: Model,
    times: ArrayLike,
    q: ArrayLike,
    loads: Sequence[GroundLoad] = (),
    *,
    cutoff: float | None = None,
) -> Array:
    """Return the generalised forces (n, nv) [N or N·m] that a motion needs.

    Constraints of loops, couplings and locks carry no load here. Joints with quaternions are differentiated along the
    group.

    Args:
        model: the mechanism.
        times: (n,) [s], at least six.
        q: configurations (n, nq).
        loads: on bodies, at the same times.
        cutoff: of the low-pass filter [Hz], none by default; it needs equal steps of time.

    Raises:
        TrajectoryError: too few instants, unequal steps for a filter, or loads of another length.
    """
    q0, v, a = smooth_motion(model, times, q, cutoff)
    return forces_of_motion(model, q0, v, a, loads)


def forces_of_motion(
    model: Model, q: Array, v: Array, a: Array, loads: Sequence[GroundLoad]
) -> Array:
    """Return the generalised forces (n, nv) of configurations (n, nq), velocities and accelerations (n, nv)."""
    tau = np.asarray(rnea(model, q, v, a))
    for load in loads:
        tau = tau - _generalized(model, q, load)
    return tau


def smooth_motion(
    model: Model, times: ArrayLike, q: ArrayLike, cutoff: float | None
) -> tuple[Array, Array, Array]:
    """Return q, v and v̇ of the spline through displacements from the first configuration."""
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415, loads when first used

    t, q = np.asarray(times, float), np.asarray(q, float)
    if len(t) <= DEGREE or q.shape != (len(t), model.nq):
        problem = f"needs {DEGREE + 1} instants or more with {model.nq} coordinates, got {q.shape}"
        raise TrajectoryError("motion", f"{problem}; give more rows")
    first = q[0]
    real = model.nq == model.nv
    moved = q - first if real else np.stack([model.difference(first, row) for row in q])
    whole, rows, start = t, moved, 0
    if cutoff is not None:
        whole, rows = _filtered(t, moved, cutoff)
        start = len(t) // 2
    spline, moved = make_interp_spline(whole, rows, k=DEGREE), rows[start : start + len(t)]
    rate, second = spline.derivative(1)(t), spline.derivative(2)(t)
    if real:
        return first + moved, rate, second
    placed = np.stack([model.integrate(first, row) for row in moved])
    step = STEP * float(np.diff(t).min())
    velocity = _group_rates(model, first, spline, t, step)
    after = _group_rates(model, first, spline, t + step, step)
    before = _group_rates(model, first, spline, t - step, step)
    return placed, velocity, (after - before) / (2 * step)


def _group_rates(
    model: Model, first: Array, spline: Callable[[Array], Array], t: Array, step: float
) -> Array:
    """Return v of configurations first ⊕ spline(t), by central differences."""
    pairs = zip(spline(t - step), spline(t + step), strict=True)
    return np.stack(
        [
            model.difference(model.integrate(first, a), model.integrate(first, b)) / (2 * step)
            for a, b in pairs
        ]
    )


def _filtered(t: Array, values: Array, cutoff: float) -> tuple[Array, Array]:
    """Return times and filtered values, continued by n // 2 rows before and after by point reflection in the ends."""
    from scipy.signal import butter, filtfilt  # noqa: PLC0415, loads when first used

    steps = np.diff(t)
    if np.ptp(steps) > 1e-3 * steps.mean():
        problem = f"has steps of time from {steps.min():g} to {steps.max():g} s"
        raise TrajectoryError("motion", f"{problem}; resample it for a filter")
    rate = 1 / steps.mean()
    if not 0 < cutoff < rate / 2:
        problem = f"must be below half of the rate, {rate / 2:g} Hz, got {cutoff:g} Hz"
        raise TrajectoryError("cutoff", f"{problem}; reduce it")
    b, a = butter(ORDER, cutoff / (rate / 2))
    n = len(t) // 2

    def continued(x: Array) -> Array:
        return np.concatenate([2 * x[0] - x[n:0:-1], x, 2 * x[-1] - x[-2 : -n - 2 : -1]])

    return continued(t), np.asarray(filtfilt(b, a, continued(values), axis=0, padlen=0))


def _generalized(model: Model, q: Array, load: GroundLoad) -> Array:
    """Return Jᵀ f (n, nv) of a load."""
    force, point = np.asarray(load.force, float), np.asarray(load.point, float)
    torque = np.zeros_like(force) if load.torque is None else np.asarray(load.torque, float)
    for name, rows in (("force", force), ("point", point), ("torque", torque)):
        if rows.shape != (len(q), 3):
            problem = f"has {name} of shape {rows.shape}, not {(len(q), 3)}"
            raise TrajectoryError(f"load on {load.body!r}", f"{problem}; resample it")
    X = np.asarray(frame_placement(model, q, load.body))
    moment = torque + np.cross(point - X[..., :3, 3], force)
    J = np.asarray(jacobian(model, q, load.body, expressed="aligned"))
    wrench = np.concatenate([force, moment], axis=1)
    return np.asarray(np.einsum("nij,ni->nj", J, wrench))
