"""Attachment of a mechanism to another one: its names get a prefix, and its world becomes a place on a body there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pysim.elements.block import signal_fields, signal_fields_of
from pysim.elements.force import depends_on_signals, find_force
from pysim.plugins.fields import SignalName, signals_in
from pysim.scene.spec import ContactsSpec, ForceSpec, LoopSpec
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pysim.scene.spec import (
        ActuatorSpec,
        BlockSpec,
        BodySpec,
        ContactSpec,
        CouplingSpec,
        FrameSpec,
        GroundSpec,
        JointSpec,
        PathPart,
        SpringSpec,
        SurfaceSpec,
    )

    Place = Callable[[str], tuple[str, Array]]  # body in its place, and pose of the old frame there

Tie = TypeVar("Tie", LoopSpec, ForceSpec)


class Parts(NamedTuple):
    """Parts of a mechanism that a scene takes."""

    bodies: tuple[BodySpec, ...] = ()
    joints: tuple[JointSpec, ...] = ()
    frames: tuple[FrameSpec, ...] = ()
    loops: tuple[LoopSpec, ...] = ()
    couplings: tuple[CouplingSpec, ...] = ()
    springs: tuple[SpringSpec, ...] = ()
    forces: tuple[ForceSpec, ...] = ()
    actuators: tuple[ActuatorSpec, ...] = ()
    hold: tuple[str, ...] = ()
    blocks: tuple[BlockSpec, ...] = ()
    contacts: ContactsSpec | None = None


@dataclass(frozen=True)
class Attachment:
    """Prefix of the names of a mechanism, and the place of its world: a body (or frame) and a pose (4, 4) on it."""

    prefix: str
    parent: str
    at: Array

    def place(self, name: str) -> tuple[str, Array]:
        """Return the body of a name, and the pose of its old frame there."""
        return (self.parent, self.at) if name == WORLD else (self.prefix + name, np.eye(4))

    def of(self, parts: Parts) -> Parts:
        """Return the parts with their names and places in the other mechanism."""
        prefix = self.prefix
        named = Parts(
            tuple(_named_body(body, prefix, parts.contacts) for body in parts.bodies),
            tuple(_named_joint(joint, prefix) for joint in parts.joints),
            tuple(replace(frame, name=prefix + frame.name) for frame in parts.frames),
            tuple(replace(loop, name=prefix + loop.name) for loop in parts.loops),
            tuple(
                replace(
                    coupling,
                    name=prefix + coupling.name,
                    terms={prefix + name: ratio for name, ratio in coupling.terms.items()},
                    inputs=tuple(prefix + name for name in coupling.inputs),
                )
                for coupling in parts.couplings
            ),
            tuple(replace(spring, name=prefix + spring.name) for spring in parts.springs),
            tuple(_named_force(force, prefix) for force in parts.forces),
            tuple(
                replace(drive, name=prefix + drive.name, joint=prefix + drive.joint)
                for drive in parts.actuators
            ),
            tuple(prefix + name for name in parts.hold),
            tuple(_named_block(block, prefix) for block in parts.blocks),
            self._contacts(parts.contacts),
        )
        return placed(named, self.place)

    def _contacts(self, contacts: ContactsSpec | None) -> ContactsSpec | None:
        """Return the contacts with their new names; grounds only where the parent does not move."""
        if contacts is None:
            return None
        named = _named_contacts(contacts, self.prefix)
        if self.parent != WORLD:
            return replace(named, grounds=())
        return replace(named, grounds=tuple(_moved(ground, self.at) for ground in named.grounds))


def on_bodies(parts: Parts, frames: Mapping[str, FrameSpec]) -> Parts:
    """Return the parts with what is attached to a frame attached to the frame's body."""

    def place(name: str) -> tuple[str, Array]:
        X = np.eye(4)
        for _ in frames:
            if name not in frames:
                break
            name, X = frames[name].body, frames[name].pose @ X
        return name, X

    return placed(parts, place)


def placed(parts: Parts, place: Place) -> Parts:
    """Return the parts with their bodies renamed and what is on these moved along."""
    return parts._replace(
        joints=tuple(_placed_joint(joint, place) for joint in parts.joints),
        frames=tuple(_placed_frame(frame, place) for frame in parts.frames),
        loops=tuple(_placed_ends(loop, place) for loop in parts.loops),
        springs=tuple(_placed_points(spring, place) for spring in parts.springs),
        forces=tuple(
            replace(
                _placed_ends(force, place),
                path=tuple(_placed_part(part, place) for part in force.path),
            )
            for force in parts.forces
        ),
        blocks=tuple(_placed_block(block, place) for block in parts.blocks),
    )


def _named_path(path: tuple[PathPart, ...], prefix: str) -> tuple[PathPart, ...]:
    """Return a path with the prefix on the coordinates of its conditional points."""
    return tuple(
        replace(part, coordinate=prefix + part.coordinate) if part.coordinate else part
        for part in path
    )


