"""Assembly of a start state: loops are closed by the smallest motion from the state that the user gives.

    q ← q ⊕ s δ,   δ = −L⁻ᵀ A⁺ g,  A = J L⁻ᵀ,  M = L Lᵀ        by loops/closure_solver.py, 0 < s ≤ 1
    v ← v − L⁻ᵀ A⁺ ġ

Held coordinates keep their start; the others move. If the loops cannot be closed in this way, they are closed with
nothing held, and then the held coordinates are moved to their start, as a motor would move them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba, forward_kinematics, frame_placement
from pysim.errors import ModelError, PysimWarning
from pysim.loops.closure_solver import (
    PARALLEL_ANGLE,
    REQUIRED_OF_REDUNDANT,
    ClosureIterate,
    close,
    nearest,
    reduced,
    rounding_of,
)
from pysim.loops.constraints import (
    DEPENDENT,
    Constraints,
    constraints,
    holds_position,
    kind_of_constraint,
    unit_rows,
)
from pysim.loops.mobility import (
    SMALLEST_ANGLE,
    is_independent,
    mobility,
    rows_and_lengths,
    scaled_rows,
)
from pysim.loops.redundant_rows import MORE_DIGITS, redundant_opening
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

REQUIRED = 1e-10  # [m/s, rad/s] largest remaining slip
# [m or rad] random displacement of a start from which the residual does not decrease
_KICK_LENGTHS = (1e-3, 1e-2, 0.1, 0.5)
_GUIDED_STEP = 0.1  # [m or rad] of one step towards what is held, shorter where it does not close
_SHORTEST_STEP = 1e-3
_BRANCH_JUMP = 5.0  # steps: larger changes of the others mean another branch
# of the mechanism's size, or [rad]: left of dimensions written with few digits
_CUT_OFF_DIGITS = 1e-5
_UNNOTICED = 0.1 * REQUIRED_OF_REDUNDANT  # [m, rad] that redundant rows may open without a warning
# times the root of the misfit: how far a start moves, also near a dead centre
_EXPLAINED_FACTOR = 100.0
_ROUNDING = 1e-9  # [m, rad] that a start moves where nothing has to be closed
_FLAT_WHEEL_ANGLE = 1e-6  # [rad] between a wheel's axis and the normal of its plane


@dataclass(frozen=True)
class Assembled:
    """State on the constraints."""

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
        q: initial configuration (nq,).
        v: start velocity; zero by default.
        hold: joints and names of `model.velocity_names` that keep their start.
        loop_q: initial guess of the coordinates of the loops' joints (loop_nq,).

    Raises:
        ModelError: a loop does not close, or closes only far from a start that nearly closes it, a velocity cannot be
            held, or a row is NaN or infinite; the error gives the loop's name and the remaining residual.
    """
    start = np.array(q, float)
    rate = np.zeros(model.nv) if v is None else np.array(v, float)
    free = _free(model, hold)
    begin = constraints(model, start, loop_q=loop_q)
    _refuse_no_number(model, begin)
    best = _closed(model, start, loop_q, free)
    if not best.closed:
        raise ModelError(*_not_closed(model, best))
    best = nearest(model, start, best, free)
    _refuse_leap(model, start, begin, best)
    _warn_of_cut_digits(model, best)
    _refuse_flat_wheels(model, best.q)
    J = best.at.jacobian
    rate[free] -= _correction(model, best, free, J @ rate + best.at.rates)
    _refuse_slip(model, best, rate)
    moved = float(np.abs(model.difference(start, best.q)).max(initial=0.0))
    return Assembled(best.q, rate, best.at.loop_q, best.largest, moved)


