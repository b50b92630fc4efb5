"""Runs with fixed steps, in calls of the engine short enough for progress reports and interrupts.

n = ⌈(t_k+1 − t_k) / step⌉ equal steps lead from one output to the next, none longer than `simulation.step`.
The results do not depend on the number of steps in a call.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim.algorithms import aba
from pysim.errors import SimulationError
from pysim.integrators import find_integrator, make
from pysim.loops import constraints, mobility
from pysim.loops.redundant_rows import redundant_opening
from pysim.mechanism.actuation import actuator_forces
from pysim.mechanism.model import State
from pysim.simulation.diagnosis import has_diverged, plugin_fault
from pysim.simulation.element_faults import element_fault
from pysim.simulation.external_forces import ExternalForces, tau_of_rows
from pysim.simulation.implicit_state import unsolved
from pysim.simulation.python_stepping import (
    ModelSystem,
    advance,
    builtin_in_python,
    scheme_fault,
)
from pysim.simulation.segment import Segment
from pysim.simulation.signal_runs import Instants, with_instants
from pysim.simulation.step_checks import STIFF_SCHEME, is_stiff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pysim.simulation.implicit_state import SolverState
    from pysim.simulation.loading import Scene
    from pysim.simulation.signal_runs import SignalRun

    Array = NDArray[np.float64]
    # q, v, loop_q and signals at the ends of the intervals; completed intervals; good steps of the last
    Advanced = tuple[Array, Array, Array, Array, int, int]
    Advance = Callable[[Array, Array, "IntervalPlan", NDArray[np.uint64]], Advanced]

MOST_STEPS = 2**53  # a double counts no further
STEPS_A_CALL = 4096  # so that an interrupt is answered soon and progress shows in long intervals
CALL_TIME = 0.05  # [s] intended wall time of a call


class IntervalPlan(NamedTuple):
    """Interval k consists of `steps` equal steps of size `step` [s] from `time` [s], each (n,)."""

    time: Array
    step: Array
    steps: NDArray[np.intp]


class Call(NamedTuple):
    """Intervals of one call of the engine, their ends (n,) [s], and which are outputs."""

    intervals: IntervalPlan
    ends: Array
    is_output: NDArray[np.bool_]
    due: NDArray[np.uint64]  # bit k: the sampled block k runs at the end


def run_fixed(
    scene: Scene,
    times: Iterator[float],
    memory: SolverState,
    signals: SignalRun | None = None,
    external: ExternalForces | None = None,
) -> Iterator[Segment]:
    """Yield the segments of a run through output times [s], ascending, from the scene's start at the first.

    Raises:
        SimulationError: the state became NaN or infinite or left its loops, or a step found no solution.
    """
    check_count(scene)
    q, v, loop_q = scene.state.q, scene.state.v, scene.state.loop_q.copy()
    advance_intervals = _advance_function(scene, loop_q, memory, signals, external)
    pace = pace_of(scene, signals, external)
    instants = Instants() if signals is None else signals.instants
    calls = split_into_calls(times, scene.settings.step, pace, instants)
    for intervals, ends, is_output, due in calls:
        began = time.perf_counter()
        q_t, v_t, loop_q_t, signals_t, made, done = advance_intervals(q, v, intervals, due)
        pace.keep(time.perf_counter() - began)
        if made:
            rows = np.flatnonzero(is_output[:made])
            steps, end = int(intervals.steps[:made].sum()), float(ends[made - 1])
            own = None if signals is None else signals_t[rows]
            tau = tau_of_rows(external, len(rows))
            yield Segment(
                ends[rows],
                q_t[rows],
                v_t[rows],
                loop_q_t[rows],
                end,
                steps,
                signals=own,
                external=tau,
            )
        if made < len(ends):
            state, step = State(q_t[made], v_t[made], loop_q_t[made]), float(intervals.step[made])
            last = float(intervals.time[made]) + done * step
            own = None if signals is None else signals_t[-1]
            raise stop_of_fixed_steps(scene, state, memory, last, step, own)
        q, v = q_t[-1], v_t[-1]


def check_count(scene: Scene) -> None:
    """Reject a number of steps that no double counts."""
    settings = scene.settings
    if settings.duration / settings.step > MOST_STEPS:
        problem = (
            f"step {settings.step:g} [s] makes more than 2**53 steps of {settings.duration:g} [s]"
        )
        raise SimulationError(str(scene.spec.path), f"{problem}; take a longer step")


def steps_between(start: float, end: float, step: float) -> int:
    """Return the least number of equal steps from `start` to `end` [s], none longer than `step` [s]."""
    return max(1, math.ceil((end - start) / step - 1e-9))


@dataclass
class Pace:
    """Number of outputs in a call, adapted to the intended wall time."""

    most: int
    outputs: int = 1
    steps: int = STEPS_A_CALL

    def keep(self, wall: float) -> None:
        fitting = math.floor(self.outputs * CALL_TIME / wall)
        self.outputs = max(1, min(self.most, 2 * self.outputs, fitting))


def pace_of(
    scene: Scene, signals: SignalRun | None, external: ExternalForces | None = None
) -> Pace:
    """Return one output for each call where Python runs in or between them, so that its errors lose no output."""
    if external is not None:
        return Pace(1, steps=external.steps)
    if _runs_in_python(scene) or (signals is not None and signals.calls_python):
        return Pace(1)
    settings = scene.settings
    return Pace(max(1, STEPS_A_CALL // steps_between(0.0, settings.every, settings.step)))


def split_into_calls(
    times: Iterator[float], longest: float, pace: Pace, instants: Instants
) -> Iterator[Call]:
    """Yield calls of intervals that end at outputs and at the instants of sampled blocks.

    An interval too long for a call is split.
    """
    given = with_instants(times, instants)
    start = next(given)[0]
    while part := list(islice(given, pace.outputs)):
        ends = np.array([end for end, _, _ in part])
        starts = np.concatenate([[start], ends[:-1]])
        steps = np.maximum(1, np.ceil((ends - starts) / longest - 1e-9)).astype(np.intp)
        call = Call(
            IntervalPlan(starts, (ends - starts) / steps, steps),
            ends,
            np.array([is_output for _, is_output, _ in part]),
            np.array([due for _, _, due in part], np.uint64),
        )
        if len(ends) == 1 and steps[0] > pace.steps:
            yield from _parts(call, pace.steps)
        else:
            yield call
        start = ends[-1]


def _parts(call: Call, most: int) -> Iterator[Call]:
    (start, step, steps) = (x[0] for x in call.intervals)
    for made in range(0, steps, most):
        count = min(steps - made, most)
        intervals = IntervalPlan(
            np.array([start + made * step]), call.intervals.step, np.array([count])
        )
        if made + count == steps:
            yield call._replace(intervals=intervals)
        else:
            end = start + (made + count) * call.intervals.step
            yield Call(intervals, end, np.array([False]), np.array([0], np.uint64))


def _runs_in_python(scene: Scene) -> bool:
    plugin = find_integrator(scene.settings.integrator).plugin
    return plugin is not None or bool(scene.model.callback_numbers)


def _advance_function(
    scene: Scene,
    loop_q: Array,
    memory: SolverState,
    signals: SignalRun | None,
    external: ExternalForces | None,
) -> Advance:
    """Return the function that advances through intervals: the engine's, or Python's for plugins and callback joints.

    The coordinates of joints that close loops, and the scheme's state, are updated in place.
    """
    name, model, drive = scene.settings.integrator, scene.model, scene.actuation
    scheme, own_keys = find_integrator(name).plugin, scene.settings.parameters
    if not _runs_in_python(scene):
        return _engine_function(scene, loop_q, memory, signals, external)
    own = (
        builtin_in_python(name, str(scene.spec.path)) if scheme is None else make(scheme, own_keys)
    )
    _check_states(scene)
    system = ModelSystem(model, drive, loop_q, signals, scene.contacts)

    def advance_intervals(
        q: Array, v: Array, intervals: IntervalPlan, due: NDArray[np.uint64]
    ) -> Advanced:
        start, step, steps = (
            intervals.time.item(),
            intervals.step.item(),
            int(intervals.steps.item()),
        )
        driven = system
        if external is not None:
            driven = replace(system, actuation=external.before_call(drive, start, q, v))
        q, v, done = advance(own, driven, q, v, start, step, steps)
        made = int(done == steps)
        rows = np.zeros((1, 0))
        if signals is not None:
            if made:
                signals.update(start + steps * step, int(due.item()), q, v, loop_q)
            rows = signals.numbers[np.newaxis].copy()
        return q[np.newaxis], v[np.newaxis], loop_q[np.newaxis].copy(), rows, made, done

    return advance_intervals


def _engine_function(
    scene: Scene,
    loop_q: Array,
    memory: SolverState,
    signals: SignalRun | None,
    external: ExternalForces | None,
) -> Advance:
    """Return the engine's function, which updates the state of the signals in place as well."""
    name, model, own_drive = scene.settings.integrator, scene.model, scene.actuation
    keys = {**scene.settings.parameters, "contacts": scene.smooth_contacts}

    def advance_intervals(
        q: Array, v: Array, intervals: IntervalPlan, due: NDArray[np.uint64]
    ) -> Advanced:
        drive = own_drive
        if external is not None:
            drive = external.before_call(own_drive, float(intervals.time[0]), q, v)
        if signals is None:
            return _engine.advance_intervals(
                model, q, v, *intervals, name, drive, loop_q=loop_q, memory=memory.numbers, **keys
            )
        calls_python = signals.calls_python
        advanced = _engine.advance_intervals(
            model,
            q,
            v,
            *intervals,
            name,
            drive,
            loop_q=loop_q,
            memory=memory.numbers,
            signals=signals.numbers,
            due=np.zeros_like(due) if calls_python else due,
            jumped=signals.jumped,
            **keys,
        )
        signals.jumped = bool(due[-1])
        if calls_python and advanced[4] and due[-1]:  # one interval a call, see pace_of
            q_t, v_t, loop_q_t, _, made, done = advanced
            end = float(intervals.time[-1] + intervals.steps[-1] * intervals.step[-1])
            signals.update(end, int(due[-1]), q_t[-1], v_t[-1], loop_q)
            return q_t, v_t, loop_q_t, signals.numbers[np.newaxis].copy(), made, done
        return advanced

    return advance_intervals


