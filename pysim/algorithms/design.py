"""Torques as functions of the lengths of links: `placement_derivatives` along them.

The chain rule gives other design derivatives too, for a body b whose θ depends on a design variable x, as in
`torque_vertex_derivatives`:

    ∂τ/∂x = Y[..., 10 b : 10 b + 10] @ ∂θ/∂x        Y = joint_torque_regressor(model, q, v, a)
    ∂θ/∂x = moved_derivative(θ)                      the body moved in its frame
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms.derivatives import placement_derivatives
from pysim.errors import ModelError, UnknownModelNameError, did_you_mean
from pysim.spatial.arrays import checked_out
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "link_length_derivatives",
]


def link_length_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    joints: Sequence[str],
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return ∂τ/∂l (…, nv, len(joints)) [N/m or N] of τ = rnea(model, q, v, a, f_ext).

    l [m] is the length of the link before a joint: the distance of the joint from its parent's frame. It grows
    along its own direction, p ← p + dl p/|p|, and moves all bodies that the joint carries; bodies keep their parameters
    and external wrenches in their own frames. A change of the link's own mass is ∂θ/∂l of its shape, see above.

    Args:
        model: the mechanism.
        q: configuration (…, nq).
        v: velocity (…, nv).
        a: dv/dt (…, nv) [m/s² or rad/s²].
        joints: names of the joints at the links' ends.
        f_ext: external wrenches (…, nbodies, 6) [N, N·m] on each body, in its frame, about its origin.
        threads: threads that share a batch; 0 uses every processor.
        out: an array for the result.

    Raises:
        ModelError: no such joint; it sits at its parent's origin, so that its link has no direction.
        ValueError: as of `placement_derivatives`.
    """
    _engine.check_model(model)
    towards = np.zeros((6 * model.nbodies, len(joints)))
    for column, name in enumerate(joints):
        b = _joint(model, name)
        towards[6 * b : 6 * b + 3, column] = _direction(model, b)
    along = placement_derivatives(model, q, v, a, f_ext, threads=threads)
    shape = (*along.shape[:-1], len(joints))
    return np.matmul(along, towards.astype(along.dtype), out=checked_out(out, shape, along.dtype))


def _joint(model: Model, name: str) -> int:
    if name not in model.joint_names:
        problem = f"no such joint{did_you_mean(name, model.joint_names)}"
        raise UnknownModelNameError(f"joint {name!r}", problem)
    return model.joint_names.index(name)


def _direction(model: Model, b: int) -> Array:
    """Return the unit vector from the parent's frame to joint b, in the joint's axes."""
    joint = model.joints[b]
    length = float(np.linalg.norm(joint.at[:3, 3]))
    if length == 0:
        problem = (
            f"is at the origin of {joint.parent!r}, so the link between them has no length to vary; "
            "use placement_derivatives"
        )
        raise ModelError(f"joint {joint.name!r}", problem)
    X_BP = model.frames[joint.parent][1] if joint.parent in model.frames else np.eye(4)
    direction: Array = model.placements[b, :3, :3].T @ X_BP[:3, :3] @ joint.at[:3, 3] / length
    return direction
