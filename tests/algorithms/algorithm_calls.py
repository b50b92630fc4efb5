"""Every public algorithm as a call on states, so that what holds for all is tested of all.

A call takes a model, states and the options of the algorithm; `test_every_algorithm.py` holds the table complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim import algorithms
from pysim.meshes import MeshSolid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

NO_ALGORITHMS = {
    "DifferentialDynamics",
    "JointReactions",
    "MassMesh",
    "available_isas",
    "torque_vertex_gradient",  # one result for all states
    "use_isa",
    "mass_mesh",
}
TETRAHEDRON = (
    np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.1]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)


def tetrahedron(model: pysim.Model, link: str) -> pysim.MassMesh:
    """A solid of 1000 kg/m³ on a link."""
    body, pose = model.frames[link]
    return pysim.MassMesh(body, MeshSolid(*TETRAHEDRON), pose, density=1000.0)


@dataclass(frozen=True)
class States:
    """States (n, …), or one of them; `f_ext` may be None."""

    q: Array
    v: Array
    a: Array
    f_ext: Array | None = None

    def __getitem__(self, k: Any) -> States:
        return self.each(lambda x: x[k])

    def astype(self, dtype: Any) -> States:
        return self.each(lambda x: x.astype(dtype))

    def each(self, change: Callable[[Array], Array]) -> States:
        f_ext = None if self.f_ext is None else change(self.f_ext)
        return States(change(self.q), change(self.v), change(self.a), f_ext)


def random_states(model: pysim.Model, rng: np.random.Generator, n: int) -> States:
    """n random states with a wrench on every body."""
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    v, a = rng.normal(size=(2, n, model.nv))
    return States(q, v, a, rng.normal(size=(n, model.nbodies, 6)))


def loose(model: pysim.Model) -> str:
    """A body that can move in all six directions."""
    free = next(k for k, joint in enumerate(model.joints) if joint.type == "free")
    return model.body_names[free]


def links(model: pysim.Model) -> list[str]:
    return [joint.name for joint in model.joints if joint.at[:3, 3].any()]


def body_regressor(model: pysim.Model, s: States, **o: Any) -> Array:
    """Of six velocities and accelerations as if they were twists."""
    twists = np.concatenate([s.v, s.a], axis=-1)
    return pysim.body_regressor(twists[..., :6], twists[..., -6:], **o)


EVERY: dict[str, Callable[..., Any]] = {
    "forward_kinematics": lambda m, s, **o: pysim.forward_kinematics(m, s.q, **o),
    "frame_placement": lambda m, s, **o: pysim.frame_placement(m, s.q, "tool", **o),
    "jacobian": lambda m, s, **o: pysim.jacobian(m, s.q, "tool", "world", **o),
    "jacobian_time_derivative": lambda m, s, **o: pysim.jacobian_time_derivative(
        m, s.q, s.v, "tool", "aligned", **o
    ),
    "frame_velocity": lambda m, s, **o: pysim.frame_velocity(m, s.q, s.v, "tool", **o),
    "frame_acceleration": lambda m, s, **o: pysim.frame_acceleration(
        m, s.q, s.v, s.a, "tool", "aligned", classical=True, **o
    ),
    "influence_coefficients": lambda m, s, **o: pysim.influence_coefficients(m, s.q, **o),
    "second_influence_coefficients": lambda m, s, **o: pysim.second_influence_coefficients(
        m, s.q, **o
    ),
    "rnea": lambda m, s, **o: pysim.rnea(m, s.q, s.v, s.a, s.f_ext, passive=True, **o),
    "nonlinear_effects": lambda m, s, **o: pysim.nonlinear_effects(m, s.q, s.v, **o),
    "generalized_gravity": lambda m, s, **o: pysim.generalized_gravity(m, s.q, **o),
    "aba": lambda m, s, **o: pysim.aba(m, s.q, s.v, s.a, s.f_ext, passive=True, **o),
    "crba": lambda m, s, **o: pysim.crba(m, s.q, **o),
    "minverse": lambda m, s, **o: pysim.minverse(m, s.q, **o),
    "coriolis_matrix": lambda m, s, **o: pysim.coriolis_matrix(m, s.q, s.v, **o),
    "passive_forces": lambda m, s, **o: pysim.passive_forces(m, s.q, s.v, **o),
    "kinetic_energy": lambda m, s, **o: pysim.kinetic_energy(m, s.q, s.v, **o),
    "potential_energy": lambda m, s, **o: pysim.potential_energy(m, s.q, **o),
    "elastic_energy": lambda m, s, **o: pysim.elastic_energy(m, s.q, **o),
    "center_of_mass": lambda m, s, **o: pysim.center_of_mass(m, s.q, **o),
    "com_jacobian": lambda m, s, **o: pysim.com_jacobian(m, s.q, **o),
    "centroidal_momentum": lambda m, s, **o: pysim.centroidal_momentum(m, s.q, s.v, **o),
    "centroidal_momentum_rate": lambda m, s, **o: pysim.centroidal_momentum_rate(
        m, s.q, s.v, s.a, **o
    ),
    "centroidal_map": lambda m, s, **o: pysim.centroidal_map(m, s.q, **o),
    "centroidal_map_time_derivative": lambda m, s, **o: pysim.centroidal_map_time_derivative(
        m, s.q, s.v, **o
    ),
    "operational_space_mobility": lambda m, s, **o: pysim.operational_space_mobility(
        m, s.q, "tool", **o
    ),
    "operational_space_inertia": lambda m, s, **o: pysim.operational_space_inertia(
        m, s.q, loose(m), **o
    ),
    "joint_reactions": lambda m, s, **o: pysim.joint_reactions(m, s.q, s.v, s.a, s.f_ext, **o),
    "joint_torque_regressor": lambda m, s, **o: pysim.joint_torque_regressor(m, s.q, s.v, s.a, **o),
    "body_regressor": body_regressor,
    "kinetic_energy_regressor": lambda m, s, **o: pysim.kinetic_energy_regressor(m, s.q, s.v, **o),
    "potential_energy_regressor": lambda m, s, **o: pysim.potential_energy_regressor(m, s.q, **o),
    "momentum_regressor": lambda m, s, **o: pysim.momentum_regressor(m, s.q, s.v, **o),
    "rnea_derivatives": lambda m, s, **o: pysim.rnea_derivatives(
        m, s.q, s.v, s.a, s.f_ext, passive=True, **o
    ),
    "aba_derivatives": lambda m, s, **o: pysim.aba_derivatives(
        m, s.q, s.v, s.a, s.f_ext, passive=True, **o
    ),
    "passive_force_derivatives": lambda m, s, **o: pysim.passive_force_derivatives(
        m, s.q, s.v, **o
    ),
    "twist_derivatives": lambda m, s, **o: pysim.twist_derivatives(m, s.q, s.v, s.a, s.f_ext, **o),
    "placement_derivatives": lambda m, s, **o: pysim.placement_derivatives(
        m, s.q, s.v, s.a, s.f_ext, **o
    ),
    "differential_dynamics": lambda m, s, **o: pysim.differential_dynamics(
        m, s.q, s.v, s.a, s.f_ext, **o
    ),
    "link_length_derivatives": lambda m, s, **o: pysim.link_length_derivatives(
        m, s.q, s.v, s.a, links(m), s.f_ext, **o
    ),
    "torque_vertex_derivatives": lambda m, s, **o: pysim.torque_vertex_derivatives(
        m, s.q, s.v, s.a, tetrahedron(m, "tool"), **o
    ),
}
FORMS: dict[str, Callable[..., Any]] = {  # with the group operations of a model
    **EVERY,
    "integrate": lambda m, s, **o: m.integrate(s.q, s.v, **o),
    "difference": lambda m, s, **o: m.difference(s.q, m.integrate(s.q, s.v), **o),
}
TAKES_WRENCHES = (
    "rnea",
    "aba",
    "joint_reactions",
    "rnea_derivatives",
    "aba_derivatives",
    "twist_derivatives",
    "placement_derivatives",
    "differential_dynamics",
    "link_length_derivatives",
)
SLOPES = (  # need derivatives of S: refuse joints that Python computes
    "second_influence_coefficients",
    "rnea_derivatives",
    "aba_derivatives",
    "passive_force_derivatives",
    "twist_derivatives",
    "placement_derivatives",
    "differential_dynamics",
    "link_length_derivatives",
)


def public() -> set[str]:
    """Names of the public algorithms."""
    return set(algorithms.__all__) - NO_ALGORITHMS  # type: ignore[attr-defined]


def arrays(result: Any) -> tuple[Array, ...]:
    """The arrays of a result, one or several."""
    return tuple(result) if isinstance(result, tuple) else (np.asarray(result),)


def rows(result: Any, n: int) -> Array:
    """The numbers of a batch's result, state by state (n, …)."""
    return np.concatenate([x.reshape(n, -1) for x in arrays(result)], axis=1)