def _closed(
    model: Model, start: Array, loop_q: ArrayLike | None, free: NDArray[np.intp]
) -> ClosureIterate:
    """Return the nearest closed configuration, found from the start, or by leading, or from displaced starts."""
    best = close(model, start, loop_q, free)
    if best.closed or not len(free):
        return best
    led = _led(model, start, loop_q, free) if len(free) < model.nv else None
    if led is not None:
        return led
    for kick in _KICK_LENGTHS:
        other = np.zeros(model.nv)
        other[free] = kick * np.random.default_rng(5).uniform(-1, 1, len(free))
        found = close(model, model.integrate(start, other), loop_q, free)
        best = found if found.size < 0.9 * best.size else best
        if best.closed:
            break
    return best


def _led(
    model: Model, start: Array, loop_q: ArrayLike | None, free: NDArray[np.intp]
) -> ClosureIterate | None:
    """Close with nothing held, then lead held coordinates to their start; None if the mechanism locks."""
    here = close(model, start, loop_q, np.arange(model.nv))
    length = _GUIDED_STEP
    while here.closed and length > _SHORTEST_STEP:
        left = model.difference(here.q, start)
        left[free] = 0
        far = np.abs(left).max()
        q = model.integrate(here.q, left * min(1.0, length / max(far, 1e-300)))
        if far <= length:
            q = _put(model, q, start, free)
        there = close(model, q, here.at.loop_q, free)
        moved = np.abs(model.difference(here.q, there.q)).max()
        if not there.closed or moved > _BRANCH_JUMP * length:
            length /= 2
        elif far <= length:
            return there
        else:
            here = there
    return None


def _put(model: Model, q: Array, start: Array, free: NDArray[np.intp]) -> Array:
    """Copy the start's coordinates of joints whose velocities are all held, to the last bit."""
    places = zip(model.q_offsets, model.joint_nq, model.v_offsets, model.joint_nv, strict=True)
    for at_q, nq, at_v, nv in places:
        if at_q >= 0 and not np.isin(np.arange(at_v, at_v + nv), free).any():
            q[at_q : at_q + nq] = start[at_q : at_q + nq]
    return q


def _correction(model: Model, best: ClosureIterate, free: NDArray[np.intp], slip: Array) -> Array:
    """L⁻ᵀ A⁺ ġ of the velocities that may move; rows that are redundant but for their digits hold none back."""
    if not slip.any():
        return np.zeros(len(free))
    A, L = reduced(best.at.jacobian, crba(model, best.q), free)
    least = SMALLEST_ANGLE if _agree_to_digits(model, best) else DEPENDENT
    scale = (
        rows_and_lengths(model, best.q, best.at)[1]
        if least == SMALLEST_ANGLE
        else np.ones((len(A), 1))
    )
    return np.asarray(np.linalg.solve(L.T, np.linalg.pinv(A / scale, least) @ (slip / scale[:, 0])))


def _agree_to_digits(model: Model, best: ClosureIterate) -> bool:
    """Return whether redundant rows agree up to a small angle here and nearby; at a singular position only here."""
    rows = scaled_rows(model, best.q, best.at.loop_q)
    if is_independent(rows):
        return False
    sines = np.linalg.svd(rows, compute_uv=False)
    if not ((sines > DEPENDENT) & (sines <= SMALLEST_ANGLE)).any():
        return False
    angles = np.linalg.svd(unit_rows(model, best.at), compute_uv=False)
    if (angles > SMALLEST_ANGLE).all():  # very light bodies make rows alike in the norm of M alone
        return False
    found = mobility(model, best.q, best.at.loop_q)
    return found.rank == found.rank_here


