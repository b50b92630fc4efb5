"""Tables of a scene file: keys, units, bounds and meanings, from which the JSON Schema is generated.

Relations between tables (names, joint types, masses) are checked when the specification is built. The file is long as
a list: one class a table, so that all keys of a scene are found in one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from pysim.elements.force import FORCE_KEYS
from pysim.integrators import BUILTIN as INTEGRATORS
from pysim.joints import BUILTIN as JOINTS
from pysim.joints.definition import SCENE_KEYS
from pysim.scene.inertia_policy import InertiaPolicy
from pysim.scene.toml.coordinates import CoordinateOf
from pysim.scene.toml.plugin_keys import PARAMETERS
from pysim.scene.toml.records.block_tables import ACTUATOR_KEYS, Controller, Sensor, Signal
from pysim.scene.toml.records.constraint_tables import (
    Assembly,
    Coupling,
    Force,
    FrameMotion,
    Loop,
    PathPoint,
)
from pysim.scene.toml.records.contact_tables import Contact, Exclude, Ground, Material, Restitution
from pysim.scene.toml.records.environment_table import Environment
from pysim.scene.toml.records.event_table import Event
from pysim.scene.toml.records.keys import (
    ALL_JOINTS,
    AnyConfiguration,
    AnyStart,
    Bounds,
    Command,
    ListOf,
    Name,
    NotNegative,
    NotNegativeNumbers,
    Numbers,
    Pose,
    Positive,
    PositiveNumbers,
    Rgba,
    Vector3,
    boxed,
    error_text,
    key,
    tables,
)
from pysim.scene.toml.records.optimise_table import Optimise
from pysim.scene.toml.records.references import (
    BodyName,
    JointKey,
    JointKeyOrAll,
    JointName,
    LinkName,
    MaterialName,
    MountName,
    MovingName,
    MovingNameOrAll,
)
from pysim.scene.toml.records.rod_table import Rod
from pysim.scene.toml.records.schema import Shorthand, with_plugin_keys
from pysim.scene.toml.records.sweep_table import Sweep
from pysim.scene.toml.records.table import Table, table_in
from pysim.shapes import PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Collection

    from pysim.scene.spec import JointSpec

Elevation = Annotated[float, Field(ge=-89, le=89)]
Share = Annotated[float, Field(gt=0, le=1)]
PictureSide = Annotated[int, Field(ge=16, le=8192)]


def _of_all(value: object) -> object:
    return value if isinstance(value, dict) else {ALL_JOINTS: value}


Tolerance = Annotated[
    dict[JointKeyOrAll, Positive], Shorthand(_of_all, lambda table: table["additionalProperties"])
]

# Shapes and bodies -------------------------------------------------------------------------------


class Box(Table):
    """A box, by its full lengths."""

    x: Positive = key(..., "m", "length along x")
    y: Positive = key(..., "m", "length along y")
    z: Positive = key(..., "m", "length along z")


class Sphere(Table):
    """A ball."""

    radius: Positive = key(..., "m", "radius")


class Round(Table):
    """A cylinder, cone or capsule along z, centred at the origin."""

    radius: Positive = key(..., "m", "radius")
    length: Positive = key(..., "m", "length along z, without the caps of a capsule")


class Ellipsoid(Table):
    """An ellipsoid, by its semi-axes."""

    a: Positive = key(..., "m", "semi-axis along x")
    b: Positive = key(..., "m", "semi-axis along y")
    c: Positive = key(..., "m", "semi-axis along z")


class Visual(Table):
    """A shape to draw."""

    box: Annotated[Box, boxed("xyz")] | None = key(None, "", "{ x, y, z } or a list of three")
    sphere: Sphere | None = key(None, "", "{ radius }")
    cylinder: Round | None = key(None, "", "{ radius, length }")
    capsule: Round | None = key(None, "", "{ radius, length }")
    cone: Round | None = key(None, "", "{ radius, length }")
    ellipsoid: Annotated[Ellipsoid, boxed("abc")] | None = key(None, "", "{ a, b, c } or a list")
    mesh: Name | None = key(None, "", "mesh file, relative to the scene, or package://NAME/path")
    field: dict[str, Any] | None = key(
        None, "", "signed distance of a shape plugin: { type, and the keys of the plugin }"
    )
    scale: Numbers = key([1.0], "", "one number or three, for a mesh; a negative one mirrors")
    at: Pose = key(Pose(), "", "pose of the shape in the body frame")
    color: Rgba | None = key(None, "", '"#rrggbb", a name, or [r, g, b] or [r, g, b, a] in 0 to 1')

    @model_validator(mode="after")
    def _one_kind(self) -> Visual:
        kinds = [kind for kind in SHAPE_KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            got = " and ".join(kinds) or "none"
            raise error_text(f"needs exactly one of {', '.join(SHAPE_KINDS)}, got {got}")
        if len(self.scale) not in {1, 3}:
            raise error_text(f"scale must have 1 or 3 numbers, got {len(self.scale)}")
        if 0 in self.scale:
            raise error_text("scale must not be zero")
        if "scale" in self.model_fields_set and self.mesh is None:
            raise error_text(f"scale is for a mesh; change the lengths of the {kinds[0]} instead")
        return self

    @property
    def kind(self) -> str:
        """Return the kind of the shape."""
        return next(kind for kind in SHAPE_KINDS if getattr(self, kind) is not None)


SHAPE_KINDS = (*PRIMITIVES, "mesh", "field")


class Decomposition(Table):
    """Convex parts of a mesh. A smaller concavity gives more parts."""

    concavity: Annotated[float, Field(ge=0.01, le=1)] = key(
        0.05, "", "largest distance of a part from its hull, of the mesh in a cube of edge 2"
    )
    parts: Annotated[int, Field(ge=1)] | None = key(
        None, "", "largest number of parts; unbounded by default"
    )


class Solid(Visual):
    """A shape to draw, with a mass if it has a density."""

    density: Positive | None = key(None, "kg/m³", "uniform density, gives the shape its mass")
    repair: bool = key(
        default=False, unit="", doc="close small holes of a mesh to compute its mass"
    )
    convex: bool = key(
        default=False, unit="", doc="compute the mass of a mesh from its convex hull"
    )
    shell: Positive | None = key(
        None, "m", "compute the mass of a mesh as a sheet of this thickness"
    )
    decompose: bool | Decomposition = key(
        default=False, unit="", doc="let a mesh that is not convex collide as convex parts"
    )

    @model_validator(mode="after")
    def _one_way_to_weigh(self) -> Solid:
        ways = [way for way in ("repair", "convex", "shell") if getattr(self, way)]
        if ways and self.mesh is None:
            raise error_text(f"{ways[0]} is for a mesh")
        if len(ways) > 1:
            raise error_text(f"{' and '.join(ways)} are alternatives; give one of them")
        _check_decompose(self)
        return self


class CollisionShape(Visual):
    """A shape that collides, and is drawn with the shapes for contact."""

    material: MaterialName | None = key(None, "", "name of a material; the body's by default")
    convex: bool = key(default=False, unit="", doc="let a mesh collide as its convex hull")
    decompose: bool | Decomposition = key(
        default=False, unit="", doc="let a mesh that is not convex collide as convex parts"
    )

    @model_validator(mode="after")
    def _hull_of_mesh(self) -> CollisionShape:
        if self.convex and self.mesh is None:
            raise error_text("convex applies to a mesh alone; leave it out")
        _check_decompose(self)
        return self


def _check_decompose(shape: Solid | CollisionShape) -> None:
    if shape.decompose and shape.mesh is None:
        raise error_text("decompose is for a mesh")
    if shape.decompose and shape.convex:
        raise error_text("convex and decompose are alternatives; give one of them")


class Inertia(Table):
    """Entries of the rotational inertia tensor; xy, yz, xz are minus the products of inertia."""

    xx: float = key(..., "kg·m²", "moment about x")
    yy: float = key(..., "kg·m²", "moment about y")
    zz: float = key(..., "kg·m²", "moment about z")
    xy: float = key(0.0, "kg·m²", "off-diagonal")
    yz: float = key(0.0, "kg·m²", "off-diagonal")
    xz: float = key(0.0, "kg·m²", "off-diagonal")


class Body(Table):
    """A rigid body. Its frame is the frame of the joint that moves it."""

    name: Name = key(..., "", "the name of the body")
    mass: NotNegative | None = key(None, "kg", "total mass; omit it if shapes have a density")
    com: Vector3 = key([0.0, 0.0, 0.0], "m", "centre of mass in the body frame")
    inertia: Inertia | None = key(None, "kg·m²", "inertia about the centre of mass, body axes")
    shape: ListOf[Solid] = key(
        [], "", "one shape or a list: drawn, and used for the mass properties"
    )
    visual: ListOf[Visual] = key([], "", "one shape or a list, only drawn")
    collision: bool | ListOf[CollisionShape] = key(
        default=False, unit="", doc="whether its shapes collide; or shapes that do, one or a list"
    )
    material: MaterialName | None = key(None, "", "material of the colliding shapes that name none")


# Joints ------------------------------------------------------------------------------------------


class Limits(Table):
    """Limits of a joint: beyond one, a spring and a damper act."""

    spec_names: ClassVar = {"stiffness": "stop_stiffness", "damping": "stop_damping"}
    is_flat = True
    lower: Bounds | None = key(None, "m or rad", "lower limit, -inf for none")
    upper: Bounds | None = key(None, "m or rad", "upper limit, inf for none")
    stiffness: NotNegativeNumbers | None = key(
        None,
        "N/m or N·m/rad",
        "spring of the stop; by default 100 rad/s with the mass it carries, or as much as "
        "gives way to its drives and weight by 1 % of the range, at most 0.01",
    )
    damping: NotNegativeNumbers | None = key(
        None, "N·s/m or N·m·s/rad", "damper of the stop; by default half the critical damping"
    )
    dissipation: NotNegativeNumbers | None = key(
        None, "s/m or s/rad", "d of Hunt and Crossley's law K x (1 + d v), in place of damping"
    )
    restitution: Restitution | None = key(
        None, "", "coefficient of restitution at a speed, { value, at }, in place of dissipation"
    )

    @classmethod
    def keys_of(cls, spec: JointSpec) -> dict[str, Any]:
        """Return the table of a joint's limits, empty if it has none."""
        table = super().keys_of(spec)
        return table if {"lower", "upper"} & table.keys() else {}


