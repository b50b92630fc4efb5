"""Dataset of a sweep: an HDF5 file in the layout of netCDF-4, written piece by piece.

    summary   (world, signal, statistic)   statistics of each signal
    series    (world, record, time)        recorded signals
    failure   (world)                      why a world ended early; empty if it did not
    KEY       (world)                      value of each parameter
    checksum  (piece)                      CRC-32 of a finished piece of worlds, else -1

All space is written when the file is made (`pysim.sweeps.new_dataset`). A piece then replaces bytes at known places,
without HDF5: a process that is killed at any time leaves a readable file, and a piece without its checksum is computed
again. Other programs may read the file meanwhile.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pysim.errors import SimulationError
from pysim.sweeps.extras import check_installed
from pysim.trajectory.page_file import read_all, write_all
from pysim.trajectory.reader import failure

if TYPE_CHECKING:
    import h5py
    import xarray
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rows = NDArray[np.generic]

FORMAT = 1
FAILURE = 240  # bytes of a reason
CUT = "…"  # at the end of a reason that does not fit
DONE_BY_PIECE = ("summary", "series", "failure")
LABELS = ("signal", "statistic", "record")
ENCODING = "_Encoding"  # attribute of texts by which xarray decodes them


@dataclass(frozen=True)
class _Place:
    """Bytes of a dataset in the file."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def row(self) -> int:
        """Bytes of an item of the first dimension."""
        return self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=int))


class SweepFile:
    """A sweep's open file; with `write`, pieces can be written, by one process at a time."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self._path = path
        with opened(path) as file:
            self.size = int(file.attrs["piece_size"])
            self._places = {name: _place(path, file[name]) for name in (*DONE_BY_PIECE, "checksum")}
        try:
            self._descriptor = os.open(path, os.O_RDWR if write else os.O_RDONLY)
        except OSError as error:
            raise unusable(path, error) from error
        if write:
            self._lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)

    @property
    def worlds(self) -> int:
        """Number of worlds of the sweep."""
        return self._places["failure"].shape[0]

    def unfinished(self) -> list[slice]:
        """Return the worlds of the pieces that are missing or damaged."""
        marks = self._read("checksum", slice(0, self._places["checksum"].shape[0]))
        found = []
        for k, mark in enumerate(marks.tolist()):
            worlds = self._worlds(k)
            rows = (self._read(name, worlds) for name in DONE_BY_PIECE)
            if mark < 0 or mark != checksum(rows):
                found.append(worlds)
        return found

    def write(self, worlds: slice, summary: Array, series: Array, failures: list[str]) -> None:
        """Write a piece, and then its checksum.

        Raises:
            SimulationError: the system refused.
        """
        texts = np.array([_cut(text) for text in failures], f"S{FAILURE}")
        rows = {"summary": summary, "series": series, "failure": texts}
        piece = worlds.start // self.size
        try:
            for name, values in rows.items():
                self._write(name, worlds.start, values)
            self._write("checksum", piece, np.array([checksum(rows.values())]))
        except OSError as error:
            remedy = "; run the sweep again to continue it"
            raise unusable(self._path, error, "cannot be written", remedy) from error

    def summary(self, world: int) -> Rows:
        """Return the statistics (signals, statistics) of a world."""
        return np.asarray(self._read("summary", slice(world, world + 1))[0])

    def failures(self) -> list[tuple[int, str]]:
        """Return the worlds that ended early and why."""
        texts = self._read("failure", slice(0, self.worlds))
        return [(int(k), texts[k].decode()) for k in np.flatnonzero(texts != b"")]

    def _worlds(self, piece: int) -> slice:
        return slice(piece * self.size, min((piece + 1) * self.size, self.worlds))

    def _read(self, name: str, rows: slice) -> Rows:
        place = self._places[name]
        shape = (rows.stop - rows.start, *place.shape[1:])
        data = read_all(
            self._descriptor, shape[0] * place.row, place.offset + rows.start * place.row
        )
        return np.frombuffer(data, place.dtype).reshape(shape)

    def _write(self, name: str, first: int, values: Rows) -> None:
        place = self._places[name]
        data = np.ascontiguousarray(values, place.dtype).tobytes()
        write_all(self._descriptor, data, place.offset + first * place.row)

    def _lock(self) -> None:
        """Keep other writers out: pysim's by a lock of records, HDF5's by one of the file, which lets readers in."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return  # some file systems have no locks
            os.close(self._descriptor)
            raise unusable(self._path, BlockingIOError()) from error


def checksum(rows: Any) -> int:  # noqa: ANN401, an iterable of arrays
    """Return the CRC-32 of the bytes of a piece."""
    code = 0
    for values in rows:
        code = zlib.crc32(np.ascontiguousarray(values).tobytes(), code)
    return code


def opened(path: Path) -> h5py.File:
    """Return the HDF5 file of a sweep, for reading.

    Raises:
        SimulationError: it cannot be opened.
    """
    import h5py  # noqa: PLC0415, which workers of a cluster do not need

    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise unusable(path, error) from error


def _place(path: Path, data: h5py.Dataset) -> _Place:
    offset = data.id.get_offset()
    if offset is None and data.size:
        raise not_a_sweep(path)
    return _Place(offset or 0, data.shape, data.dtype)


def described(path: Path) -> dict[str, Any]:
    """Return the description of the sweep in a file.

    Raises:
        SimulationError: the file cannot be opened, or is not a sweep's.
    """
    import h5py  # noqa: PLC0415

    try:
        with h5py.File(path, "r") as file:
            found = json.loads(file.attrs["sweep"]) if file.attrs["format"] == FORMAT else None
    except (KeyError, ValueError):
        found = None
    except OSError as error:
        if error.errno is not None:
            raise unusable(path, error) from error
        found = None  # no HDF5
    if not isinstance(found, dict):
        raise not_a_sweep(path)
    return found


def not_a_sweep(path: Path) -> SimulationError:
    """Return the error for a file of another kind."""
    return SimulationError(str(path), "is not the file of a sweep; choose another, or overwrite it")


def unusable(
    path: Path,
    error: OSError,
    what: str = "cannot be opened",
    remedy: str = "; choose another file",
) -> SimulationError:
    """Return the error for a file that the system refuses, with a remedy if the reason has none of its own."""
    if isinstance(error, BlockingIOError):
        problem = "is open in another program; close it there, or wait until it is done"
    else:
        problem = failure(path, what, error, remedy).problem
    return SimulationError(str(path), problem)


def load_sweep(path: str | Path) -> xarray.Dataset:
    """Open the dataset of a sweep, which xarray reads lazily.

    Raises:
        SimulationError: the file is not a sweep's, or xarray or h5netcdf is not installed.
    """
    check_installed("load_sweep", "xarray", "h5netcdf")
    import xarray  # noqa: PLC0415, an optional dependency

    described(Path(path))
    dataset = xarray.open_dataset(path, engine="h5netcdf")
    for name in ("failure", *LABELS):
        texts = dataset[name].values
        if texts.dtype.kind == "S":  # of earlier files, which have no encoding
            texts = np.char.decode(texts, "utf-8")
        dataset[name] = dataset[name].dims, texts.astype(str)
    names = [name for name in dataset.data_vars if dataset[name].dims == ("world",)]
    return dataset.set_coords([name for name in names if name != "failure"])


def _cut(text: str) -> bytes:
    """Return a text as it fits into a field."""
    data = text.encode()
    if len(data) <= FAILURE:
        return data
    end = CUT.encode()
    return data[: FAILURE - len(end)].decode(errors="ignore").encode() + end
