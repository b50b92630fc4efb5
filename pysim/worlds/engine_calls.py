"""Calls of the engine that advance worlds, and why each of them stopped.

A call is repeated where surfaces have passed through each other in it; they rest on each other from then on. So worlds
with impacts are advanced one by one, each by the forces of the pairs that rest in it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pysim.worlds.world_records import WorldRecords

_T = TypeVar("_T")


class Stop(IntEnum):
    """Why a call of the engine left a world (cpp/stepping/world_advance.hpp)."""

    REACHED = 0
    UNFINISHED = 1  # the steps of the call are used up
    WAITS = 2  # Python has to run blocks
    LOST = 3  # the world is lost or has ended
    EVENT = 4  # 4 + k at event k


class EngineCalls:
    """Calls of the engine for the worlds of some records.

    Args:
        records: of the worlds.
    """

    def __init__(self, records: WorldRecords) -> None:
        self._records = records

    def advance(
        self,
        row: NDArray[np.int64],
        arrays: dict[str, Any],
        **keys: Any,  # noqa: ANN401, as the engine takes them
    ) -> NDArray[np.int64]:
        """Advance all worlds through the rows of a call, world k from row[k] on; return the `Stop` of each."""
        records = self._records
        if not records.impacts:
            return self._checked(lambda: records.engine.advance(row=row, **arrays, **keys))
        stops = [self._advance_alone(k, row, arrays, keys) for k in range(records.count)]
        return np.array(stops, np.int64)

    def _advance_alone(
        self, k: int, row: NDArray[np.int64], arrays: dict[str, Any], keys: dict[str, Any]
    ) -> int:
        """Advance a world with impacts through the rows of a call."""
        arrays_of_world: dict[str, Any] = {
            n: x[k : k + 1] if isinstance(x, np.ndarray) else x for n, x in arrays.items()
        }
        chosen, reached = np.array([k], np.int32), int(row[k])

        def go_on() -> NDArray[np.int64]:
            row[k] = reached
            engine = self._records.engine
            return engine.advance(chosen, row=row[k : k + 1], **arrays_of_world, **keys)

        return int(self.result_of(chosen, go_on)[0])

    def result_of(self, selection: NDArray[np.int32] | None, call: Callable[[], _T]) -> _T:
        """Return the result of a call for a selection; with impacts, of one world and repeated until none is passed."""
        records = self._records
        if not records.impacts:
            return self._checked(call)
        chosen = records.chosen(selection)
        k = int(chosen[0])
        while True:
            records.engine.set_smooth_contacts(records.impacts[k].forces)
            before = records.engine.save(chosen)
            result = self._checked(call)
            after = records.step_start(k)[1]
            if not records.impacts[k].passed(after.q, after.v):
                return result
            records.go_back(k, before)

    def _checked(self, call: Callable[[], _T]) -> _T:
        """Return what a call returns; raise the error of a plugin's code in it."""
        result = call()
        if self._records.python is not None:
            self._records.python.raise_error()
        return result
