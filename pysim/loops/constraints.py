"""Constraints of loops and couplings: residuals, Jacobians, constrained accelerations, forces and projection.

    g(q) = 0        ġ = J v = 0        g̈ = J v̇ + J̇ v = 0        M v̇ = τ − h + Jᵀ λ

Prescribed motions of a scene depend on time as well, g = q − s(t): ġ = J v + ∂g/∂t and J̇ v includes −s̈.

A loop closed by a joint has one row for each freedom that the joint removes, an orthonormal twist of frame B; the
residuals are the distance of B from its place on the joint, in [m] and [rad]. Two rows of a rolling wheel constrain
velocities only, J v = 0, and their g is 0. An array holds one state or a batch. `loop_q` (…, loop_nq) is the initial
guess of the coordinates of the joints that close loops; it matters for plugins and multi-turn screws, and is the loops'
start by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.spatial.arrays import placed
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

DEPENDENT = 1e-9  # singular values of J below this fraction of the largest count as zero


def kind_of_constraint(model: Model, name: str) -> str:
    """Return "loop", "coupling" or, of a driven frame, "motion" for a name among `model.row_names`."""
    if name in model.coupling_names:
        return "coupling"
    driven = any(loop.name == name and loop.position for loop in model.spec.loops)
    return "motion" if driven else "loop"


@dataclass(frozen=True)
class Constraints:
    """Constraints at a state; rows in the order of `model.row_names`."""

    residual: Array  # g (…, rows) [m, rad]
    bias: Array  # g̈ at v̇ = 0, J̇ v (…, rows) [m/s², rad/s²]
    rates: Array  # ∂g/∂t (…, rows) [m/s, rad/s], 0 but for prescribed motions
    jacobian: Array  # J (…, rows, nv)
    wrenches: Array  # (…, rows, 6) of a unit λ on body b, in frame B; zero for a coupling's row
    loop_q: Array  # coordinates of the joints that close loops (…, loop_nq)


def constraints(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    t: ArrayLike | None = None,
) -> Constraints:
    """Return residual, Jacobian and bias of every row at q (…, nq) and v (…, nv), zero by default.

    `t` [s] is the time of prescribed motions, one number or one for each state; 0 by default.

    Raises:
        ValueError: an argument has a wrong shape or dtype, NaN or infinite entries, or a quaternion that is not unit.
    """
    _engine.check_model(model)
    at = _engine.constraint_rows(model, q, v, loop_q, threads=threads, t=t)
    return Constraints(at.residual, at.bias, at.rates, at.jacobian, at.wrenches, at.loop_q)


def loop_begins(model: Model) -> NDArray[np.intp]:
    """Return the first row of every loop (loops,); for a loop without rows, that of the next loop."""
    return np.cumsum([0, *model.loop_rows], dtype=np.intp)[:-1]


def holds_position(at: Constraints) -> NDArray[np.bool_]:
    """Return whether rows (…, rows) hold positions; others hold rotations, or are those of couplings."""
    return np.asarray(np.linalg.norm(at.wrenches[..., :3], axis=-1) > 0.5**0.5)


def kinds_of_rows(model: Model, at: Constraints) -> list[NDArray[np.intp]]:
    """Return rows of each loop that hold positions, and those that hold rotations; of couplings one by one."""
    positions = holds_position(at)
    kinds = []
    for first, count in zip(loop_begins(model), model.loop_rows, strict=True):
        rows = np.arange(first, first + count)
        kinds += [rows[positions[rows]], rows[~positions[rows]]]
    return [kind for kind in kinds if len(kind)]


def unit_rows(model: Model, at: Constraints) -> Array:
    """Return J (rows, nv), the longest of a loop's rows of one kind of unit length, whatever the bodies weigh."""
    length = np.linalg.norm(at.jacobian, axis=1)
    for kind in kinds_of_rows(model, at):
        length[kind] = length[kind].max()
    return np.asarray(at.jacobian / np.where(length > 0, length, 1.0)[:, None])


