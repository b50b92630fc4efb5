"""Events of worlds that are stepped together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.simulation.recorder import event_names
from pysim.trajectory import Events

if TYPE_CHECKING:
    from pysim.worlds.segment import EventOccurrence
    from pysim.worlds.world_records import WorldRecords


def events_of(records: WorldRecords) -> tuple[Events, ...]:
    """Return the events in `records.occurred`, by world."""
    model, names = records.scene.model, event_names(records.scene)
    occurrences: list[list[EventOccurrence]] = [[] for _ in range(records.count)]
    for k, occurrence in records.occurred:
        occurrences[k].append(occurrence)
    return tuple(
        Events(
            np.array([x.t for x in own]),
            tuple(names[x.index] for x in own),
            np.array([x.q for x in own]).reshape(-1, model.nq),
            np.array([x.v for x in own]).reshape(-1, model.nv),
        )
        for own in occurrences
    )
