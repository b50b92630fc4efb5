"""Derivatives of the dynamics that obeys loops and couplings, and of the forces that hold them.

    [M −Jᵀ] [∂v̇]     [∂(M v̇ + h − Jᵀλ)]
    [J   0] [∂λ] = − [∂(J v̇ + J̇ v)    ]        v̇ and λ held on the right

Above are the derivatives of inverse dynamics under the loops' wrenches [Carpentier & Mansard 2018] and how these follow
their frames; below is what the rows see of the bodies' motion, by differential dynamics. They are of the functions as
computed, off the constraints too, where the coordinates of the loops' joints follow q. Only a loop whose joint turns
what it holds (universal, plugins) must be closed and move as it must, else they are off by about as much as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import Shape
from pysim.errors import PysimError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]
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
    out: Three | None = None,
) -> Three:
    """Return (∂a/∂q, ∂a/∂v, ∂a/∂τ), each (…, nv, nv), of a = constrained_aba(model, q, v, tau, f_ext).

    ∂/∂q is along q ⊕ dq, with dq in the child frames as in `Model.integrate`. Wrenches of `f_ext` stay constant in
    their body frames. Rows that depend on others, as in Bricard's linkage, are left out as they are of a itself: ∂/∂q
    and ∂/∂v are right along motions of the mechanism; of what leaves its constraints the independent rows alone know.

    Args:
        model: the mechanism.
        q: configuration (…, nq), on the constraints.
        v: velocity (…, nv), on the constraints.
        tau: generalised forces (…, nv) [N or N·m].
        f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
        loop_q: where the loops' joints are sought first (…, loop_nq).
        threads: threads that share a batch; 0 uses every processor.
        passive: add the joints' own forces (damping, springs, friction, stops).
        out: three arrays for the results, which are then returned.

    Raises:
        ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, a callback joint, named.
        PysimError: a state at a singular position, where a has no derivative.
    """
    _engine.check_model(model)
    *slopes, opening = _engine.constrained_aba_derivatives(
        model, q, v, tau, f_ext, loop_q, threads=threads, passive=passive, out=out
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
    out: Three | None = None,
) -> Three:
    """Return (∂λ/∂q, ∂λ/∂v, ∂λ/∂τ), each (…, rows, nv), of λ = constraint_forces(model, q, v, tau, f_ext).

    Arguments as of `constrained_aba_derivatives`; rows without a force have none of its derivatives.

    Raises:
        ValueError, PysimError: as of `constrained_aba_derivatives`; besides, a loop whose joint turns what it holds,
            for its rows are but some basis of that.
    """
    _engine.check_model(model)
    _refuse_turning(model)
    *slopes, opening = _engine.constrained_aba_derivatives(
        model, q, v, tau, f_ext, loop_q, threads=threads, passive=passive, forces=True, out=out
    )
    return _unless_singular("constraint_force_derivatives", slopes, opening)


def _unless_singular(function: str, slopes: list[Array], opening: Array) -> Three:
    """Refuse states at which the rows allow motions that the mechanism cannot go on along."""
    stuck = opening > _OPENS[opening.itemsize]
    if not stuck.any():
        by_q, by_v, by_tau = slopes
        return by_q, by_v, by_tau
    which = f"state {np.argmax(stuck)}" if opening.ndim else "the state"
    problem = (
        f"{which} is a singular position, where the mechanism can move in more ways for an instant than it can go "
        "and accelerations have no derivative; move it away"
    )
    raise PysimError(function, problem)


def _refuse_turning(model: Model) -> None:
    """Refuse loops whose rows are a basis of wrenches that changes with the joint's coordinates."""
    for description, loop in zip(model.connections.loops, model.spec.loops, strict=True):
        motion = description.motion
        if motion.shape is Shape.universal or motion.derivative is not None:
            problem = (
                f"the rows of loop {loop.name!r} ({loop.type}) turn as its joint moves, and their forces with them; "
                "take differences of its wrench (loop_wrenches)"
            )
            raise PysimError("constraint_force_derivatives", problem)
