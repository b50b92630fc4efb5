"""Specifications: the content of scene and robot files as plain data, without engine, files or validation.

Poses are 4×4 arrays X_AB that map B coordinates to A. `where` names the place in the file, for messages. The file is
long as a list: one class a part of a scene, which refer to one another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from pysim.joints.coordinate_functions import displacement
from pysim.scene.poses import translation
from pysim.scene.renaming import BodyName, LinkName, MaterialName, OwnName, PoseIn
from pysim.shapes import Geometry, HeightField, Shape, drawn
from pysim.typing import Array

Spec = TypeVar("Spec", "BodySpec", "JointSpec", "ModelSpec", "SceneSpec")


@dataclass(frozen=True)
class CollisionFilter:
    """Masks of a surface: two touch if the kind of one matches the affinity of the other, or if one names the other."""

    kind: int
    affinity: int
    name: str = ""
    partners: frozenset[str] = frozenset()  # names of surfaces that it touches whatever their masks

    def admits(self, other: CollisionFilter) -> bool:
        """Return whether two surfaces touch each other."""
        masks = (self.kind & other.affinity) | (other.kind & self.affinity)
        return bool(masks) or other.name in self.partners


def may_touch(a: CollisionFilter | None, b: CollisionFilter | None) -> bool:
    """Return whether the filters of two surfaces admit each other; a surface without one touches all."""
    return a is None or b is None or a.admits(b)


@dataclass(frozen=True)
class DecompositionSpec:
    """Convex parts of a mesh: their concavity in a unit cube, and their largest number, −1 for any."""

    concavity: float = 0.05
    parts: int = -1


@dataclass(frozen=True)
class CollisionSpec:
    """Shape of a body that collides: its pose (4, 4) in the body frame, and the name of its material."""

    shape: Shape
    pose: Array
    material: MaterialName = "default"
    convex: bool = False  # whether a mesh stands for its convex hull
    where: str = ""
    filter: CollisionFilter | None = None
    decomposition: DecompositionSpec | None = None  # of a mesh that collides as convex parts
    robot: str = ""  # file of another program that it is from
    self_collision: bool | None = None  # whether links of its file touch, if it says

    @property
    def is_imported(self) -> bool:
        """Whether the shape is from another program's file instead of a scene's."""
        return ".toml:" not in self.where


@dataclass(frozen=True)
class BodySpec:
    """Rigid body: θ (10,) about its frame's origin, its geometries, and its shapes that collide."""

    name: OwnName
    theta: Array
    geometries: tuple[Geometry, ...] = ()
    where: str = ""
    collisions: tuple[CollisionSpec, ...] = ()


@dataclass(frozen=True)
class Mimic:
    """Relation of a follower to its leader: q = ratio · q_joint + offset."""

    joint: OwnName
    ratio: float = 1.0
    offset: float = 0.0


def _each(none: float) -> Any:  # noqa: ANN401, the type of each field
    """Return an array of one number a coordinate of v; if left out, each is `none`."""
    return field(default=None, metadata={"none": none})


@dataclass(frozen=True)
class MotionSpec:
    """Prescribed motion of a joint's coordinate, which follows a signal of time."""

    signal: OwnName
    coordinate: str | None = None  # of a joint that has several


@dataclass(frozen=True)
class JointSpec:
    """Joint and the body it moves. Arrays have one number for each velocity, `rest` and `start_q` for each of q.

    Friction is −friction tanh(v / friction_width); a stop beyond a limit is a spring and a damper that only push.
    """

    name: OwnName
    type: str
    parent: BodyName
    child: BodyName
    at: Annotated[Array, PoseIn("parent")]  # joint frame in the parent (4, 4)
    axis: tuple[float, float, float]  # unit
    rest: Array  # [m or rad], identity quaternion for rotations
    start_q: Array
    start_v: Array
    armature: Array = _each(0.0)  # [kg or kg·m²]
    damping: Array = _each(0.0)  # [N·s/m or N·m·s/rad]
    stiffness: Array = _each(0.0)  # [N/m or N·m/rad]
    friction: Array = _each(0.0)  # [N or N·m]
    # [m/s or rad/s], NaN for `pysim.scene.stop_defaults` to choose
    friction_width: Array = _each(math.nan)
    lower: Array = _each(-math.inf)  # [m or rad]
    upper: Array = _each(math.inf)
    stop_stiffness: Array = _each(math.nan)  # [N/m or N·m/rad], NaN as above
    stop_damping: Array = _each(math.nan)  # [N·s/m or N·m·s/rad], NaN as above
    stop_dissipation: Array = _each(-1.0)  # [s/m or s/rad] in place of it; -1 for none
    parameters: Mapping[str, Any] = field(default_factory=dict)  # pitch, or the keys of a plugin
    mimic: Mimic | None = None
    effort_limit: float | None = None  # [N or N·m], of the sum of actuator forces
    velocity_limit: float | None = None  # [m/s or rad/s], at which actuators drive no further
    velocity_band: float | None = None  # share of it, over which their force falls to 0; None: 1e-6
    enforce_limits: bool = True  # whether these limits bound the actuators
    motions: tuple[MotionSpec, ...] = ()  # of coordinates that follow signals of time
    given_start: frozenset[str] = frozenset()  # which of "q" and "v" its start gives
    default_stops: frozenset[str] = frozenset()  # fields of its stops that were NaN and are chosen
    where: str = ""

    def __post_init__(self) -> None:
        for name, none in PER_COORDINATE.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full(len(self.start_v), none))