class Motion(Table):
    """Prescribed motion of a coordinate."""

    signal: Name = key(..., "", "signal of time that the coordinate follows")
    coordinate: Name | None = key(None, "", "coordinate of a joint that has several, by name")


class Passive(Table):
    """Passive forces of a joint. A number applies to every coordinate, a list has one for each."""

    armature: NotNegativeNumbers | None = key(
        None, "kg or kg·m²", "rotor inertia, added to the diagonal of M"
    )
    damping: NotNegativeNumbers | None = key(None, "N·s/m or N·m·s/rad", "viscous damping")
    stiffness: NotNegativeNumbers | None = key(
        None, "N/m or N·m/rad", "stiffness of a spring towards rest"
    )
    rest: AnyConfiguration | None = key(
        None, "m or rad", "configuration in which the spring is relaxed"
    )
    friction: NotNegativeNumbers | None = key(None, "N or N·m", "magnitude of Coulomb friction")
    friction_width: PositiveNumbers | None = key(
        None,
        "m/s or rad/s",
        "friction force is -friction tanh(v / friction_width); by default the speed that friction stops in 1 ms",
    )
    limits: Limits | None = key(None, "", "{ lower, upper, stiffness, damping }")
    effort_limit: NotNegative | None = key(
        None, "N or N·m", "bound of the sum of actuator forces; 0 for none"
    )
    velocity_limit: NotNegative | None = key(
        None, "m/s or rad/s", "speed beyond which actuators do not drive; 0 for none"
    )
    velocity_band: Share | None = key(
        None,
        "1",
        "share of velocity_limit over which the actuators' force falls to 0; by default 0.05 in URDF and SDF files, "
        "and 1e-6 in scenes",
    )
    enforce_limits: bool | None = key(
        None, "", "whether these two bound the actuators; true by default"
    )
    motion: ListOf[Motion] = key(
        [],
        "",
        "prescribed motion, { signal }; of a joint with several coordinates a list of { coordinate, signal }",
    )


