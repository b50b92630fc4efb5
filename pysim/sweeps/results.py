"""Results of a sweep as arrays, read without xarray."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.sweeps.dataset import SweepFile, described
from pysim.sweeps.dataset_checksum import is_sealed
from pysim.sweeps.signal_statistics import STATISTICS, split_quantity
from pysim.sweeps.structure import NotASweepError
from pysim.trajectory.page_checks import is_committed
from pysim.typing import Array

if TYPE_CHECKING:
    from os import PathLike


MOST_QUANTITIES = 4
SUFFIX = ".nc"


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
        try:
            signal, statistic = split_quantity(name, self.signals, "the sweep")
        except SimulationError as error:
            raise SimulationError(f"{self.path}: {error.where}", error.problem) from None
        return np.asarray(self.summary[:, self.signals.index(signal), STATISTICS.index(statistic)])

    def default_quantities(self) -> list[str]:
        """Return the quantities to draw if none is requested: the signals that were recorded, or the first ones."""
        return list(self.records or self.signals)[:MOST_QUANTITIES]


def load_results(path: str | PathLike[str]) -> SweepResults:
    """Read the results of a sweep, finished or not.

    Raises:
        SimulationError: the file is not a sweep's or is damaged, or no world has run to its end.
    """
    name = Path(path)
    with SweepFile(name) as file:
        structure, description = file.structure, file.structure.description
        every = slice(0, file.worlds)
        failure, summary = file.rows("failure", every), file.rows("summary", every)
        finished = np.repeat([file.is_finished(k) for k in range(file.pieces)], file.size)
        done = finished[: file.worlds] & np.isfinite(summary[:, :, 0]).all(axis=1)
        ended = done & (failure == b"")
        results = SweepResults(
            path=name,
            parameters={
                key: np.array(values)[ended] for key, values in structure.parameters.items()
            },
            sampled=tuple(description["distributions"]),
            signals=structure.signals,
            summary=summary[ended],
            records=tuple(description["signals"]),
            series=file.rows("series", every)[ended],
            t=np.array(structure.t),
            worlds=file.worlds,
            failures=int((finished[: file.worlds] & (failure != b"")).sum()),
        )
    if not ended.any():
        raise SimulationError(str(path), "no world has run to its end; see the variable failure")
    return results


def is_sweep(path: Path) -> bool:
    """Return whether a file is a sweep's, which may be damaged."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if is_sealed(file.fileno()):
                return True
            if is_committed(file.fileno()):
                return False  # a trajectory
        described(path)
    except NotASweepError:
        return False
    except (OSError, SimulationError):
        return path.suffix == SUFFIX  # reported with the reason when it is read
    return True