def _refuse_slip(model: Model, best: ClosureIterate, rate: Array) -> None:
    """Reject held start velocities that violate the loops; the error names the row of the largest slip."""
    J = best.at.jacobian
    slip = np.abs(J @ rate + best.at.rates)
    fastest = max(1.0, np.abs(rate).max(initial=0.0))
    allowed = np.maximum(REQUIRED * fastest, rounding_of(J, rate))
    if (slip > allowed).any() and best.classes.redundant.any():
        allowed = np.maximum(allowed, REQUIRED_OF_REDUNDANT * fastest)
    if (slip > allowed).any() and _agree_to_digits(model, best):
        allowed = np.maximum(allowed, SMALLEST_ANGLE * fastest * np.abs(J).max())
    if (slip > allowed).any():
        name = model.row_names[int((slip / allowed).argmax())]
        problem = (
            f"{kind_of_constraint(model, name)} {name!r} is violated by the start velocities of the held joints, "
            f"by {slip.max():.3g} [m/s, rad/s]; hold fewer joints, or change their start velocities"
        )
        raise ModelError(_where(model, name), problem)


def _refuse_flat_wheels(model: Model, q: Array) -> None:
    """Reject a start in which a wheel lies flat on its plane, where it has no rolling direction."""
    for loop in model.spec.loops:
        if loop.type != "wheel_on_plane":
            continue
        X_WA, X_WB = _pose(model, q, loop.a) @ loop.at_a, _pose(model, q, loop.b) @ loop.at_b
        normal = X_WB[:3, :3].T @ X_WA[:3, 2]  # of the plane, in frame B
        if np.hypot(normal[0], normal[1]) < _FLAT_WHEEL_ANGLE:
            problem = f"the wheel of loop {loop.name!r} lies flat on its plane; tilt its axis, z of frame B"
            raise ModelError(_where(model, loop.name), problem)


def _pose(model: Model, q: Array, body: str) -> Array:
    """Return the pose (4, 4) of a body, or of the world, in the world."""
    return np.eye(4) if body == "world" else frame_placement(model, q, body)


def _free(model: Model, hold: Collection[str]) -> NDArray[np.intp]:
    """Return the indices of velocities that are not held."""
    held = np.zeros(model.nv, bool)
    for joint, at, nv in zip(model.joint_names, model.v_offsets, model.joint_nv, strict=True):
        if joint in hold and at >= 0:
            held[at : at + nv] = True
    held |= np.isin(model.velocity_names, list(hold))
    return np.flatnonzero(~held)


def _where(model: Model, name: str) -> str:
    """Return the place of a loop or coupling in its file."""
    places = {loop.name: loop.where for loop in model.spec.loops}
    places |= {coupling.name: coupling.where for coupling in model.spec.couplings}
    return places[name]


def _refuse_no_number(model: Model, at: Constraints) -> None:
    """Reject a plugin's joint or function that is NaN or infinite at the start, or whose derivative is."""
    lost = ~np.isfinite(at.residual) | ~np.isfinite(at.jacobian).all(axis=1)
    if lost.any():
        name = model.row_names[int(lost.argmax())]
        problem = (
            f"the residual of {name!r} is NaN or infinite at the start; start where its function and derivative "
            "are finite, or fix the plugin"
        )
        raise ModelError(_where(model, name), problem)


def _refuse_leap(model: Model, start: Array, begin: Constraints, best: ClosureIterate) -> None:
    """Reject a start that moves much farther than its misfit, as where inexact axes close in one position only."""
    if not model.rows:
        return
    size = _size(model, best) if model.spec.loops else 1.0
    misfit = np.abs(begin.residual) / np.where(holds_position(begin) & (size > 0), size or 1.0, 1.0)
    worst = int(misfit.argmax())
    change = np.abs(model.difference(start, best.q))
    far = int(change.argmax())
    explained = _EXPLAINED_FACTOR * np.sqrt(misfit[worst]) * max(1.0, size)
    if not change[far] > max(explained, _ROUNDING):
        return
    name = model.row_names[worst]
    problem = (
        f"{kind_of_constraint(model, name)} {name!r} is off by {abs(begin.residual[worst]):.3g} [m, rad] at the "
        f"start, and closes only where {model.velocity_names[far]!r} is {change[far]:.3g} [m, rad] away from it: its "
        f"frames agree at no position nearer; {MORE_DIGITS}, or start there"
    )
    raise ModelError(_where(model, name), problem)


