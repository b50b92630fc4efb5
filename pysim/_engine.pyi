"""Types of the compiled engine; what its functions do is said where they are bound and in pysim.algorithms."""

import enum
from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
_Floats: TypeAlias = Sequence[float] | Array

def available_isas() -> list[str]: ...
def use_isa(isa: str) -> None: ...
def isa() -> str: ...
def map_rows(
    name: str, x: NDArray[Any], threads: int = 1, out: NDArray[Any] | None = None
) -> NDArray[Any]: ...
def row_maps() -> list[str]: ...
def map_pairs(name: str, a: NDArray[Any], b: NDArray[Any], y: NDArray[Any]) -> None: ...
def pair_maps() -> dict[str, tuple[int, int, int]]: ...
def mesh_moments(
    vertices: Array, faces: NDArray[np.int64], origin: Array, sheet: bool = False
) -> Array: ...
def mesh_derivatives(
    vertices: Array, faces: NDArray[np.int64], origin: Array, density: float, sheet: bool = False
) -> Array: ...
def mesh_gradient(vertices: Array, faces: NDArray[np.int64], weights: Array) -> Array: ...
def find_crossings(vertices: Array, faces: NDArray[np.int64]) -> tuple[int, int, int]: ...
def label_shells(faces: NDArray[np.int64], vertices: int) -> tuple[int, NDArray[np.int64]]: ...
def surface_faults(faces: NDArray[np.int64], vertices: int) -> dict[str, Any]: ...
def vertex_bounds(vertices: Array) -> tuple[Array, Array, int]: ...

class Shape(enum.Enum):
    revolute = ...
    prismatic = ...
    helical = ...
    cylindrical = ...
    universal = ...
    ball = ...
    planar = ...
    translation = ...
    free = ...
    fixed = ...
    program = ...
    callback = ...

class Column(enum.Enum):
    vx = ...
    vy = ...
    vz = ...
    wx = ...
    wy = ...
    wz = ...
    stored = ...

class Group(enum.Enum):
    real = ...
    rotation = ...
    pose = ...

class LoopKind(enum.Enum):
    joint = ...
    plane = ...
    line = ...
    distance = ...
    wheel = ...

class Op(enum.Enum):
    add = ...
    sub = ...
    mul = ...
    div = ...
    neg = ...
    sqrt = ...
    sincos = ...
    tan = ...
    asin = ...
    acos = ...
    atan = ...
    atan2 = ...
    exp = ...
    log = ...
    tanh = ...
    pow = ...
    abs = ...
    min = ...
    max = ...
    hypot = ...
    less = ...
    less_equal = ...
    equal = ...
    select = ...
    sign = ...
    segment = ...
    lookup = ...
    fma = ...
    fms = ...
    fnma = ...

class _Record:
    """Frozen values under names, which are the constructor's arguments."""

    fields: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, other: object) -> bool: ...
    def replaced(self, **changes: object) -> Self: ...