def _check_states(scene: Scene) -> None:
    """Reject states of elements under a scheme that runs in Python, which does not carry them."""
    if scene.signals is None or not scene.signals.state_names:
        return
    name = scene.signals.state_names[0]
    problem = f"integrator {scene.settings.integrator!r} runs in Python, without states of elements such as {name!r}"
    raise SimulationError(
        str(scene.spec.path), f"{problem}; choose one of the engine's, such as rk4"
    )


def stop_of_fixed_steps(
    scene: Scene,
    state: State,
    memory: SolverState,
    last: float,
    step: float,
    signals: Array | None,
) -> SimulationError:
    """Return the error that ended a run after the last valid state, at `last` [s]."""
    fault = plugin_fault(scene.model, state.q, state.v, step)
    if fault is None:
        fault = element_fault(scene, state, signals, last, step)
        if fault is not None:
            return SimulationError(str(scene.spec.path), fault)
    if fault is not None:
        return SimulationError(str(scene.spec.path), f"at t = {last:g} s {fault}")
    if memory.lost:
        return unsolved(scene, state, memory.worst, last, step)
    turns = _turns_too_far(scene, state, last, step)
    if turns is not None:
        return SimulationError(str(scene.spec.path), turns)
    own_fault = _plugin_scheme_fault(scene, state, last, step)
    if scene.model.rows and own_fault is None:
        return _opened(scene, state, last, step)
    return divergence(scene, state, last, step, own_fault)


