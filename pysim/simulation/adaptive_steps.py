"""Runs with adaptive steps: the engine advances through many outputs in a call, interpolating between its steps."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import AdaptiveState, AdaptiveStatus
from pysim.errors import SimulationError
from pysim.loops.redundant_rows import redundant_opening
from pysim.mechanism.model import State
from pysim.simulation.adaptive_pace import PaceMonitor, warn_of_pace
from pysim.simulation.diagnosis import fastest, near_singular, plugin_fault
from pysim.simulation.element_faults import element_fault
from pysim.simulation.external_forces import ExternalForces, tau_of_rows
from pysim.simulation.growing_states import growth_error
from pysim.simulation.impacts import ImpactRun
from pysim.simulation.segment import EventOccurrence, Segment
from pysim.simulation.signal_runs import Instants, with_instants
from pysim.simulation.stall import StallDetector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.simulation.loading import Scene
    from pysim.simulation.signal_runs import SignalRun

    Array = NDArray[np.float64]

OUTPUTS_A_CALL = 256
FINEST = 1e-15  # smallest rtol that rounding permits for every coordinate
AHEAD = 1e-6  # [s] in which a value that is NaN is looked for where the step shrank to nothing
ATTEMPTS_A_CALL = 4096  # so that an interrupt is answered soon


def run_adaptive(
    scene: Scene,
    times: Iterator[float],
    start: float = 0.0,
    signals: SignalRun | None = None,
    external: ExternalForces | None = None,
    warn: Callable[[str], object] = warn_of_pace,
) -> Iterator[Segment]:
    """Yield the segments of a run from `start` [s] through output times [s], ascending, to an event that stops it.

    Steps end at the instants of sampled blocks. `warn` gets the text of a warning of very many steps.

    Raises:
        SimulationError: a step underflowed, a tolerance is finer than rounding, or the run has stalled (stall.py).
    """
    model, settings = scene.model, scene.settings
    q, v = scene.state.q, scene.state.v
    impacts = ImpactRun(scene) if scene.settings.contact_law == "impact" else None
    events = scene.events if impacts is None else impacts.events
    count = 0 if events is None else len(events)
    state = AdaptiveState(events=count, time=start)
    if impacts is not None:
        v = impacts.begin(start, q, v)
        state = AdaptiveState(events=count, time=start, step=impacts.first_step(q, v))
    loop_q, stall = scene.state.loop_q.copy(), StallDetector(scene, start)
    pace = PaceMonitor(scene, start, warn)
    rtol, atol = (per_coordinate(model, t) for t in (settings.rtol, settings.atol))
    wanted, last = np.empty(0), start
    groups = _up_to_instants(times, start, signals, OUTPUTS_A_CALL if external is None else 1)
    numbers = None if signals is None else signals.numbers
    limit, is_output, due = np.inf, True, 0
    while True:
        if not wanted.size:
            wanted, limit, is_output, due = next(groups, (np.empty(0), np.inf, True, 0))
        if not wanted.size:
            pace.at_end()
            return
        drive = scene.actuation
        if external is not None:
            drive = external.before_call(drive, state.time.item(), q, v)
        before = loop_q.copy(), None if numbers is None else numbers.copy()
        forces = scene.smooth_contacts if impacts is None else impacts.forces
        run = _engine.advance_adaptive(
            model,
            q,
            v,
            state,
            wanted,
            rtol,
            atol,
            atol,
            drive,
            events=events,
            longest=settings.step,
            limit=limit,
            signals=numbers,
            contacts=forces,
            attempts=ATTEMPTS_A_CALL,
            loop_q=loop_q,
        )
        if impacts is not None and impacts.passed(run.q, run.v):  # again, with the pair at rest
            state = AdaptiveState(events=count, time=state.time.item())
            loop_q[:] = before[0]
            if numbers is not None:
                numbers[:] = before[1]
            continue
        q, v, state, record = run.q, run.v, run.state, run.records[0]
        status, reached, accepted = record.status, record.reached, record.accepted
        event = (
            EventOccurrence(
                record.event,
                _when(scene, state),
                run.event_q,
                run.event_v,
                loop_q.copy(),
                _with_states(numbers, run.event_signals),
            )
            if status is AdaptiveStatus.event
            else None
        )
        rows = reached - (reached == len(wanted) and not is_output)
        own = _rows_with_states(numbers, run.signals_at)
        if signals is not None and reached == len(wanted) and due:
            q, v = run.q_at[-1].copy(), run.v_at[-1].copy()
            signals.numbers[: run.signals_at.shape[1]] = run.signals_at[-1]
            signals.update(limit, due, q, v, loop_q)
            if own is not None:
                own[-1] = signals.numbers
            state = AdaptiveState(events=count, time=limit)
        near = np.tile(loop_q, (reached, 1))
        last = float(wanted[reached - 1]) if reached else last
        end = last if event is None else event.t
        report, at, struck = None, event, False
        following: list[EventOccurrence] = []
        if impacts is not None:
            report = impacts.report(run.q_at[:rows], run.v_at[:rows])
            struck = at is not None and impacts.is_impact(at.index)
        if impacts is not None and at is not None and struck:
            following, restarts = impacts.at_event(at)
            event = following.pop(0) if following else None
        else:
            restarts = at is not None and signals is not None and signals.release(at.index)
        yield Segment(
            wanted[:rows],
            run.q_at[:rows],
            run.v_at[:rows],
            near[:rows],
            end,
            accepted,
            event,
            report,
            None if own is None else own[:rows],
            external=tau_of_rows(external, rows),
            following=tuple(following),
        )
        tried = accepted + record.rejected
        reached_time, next_step = max(state.time.item(), end), state.step.item()
        if not struck:
            pace.after_call(State(q, v, loop_q), reached_time, next_step, tried, record.worst)
        if event is not None and stops(scene, event.index):
            pace.at_end()
            return
        if at is not None and restarts:
            q, v = at.q.copy(), at.v.copy()
            if impacts is not None and struck:
                v = impacts.velocity
            if numbers is not None and at.signals is not None:
                states = len(run.event_signals)
                numbers[:states] = at.signals[:states]
            step = 0.0 if impacts is None else impacts.first_step(q, v)
            state = AdaptiveState(events=count, time=at.t, step=step)
        if status is AdaptiveStatus.underflow:
            worst = model.velocity_names[record.worst]
            raise _too_short(scene, State(q, v, loop_q), numbers, state, worst)
        if status is AdaptiveStatus.blurred:
            raise _too_fine(scene, state, rtol, atol, record.worst)
        if not struck:
            stall.after_call(State(q, v, loop_q), reached_time, next_step, tried, record.worst)
        wanted = wanted[reached:]


def stops(scene: Scene, event: int) -> bool:
    """Return whether an event ends a run, given its number; those of impacts follow the scene's and do not."""
    return event < len(scene.spec.events) and scene.spec.events[event].stop


