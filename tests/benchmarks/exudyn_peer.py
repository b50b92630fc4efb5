"""The sprung block in Exudyn, whose user functions are the nearest thing to a plugin that a peer has."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NOTE = (
    "Exudyn has forces and constraints written by users, but no joint of minimal coordinates: what pysim writes as a "
    "joint becomes a constraint between bodies there."
    if find_spec("exudyn")
    else "Exudyn is not installed; no peer."
)


def sprung_blocks(steps: int, step: float) -> dict[str, Callable[[], NDArray[np.float64]]]:
    """Runs that return the final position [m]: the spring in Python, traced by Exudyn, and its built-in linear one."""
    if not find_spec("exudyn"):
        return {}
    return {
        f"Exudyn, {name}": _run(kind, steps, step)
        for name, kind in (
            ("Python user function", "python"),
            ("symbolic user function", "symbolic"),
            ("built-in spring, Hooke's", "built-in"),
        )
    }


def _run(kind: str, steps: int, step: float) -> Callable[[], NDArray[np.float64]]:
    import exudyn

    system, node = _block(kind)
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * step
    settings.timeIntegration.explicit.computeEndOfStepAccelerations = False
    settings.solution.file.write = False

    def run() -> NDArray[np.float64]:
        system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.RK44)
        at: NDArray[np.float64] = system.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates)
        return at

    return run


def _block(kind: str) -> tuple[Any, int]:
    """A mass of 1 kg that starts 0.5 m from where its spring rests."""
    import exudyn
    from exudyn import utilities as items  # Exudyn's own way to its items

    system = exudyn.SystemContainer().AddSystem()
    node = system.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[0.5]))
    system.AddObject(items.Mass1D(mass=1.0, nodeNumber=node))
    ground = system.AddNode(items.NodePointGround())
    markers = [
        system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=n, coordinate=0))
        for n in (ground, node)
    ]

    def pull(mbs, t, item, u, v, k, d, offset):  # the arguments Exudyn gives
        tanh = exudyn.symbolic.tanh if kind == "symbolic" else math.tanh
        return 40 * tanh(u) + 0.1 * v

    spring = items.CoordinateSpringDamper(markerNumbers=markers, stiffness=40, damping=0.1)
    if kind == "python":
        spring.springForceUserFunction = pull
    number = system.AddObject(spring)
    if kind == "symbolic":
        traced = items.CreateSymbolicUserFunction(system, pull, "springForceUserFunction", number)
        system.SetObjectParameter(number, "springForceUserFunction", traced)
    system.Assemble()
    return system, node
