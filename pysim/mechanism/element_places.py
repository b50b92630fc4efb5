"""Places of a scene's elements in a model: the coordinates, frames, paths and joints that they name."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import ElementKind, PortDescription
from pysim.elements.graph_types import SHARP_BAND, CoordinatePlace, RodSection, TouchedBody
from pysim.errors import ModelError
from pysim.mechanism.constraint_compiler import Coordinates
from pysim.mechanism.fixed_joint_wrench import rigid_part
from pysim.mechanism.path_compiler import compile_path
from pysim.scene.spec import BlockSpec
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from pysim.elements.graph_types import RigidPart
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ForceSpec, JointSpec, SceneSpec


def acting_limits(joint: JointSpec | None) -> tuple[float | None, float | None]:
    """Return the effort and velocity limits that bound the actuators of a joint; None without one, or where it is 0."""
    if joint is None or not joint.enforce_limits:
        return None, None
    return joint.effort_limit or None, joint.velocity_limit or None


def velocity_band(joint: JointSpec | None) -> float:
    """Return the share of a joint's velocity limit over which the force of its actuators falls to 0."""
    given = None if joint is None else joint.velocity_band
    return SHARP_BAND if given is None else given


class ElementPlaces:
    """Places of names in a model: coordinates, frames, paths and joints."""

    def __init__(self, model: Model, scene: SceneSpec | None = None) -> None:
        self.model, self.scene = model, scene
        self.ports: list[PortDescription] = []
        self._coordinates = Coordinates(model.joints)
        self._limits = {joint.name: joint for joint in model.joints}

    def coordinate(self, name: str, where: str) -> CoordinatePlace:
        q, v = self._coordinates.place(name, where)
        effort, velocity = acting_limits(self._limits.get(name))
        return CoordinatePlace(
            name,
            q,
            v,
            "" if q < 0 else self.model.coordinate_units[q],
            self.model.velocity_units[v],
            effort,
            velocity,
            velocity_band(self._limits.get(name)),
        )

    def number(self, port: PortDescription | None) -> int | None:
        """Add a port; return its number."""
        if port is None:
            return None
        self.ports.append(port)
        return len(self.ports) - 1

    def port(self, spec: BlockSpec | ForceSpec) -> PortDescription | None:
        """Return the frames or the path that a block measures or drives."""
        if not isinstance(spec, BlockSpec):
            return self._port_of_force(spec)
        if spec.points:
            points = compile_path(spec.points, self._frame, self._coordinates, spec.where)
            return PortDescription(spec.name, ElementKind.path, points=points)
        fixed = self._fixed_joint(spec)
        if fixed is not None:
            body, place = self.model.frames[fixed.child]
            if body < 0:
                return None
            kind, still = ElementKind.frames, np.eye(4)
            return PortDescription(spec.name, kind, a=-1, b=body, at_a=still, at_b=place)
        if spec.frame is None:
            return None
        (a, pose_a), (b, pose_b) = self._frame(spec.relative_to), self._frame(spec.frame)
        return PortDescription(
            spec.name,
            ElementKind.frames,
            a=a,
            b=b,
            at_a=pose_a @ spec.relative_at,
            at_b=pose_b @ spec.at,
        )

    def _port_of_force(self, force: ForceSpec) -> PortDescription | None:
        if force.coordinates:
            return None
        if force.path:
            points = compile_path(force.path, self._frame, self._coordinates, force.where)
            return PortDescription(force.name, ElementKind.path, points=points)
        (a, pose_a), (b, pose_b) = self._frame(force.a), self._frame(force.b)
        at_a, at_b = pose_a @ force.at_a, pose_b @ force.at_b
        return PortDescription(force.name, ElementKind.frames, a=a, b=b, at_a=at_a, at_b=at_b)

    def _frame(self, name: str) -> tuple[int, Any]:
        return (-1, np.eye(4)) if name == WORLD else self.model.frames[name]

    def _fixed_joint(self, spec: BlockSpec) -> JointSpec | None:
        """Return the fixed joint whose wrench a sensor measures; None for other blocks."""
        if self.scene is None or spec.joint is None or spec.kind != "sensor":
            return None
        fixed = (joint for joint in self.scene.model.joints if joint.type == "fixed")
        return next((joint for joint in fixed if joint.name == spec.joint), None)

    def part(self, spec: BlockSpec) -> RigidPart | None:
        """Return the part by which a sensor measures the wrench at a fixed joint; None for other blocks."""
        if self._fixed_joint(spec) is None:
            return None
        assert self.scene is not None
        return rigid_part(self.model, self.scene, spec, self._added)

    def _added(self, port: PortDescription) -> int:
        self.ports.append(port)
        return len(self.ports) - 1

    def touched(self, spec: BlockSpec, plugin: Any) -> TouchedBody | None:  # noqa: ANN401
        """Return the body whose contacts a sensor measures; None for other blocks."""
        measures = spec.kind == "sensor" and "contact" in signature(plugin.measure).parameters
        if not measures or spec.frame is None or self.scene is None:
            return None
        body_of = {frame.name: frame.body for frame in self.scene.model.frames}
        body, pose = self._frame(spec.frame)
        base = None
        if getattr(plugin, "axes", "frame") == "base":
            base_body, base_pose = self._frame(spec.relative_to)
            base = base_body, base_pose @ spec.relative_at
        others = tuple(body_of.get(name, name) for name in spec.others)
        link = body_of.get(spec.frame, spec.frame)
        return TouchedBody(spec.name, link, others, body, pose @ spec.at, base, spec.where)

    def section(self, spec: BlockSpec) -> RodSection | None:
        """Return the section of a rod at which a sensor measures; None for other blocks."""
        rod = spec.section
        if rod is None:
            return None
        numbers = [self.model.joint_names.index(name) for name in rod.joints]
        hinges = tuple(
            (number, self.model.q_offsets[number], force, moment, turn)
            for number, (force, moment, turn) in zip(numbers, rod.shares, strict=True)
        )
        return RodSection(hinges, rod.axis, rod.sides, rod.is_round)

    def joint(self, spec: BlockSpec) -> int | None:
        if spec.joint is None or self._fixed_joint(spec) is not None:
            return None
        if spec.joint not in self.model.joint_names:
            problem = f"{spec.kind} {spec.name!r}: joint {spec.joint!r} does not move"
            raise ModelError(spec.where, f"{problem}; name a moving joint")
        return self.model.joint_names.index(spec.joint)
