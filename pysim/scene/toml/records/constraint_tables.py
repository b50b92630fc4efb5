"""Tables of loops, couplings and forces, and of the assembly of the start."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import ValidationInfo, field_validator, model_validator

from pysim.elements.force import FORCE_KEYS, SPRING, find_force
from pysim.errors import JointError
from pysim.joints import BUILTIN
from pysim.joints.coordinate_functions import KINDS, check_function
from pysim.joints.definition import SCENE_KEYS
from pysim.joints.loop_joints import POINT_CONSTRAINTS
from pysim.scene.toml.records.keys import (
    AnyConfiguration,
    ListOf,
    Name,
    NotNegative,
    NotNegativeNumbers,
    Pose,
    Positive,
    Positive2,
    Positive3,
    Vector2,
    Vector3,
    error_text,
    key,
)
from pysim.scene.toml.records.references import CoordinateName, MountName
from pysim.scene.toml.records.schema import Shorthand, demands, with_plugin_keys
from pysim.scene.toml.records.table import Table, plain

if TYPE_CHECKING:
    from pysim.scene.spec import ForceSpec, PathPart, PointMove
    from pysim.typing import Array

_PLUGIN_KEYS = with_plugin_keys("type", ["weld", *POINT_CONSTRAINTS, *BUILTIN], SCENE_KEYS)


class Loop(Table, json_schema_extra=_PLUGIN_KEYS):
    """A joint that closes a loop: it constrains frame B on body b relative to frame A on body a."""

    spec_names: ClassVar = {"start": "start_q"}
    name: Name = key(..., "", "the name of the loop")
    type: Name = key(
        ..., "", "a joint type, weld, point_on_plane, point_on_line, distance or wheel_on_plane"
    )
    a: MountName = key("world", "", '"world", a body or a frame')
    b: MountName = key("world", "", '"world", a body or a frame')
    at_a: Pose = key(Pose(), "", "frame A in body (or frame) a")
    at_b: Pose = key(Pose(), "", "frame B in body (or frame) b")
    axis: Vector3 | None = key(
        None, "", "direction in frame A, for a joint type also in frame B; [0, 0, 1] by default"
    )
    pitch: float | None = key(None, "m/rad", "travel along the axis per radian, for helical joints")
    length: Positive | None = key(
        None, "m", "distance of the origins of A and B, for type distance"
    )
    radius: Positive | None = key(None, "m", "radius of a wheel, whose axis is z of frame B")
    start: AnyConfiguration | None = key(None, "", "initial guess for the coordinates of the joint")
    stiffness: NotNegativeNumbers | None = key(
        None,
        "N/m or N·m/rad",
        "of a spring towards where A and B coincide, by the coordinates of the joint; of a ball by its rotation vector",
    )
    damping: NotNegativeNumbers | None = key(
        None, "N·s/m or N·m·s/rad", "damping of the rates of these coordinates"
    )
    parameters: dict[str, Any] = key({}, "", "keys of a joint plugin; written beside the others")


class Coupling(Table):
    """A gear, differential or cam: q of the joint = offset + Σ ratio · q of others + function(inputs)."""

    name: Name = key(..., "", "the name of the coupling")
    joint: Name = key(..., "", "the coordinate that is coupled: a joint, or joint.coordinate")
    ratios: dict[str, float] = key(
        {}, "", "factor of each coordinate, for instance { pinion = -0.5 }"
    )
    teeth: dict[str, int] = key(
        {},
        "",
        "of two gears, negative inside a ring: { planet = 18, sun = 24 }; of the wheel of a rack alone",
    )
    carrier: Name | None = key(None, "", "joint of the carrier on which a gear of `teeth` turns")
    module: Positive | None = key(
        None,
        "m",
        "of these gears: checks the distance of their axes, and gives the travel of a rack",
    )
    offset: float = key(0.0, "m or rad", "constant part")
    function: Name | None = key(
        None, "", "function registered by a plugin with @pysim.joints.relation"
    )
    inputs: list[Name] = key([], "", "coordinates that are the arguments of the function, in order")


def _opened_point(value: object) -> object:
    return {"xyz": value} if isinstance(value, list) else value


PointOrPose = Annotated[
    Pose, Shorthand(_opened_point, lambda table: demands(table["properties"]["xyz"]))
]


class FrameMotion(Table):
    """A frame that follows signals of time exactly, with the force or wrench that this needs."""

    spec_names: ClassVar = {
        "frame": "b",
        "at": "at_b",
        "signal": "position",
        "relative_to": "a",
        "relative_at": "at_a",
    }
    name: Name | None = key(None, "", 'the name of the motion, "motion of FRAME" by default')
    frame: MountName = key(..., "", "a body or a frame that is driven")
    at: PointOrPose = key(Pose(), "m", "its point, or its frame, in that body or frame")
    signal: ListOf[Name] = key(
        ..., "m", "signal of the position: one of 3 numbers, or 3 of one number"
    )
    rotation: ListOf[Name] = key(
        [],
        "",
        "signal of the orientation: a rotation vector (3) [rad] or a quaternion (x, y, z, w); left out, it is free",
    )
    relative_to: MountName = key("world", "", '"world", a body or a frame against which it moves')
    relative_at: Pose = key(Pose(), "", "the frame in that body or frame whose axes are meant")


class PathRange(Table):
    """A range of a coordinate, within which a path passes through a point."""

    coordinate: Name = key(..., "", "a joint, or joint.coordinate")
    above: float | None = key(None, "m or rad", "lower end of the range")
    below: float | None = key(None, "m or rad", "upper end of the range")

    @model_validator(mode="after")
    def _is_range(self) -> PathRange:
        if self.above is None and self.below is None:
            raise error_text("has no range; give above, below or both")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise error_text(
                f"above = {self.above} is not less than below = {self.below}; swap them"
            )
        return self


class FunctionPoints(Table):
    """Points of a function of a coordinate."""

    x: list[float] = key(..., "m or rad", "values of the coordinate, increasing")
    y: list[float] = key(..., "m", "the function's values")


class PathMove(Table):
    """A displacement of a path's point along an axis, by a function of a coordinate."""

    coordinate: Name = key(..., "", "a joint, or joint.coordinate")
    axis: Vector3 = key(..., "", "axis in the body or frame, which is normalised")
    constant: float | None = key(None, "m", "the function is this number")
    polynomial: list[float] | None = key(
        None, "m", "the function is a polynomial with these coefficients, constant first"
    )
    spline: FunctionPoints | None = key(
        None, "", "the function is OpenSim's SimmSpline through these points"
    )
    natural_spline: FunctionPoints | None = key(
        None, "", "the function is the natural cubic spline through these points"
    )
    polyline: FunctionPoints | None = key(
        None, "", "the function is a line from point to point, the outer ones continued"
    )
    range: Vector2 | None = key(
        None, "m or rad", "bounds within which the function holds the coordinate"
    )

    @model_validator(mode="after")
    def _is_move(self) -> PathMove:
        if not any(self.axis):
            raise error_text("has the axis [0, 0, 0]; give a direction")
        try:
            check_function(self.function, "")
        except JointError as error:
            raise error_text(f"{error.where.removeprefix('.')} {error.problem}".strip()) from None
        return self

    @property
    def unit(self) -> tuple[float, float, float]:
        """Direction of the axis."""
        axis = np.asarray(self.axis, float)
        x, y, z = map(float, axis / np.linalg.norm(axis))
        return x, y, z

    @property
    def function(self) -> dict[str, Any]:
        """Table of the function, see `pysim.joints.coordinate_functions`."""
        return self.model_dump(include={*KINDS, "range"}, exclude_none=True)

    @classmethod
    def keys_in_body(cls, spec: PointMove, R: Array) -> dict[str, Any]:
        """Return the table of a move of a part whose axes in the body are R (3, 3)."""
        axis = (R @ spec.axis).tolist()
        return {"coordinate": spec.coordinate, "axis": axis, **spec.function}


