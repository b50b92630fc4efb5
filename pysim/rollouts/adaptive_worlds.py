"""Monitors of worlds under steps of adapted size: of very many steps, and of steps so short that no end is in sight."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.adaptive_pace import PaceMonitor
from pysim.diagnosis.stall import StallDetector
from pysim.errors import SimulationError
from pysim.worlds.adaptive_scheme import Place
from pysim.worlds.failure import Status

if TYPE_CHECKING:
    from pysim.typing import Array
    from pysim.worlds.world_records import WorldRecords


class AdaptiveMonitors:
    """Monitors of many worlds, one of each kind a world.

    Args:
        records: of the worlds, which are at the start.
        end: at which their run ends [s].
    """

    def __init__(self, records: WorldRecords, end: float) -> None:
        self._records = records
        self.errors: dict[int, str] = {}  # of worlds whose steps have stalled
        self._slow: dict[int, str] = {}
        self._pace, self._stall = list[PaceMonitor](), list[StallDetector]()
        for k in range(records.count):
            start, state, _ = records.step_start(k)
            own = records.scene_of(k)
            scene = replace(own, state=state, settings=replace(own.settings, duration=end))
            self._pace.append(PaceMonitor(scene, start, partial(self._slow.setdefault, k)))
            self._stall.append(StallDetector(scene, start))
        self._tried = self._steps_tried()

    def _steps_tried(self) -> Array:
        return np.asarray(self._records.steps + self._records.scheme[:, Place.REJECTED])

    def after_call(self) -> None:
        """Look at the worlds after a call of the engine; one that has stalled is lost."""
        records, before = self._records, self._tried
        self._tried = self._steps_tried()
        for k in np.flatnonzero(self._tried != before).tolist():
            if records.status[k] != Status.RUNNING:
                continue
            time, state, _ = records.step_start(k)
            row, tried = records.scheme[k], int(self._tried[k] - before[k])
            reached = max(time, float(records.t[k]))
            call = (state, reached, float(row[Place.SIZE]), tried, int(row[Place.WORST]))
            self._pace[k].after_call(*call)
            try:
                self._stall[k].after_call(*call)
            except SimulationError as error:
                self.errors[k] = str(error)
                records.status[k] = Status.UNDERFLOW

    def end(self) -> list[tuple[int, str]]:
        """Return the worlds that made very many steps, and why."""
        for monitor in self._pace:
            monitor.at_end()
        return sorted(self._slow.items())
