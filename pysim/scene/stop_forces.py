"""Stops of joints that rebound: limits with a dissipation become forces of the type `coordinate_stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.joints import find_joint
from pysim.scene.spec import ForceSpec, with_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.spec import JointSpec, ModelSpec


def with_stop_forces(model: ModelSpec) -> ModelSpec:
    """Return the model with forces in place of the stops with a dissipation; their stiffness has been chosen."""
    if not any(map(has_dissipation, model.joints)):
        return model
    taken = {force.name for force in model.forces}
    forces = [force for joint in model.joints for force in _forces(joint, taken)]
    joints = tuple(map(_without_own_stops, model.joints))
    return with_fields(model, joints=joints, forces=(*model.forces, *forces))


def has_dissipation(joint: JointSpec) -> bool:
    """Return whether limits of a joint have a dissipation."""
    return bool((joint.stop_dissipation >= 0).any())


def _forces(joint: JointSpec, taken: set[str]) -> Iterator[ForceSpec]:
    names = find_joint(joint.type).v_names
    for k in np.flatnonzero(joint.stop_dissipation >= 0).tolist():
        coordinate = joint.name if len(names) == 1 else f"{joint.name}.{names[k]}"
        name = f"{coordinate} stop"
        while name in taken:
            name = f"{name} of the joint"
        taken.add(name)
        keys: dict[str, Any] = {
            "stiffness": float(joint.stop_stiffness[k]),
            "dissipation": float(joint.stop_dissipation[k]),
        }
        bounds = {"lower": float(joint.lower[k]), "upper": float(joint.upper[k])}
        keys |= {key: bound for key, bound in bounds.items() if np.isfinite(bound)}
        yield ForceSpec(
            name,
            "coordinate_stop",
            coordinates=(coordinate,),
            parameters=keys,
            where=joint.where,
        )


def _without_own_stops(joint: JointSpec) -> JointSpec:
    """Return a joint whose stops with a dissipation exert nothing."""
    if not has_dissipation(joint):
        return joint
    own = joint.stop_dissipation >= 0
    return with_fields(
        joint,
        stop_stiffness=np.where(own, 0.0, joint.stop_stiffness),
        stop_damping=np.where(own, 0.0, joint.stop_damping),
        stop_dissipation=np.full_like(joint.stop_dissipation, -1.0),
    )