class Program(_Record):
    def __init__(
        self,
        code: Sequence[tuple[Op, int, int, int, int]],
        pose_end: int,
        registers: int,
        constants: Sequence[float],
        tables: Sequence[float],
        outputs: Sequence[int],
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def code(self) -> list[tuple[Op, int, int, int, int]]: ...
    @property
    def pose_end(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def constants(self) -> list[float]: ...
    @property
    def tables(self) -> list[float]: ...
    @property
    def outputs(self) -> list[int]: ...

class Passive(_Record):
    def __init__(self, *numbers: float, **named: float) -> None: ...
    def __getattr__(self, name: str) -> float: ...

class Block(_Record):
    def __init__(self, group: Group, q: int, v: int, nv: int) -> None: ...
    @property
    def group(self) -> Group: ...
    @property
    def q(self) -> int: ...
    @property
    def v(self) -> int: ...
    @property
    def nv(self) -> int: ...

class MotionDescription(_Record):
    def __init__(
        self,
        shape: Shape,
        axis: ArrayLike = ...,
        pitch: float = 0.0,
        blocks: Sequence[Block] = ...,
        columns: Sequence[Column] = ...,
        biased: bool = False,
        program: Program | None = None,
        derivative: Program | None = None,
        force: Program | None = None,
        force_derivative: Program | None = None,
    ) -> None: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def axis(self) -> Array: ...
    @property
    def pitch(self) -> float: ...
    @property
    def blocks(self) -> list[Block]: ...
    @property
    def columns(self) -> list[Column]: ...
    @property
    def biased(self) -> bool: ...
    @property
    def program(self) -> Program | None: ...
    @property
    def derivative(self) -> Program | None: ...
    @property
    def force(self) -> Program | None: ...
    @property
    def force_derivative(self) -> Program | None: ...

class JointDescription(_Record):
    def __init__(
        self,
        name: str,
        motion: MotionDescription,
        parent: int = -1,
        placement: ArrayLike = ...,
        follows: int = -1,
        ratio: float = 1.0,
        offset: float = 0.0,
        rest: _Floats = ...,
        armature: _Floats = ...,
        passive: Sequence[Passive] = ...,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def motion(self) -> MotionDescription: ...
    @property
    def parent(self) -> int: ...
    @property
    def placement(self) -> Array: ...
    @property
    def follows(self) -> int: ...
    @property
    def ratio(self) -> float: ...
    @property
    def offset(self) -> float: ...
    @property
    def rest(self) -> list[float]: ...
    @property
    def armature(self) -> list[float]: ...
    @property
    def passive(self) -> list[Passive]: ...

class LoopDescription(_Record):
    def __init__(
        self,
        name: str,
        kind: LoopKind,
        motion: MotionDescription,
        a: int,
        b: int,
        at_a: ArrayLike,
        at_b: ArrayLike,
        length: float,
        kept: Sequence[int] | NDArray[np.intp],
        start: _Floats,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> LoopKind: ...
    @property
    def motion(self) -> MotionDescription: ...
    @property
    def a(self) -> int: ...
    @property
    def b(self) -> int: ...
    @property
    def at_a(self) -> Array: ...
    @property
    def at_b(self) -> Array: ...
    @property
    def length(self) -> float: ...
    @property
    def kept(self) -> list[int]: ...
    @property
    def start(self) -> list[float]: ...

class Term(_Record):
    def __init__(self, q: int, v: int, factor: float = 1.0) -> None: ...
    @property
    def q(self) -> int: ...
    @property
    def v(self) -> int: ...
    @property
    def factor(self) -> float: ...

class CouplingDescription(_Record):
    def __init__(
        self,
        name: str,
        terms: Sequence[Term],
        offset: float = 0.0,
        inputs: Sequence[Term] = ...,
        function: Program | None = None,
        derivative: Program | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def terms(self) -> list[Term]: ...
    @property
    def offset(self) -> float: ...
    @property
    def inputs(self) -> list[Term]: ...
    @property
    def function(self) -> Program | None: ...
    @property
    def derivative(self) -> Program | None: ...

class Spring(_Record):
    def __init__(
        self,
        a: int,
        b: int,
        at_a: ArrayLike,
        at_b: ArrayLike,
        stiffness: float,
        damping: float,
        length: float,
    ) -> None: ...
    @property
    def a(self) -> int: ...
    @property
    def b(self) -> int: ...
    @property
    def at_a(self) -> Array: ...
    @property
    def at_b(self) -> Array: ...
    @property
    def stiffness(self) -> float: ...
    @property
    def damping(self) -> float: ...
    @property
    def length(self) -> float: ...

class Model:
    def __init__(
        self,
        joints: Sequence[JointDescription],
        inertias: ArrayLike,
        gravity: ArrayLike,
        loops: Sequence[LoopDescription] = ...,
        couplings: Sequence[CouplingDescription] = ...,
        springs: Sequence[Spring] = ...,
    ) -> None: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def nbodies(self) -> int: ...
    @property
    def planar(self) -> bool: ...
    @property
    def flat(self) -> bool: ...
    @property
    def tree_nv(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def loop_rows(self) -> list[int]: ...
    @property
    def loop_nq(self) -> int: ...
    @property
    def callback_numbers(self) -> int: ...
    @property
    def gravity(self) -> Array: ...
    @property
    def parents(self) -> list[int]: ...
    @property
    def q_offsets(self) -> list[int]: ...
    @property
    def v_offsets(self) -> list[int]: ...
    def neutral(self) -> Array: ...
    def structure_difference(self, other: Model) -> str: ...

def check_model(model: object) -> None: ...

class Actuation:
    def __init__(
        self, offset: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike
    ) -> None: ...
    @property
    def offset(self) -> Array: ...
    @property
    def amplitude(self) -> Array: ...
    @property
    def frequency(self) -> Array: ...
    @property
    def phase(self) -> Array: ...

def rnea(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    passive: bool = False,
    out: Array | None = None,
) -> Array: ...
def nonlinear_effects(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    threads: int = 1,
    passive: bool = False,
    out: Array | None = None,
) -> Array: ...
def generalized_gravity(
    model: Model,
    q: ArrayLike,
    *,
    threads: int = 1,
    passive: bool = False,
    out: Array | None = None,
) -> Array: ...
def aba(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    passive: bool = False,
    out: Array | None = None,
) -> Array: ...
def crba(model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None) -> Array: ...
def passive_forces(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def rnea_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    passive: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]: ...
def aba_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    passive: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]: ...
def passive_force_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    threads: int = 1,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]: ...
def differential_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: tuple[Array, Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array, Array]: ...
def twist_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def placement_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def forward_kinematics(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def center_of_mass(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def kinetic_energy(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array | float: ...
def potential_energy(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array | float: ...
def elastic_energy(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array | float: ...
def integrate(
    model: Model, q: ArrayLike, dv: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def difference(
    model: Model, q0: ArrayLike, q1: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def frame_placement(
    model: Model,
    q: ArrayLike,
    body: int,
    placement: Sequence[float],
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def rollout(
    models: Sequence[Model],
    q0: ArrayLike,
    v0: ArrayLike,
    controls: ArrayLike | None,
    step: float,
    steps: int,
    every: int,
    integrator: str,
    spectral_radius: float,
    threads: int,
    loop_q: Array | None,
    out_q: Array | None,
    out_v: Array | None,
) -> tuple[Array, Array]: ...

class Direction(enum.Enum):
    falling = ...
    both = ...
    rising = ...

class EventDescription:
    @staticmethod
    def coordinate(index: int, offset: float, direction: Direction) -> EventDescription: ...
    @staticmethod
    def plane(
        body: int, point: ArrayLike, normal: ArrayLike, offset: float, direction: Direction
    ) -> EventDescription: ...
    @staticmethod
    def program(program: Program, direction: Direction) -> EventDescription: ...

class Events:
    def __init__(self, model: Model, descriptions: Sequence[EventDescription]) -> None: ...
    def __len__(self) -> int: ...

def integrators() -> list[str]: ...
def memory_numbers(model: Model, integrator: str) -> int: ...
def advance_adaptive(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    flight: ArrayLike,
    times: ArrayLike,
    rtol: ArrayLike,
    atol_q: ArrayLike,
    atol_v: ArrayLike,
    actuation: Actuation,
    *,
    events: Events | None = None,
    longest: float = ...,
    attempts: int = 10000,
    loop_q: Array | None = None,
    threads: int = 1,
) -> tuple[Array, Array, Array, Array, Array, NDArray[np.int64], Array, Array]: ...
def advance(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    time: float,
    step: float,
    steps: int,
    integrator: str,
    actuation: Actuation,
    *,
    loop_q: Array | None = None,
    memory: Array | None = None,
    spectral_radius: float = 0.9,
    threads: int = 1,
) -> tuple[Array, Array, Any]: ...
def march(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    times: Array,
    sizes: Array,
    steps: NDArray[np.intp],
    integrator: str,
    actuation: Actuation,
    *,
    loop_q: Array | None = None,
    memory: Array | None = None,
    spectral_radius: float = 0.9,
) -> tuple[Array, Array, Array, int, int]: ...
def joint_torque_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def kinetic_energy_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def potential_energy_regressor(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def momentum_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def jacobian(
    model: Model,
    q: ArrayLike,
    body: int,
    placement: Sequence[float],
    expressed: str,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def jacobian_time_derivative(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: int,
    placement: Sequence[float],
    expressed: str,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def frame_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: int,
    placement: Sequence[float],
    expressed: str,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def frame_acceleration(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    body: int,
    placement: Sequence[float],
    expressed: str,
    classical: bool,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def influence_coefficients(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def second_influence_coefficients(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def minverse(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def coriolis_matrix(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def frame_mobility(
    model: Model,
    q: ArrayLike,
    body: int,
    placement: Sequence[float],
    expressed: str,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def centroidal_momentum(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def centroidal_momentum_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def centroidal_map(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def centroidal_map_time_derivative(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array: ...
def joint_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array: ...
def constrained_aba(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
    passive: bool = False,
) -> Array: ...
def constrained_aba_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
    passive: bool = False,
    forces: bool = False,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array, Array]: ...
def constraint_rows(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
) -> Array: ...
def project(
    model: Model, q: ArrayLike, v: ArrayLike, loop_q: ArrayLike | None, *, threads: int = 1
) -> Array: ...