def _not_closed(model: Model, best: ClosureIterate) -> tuple[str, str]:
    """Return the place and the problem of loops that do not close."""
    left: dict[str, float] = {}
    excess = np.abs(best.at.residual) / best.allowed
    for name, g, beyond in zip(model.row_names, best.at.residual.tolist(), excess, strict=True):
        if beyond > 1:
            left[name] = max(abs(g), left.get(name, 0.0))
    names = sorted(left, key=lambda name: -left[name])
    kinds = {kind_of_constraint(model, name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else "constraint"
    listed = ", ".join(f"{name!r} ({left[name]:.3g})" for name in names[:5])
    redundant = _redundant_rows(model, best)
    if redundant and _is_rounding(model, best):
        problem = (
            f"{kind}{'s' * (len(names) > 1)} {listed} cannot be closed (residuals in [m, rad]): here {redundant} of "
            f"{model.rows} rows are redundant, so that dimensions must agree to about"
            f" {REQUIRED_OF_REDUNDANT:g}; {MORE_DIGITS}"
        )
        return _where(model, names[0]), problem
    sizes = {"loop": "lengths", "coupling": "ratios and offsets", "motion": "its signal"}.get(
        kind, "lengths and ratios"
    )
    remedy = f"start nearer to a closed configuration, hold fewer joints, or change {sizes}"
    problem = f"{kind} {listed} cannot be closed (residuals in [m, rad]); {remedy}"
    if len(names) > 1:
        problem = (
            f"{kind}s {listed} cannot be closed together (residuals in [m, rad]): they contradict each other, or the "
            f"start is too far away; {remedy}"
        )
    return _where(model, names[0]), problem


def _warn_of_cut_digits(model: Model, best: ClosureIterate) -> None:
    """Warn of redundant rows that are closed with so small a margin that they may open during the motion."""
    if best.largest <= _UNNOTICED:
        opening = redundant_opening(model, best.q, best.at.loop_q)
        if opening is not None and opening.left > _UNNOTICED:
            text = f"{_where(model, opening.name)}: {opening}"
            warnings.warn(text, PysimWarning, stacklevel=2)
        return
    redundant = _redundant_rows(model, best)
    if redundant:
        name = model.row_names[int(np.abs(best.at.residual).argmax())]
        problem = (
            f"{kind_of_constraint(model, name)} {name!r} closes to {best.largest:.3g} [m, rad] only: {redundant} of "
            f"{model.rows} rows are redundant here, and if the dimensions agree no better, it opens as the mechanism "
            f"moves; {MORE_DIGITS}"
        )
        warnings.warn(f"{_where(model, name)}: {problem}", PysimWarning, stacklevel=2)


def _redundant_rows(model: Model, best: ClosureIterate) -> int:
    """Return the number of rows of a nearly closed configuration that are redundant, or almost."""
    values = np.linalg.svd(scaled_rows(model, best.q, best.at.loop_q), compute_uv=False)
    return model.rows - int((values > PARALLEL_ANGLE).sum())


def _is_rounding(model: Model, best: ClosureIterate) -> bool:
    """Return whether the residual is no larger than dimensions written with few digits leave."""
    size = np.where(holds_position(best.at), _size(model, best), 1.0)
    return bool((np.abs(best.at.residual) <= _CUT_OFF_DIGITS * size).all())


def _size(model: Model, best: ClosureIterate) -> float:
    """Return the size of the mechanism [m]."""
    bodies = forward_kinematics(model, best.q)[:, :3, 3]
    ends = [
        (_pose(model, best.q, body) @ at)[:3, 3]
        for loop in model.spec.loops
        for body, at in ((loop.a, loop.at_a), (loop.b, loop.at_b))
    ]
    return float(np.ptp(np.array([*bodies, *ends]), axis=0).max())
