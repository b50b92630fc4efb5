"""Results of a sweep as arrays, read without xarray."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError, did_you_mean
from pysim.sweeps.dataset import described
from pysim.sweeps.quantities import STATISTICS

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_QUANTITIES = 4


@dataclass(frozen=True)
class SweepResults:
    """Parameters and results of the worlds of a sweep that are computed and ran to their end."""

    path: Path
    parameters: dict[str, Array]  # (worlds,)
    sampled: tuple[str, ...]  # parameters that have a distribution
    signals: tuple[str, ...]
    summary: Array  # (worlds, signals, statistics)
    records: tuple[str, ...]
    series: Array  # (worlds, records, times)
    t: Array  # (times,) [s]
    worlds: int  # of the whole sweep
    failures: int

    def quantity(self, name: str) -> Array:
        """Return a quantity of every world: a signal's statistic, as q.hinge.max, or its value at the end.

        Raises:
            SimulationError: there is no such signal.
        """
        signal, _, statistic = name.rpartition(".")
        if name in self.signals or statistic not in STATISTICS:
            signal, statistic = name, "end"
        if signal not in self.signals:
            hint = did_you_mean(signal, self.signals)
            problem = f"the sweep has no such signal{hint}; give SIGNAL or SIGNAL.STATISTIC"
            raise SimulationError(f"{self.path}: {name!r}", problem)
        return np.asarray(self.summary[:, self.signals.index(signal), STATISTICS.index(statistic)])

    def default_quantities(self) -> list[str]:
        """Return the quantities to draw if none is requested: the signals that were recorded, or the first ones."""
        return list(self.records or self.signals)[:MOST_QUANTITIES]


def load_results(path: str | PathLike[str]) -> SweepResults:
    """Read the results of a sweep, finished or not.

    Raises:
        SimulationError: the file is not a sweep's, or no world has run to its end.
    """
    import h5py  # noqa: PLC0415, which workers of a cluster do not need

    name = Path(path)
    description = described(name)
    with h5py.File(path, "r") as file:
        failure = file["failure"][:]
        summary = file["summary"][:]
        finished = np.repeat(file["checksum"][:] >= 0, int(file.attrs["piece_size"]))
        done = finished[: len(failure)] & np.isfinite(summary[:, :, 0]).all(axis=1)
        ended = done & (failure == b"")
        keys = [*description["grids"], *description["distributions"]]
        found = SweepResults(
            path=name,
            parameters={key: file[key][:][ended] for key in keys},
            sampled=tuple(description["distributions"]),
            signals=tuple(text.decode() for text in file["signal"][:]),
            summary=summary[ended],
            records=tuple(description["signals"]),
            series=file["series"][:][ended],
            t=file["time"][:],
            worlds=len(failure),
            failures=int((finished[: len(failure)] & (failure != b"")).sum()),
        )
    if not ended.any():
        raise SimulationError(str(path), "no world has run to its end; see the variable failure")
    return found


def is_sweep(path: Path) -> bool:
    """Return whether a file is a sweep's."""
    try:
        described(path)
    except SimulationError:
        return False
    return True