class Mimic(Table):
    """A mimic joint: q = ratio · q of the leading joint + offset."""

    joint: JointName = key(..., "", "the leading joint")
    ratio: float = key(1.0, "", "factor of the leading joint's coordinate")
    offset: float = key(0.0, "m or rad", "constant that is added")


class Joint(Passive, json_schema_extra=with_plugin_keys("type", JOINTS, SCENE_KEYS)):
    """A joint and the body it moves."""

    spec_names: ClassVar = {"motion": "motions"}
    name: Name = key(..., "", "the name of the joint")
    type: Name = key(..., "", "the joint type, such as revolute")
    parent: MountName = key("world", "", '"world", a body or a frame')
    child: BodyName = key(..., "", "the body that the joint moves")
    at: Pose = key(Pose(), "", "pose of the joint frame in the parent")
    axis: Vector3 | None = key(None, "", "direction in the joint frame; [0, 0, 1] by default")
    pitch: float | None = key(None, "m/rad", "travel along the axis per radian, for helical joints")
    mimic: Mimic | None = key(None, "", "{ joint, ratio, offset }")
    start: AnyStart | None = key(None, "", "{ q, v }, or { xyz, rpy, v } and so on")
    parameters: dict[str, Any] = key({}, "", "keys of a joint plugin; written beside the others")