PER_COORDINATE: dict[str, float] = {
    item.name: item.metadata["none"] for item in fields(JointSpec) if "none" in item.metadata
}
"""Fields of a joint with one number a coordinate of v, and the number of a coordinate that has none."""


def with_fields(spec: Spec, **values: Any) -> Spec:  # noqa: ANN401, the type of each field
    """Return a specification with other values of some fields, as `dataclasses.replace`, but in a tenth of the time."""
    copy = object.__new__(type(spec))
    copy.__dict__.update(spec.__dict__)
    copy.__dict__.update(values)
    return copy


@dataclass(frozen=True)
class LoopSpec:
    """Loop: the motion of frame B on one body relative to frame A on another is that of a joint.

    `type` is one of `pysim.joints.loop_joints.loop_types()`.
    """

    name: OwnName
    type: str
    a: BodyName
    b: BodyName
    at_a: Annotated[Array, PoseIn("a")]  # frame A in body a (4, 4)
    at_b: Annotated[Array, PoseIn("b")]  # frame B in body b (4, 4)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)  # unit, in frame A; of a joint in both
    length: float = 0.0  # [m] of a distance
    radius: float = 0.0  # [m] of a wheel
    parameters: Mapping[str, Any] = field(default_factory=dict)  # pitch, or the keys of a plugin
    start_q: Array | None = None  # initial guess of the joint's coordinates
    where: str = ""
    position: tuple[OwnName, ...] = ()  # signals of time that drive frame A: its position
    rotation: tuple[OwnName, ...] = ()  # and rotation, none if it is free


@dataclass(frozen=True)
class CouplingSpec:
    """Σ ratio · q − offset − f(x) = 0 between coordinates; a coordinate is a joint's name, or "joint.coordinate"."""

    name: OwnName
    terms: Mapping[OwnName, float]  # ratio by coordinate
    offset: float = 0.0
    function: str | None = None  # name of the relation f
    inputs: tuple[OwnName, ...] = ()  # coordinates x
    where: str = ""
    signal: OwnName | None = None  # of time, in place of f(x): a prescribed motion


MOST_OBSTACLES = 4  # of a path between two points, as in the engine


@dataclass(frozen=True)
class PointMove:
    """Displacement of a path's point along an axis, by a function of a coordinate."""

    coordinate: OwnName  # joint, or "joint.coordinate"
    axis: tuple[float, float, float]  # unit, in the frame of the path's part
    function: Mapping[str, Any]  # [m], see pysim.joints.coordinate_functions


