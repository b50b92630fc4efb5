"""Segments of a run, which the steppers pass to the recorder."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pysim.typing import Array


@dataclass(frozen=True)
class EventOccurrence:
    """Occurrence of an event: its index in the scene, time [s] and state (nq,), (nv,)."""

    index: int
    t: float
    q: Array
    v: Array
    loop_q: Array  # (loop_nq,), near it
    signals: Array | None = None  # (signal_numbers,) then


@dataclass(frozen=True)
class Segment:
    """Outputs of a part of a run (n,), (n, nq), (n, nv), and an event after them, if any."""

    t: Array
    q: Array
    v: Array
    loop_q: Array  # (n, loop_nq) at the outputs, or near them
    end: float  # time that the run has reached [s]
    steps: int  # accepted
    event: EventOccurrence | None = None
    report: Array | None = None  # (n, points, 18) of contacts, see _engine.contact_points
    signals: Array | None = None  # (n, signal_numbers) at the outputs, in scenes with signals
    external: Array | None = None  # (n, nv) generalised forces from outside the scene [N or N·m]
    following: tuple[EventOccurrence, ...] = ()  # impacts at the time of the event, after it

    def part(self, rows: slice) -> Segment:
        """Return the segment with some of its outputs."""
        return replace(
            self,
            t=self.t[rows],
            q=self.q[rows],
            v=self.v[rows],
            loop_q=self.loop_q[rows],
            report=None if self.report is None else self.report[rows],
            signals=None if self.signals is None else self.signals[rows],
            external=None if self.external is None else self.external[rows],
        )