class Frame(Table):
    """A named frame on a body."""

    spec_names: ClassVar = {"at": "pose"}
    name: Name = key(..., "", "the name of the frame")
    body: LinkName = key(..., "", '"world" or a body')
    at: Pose = key(Pose(), "", "pose of the frame in the body frame")


class Actuator(Table, json_schema_extra=with_plugin_keys("type", (), ACTUATOR_KEYS)):
    """An actuator that follows a signal; without a type, a force offset + amplitude sin(frequency t + phase)."""

    spec_names: ClassVar = {"command": "inputs", "path": "points"}
    name: Name | None = key(None, "", "name; the joint's by default")
    type: Name | None = key(
        None, "", "actuator type, such as force; without one, a prescribed force"
    )
    command: Name | list[Name] | None = key(
        None, "", "the signal that an actuator of a type follows"
    )
    joint: JointName | None = key(None, "", "the joint it drives")
    coordinates: list[Name] = key([], "", "coordinates that an actuator of a type drives, in order")
    path: list[PathPoint] = key([], "", "points of a path that an actuator of a type pulls along")
    multiplicity: Positive = key(1.0, "", "strands of all parts of the path")
    coordinate: CoordinateOf = key(0, "", "velocity of the joint, by name or by index from 0")
    offset: float = key(0.0, "N or N·m", "constant part")
    amplitude: float = key(0.0, "N or N·m", "amplitude of the sine")
    frequency: NotNegative = key(0.0, "rad/s", "angular frequency of the sine")
    phase: float = key(0.0, "rad", "phase of the sine")

    parameters: dict[str, Any] = key(
        {}, "", "keys of an actuator plugin; written beside the others"
    )

    @model_validator(mode="after")
    def _drives(self) -> Actuator:
        if self.type is not None:
            if sum([self.joint is not None, bool(self.path), bool(self.coordinates)]) != 1:
                raise error_text("drives a joint, coordinates or a path; give one of them")
            return self
        if self.joint is None:
            raise error_text("joint is missing; name the joint that it drives")
        for word in ("command", "coordinates", "path", "multiplicity"):
            if word in self.model_fields_set:
                raise error_text(f'has {word} but no type; write type = "force"')
        return self

    @model_validator(mode="after")
    def _a_whole_sine(self) -> Actuator:
        if self.type is not None:
            return self
        of_time = {"frequency", "phase"} & self.model_fields_set
        if of_time and "amplitude" not in self.model_fields_set:
            given = " and ".join(sorted(of_time))
            raise error_text(f"has {given} but no amplitude; give amplitude [N or N·m]")
        if self.amplitude != 0 and not of_time:
            problem = "has an amplitude but no frequency or phase, so the sine is 0"
            raise error_text(
                f"{problem}; give frequency [rad/s], or write offset for a constant force"
            )
        return self


# Models from other files -------------------------------------------------------------------------


class BodyOverrides(Table):
    """Changes of a model's body. A mass replaces the file's mass, centre of mass and inertia together."""

    mass: NotNegative | None = key(None, "kg", "total mass, instead of the file's")
    com: Vector3 = key([0.0, 0.0, 0.0], "m", "centre of mass in the body frame")
    inertia: Inertia | None = key(None, "kg·m²", "inertia about the centre of mass, body axes")
    color: Rgba | None = key(None, "", "colour of all its shapes")


