"""Joint reactions: the wrench that every joint transmits to its body, and the part that does work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pysim import _engine
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "JointReactions",
    "joint_reactions",
]


class JointReactions(NamedTuple):
    """Wrenches [N, N·m] on every body by the joint that moves it, in the body's frame, about its origin."""

    total: Array
    """(…, nbodies, 6)."""
    working: Array
    """Wrenches (…, nbodies, 6) along the motions of the joints, which have all of the power."""

    @property
    def non_working(self) -> Array:
        """Wrenches (…, nbodies, 6) that the guides of the joints carry, reciprocal to every allowed motion."""
        return self.total - self.working


def joint_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> JointReactions:
    """Return the wrenches that the joints transmit while the mechanism accelerates with `a`.

    For a hinge the working part is the moment about its axis, for a slide the force along it: h* (hᵀF) with the unit
    twist h and its dual wrench h*. In general it is S (SᵀS)⁻¹ Sᵀ F, the smallest wrench that does the joint's work
    (forces in N and moments in N·m weighed alike, which matters for screws and plugins alone). The generalised force of
    a coordinate is Sᵀ F; `rnea` adds the rotors' part, armature · a.

    Args:
        model: the mechanism.
        q: configuration (…, nq).
        v: velocity (…, nv).
        a: dv/dt (…, nv) [m/s² or rad/s²].
        f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
        threads: threads that share a batch; 0 uses every processor.
        out: (…, 2, nbodies, 6), for the total and the working parts.
    """
    both = _engine.joint_reactions(model, q, v, a, f_ext, threads=threads, out=out)
    return JointReactions(both[..., 0, :, :], both[..., 1, :, :])
