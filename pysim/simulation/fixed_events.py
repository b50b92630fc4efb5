"""Runs with fixed steps through the events of a scene.

A step in which an event changes its sign is repeated with the length that ends at the event, to rounding; the run goes
on from there. Sign changes are seen from step to step: two of one event within a step are missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.mechanism.event_compiler import recorded_value, watched_coordinate, watched_point
from pysim.mechanism.model import State
from pysim.simulation.fixed_steps import steps_between
from pysim.simulation.record_runs import RecordRun
from pysim.tracing.evaluation import evaluate
from pysim.typing import Array
from pysim.worlds.contact_report import IMPULSE
from pysim.worlds.segment import EventOccurrence, Segment
from pysim.worlds.signal_runs import Instants, with_instants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pysim.mechanism.model import Model
    from pysim.scene.spec import EventSpec
    from pysim.worlds.external_forces import ExternalForces
    from pysim.worlds.implicit_state import SolverState
    from pysim.worlds.loading import Scene
    from pysim.worlds.saved_parts import SavedParts
    from pysim.worlds.signal_runs import SignalRun


DIRECTIONS = {"rising": (1.0,), "falling": (-1.0,), "both": (1.0, -1.0)}
SAME_PLACE = 1e-15  # of a step: resolution of its fraction at an event
NEAR = 1e-6  # of a period: an instant this close to an output may be before or after it
LEAST_PART = 1e-9  # of a step: a shorter one would be rounding


def fixed_run(
    scene: Scene,
    memory: SolverState,
    signals: SignalRun | None,
    external: ExternalForces | None = None,
) -> RecordRun | EventRun:
    """Return the run of a scene with steps of fixed size."""
    if scene.spec.events:
        return EventRun(scene, memory, signals, external)
    return RecordRun(scene, memory, signals, external)


class _Held(NamedTuple):
    """What a step changes in place."""

    memory: Array
    signals: Array | None
    jumped: bool
    scheme: dict[str, Any] | None  # what a scheme in Python remembers


class _Crossing(NamedTuple):
    """Change of the sign of an event at the end of a step."""

    event: int
    sign: float


@dataclass
class EventRun:
    """Run of a scene, step by step."""

    scene: Scene
    memory: SolverState
    signals: SignalRun | None
    external: ExternalForces | None
    functions: list[Callable[[Array, Array], Array]] = field(init=False)
    state: State = field(init=False)
    run: RecordRun = field(init=False)  # makes the steps
    signs: Array = field(init=False)  # (events,) of the last values that were not 0
    counts: list[int] = field(default_factory=list)  # of the next instants of sampled blocks
    impulse: Array | float = 0.0  # of contacts since the last output (points, 3) [N·s]
    steps: int = 0  # since the last segment
    at_output: bool = False  # whether the last segment ended at one

    def __post_init__(self) -> None:
        self.state = self.scene.state
        self.run = RecordRun(self.scene, self.memory, self.signals, self.external)
        model, events = self.scene.model, self.scene.spec.events
        self.functions = [event_function(model, event) for event in events]
        self.signs = np.sign(self._values(self.state.q[None], self.state.v[None])[0])

    def saved(self) -> dict[str, Any] | None:
        """Return what `resumed` goes on from after the last segment; None if that did not end at an output."""
        saved = self.run.saved() if self.at_output else None
        if saved is not None:
            saved |= {"signs": self.signs, "counts": np.array(self.counts, np.int64)}
        return saved

    def resumed(self, saved: SavedParts, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s]; `saved` returned at the first one.

        Raises:
            SimulationError: `saved` is not what a run of the scene returns there.
        """
        start = next(times)
        self.run.restore(saved, start, start)
        self.state = self.run.state
        self.signs = saved.numbers("signs", (len(self.functions),), finite=True)
        instants = Instants() if self.signals is None else self.signals.instants
        self.counts = saved.counts("counts", (len(instants.periods),))
        ahead = [k * own - start for k, own in zip(self.counts, instants.periods, strict=True)]
        if any(
            not -NEAR * own <= left <= (1 + NEAR) * own
            for left, own in zip(ahead, instants.periods, strict=True)
        ):
            raise saved.error("holds a checkpoint whose sampled blocks are due at other instants")
        return self.from_start(chain([start], times))

    def from_start(self, times: Iterator[float]) -> Iterator[Segment]:
        """Yield the segments through output times [s] from the state at the first of them."""
        instants = Instants() if self.signals is None else self.signals.instants
        given = with_instants(times, instants, self.counts)
        start = next(given)[0]
        for end, is_output, _ in given:
            while start < end:
                count = steps_between(start, end, self.scene.settings.step)
                grid = np.asarray(start + (end - start) / count * np.arange(count + 1), float)
                grid[-1] = end
                start, last, occurrences = self._advance(grid)
                for event in occurrences:
                    steps, self.steps, self.at_output = self.steps, 0, False
                    yield replace(last.part(slice(0, 0)), steps=steps, event=event)
                    if self.scene.spec.events[event.index].stop:
                        return
                    if self.signals is not None:
                        self.signals.release(event.index)
                        self.signals.jumped = True
            if is_output:
                self.at_output = True
                yield self._output(last)

    def _output(self, last: Segment) -> Segment:
        """Return the output at the end of the last step, with the impulses since the output before."""
        report = last.report
        if report is not None:
            report = report.copy()
            report[0, :, IMPULSE] = self.impulse
        steps, self.steps, self.impulse = self.steps, 0, 0.0
        return replace(last, steps=steps, report=report)

    def _advance(self, grid: Array) -> tuple[float, Segment, list[EventOccurrence]]:
        """Advance through times [s] to the last or to an event; return when, the last step, and the events there."""
        held = self._hold()
        rows = self._try(grid, calls=False)
        found = self._first_crossing(rows)
        if found is None:
            if self.signals is not None and self.signals.calls_python:
                self._restore(held)
                rows = self._try(grid, calls=True)
            return float(grid[-1]), self._accept(rows), []
        k, crossings = found
        if k:
            self._restore(held)
            self._accept(self._try(grid[: k + 1], calls=False))
            held = self._hold()
        begin, length = float(grid[k]), float(grid[k + 1] - grid[k])
        when = min(self._locate(c, held, begin, length) for c in crossings)
        self._restore(held)
        last = self._accept(self._try(np.array([begin, begin + when * length]), calls=False))
        passed = [c for c in crossings if self.signs[c.event] == c.sign]
        return begin + when * length, last, [self._occurrence(c.event, last) for c in passed]

    def _locate(self, crossing: _Crossing, held: _Held, begin: float, length: float) -> float:
        """Return the least fraction of a step, to rounding, after which an event has its new sign."""
        from scipy.optimize import brentq  # noqa: PLC0415, loads when a run has events

        start = self._values(self.state.q[None], self.state.v[None])[0, crossing.event]

        def value(fraction: float) -> float:
            when = begin + fraction * length
            if when <= begin:
                return float(start)
            self._restore(held)
            rows = self._try(np.array([begin, when]), calls=False)
            return float(self._values(rows[-1].q[-1:], rows[-1].v[-1:])[0, crossing.event])

        fraction, beyond = LEAST_PART, SAME_PLACE
        if np.sign(start) == -crossing.sign:
            fraction = max(brentq(value, 0.0, 1.0, xtol=SAME_PLACE), LEAST_PART)
        while fraction < 1.0 - LEAST_PART and np.sign(value(fraction)) != crossing.sign:
            fraction, beyond = fraction + beyond, 2 * beyond
        return float(fraction) if fraction < 1.0 - LEAST_PART else 1.0

    def _first_crossing(self, rows: Sequence[Segment]) -> tuple[int, list[_Crossing]] | None:
        """Return the first step after which events have another sign, in a direction that counts, and these."""
        q, v = np.concatenate([r.q for r in rows]), np.concatenate([r.v for r in rows])
        signs = self.signs.copy()
        for k, now in enumerate(np.sign(self._values(q, v))):
            changed = (now != signs) & (now != 0) & (signs != 0)
            found = [
                _Crossing(i, now[i])
                for i in np.flatnonzero(changed).tolist()
                if now[i] in DIRECTIONS[self.scene.spec.events[i].direction]
            ]
            if found:
                return k, found
            signs = np.where(now == 0, signs, now)
        return None

    def _accept(self, rows: Sequence[Segment]) -> Segment:
        """Take over the states of steps; return the last one alone."""
        last = rows[-1]
        self.state = State(last.q[-1], last.v[-1], last.loop_q[-1])
        self.steps += sum(r.steps for r in rows)
        for values in self._values(
            np.concatenate([r.q for r in rows]), np.concatenate([r.v for r in rows])
        ):
            self.signs = np.where(values == 0, self.signs, np.sign(values))
        for r in rows:
            if r.report is not None:
                self.impulse = self.impulse + r.report[..., IMPULSE].sum(axis=0)
        return last.part(slice(len(last.t) - 1, None))

    def _try(self, grid: Array, *, calls: bool) -> list[Segment]:
        """Return the segments of single steps through times [s] from the state; `calls`: of controllers in Python."""
        signals = self.signals
        times = iter(grid.tolist())
        calling = signals is not None and signals.calls
        if signals is not None:
            signals.calls = calling and calls
        try:
            return list(self.run.segments(self.state, times))
        finally:
            if signals is not None:
                signals.calls = calling

    def _values(self, q: Array, v: Array) -> Array:
        """Return the values (n, events) of all events at n states."""
        return np.stack([function(q, v) for function in self.functions], axis=1)

    def _hold(self) -> _Held:
        memory, scheme = self.memory.numbers.copy(), self.run.held_scheme()
        if self.signals is None:
            return _Held(memory, None, jumped=False, scheme=scheme)
        return _Held(memory, self.signals.numbers.copy(), self.signals.jumped, scheme)

    def _restore(self, held: _Held) -> None:
        self.memory.numbers[:] = held.memory
        self.run.put_back_scheme(held.scheme)
        if self.signals is not None:
            self.signals.numbers[:] = held.signals
            self.signals.jumped = held.jumped

    def _occurrence(self, index: int, last: Segment) -> EventOccurrence:
        own = None if last.signals is None else last.signals[-1].copy()
        t, state = float(last.t[-1]), self.state
        return EventOccurrence(index, t, state.q, state.v, state.loop_q, own)


def event_function(model: Model, event: EventSpec) -> Callable[[Array, Array], Array]:
    """Return the function of q (n, nq) and v (n, nv) whose values (n,) are 0 at an event.

    Raises:
        JointError: the value of a plugin cannot be recorded.
    """
    if event.joint is not None:
        at = watched_coordinate(model, event)
        return lambda q, v: q[:, at] - event.offset  # noqa: ARG005, one signature for all
    if event.body is not None:
        body, point = watched_point(model, event)

        def distance(q: Array, v: Array) -> Array:  # noqa: ARG001, one signature for all
            pose = np.asarray(forward_kinematics(model, q))[:, body]
            place = pose[:, :3, :3] @ point + pose[:, :3, 3]
            return np.asarray(place @ np.array(event.normal) - event.offset)

        return distance
    tape, value = recorded_value(model, event)
    return lambda q, v: np.asarray(evaluate(tape, np.concatenate([q, v], axis=1).T, [value])[0])
