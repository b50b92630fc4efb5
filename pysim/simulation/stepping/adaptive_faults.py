"""Errors that end a run with adaptive steps: a step that underflowed, and tolerances finer than rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import SimulationError
from pysim.loops.redundant_rows import redundant_opening
from pysim.simulation.monitors.diagnosis import fastest, near_singular, plugin_fault
from pysim.simulation.monitors.element_faults import element_fault
from pysim.simulation.monitors.growing_states import growth_error
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim._engine import AdaptiveState
    from pysim.mechanism.model import State
    from pysim.simulation.loading import Scene

FINEST = 1e-15  # smallest rtol that rounding permits for every coordinate
AHEAD = 1e-6  # [s] in which a value that is NaN is looked for where the step shrank to nothing


def too_short(
    scene: Scene, at: State, numbers: Array | None, state: AdaptiveState, worst: str
) -> SimulationError:
    """Return the error of a step that underflowed, after the last good state; `worst` is the name of a coordinate."""
    q, v = at.q, at.v
    time, step = state.time.item(), state.step.item()
    fault = plugin_fault(scene.model, q, v, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {time:.9g} s {fault}")
    fault = element_fault(scene, at, numbers, time, max(step, AHEAD))
    if fault is not None:
        return SimulationError(str(scene.spec.path), fault)
    growth = growth_error(scene, time, q, v, numbers, max(step, AHEAD))
    if growth is not None:
        return growth
    opening = redundant_opening(scene.model, q) if scene.model.rows else None
    near = near_singular(scene.model, q)
    if opening is not None:
        remedy = f"{opening}"
    elif near is not None:
        remedy = f'{near}; change a length so that they pass it farther away, or take simulation.integrator = "rk4"'
    else:
        remedy = (
            "check this time for a stop or friction that is too stiff, a singular configuration or an unbounded force,"
            " or raise simulation.rtol and atol"
        )
    problem = (
        f"at t = {time:.9g} s the step shrank to {step:.2g} s; the error of {worst!r} is the largest,"
        f" {fastest(scene.model, v)}: {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)


def too_large(scene: Scene, t: float, v: Array) -> SimulationError:
    """Return the error of a run that has grown beyond what numbers hold, at t [s] with velocities v (nv,)."""
    problem = (
        f"at t = {t:.9g} s the run has grown beyond what numbers hold, {fastest(scene.model, v)}"
    )
    remedy = "check the signs of control, and the forces that drive it"
    return SimulationError(str(scene.spec.path), f"{problem}; {remedy}")


def too_fine(
    scene: Scene, state: AdaptiveState, rtol: Array, atol: Array, worst: int
) -> SimulationError:
    """Return the error of tolerances finer than the rounding of a coordinate, given its number."""
    name = scene.model.velocity_names[worst]
    problem = (
        f"at t = {state.time.item():.9g} s {name!r} cannot be resolved as finely as simulation.rtol {rtol[worst]:g}"
        f" and atol {atol[worst]:g} require: numbers have 16 digits, so no step is short enough; raise rtol to"
        f" {FINEST:g} or more"
    )
    return SimulationError(str(scene.spec.path), problem)