class Model(Table):
    """A mechanism from another file: a scene, URDF, MJCF or SDF. Its keys use the names of the file."""

    file: Name = key(..., "", "path relative to the scene, or package://NAME/path")
    name: Name | None = key(None, "", 'prefix of the names in the file, as in "name/link"')
    parent: MountName = key("world", "", '"world", a body or a frame')
    at: Pose = key(Pose(), "", "pose of the file's world in the parent")
    count: Annotated[int, Field(ge=1, le=1000)] | None = key(
        None, "", 'number of copies; their names are "name_0/link", "name_1/link" and so on'
    )
    offset: Pose = key(Pose(), "", "pose of each copy in the one before it")
    overrides: dict[str, Any] = key(
        {}, "", 'keys of a scene file and their values, such as { "parameters.link" = 0.4 }'
    )
    free_base: bool = key(default=False, unit="", doc='join the root link by a free "root_joint"')
    mimic: bool = key(default=True, unit="", doc="apply the file's mimic joints")
    inertia: InertiaPolicy | None = key(
        None, "", "policy for inconsistent inertias; the scene's by default"
    )
    limits: bool = key(default=True, unit="", doc="use the file's limits")
    damping: bool = key(default=True, unit="", doc="use the file's damping")
    friction: bool = key(default=True, unit="", doc="use the file's friction")
    enforce_limits: bool = key(
        default=True, unit="", doc="bound actuators by the file's effort and velocity limits"
    )
    actuators: bool = key(default=True, unit="", doc="use the file's actuators")
    sensors: bool = key(default=True, unit="", doc="use the file's sensors")
    command: dict[str, Command] = key(
        {}, "", "by actuator of the file: a constant command, or the signal that it follows"
    )
    srdf: Name | None = key(
        None, "", "SRDF file of a URDF or SDF, whose group states are keyframes"
    )
    keyframe: Name | None = key(None, "", "keyframe of the file to start at; overridden by start")
    start: dict[str, AnyStart] = key({}, "", "by joint: a number, a list, or { q, v, xyz, rpy … }")
    start_v: dict[str, Numbers] = key({}, "m/s or rad/s", "by joint: a number or a list")
    joint: dict[str, Passive] = key({}, "", "by joint: values that replace the file's")
    collision: Literal["file", "urdf", "none"] | list[Name] | None = key(
        None,
        "",
        'links that collide: "file" (as the file says; with a ground), also "urdf"; "none", or a list',
    )
    self_collision: bool | None = key(
        None, "", "whether its links touch each other; by default as the file says"
    )
    decompose: bool | list[Name] = key(
        default=False,
        unit="",
        doc="let meshes that are not convex collide as convex parts; or the links whose meshes do",
    )
    strict: bool = key(default=False, unit="", doc="reject what an importer would leave out")
    body: dict[str, BodyOverrides] = key({}, "", "by body: values that replace the file's")


# The scene ---------------------------------------------------------------------------------------


