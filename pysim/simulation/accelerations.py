"""Accelerations of states under the forces of a scene, and its constraint and contact forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import aba
from pysim.loops.constraints import constrained_motion
from pysim.mechanism.actuation import actuator_forces
from pysim.simulation.contact_report import contact_wrenches, pair_sums
from pysim.simulation.loop_loads import with_loops

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.simulation.loading import Scene

    Array = NDArray[np.float64]


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
    pairs of links that touch (n, pairs, 3), if there are any; then the wrenches of contacts and loops on bodies
    (n, nbodies, 6), None without any.
    """
    model = scene.model
    f_ext, pairs = None, []
    if scene.contacts is not None and scene.contacts.pairs:
        f_ext = contact_wrenches(scene.contacts, model, q, report)
        pairs = list(pair_sums(scene.contacts, report))
    if not (model.loop_names or model.coupling_names):
        return aba(model, q, v, tau, f_ext, passive=True), pairs, f_ext
    moved = constrained_motion(model, q, v, tau, f_ext, loop_q=loop_q, passive=True, t=t)
    forces = []
    if model.loop_names:
        forces.append(moved.loop_wrenches)
    if model.coupling_names:
        forces.append(moved.coupling_forces)
    return moved.a, [*forces, *pairs], with_loops(scene, q, moved.loop_wrenches, f_ext)