def _named_block(block: BlockSpec, prefix: str) -> BlockSpec:
    """Return a block with the prefix on its name and on those of the signals, joints and coordinates that it names."""
    fields = signal_fields(block.kind, block.type)
    return replace(
        block,
        name=prefix + block.name,
        inputs=tuple(prefix + name for name in block.inputs),
        coordinates=tuple(prefix + name for name in block.coordinates),
        points=_named_path(block.points, prefix),
        joint=None if block.joint is None else prefix + block.joint,
        parameters=_named_signals(block.parameters, fields, prefix),
        command_of=None
        if block.command_of is None
        else (prefix + block.command_of).removesuffix("/"),
    )


def _named_force(force: ForceSpec, prefix: str) -> ForceSpec:
    """Return a force with the prefix on its name and on those of the coordinates and signals that it names."""
    parameters = force.parameters
    if depends_on_signals(force.type, parameters):
        fields = signal_fields_of(find_force(force.type))
        parameters = _named_signals(parameters, fields, prefix)
    return replace(
        force,
        name=prefix + force.name,
        coordinates=tuple(prefix + name for name in force.coordinates),
        path=_named_path(force.path, prefix),
        parameters=parameters,
    )


def _named_signals(
    parameters: Mapping[str, Any], fields: Collection[str], prefix: str
) -> dict[str, Any]:
    """Return the keys of a plugin with the prefix on the signals that they name."""
    found = {key: prefix + x if key in fields else x for key, x in parameters.items()}
    named = signals_in(parameters)
    return found | {key: SignalName(prefix + signal) for key, signal in named.items()}


def _placed_block(block: BlockSpec, place: Place) -> BlockSpec:
    base, X = place(block.relative_to)
    own = replace(
        block,
        others=tuple(place(name)[0] for name in block.others),
        relative_to=base,
        relative_at=X @ block.relative_at,
        points=tuple(_placed_part(part, place) for part in block.points),
    )
    if block.frame is None:
        return own
    frame, X = place(block.frame)
    return replace(own, frame=frame, at=X @ block.at)


def _placed_joint(joint: JointSpec, place: Place) -> JointSpec:
    parent, X = place(joint.parent)
    return replace(joint, parent=parent, child=place(joint.child)[0], at=X @ joint.at)


def _placed_frame(frame: FrameSpec, place: Place) -> FrameSpec:
    body, X = place(frame.body)
    return replace(frame, body=body, pose=X @ frame.pose)


def _placed_ends(tie: Tie, place: Place) -> Tie:
    (a, X_a), (b, X_b) = place(tie.a), place(tie.b)
    return replace(tie, a=a, b=b, at_a=X_a @ tie.at_a, at_b=X_b @ tie.at_b)


def _placed_points(spring: SpringSpec, place: Place) -> SpringSpec:
    a, at_a = _placed_point(spring.a, spring.at_a, place)
    b, at_b = _placed_point(spring.b, spring.at_b, place)
    return replace(spring, a=a, b=b, at_a=at_a, at_b=at_b)


def _placed_point(body: str, point: Array, place: Place) -> tuple[str, Array]:
    name, X = place(body)
    return name, np.asarray(X[:3, :3] @ point + X[:3, 3])


def _placed_part(part: PathPart, place: Place) -> PathPart:
    body, X = place(part.body)
    return replace(part, body=body, at=X @ part.at)


def _named_joint(joint: JointSpec, prefix: str) -> JointSpec:
    mimic = joint.mimic
    if mimic is not None:
        mimic = replace(mimic, joint=prefix + mimic.joint)
    return replace(joint, name=prefix + joint.name, mimic=mimic)


def _named_body(body: BodySpec, prefix: str, contacts: ContactsSpec | None) -> BodySpec:
    known = contacts.materials if contacts is not None else {}
    collisions = tuple(
        replace(shape, material=prefix + shape.material) if shape.material in known else shape
        for shape in body.collisions
    )
    return replace(body, name=prefix + body.name, collisions=collisions)


def _named_contacts(contacts: ContactsSpec, prefix: str) -> ContactsSpec:
    def link(name: str) -> str:
        return name if name == WORLD else prefix + name

    def between(pair: tuple[str, str]) -> tuple[str, str]:
        return link(pair[0]), link(pair[1])

    materials: dict[str, SurfaceSpec] = {
        prefix + name: surface for name, surface in contacts.materials.items()
    }
    pairs: tuple[ContactSpec, ...] = tuple(
        replace(pair, between=between(pair.between)) for pair in contacts.pairs
    )
    excluded = tuple(between(pair) for pair in contacts.excluded)
    grounds = tuple(
        replace(ground, material=prefix + ground.material)
        if ground.material in contacts.materials
        else ground
        for ground in contacts.grounds
    )
    return ContactsSpec(materials, grounds, pairs, excluded)


def _moved(ground: GroundSpec, X: Array) -> GroundSpec:
    """Return a ground in the frame in which its old frame has the pose X (4, 4)."""
    if ground.field is not None:
        return replace(ground, field=replace(ground.field, pose=X @ ground.field.pose))
    x, y, z = map(float, X[:3, :3] @ ground.normal)
    return replace(
        ground, normal=(x, y, z), offset=ground.offset + float(np.dot((x, y, z), X[:3, 3]))
    )
