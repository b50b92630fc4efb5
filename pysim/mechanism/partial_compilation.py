"""Models that differ from a first one in numbers: only parts that differ are compiled again."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameters import moved_by
from pysim.joints import find_joint
from pysim.mechanism.builder import joint_record
from pysim.mechanism.constraint_compiler import compile_connections
from pysim.mechanism.model import Body
from pysim.scene.spec import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim._engine import JointDescription
    from pysim.mechanism.builder import Builder
    from pysim.mechanism.joint_description import TraceCache
    from pysim.mechanism.model import Connections, Model
    from pysim.scene.spec import JointSpec

_NUMBERS = ("gravity", "bodies", "joints", "contacts")  # in which specifications may differ
_CONNECTIONS = ("loops", "couplings", "forces")
_SHARED = {item.name for item in fields(ModelSpec)} - {*_NUMBERS, *_CONNECTIONS}
_STRUCTURE = ("name", "type", "parent", "child", "mimic")  # of a joint


class FirstModel:
    """A compiled model, from which others are made that have the same structure.

    Parts of a specification are compared by identity: what is the same object needs no compilation.
    """

    def __init__(self, builder: Builder, model: Model, cache: TraceCache) -> None:
        self._builder, self._model, self._cache = builder, model, cache
        self._spec = spec = builder.spec
        self._motions = [(own.motion, own.parent, own.placement) for own in builder.descriptions]
        body_index = {body.name: k for k, body in enumerate(spec.bodies)}
        joint_index = {joint.name: k for k, joint in enumerate(spec.joints)}
        self._places = [joint_index[joint.name] for joint in builder.joints]
        self._welded: list[list[tuple[int, NDArray[np.float64]]]] = [[] for _ in builder.carriers]
        self._in_world: list[int] = []
        for name, (carrier, pose) in builder.placed.items():
            if name == "world":
                continue
            if carrier.index < 0:
                self._in_world.append(body_index[name])
            else:
                self._welded[carrier.index].append((body_index[name], pose))

    def changed(self, spec: ModelSpec) -> Model | None:
        """Return the model of a specification; None if it differs in more than numbers.

        Whether the numbers are valid is not checked: see `pysim.mechanism.compile.invalid_models`.
        """
        if self._builder.callbacks or not self._is_alike(spec):
            return None
        first, builder = self._model, self._builder
        bodies = tuple(self._body(k, spec) for k in range(len(builder.carriers)))
        joints = tuple(spec.joints[k] for k in self._places)
        descriptions = [self._description(k, joint) for k, joint in enumerate(joints)]
        return first.replaced(
            spec=spec,
            gravity=spec.gravity,
            bodies=bodies,
            joints=joints,
            descriptions=descriptions,
            connections=self._connections(spec, joints),
        )

    def _is_alike(self, spec: ModelSpec) -> bool:
        first = self._spec
        if any(getattr(spec, name) is not getattr(first, name) for name in _SHARED):
            return False
        if len(spec.bodies) != len(first.bodies) or len(spec.joints) != len(first.joints):
            return False
        if any(spec.bodies[k] is not first.bodies[k] for k in self._in_world):
            return False
        for body, other in zip(spec.bodies, first.bodies, strict=True):
            if body is not other and (body.name != other.name or not np.count_nonzero(body.theta)):
                return False
        return all(
            joint is other or _differs_in_numbers(joint, other)
            for joint, other in zip(spec.joints, first.joints, strict=True)
        )

    def _body(self, k: int, spec: ModelSpec) -> Body:
        """Return a moving body, with what is welded to it."""
        first, welded = self._model.bodies[k], self._welded[k]
        if all(spec.bodies[at] is self._spec.bodies[at] for at, _ in welded):
            return first
        theta, geometries = np.zeros(10), first.geometries
        for at, pose in welded:
            theta = theta + moved_by(spec.bodies[at].theta, pose)
        own = [(spec.bodies[at].geometries, self._spec.bodies[at].geometries) for at, _ in welded]
        if any(given is not known for given, known in own):
            placed = (g.moved(pose) for at, pose in welded for g in spec.bodies[at].geometries)
            geometries = tuple(placed)
        return Body(first.name, theta, geometries)

    def _description(self, k: int, joint: JointSpec) -> JointDescription:
        """Return the engine's record of a moving joint; its motion is that of the first model if it is not affected."""
        builder, first = self._builder, self._builder.joints[k]
        if joint is first:
            return builder.descriptions[k]
        is_plain = find_joint(joint.type).plugin is None
        moves_alike = joint.axis == first.axis and joint.parameters == first.parameters
        if is_plain and moves_alike and joint.at is first.at:
            record = joint_record(joint, *self._motions[k])
        else:
            record = builder.described(joint, *builder.parents[k])
        if joint.mimic is None:
            return record
        known = builder.descriptions[k]
        return record.replaced(follows=known.follows, ratio=known.ratio, offset=known.offset)

    def _connections(self, spec: ModelSpec, joints: Sequence[JointSpec]) -> Connections:
        """Return the loops, with all rows, couplings and forces."""
        first = self._spec
        if all(getattr(spec, name) is getattr(first, name) for name in _CONNECTIONS):
            return self._model.connections
        return compile_connections(spec, self._builder.placed, joints, self._cache)


def _differs_in_numbers(joint: JointSpec, other: JointSpec) -> bool:
    """Return whether two joints have the same names and are moving ones."""
    if joint.type == "fixed" or bool(joint.armature.all()) != bool(other.armature.all()):
        return False
    return all(getattr(joint, name) == getattr(other, name) for name in _STRUCTURE)