OBSTACLES = ("sphere", "cylinder", "ellipsoid", "torus")


class PathPoint(Table):
    """A point through which a path passes, or a sphere, cylinder, ellipsoid or torus between two points.

    The path wraps over it, or passes through the inside of a sphere or cylinder, or the hole of a torus.
    """

    body: MountName = key(..., "", '"world", a body or a frame')
    point: Vector3 = key([0.0, 0.0, 0.0], "m", "point in the body or frame")
    when: PathRange | None = key(None, "", "range of a coordinate within which the point counts")
    moves: list[PathMove] = key(
        [], "", "displacements of the point along axes, by functions of coordinates"
    )
    sphere: Positive | None = key(None, "m", "radius of a sphere to wrap over")
    cylinder: Positive | None = key(None, "m", "radius of a cylinder to wrap over")
    length: Positive | None = key(
        None, "m", "of the cylinder; beyond both ends it is not touched. Infinite by default"
    )
    ellipsoid: Positive3 | None = key(
        None, "m", "semi-axes of an ellipsoid to wrap over, along its x, y and z"
    )
    torus: Positive2 | None = key(
        None, "m", "radii of a ring about z and of its tube, through whose hole the path passes"
    )
    at: PointOrPose = key(Pose(), "m", "centre or frame of the obstacle; z is a cylinder's axis")
    side: Vector3 | None = key(
        None,
        "",
        "direction in the obstacle's frame in which the path passes; the shorter by default",
    )
    inside: bool = key(
        False, "", "whether the path passes through the inside of the sphere or cylinder"
    )
    multiplicity: float = key(
        1.0, "", "strands from the point before to this one; 0 for none, negative to subtract them"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> PathPoint:
        named = [name for name in ("point", *OBSTACLES) if name in self.model_fields_set]
        if len(named) > 1:
            raise error_text(f"has {' and '.join(named)}; keep one of them")
        for name in ("at", "side"):
            if name in self.model_fields_set and not self.is_obstacle:
                problem = f"has {name}, which belongs to a sphere or cylinder; give its radius"
                place = ", or write the place of a point as point" if name == "at" else ""
                raise error_text(f"{problem}{place}")
        if self.length is not None and (self.cylinder is None or self.inside):
            raise error_text("has length, which belongs to a cylinder to wrap over; remove it")
        if "side" in self.model_fields_set and self.torus is not None:
            raise error_text("has side, but a path passes through the hole of a torus; remove side")
        if self.torus is not None and self.torus[1] >= self.torus[0]:
            ring, tube = self.torus
            problem = f"torus = [{ring:g}, {tube:g}] has a tube as thick as its ring"
            raise error_text(f"{problem}; give a tube below {ring:g} [m]")
        if "inside" in self.model_fields_set and self.sphere is None and self.cylinder is None:
            problem = "has inside, which belongs to a sphere or cylinder; give its radius"
            raise error_text(problem)
        if self.inside and self.side is not None:
            raise error_text("has side and inside; keep one of them")
        if "multiplicity" in self.model_fields_set and (self.is_obstacle or self.when is not None):
            problem = "has multiplicity, which belongs to a point that always counts"
            raise error_text(f"{problem}; give it to the point after this one")
        for name in ("when", "moves"):
            if getattr(self, name) and self.is_obstacle:
                raise error_text(f"has {name}, which belongs to a point; remove it")
        return self

    @property
    def is_obstacle(self) -> bool:
        """Whether the path runs around it."""
        return any(getattr(self, name) is not None for name in OBSTACLES)

    @classmethod
    def keys_of(cls, spec: PathPart) -> dict[str, Any]:
        """Return the table of a part of a path."""
        table: dict[str, Any] = {"body": spec.body}
        if spec.is_obstacle:
            at = {"at": Pose.keys_of(spec.at)} if not np.array_equal(spec.at, np.eye(4)) else {}
            side = {"side": list(spec.side)} if any(spec.side) else {}
            inside = {"inside": True} if spec.inside else {}
            sizes = {"ellipsoid": list(spec.semi_axes), "torus": [spec.radius, spec.tube]}
            length = {"length": spec.length} if math.isfinite(spec.length) else {}
            size = {spec.kind: sizes.get(spec.kind, spec.radius)}
            return table | size | length | at | side | inside
        table["point"] = spec.point.tolist()
        if spec.multiplicity != 1:
            table["multiplicity"] = spec.multiplicity
        if spec.moves:
            table["moves"] = [PathMove.keys_in_body(move, spec.at[:3, :3]) for move in spec.moves]
        if spec.kind == "conditional":
            ends = {"above": spec.above, "below": spec.below}
            finite = {key: value for key, value in ends.items() if math.isfinite(value)}
            table["when"] = {"coordinate": spec.coordinate, **finite}
        return table


class Force(Table, json_schema_extra=with_plugin_keys("type", (SPRING,), FORCE_KEYS)):
    """A force between a and b, along a path or on coordinates: a spring, or the force of a plugin."""

    name: Name = key(..., "", "the name of the force")
    type: Name = key(
        ..., "", "spring, or a force plugin: path_spring, rope, bushing, linear_drag, …"
    )
    a: MountName = key("world", "", '"world", a body or a frame')
    b: MountName = key("world", "", '"world", a body or a frame')
    at_a: PointOrPose = key(Pose(), "m", "point or frame in body (or frame) a")
    at_b: PointOrPose = key(Pose(), "m", "point or frame in body (or frame) b")
    path: list[PathPoint] = key([], "", "points of a force along a path, in their order")
    multiplicity: Positive = key(1.0, "", "strands of all parts of the path")
    coordinates: list[Name] = key([], "", "joints (or joint.coordinate) that the force acts on")
    stiffness: NotNegative = key(0.0, "N/m", "stiffness of a spring between the points")
    damping: NotNegative = key(0.0, "N·s/m", "damping of a spring between the points")
    length: NotNegative = key(0.0, "m", "natural length of a spring")
    parameters: dict[str, Any] = key({}, "", "keys of a force plugin; written beside the others")

    @field_validator("at_a", "at_b", mode="before")
    @classmethod
    def _is_point(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, dict) and info.data.get("type") == SPRING:
            raise error_text("must be a list [m], got a table; a spring acts between points")
        return value

    @model_validator(mode="after")
    def _acts(self) -> Force:
        if self.type == SPRING and not {"stiffness", "damping"} & self.model_fields_set:
            raise error_text(
                "has neither stiffness nor damping; give stiffness [N/m] or damping [N·s/m]"
            )
        return self

    @classmethod
    def keys_of(cls, spec: ForceSpec) -> dict[str, Any]:
        """Return the table of a force."""
        if not find_force(spec.type).between_points:
            return super().keys_of(spec)
        table: dict[str, Any] = {"name": spec.name, "type": spec.type}
        for side, end in zip("ab", spec.path, strict=True):
            table |= {side: end.body, f"at_{side}": end.point.tolist()}
        table |= plain(spec.parameters)
        return table


class Assembly(Table):
    """Assembly of the start, so that loops close and couplings hold."""

    hold: list[CoordinateName] = key([], "", "joints (or joint.coordinate) that keep their start")
    equilibrium: bool | list[CoordinateName] = key(
        default=False,
        unit="",
        doc="start where all forces balance: true for all joints, or those that move to it",
    )
