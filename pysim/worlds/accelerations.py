"""Accelerations of states under the forces of a scene, and its constraint, loop and contact forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import aba, forward_kinematics
from pysim.loops.constraints import constrained_motion
from pysim.mechanism.actuation import actuator_forces
from pysim.scene.tree import WORLD
from pysim.trajectory.header import MOST_PAIRS
from pysim.typing import Array
from pysim.worlds.contact_report import contact_wrenches, pair_sums

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


def forces_of_actuators(scene: Scene, t: Array, q: Array, v: Array, signals: Array) -> Array:
    """Return the generalised forces (n, nv) of the actuators of n states at t (n,) [s]."""
    tau = actuator_forces(scene.actuation, t)
    if scene.signals is not None:
        tau = tau + _engine.signal_forces(scene.model, t, q, v, signals)[0]
    return tau


def accelerations_and_forces(
    scene: Scene, t: ArrayLike, tau: Array, q: Array, v: Array, loop_q: Array | None, report: Array
) -> tuple[Array, list[Array], Array | None]:
    """Return v̇ (n, nv) of n states under forces tau (n, nv), passive and contact forces, and constraint forces.

    `t` [s] is one time or one for each state.

    These are wrenches of the loops (n, loops, 6), forces of the couplings (n, couplings), and forces and impulses of
    pairs of links that touch (n, pairs, 3), if there are any and no more than `MOST_PAIRS`; then the wrenches of
    contacts and loops on bodies (n, nbodies, 6), None without any. Accelerations and constraint forces of a state are
    NaN where its forces tau are NaN or infinite, as those of an element without a value are.
    """
    bad = np.asarray(~np.isfinite(tau).all(axis=1))
    if bad.any():
        tau = np.where(bad[:, None], 0.0, tau)
    model = scene.model
    f_ext, pairs = None, []
    if scene.contacts is not None and scene.contacts.pairs:
        f_ext = contact_wrenches(scene.contacts, model, q, report)
        if len(scene.contacts.pairs) <= MOST_PAIRS:
            pairs = list(pair_sums(scene.contacts, report))
    if not (model.loop_names or model.coupling_names):
        a = aba(model, q, v, tau, f_ext, passive=True)
        a[bad] = np.nan
        return a, pairs, f_ext
    moved = constrained_motion(model, q, v, tau, f_ext, loop_q=loop_q, passive=True, t=t)
    for own in (moved.a, moved.loop_wrenches, moved.coupling_forces):
        own[bad] = np.nan
    forces = []
    if model.loop_names:
        forces.append(moved.loop_wrenches)
    if model.coupling_names:
        forces.append(moved.coupling_forces)
    return moved.a, [*forces, *pairs], with_loops(scene, q, moved.loop_wrenches, f_ext)


def with_loops(scene: Scene, q: Array, wrenches: Array, f_ext: Array | None) -> Array | None:
    """Return wrenches on bodies (n, nbodies, 6) with those of loops, if a sensor measures wrenches of joints."""
    if not scene.model.loop_names or not any(own.measures_wrench for own in scene.spec.blocks):
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
    on_bodies = np.zeros((len(q), model.nbodies, 6))
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
            on_bodies[:, body, :3] += sign * np.einsum("nji,nj->ni", R, force)
            on_bodies[:, body, 3:] += sign * np.einsum("nji,nj->ni", R, moment)
    return on_bodies


def _body(model: Model, name: str) -> tuple[int, Array]:
    """Return the body of a link or frame, −1 for the world, and the pose of the link on it."""
    if name == WORLD:
        return -1, np.eye(4)
    body, pose = model.frames[name]
    return body, np.asarray(pose)