class Simulation(Table, json_schema_extra=with_plugin_keys("integrator", INTEGRATORS)):
    """Settings of a run."""

    duration: Positive = key(10.0, "s", "simulated time")
    step: Positive | None = key(
        None,
        "s",
        "time step; by default that of an attached file, or 1e-3. The longest step of dopri5, "
        "unbounded by default, or of accuracy, 0.01 by default",
    )
    integrator: Name = key(
        "rk4",
        "",
        f"scheme: {', '.join(INTEGRATORS)} or a plugin; by default rk4, and convex where something collides",
    )
    passes: Annotated[int, Field(ge=1, le=100)] | None = key(
        None,
        "",
        "convex: number of times the normal force that limits friction is computed; 2 by default",
    )
    solver_tolerance: Annotated[float, Field(gt=0, le=0.01)] | None = key(
        None,
        "",
        "convex: residual of impulses at which the solver ends, over the largest impulse of a step; 1e-8 by default",
    )
    accuracy: Positive | None = key(
        None,
        "m or rad",
        "convex: error of a step in q, and in v times the step, which controls the steps; without it they are equal",
    )
    least_step: Positive | None = key(
        None, "s", "convex with accuracy: shortest step; 1e-4 of the longest by default"
    )
    slip_speed: Positive | None = key(
        None,
        "m/s",
        "schemes that integrate contacts as smooth forces, which all but convex and variational ones do: slip speed "
        "at which friction has 71 % of its greatest force; 0.01 by default",
    )
    contact_law: Literal["compliant", "impact"] = key(
        "compliant",
        "",
        'whether surfaces yield, or strike each other at instants with Newton\'s restitution ("impact", with dopri5)',
    )
    rest_speed: Positive | None = key(
        None,
        "m/s",
        'contact_law = "impact": surfaces that approach more slowly come to rest on each other; 1e-6 by default',
    )
    spectral_radius: float | None = key(
        None,
        "",
        "generalized_alpha: factor on the fastest motion in a step, 0 to 1; 0.9 by default",
    )
    rtol: Tolerance | None = key(
        None, "", "dopri5: relative error of a step, 1e-8 by default; or by joint, { NAME = … }"
    )
    atol: Tolerance | None = key(
        None,
        "m, rad, m/s or rad/s",
        "dopri5: absolute error of a step, 1e-10 by default; or by joint",
    )
    seed: Annotated[int, Field(ge=0, lt=2**53)] = key(
        0, "", "seed of the noise of sampled elements"
    )
    checkpoint: Positive = key(
        1.0,
        "s",
        "wall time between checkpoints in the trajectory file, from which pysim resume goes on",
    )
    on_failure: Literal["stop", "drop_world"] = key(
        "drop_world",
        "",
        "many worlds: whether the first that fails ends all of them with an error, or the others go on without it",
    )
    parameters: dict[str, Any] = key(
        {}, "", "keys of an integrator plugin; written beside the others"
    )


class Output(Table):
    """Settings of the output."""

    every: Positive | None = key(None, "s", "time between outputs; about duration/1000 by default")
    work: bool = key(default=True, unit="", doc="record the work of forces, actuators and joints")


class CameraKey(Table):
    """Direction and distance of the camera at a time; what is left out is as in the entry before."""

    t: float = key(..., "s", "time")
    azimuth: float | None = key(None, "deg", "azimuth of the camera about z")
    elevation: Elevation | None = key(
        None, "deg", "elevation of the camera above the plane normal to gravity"
    )
    zoom: Positive | None = key(None, "", "magnification; more than 1 is closer")

    def spec_value(self) -> dict[str, float]:
        return self.model_dump(exclude_none=True)


class Render(Table):
    """Settings of pictures; the renderer chooses the rest."""

    tool: MovingName | None = key(
        None, "", "frame whose final pose is in the summary; the last one that moves by default"
    )
    size: Annotated[list[PictureSide], Field(min_length=2, max_length=2)] | None = key(
        None, "pixel", "width and height"
    )
    fps: Annotated[float, Field(gt=0, le=240)] | None = key(
        None, "1/s", "frames per second of the movie"
    )
    speed: Positive | None = key(None, "", "simulated seconds per second of the movie")
    azimuth: float | None = key(None, "deg", "azimuth of the camera about z")
    elevation: Elevation | None = key(
        None, "deg", "elevation of the camera above the plane normal to gravity"
    )
    zoom: Positive | None = key(None, "", "magnification; more than 1 is closer")
    focus: Vector3 | None = key(None, "m", "point at which the camera looks")
    follow: bool | None = key(None, "", "let the camera follow the motion")
    ground: bool | None = key(None, "", "draw the ground")
    shadows: bool | None = key(None, "", "draw shadows")
    label: bool | None = key(None, "", "show name, time and scale in the picture")
    title: str | None = key(None, "", "text in place of the scene's name")
    camera_path: list[CameraKey] | None = key(
        None, "", "places of the camera, between which it moves smoothly"
    )
    views: list[Literal["front", "back", "left", "right", "top", "corner"]] | None = key(
        None, "", "further views in the same picture"
    )
    plots: list[Name] | None = key(
        None, "", 'quantities whose curves are drawn beside the scene, as "v.*" or "energy"'
    )
    transparent: bool | None = key(None, "", "leave out the background and the ground")
    supersample: Annotated[int, Field(ge=1, le=4)] | None = key(
        None, "", "pixels drawn for one kept, along each axis"
    )
    trails: list[MovingName] | None = key(None, "", "frames or bodies whose paths are drawn")
    trail_length: Positive | None = key(None, "s", "duration of the path that is shown")
    frames: list[MovingNameOrAll] | None = key(
        None, "", 'frames or bodies whose axes are drawn; "*": every body'
    )
    forces: bool | None = key(
        None, "", "draw the forces of contacts, loops, thrusters and other forces as arrows"
    )
    collision: bool | None = key(None, "", "draw collision shapes")
    fittings: bool | None = key(None, "", "draw springs, dampers, rods and ropes")
    moments: bool | None = key(None, "", "colour rods by their bending moment")
    joints: bool | None = key(
        None, "", "draw pins, guides and supports; by default unless a robot is imported"
    )