def _turns_too_far(scene: Scene, state: State, last: float, step: float) -> str | None:
    """Describe a coordinate that turns by π or more in a step of a variational scheme, which has no solution then."""
    name, model = scene.settings.integrator, scene.model
    if name not in ("variational", "variational4"):
        return None
    turning = np.array([unit == "rad/s" for unit in model.velocity_units])
    angle = step * np.where(turning, np.abs(state.v), 0.0)
    fastest = int(angle.argmax())
    if angle[fastest] < np.pi:
        return None
    return (
        f"at t = {last:g} s {model.velocity_names[fastest]!r} turns by {angle[fastest]:.3g} rad in a step of"
        f" {step:g} s, and {name!r} needs less than π; reduce simulation.step to {2 * step / angle[fastest]:.1g} [s]"
    )


def _plugin_scheme_fault(scene: Scene, state: State, last: float, step: float) -> str | None:
    """Return the place where a plugin's scheme computes NaN or infinite values; None if it does not, or is built in."""
    plugin = find_integrator(scene.settings.integrator).plugin
    if plugin is None:
        return None
    system = ModelSystem(scene.model, scene.actuation, state.loop_q.copy(), None, scene.contacts)
    return scheme_fault(make(plugin, scene.settings.parameters), system, state, last, step)


