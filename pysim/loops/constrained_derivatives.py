"""Derivatives of constrained accelerations and of constraint forces.

    [M −Jᵀ] [∂v̇]     [∂(M v̇ + h − Jᵀλ)]
    [J   0] [∂λ] = − [∂(J v̇ + J̇ v)    ]        v̇ and λ held on the right

The upper row contains the derivatives of inverse dynamics under the loops' wrenches [Carpentier & Mansard 2018],
including the motion of their frames; the lower row is the response of the rows to the bodies' motion, by differential
dynamics. These are derivatives of the functions as computed, also off the constraints, with the coordinates of the
loops' joints following q. For a loop whose constraint directions change with its joint (universal, plugins), they are
exact only on the constraints; otherwise their error is of the size of the violation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import Shape
from pysim.errors import PysimError
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

    Three = tuple[Array, Array, Array]

# share of J̇ v that no acceleration makes up for at a singular position, by the bytes of a number
_OPENS = {8: 1e-3, 4: 0.1}


def constrained_aba_derivatives(
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
    out: Three | None = None,
) -> Three:
    """Return (∂a/∂q, ∂a/∂v, ∂a/∂τ), each (…, nv, nv), of a = constrained_aba(model, q, v, tau, f_ext).

    ∂/∂q is along q ⊕ dq, with dq in the child frames as in `Model.integrate`. Wrenches of `f_ext` are constant in their
    body frames. Dependent rows, as in Bricard's linkage, are left out as in a itself: ∂/∂q and ∂/∂v are correct along
    motions of the mechanism; directions that leave its constraints are seen by the independent rows only.

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
        out: three arrays for the results, which are then returned.

    Raises:
        ValueError: an argument has a wrong shape or dtype, NaN or infinite entries, or a quaternion that is not unit,
            or there is a callback joint.
        PysimError: a state is at a singular position, where a has no derivative.
    """
    _engine.check_model(model)
    *slopes, opening = _engine.constrained_aba_derivatives(
        model, q, v, tau, f_ext, loop_q, threads=threads, passive=passive, out=out, t=t
    )
    return _unless_singular("constrained_aba_derivatives", slopes, opening)


def constraint_force_derivatives(
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
    out: Three | None = None,
) -> Three:
    """Return (∂λ/∂q, ∂λ/∂v, ∂λ/∂τ), each (…, rows, nv), of λ = constraint_forces(model, q, v, tau, f_ext).

    Arguments as in `constrained_aba_derivatives`; derivatives of rows without force are zero.

    Raises:
        ValueError, PysimError: as in `constrained_aba_derivatives`; also for a loop whose constraint directions change
            with its joint, because its rows are then an arbitrary basis.
    """
    _engine.check_model(model)
    _refuse_turning(model)
    *slopes, opening = _engine.constrained_aba_derivatives(
        model,
        q,
        v,
        tau,
        f_ext,
        loop_q,
        threads=threads,
        passive=passive,
        forces=True,
        out=out,
        t=t,
    )
    return _unless_singular("constraint_force_derivatives", slopes, opening)


def _unless_singular(function: str, slopes: list[Array], opening: Array) -> Three:
    """Reject states with infinitesimal motions that have no finite continuation."""
    stuck = opening > _OPENS[opening.itemsize]
    if not stuck.any():
        by_q, by_v, by_tau = slopes
        return by_q, by_v, by_tau
    which = f"state {np.argmax(stuck)}" if opening.ndim else "the state"
    problem = (
        f"{which} is a singular position, at which infinitesimal motions have no finite continuation "
        "and accelerations have no derivative; choose a state away from it"
    )
    raise PysimError(function, problem)


def _refuse_turning(model: Model) -> None:
    """Reject loops whose rows are a basis of wrenches that changes with the joint's coordinates."""
    for description, loop in zip(model.connections.loops, model.spec.loops, strict=True):
        motion = description.motion
        if motion.shape is Shape.universal or motion.derivative is not None:
            problem = (
                f"the rows of loop {loop.name!r} ({loop.type}) rotate as its joint moves, and their forces with them; "
                "use finite differences of its wrench (loop_wrenches)"
            )
            raise PysimError("constraint_force_derivatives", problem)
