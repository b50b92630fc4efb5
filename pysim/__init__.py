"""Plugin-based multibody simulator with scene files.

    scene = pysim.load_scene("scene.toml")
    trajectory = pysim.simulate(scene)

Importing pysim loads NumPy and the engine; everything heavier loads when it is first used.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pysim.child_process import leave_out_working_folder, runs_as_module

if runs_as_module():  # before anything else is imported
    leave_out_working_folder()
try:
    from pysim._engine import available_isas as available_isas, use_isa as use_isa
except ModuleNotFoundError:  # run from a clone's folder, which shadows the installed package
    from pysim._source_tree import use_installed_engine

    use_installed_engine(__path__)
    from pysim._engine import available_isas as available_isas, use_isa as use_isa
from pysim.errors import (
    IdentificationError as IdentificationError,
    JointError as JointError,
    ModelError as ModelError,
    PysimError as PysimError,
    PysimWarning as PysimWarning,
    SceneError as SceneError,
    SimulationError as SimulationError,
    TrajectoryError as TrajectoryError,
    UnknownNameError as UnknownNameError,
)
from pysim.habits import unknown_attribute

if TYPE_CHECKING:
    from pysim import (
        actuators as actuators,
        algorithms as algorithms,
        contact as contact,
        controllers as controllers,
        environments as environments,
        events as events,
        fmu as fmu,
        forces as forces,
        gym as gym,
        identify as identify,
        inertia as inertia,
        integrators as integrators,
        jax as jax,
        joints as joints,
        loops as loops,
        motions as motions,
        render as render,
        scene as scene,
        sensors as sensors,
        simulation as simulation,
        spatial as spatial,
        torch as torch,
        trajectory as trajectory,
    )
    from pysim.algorithms import *
    from pysim.analysis.equilibrium import Equilibrium as Equilibrium, equilibrium as equilibrium
    from pysim.analysis.file_check import check as check
    from pysim.analysis.gradients import Gradient as Gradient, gradient as gradient
    from pysim.analysis.linear_system import (
        LinearMode as LinearMode,
        LinearSystem as LinearSystem,
    )
    from pysim.analysis.linearization import linearize as linearize
    from pysim.analysis.moment_arms import MomentArms as MomentArms, moment_arms as moment_arms
    from pysim.analysis.regulator import Regulator as Regulator, lqr as lqr
    from pysim.analysis.step_derivatives import (
        StepDerivatives as StepDerivatives,
        step_derivatives as step_derivatives,
    )
    from pysim.loops.inverse_kinematics import (
        InverseKinematics as InverseKinematics,
        inverse_kinematics as inverse_kinematics,
    )
    from pysim.mechanism.model import Model as Model, State as State
    from pysim.optimisation import optimise as optimise
    from pysim.rollouts.rollout import rollout as rollout
    from pysim.scene.convert import convert as convert
    from pysim.scene_files.scene_builder import SceneBuilder as SceneBuilder
    from pysim.simulation import (
        load_scene as load_scene,
        load_scenes as load_scenes,
        simulate as simulate,
    )
    from pysim.simulation.replay import replay as replay
    from pysim.simulation.resume import resume as resume
    from pysim.simulation.worlds import Worlds as Worlds
    from pysim.sweeps import load_sweep as load_sweep, sweep as sweep
    from pysim.trajectory import Trajectory as Trajectory, load_trajectory as load_trajectory
    from pysim.trajectory.from_states import save_rollout as save_rollout
    from pysim.worlds.element_forces import element_forces as element_forces
    from pysim.worlds.loading import Scene as Scene, load_model as load_model

__version__ = "0.1.0"

# A checker takes the names of the imports above: it reads no __all__ of other modules.
_LATE = {  # names by the module that is imported when one of them is used
    "pysim.analysis.equilibrium": ("Equilibrium", "equilibrium"),
    "pysim.analysis.file_check": ("check",),
    "pysim.analysis.gradients": ("Gradient", "gradient"),
    "pysim.analysis.linear_system": ("LinearMode", "LinearSystem"),
    "pysim.analysis.linearization": ("linearize",),
    "pysim.analysis.moment_arms": ("MomentArms", "moment_arms"),
    "pysim.analysis.regulator": ("Regulator", "lqr"),
    "pysim.analysis.step_derivatives": ("StepDerivatives", "step_derivatives"),
    "pysim.loops.inverse_kinematics": ("InverseKinematics", "inverse_kinematics"),
    "pysim.mechanism.model": ("Model", "State"),
    "pysim.optimisation": ("optimise",),
    "pysim.rollouts.rollout": ("rollout",),
    "pysim.scene.convert": ("convert",),
    "pysim.scene_files.scene_builder": ("SceneBuilder",),
    "pysim.simulation": ("load_scene", "load_scenes", "simulate"),
    "pysim.simulation.replay": ("replay",),
    "pysim.simulation.resume": ("resume",),
    "pysim.simulation.worlds": ("Worlds",),
    "pysim.sweeps": ("load_sweep", "sweep"),
    "pysim.trajectory": ("Trajectory", "load_trajectory"),
    "pysim.trajectory.from_states": ("save_rollout",),
    "pysim.worlds.element_forces": ("element_forces",),
    "pysim.worlds.loading": ("Scene", "load_model"),
}
_MODULE_OF = {name: module for module, names in _LATE.items() for name in names}
_PUBLIC = [
    *_MODULE_OF,
    "IdentificationError",
    "JointError",
    "ModelError",
    "PysimError",
    "PysimWarning",
    "SceneError",
    "SimulationError",
    "TrajectoryError",
    "UnknownNameError",
    "available_isas",
    "use_isa",
]
_RENAMED = {"WeighedMesh": "MassMesh", "weighed_mesh": "mass_mesh"}
_MODULES = (
    "actuators",
    "algorithms",
    "contact",
    "controllers",
    "environments",
    "events",
    "fmu",
    "forces",
    "gym",
    "identify",
    "inertia",
    "integrators",
    "jax",
    "joints",
    "loops",
    "motions",
    "render",
    "scene",
    "sensors",
    "simulation",
    "spatial",
    "torch",
    "trajectory",
)

_PACKAGES = {"gym": "gymnasium", "jax": "jax", "torch": "torch"}  # that modules need


if not TYPE_CHECKING:  # a checker knows the names above, and that there are no others

    def __getattr__(name: str) -> object:
        """Import a public name's module when the name is first used."""
        if name in _MODULE_OF:
            value: object = getattr(import_module(_MODULE_OF[name]), name)
        elif name in _MODULES:
            value = import_module(f"pysim.{name}")
        elif name in _RENAMED:  # not kept, so that every use is warned of
            text = f"pysim.{name} is deprecated; use pysim.{_RENAMED[name]}"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return getattr(import_module("pysim.algorithms"), _RENAMED[name])
        elif name == "__all__":
            value = sorted({*_PUBLIC, *_algorithms()})
        elif name.startswith("_"):
            raise AttributeError(f"module 'pysim' has no attribute {name!r}")
        elif name in _algorithms():
            value = getattr(import_module("pysim.algorithms"), name)
        else:
            raise unknown_attribute("pysim", name, __dir__())
        globals()[name] = value
        return value

    def _algorithms() -> list[str]:
        """Return names of the algorithms; none while they are being imported."""
        return list(getattr(import_module("pysim.algorithms"), "__all__", ()))

    def __dir__() -> list[str]:
        special = {name for name in globals() if name.startswith("__")} - {"__getattr__", "__dir__"}
        absent = {name for name, package in _PACKAGES.items() if find_spec(package) is None}
        return sorted(({*_PUBLIC, *_algorithms(), *_MODULES} | special) - absent)
