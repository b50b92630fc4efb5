"""Rows of `Worlds.rollout`: states and signals of worlds at equal numbers of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import Named, SimulationError
from pysim.typing import Array
from pysim.worlds.contact_report import NUMBERS
from pysim.worlds.signal_runs import signals_of_states

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.elements.graph_types import RecordedSignal
    from pysim.worlds.world_records import WorldRecords


@dataclass(frozen=True)
class WorldRows:
    """Rows of worlds; … is their axis, which those of a single world lack. NaN after a world is lost."""

    t: Array  # (…, rows) [s]
    q: NDArray[np.floating[Any]]  # (…, rows, nq)
    v: NDArray[np.floating[Any]]  # (…, rows, nv)
    signals: Mapping[str, Array] = field(default_factory=dict)  # (…, rows) or (…, rows, size)

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", Named("signals", self.signals))

    def of_single_world(self) -> WorldRows:
        """Return the rows of the only world."""
        signals = {name: rows[0] for name, rows in self.signals.items()}
        return WorldRows(self.t[0], self.q[0], self.v[0], signals)


def rows_of_steps(
    records: WorldRecords,
    count: int,
    every: int,
    threads: int,
    inputs: Array | None,
    wanted: Mapping[str, RecordedSignal],
    out: Mapping[str, NDArray[Any]],
) -> WorldRows:
    """Make rows of steps of fixed size, and return them.

    Args:
        records: of the worlds.
        count: of rows.
        every: steps from row to row.
        threads: that share the worlds.
        inputs: values (worlds, count, inputs) of the scene's inputs held up to each row; those up to the first are set.
        wanted: signals by the names under which they are returned.
        out: arrays in which rows are written, by "q", "v" and names of signals.
    """
    worlds = records.count
    states: dict[str, Any] = {
        name: _room(out, name, (worlds, count, part.shape[1]), part.dtype)
        for name, part in (("q", records.q), ("v", records.v))
    }
    rows: dict[str, Any] = {"q_rows": states["q"], "v_rows": states["v"]}
    late = any(signal.is_late for signal in wanted.values())
    report = None
    if wanted:
        rows["signal_rows"] = np.zeros((worlds, count, records.signals.shape[1]))
        rows["loop_rows"] = np.zeros((worlds, count, records.loop_q.shape[1]))
    if late and records.is_convex:
        report = np.zeros((worlds, records.points, NUMBERS))
        rows["report_rows"] = np.zeros((worlds, count, records.points, NUMBERS))
    t, reached = records.step_rows(count, every, threads, rows, report=report, inputs=inputs)
    signals = {
        name: _room(
            out, name, (worlds, count) if signal.is_single else (worlds, count, signal.size)
        )
        for name, signal in wanted.items()
    }
    if wanted:
        alive = np.arange(count) < reached[:, None]
        world, row = np.nonzero(alive)
        own_report = rows["report_rows"][alive] if report is not None else None
        with records.scene_with_numbers(world.astype(np.int32)) as scene:
            q, v = (np.asarray(rows[name][alive], float) for name in ("q_rows", "v_rows"))
            values = signals_of_states(
                scene,
                t[alive],
                q,
                v,
                rows["signal_rows"][alive],
                rows["loop_rows"][alive],
                own_report,
                measured=late,
                threads=threads,
            )
        for name, signal in wanted.items():
            signals[name][:] = np.nan
            columns = values[:, signal.first : signal.first + signal.size]
            signals[name][world, row] = columns[:, 0] if signal.is_single else columns
    return WorldRows(t, states["q"], states["v"], signals)


def _room(
    out: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any] | type[float] = float,
) -> NDArray[Any]:
    """Return the array of a name in `out`, or a new one."""
    given: Any = out.get(name)  # callers without types give other things
    if given is None:
        return np.empty(shape, dtype)
    fits = isinstance(given, np.ndarray) and given.shape == shape and given.dtype == dtype
    if not fits or not given.flags.c_contiguous or not given.flags.writeable:
        problem = f"must be a writeable, C-contiguous array {shape} of {np.dtype(dtype)}"
        raise SimulationError(f"out: {name!r}", f"{problem}; leave it out for a new one")
    found: NDArray[Any] = given
    return found