def divergence(
    scene: Scene, state: State, last: float, step: float, own_fault: str | None = None
) -> SimulationError:
    """Return the error that names the joint with NaN or infinite values, the last good state, and the plugin's line."""
    q, v = state.q, state.v
    tau = actuator_forces(scene.actuation, last)
    with np.errstate(all="ignore"):
        a = aba(scene.model, q, v, tau, passive=True)
        growth = np.nan_to_num(np.abs(v) + step * np.abs(a), nan=np.inf)
    offsets = np.array(scene.model.v_offsets)  # -1: follows another joint
    moving = np.flatnonzero((offsets >= 0) & (offsets <= np.argmax(growth)))
    joint = scene.model.joint_names[int(moving[-1])]
    implicit = f'take integrator = "{STIFF_SCHEME}", or ' if is_stiff(scene) else ""
    if scene.smooth_contacts is not None:
        implicit = 'take integrator = "convex", whose contacts need no short steps, or '
    problem = (
        f"joint {joint!r} reaches NaN or infinite values at t = {last + step:g} s; the last valid state, at"
        f" {last:g} s, has max |q| = {np.abs(q).max():.3g} and max |v| = {np.abs(v).max():.3g};"
        f" {implicit}reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    if own_fault is not None and not has_diverged(q, v):
        problem += f", or fix {own_fault}"
    return SimulationError(str(scene.spec.path), problem)


def _opened(scene: Scene, state: State, last: float, step: float) -> SimulationError:
    """Return the error that names the loop that could not be kept closed, its time and the last good state."""
    model, (q, v) = scene.model, (state.q, state.v)
    with np.errstate(all="ignore"):
        ahead = model.integrate(q, np.nan_to_num(step * v))
        residual = np.abs(constraints(model, ahead, loop_q=state.loop_q).residual)
    name = model.row_names[int(np.nan_to_num(residual, nan=np.inf).argmax())]
    remedy = (
        redundant_opening(model, q, state.loop_q)
        or f"reduce simulation.step, now {scene.settings.step:g} [s]"
    )
    problem = (
        f"{name!r} cannot be kept closed at t = {last + step:g} s; the last valid state, at {last:g} s, has"
        f" max |v| = {np.abs(v).max():.3g}, and {mobility(model, q, state.loop_q)};"
        f" {remedy}"
    )
    return SimulationError(str(scene.spec.path), problem)
