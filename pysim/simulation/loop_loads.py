"""Wrenches of loops on their bodies, from those in the frames of the loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.simulation.loading import Scene

    Array = NDArray[np.float64]


def with_loops(scene: Scene, q: Array, wrenches: Array, f_ext: Array | None) -> Array | None:
    """Return wrenches on bodies (n, nbodies, 6) with those of loops, if a sensor measures wrenches of joints."""
    if not scene.model.loop_names or all(block.joint is None for block in scene.spec.blocks):
        return f_ext
    own = wrenches_on_bodies(scene.model, q, wrenches)
    return own if f_ext is None else f_ext + own


def wrenches_on_bodies(model: Model, q: Array, wrenches: Array) -> Array:
    """Return the wrenches (n, nbodies, 6) [N, N·m] of loops on bodies, in their frames, about their origins.

    Args:
        model: the mechanism.
        q: configurations (n, nq).
        wrenches: of every loop on its body b (n, loops, 6), in its frame b, about the origin of that.
    """
    found = np.zeros((len(q), model.nbodies, 6))
    poses = np.asarray(forward_kinematics(model, q))
    loops = {loop.name: loop for loop in model.spec.loops}
    for k, name in enumerate(model.loop_names):
        loop = loops[name]
        (a, _), (b, on_b) = (_body(model, end) for end in (loop.a, loop.b))
        at = on_b @ loop.at_b
        X = at[None] if b < 0 else poses[:, b] @ at
        force = np.einsum("nij,nj->ni", X[:, :3, :3], wrenches[:, k, :3])
        torque = np.einsum("nij,nj->ni", X[:, :3, :3], wrenches[:, k, 3:])
        for body, sign in ((b, 1.0), (a, -1.0)):
            if body < 0:
                continue
            R, origin = poses[:, body, :3, :3], poses[:, body, :3, 3]
            moment = torque + np.cross(X[:, :3, 3] - origin, force)
            found[:, body, :3] += sign * np.einsum("nji,nj->ni", R, force)
            found[:, body, 3:] += sign * np.einsum("nji,nj->ni", R, moment)
    return found


def _body(model: Model, name: str) -> tuple[int, Array]:
    """Return the body of a link or frame, −1 for the world, and the pose of the link on it."""
    if name == WORLD:
        return -1, np.eye(4)
    body, pose = model.frames[name]
    return body, np.asarray(pose)