class Keyframe(Table):
    """A named state; joints that it does not name have the start of their own tables."""

    start: dict[JointKey, AnyStart] = key(
        {}, "", "by joint: a number, a list, or { q, v, xyz, rpy … }"
    )
    start_v: dict[JointKey, Numbers] = key({}, "m/s or rad/s", "by joint: a number or a list")
    commands: dict[str, float] = key({}, "", "values of constant signals, by name")
    activations: dict[str, float] = key({}, "", "activations of actuators, by name")


class Scene(Table):
    """A scene file."""

    name: Name | None = key(None, "", "the name of the scene; the file's by default")
    gravity: Vector3 = key([0.0, 0.0, -9.81], "m/s²", "gravity in the world frame")
    inertia: InertiaPolicy = key(
        "check", "", 'physically inconsistent inertias: "check", "strict" or "nearest"'
    )
    include: ListOf[Name] = key([], "", "scene files whose tables are added, relative to this file")
    package_dirs: list[Name] = key([], "", "folders with packages, relative to the scene")
    plugins: list[Name] = key([], "", "Python files with plugins; they run with --allow-code only")
    parameters: dict[str, float] = key(
        {}, "", 'numbers for expressions: mass = "= 2 * density * length" in any numeric key'
    )
    body: list[Body] = tables("rigid bodies")
    joint: list[Joint] = tables("joints")
    rod: list[Rod] = tables("beams, cables and hoses")
    loop: list[Loop] = tables("joints that close loops")
    motion: list[FrameMotion] = tables("frames that follow signals of time")
    coupling: list[Coupling] = tables("gears, differentials and cams")
    force: list[Force] = tables("springs and other forces")
    frame: list[Frame] = tables("named frames")
    keyframe: Name | None = key(None, "", "the keyframe at which the run starts")
    keyframes: dict[str, Keyframe] = key({}, "", "by name: states at which a run may start")
    assembly: Assembly = key(Assembly(), "", "assembly of the start, so that loops close")
    signal: list[Signal] = tables("sources of signals: tables, sines, waypoints and others")
    sensor: list[Sensor] = tables("what is measured, as signals")
    controller: list[Controller] = tables("continuous and sampled controllers")
    actuator: list[Actuator] = tables("forces on joints: prescribed, or commanded by signals")
    event: list[Event] = tables("events that a run locates")
    materials: dict[str, Material] = key({}, "", "by name: what surfaces do to each other")
    ground: list[Ground] = tables("surfaces that are fixed to the world")
    contact: list[Contact] = tables("changes to the contact of two links")
    exclude: list[Exclude] = tables("links that do not touch each other")
    model: list[Model] = tables("mechanisms from other files")
    simulation: Simulation = key(Simulation(), "", "settings of the run")
    output: Output = key(Output(), "", "settings of the output")
    render: Render = key(Render(), "", "settings of pictures")
    sweep: Sweep = key(Sweep(), "", "parameters of pysim sweep")
    optimise: Optimise = key(Optimise(), "", "what pysim optimise changes and minimises")
    environment: Environment | None = key(None, "", "an environment for learners")


TABLES_OF_SCENE: dict[str, type[Table]] = {
    name: table
    for name, info in Scene.model_fields.items()
    if (table := table_in(info.annotation)) is not None
}
SHARED_KEYS: dict[str, Collection[str]] = {
    name: TABLES_OF_SCENE[name].model_fields.keys() - {PARAMETERS}
    for name in ("signal", "sensor", "controller", "event")
} | {
    "joint": Joint.model_fields.keys(),
    "loop": Loop.model_fields.keys(),
    "simulation": Simulation.model_fields.keys(),
    "force": FORCE_KEYS - {PARAMETERS},
    "actuator": ACTUATOR_KEYS,
}
"""Keys that all tables of a name share, whatever the plugin that their type names."""
