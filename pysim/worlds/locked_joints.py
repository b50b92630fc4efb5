"""A model without some of its freedoms: joints that are welded where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics, frame_placement
from pysim.errors import ModelError, UnknownModelNameError, did_you_mean
from pysim.joints import find_joint
from pysim.mechanism.compile import compile_tree
from pysim.scene.held_paths import with_held_path, with_held_points
from pysim.spatial import inverse
from pysim.worlds.loading import compile_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.scene.spec import (
        BlockSpec,
        BodySpec,
        CouplingSpec,
        ForceSpec,
        JointSpec,
        KeyframeSpec,
        ModelSpec,
    )
    from pysim.typing import Array

COUPLING_TOLERANCE = 1e-9  # [m or rad] by which a coupling between welded joints may be violated


def locked(model: Model, joints: Mapping[str, ArrayLike]) -> Model:
    """Return the model whose `joints` are welded at these coordinates; see `Model.locked`."""
    q = _configuration(model, joints)
    welded = {joint.name for joint in model.joints if _leader_of(model, joint) in joints}
    poses = {"world": np.eye(4)}
    poses |= {
        body.name: frame_placement(model, q, body.name)
        for body in model.spec.bodies
        if body.name in model.frames
    }
    current = {joint.name: joint for joint in model.joints}
    held = _values(model, welded, q)
    spec = replace(
        model.spec,
        gravity=model.gravity,
        bodies=tuple(_bodies(model)),
        joints=tuple(
            _welded(joint, inverse(poses[joint.parent]) @ poses[joint.child])
            if joint.name in welded
            else current.get(joint.name, joint)
            for joint in model.spec.joints
        ),
        couplings=tuple(_couplings(model, welded, q)),
        forces=tuple(with_held_path(force, held) for force in _forces(model.spec, welded)),
        keyframes=tuple(_keyframe(frame, welded) for frame in model.spec.keyframes),
        blocks=tuple(
            with_held_points(block, held)
            for block in model.spec.blocks
            if not _acts_on(block, welded)
        ),
    )
    return compile_model(spec)


def _configuration(model: Model, joints: Mapping[str, ArrayLike]) -> Array:
    """Return a configuration (nq,) in which the joints have the given coordinates."""
    q, places = model.neutral(), {name: k for k, name in enumerate(model.joint_names)}
    for name, value in joints.items():
        if name not in places:
            problem = f"the model has no such joint that moves{did_you_mean(name, places)}"
            raise UnknownModelNameError(f"locked: {name!r}", problem)
        k = places[name]
        at, count = model.q_offsets[k], model.joint_nq[k]
        if at < 0:
            problem = f"follows {_leader_of(model, model.joints[k])!r}; lock that joint"
            raise ModelError(f"locked: {name!r}", problem)
        numbers = np.atleast_1d(np.asarray(value, float))
        if numbers.shape != (count,):
            problem = f"has {count} coordinates, got {numbers.size} numbers; give ({count},)"
            raise ModelError(f"locked: {name!r}", problem)
        if not np.isfinite(numbers).all():
            raise ModelError(f"locked: {name!r}", "must be finite, got nan or inf")
        q[at : at + count] = numbers
    forward_kinematics(model, q)  # rejects a quaternion that is not unit
    return q


def _leader_of(model: Model, joint: JointSpec) -> str:
    """Return the name of the joint that leads a joint, or its own."""
    by_name = {other.name: other for other in model.spec.joints}
    while joint.mimic is not None:
        joint = by_name[joint.mimic.joint]
    return joint.name


def _welded(joint: JointSpec, pose: Array) -> JointSpec:
    """Return a fixed joint that holds the child at a pose (4, 4) in its parent."""
    none = np.zeros(0)
    return type(joint)(
        joint.name,
        "fixed",
        joint.parent,
        joint.child,
        pose,
        joint.axis,
        rest=none,
        start_q=none,
        start_v=none,
        where=joint.where,
    )


def _bodies(model: Model) -> Iterator[BodySpec]:
    """Yield the bodies of the specification, with the parameters of the model.

    Parameters that `with_parameters` changed are those of bodies with everything that is welded to them: the body that
    moves has them all then, and the others have none.
    """
    if np.array_equal(compile_tree(model.spec).parameters, model.parameters):
        yield from model.spec.bodies
        return
    moving = {body.name: body.theta for body in model.bodies}
    for body in model.spec.bodies:
        on_world = model.frames[body.name][0] < 0
        theta = body.theta if on_world else moving.get(body.name, np.zeros(10))
        yield replace(body, theta=theta)


def _couplings(model: Model, welded: Collection[str], q: Array) -> Iterator[CouplingSpec]:
    """Yield the couplings, in whose offsets the coordinates of welded joints are constants."""
    values = _values(model, welded, q)
    for coupling in model.spec.couplings:
        gone = [name for name in coupling.terms if name in values]
        if not gone and not any(name in values for name in coupling.inputs):
            yield coupling
            continue
        left = {name: ratio for name, ratio in coupling.terms.items() if name not in values}
        if coupling.signal is not None or any(name in values for name in coupling.inputs):
            problem = f"couples {', '.join((*gone, *coupling.inputs))}, which would be welded"
            raise ModelError(f"coupling {coupling.name!r}", f"{problem}; leave that joint unlocked")
        offset = coupling.offset - sum(coupling.terms[name] * values[name] for name in gone)
        if left or coupling.function is not None:
            yield replace(coupling, terms=left, offset=offset)
        elif abs(offset) > COUPLING_TOLERANCE:
            problem = f"is violated by {abs(offset):.3g} [m or rad] at these coordinates"
            raise ModelError(
                f"coupling {coupling.name!r}", f"{problem}; give coordinates that keep it"
            )


def _values(model: Model, welded: Collection[str], q: Array) -> dict[str, float]:
    """Return the coordinates of welded joints by the name that couplings use: "joint", or "joint.coordinate"."""
    coordinates: dict[str, float] = {}
    for joint, at in zip(model.joints, model.q_offsets, strict=True):
        if joint.name not in welded or at < 0:
            continue
        names = find_joint(joint.type).q_names
        coordinates |= {f"{joint.name}.{name}": float(q[at + k]) for k, name in enumerate(names)}
        if len(names) == 1:
            coordinates[joint.name] = float(q[at])
    for joint in model.joints:
        if joint.mimic is not None and joint.mimic.joint in coordinates:
            coordinates[joint.name] = (
                joint.mimic.ratio * coordinates[joint.mimic.joint] + joint.mimic.offset
            )
    return coordinates


def _forces(spec: ModelSpec, welded: Collection[str]) -> Iterator[ForceSpec]:
    """Yield the forces but for those on welded coordinates alone."""
    for force in spec.forces:
        gone = [name for name in force.coordinates if name.partition(".")[0] in welded]
        if gone and len(gone) < len(force.coordinates):
            problem = f"acts on {', '.join(gone)}, which would be welded, and on others"
            raise ModelError(f"force {force.name!r}", f"{problem}; lock all of them, or none")
        if not gone:
            yield force


def _keyframe(frame: KeyframeSpec, welded: Collection[str]) -> KeyframeSpec:
    """Return a keyframe without the states of welded joints."""
    return replace(
        frame,
        q={name: x for name, x in frame.q.items() if name not in welded},
        v={name: x for name, x in frame.v.items() if name not in welded},
    )


def _acts_on(block: BlockSpec, welded: Collection[str]) -> bool:
    """Return whether a block drives or measures a welded joint."""
    names = {name.partition(".")[0] for name in (*block.coordinates, block.joint or "")}
    return not names.isdisjoint(welded)