@dataclass(frozen=True)
class PathPart:
    """Part of a path: a point, a point within a range of a coordinate, or a sphere, cylinder, ellipsoid or torus.

    It wraps over these, passes through the inside of a sphere or cylinder, and through the hole of a torus.
    Coordinates may move a point.
    """

    body: BodyName
    # point (3,) [m] or frame (4, 4); its z is a cylinder's axis
    at: Annotated[Array, PoseIn("body")]
    kind: str = "point"  # point, conditional, sphere, cylinder, ellipsoid or torus
    radius: float = 0.0  # [m] of a sphere or cylinder, or of the circle in the tube of a torus
    side: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in its axes; 0 for the shorter side
    inside: bool = False  # whether it passes through the inside of the obstacle
    coordinate: OwnName = ""  # joint, or "joint.coordinate", of a conditional point
    above: float = -math.inf  # [m or rad], ends of its range
    below: float = math.inf
    multiplicity: float = 1.0  # of a point: strands from the point before, 0 for none
    semi_axes: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m] of an ellipsoid, in its axes
    tube: float = 0.0  # [m] radius of the tube of a torus
    length: float = math.inf  # [m] of a cylinder, beyond which it is not touched
    moves: tuple[PointMove, ...] = ()  # of a point

    def __post_init__(self) -> None:
        if self.at.shape == (3,):
            pose = np.eye(4)
            pose[:3, 3] = self.at
            object.__setattr__(self, "at", pose)

    @property
    def point(self) -> Array:
        """Point without its moves, or centre of the obstacle, in the body (3,) [m]."""
        return np.asarray(self.at[:3, 3])

    def place(self, coordinates: Mapping[str, Any]) -> Array:
        """Return the point in the body (…, 3) [m] at coordinates (…), by name."""
        terms = [(move.axis, move.function, coordinates[move.coordinate]) for move in self.moves]
        local = np.stack(np.broadcast_arrays(*displacement(terms)), axis=-1)
        return np.asarray(local @ self.at[:3, :3].T + self.at[:3, 3])

    @property
    def is_obstacle(self) -> bool:
        """Whether the path runs around it."""
        return self.kind in {"sphere", "cylinder", "ellipsoid", "torus"}

    @property
    def radii(self) -> tuple[float, float, float]:
        """Semi-axes of the obstacle [m]; across the axis of a cylinder, of circle and tube of a torus, 0 of a point."""
        if self.kind == "torus":
            return self.radius, self.tube, self.tube
        return self.semi_axes if self.kind == "ellipsoid" else (self.radius,) * 3


