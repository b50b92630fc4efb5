"""Sprung block and cam in Exudyn: user functions are the closest equivalent of a plugin among the peers."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Run = Callable[[], NDArray[np.float64]]

NOTE = (
    "Exudyn has forces and constraints written by users, but no joint of minimal coordinates: what pysim writes as a "
    "joint becomes a constraint between bodies there."
    if find_spec("exudyn")
    else "Exudyn is not installed; no peer."
)


def sprung_blocks(steps: int, step: float) -> dict[str, Run]:
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


def cam(steps: int, step: float, eccentricity: float, reach: float) -> dict[str, Run]:
    """A run that returns the final angle [rad] of a cam of 0.1 kg·m² that lifts 10 kg, 10 rad/s at the start.

    The follower is held to the cam by a constraint and its Jacobian in Python; generalised-α method.
    """
    if not find_spec("exudyn"):
        return {}
    import exudyn

    system, node = _cam(eccentricity, reach)
    settings = _settings(steps, step)

    def run() -> NDArray[np.float64]:
        system.SolveDynamic(settings)
        at: NDArray[np.float64] = system.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates)
        return at

    return {"Exudyn, constraint in Python": run}


def _settings(steps: int, step: float) -> Any:
    import exudyn

    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * step
    settings.timeIntegration.explicit.computeEndOfStepAccelerations = False
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.solution.file.write = False
    return settings


def _cam(eccentricity: float, reach: float) -> tuple[Any, int]:
    """Two coordinates, angle and height, and one constraint between them."""
    import exudyn
    from exudyn import utilities as items  # as Exudyn's documentation imports its items

    constraint, jacobian = _contact(eccentricity, reach)
    system = exudyn.SystemContainer().AddSystem()
    starts = ((0.1, 0.0, 10.0), (10.0, eccentricity + reach, 0.0))  # inertia, coordinate, velocity
    nodes = [
        system.AddNode(
            items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[x], initialVelocities=[v])
        )
        for _, x, v in starts
    ]
    for node, (inertia, _, _) in zip(nodes, starts, strict=True):
        system.AddObject(items.Mass1D(mass=inertia, nodeNumber=node))
    top = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[1], coordinate=0))
    system.AddLoad(items.LoadCoordinate(markerNumber=top, load=-98.1))
    markers = [system.AddMarker(items.MarkerNodeCoordinates(nodeNumber=n)) for n in nodes]
    one_equation = np.zeros((1, 1))
    system.AddObject(
        items.ObjectConnectorCoordinateVector(
            markerNumbers=markers,
            scalingMarker0=one_equation,
            scalingMarker1=one_equation,
            offset=[0.0],
            constraintUserFunction=constraint,
            jacobianUserFunction=jacobian,
        )
    )
    system.Assemble()
    return system, nodes[0]


def _contact(eccentricity: float, reach: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The constraint of angle and height, and its Jacobian, with the arguments that Exudyn passes."""

    def lift(angle: float) -> tuple[float, float]:
        """Height of the roller [m] and its slope [m/rad]."""
        s, c = math.sin(angle), math.cos(angle)
        root = math.sqrt(reach**2 - (eccentricity * s) ** 2)
        return eccentricity * c + root, -eccentricity * s - eccentricity**2 * s * c / root

    def constraint(mbs, t, item, q, q_t, velocity_level):
        height, slope = lift(q[0])
        return [q_t[1] - slope * q_t[0]] if velocity_level else [q[1] - height]

    def jacobian(mbs, t, item, q, q_t, velocity_level):
        return np.array([[-lift(q[0])[1], 1.0]])

    return constraint, jacobian


def _run(kind: str, steps: int, step: float) -> Run:
    import exudyn

    system, node = _block(kind)
    settings = _settings(steps, step)

    def run() -> NDArray[np.float64]:
        system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.RK44)
        at: NDArray[np.float64] = system.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates)
        return at

    return run


def _block(kind: str) -> tuple[Any, int]:
    """A mass of 1 kg that starts 0.5 m from the rest position of its spring."""
    import exudyn
    from exudyn import utilities as items  # as Exudyn's documentation imports its items

    system = exudyn.SystemContainer().AddSystem()
    node = system.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[0.5]))
    system.AddObject(items.Mass1D(mass=1.0, nodeNumber=node))
    ground = system.AddNode(items.NodePointGround())
    markers = [
        system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=n, coordinate=0))
        for n in (ground, node)
    ]

    def pull(mbs, t, item, u, v, k, d, offset):  # the arguments that Exudyn passes
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
