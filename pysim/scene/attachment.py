"""Attachment of a mechanism to another one: its names get a prefix, and its world becomes a place on a body there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.elements.block import signal_fields, signal_fields_of
from pysim.elements.force import depends_on_signals, find_force
from pysim.plugins.fields import SignalName, signals_in
from pysim.scene.renaming import Named, Renaming, renamed
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pysim.scene.spec import (
        ActuatorSpec,
        BlockSpec,
        BodySpec,
        ContactsSpec,
        CouplingSpec,
        FileStep,
        ForceSpec,
        FrameSpec,
        GroundSpec,
        JointSpec,
        KeyframeSpec,
        LoopSpec,
        ModelSpec,
        RodSpec,
    )

    Place = Callable[[str], tuple[str, Array]]  # body in its place, and pose of the old frame there


class Parts(NamedTuple):
    """Parts of a mechanism that a scene takes."""

    bodies: tuple[BodySpec, ...] = ()
    joints: tuple[JointSpec, ...] = ()
    frames: tuple[FrameSpec, ...] = ()
    loops: tuple[LoopSpec, ...] = ()
    couplings: tuple[CouplingSpec, ...] = ()
    forces: tuple[ForceSpec, ...] = ()
    actuators: tuple[ActuatorSpec, ...] = ()
    hold: tuple[str, ...] = ()
    equilibrium: tuple[str, ...] = ()
    blocks: tuple[BlockSpec, ...] = ()
    motions: tuple[LoopSpec, ...] = ()
    keyframes: tuple[KeyframeSpec, ...] = ()
    steps: tuple[FileStep, ...] = ()
    rods: tuple[RodSpec, ...] = ()
    contacts: ContactsSpec | None = None


def joined(first: Parts, second: Parts) -> Parts:
    """Return the parts of both."""
    lists: tuple[Any, ...] = tuple(a + b for a, b in zip(first[:-1], second[:-1], strict=True))
    a, b = first.contacts, second.contacts
    if a is not None and b is not None:
        a = replace(
            a,
            materials={**a.materials, **b.materials},
            grounds=a.grounds + b.grounds,
            pairs=a.pairs + b.pairs,
            excluded=a.excluded + b.excluded,
        )
    return Parts._make((*lists, a or b))


def parts_of(spec: ModelSpec) -> Parts:
    """Return the parts of a mechanism, without its contacts and blocks."""
    return Parts(
        spec.bodies,
        spec.joints,
        spec.frames,
        spec.loops,
        spec.couplings,
        spec.forces,
        motions=spec.motions,
        rods=spec.rods,
        keyframes=spec.keyframes,
        steps=spec.steps,
    )


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
        materials = {} if parts.contacts is None else parts.contacts.materials
        names = {
            Named.OWN: self._prefixed,
            Named.LINK: lambda name: name if name == WORLD else self._prefixed(name),
            Named.MATERIAL: lambda name: self._prefixed(name) if name in materials else name,
        }
        moved = _renamed(parts, Renaming(names, self.place))
        return moved._replace(
            forces=tuple(_with_signals(force, self.prefix) for force in moved.forces),
            hold=tuple(map(self._prefixed, parts.hold)),
            equilibrium=tuple(map(self._prefixed, parts.equilibrium)),
            blocks=tuple(_with_block_signals(block, self.prefix) for block in moved.blocks),
            contacts=self._contacts(moved.contacts),
        )

    def _prefixed(self, name: str) -> str:
        return self.prefix + name

    def _contacts(self, contacts: ContactsSpec | None) -> ContactsSpec | None:
        """Return the contacts with their grounds in place; without these if the parent may move."""
        if contacts is None:
            return None
        if self.parent != WORLD:
            return replace(contacts, grounds=())
        return replace(contacts, grounds=tuple(_moved(x, self.at) for x in contacts.grounds))


def on_bodies(parts: Parts, frames: Mapping[str, FrameSpec]) -> Parts:
    """Return the parts with what is attached to a frame attached to the frame's body."""
    if not frames:
        return parts

    def place(name: str) -> tuple[str, Array]:
        X = np.eye(4)
        for _ in frames:
            if name not in frames:
                break
            name, X = frames[name].body, frames[name].pose @ X
        return name, X

    return _renamed(parts, Renaming({}, place))


def _renamed(parts: Parts, renaming: Renaming) -> Parts:
    """Return the parts with new names and poses, except lists of joints."""
    changed = {
        name: tuple(renamed(spec, renaming) for spec in specs)
        for name, specs in parts._asdict().items()
        if name not in ("hold", "equilibrium", "contacts")
    }
    contacts = None if parts.contacts is None else renamed(parts.contacts, renaming)
    return parts._replace(**changed, contacts=contacts)


def _with_block_signals(block: BlockSpec, prefix: str) -> BlockSpec:
    """Return a block with the prefix on the signals that its parameters name."""
    fields = signal_fields(block.kind, block.type)
    model = block.command_of
    return replace(
        block,
        parameters=_named_signals(block.parameters, fields, prefix),
        command_of=None if model is None else (prefix + model).removesuffix("/"),
    )


def _with_signals(force: ForceSpec, prefix: str) -> ForceSpec:
    """Return a force with the prefix on the signals that its parameters name."""
    if not depends_on_signals(force.type, force.parameters):
        return force
    fields = signal_fields_of(find_force(force.type))
    return replace(force, parameters=_named_signals(force.parameters, fields, prefix))


def _named_signals(
    parameters: Mapping[str, Any], fields: Collection[str], prefix: str
) -> dict[str, Any]:
    """Return the keys of a plugin with the prefix on the signals that they name."""
    found = {key: prefix + x if key in fields else x for key, x in parameters.items()}
    named = signals_in(parameters)
    return found | {key: SignalName(prefix + signal) for key, signal in named.items()}


def _moved(ground: GroundSpec, X: Array) -> GroundSpec:
    """Return a ground in a parent frame, in which its present frame has the pose X (4, 4)."""
    if ground.field is not None:
        return replace(ground, field=replace(ground.field, pose=X @ ground.field.pose))
    x, y, z = map(float, X[:3, :3] @ ground.normal)
    return replace(
        ground, normal=(x, y, z), offset=ground.offset + float(np.dot((x, y, z), X[:3, 3]))
    )
