"""Types of the compiled engine; what its functions do is said where they are bound and in pysim.algorithms."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]

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

class Model:
    def __init__(
        self,
        joints: Sequence[Mapping[str, Any]],
        gravity: Sequence[float],
        loops: Sequence[Mapping[str, Any]] = ...,
        relations: Sequence[Mapping[str, Any]] = ...,
        springs: Sequence[Mapping[str, Any]] = ...,
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
    model: Model, q: ArrayLike, dq: ArrayLike, *, threads: int = 1, out: Array | None = None
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

class Events:
    def __init__(self, model: Model, descriptions: Sequence[Mapping[str, Any]]) -> None: ...
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