@dataclass(frozen=True)
class ForceSpec:
    """Force of a plugin: between frames a and b, along a path, or on coordinates."""

    name: OwnName
    type: str
    a: BodyName = "world"
    b: BodyName = "world"
    at_a: Annotated[Array, PoseIn("a")] = field(default_factory=lambda: np.eye(4))  # (4, 4) in a
    at_b: Annotated[Array, PoseIn("b")] = field(default_factory=lambda: np.eye(4))  # (4, 4) in b
    path: tuple[PathPart, ...] = ()
    coordinates: tuple[OwnName, ...] = ()  # joints, or "joint.coordinate"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # keys of the plugin
    where: str = ""
    is_released: bool = False  # by an event of the scene

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies between which it acts; none for a force on coordinates."""
        if self.path:
            return tuple(part.body for part in self.path)
        return () if self.coordinates else (self.a, self.b)


@dataclass(frozen=True)
class FrameSpec:
    """Named frame on a body or the world."""

    name: OwnName
    body: BodyName
    pose: Annotated[Array, PoseIn("body")]
    where: str = ""


@dataclass(frozen=True)
class RodSectionSpec:
    """Section of a rod at which a sensor reads what acts within it."""

    joints: tuple[OwnName, ...]
    shares: tuple[tuple[float, float, float], ...]  # of their force, moment and, [1/m], rotation
    axis: int  # about which the rod bends if it does about one alone, 1 for y and 2 for z, else −1
    sides: tuple[float, float] | None  # along y and z [m]
    is_round: bool


@dataclass(frozen=True)
class RodShape:
    """A rod without stress, in frame A of its beginning."""

    frames: Array  # (bars, 4, 4) of its bodies
    line: Array  # (n, 6) points [m] of its centre line, in equal steps, with the y axis of the section
    sides: Array  # (n, 2) of the section there along y and z [m]
    is_round: bool  # whether the section is
    color: tuple[float, float, float, float]


@dataclass(frozen=True)
class RodSpec:
    """Flexible rod, modelled as a chain of bars."""

    name: OwnName
    bars: tuple[OwnName, ...]  # bodies, from its beginning; with the body of its end, if it has one
    where: str = ""
    hinges: tuple[OwnName, ...] = ()  # joints with the stiffness of the section
    weights: tuple[float, ...] = ()  # lengths for which they stand [m]
    axis: int = -1  # about which it bends if it does about one alone, 1 for y and 2 for z
    EI: tuple[float, float] | None = None  # about y and z [N·m²], None if it varies along the rod
    GJ: float | None = None  # [N·m²]
    damping: float = 0.0  # relaxation time τ [s]
    length: float = 0.0  # [m]
    has_path: bool = False  # whether the length follows from points
    ends: tuple[str, str] = ("free", "free")  # "clamped", "ball" or "free"
    has_end: bool = False  # whether the last of the bars is the body of its end
    shape: RodShape | None = None
    has_section: bool = False  # whether the sides of the shape are those of its section

    def spring(self, k: int, EI: Array, GJ: Array) -> Array:
        """Return the stiffness (…, nv) of a hinge for EIy and EIz (…, 2) and GJ (…, 1)."""
        if self.axis >= 0:
            return np.asarray(EI[..., self.axis - 1 : self.axis] / self.weights[k])
        return np.concatenate([GJ, EI], axis=-1) / self.weights[k]

    def section(self, s: float) -> RodSectionSpec:
        """Return the section at a length s [m]: by linear interpolation between hinges."""
        bars = len(self.bars) - self.has_end
        k = min(int(s / self.length * bars), bars - 1)
        u = s / self.length * bars - k
        # by joint: its share of the force, moment and curvature
        numbers: dict[str, list[float]] = {}

        def add(j: int, share: float, column: int) -> None:
            numbers.setdefault(self.bars[j], [0.0, 0.0, 0.0])[column] += share

        for j, share in ((k, 1 - u), (k + 1, u)):
            if j < len(self.bars):
                add(j, share, 0)
            elif self.ends[1] != "free":  # held without a hinge: as between the hinges before it
                add(j - 1, 2 * share, 0)
                add(j - 2, -share, 0)
            if j < len(self.bars) and self.bars[j] in self.hinges:
                add(j, share, 1)
                add(j, share / self.weights[self.hinges.index(self.bars[j])], 2)
        sides = None
        if self.shape is not None and self.has_section:
            along = np.linspace(0.0, self.length, len(self.shape.sides))
            y, z = (float(np.interp(s, along, side)) for side in self.shape.sides.T)
            sides = y, z
        return RodSectionSpec(
            tuple(numbers),
            tuple((force, moment, turn) for force, moment, turn in numbers.values()),
            self.axis,
            sides,
            is_round=self.shape is not None and self.shape.is_round,
        )


@dataclass(frozen=True)
class ActuatorSpec:
    """Prescribed force τ = offset + amplitude sin(frequency t + phase) on one coordinate of a joint."""

    name: OwnName
    joint: OwnName
    coordinate: int = 0
    offset: float = 0.0  # [N or N·m]
    amplitude: float = 0.0  # [N or N·m]
    frequency: float = 0.0  # [rad/s]
    phase: float = 0.0  # [rad]
    where: str = ""


@dataclass(frozen=True)
class BlockSpec:
    """Signal, sensor, controller or actuator of a plugin.

    `kind` is its table: "signal", "sensor", "controller" or "actuator".
    """

    kind: str
    name: OwnName
    type: str
    inputs: tuple[OwnName, ...] = ()  # signals that it reads
    period: float | None = None  # [s] of a sampled controller
    unit: str = ""  # of a signal
    scale: float = 1.0  # to that unit, of the numbers that a signal is given in
    size: int = 1  # of a signal that is given from outside
    coordinates: tuple[OwnName, ...] = ()  # joints, or "joint.coordinate"
    frame: BodyName | None = None  # body or frame that a sensor is on
    at: Annotated[Array, PoseIn("frame")] = field(default_factory=lambda: np.eye(4))  # (4, 4) in it
    relative_to: BodyName = "world"  # body or frame against which it measures
    # (4, 4) in that one
    relative_at: Annotated[Array, PoseIn("relative_to")] = field(default_factory=lambda: np.eye(4))
    points: tuple[PathPart, ...] = ()  # of a path
    joint: OwnName | None = None  # whose wrench a sensor measures
    element: OwnName | None = None  # whose power or energy a sensor measures
    section: RodSectionSpec | None = None  # of a rod, whose forces a sensor measures
    others: tuple[BodyName, ...] = ()  # bodies whose contacts a sensor counts, all by default
    # values at t = 0, by output
    first: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)  # keys of the plugin
    where: str = ""
    # of an actuator of a model file: the name of its [[model]], or ""
    command_of: str | None = None
    commands: tuple[str, ...] = ()  # actuators of a model file that follow the numbers of an input

    @property
    def measures_wrench(self) -> bool:
        """Whether it is a sensor of what joints carry."""
        return self.joint is not None or self.section is not None


@dataclass(frozen=True)
class EventSpec:
    """Event to detect: a coordinate passes a value, a point passes a plane, or a plugin's value passes 0."""

    name: str
    direction: str = "both"
    stop: bool = False
    joint: str | None = None
    coordinate: int = 0
    body: str | None = None
    point: tuple[float, ...] = (0.0, 0.0, 0.0)  # [m]
    normal: tuple[float, ...] = (0.0, 0.0, 1.0)  # unit
    offset: float = 0.0  # of the coordinate or of the plane [m or rad]
    type: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    release: tuple[str, ...] = ()  # names of forces and actuators that act until it


