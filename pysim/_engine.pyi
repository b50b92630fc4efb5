"""Types of the compiled engine; what its functions do is said where they are bound and in pysim.algorithms."""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol, Self, TypeAlias, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
_Floats: TypeAlias = Sequence[float] | Array
_ContactSensor: TypeAlias = tuple[
    Sequence[int], int, int, Sequence[float], Sequence[float], Sequence[int], Sequence[float]
]

def available_isas() -> list[str]: ...
def use_isa(isa: str) -> None: ...
def isa() -> str: ...
def map_rows(
    name: str, x: NDArray[Any], threads: int = 1, out: NDArray[Any] | None = None
) -> NDArray[Any]: ...
def row_maps() -> list[str]: ...
def map_pairs(name: str, a: NDArray[Any], b: NDArray[Any], y: NDArray[Any]) -> None: ...
def pair_maps() -> dict[str, tuple[int, int, int]]: ...
def philox_words(
    index: NDArray[np.uint64], key: NDArray[np.uint64], stream: int, blocks: int
) -> NDArray[np.uint32]: ...
def philox_uniform(index: ArrayLike, key: ArrayLike, stream: ArrayLike) -> Array: ...
def mesh_moments(
    vertices: Array, faces: NDArray[np.int64], origin: Array, sheet: bool = False
) -> Array: ...
def mesh_derivatives(
    vertices: Array, faces: NDArray[np.int64], origin: Array, density: float, sheet: bool = False
) -> Array: ...
def mesh_gradient(vertices: Array, faces: NDArray[np.int64], weights: Array) -> Array: ...

class FaceFault:
    count: Final[int]
    first: Final[int]

class SurfaceFaults:
    outside: Final[FaceFault]
    pinched: Final[FaceFault]
    repeated: Final[FaceFault]
    closed: Final[bool]

class Crossings:
    count: Final[int]
    first: Final[int]
    second: Final[int]

def find_crossings(vertices: Array, faces: NDArray[np.int64]) -> Crossings: ...
def label_shells(faces: NDArray[np.int64], vertices: int) -> tuple[int, NDArray[np.int64]]: ...
def surface_faults(faces: NDArray[np.int64], vertices: int) -> SurfaceFaults: ...
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

class ElementKind(enum.Enum):
    frames = ...
    path = ...
    coordinates = ...

class PathKind(enum.Enum):
    point = ...
    conditional = ...
    sphere = ...
    cylinder = ...
    inside_sphere = ...
    inside_cylinder = ...
    ellipsoid = ...
    torus = ...

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
    copy = ...
    dot = ...
    random = ...
    solve = ...

@dataclass_transform(frozen_default=True)
class _Record:
    """Frozen values under names, which are the constructor's arguments."""

    fields: ClassVar[tuple[str, ...]]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, other: object) -> bool: ...
    def replaced(self, **changes: object) -> Self: ...

class Program(_Record):
    code: Sequence[tuple[Op, int, int, int, int]]
    pose_end: int
    registers: int
    constants: Sequence[float]
    tables: Sequence[float]
    outputs: Sequence[int]
    def __len__(self) -> int: ...

class PassiveLaw:
    force: Final[Any]
    by_q: Final[Any]
    by_v: Final[Any]
    energy: Final[Any]

class Passive(_Record):
    def __init__(self, *numbers: float, **named: float) -> None: ...
    def law(
        self, q: Any, v: Any, rest: Any = 0.0, numbers: Mapping[str, Any] = ...
    ) -> PassiveLaw: ...
    def __getattr__(self, name: str) -> float: ...

class Block(_Record):
    group: Group
    q: int
    v: int
    nv: int

class MotionDescription(_Record):
    shape: Shape
    axis: _Floats = ...
    pitch: float = 0.0
    blocks: Sequence[Block] = ...
    columns: Sequence[Column] = ...
    biased: bool = False
    program: Program | None = None
    derivative: Program | None = None
    force: Program | None = None
    force_derivative: Program | None = None

