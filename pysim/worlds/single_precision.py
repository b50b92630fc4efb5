"""Limits of worlds in single precision, whose excess is refused with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.errors import SimulationError
from pysim.integrators import find_integrator
from pysim.worlds.python_stepping import runs_in_python

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene

LEAST_DEPTH = 10.0  # of contacts under the weight, over what floats resolve


def check_single_precision(scene: Scene) -> None:
    """Refuse what worlds in single precision cannot do."""
    settings, signals, where = scene.settings, scene.signals, "dtype"
    remedy = "leave dtype out for double precision"
    if runs_in_python(scene):
        raise SimulationError(where, f"Python makes steps in double precision alone; {remedy}")
    if find_integrator(settings.integrator).adaptive:
        problem = f"{settings.integrator!r} makes steps in double precision alone"
        raise SimulationError(where, f"{problem}; {remedy}")
    if settings.integrator == "convex" and settings.parameters.get("accuracy", 0.0) > 0:
        problem = "accuracy controls errors below the resolution of single precision"
        raise SimulationError(where, f"{problem}; leave accuracy out of [simulation], or {remedy}")
    if settings.integrator != "convex" and scene.contacts is not None:
        problem = f"contacts under {settings.integrator!r} are computed in double precision alone"
        raise SimulationError(where, f'{problem}; take integrator = "convex", or {remedy}')
    if scene.spec.events:
        problem = f"event {scene.spec.events[0].name!r} is located in double precision alone"
        raise SimulationError(where, f"{problem}; leave it out, or {remedy}")
    if signals is not None and signals.noise is not None:
        problem = "the scene draws random numbers, whose keys have 53 bits"
        raise SimulationError(where, f"{problem}; leave noise out of the scene, or {remedy}")
    if scene.contacts is not None:
        _check_depths(scene, remedy)


def _check_depths(scene: Scene, remedy: str) -> None:
    """Refuse contacts so stiff, or so far from the origin, that floats do not resolve how deep they rest."""
    assert scene.contacts is not None
    place = np.asarray(forward_kinematics(scene.model, scene.state.q))[:, :3, 3]
    for shape in scene.contacts.shapes:
        normal = scene.model.gravity if shape.ground is None else shape.ground.normal
        size = float(np.linalg.norm(normal))
        height = abs(float(np.dot(normal, place[shape.body]))) / size if size > 0 else 0.0
        finest = float(np.finfo(np.float32).eps) * height
        if shape.law.sink >= LEAST_DEPTH * finest:
            continue
        name = scene.contacts.pairs[shape.pair].name
        problem = (
            f"contact {name!r} rests {shape.law.sink:.2g} m deep, and {height:.3g} m from the origin floats resolve"
            f" {finest:.2g} m"
        )
        raise SimulationError(
            "dtype",
            f"{problem}; give it a sink of {LEAST_DEPTH * finest:.1e} m or more, or {remedy}",
        )
