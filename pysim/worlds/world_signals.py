"""`Worlds.signals`: values of the scene's signals by name, at the end of the last call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.number_names import number_of_signals
from pysim.errors import UnknownSimulationNameError, did_you_mean
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_names
from pysim.worlds.signal_runs import signals_of_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from pysim.elements.graph_types import RecordedSignal
    from pysim.worlds.world_records import WorldRecords


class Signals(Mapping[str, Any]):
    """Values of a scene's signals by name, (n,) or (n, size), at the end of the last call; `up.z` is one number.

    Args:
        records: of the worlds.
        observed: names of the signals that are computed at the end of every call.
        which: returns the numbers of the worlds that a mask or numbers choose.
        threads: that share the worlds.
        is_single: whether there is one world, without an axis.
    """

    def __init__(
        self,
        records: WorldRecords,
        observed: tuple[str, ...],
        which: Callable[[ArrayLike], NDArray[np.int32] | None],
        threads: int,
        *,
        is_single: bool,
    ) -> None:
        self._records, self.observed, self._which = records, observed, which
        self._threads, self._is_single = threads, is_single
        signals = records.scene.signals
        self._known = {} if signals is None else {own.name: own for own in signals.recorded}
        self._signals_by_name: dict[str, RecordedSignal | None] = {
            **self._known
        }  # and single numbers
        self._measures = any(own.is_late for own in self._known.values())
        self._readings: Array | None = None
        for name in observed:
            self._check(name)
        self.end_call()

    def end_call(self) -> None:
        """Forget the values of the last call; compute the observed signals."""
        self._readings = None
        if self.observed:
            self._read()

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401, an array, or a number of one world
        own = self._check(name)
        values = self._read()[:, own.first : own.first + own.size]
        if own.is_single:
            values = values[:, 0]
        return values[0] if self._is_single else values

    def __contains__(self, name: object) -> bool:
        return self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def columns(self, name: str) -> slice:
        """Return the columns of a signal in `rows`."""
        own = self._check(name)
        return slice(own.first, own.first + own.size)

    def rows(self, where: ArrayLike | None = None, *, names: Iterable[str] | None = None) -> Array:
        """Return the numbers of all signals of all worlds, or of those chosen, side by side, at their states.

        With `names`, only the columns of those signals mean something: accelerations, wrenches and contacts are
        computed only if one of them depends on these.
        """
        if where is None or (isinstance(where, np.ndarray) and where.dtype.kind == "i"):
            chosen = where
        else:
            chosen = self._which(where)
        if self._readings is not None:
            return self._readings if chosen is None else self._readings[chosen]
        measured = names is None or not self.are_plain(names)
        if chosen is None and (measured or not self._measures):
            return self._read()
        return self._readings_of(
            None if chosen is None else np.ascontiguousarray(chosen, np.int32), measured=measured
        )

    def at_states(self, *, measured: bool) -> Array:
        """Return the numbers of all signals of all worlds at their states, which no call has to have reached.

        Accelerations, wrenches and contacts are only computed if they are `measured`.
        """
        return self._readings_of(None, measured=measured)

    def are_plain(self, names: Iterable[str]) -> bool:
        """Return whether the engine alone computes signals: without accelerations, wrenches, contacts and Python."""
        late = any(self._check(name).is_late for name in checked_names(names, "names"))
        return not late and self._records.python is None

    def _find(self, name: object) -> RecordedSignal | None:
        """Return a signal, or one number of it, such as `up.z` or `up[2]`; None if there is none."""
        if not isinstance(name, str):
            return None
        if name not in self._signals_by_name:
            self._signals_by_name[name] = number_of_signals(name, self._known)
        return self._signals_by_name[name]

    def find(self, name: str) -> RecordedSignal:
        """Return where a signal, or one number of it, is among the readings.

        Raises:
            SimulationError: the scene has no such signal.
        """
        return self._check(name)

    def _check(self, name: object) -> RecordedSignal:
        found = self._find(name)
        if found is None:
            remedy = did_you_mean(str(name), self._known) or "; it has none" * (not self._known)
            raise UnknownSimulationNameError(
                f"signals: {name!r}", f"the scene has no such signal{remedy}"
            )
        return found

    def _read(self) -> Array:
        if self._readings is None:
            self._readings = self._readings_of(None)
        return self._readings

    def _readings_of(self, where: NDArray[np.int32] | None, *, measured: bool = True) -> Array:
        records, threads = self._records, self._threads
        rows = slice(None) if where is None else where
        worlds = records.chosen(where)
        measured = measured and self._measures
        if not measured and records.python is None:
            if records.parameters is not None:
                records.parameters.accept()
            return records.engine.readings(where, threads)
        report = records.report(worlds) if records.is_convex and measured else None
        q, v, loop_q = records.states(rows)
        with records.scene_with_numbers(worlds) as scene:
            return signals_of_states(
                scene,
                records.t[rows],
                q,
                v,
                records.signals[rows],
                loop_q.copy(),
                report,
                measured=measured,
                threads=threads,
            )