class JointDescription(_Record):
    name: str
    motion: MotionDescription
    parent: int = -1
    placement: Array = ...
    follows: int = -1
    ratio: float = 1.0
    offset: float = 0.0
    rest: _Floats = ...
    armature: _Floats = ...
    passive: Sequence[Passive] = ...

class LoopDescription(_Record):
    name: str
    kind: LoopKind
    motion: MotionDescription
    a: int
    b: int
    at_a: Array
    at_b: Array
    length: float
    independent: Sequence[int] | NDArray[np.intp]
    start: _Floats
    function: Program | None = None
    work: int = -1

class Term(_Record):
    q: int
    v: int
    factor: float = 1.0

class CouplingDescription(_Record):
    name: str
    terms: Sequence[Term]
    offset: float = 0.0
    inputs: Sequence[Term] = ...
    function: Program | None = None
    derivative: Program | None = None
    work: int = -1

class ElementCoordinate(_Record):
    q: int
    v: int

class PathPoint(_Record):
    body: int
    at: Array
    kind: PathKind = ...
    radii: _Floats = ...
    side: _Floats = ...
    q: int = ...
    lower: float = ...
    upper: float = ...
    multiplicity: float = ...
    coordinates: Sequence[ElementCoordinate] = ...
    place: Program | None = ...
    slopes: Program | None = ...

class ElementDescription(_Record):
    name: str
    kind: ElementKind
    program: Program
    derivative: Program
    energy: Program | None = ...
    a: int = ...
    b: int = ...
    at_a: Array = ...
    at_b: Array = ...
    points: Sequence[PathPoint] = ...
    coordinates: Sequence[ElementCoordinate] = ...

class SignalSource(enum.Enum):
    time = ...
    q = ...
    v = ...
    state = ...
    port = ...
    mean_v = ...
    mean_port = ...
    acceleration = ...
    port_acceleration = ...
    reaction = ...

class SignalMotion(enum.Enum):
    state = ...
    q = ...
    v = ...
    port_position = ...
    port_rate = ...

class SignalCallKind(enum.Enum):
    gravity = ...
    inverse = ...
    inverse_at = ...

class PortDescription(_Record):
    name: str
    kind: ElementKind
    a: int = ...
    b: int = ...
    at_a: Array = ...
    at_b: Array = ...
    points: Sequence[PathPoint] = ...

class SignalProgram(_Record):
    program: Program
    input_registers: int
    inputs: Sequence[tuple[SignalSource, int, int]]
    calls: Sequence[tuple[SignalCallKind, int, Sequence[int]]] = ...
    places: Sequence[int] = ...

class SignalsDescription(_Record):
    states: int
    held_numbers: int
    forces: SignalProgram | None
    slopes: SignalProgram | None
    readings: SignalProgram | None
    coordinates: Sequence[int]
    slope_places: Sequence[tuple[int, SignalMotion, int]]
    ports: Sequence[PortDescription]
    driven: int
    blocks: Sequence[SignalProgram]
    integrals: int = 0
    bounded: Sequence[int] = ...
    bounded_slope_places: Sequence[tuple[int, SignalMotion, int]] = ...

class Model:
    def __init__(
        self,
        joints: Sequence[JointDescription],
        inertias: ArrayLike,
        gravity: ArrayLike,
        loops: Sequence[LoopDescription] = ...,
        couplings: Sequence[CouplingDescription] = ...,
        elements: Sequence[ElementDescription] = ...,
        signals: SignalsDescription | None = ...,
    ) -> None: ...
    nq: Final[int]
    nv: Final[int]
    nbodies: Final[int]
    planar_tree: Final[bool]
    planar_loops: Final[bool]
    tree_nv: Final[int]
    rows: Final[int]
    loop_rows: Final[list[int]]
    loop_nq: Final[int]
    signal_numbers: Final[int]
    callback_numbers: Final[int]
    @property
    def gravity(self) -> Array: ...
    parents: Final[list[int]]
    q_offsets: Final[list[int]]
    v_offsets: Final[list[int]]
    def neutral(self) -> Array: ...
    def structure_difference(self, other: Model) -> str: ...

def check_model(model: object) -> None: ...

