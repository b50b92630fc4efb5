"""The mechanism with the identified parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysim.typing import Array
from pysim.worlds.loading import compile_model

if TYPE_CHECKING:
    from pysim.identify.unknowns import Unknowns
    from pysim.mechanism.model import Model
    from pysim.scene.spec import JointSpec


def found_model(unknowns: Unknowns, p: Array) -> Model:
    """Return the model of the unknowns with their values p (size,) in place of its own."""
    model = unknowns.model
    theta = model.parameters
    inertial = p[: 10 * unknowns.blocks].reshape(-1, 10)
    if unknowns.payload is not None:
        carrier = model.frames[unknowns.payload][0]
        theta[carrier] += unknowns.carry @ inertial[0]
    else:
        theta[list(unknowns.bodies)] = inertial
    changed = {joint.name: joint for joint in found_joints(unknowns, p)}
    joints = tuple(changed.get(joint.name, joint) for joint in model.spec.joints)
    rebuilt = compile_model(replace(model.spec, joints=joints, gravity=model.gravity))
    return rebuilt.with_parameters(theta)


def found_joints(unknowns: Unknowns, p: Array) -> tuple[JointSpec, ...]:
    """Return the moving joints with the identified resistances; mimic joints keep theirs."""
    model = unknowns.model
    values = dict(
        zip(unknowns.resistances, p[10 * unknowns.blocks :].reshape(-1, model.nv), strict=True)
    )
    values.pop("offset", None)
    joints = []
    for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
        own: dict[str, Any] = {name: found[at : at + nv].copy() for name, found in values.items()}
        joints.append(replace(joint, **own) if at >= 0 else joint)
    return tuple(joints)
