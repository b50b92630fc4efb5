"""Dataset of a sweep: an HDF5 file in the layout of netCDF-4, written piece by piece.

    summary   (world, signal, statistic)   statistics of each signal
    series    (world, record, time)        recorded signals
    failure   (world)                      why a world ended early; empty if it did not
    KEY       (world)                      value of each parameter
    checksum  (piece)                      CRC-32 of a finished piece of worlds, else -1

All space is written when the file is made (`pysim.sweeps.new_dataset`). A piece then replaces bytes at known places,
without HDF5: a process that is killed at any time leaves a readable file, and a piece without its checksum is computed
again. Other programs may read the file meanwhile. Everything that is read is compared with a checksum: results with
that of their piece, the rest with that of the file (`pysim.sweeps.dataset_checksum`).
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pysim.errors import SimulationError
from pysim.files.descriptors import lock_file, lock_records, open_file, read_all, write_all
from pysim.sweeps.extras import check_installed
from pysim.sweeps.structure import (
    DONE_BY_PIECE,
    FAILURE,
    RESULTS,
    Structure,
    damaged,
    structure_of,
)
from pysim.trajectory.file_errors import failure
from pysim.typing import Array

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    Rows = NDArray[np.generic]

CUT = "…"  # at the end of a reason that does not fit
UNFINISHED = -1  # in place of a checksum


class SweepFile:
    """A sweep's open file; with `write`, pieces can be written, by one process at a time."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self._path, self._descriptor = path, -1
        try:
            self._descriptor = open_file(path, write=write)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            self._check_regular()
            self._lock(write=write)
            self.structure: Structure = structure_of(path, self._descriptor)
        except OSError as error:
            self.close()
            raise unusable(path, error) from error
        except BaseException:
            self.close()
            raise
        self.size = self.structure.piece_size
        self._checked: set[int] = set()  # pieces that match their checksums

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[SweepFile], tuple[Path]]:
        """Open the file again in another process, for reading."""
        return SweepFile, (self._path.absolute(),)

    @property
    def worlds(self) -> int:
        """Number of worlds of the sweep."""
        return self.structure.worlds

    @property
    def pieces(self) -> int:
        """Number of pieces of the sweep."""
        return self.structure.lengths["piece"]

    def unfinished(self) -> list[slice]:
        """Return the worlds of the pieces that are missing or damaged."""
        found = []
        for piece in range(self.pieces):
            try:
                finished = self.is_finished(piece)
            except SimulationError:
                finished = False
            if not finished:
                found.append(self.worlds_of(piece))
        return found

    def is_finished(self, piece: int) -> bool:
        """Return whether a piece is computed, after comparing its results with their checksum.

        Raises:
            SimulationError: they do not match.
        """
        if piece in self._checked:
            return True
        (mark,) = self._read("checksum", slice(piece, piece + 1)).tolist()
        if mark == UNFINISHED:
            return False
        worlds = self.worlds_of(piece)
        if mark != checksum(self._read(name, worlds) for name in DONE_BY_PIECE):
            which = f"the results of worlds {worlds.start} to {worlds.stop - 1}"
            problem = f"is damaged, {which} do not match their checksum"
            remedy = "run the sweep again, which computes these anew, or copy the file again"
            raise SimulationError(str(self._path), f"{problem}; {remedy}")
        self._checked.add(piece)
        return True

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

    def rows(self, name: str, worlds: slice) -> Rows:
        """Return the summary, series or failures of consecutive worlds; NaN or no text for those that are not computed.

        Raises:
            SimulationError: they do not match their checksum.
        """
        found = np.empty(
            (worlds.stop - worlds.start, *self.structure.shape(name)[1:]), RESULTS[name][0]
        )
        for piece in range(worlds.start // self.size, -(-worlds.stop // self.size)):
            part = self.worlds_of(piece)
            first, last = max(part.start, worlds.start), min(part.stop, worlds.stop)
            values = self._read(name, slice(first, last)) if self.is_finished(piece) else None
            fill: object = np.nan if found.dtype.kind == "f" else b""
            found[first - worlds.start : last - worlds.start] = fill if values is None else values
        return found

    def checksums(self) -> Rows:
        """Return the CRC-32 of each piece, -1 where it is not computed."""
        return self._read("checksum", slice(0, self.pieces))

    def summary(self, world: int) -> Rows:
        """Return the statistics (signals, statistics) of a world."""
        return np.asarray(self.rows("summary", slice(world, world + 1))[0])

    def failures(self) -> list[tuple[int, str]]:
        """Return the worlds that ended early and why."""
        texts = self.rows("failure", slice(0, self.worlds))
        return [(int(k), texts[k].decode()) for k in np.flatnonzero(texts != b"")]

    def worlds_of(self, piece: int) -> slice:
        """Return the worlds of a piece."""
        return slice(piece * self.size, min((piece + 1) * self.size, self.worlds))

    def _read(self, name: str, rows: slice) -> Rows:
        kind = np.dtype(RESULTS[name][0])
        shape = (rows.stop - rows.start, *self.structure.shape(name)[1:])
        row = self._row(name)
        offset = self.structure.offsets[name] + rows.start * row
        try:
            data = read_all(self._descriptor, shape[0] * row, offset)
        except OSError as error:
            raise unusable(self._path, error, "cannot be read") from error
        if len(data) != shape[0] * row:
            raise damaged(self._path, f"the file ends within {name!r}")
        return np.frombuffer(data, kind).reshape(shape)

    def _write(self, name: str, first: int, values: Rows) -> None:
        data = np.ascontiguousarray(values, RESULTS[name][0]).tobytes()
        write_all(self._descriptor, data, self.structure.offsets[name] + first * self._row(name))

    def _row(self, name: str) -> int:
        """Return the bytes of an item of the first dimension."""
        length = int(np.prod(self.structure.shape(name)[1:], dtype=int))
        return length * np.dtype(RESULTS[name][0]).itemsize

    def _check_regular(self) -> None:
        mode = os.fstat(self._descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            problem = "is not a regular file; give the dataset of a sweep"
            raise SimulationError(str(self._path), problem)

    def _lock(self, *, write: bool) -> None:
        """Keep writers out: pysim's by a lock of records, HDF5's by one of the file, which lets readers in."""
        try:
            lock_file(self._descriptor, write=False)
            if write:
                lock_records(self._descriptor)
        except BlockingIOError:
            raise
        except OSError:
            return  # some file systems have no locks


def checksum(rows: Any) -> int:  # noqa: ANN401, an iterable of arrays
    """Return the CRC-32 of the bytes of a piece."""
    code = 0
    for values in rows:
        code = zlib.crc32(np.ascontiguousarray(values).tobytes(), code)
    return code


def described(path: Path) -> dict[str, Any]:
    """Return the description of the sweep in a file.

    Raises:
        SimulationError: the file cannot be opened, is not a sweep's, or is damaged.
    """
    with SweepFile(path) as file:
        return file.structure.description


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

    Results are compared with their checksums as they are read; those of worlds that are not computed are NaN.

    Raises:
        SimulationError: the file is not a sweep's or is damaged, or xarray is not installed.
    """
    check_installed("load_sweep", "xarray")
    import xarray  # noqa: PLC0415, an optional dependency

    from pysim.sweeps.lazy_dataset import SweepBackend  # noqa: PLC0415

    return xarray.open_dataset(Path(path), engine=SweepBackend)


def _cut(text: str) -> bytes:
    """Return a text as it fits into a field."""
    data = text.encode()
    if len(data) <= FAILURE:
        return data
    end = CUT.encode()
    return data[: FAILURE - len(end)].decode(errors="ignore").encode() + end
