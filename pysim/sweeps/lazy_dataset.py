"""The dataset of a sweep for xarray, whose results are read as they are used and compared with their checksums."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from pysim.sweeps.dataset import SweepFile
from pysim.sweeps.structure import DONE_BY_PIECE, FAILURE, FORMAT, RESULTS

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SweepBackend(BackendEntrypoint):
    """Opens a sweep's dataset: `xarray.open_dataset(path, engine=SweepBackend)`."""

    def open_dataset(self, filename_or_obj: Any, *, drop_variables: Any = None) -> xarray.Dataset:  # noqa: ANN401, as xarray
        """Return the dataset at a path."""
        file = SweepFile(Path(filename_or_obj))
        structure = file.structure
        coordinates = {
            "world": np.arange(structure.worlds),
            "signal": _texts(structure.signals),
            "statistic": _texts(structure.statistics),
            "record": _texts(structure.records),
            "time": np.array(structure.t),
            "piece": np.arange(file.pieces),
            **{name: ("world", np.array(values)) for name, values in structure.parameters.items()},
        }
        results: dict[str, Any] = {
            name: (RESULTS[name][1], indexing.LazilyIndexedArray(_Results(file, name)))
            for name in DONE_BY_PIECE
        }
        results["checksum"] = ("piece", file.checksums())
        attributes = {"sweep": structure.text, "format": FORMAT, "piece_size": structure.piece_size}
        dataset = xarray.Dataset(results, coordinates, attributes).drop_vars(drop_variables or [])
        dataset.set_close(file.close)
        return dataset


class _Results(BackendArray):
    """The summary, series or failures of all worlds."""

    def __init__(self, file: SweepFile, name: str) -> None:
        self._file, self._name = file, name
        self.shape = file.structure.shape(name)
        kind = RESULTS[name][0]
        self.dtype = np.dtype(f"<U{FAILURE}" if name == "failure" else kind)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:  # noqa: ANN401, as xarray
        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[int | slice, ...]) -> NDArray[Any]:
        """Return what a tuple of integers and slices selects."""
        first, *rest = key
        if not isinstance(first, slice):
            k = range(self.shape[0])[operator.index(first)]
            return self._decoded(self._file.rows(self._name, slice(k, k + 1)))[(0, *rest)]
        chosen = range(self.shape[0])[first]
        if not chosen:
            return np.empty(self.shape, self.dtype)[tuple(key)]
        low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
        rows = self._decoded(self._file.rows(self._name, slice(low, high + 1)))
        return rows[(np.arange(chosen.start, chosen.stop, chosen.step) - low, *rest)]

    def _decoded(self, rows: NDArray[Any]) -> NDArray[Any]:
        return np.char.decode(rows, "utf-8").astype(self.dtype) if rows.dtype.kind == "S" else rows


def _texts(names: tuple[str, ...]) -> NDArray[np.str_]:
    return np.array(names, dtype=str if names else "<U1")
