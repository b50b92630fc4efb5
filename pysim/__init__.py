"""pysim: a plugin-based multibody simulator with scene files.

    scene = pysim.load_scene("scene.toml")
    trajectory = pysim.simulate(scene)

Importing pysim loads NumPy and the engine; everything heavier loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

try:
    from pysim._engine import available_isas, use_isa
except ModuleNotFoundError:  # run from a clone's folder, which shadows the installed package
    from pysim._source_tree import use_installed_engine

    use_installed_engine(__path__)
    from pysim._engine import available_isas, use_isa
from pysim.deprecation import renamed
from pysim.errors import (
    IdentificationError,
    JointError,
    ModelError,
    PysimError,
    PysimWarning,
    SceneError,
    SimulationError,
    TrajectoryError,
)

if TYPE_CHECKING:
    from pysim import algorithms as algorithms
    from pysim import events as events
    from pysim import identify as identify
    from pysim import inertia as inertia
    from pysim import integrators as integrators
    from pysim import joints as joints
    from pysim import loops as loops
    from pysim import render as render
    from pysim import scene as scene
    from pysim import spatial as spatial
    from pysim import trajectory as trajectory
    from pysim.algorithms import (
        DifferentialDynamics,
        JointReactions,
        MassMesh,
        aba,
        aba_derivatives,
        body_regressor,
        center_of_mass,
        centroidal_map,
        centroidal_map_time_derivative,
        centroidal_momentum,
        centroidal_momentum_rate,
        coriolis_matrix,
        crba,
        differential_dynamics,
        elastic_energy,
        forward_kinematics,
        frame_acceleration,
        frame_placement,
        frame_velocity,
        generalized_gravity,
        influence_coefficients,
        jacobian,
        jacobian_time_derivative,
        joint_reactions,
        joint_torque_regressor,
        kinetic_energy,
        kinetic_energy_regressor,
        link_length_derivatives,
        mass_mesh,
        minverse,
        momentum_regressor,
        nonlinear_effects,
        operational_space_inertia,
        operational_space_mobility,
        passive_force_derivatives,
        passive_forces,
        placement_derivatives,
        potential_energy,
        potential_energy_regressor,
        rnea,
        rnea_derivatives,
        second_influence_coefficients,
        torque_vertex_derivatives,
        torque_vertex_gradient,
        twist_derivatives,
    )
    from pysim.mechanism.model import Model, State
    from pysim.simulation import load_scene, load_scenes, simulate
    from pysim.simulation.loading import Scene, load_model
    from pysim.simulation.rollouts import rollout
    from pysim.trajectory import Trajectory, load_trajectory

__version__ = "0.1.0"

__all__ = [
    "DifferentialDynamics",
    "IdentificationError",
    "JointError",
    "JointReactions",
    "MassMesh",
    "Model",
    "ModelError",
    "PysimError",
    "PysimWarning",
    "Scene",
    "SceneError",
    "SimulationError",
    "State",
    "Trajectory",
    "TrajectoryError",
    "aba",
    "aba_derivatives",
    "available_isas",
    "body_regressor",
    "center_of_mass",
    "centroidal_map",
    "centroidal_map_time_derivative",
    "centroidal_momentum",
    "centroidal_momentum_rate",
    "coriolis_matrix",
    "crba",
    "differential_dynamics",
    "elastic_energy",
    "forward_kinematics",
    "frame_acceleration",
    "frame_placement",
    "frame_velocity",
    "generalized_gravity",
    "influence_coefficients",
    "jacobian",
    "jacobian_time_derivative",
    "joint_reactions",
    "joint_torque_regressor",
    "kinetic_energy",
    "kinetic_energy_regressor",
    "link_length_derivatives",
    "load_model",
    "load_scene",
    "load_scenes",
    "load_trajectory",
    "mass_mesh",
    "minverse",
    "momentum_regressor",
    "nonlinear_effects",
    "operational_space_inertia",
    "operational_space_mobility",
    "passive_force_derivatives",
    "passive_forces",
    "placement_derivatives",
    "potential_energy",
    "potential_energy_regressor",
    "rnea",
    "rnea_derivatives",
    "rollout",
    "second_influence_coefficients",
    "simulate",
    "torque_vertex_derivatives",
    "torque_vertex_gradient",
    "twist_derivatives",
    "use_isa",
]

_ALGORITHMS = (
    "DifferentialDynamics",
    "JointReactions",
    "MassMesh",
    "aba",
    "body_regressor",
    "aba_derivatives",
    "center_of_mass",
    "centroidal_map",
    "centroidal_map_time_derivative",
    "centroidal_momentum",
    "centroidal_momentum_rate",
    "coriolis_matrix",
    "crba",
    "differential_dynamics",
    "elastic_energy",
    "forward_kinematics",
    "frame_acceleration",
    "frame_placement",
    "frame_velocity",
    "generalized_gravity",
    "influence_coefficients",
    "jacobian",
    "jacobian_time_derivative",
    "joint_reactions",
    "joint_torque_regressor",
    "kinetic_energy",
    "kinetic_energy_regressor",
    "link_length_derivatives",
    "minverse",
    "momentum_regressor",
    "nonlinear_effects",
    "operational_space_inertia",
    "operational_space_mobility",
    "passive_force_derivatives",
    "passive_forces",
    "placement_derivatives",
    "potential_energy",
    "potential_energy_regressor",
    "rnea",
    "rnea_derivatives",
    "second_influence_coefficients",
    "torque_vertex_derivatives",
    "torque_vertex_gradient",
    "twist_derivatives",
    "mass_mesh",
)
_HOME = {
    **dict.fromkeys(_ALGORITHMS, "pysim.algorithms"),
    "Model": "pysim.mechanism.model",
    "State": "pysim.mechanism.model",
    "Scene": "pysim.simulation.loading",
    "load_model": "pysim.simulation.loading",
    "load_scene": "pysim.simulation",
    "load_scenes": "pysim.simulation",
    "rollout": "pysim.simulation.rollouts",
    "simulate": "pysim.simulation",
    "Trajectory": "pysim.trajectory",
    "load_trajectory": "pysim.trajectory",
}
_RENAMED = {"WeighedMesh": "MassMesh", "weighed_mesh": "mass_mesh"}
_MODULES = (
    "algorithms",
    "events",
    "identify",
    "inertia",
    "integrators",
    "joints",
    "loops",
    "render",
    "scene",
    "spatial",
    "trajectory",
)


if not TYPE_CHECKING:  # a checker knows the names above, and that there are no others

    def __getattr__(name: str) -> object:
        """Import a public name's module when the name is first used."""
        if name in _HOME:
            value: object = getattr(import_module(_HOME[name]), name)
        elif name in _MODULES:
            value = import_module(f"pysim.{name}")
        elif name in _RENAMED:  # not kept, so that every use is warned of
            return renamed(f"pysim.{name}", "pysim", _RENAMED[name])
        else:
            raise AttributeError(f"module 'pysim' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
