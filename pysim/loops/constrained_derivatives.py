"""Derivatives of the dynamics that obeys loops and couplings.

    [M −Jᵀ] [∂v̇]     [∂(M v̇ + h − Jᵀλ)]
    [J   0] [∂λ] = − [∂(J v̇ + J̇ v)    ]        v̇ and λ held on the right

Above are the derivatives of inverse dynamics under the loops' wrenches [Carpentier & Mansard 2018] and how these follow
their frames; below what the rows see of the bodies' motion, by differential dynamics. They are of v̇ as it is computed,
off the constraints too, where the coordinates of the loops' joints follow q. Only a loop whose joint turns what it
holds (universal, planar, plugins) must be closed and move as it must, else they are off by about as much as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import PysimError
from pysim.spatial.arrays import placed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.model import Model

    Array = NDArray[np.float64]
    Three = tuple[Array, Array, Array]

_OPENS = {np.float64: 1e-3, np.float32: 0.1}  # share of J̇ v that no acceleration makes up for


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

    ∂/∂q is along q ⊕ dq, with dq in the child frames as in `Model.integrate`. Wrenches of `f_ext` stay constant in their
    body frames. Where rows are redundant only at closed positions, ∂a/∂q is that of the independent rows: right along
    every motion of the mechanism.

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
    *slopes, opening = _engine.constrained_aba_derivatives(
        model, q, v, tau, f_ext, loop_q, threads=threads, passive=passive
    )
    _refuse_singular(opening)
    parts = (x[..., : model.nv, :] for x in slopes)
    if out is None:
        return tuple(parts)  # type: ignore[return-value]
    if not isinstance(out, tuple) or len(out) != len(slopes):
        raise PysimError("out", "must be a tuple of 3 arrays")
    return tuple(placed(x, place) for x, place in zip(parts, out, strict=True))  # type: ignore[return-value]


def _refuse_singular(opening: Array) -> None:
    """Refuse states at which the rows allow motions that they end at once."""
    stuck = np.argwhere(opening > _OPENS[opening.dtype.type])
    if len(stuck):
        which = f"state {list(map(int, stuck[0]))}" if opening.ndim else "the state"
        problem = (
            f"{which} is a singular position, where the mechanism can move in more ways for an instant than it can "
            "go and accelerations have no derivative; move it away"
        )
        raise PysimError("constrained_aba_derivatives", problem)
