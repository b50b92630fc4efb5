"""Answers to events at which worlds stop: forces are released, velocities change, or the world ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.mechanism.model import State
from pysim.worlds.engine_calls import Stop
from pysim.worlds.failure import Status
from pysim.worlds.segment import EventOccurrence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.worlds.world_records import WorldRecords


def answer_event(records: WorldRecords, k: int, event: int) -> list[EventOccurrence]:
    """Let world k, which has stopped at an event, go on or end; return the occurrences in their order.

    An event releases forces, and changes velocities where surfaces meet.
    """
    q, v, loop_q = (part.copy() for part in records.states(k))
    numbers = None if records.scene.signals is None else records.signals[k].copy()
    t = float(records.t[k])
    at = EventOccurrence(event, t, q, v, loop_q, numbers)
    if records.impacts and records.impacts[k].is_impact(event):
        impacts = records.impacts[k]
        occurred, restarts = impacts.at_event(at)
        if restarts:
            step = impacts.first_step(q, impacts.velocity)
            records.begin_steps(k, State(q, impacts.velocity, loop_q), t, step)
        return occurred
    if records.scene.spec.events[event].stop:
        records.status[k] = Status.ENDED
        return [at]
    acted = records.blocks.release(k, event)
    if acted and records.is_adaptive:
        step = records.impacts[k].first_step(q, v) if records.impacts else 0.0
        records.begin_steps(k, State(q, v, loop_q), t, step)
    return [at]


def answer_events(
    records: WorldRecords, worlds: NDArray[np.int32], stops: NDArray[np.int64]
) -> None:
    """Let worlds go on that have stopped at events, or end there; note what has occurred."""
    for at in np.flatnonzero(stops >= Stop.EVENT).tolist():
        k = int(worlds[at])
        for occurrence in answer_event(records, k, int(stops[at]) - Stop.EVENT):
            records.occurred.append((k, occurrence))
