"""Construction of a model's tree from a specification: fixed joints welded, moving joints in depth-first order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim._engine import JointDescription, Passive
from pysim.errors import JointError, ModelError, did_you_mean
from pysim.inertia import move_theta
from pysim.inertia.parameters import moved_by
from pysim.joints import find_joint
from pysim.mechanism.constraint_compiler import compile_connections
from pysim.mechanism.joint_description import TraceCache, describe_motion
from pysim.mechanism.model import Body, Connections, Model
from pysim.scene.mimic import leading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim._engine import MotionDescription
    from pysim.joints.callback import CallbackJoint
    from pysim.scene.spec import BodySpec, JointSpec, ModelSpec
    from pysim.shapes import Geometry


@dataclass
class CompositeBody:
    """Moving body, or the world (index -1), with everything that is welded to it."""

    index: int
    name: str
    theta: NDArray[np.float64] = field(default_factory=lambda: np.zeros(10))
    geometries: list[Geometry] = field(default_factory=list)
    # bodies by number in the specification, with their poses
    parts: list[tuple[int, NDArray[np.float64]]] = field(default_factory=list)


class Builder:
    """Depth-first traversal of the joints that collects the engine's records."""

    def __init__(self, spec: ModelSpec, cache: TraceCache | None = None) -> None:
        self.spec = spec
        self.cache = TraceCache() if cache is None else cache
        self.world = CompositeBody(-1, "world")
        self.carriers: list[CompositeBody] = []
        self.joints: list[JointSpec] = []
        self._joint_numbers: list[int] = []  # their places in the specification
        self.parents: list[tuple[CompositeBody, NDArray[np.float64]]] = []  # of the joints
        self.descriptions: list[JointDescription] = []
        self.callbacks: dict[str, CallbackJoint] = {}
        self.frames: dict[str, tuple[int, NDArray[np.float64]]] = {}
        self._children: dict[str, list[JointSpec]] = defaultdict(list)
        for joint in spec.joints:
            self._children[joint.parent].append(joint)
        self._numbers = {joint.name: k for k, joint in enumerate(spec.joints)}
        self._bodies = {body.name: k for k, body in enumerate(spec.bodies)}
        self.placed: dict[str, tuple[CompositeBody, NDArray[np.float64]]] = {
            "world": (self.world, np.eye(4))
        }

    def add_children(self, name: str, carrier: CompositeBody, pose: NDArray[np.float64]) -> None:
        """Add every joint below the body `name`, whose pose in its composite body is `pose`."""
        pending = [(joint, carrier, pose) for joint in reversed(self._children[name])]
        while pending:
            joint, carrier, pose = pending.pop()
            if joint.type == "fixed":
                child, child_pose = carrier, pose @ joint.at
            else:
                child = self._add_moving(joint, carrier, pose)
                child_pose = np.eye(4)
            self._weld(joint.child, child, child_pose)
            pending += [(j, child, child_pose) for j in reversed(self._children[joint.child])]

    def _add_moving(
        self, joint: JointSpec, parent: CompositeBody, pose: NDArray[np.float64]
    ) -> CompositeBody:
        carrier = CompositeBody(len(self.carriers), joint.child)
        self.carriers.append(carrier)
        self.joints.append(joint)
        self._joint_numbers.append(self._numbers[joint.name])
        self.parents.append((parent, pose))
        self.descriptions.append(self.described(joint, parent, pose))
        return carrier

    def described(
        self, joint: JointSpec, parent: CompositeBody, pose: NDArray[np.float64]
    ) -> JointDescription:
        """Return the engine's record of a joint on a body with this pose in its composite body."""
        motion = describe_motion(joint, self.cache)
        if motion.callback is not None:
            self.callbacks[joint.name] = motion.callback
        placement = pose @ joint.at @ motion.at
        return joint_record(joint, motion.description, parent.index, placement)

    def carries(self, carrier: CompositeBody, body: BodySpec) -> bool:
        return self.placed[body.name][0] is carrier

    def _weld(self, name: str, carrier: CompositeBody, pose: NDArray[np.float64]) -> None:
        k = self._bodies[name]
        body = self.spec.bodies[k]
        carrier.parts.append((k, pose))
        carrier.theta = carrier.theta + move_theta(body.theta, pose)
        carrier.geometries += [g.moved(pose) for g in body.geometries]
        self.frames[body.name] = (carrier.index, pose)
        self.placed[body.name] = (carrier, pose)

    def add_frames(self) -> None:
        for frame in self.spec.frames:
            carrier, pose = self.placed[frame.body]
            self.frames[frame.name] = (carrier.index, pose @ frame.pose)

    def build(self) -> Model:
        for k, joint in enumerate(self.joints):
            if joint.mimic is not None:
                leader, ratio, offset = self._leader(joint)
                self.descriptions[k] = self.descriptions[k].replaced(
                    follows=leader, ratio=ratio, offset=offset
                )
        return Model(
            self.descriptions,
            self.spec.gravity,
            spec=self.spec,
            joints=tuple(self.joints),
            bodies=tuple(Body(c.name, c.theta, tuple(c.geometries)) for c in self.carriers),
            world_geometries=(*self.world.geometries, *self._fields()),
            frames=self.frames,
            connections=self._connections(),
            callbacks=self.callbacks,
        )

    def with_numbers(self, model: Model, spec: ModelSpec) -> Model | None:
        """Return the model of a specification with other numbers than those of `model`, which was built here.

        The specification was made of the builder's, and shares with it what the numbers do not affect: the same object
        is not compiled again. `pysim.mechanism.compile.invalid_models` checks the numbers.

        Returns:
            The model; None if a number changes the structure.
        """
        if self.callbacks or not self._is_alike(spec):
            return None
        joints = tuple(spec.joints[k] for k in self._joint_numbers)
        return model.replaced(
            spec=spec,
            gravity=spec.gravity,
            bodies=tuple(map(partial(self._body, spec), self.carriers, model.bodies)),
            joints=joints,
            descriptions=[self._description(k, joint) for k, joint in enumerate(joints)],
            connections=model.connections
            if spec.forces is self.spec.forces
            else compile_connections(spec, self.placed, joints, self.cache),
        )

    def _is_alike(self, spec: ModelSpec) -> bool:
        """Return whether a specification made of the builder's has the same structure."""
        bodies = list(zip(spec.bodies, self.spec.bodies, strict=True))
        if any(bodies[k][0] is not bodies[k][1] for k, _ in self.world.parts):
            return False
        if any(body is not first and not body.theta.any() for body, first in bodies):
            return False
        return all(
            joint is first
            or (joint.type != "fixed" and bool(joint.armature.all()) == bool(first.armature.all()))
            for joint, first in zip(spec.joints, self.spec.joints, strict=True)
        )

    def _body(self, spec: ModelSpec, carrier: CompositeBody, first: Body) -> Body:
        """Return a moving body, with what is welded to it; the body of the first model if nothing differs."""
        parts = [(spec.bodies[k], self.spec.bodies[k], pose) for k, pose in carrier.parts]
        if all(body is known for body, known, _ in parts):
            return first
        theta, geometries = np.zeros(10), first.geometries
        for body, _, pose in parts:
            theta = theta + moved_by(body.theta, pose)
        if any(body.geometries is not known.geometries for body, known, _ in parts):
            geometries = tuple(g.moved(pose) for body, _, pose in parts for g in body.geometries)
        return Body(first.name, theta, geometries)

    def _description(self, k: int, joint: JointSpec) -> JointDescription:
        """Return the engine's record of a moving joint; its motion is that of the first model if it is not affected."""
        first, record = self.joints[k], self.descriptions[k]
        if joint is first:
            return record
        moves_alike = joint.axis == first.axis and joint.parameters == first.parameters
        if moves_alike and joint.at is first.at and find_joint(joint.type).plugin is None:
            other = joint_record(joint, record.motion, record.parent, record.placement)
        else:
            other = self.described(joint, *self.parents[k])
        if joint.mimic is None:
            return other
        return other.replaced(follows=record.follows, ratio=record.ratio, offset=record.offset)

    def _fields(self) -> Iterator[Geometry]:
        """Yield the surfaces of the grounds that are no planes."""
        for ground in self.spec.grounds:
            if ground.field is not None:
                yield ground.field.drawn

    def _connections(self) -> Connections:
        """Return loops, couplings and forces; callback joints are rejected with loops and couplings."""
        spec = self.spec
        for joint in self.joints:
            if joint.name in self.callbacks and (spec.loops or spec.couplings):
                problem = (
                    f"joint {joint.name!r} is computed by Python, which loops and couplings do not support; "
                    "write it so that it can be traced"
                )
                raise ModelError(joint.where, problem)
        return compile_connections(spec, self.placed, self.joints, self.cache)

    def _leader(self, joint: JointSpec) -> tuple[int, float, float]:
        """Return the index of the joint that leads a chain of followers, with the ratio and offset to it."""
        index = {other.name: k for k, other in enumerate(self.joints)}
        try:
            mimic = leading(joint, {other.name: other for other in self.joints})
        except JointError as error:
            raise ModelError(joint.where, error.problem) from error
        assert mimic is not None
        if mimic.joint not in index:
            problem = f"joint {joint.name!r} follows {mimic.joint!r}, which does not move"
            raise ModelError(joint.where, problem + did_you_mean(mimic.joint, index))
        return index[mimic.joint], mimic.ratio, mimic.offset


def joint_record(
    joint: JointSpec, motion: MotionDescription, parent: int, placement: NDArray[np.float64]
) -> JointDescription:
    """Return the engine's record of a joint with this motion, at a placement (4, 4) in the body `parent`."""
    return JointDescription(
        joint.name,
        motion,
        parent,
        placement,
        rest=joint.rest,
        armature=joint.armature,
        passive=passive_forces_of(joint),
    )


def passive_forces_of(joint: JointSpec) -> list[Passive]:
    """Return the passive forces of a joint's coordinates."""
    columns = [getattr(joint, name).tolist() for name in Passive.fields]
    return [Passive(*numbers) for numbers in zip(*columns, strict=True)]