@dataclass(frozen=True)
class KeyframeSpec:
    """Named state of the joints of a model or scene."""

    name: OwnName
    q: Mapping[OwnName, Array]  # by joint
    v: Mapping[OwnName, Array]
    commands: Mapping[OwnName, float] = field(default_factory=dict)  # by signal
    activations: Mapping[OwnName, float] = field(default_factory=dict)  # by actuator
    where: str = ""


@dataclass(frozen=True)
class SurfaceSpec:
    """Numbers of a surface, or of a pair of surfaces; None where others decide."""

    static_friction: float | None = None
    dynamic_friction: float | None = None
    stiffness: float | None = None  # [N/m]
    young: float | None = None  # [Pa], with poisson
    poisson: float | None = None
    sink: float | None = None  # [m]
    restitution: tuple[float, float] | None = None  # value, and the speed at which it holds [m/s]
    dissipation: float | None = None  # [s/m]
    tangential_stiffness: float | None = None  # [N/m]
    relaxation_time: float | None = None  # [s]
    rolling: float | None = None  # [m]
    spinning: float | None = None  # [m]
    where: str = ""


@dataclass(frozen=True)
class FieldSpec:
    """Signed distance that is fixed to the world: its shape, the pose (4, 4) of its frame, and its colour."""

    shape: Shape
    pose: Array
    color: tuple[float, float, float, float] | None = None

    @property
    def at(self) -> Array:
        """Pose (4, 4) of the frame in which a scene places the field."""
        field = self.shape.field
        middle = field.middle if isinstance(field, HeightField) else 0.0
        return self.pose @ translation((-middle, 0.0, 0.0))

    @property
    def drawn(self) -> Geometry:
        """The surface in a picture."""
        return Geometry(drawn(self.shape), self.pose, self.color)


@dataclass(frozen=True)
class GroundSpec:
    """Surface that is fixed to the world: the plane normal · x = offset, with the solid below it, or a field."""

    normal: tuple[float, float, float]  # unit
    offset: float  # [m]
    material: MaterialName = "default"
    where: str = ""
    filter: CollisionFilter | None = None
    field: FieldSpec | None = None  # in place of the plane


@dataclass(frozen=True)
class ContactSpec:
    """Changes to the contact of two links; `surface` replaces numbers of their materials."""

    between: tuple[LinkName, LinkName]
    surface: SurfaceSpec
    surface_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s] of the first one
    where: str = ""


@dataclass(frozen=True)
class ContactsSpec:
    """Contacts of a scene: materials by name, grounds, changed pairs, and pairs that do not touch."""

    materials: Mapping[MaterialName, SurfaceSpec]
    grounds: tuple[GroundSpec, ...]
    pairs: tuple[ContactSpec, ...] = ()
    excluded: tuple[tuple[LinkName, LinkName], ...] = ()


@dataclass(frozen=True)
class FileStep:
    """Time step that a file of another program states."""

    step: float  # [s]
    file: str  # its name


@dataclass(frozen=True)
class ModelSpec:
    """Mechanism in the file's order, including fixed joints."""

    name: str
    gravity: Array  # (3,) [m/s²]
    bodies: tuple[BodySpec, ...]
    joints: tuple[JointSpec, ...]
    frames: tuple[FrameSpec, ...] = ()
    where: str = ""
    loops: tuple[LoopSpec, ...] = ()
    couplings: tuple[CouplingSpec, ...] = ()
    keyframes: tuple[KeyframeSpec, ...] = ()
    omitted: tuple[str, ...] = ()  # what an importer left out, one line an item
    forces: tuple[ForceSpec, ...] = ()
    contacts: ContactsSpec | None = None  # of a scene where bodies collide
    roads: tuple[GroundSpec, ...] = ()  # grounds of a scene where none does
    blocks: tuple[BlockSpec, ...] = ()  # of an imported file, for scenes with it
    steps: tuple[FileStep, ...] = ()  # that files of other programs state
    self_collision: bool | None = None  # whether links touch, if the file says
    motions: tuple[LoopSpec, ...] = ()  # driven frames, of a scene
    rods: tuple[RodSpec, ...] = ()

    @property
    def grounds(self) -> tuple[GroundSpec, ...]:
        """Surfaces that are fixed to the world, whether bodies collide with them or elements read their heights."""
        return self.roads if self.contacts is None else self.contacts.grounds

    @property
    def has_motions(self) -> bool:
        """Whether a compiled coordinate or frame follows a signal of time."""
        timed = any(coupling.signal is not None for coupling in self.couplings)
        return timed or any(loop.position for loop in self.loops)

    @property
    def shortest_step(self) -> FileStep | None:
        """The shortest time step that a file states, None if none does."""
        return min(self.steps, key=lambda stated: stated.step, default=None)

    @property
    def wheels(self) -> list[str]:
        """Names of the loops with velocity constraints."""
        return [loop.name for loop in self.loops if loop.type == "wheel_on_plane"]


