"""Runs with convex steps: contacts, limits and dry friction, in calls of the engine like those of other fixed steps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import SimulationError
from pysim.mechanism.model import State
from pysim.simulation.contact_report import IMPULSE
from pysim.simulation.external_forces import ExternalForces, tau_of_rows
from pysim.simulation.fixed_steps import (
    Pace,
    check_count,
    divergence,
    pace_of,
    split_into_calls,
)
from pysim.simulation.segment import Segment
from pysim.simulation.signal_runs import Instants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.contact import CompiledContacts
    from pysim.simulation.implicit_state import SolverState
    from pysim.simulation.loading import Scene
    from pysim.simulation.signal_runs import SignalRun

LEAST_PARTS = 64  # smallest parts of a step that are tried (cpp/stepping/convex.hpp)


def run_convex(
    scene: Scene,
    times: Iterator[float],
    memory: SolverState,
    signals: SignalRun | None = None,
    external: ExternalForces | None = None,
) -> Iterator[Segment]:
    """Yield the segments of a run through output times [s], ascending, from the scene's start at the first.

    Raises:
        SimulationError: the state became NaN or infinite, or contacts of a step found no solution.
    """
    check_count(scene)
    contacts = scene.contacts
    assert contacts is not None
    q, v, loop_q = scene.state.q, scene.state.v, scene.state.loop_q.copy()
    keys = scene.settings.parameters
    passes, pace = int(keys["passes"]), pace_of(scene, signals, external)
    control = {name: keys[name] for name in ("accuracy", "least_step") if name in keys}
    impulse = np.zeros((contacts.engine.points, 3))  # of an interval so far [N·s]
    instants = Instants() if signals is None else signals.instants
    own_calls = signals is not None and (signals.calls_python or signals.measures_any)
    if own_calls:
        pace = Pace(1, steps=pace.steps)  # sampled blocks run between calls
    numbers = None if signals is None else signals.numbers
    calls = split_into_calls(times, scene.settings.step, pace, instants)
    for intervals, ends, is_output, due in calls:
        began = time.perf_counter()
        drive = scene.actuation
        if external is not None:
            drive = external.before_call(drive, float(intervals.time[0]), q, v)
        q_t, v_t, report, made, done, loops_t, signals_t = _engine.advance_contacts(
            contacts.engine,
            q[np.newaxis],
            v[np.newaxis],
            *intervals,
            drive,
            loop_q=loop_q,
            memory=memory.numbers,
            passes=passes,
            **control,
            signals=numbers,
            ends=ends,
            due=None if own_calls or signals is None else due,
        )
        q_t, v_t, report, loops_t = q_t[:, 0], v_t[:, 0], report[:, 0], loops_t[:, 0]
        pace.keep(time.perf_counter() - began)
        if made:
            report[0, :, IMPULSE] += impulse
            last_is_output = bool(is_output[made - 1])
            impulse = (
                np.zeros_like(impulse) if last_is_output else report[made - 1, :, IMPULSE].copy()
            )
            rows = np.flatnonzero(is_output[:made])
            steps, end = int(intervals.steps[:made].sum()), float(ends[made - 1])
            own = None
            if signals is not None:
                if own_calls:
                    last_q, last_v, touching = q_t[made - 1], v_t[made - 1], report[made - 1]
                    signals.update(end, int(due[made - 1]), last_q, last_v, loop_q, report=touching)
                    signals_t[made - 1, 0] = signals.numbers
                own = signals_t[rows, 0]
            yield Segment(
                ends[rows],
                q_t[rows],
                v_t[rows],
                loops_t[rows],
                end,
                steps,
                None,
                report[rows],
                own,
                tau_of_rows(external, len(rows)),
            )
        if made < len(ends):
            state, step = State(q_t[made], v_t[made], loops_t[made]), float(intervals.step[made])
            last = float(intervals.time[made]) + int(done[made, 0]) * step
            raise stop_error(scene, contacts, state, memory, last, step)
        q, v = q_t[-1], v_t[-1]


def stop_error(
    scene: Scene,
    contacts: CompiledContacts,
    state: State,
    memory: SolverState,
    last: float,
    step: float,
) -> SimulationError:
    """Return the error that ended a run after the last good state, at `last` [s]."""
    if not memory.lost:
        return divergence(scene, state, last, step)
    where = "a stop or dry friction"
    if contacts.engine.points:
        pair = contacts.pair_of_point[memory.worst]
        where = f"the contact of {contacts.pairs[pair].name}"
    problem = (
        f"at t = {last:.9g} s {where} has no solution that Newton's method finds, even in steps of"
        f" {step / LEAST_PARTS:.2g} s; reduce simulation.step, now {scene.settings.step:g} [s], or its stiffness"
    )
    return SimulationError(str(scene.spec.path), problem)
