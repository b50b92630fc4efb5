"""Plugin-based multibody simulator with scene files.

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
    from pysim import forces as forces
    from pysim import identify as identify
    from pysim import inertia as inertia
    from pysim import integrators as integrators
    from pysim import joints as joints
    from pysim import loops as loops
    from pysim import render as render
    from pysim import scene as scene
    from pysim import spatial as spatial
    from pysim import trajectory as trajectory
    from pysim.algorithms import *
    from pysim.mechanism.model import Model, State
    from pysim.simulation import load_scene, load_scenes, simulate
    from pysim.simulation.loading import Scene, load_model
    from pysim.simulation.rollouts import rollout
    from pysim.sweeps import load_sweep, sweep
    from pysim.trajectory import Trajectory, load_trajectory

__version__ = "0.1.0"

__all__ = [
    "IdentificationError",
    "JointError",
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
    "available_isas",
    "load_model",
    "load_scene",
    "load_scenes",
    "load_sweep",
    "load_trajectory",
    "rollout",
    "simulate",
    "sweep",
    "use_isa",
]
if TYPE_CHECKING:
    __all__ += algorithms.__all__

_HOME = {
    "Model": "pysim.mechanism.model",
    "State": "pysim.mechanism.model",
    "Scene": "pysim.simulation.loading",
    "load_model": "pysim.simulation.loading",
    "load_scene": "pysim.simulation",
    "load_scenes": "pysim.simulation",
    "rollout": "pysim.simulation.rollouts",
    "simulate": "pysim.simulation",
    "load_sweep": "pysim.sweeps",
    "sweep": "pysim.sweeps",
    "Trajectory": "pysim.trajectory",
    "load_trajectory": "pysim.trajectory",
}
_RENAMED = {"WeighedMesh": "MassMesh", "weighed_mesh": "mass_mesh"}
_MODULES = (
    "algorithms",
    "events",
    "forces",
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
    _OWN = __all__
    del __all__  # it is made when it is asked for, with the names of the algorithms

    def __getattr__(name: str) -> object:
        """Import a public name's module when the name is first used."""
        if name in _HOME:
            value: object = getattr(import_module(_HOME[name]), name)
        elif name in _MODULES:
            value = import_module(f"pysim.{name}")
        elif name in _RENAMED:  # not kept, so that every use is warned of
            return renamed(f"pysim.{name}", "pysim", _RENAMED[name])
        elif name == "__all__":
            value = sorted({*_OWN, *_algorithms()})
        elif not name.startswith("_") and name in _algorithms():
            value = getattr(import_module("pysim.algorithms"), name)
        else:
            raise AttributeError(f"module 'pysim' has no attribute {name!r}")
        globals()[name] = value
        return value

    def _algorithms() -> list[str]:
        """Names of the algorithms; none while they are being imported."""
        return list(getattr(import_module("pysim.algorithms"), "__all__", ()))

    def __dir__() -> list[str]:
        names = {*globals(), *_OWN, *_algorithms(), *_MODULES}
        return sorted(names - {"TYPE_CHECKING", "annotations", "import_module", "renamed"})