def _up_to_instants(
    times: Iterator[float], start: float, signals: SignalRun | None, most: int
) -> Iterator[tuple[Array, float, bool, int]]:
    """Yield times of a call [s], the time at which its last step ends, whether that is an output, and what is due."""
    instants = Instants() if signals is None else signals.instants
    if not instants.periods:
        while (wanted := np.fromiter(islice(times, most), float)).size:
            yield wanted, np.inf, True, 0
        return
    waiting: list[float] = []
    given = with_instants(chain([start], times), instants)
    next(given)
    for end, is_output, due in given:
        waiting.append(end)
        if due:
            yield np.array(waiting), end, is_output, due
            waiting = []
    if waiting:
        yield np.array(waiting), np.inf, True, 0


def _rows_with_states(numbers: Array | None, states: Array) -> Array | None:
    """Return numbers of the signals (n, signal_numbers) with the states of elements (n, states) at n times."""
    if numbers is None:
        return None
    rows = np.tile(numbers, (len(states), 1))
    rows[:, : states.shape[1]] = states
    return rows


def _with_states(numbers: Array | None, states: Array) -> Array | None:
    """Return numbers of the signals with other states of elements."""
    if numbers is None:
        return None
    own = numbers.copy()
    own[: len(states)] = states
    return own


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
    scene: Scene, at: State, numbers: Array | None, state: AdaptiveState, worst: str
) -> SimulationError:
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
