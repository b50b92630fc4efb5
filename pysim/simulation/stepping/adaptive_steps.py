"""Runs with adaptive steps: the engine advances through many outputs in a call, interpolating between its steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim._engine import AdaptiveState, AdaptiveStatus
from pysim.errors import SimulationError
from pysim.mechanism.model import State
from pysim.simulation.monitors.stall import StallDetector
from pysim.simulation.stepping.adaptive_faults import too_fine, too_large, too_short
from pysim.simulation.stepping.adaptive_pace import PaceMonitor, warn_of_pace
from pysim.simulation.stepping.external_forces import ExternalForces, tau_of_rows
from pysim.simulation.stepping.impacts import ImpactRun
from pysim.simulation.stepping.segment import EventOccurrence, Segment
from pysim.simulation.stepping.signal_runs import Instants, with_instants
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pysim.mechanism.model import Model
    from pysim.simulation.loading import Scene
    from pysim.simulation.stepping.signal_runs import SignalRun

OUTPUTS_A_CALL = 256
NO_INSTANT = np.inf, True, 0  # limit of steps [s], whether the last time is an output, what is due
ATTEMPTS_A_CALL = 4096  # so that an interrupt is answered soon


class AdaptiveRun:
    """Run of a scene with adaptive steps, which may go on from any of its segments.

    A segment ends at outputs, at an instant of sampled blocks, at an event, or where a call has used up its attempts.
    Then the rest of the call's outputs is left for the next one, so that a run that goes on makes the same calls.

    Args:
        scene: whose scheme is dopri5.
        signals: state of the signals, updated with every segment; None without any.
        external: forces from outside; None without any.
        warn: gets the text of a warning of very many steps.
    """

    def __init__(
        self,
        scene: Scene,
        signals: SignalRun | None = None,
        external: ExternalForces | None = None,
        warn: Callable[[str], object] = warn_of_pace,
    ) -> None:
        self._scene, self._signals, self._external, self._warn = scene, signals, external, warn
        settings = scene.settings
        self._rtol, self._atol = (
            per_coordinate(scene.model, t) for t in (settings.rtol, settings.atol)
        )
        self._impacts = ImpactRun(scene) if settings.contact_law == "impact" else None
        self._events = scene.events if self._impacts is None else self._impacts.events
        self._numbers = None if signals is None else signals.numbers
        self._q, self._v, self._loop_q = scene.state.q, scene.state.v, scene.state.loop_q.copy()
        self._wanted = np.empty(0)  # outputs left of a call [s], and the instant after them
        self._limit, self._is_output, self._due = NO_INSTANT
        self._counts: list[int] = []  # of the next instants of sampled blocks
        self._over = False  # whether the last segment ended the run
        # Called with the time [s], the state and the numbers of the signals at the end of every step if set.
        self.watch: Callable[[float, State, Array | None], None] | None = None

    def from_start(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s], ascending, from the scene's start at the first of them.

        Steps end at the instants of sampled blocks, and the run at an event that stops it.

        Raises:
            SimulationError: a step underflowed, a tolerance is finer than rounding, or the run has stalled (stall.py).
        """
        start = next(times)
        step = 0.0
        if self._impacts is not None:
            self._v = self._impacts.begin(start, self._q, self._v)
            step = self._impacts.first_step(self._q, self._v)
        self._state, self._last = self._new_state(start, step), start
        yield from self._through(times, start)

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment; None if that ended the run."""
        if self._over:
            return None
        stall = self._stall
        saved: dict[str, Any] = {
            "q": self._q,
            "v": self._v,
            "loop_q": self._loop_q,
            "steps": self._state.numbers[0],
            "wanted": self._wanted,
            "limit": np.array(self._limit),
            "is_output": np.array(self._is_output),
            "due": np.array(self._due),
            "counts": np.array(self._counts, np.int64),
            "last": np.array(self._last),
            "stall": np.array([stall.time, stall.steps, stall.calls, stall.stiff]),
        }
        if self._numbers is not None:
            saved["signals"] = self._numbers
        if self._impacts is not None:
            saved |= self._impacts.saved()
        return saved

    def resumed(self, saved: Mapping[str, Any], times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s]; `saved` returned after the first one, before the next."""
        self._q, self._v = saved["q"], saved["v"]
        self._loop_q[:] = saved["loop_q"]
        self._state = self._new_state(0.0)
        self._state.numbers[0] = saved["steps"]
        self._wanted = saved["wanted"]
        self._limit, self._last = float(saved["limit"]), float(saved["last"])
        self._is_output, self._due = bool(saved["is_output"]), int(saved["due"])
        self._counts = saved["counts"].tolist()
        if self._numbers is not None:
            self._numbers[:] = saved["signals"]
        if self._impacts is not None:
            self._impacts.restore(saved)
        taken = len(self._wanted) - (len(self._wanted) > 0 and not self._is_output)
        start = self._state.time.item()
        reached, *counts = saved["stall"].tolist()
        stall = StallDetector(self._scene, reached, *map(int, counts))
        return self._through(islice(times, 1 + taken, None), start, stall)

    def _new_state(self, time: float, step: float = 0.0) -> AdaptiveState:
        """Return a state at a time [s] whose first step [s] is to be chosen if it is 0."""
        return AdaptiveState(
            events=0 if self._events is None else len(self._events), time=time, step=step
        )

    def _through(
        self, times: Iterator[float], start: float, stall: StallDetector | None = None
    ) -> Iterator[Segment]:
        """Yield the segments through further output times from `start` [s]."""
        self._stall = StallDetector(self._scene, start) if stall is None else stall
        self._pace = PaceMonitor(self._scene, start, self._warn)
        most = OUTPUTS_A_CALL if self._external is None else 1
        groups = _up_to_instants(times, start, self._signals, most, self._counts)
        while True:
            if not self._wanted.size:
                given = next(groups, (np.empty(0), *NO_INSTANT))
                self._wanted, self._limit, self._is_output, self._due = given
            if not self._wanted.size:
                self._pace.at_end()
                return
            before = self._loop_q.copy(), None if self._numbers is None else self._numbers.copy()
            run = self._call()
            if self._impacts is not None and self._impacts.passed(run.q, run.v):
                # again, with the pair at rest
                self._state = self._new_state(self._state.time.item())
                self._loop_q[:] = before[0]
                if self._numbers is not None:
                    self._numbers[:] = before[1]
                continue
            seen = -np.inf if self.watch is None else self._show_steps(run.records[0], *before)
            segment, error = self._after_call(run)
            if self.watch is not None and error is None and self._state.time.item() > seen:
                self._show()  # where steps begin anew
            event = segment.event
            self._over = error is not None or (
                event is not None and stops(self._scene, event.index)
            )
            yield segment
            if error is not None:
                raise error
            if self._over:
                self._pace.at_end()
                return

    def _show_steps(
        self, made: _engine.AdaptiveRecord, loop_q: Array, numbers: Array | None
    ) -> float:
        """Make the steps of a call again, one by one, from copies, and show each; return the time reached [s].

        Args:
            made: record of the call.
            loop_q: coordinates of the joints that close loops, before the call.
            numbers: of the signals, before the call.
        """
        held = self._q, self._v, self._state, self._loop_q, self._numbers, self._wanted
        self._loop_q, self._numbers = loop_q, numbers
        reached = self._state.time.item()
        try:
            for _ in range(made.accepted + made.rejected):
                run = self._call(attempts=1)
                self._q, self._v, self._state = run.q, run.v, run.state
                self._wanted = self._wanted[run.records[0].reached :]
                if self._state.time.item() > reached:
                    reached = self._state.time.item()
                    self._show()
        finally:
            self._q, self._v, self._state, self._loop_q, self._numbers, self._wanted = held
        return reached

    def _show(self) -> None:
        """Call `watch` with the state."""
        assert self.watch is not None
        numbers = None if self._numbers is None else self._numbers.copy()
        state = State(self._q.copy(), self._v.copy(), self._loop_q.copy())
        self.watch(self._state.time.item(), state, numbers)

    def _call(self, attempts: int | None = None) -> _engine.AdaptiveRun:
        """Return the result of a call of the engine from the state through the wanted outputs."""
        scene, drive = self._scene, self._scene.actuation
        if self._external is not None:
            drive = self._external.before_call(drive, self._state.time.item(), self._q, self._v)
        return _engine.advance_adaptive(
            scene.model,
            self._q,
            self._v,
            self._state,
            self._wanted,
            self._rtol,
            self._atol,
            self._atol,
            drive,
            events=self._events,
            longest=scene.settings.step,
            limit=self._limit,
            signals=self._numbers,
            contacts=scene.smooth_contacts if self._impacts is None else self._impacts.forces,
            attempts=ATTEMPTS_A_CALL if attempts is None else attempts,
            loop_q=self._loop_q,
        )

    def _after_call(self, run: _engine.AdaptiveRun) -> tuple[Segment, SimulationError | None]:
        """Return the segment of a call, and the error that ends the run after it; go over to the next call."""
        scene, signals, impacts, numbers = self._scene, self._signals, self._impacts, self._numbers
        wanted, loop_q = self._wanted, self._loop_q
        self._q, self._v, self._state = run.q, run.v, run.state
        record = run.records[0]
        status, reached, accepted = record.status, record.reached, record.accepted
        at = None
        if status is AdaptiveStatus.event:
            own_signals = _with_states(numbers, run.event_signals)
            place = run.event_q, run.event_v, loop_q.copy(), own_signals
            at = EventOccurrence(record.event, _when(scene, self._state), *place)
        rows = reached - (reached == len(wanted) and not self._is_output)
        own = _rows_with_states(numbers, run.signals_at)
        if signals is not None and reached == len(wanted) and self._due:
            self._run_blocks(run, signals)
            if own is not None:
                own[-1] = signals.numbers
        near = np.tile(loop_q, (reached, 1))
        whole = _whole_rows(run.q_at[:rows], run.v_at[:rows], None if own is None else own[:rows])
        beyond = (
            too_large(scene, float(wanted[whole]), run.v_at[max(whole - 1, 0)])
            if whole < rows
            else None
        )
        reached, rows = (whole, whole) if whole < rows else (reached, rows)
        self._last = float(wanted[reached - 1]) if reached else self._last
        end = self._last if at is None else at.t
        report, event, struck = None, at, False
        following: list[EventOccurrence] = []
        if impacts is not None:
            report = impacts.report(run.q_at[:rows], run.v_at[:rows])
            struck = at is not None and impacts.is_impact(at.index)
        if impacts is not None and at is not None and struck:
            following, restarts = impacts.at_event(at)
            event = following.pop(0) if following else None
        else:
            restarts = at is not None and signals is not None and signals.release(at.index)
        segment = Segment(
            wanted[:rows],
            run.q_at[:rows],
            run.v_at[:rows],
            near[:rows],
            end,
            accepted,
            event,
            report,
            None if own is None else own[:rows],
            external=tau_of_rows(self._external, rows),
            following=tuple(following),
        )
        if beyond is not None:
            return replace(segment, event=None, following=()), beyond
        tried = accepted + record.rejected
        reached_time, next_step = max(self._state.time.item(), end), self._state.step.item()
        call = reached_time, next_step, tried, record.worst
        if not struck:
            self._pace.after_call(State(self._q, self._v, loop_q), *call)
        self._wanted = wanted[reached:]
        if event is not None and stops(scene, event.index):
            return segment, None
        if at is not None and restarts:
            self._restart(at, run, struck=struck)
        if status is AdaptiveStatus.underflow:
            state = State(self._q, self._v, loop_q)
            worst = scene.model.velocity_names[record.worst]
            return segment, too_short(scene, state, numbers, self._state, worst)
        if status is AdaptiveStatus.blurred:
            return segment, too_fine(scene, self._state, self._rtol, self._atol, record.worst)
        if not struck:
            try:
                self._stall.after_call(State(self._q, self._v, loop_q), *call)
            except SimulationError as error:
                return segment, error
        return segment, None

    def _run_blocks(self, run: _engine.AdaptiveRun, signals: SignalRun) -> None:
        """Run the sampled blocks that are due at the end of a call, from where steps begin anew."""
        self._q, self._v = run.q_at[-1].copy(), run.v_at[-1].copy()
        signals.numbers[: run.signals_at.shape[1]] = run.signals_at[-1]
        signals.update(self._limit, self._due, self._q, self._v, self._loop_q)
        self._state = self._new_state(self._limit)

    def _restart(self, at: EventOccurrence, run: _engine.AdaptiveRun, *, struck: bool) -> None:
        """Let steps begin anew at an event that changed forces, or velocities if surfaces `struck` each other."""
        self._q, self._v = at.q.copy(), at.v.copy()
        step = 0.0
        if self._impacts is not None:
            if struck:
                self._v = self._impacts.velocity
            step = self._impacts.first_step(self._q, self._v)
        if self._numbers is not None and at.signals is not None:
            states = len(run.event_signals)
            self._numbers[:states] = at.signals[:states]
        self._state = self._new_state(at.t, step)


