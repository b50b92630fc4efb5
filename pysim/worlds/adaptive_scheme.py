"""Steps of adapted size: their part of a record (cpp/stepping/adaptive.hpp), settings, and the errors that end them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.diagnosis.diagnosis import fastest, near_singular, plugin_fault
from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.growing_states import growth_error
from pysim.errors import SimulationError
from pysim.loops.redundant_rows import redundant_opening
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim import _engine
    from pysim.mechanism.model import Model, State
    from pysim.worlds.loading import Scene

FINEST = 1e-15  # smallest rtol that rounding permits for every coordinate
AHEAD = 1e-6  # [s] in which a value that is NaN is looked for where the step shrank to nothing


class Place(IntEnum):
    """Places in the scheme's part of a record."""

    BEGUN = 0  # 0: steps begin anew at the state of the record
    SIZE = 1  # of the next step [s], 0 to choose it
    TIME = 2  # at which it starts [s]
    REJECTED = 5  # steps so far
    WORST = 6  # coordinate of v with the largest error of the last step tried
    EVENT = 7  # the last one
    SIGNS = 9  # of events; then q, v and the states of elements at the start of the next step


def adaptive_settings(scene: Scene, events: _engine.Events | None) -> dict[str, Any]:
    """Return the settings of steps of adapted size by the engine's names."""
    rtol, atol = tolerances(scene)
    return {"rtol": rtol, "atol": atol, "events": events}


def tolerances(scene: Scene) -> tuple[Array, Array]:
    """Return rtol and atol of every coordinate of v (nv,)."""
    settings = scene.settings
    return per_coordinate(scene.model, settings.rtol), per_coordinate(scene.model, settings.atol)


def per_coordinate(model: Model, tolerance: Mapping[str, float]) -> Array:
    """Spread a tolerance by joint, "" for the rest, over the coordinates of v (nv,)."""
    own = np.full(model.nv, tolerance[""])
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        if joint.name in tolerance and at >= 0:
            own[at : at + len(joint.damping)] = tolerance[joint.name]
    return own


def stop_of_adaptive_steps(
    scene: Scene, time: float, state: State, numbers: Array | None, row: Array, *, blurred: bool
) -> SimulationError:
    """Return the error that ended steps after the last good state, at a time [s].

    Args:
        scene: the scene.
        time: of the state [s].
        state: the last good one.
        numbers: of the signals then.
        row: the scheme's part of the record.
        blurred: tolerances are finer than rounding; otherwise a step underflowed.
    """
    worst = int(row[Place.WORST])
    if blurred:
        return too_fine(scene, time, worst)
    return too_short(scene, time, state, numbers, float(row[Place.SIZE]), worst)


def too_short(
    scene: Scene, time: float, at: State, numbers: Array | None, step: float, worst: int
) -> SimulationError:
    """Return the error of a step [s] that underflowed; `worst` is the coordinate with the largest error."""
    q, v = at.q, at.v
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
        f"at t = {time:.9g} s the step shrank to {step:.2g} s; the error of"
        f" {scene.model.velocity_names[worst]!r} is the largest,"
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


def too_fine(scene: Scene, time: float, worst: int) -> SimulationError:
    """Return the error of tolerances finer than the rounding of a coordinate, given its number, at a time [s]."""
    name, (rtol, atol) = scene.model.velocity_names[worst], tolerances(scene)
    problem = (
        f"at t = {time:.9g} s {name!r} cannot be resolved as finely as simulation.rtol {rtol[worst]:g}"
        f" and atol {atol[worst]:g} require: numbers have 16 digits, so no step is short enough; raise rtol to"
        f" {FINEST:g} or more"
    )
    return SimulationError(str(scene.spec.path), problem)
