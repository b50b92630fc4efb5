"""Armature and damping of joints, with those that the actuators of an MJCF model add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.mjcf.model import BALL, FREE
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel


def reflected(model: MujocoModel, omissions: Omissions) -> tuple[Array, Array]:
    """Return armature and damping (nv,) of the joints; an actuator on a hinge or slide adds gear² times its own."""
    m = model.m
    armature, damping = m.dof_armature.copy(), m.dof_damping.copy()
    higher = m.actuator_dampingpoly.any(axis=1)
    for k in map(
        int, np.flatnonzero((m.actuator_armature != 0) | (m.actuator_damping != 0) | higher)
    ):
        where, item = model.location("actuators", k), f"actuator {model.label('ACTUATOR', k)}"
        joint = _scalar_joint(model, k)
        if joint is None:
            reason = "has an armature or damping of something other than a hinge or slide, which is left out"
            omissions.add("resistances of actuators", item, where, reason)
            continue
        square, at = float(m.actuator_gear[m.actuator_outadr[k], 0]) ** 2, m.jnt_dofadr[joint]
        armature[at] += square * m.actuator_armature[k]
        damping[at] += square * m.actuator_damping[k]
        if higher[k]:
            reason = "has damping of higher order, which is left out"
            omissions.add("resistances of actuators", item, where, reason)
    return armature, damping


def _scalar_joint(model: MujocoModel, k: int) -> int | None:
    """Return the hinge or slide on which an actuator acts, None if it acts on something else."""
    m, kinds = model.m, model.mj.mjtTrn
    if int(m.actuator_trntype[k]) not in {int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)}:
        return None
    joint = int(m.actuator_trnid[k, 0])
    return None if int(m.jnt_type[joint]) in {BALL, FREE} else joint