def stops(scene: Scene, event: int) -> bool:
    """Return whether an event ends a run, given its number; those of impacts follow the scene's and do not."""
    return event < len(scene.spec.events) and scene.spec.events[event].stop


def _up_to_instants(
    times: Iterator[float], start: float, signals: SignalRun | None, most: int, counts: list[int]
) -> Iterator[tuple[Array, float, bool, int]]:
    """Yield times of a call [s], the time at which its last step ends, whether that is an output, and what is due.

    `counts` are those of `with_instants`.
    """
    instants = Instants() if signals is None else signals.instants
    if not instants.periods:
        while (wanted := np.fromiter(islice(times, most), float)).size:
            yield wanted, *NO_INSTANT
        return
    waiting: list[float] = []
    given = with_instants(chain([start], times), instants, counts)
    next(given)
    for end, is_output, due in given:
        waiting.append(end)
        if due:
            yield np.array(waiting), end, is_output, due
            waiting = []
    if waiting:
        yield np.array(waiting), *NO_INSTANT


def _rows_with_states(numbers: Array | None, states: Array) -> Array | None:
    """Return numbers of the signals (n, signal_numbers) with the states of elements (n, states) at n times."""
    if numbers is None:
        return None
    rows = np.tile(numbers, (len(states), 1))
    rows[:, : states.shape[1]] = states
    return rows


def _whole_rows(*columns: Array | None) -> int:
    """Return the number of rows before the first that is not finite in one of the columns."""
    finite = [np.isfinite(rows).all(axis=1) for rows in columns if rows is not None]
    good = np.logical_and.reduce(finite)
    return len(good) if good.all() else int(good.argmin())


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