@dataclass(frozen=True)
class Settings:
    """Settings of a run: the `[simulation]` and `[output]` tables."""

    duration: float = 10.0  # [s]
    step: float = 1e-3  # longest [s]
    integrator: str = "rk4"
    every: float = 0.01  # [s] between outputs
    # by joint, "" for the rest
    rtol: Mapping[str, float] = field(default_factory=lambda: {"": 1e-8})
    # [m, rad and per second]
    atol: Mapping[str, float] = field(default_factory=lambda: {"": 1e-10})
    parameters: Mapping[str, Any] = field(default_factory=dict)  # keys of the integrator
    work: bool = True  # whether runs record the work of elements
    seed: int = 0  # of random numbers
    slip_speed: float = 0.01  # of smooth friction [m/s]
    contact_law: str = "compliant"  # or "impact"
    rest_speed: float = 1e-6  # below which surfaces come to rest on each other under "impact" [m/s]
    checkpoint: float = 1.0  # [s] of wall time between checkpoints
    on_failure: str = "drop_world"  # of many worlds; or "stop"
    step_file: str = ""  # file of another program that states the step, if one does


@dataclass(frozen=True)
class RenderSpec:
    """Settings of pictures: the `[render]` table. None leaves the choice to the renderer."""

    tool: str | None = None  # frame whose final pose is in the summary
    size: tuple[int, int] | None = None  # [pixel]
    fps: float | None = None  # [1/s]
    speed: float | None = None  # simulated seconds a second of movie
    azimuth: float | None = None  # [deg]
    elevation: float | None = None  # [deg]
    zoom: float | None = None
    focus: tuple[float, float, float] | None = None  # [m]
    follow: bool | None = None  # whether the camera follows
    ground: bool | None = None
    shadows: bool | None = None
    label: bool | None = None
    trails: tuple[str, ...] | None = None  # frames or bodies that leave a line
    trail_length: float | None = None  # [s]
    frames: tuple[str, ...] | None = None  # frames or bodies whose axes are drawn
    forces: bool | None = None  # draw forces as arrows
    collision: bool | None = None  # draw collision shapes
    fittings: bool | None = None  # draw springs, dampers, rods and ropes
    moments: bool | None = None  # colour rods by their bending moment
    joints: bool | None = None  # draw pins, guides and supports
    supersample: int | None = None  # pixels drawn for one kept, along each axis
    title: str | None = None  # in place of the scene's name
    camera_path: tuple[Mapping[str, float], ...] | None = None  # {t, azimuth, elevation, zoom}
    views: tuple[str, ...] | None = None  # further views in the picture
    plots: tuple[str, ...] | None = None  # quantities whose curves are drawn beside the scene
    transparent: bool | None = None  # no background and no ground


@dataclass(frozen=True)
class SceneSpec:
    """A whole scene."""

    name: str
    model: ModelSpec
    actuators: tuple[ActuatorSpec, ...]
    settings: Settings
    render: RenderSpec
    text: str
    path: Path
    overrides: Mapping[str, object] = field(default_factory=dict)
    events: tuple[EventSpec, ...] = ()
    hold: tuple[str, ...] = ()  # joints that keep their start when loops are assembled
    equilibrium: tuple[str, ...] = ()  # joints that start in equilibrium, "*" for all
    blocks: tuple[BlockSpec, ...] = ()  # signals, sensors, controllers and actuators of plugins

    @property
    def driven_joints(self) -> set[str]:
        """Names of the joints and coordinates on which actuators act."""
        drives = (block for block in self.blocks if block.kind == "actuator")
        own = {name for block in drives for name in block.coordinates}
        return own | {actuator.joint for actuator in self.actuators}
