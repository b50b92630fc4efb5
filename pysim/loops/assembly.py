"""Closing the loops of a start state, by the smallest motion from where the user put it.

    q ← q ⊕ s δ,   δ = −L⁻ᵀ A⁺ g,  A = J L⁻ᵀ,  M = L Lᵀ        Gauss-Newton in the norm of M, 0 < s ≤ 1
    v ← v − L⁻ᵀ A⁺ J v

Coordinates that are held keep their start; the others move. Steps are kept short, so the branch that is nearest to the
start is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba, frame_placement
from pysim.errors import ModelError
from pysim.loops.constraints import Constraints, constraints

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray

    from pysim.model import Model

    Array = NDArray[np.float64]

CLOSED = 1e-12  # [m, rad] residual at which a loop is closed
REQUIRED = 1e-10
_TRIES = 200
_LONGEST = 0.3  # [m or rad] of one step of a coordinate
_LEAST_GAIN = 1e-3  # of the residual, in _PATIENCE steps; with less it stands still
_PATIENCE = 10
_KICKS = (1e-3, 1e-2, 0.1, 0.5)  # [m or rad] aside of a start from which nothing is gained
_FLAT = 1e-6  # [rad] a wheel's axis from the normal of its plane
_DEPENDENT = 1e-9  # singular values below this times the largest are none


@dataclass(frozen=True)
class Assembled:
    """A state on the constraints."""

    q: Array
    v: Array
    loop_q: Array
    residual: float  # [m, rad]
    moved: float  # largest change of a coordinate of the start [m or rad]


def assemble(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    hold: Collection[str] = (),
    loop_q: ArrayLike | None = None,
) -> Assembled:
    """Return the state nearest to q (nq,), v (nv,) in which every loop is closed and every coupling holds.

    Args:
        model: the mechanism.
        q: where the start is sought.
        v: start velocity; zero by default.
        hold: joints and names of `model.velocity_names` that keep their start.
        loop_q: where the loops' joints are sought first (loop_nq,).

    Raises:
        ModelError: a loop does not close, or a velocity cannot be held; named with what is left. A row is no number.
    """
    start = np.array(q, float)
    rate = np.zeros(model.nv) if v is None else np.array(v, float)
    free = _free(model, hold)
    _refuse_no_number(model, constraints(model, start, loop_q=loop_q))
    best, at = _closed(model, start, loop_q, free)
    for kick in _KICKS:  # a start at a dead point has no direction of its own
        if _largest(at) <= REQUIRED or not len(free):
            break
        other = np.zeros(model.nv)
        other[free] = kick * np.random.default_rng(5).uniform(-1, 1, len(free))
        found, there = _closed(model, model.integrate(start, other), loop_q, free)
        best, at = (found, there) if _size(there) < 0.9 * _size(at) else (best, at)
    worst = _largest(at)
    if worst > REQUIRED:
        raise ModelError(*_not_closed(model, at))
    _refuse_flat_wheels(model, best)
    M = crba(model, best)
    A, L = _reduced(at.jacobian, M, free)
    correction = np.linalg.solve(L.T, np.linalg.pinv(A, _DEPENDENT) @ (at.jacobian @ rate))
    rate[free] -= correction
    slip = at.jacobian @ rate
    if model.rows and np.abs(slip).max() > REQUIRED * max(1.0, np.abs(rate).max()):
        name = _worst(model, slip)
        problem = (
            f"loop {name!r} cannot move as the held start velocities say, {np.abs(slip).max():.3g} [m/s, rad/s] "
            "is left; hold fewer joints, or change their start velocities"
        )
        raise ModelError(_where(model, name), problem)
    moved = float(np.abs(model.difference(start, best)).max(initial=0.0))
    return Assembled(best, rate, at.loop_q, worst, moved)


def _refuse_flat_wheels(model: Model, q: Array) -> None:
    """Refuse a start in which a wheel lies on its plane: it touches all around, and rolls in no direction."""
    for loop in model.spec.loops:
        if loop.type != "wheel_on_plane":
            continue
        X_WA, X_WB = _pose(model, q, loop.a) @ loop.at_a, _pose(model, q, loop.b) @ loop.at_b
        normal = X_WB[:3, :3].T @ X_WA[:3, 2]  # of the plane, in frame B
        if np.hypot(normal[0], normal[1]) < _FLAT:
            problem = f"the wheel of loop {loop.name!r} lies flat on its plane; turn its axis, z of frame B, aside"
            raise ModelError(_where(model, loop.name), problem)


def _pose(model: Model, q: Array, body: str) -> Array:
    """Pose (4, 4) of a body, or of the world, in the world."""
    return np.eye(4) if body == "world" else frame_placement(model, q, body)


def _closed(
    model: Model, q: Array, loop_q: ArrayLike | None, free: NDArray[np.intp]
) -> tuple[Array, Constraints]:
    """Gauss-Newton with short steps, until closed or until nothing is gained any more."""
    at = constraints(model, q, loop_q=loop_q)
    history = [_size(at)]
    for _ in range(_TRIES):
        if _largest(at) <= CLOSED or not len(free):
            break
        if len(history) > _PATIENCE and history[-1] > (1 - _LEAST_GAIN) * history[-1 - _PATIENCE]:
            break
        A, L = _reduced(at.jacobian, crba(model, q), free)
        step = np.zeros(model.nv)
        step[free] = -np.linalg.solve(L.T, np.linalg.pinv(A, _DEPENDENT) @ at.residual)
        scale = min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300))
        q, at = _searched(model, q, at, scale * step)
        history.append(_size(at))
    return q, at


def _searched(model: Model, q: Array, at: Constraints, step: Array) -> tuple[Array, Constraints]:
    """The state along a step, the step halved until the residual shrinks."""
    there, found = q, at
    for scale in 0.5 ** np.arange(12):
        there = model.integrate(q, scale * step)
        found = constraints(model, there, loop_q=at.loop_q)
        if _size(found) < _size(at):
            return there, found
    return (there, found) if _size(found) < _size(at) else (q, at)


def _free(model: Model, hold: Collection[str]) -> NDArray[np.intp]:
    """Indices of velocities that may move."""
    held = np.zeros(model.nv, bool)
    for joint, at, nv in zip(model.joint_names, model.v_offsets, model.joint_nv, strict=True):
        if joint in hold and at >= 0:
            held[at : at + nv] = True
    held |= np.isin(model.velocity_names, list(hold))
    return np.flatnonzero(~held)


def _reduced(J: Array, M: Array, free: NDArray[np.intp]) -> tuple[Array, Array]:
    """(J L⁻ᵀ, L) on the coordinates that may move."""
    L = np.asarray(np.linalg.cholesky(M[np.ix_(free, free)]), float)
    return np.asarray(np.linalg.solve(L, J[:, free].T).T), L


def _size(at: Constraints) -> float:
    return float(np.linalg.norm(at.residual))


def _largest(at: Constraints) -> float:
    return float(np.abs(at.residual).max(initial=0.0))


def _worst(model: Model, rows: Array) -> str:
    return model.row_names[int(np.abs(rows).argmax())]


def _where(model: Model, name: str) -> str:
    """The place of a loop or coupling in its file."""
    places = {loop.name: loop.where for loop in model.spec.loops}
    places |= {coupling.name: coupling.where for coupling in model.spec.couplings}
    return places[name]


def _refuse_no_number(model: Model, at: Constraints) -> None:
    """Refuse a plugin's joint or function that is NaN or infinite at the start, or whose slope is."""
    lost = ~np.isfinite(at.residual) | ~np.isfinite(at.jacobian).all(axis=1)
    if lost.any():
        name = model.row_names[int(lost.argmax())]
        problem = (
            f"what {name!r} asks of the start is no finite number; start where its function and the slope of that are "
            "finite, or mend the plugin"
        )
        raise ModelError(_where(model, name), problem)


def _not_closed(model: Model, at: Constraints) -> tuple[str, str]:
    """Where and what is open."""
    left: dict[str, float] = {}
    for name, g in zip(model.row_names, np.abs(at.residual).tolist(), strict=True):
        left[name] = max(g, left.get(name, 0.0))
    open_loops = sorted((n for n in left if left[n] > REQUIRED), key=lambda n: -left[n])
    told = ", ".join(f"{name!r} ({left[name]:.3g})" for name in open_loops[:5])
    remedy = "start nearer to a closed configuration, hold fewer joints, or change lengths"
    problem = f"loop {told} cannot be closed, so much is left [m, rad]; {remedy}"
    if len(open_loops) > 1:
        problem = (
            f"loops {told} cannot be closed together, so much is left [m, rad]: they contradict each other, or the "
            f"start is too far away; {remedy}"
        )
    return _where(model, open_loops[0]), problem