class Actuation:
    def __init__(
        self, offset: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike
    ) -> None: ...
    offset: Final[Array]
    amplitude: Final[Array]
    frequency: Final[Array]
    phase: Final[Array]

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
    contacts: Sequence[Contacts],
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
    /,
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
    @staticmethod
    def gap(pair: int, point: int, direction: Direction) -> EventDescription: ...

class Events:
    def __init__(
        self,
        model: Model,
        descriptions: Sequence[EventDescription],
        contacts: Contacts | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...

def integrators() -> list[str]: ...
def model_numbers(
    model: Model, contacts: Contacts | None
) -> tuple[NDArray[np.float64], list[tuple[str, int, int]], bytes]: ...
def vary_states(
    model: Model,
    places: NDArray[np.int64] | None,
    values: NDArray[np.float64],
    joint_forces: bool,
) -> None: ...
def update_signals(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    time: float,
    due: int,
    signals: Array,
    actuation: Actuation,
    *,
    loop_q: Array | None = None,
    first: bool = False,
    contacts: Contacts | None = None,
    a: Array | None = None,
    f_ext: Array | None = None,
    threads: int = 1,
) -> None: ...
def measure_contacts(
    model: Model,
    q: ArrayLike,
    report: Array,
    signals: Array,
    sensors: Sequence[_ContactSensor],
    shapes: NDArray[np.int32],
    *,
    threads: int = 1,
) -> None: ...
def read_signals(
    model: Model,
    times: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    signals: Array,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> Array: ...
def signal_forces(
    model: Model, times: ArrayLike, q: ArrayLike, v: ArrayLike, signals: Array, *, threads: int = 1
) -> tuple[Array, Array]: ...
def scene_file(
    worlds: Worlds,
    name: str,
    joints: Sequence[JointDescription],
    inertias: ArrayLike,
    ties: tuple[
        Sequence[LoopDescription],
        Sequence[CouplingDescription],
        Sequence[ElementDescription],
        SignalsDescription | None,
    ],
    names: Sequence[Sequence[str]],
    shapes: tuple[Sequence[int], Sequence[float]],
    inputs: Sequence[tuple[str, str, Sequence[int]]],
    outputs: Sequence[tuple[str, str, int, int, Sequence[str], bool]],
    parameters: Sequence[
        tuple[str, str, Sequence[float], Sequence[float], Sequence[float], Sequence[str]]
    ],
    follow: tuple[Program | None, Sequence[int]],
    numbers: tuple[Sequence[float], bool],
) -> bytes: ...

class Field:
    def __init__(
        self,
        program: Program | None = None,
        heights: ArrayLike | None = None,
        spacing: tuple[float, float] = (0.0, 0.0),
    ) -> None: ...

class Contacts:
    def __init__(
        self,
        model: Model,
        bodies: Sequence[int],
        kinds: Sequence[str],
        sizes: ArrayLike,
        placements: ArrayLike,
        meshes: Sequence[tuple[Array, Array, Array, Array, Array]],
        pairs: NDArray[np.int32],
        planes: ArrayLike,
        surfaces: ArrayLike,
        laws: ArrayLike,
        slip_speed: float = 0.01,
        fields: Sequence[Field] = (),
        field_of_shape: Sequence[int] = (),
        covered: Sequence[int] = (),
    ) -> None: ...
    def gaps(self, pair: int) -> int: ...
    points: Final[int]
    pair_of_point: Final[NDArray[np.intc]]
    def set_work(self, places: Sequence[int] | NDArray[np.int32]) -> None: ...
    law_coordinates: Final[list[int]]

def contact_forces(
    contacts: Contacts, q: ArrayLike, v: ArrayLike
) -> tuple[Array, Array, Array]: ...
def actuator_damping(
    contacts: Contacts,
    q: ArrayLike,
    v: ArrayLike,
    signals: Array | None,
    actuation: Actuation,
    step: float,
) -> tuple[Array, Array]: ...
def contact_points(
    contacts: Contacts,
    q: ArrayLike,
    v: ArrayLike,
    *,
    reach: float | None = None,
    threads: int = 1,
) -> Array: ...

class RecordedWorlds: ...

class NewtonIteration:
    length: Final[float]
    cost: Final[float]
    gradient: Final[float]
    step_length: Final[float]
    residual: Final[float]
    touching: Final[int]
    sticking: Final[int]
    stopped: Final[int]
    sticking_joints: Final[int]
    bounded: Final[int]
    renews: Final[bool]
    converged: Final[bool]

class _PythonStep(Protocol):
    def __call__(self, world: int, t: float, h: float, /) -> bool: ...
    def hold(self, world: int, /) -> None: ...
    def put_back(self, world: int, /) -> None: ...

class _Worlds(RecordedWorlds):
    def __init__(
        self,
        model: Model,
        actuation: Actuation,
        contacts: Contacts | None,
        count: int,
        integrator: str,
        step: float,
        *,
        periods: Sequence[float] = ...,
        first_bit: int = 0,
        python: int = 0,
        key: int = -1,
        spectral_radius: float = 0.9,
        passes: int = 2,
        solver_tolerance: float = 1e-8,
        accuracy: float = 0.0,
        least_step: float = 0.0,
        rtol: ArrayLike = ...,
        atol: ArrayLike = ...,
        events: Events | None = None,
        python_step: _PythonStep | None = None,
        caller_numbers: int = 0,
    ) -> None: ...
    def __len__(self) -> int: ...
    parts: Final[dict[str, NDArray[Any]]]
    def readings(self, worlds: NDArray[np.int32] | None = None, threads: int = 1) -> Array: ...
    def set_model(self, model: Model) -> None: ...
    def set_varied(
        self,
        places: NDArray[np.int64],
        values: NDArray[np.float64],
        joint_forces: bool,
        reach: float = 0.0,
    ) -> None: ...
    def set_actuation(self, actuation: Actuation) -> None: ...
    def set_contact_sensors(
        self,
        sensors: Sequence[_ContactSensor],
    ) -> None: ...
    def set_smooth_contacts(self, contacts: Contacts | None) -> None: ...
    def copy(self, source: NDArray[np.int32], target: NDArray[np.int32]) -> None: ...
    def save(self, worlds: NDArray[np.int32]) -> bytes: ...
    def load(self, saved: bytes, worlds: NDArray[np.int32]) -> None: ...
    def written(self, worlds: NDArray[np.int32] | None = None) -> list[int]: ...
    def accept(self, worlds: NDArray[np.int32] | None = None) -> bool: ...
    def restore(self, worlds: NDArray[np.int32]) -> None: ...
    def see(self, worlds: NDArray[np.int32] | None = None) -> None: ...
    def begin_clock(self, worlds: NDArray[np.int32]) -> None: ...
    def step(
        self,
        steps: int,
        worlds: NDArray[np.int32] | None = None,
        most: int = ...,
        threads: int = 1,
        length: float | None = None,
        wall: float = ...,
    ) -> int: ...
    def go_on(
        self,
        worlds: NDArray[np.int32] | None = None,
        most: int = ...,
        threads: int = 1,
        wall: float = ...,
    ) -> int: ...
    def newton_iterations(self, step: Callable[[], object]) -> list[NewtonIteration]: ...
    def stops(self, count: int) -> NDArray[np.int64]: ...
    def advance(
        self,
        worlds: NDArray[np.int32] | None = None,
        *,
        times: Array,
        row: NDArray[np.int64],
        q_rows: Array | None = None,
        v_rows: Array | None = None,
        loop_rows: Array | None = None,
        signal_rows: Array | None = None,
        report: Array | None = None,
        report_rows: Array | None = None,
        inputs: Array | None = None,
        input_places: Sequence[int] = ...,
        most: int = ...,
        threads: int = 1,
        count: int | None = None,
        every: int = 0,
        wall: float = ...,
    ) -> NDArray[np.int64]: ...

class Worlds(_Worlds): ...
class FloatWorlds(_Worlds): ...

def cotangent_sizes(worlds: Worlds) -> tuple[str, str, int, list[tuple[str, int]]]: ...

class RecordedSteps:
    def __init__(self, worlds: Worlds, count: int) -> None: ...
    @property
    def bytes(self) -> int: ...
    def save(self, n: int) -> None: ...
    def put_back(self, n: int) -> None: ...
    def make(self, n: int, step: Callable[[], object]) -> None: ...
    def forget(self, n: int) -> None: ...
    def pull(
        self,
        index: NDArray[np.int32],
        bar: Sequence[Array],
        steps: tuple[int, int],
        rows: tuple[Array, Array, Array, Sequence[int], bool] | None,
        inputs: tuple[Array, Sequence[int]] | None,
        threads: int,
        wall: float,
    ) -> tuple[int, Array]: ...

def pull_start(
    worlds: Worlds,
    index: NDArray[np.int32],
    bar: Sequence[Array],
    places: Sequence[int],
    outputs: Sequence[int],
    /,
) -> Array: ...
def step_matrices(
    worlds: Worlds,
    index: NDArray[np.int32],
    numbers: Sequence[Sequence[int]],
    to: Sequence[Array],
    threads: int,
    /,
) -> Array: ...
def quantiles(kind: str, arguments: Sequence[float], u: ArrayLike) -> Array: ...

class EnvironmentTables:
    def __init__(self, plan: object, worlds: int, single: bool) -> None: ...
    parts: Final[dict[str, NDArray[Any]]]
    def act(self, worlds: RecordedWorlds, actions: ArrayLike) -> int: ...
    def begin(self, chosen: ArrayLike, seed: float) -> None: ...
    def start(self, worlds: RecordedWorlds, chosen: ArrayLike) -> None: ...
    def end_step(
        self, worlds: RecordedWorlds, readings: ArrayLike | None = None, threads: int = 1
    ) -> tuple[
        NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32], int
    ]: ...
    def observe(
        self,
        worlds: RecordedWorlds,
        chosen: ArrayLike,
        readings: ArrayLike | None = None,
        begins: bool = False,
        threads: int = 1,
    ) -> int: ...

def distance_pairs() -> list[tuple[str, str]]: ...
def closed_form_pairs() -> list[tuple[str, str]]: ...
def distances(
    kind_a: str,
    kind_b: str,
    a: ArrayLike,
    b: ArrayLike,
    mesh_a: tuple[Array, Array, Array, Array, Array],
    mesh_b: tuple[Array, Array, Array, Array, Array],
) -> Array: ...
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

class ConstrainedAccelerations:
    a: Final[Array]
    forces: Final[Array]

class ConstraintRows:
    residual: Final[Array]
    bias: Final[Array]
    rates: Final[Array]
    jacobian: Final[Array]
    wrenches: Final[Array]
    loop_q: Final[Array]

class ProjectedState:
    q: Final[Array]
    v: Final[Array]
    loop_q: Final[Array]
    residual: Final[Array]
    rank: Final[Array]
    closed: Final[Array]

class RowClasses:
    redundant: Final[Array]
    tolerance: Final[Array]

CLOSURE_TOLERANCE: Final[float]
REDUNDANT_CLOSURE_TOLERANCE: Final[float]
SMALLEST_SINE: Final[float]

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
    t: ArrayLike | None = None,
    redundant: ArrayLike | None = None,
) -> ConstrainedAccelerations: ...
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
    t: ArrayLike | None = None,
) -> tuple[Array, Array, Array, Array]: ...
def constraint_rows(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
    t: ArrayLike | None = None,
) -> ConstraintRows: ...
def search_poses(
    model: Model,
    q: ArrayLike,
    goals: ArrayLike,
    frames: Sequence[tuple[int, Sequence[float], Sequence[float]]],
    limits: Sequence[tuple[int, int, float, float]],
    scale: Sequence[float],
    row_weight: Sequence[float],
    tolerance: float,
    iterations: int,
    gain: float,
    careful: bool,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
) -> tuple[Array, Array, Array, Array]: ...
def project(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
    t: ArrayLike | None = None,
    redundant: ArrayLike | None = None,
) -> ProjectedState: ...
def classify_rows(
    model: Model,
    q: ArrayLike,
    loop_q: ArrayLike | None,
    *,
    threads: int = 1,
    t: ArrayLike | None = None,
) -> RowClasses: ...
