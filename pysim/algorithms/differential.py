"""Differential dynamics: how motions, wrenches and torques change with joint twists, q, v and dv/dt.

Kwon's algorithm 1 (P, Q, R), for trees, every joint shape and plugins, joints placed anywhere in their parents and
external wrenches on every body; with S = ∂τ/∂λ, which the algorithm leaves out. `twist_derivatives` and
`rnea_derivatives` give blocks of S alone, at a fraction of the cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pysim import _engine
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "DifferentialDynamics",
    "differential_dynamics",
]


class DifferentialDynamics(NamedTuple):
    """Derivatives with respect to λ = (η, q, v, dv/dt), 6·nbodies + 3·nv columns in this order.

    Column 6 b + k is along component k of η_b [m; rad], which moves the axes of body b's joint, A = Ad(e^[η]) Ā, in
    the joint's frame (`model.placements`); q is along q ⊕ dq. Twists and wrenches are in the bodies'
    frames, linear part first.
    """

    velocity: Array
    """P = ∂V/∂λ (…, nbodies, 6, columns)."""
    acceleration: Array
    """Q = ∂a/∂λ (…, nbodies, 6, columns), of the spatial acceleration less gravity."""
    wrench: Array
    """R = ∂F/∂λ (…, nbodies, 6, columns), of the wrench that a body's joint gives it."""
    torque: Array
    """S = ∂τ/∂λ (…, nv, columns), of τ = rnea(model, q, v, a, f_ext)."""


def differential_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: tuple[Array, Array, Array, Array] | None = None,
) -> DifferentialDynamics:
    """Return P, Q, R and S of Kwon's algorithm 1 at η = 0.

    Where joints follow others (mimic), columns of q, v and dv/dt are those of the independent coordinates; every joint
    has its own η. Bodies keep their parameters and external wrenches, and the joints they carry, in their own frames.

    Args:
        model: the mechanism.
        q: configuration (…, nq).
        v: velocity (…, nv).
        a: dv/dt (…, nv) [m/s² or rad/s²].
        f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
        threads: threads that share a batch; 0 uses every processor.
        out: four arrays for the results.

    Raises:
        ValueError: a wrong shape or dtype, a NaN or infinity, a quaternion that is not unit, a callback joint, named.
    """
    return DifferentialDynamics(
        *_engine.differential_dynamics(model, q, v, a, f_ext, threads=threads, out=out)
    )
