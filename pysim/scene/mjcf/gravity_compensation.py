"""Compensated weights of an MJCF model (`gravcomp`) as constant forces at the bodies' centres of mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.mjcf.joints import translation
from pysim.scene.spec import ForceSpec

if TYPE_CHECKING:
    from pysim.scene.mjcf.model import MujocoModel


def compensating_forces(model: MujocoModel) -> list[ForceSpec]:
    """Return the forces −gravcomp · m g on the bodies that move."""
    m = model.m
    forces: list[ForceSpec] = []
    if not model.enables("GRAVITY"):
        return forces
    for k in map(int, np.flatnonzero(m.body_gravcomp)):
        if not m.body_weldid[k]:
            continue
        load = -float(m.body_gravcomp[k]) * float(m.body_mass[k]) * m.opt.gravity
        if load.any():
            parameters = {"load": tuple(map(float, load))}
            name, where = f"{model.bodies[k]} gravcomp", model.location("bodies", k)
            at = translation(m.body_ipos[k])
            forces.append(
                ForceSpec(
                    name,
                    "constant_force",
                    b=model.bodies[k],
                    at_b=at,
                    parameters=parameters,
                    where=where,
                )
            )
    return forces