def constraint_residual(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return g(q) (…, rows) [m, rad], zero where every loop is closed and every coupling holds."""
    return placed(constraints(model, q, threads=threads).residual, out)


def constraint_jacobian(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return J(q) (…, rows, nv), J v = 0 and ġ = J v except for a wheel's slip; exact on closed loops."""
    return placed(constraints(model, q, threads=threads).jacobian, out)


def constrained_aba(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    passive: bool = False,
    t: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return the accelerations v̇ (…, nv) [m/s² or rad/s²] with loops closed and couplings held.

    λ = −(J M⁻¹ Jᵀ)⁺ (J v̇₀ + J̇ v),  v̇ = v̇₀ + M⁻¹ Jᵀ λ,  v̇₀ of the tree by ABA [Featherstone 2008, section 8.5].

    Args:
        model: the mechanism.
        q: configuration (…, nq), on the constraints.
        v: velocity (…, nv), on the constraints.
        tau: generalised forces (…, nv) [N or N·m].
        f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
        loop_q: initial guess of the coordinates of the loops' joints (…, loop_nq).
        threads: threads that share a batch; 0 uses every processor.
        passive: add the passive joint forces (damping, springs, friction, stops).
        t: time of prescribed motions [s], one number or one for each state; 0 by default.
        out: an array for the result.

    Raises:
        ValueError: an argument has a wrong shape or dtype, NaN or infinite entries, or a quaternion that is not unit.
    """
    return placed(_solve(model, q, v, tau, f_ext, loop_q, threads, passive=passive, t=t)[0], out)


def constraint_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    passive: bool = False,
    t: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return λ (…, rows) [N, N·m], the force along every row; Jᵀλ acts on the coordinates.

    The forces of redundant rows are not unique; dependent rows are given zero. Arguments as in `constrained_aba`.
    """
    return placed(_solve(model, q, v, tau, f_ext, loop_q, threads, passive=passive, t=t)[1], out)


def loop_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    passive: bool = False,
    t: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return the wrench (…, loops, 6) [N, N·m] of every loop on body b, in frame B about its origin.

    The wrench on body a is the opposite. Arguments as in `constrained_aba`.
    """
    motion = constrained_motion(
        model, q, v, tau, f_ext, loop_q=loop_q, threads=threads, passive=passive, t=t
    )
    return placed(motion.loop_wrenches, out)


@dataclass(frozen=True)
class ConstrainedMotion:
    """Accelerations under constraints, and the constraint forces."""

    a: Array  # (…, nv)
    loop_wrenches: Array  # (…, loops, 6) [N, N·m], as of `loop_wrenches`
    coupling_forces: (
        Array  # λ (…, couplings) [N or N·m]; the force on a coordinate is λ times its factor
    )


def constrained_motion(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    passive: bool = False,
    t: ArrayLike | None = None,
) -> ConstrainedMotion:
    """Return accelerations, wrenches of the loops and forces of the couplings. Arguments as in `constrained_aba`."""
    a, forces = _solve(model, q, v, tau, f_ext, loop_q, threads, passive=passive, t=t)
    unit = constraints(model, q, v, loop_q=loop_q, threads=threads, t=t).wrenches
    rows = sum(model.loop_rows)
    wrenches = _sum_by_loop(model, (forces[..., None] * unit)[..., :rows, :])
    return ConstrainedMotion(a, wrenches, forces[..., rows:])


def _sum_by_loop(model: Model, wrenches: Array) -> Array:
    """Return the sums (…, loops, 6) of the rows' wrenches (…, rows, 6); 0 for a loop without rows."""
    total = np.zeros((*wrenches.shape[:-2], len(model.loop_rows), 6), wrenches.dtype)
    held = np.array(model.loop_rows, int) > 0
    if held.any():
        total[..., held, :] = np.add.reduceat(wrenches, loop_begins(model)[held], axis=-2)
    return total


def _solve(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    loop_q: ArrayLike | None,
    threads: int,
    *,
    passive: bool,
    t: ArrayLike | None,
) -> tuple[Array, Array]:
    """Return accelerations (…, nv) and row forces (…, rows)."""
    _engine.check_model(model)
    solved = _engine.constrained_aba(
        model, q, v, tau, f_ext, loop_q, threads=threads, passive=passive, t=t
    )
    return solved.a, solved.forces


@dataclass(frozen=True)
class Projected:
    """State projected onto the constraints."""

    q: Array
    v: Array
    loop_q: Array
    residual: Array  # largest remaining |g| (…) [m, rad]; inf if it is NaN or infinite
    rank: Array  # independent rows of J (…)
    closed: NDArray[np.bool_]  # whether every row is within its tolerance (…), see `classify_rows`


def project(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    t: ArrayLike | None = None,
    redundant: ArrayLike | None = None,
) -> Projected:
    """Return the nearest state on the constraints, in the norm of M; intended for states close to them.

    q ← q ⊕ −M⁻¹Jᵀ G⁺ g until g = 0, then v ← v − M⁻¹Jᵀ G⁺ ġ, G = J M⁻¹ Jᵀ [Eich 1993; Blajer 2011]. `t` [s] is the
    time of prescribed motions, one number or one for each state; 0 by default. `redundant` (…, rows) are rows known to
    depend on others, as of `classify_rows` at the start of a step; by default they are found at q.
    """
    _engine.check_model(model)
    if redundant is not None:
        redundant = np.asarray(
            redundant, np.float32 if np.asarray(q).dtype == np.float32 else float
        )
    to = _engine.project(model, q, v, loop_q, threads=threads, t=t, redundant=redundant)
    good = np.isfinite(to.residual) & np.isfinite(to.rank)
    for numbers in (to.q, to.v, to.loop_q):
        good &= np.isfinite(numbers).all(axis=-1)
    left, rank = np.where(good, to.residual, np.inf), np.where(good, to.rank, 0).astype(int)
    return Projected(to.q, to.v, to.loop_q, left, rank, good & (to.closed > 0))


@dataclass(frozen=True)
class RowClasses:
    """The engine's judgement of rows: which are redundant, and when each counts as closed."""

    redundant: NDArray[np.bool_]  # rows (…, rows) that depend on others, and are left out
    tolerance: Array  # largest |g| (…, rows) [m, rad] of a closed row


def classify_rows(
    model: Model,
    q: ArrayLike,
    *,
    loop_q: ArrayLike | None = None,
    t: ArrayLike | None = None,
) -> RowClasses:
    """Return which rows the engine leaves out at q (…, nq), and the residuals at which it takes rows for closed.

    Rows are redundant where the sine of their angle to the rows before, in the norm of M⁻¹, is below about 3e-7. They
    may be open by the digits of a file; all others must close to rounding.
    """
    _engine.check_model(model)
    rows = _engine.classify_rows(model, q, loop_q, t=t)
    return RowClasses(rows.redundant > 0, rows.tolerance)
