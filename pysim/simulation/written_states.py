"""States that callers write to the arrays of worlds: taken over, or rejected with a reason where impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.failed_steps import explain
from pysim.loops import constraints
from pysim.simulation.world_starts import LOOP_TOLERANCE
from pysim.worlds.failure import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.worlds.parameters.world_parameters import WorldParameters
    from pysim.worlds.world_records import WorldRecords

    Selection = NDArray[np.int32] | None

LOOP_TOLERANCE_SINGLE = 1e-4  # [m, rad] by which loops may be open in single precision


class WrittenStates:
    """States written to t, q and v of the worlds of some records, with their parameters."""

    def __init__(self, records: WorldRecords, parameters: WorldParameters) -> None:
        self._records, self._parameters = records, parameters
        self.reasons: dict[int, str] = {}  # of worlds to which impossible states were written

    def accept(self, selection: Selection) -> None:
        """Take over what was written; a world to which an impossible state was written is lost."""
        records, parameters = self._records, self._parameters
        opened = False
        if records.python is not None:  # schemes of written states begin anew
            records.python.begin(np.array(records.engine.written(selection), np.int32))
        if records.scene.model.rows:
            written = np.array(records.engine.written(selection), np.int32)
            if parameters.are_lengths:  # with which loops may be open
                parameters.accept()
                written = np.union1d(written, parameters.take_moved()).astype(np.int32)
            opened = bool(len(written)) and self._mark_open(written)
        if records.engine.accept(selection) or opened:
            rejected = np.flatnonzero(records.status == Status.WRITTEN).astype(np.int32)
            for k in rejected.tolist():
                self.reasons.setdefault(k, str(explain(records.failure(k))))
            records.engine.restore(rejected)

    def _mark_open(self, written: NDArray[np.int32]) -> bool:
        """Mark worlds whose written states leave a loop open; return whether there are any."""
        records = self._records
        finite = np.isfinite(records.q[written]).all(axis=1)
        finite &= np.isfinite(records.v[written]).all(axis=1) & np.isfinite(records.t[written])
        good = written[finite]
        if not len(good):
            return False
        q, v, loop_q = records.states(good)
        with records.varied.scene_of_states(good) as scene:
            at = constraints(scene.model, q, v, loop_q=loop_q, t=records.t[good])
        largest = np.abs(at.residual).max(axis=1, initial=0.0)
        is_open = ~(largest <= (LOOP_TOLERANCE_SINGLE if records.is_single else LOOP_TOLERANCE))
        records.status[good[is_open]] = Status.WRITTEN
        return bool(is_open.any())

    def forget(self, worlds: NDArray[np.int32]) -> None:
        """Forget the reasons of worlds that have another state now."""
        for k in worlds.tolist() if self.reasons else ():
            self.reasons.pop(k, None)
