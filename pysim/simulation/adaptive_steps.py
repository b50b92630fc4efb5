"""Runs with adaptive steps: the engine advances through many outputs in a call, interpolating between its steps."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import AdaptiveState, AdaptiveStatus
from pysim.errors import SimulationError
from pysim.loops.redundant_rows import redundant_opening
from pysim.mechanism.model import State
from pysim.simulation.diagnosis import fastest, near_singular, plugin_fault
from pysim.simulation.segment import EventOccurrence, Segment
from pysim.simulation.stall import StallDetector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.simulation.loading import Scene

    Array = NDArray[np.float64]

OUTPUTS_A_CALL = 256
FINEST = 1e-15  # smallest rtol that rounding permits for every coordinate
ATTEMPTS_A_CALL = 4096  # so that an interrupt is answered soon


def run_adaptive(scene: Scene, times: Iterator[float], start: float = 0.0) -> Iterator[Segment]:
    """Yield the segments of a run from `start` [s] through output times [s], ascending, to an event that stops it.

    Raises:
        SimulationError: a step underflowed, a tolerance is finer than rounding, or the run has stalled (stall.py).
    """
    model, settings = scene.model, scene.settings
    q, v = scene.state.q, scene.state.v
    state = AdaptiveState(events=len(scene.spec.events), time=start)
    loop_q, stall = scene.state.loop_q.copy(), StallDetector(scene, start)
    rtol, atol = (per_coordinate(model, t) for t in (settings.rtol, settings.atol))
    wanted, last = np.empty(0), start
    while wanted.size or (wanted := np.fromiter(islice(times, OUTPUTS_A_CALL), float)).size:
        run = _engine.advance_adaptive(
            model,
            q,
            v,
            state,
            wanted,
            rtol,
            atol,
            atol,
            scene.actuation,
            events=scene.events,
            longest=settings.step,
            attempts=ATTEMPTS_A_CALL,
            loop_q=loop_q,
        )
        q, v, state, record = run.q, run.v, run.state, run.records[0]
        status, reached, accepted = record.status, record.reached, record.accepted
        event = (
            EventOccurrence(
                record.event, _when(scene, state), run.event_q, run.event_v, loop_q.copy()
            )
            if status is AdaptiveStatus.event
            else None
        )
        near = np.tile(loop_q, (reached, 1))
        last = float(wanted[reached - 1]) if reached else last
        end = last if event is None else event.t
        yield Segment(
            wanted[:reached], run.q_at[:reached], run.v_at[:reached], near, end, accepted, event
        )
        if event is not None and scene.spec.events[event.index].stop:
            return
        if status is AdaptiveStatus.underflow:
            raise _too_short(scene, q, v, state, model.velocity_names[record.worst])
        if status is AdaptiveStatus.blurred:
            raise _too_fine(scene, state, rtol, atol, record.worst)
        stall.after_call(
            State(q, v, loop_q),
            max(state.time.item(), end),
            state.step.item(),
            accepted + record.rejected,
            record.worst,
        )
        wanted = wanted[reached:]


def _when(scene: Scene, state: AdaptiveState) -> float:
    """Return the time [s] of the event that ended a call, at most the duration despite rounding."""
    return min(state.seen.item(), scene.settings.duration)


def per_coordinate(model: Model, tolerance: Mapping[str, float]) -> Array:
    """Spread a tolerance by joint, "" for the rest, over the coordinates of v (nv,)."""
    own = np.full(model.nv, tolerance[""])
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        if joint.name in tolerance and at >= 0:
            own[at : at + len(joint.damping)] = tolerance[joint.name]
    return own


def _too_short(
    scene: Scene, q: Array, v: Array, state: AdaptiveState, worst: str
) -> SimulationError:
    time, step = state.time.item(), state.step.item()
    fault = plugin_fault(scene.model, q, v, step)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {time:.9g} s {fault}")
    opening = redundant_opening(scene.model, q) if scene.model.rows else None
    near = near_singular(scene.model, q)
    if opening is not None:
        remedy = f"{opening}"
    elif near is not None:
        remedy = f'{near}; change a length so that they pass it farther away, or take simulation.integrator = "rk4"'
    else:
        remedy = (
            "look there for a stop or friction too sharp to follow, a singular configuration or a force without bound,"
            " or raise simulation.rtol and atol"
        )
    problem = (
        f"at t = {time:.9g} s the step shrank to {step:.2g} s; the error of {worst!r} is the largest,"
        f" {fastest(scene.model, v)}: {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)


def _too_fine(
    scene: Scene, state: AdaptiveState, rtol: Array, atol: Array, worst: int
) -> SimulationError:
    name = scene.model.velocity_names[worst]
    problem = (
        f"at t = {state.time.item():.9g} s {name!r} cannot be resolved as finely as simulation.rtol {rtol[worst]:g}"
        f" and atol {atol[worst]:g} require: numbers have 16 digits, so no step is short enough; raise rtol to"
        f" {FINEST:g} or more"
    )
    return SimulationError(str(scene.spec.path), problem)
