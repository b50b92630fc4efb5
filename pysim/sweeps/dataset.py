"""Dataset of a sweep: an HDF5 file in the layout of netCDF-4, written piece by piece.

    summary   (world, signal, statistic)   statistics of each signal
    series    (world, record, time)        recorded signals
    failure   (world)                      why a world ended early; empty if it did not
    KEY       (world)                      value of each parameter
    checksum  (piece)                      CRC-32 of a finished piece of worlds, else -1

All space is allocated when the file is made, so that later writes change no structure of the file: a process that is
killed at any time leaves a readable file, and a piece without its checksum is computed again.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pysim.errors import SimulationError
from pysim.sweeps.quantities import STATISTICS

if TYPE_CHECKING:
    import h5py
    import xarray
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FORMAT = 1
FAILURE = 240  # bytes of a reason
_SCALES = ("world", "signal", "statistic", "record", "time", "piece")
_DONE_BY_PIECE = ("summary", "series", "failure")


class SweepFile:
    """A sweep's open file."""

    def __init__(self, path: Path, mode: str = "r") -> None:
        import h5py  # noqa: PLC0415, which workers of a cluster do not need

        try:
            self._file = h5py.File(path, mode)
        except OSError as error:
            raise _unopened(path, error) from error
        self.size = int(self._file.attrs["piece_size"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def worlds(self) -> int:
        """Number of worlds of the sweep."""
        return int(self._file["world"].shape[0])

    def unfinished(self) -> list[slice]:
        """Return the worlds of the pieces that are missing or damaged."""
        marks = self._file["checksum"][:]
        return [
            self._worlds(k)
            for k, mark in enumerate(marks.tolist())
            if mark < 0 or mark != self._checksum(self._worlds(k))
        ]

    def write(self, worlds: slice, summary: Array, series: Array, failures: list[str]) -> None:
        """Write a piece, and then its checksum."""
        self._file["summary"][worlds] = summary
        if series.size:
            self._file["series"][worlds] = series
        texts = [_cut(text) for text in failures]
        self._file["failure"][worlds] = np.array(texts, f"S{FAILURE}")
        self._file.flush()
        self._file["checksum"][worlds.start // self.size] = self._checksum(worlds)
        self._file.flush()

    def failures(self) -> list[tuple[int, str]]:
        """Return the worlds that ended early and why."""
        texts = self._file["failure"][:]
        return [(int(k), texts[k].decode()) for k in np.flatnonzero(texts != b"")]

    def _worlds(self, piece: int) -> slice:
        return slice(piece * self.size, min((piece + 1) * self.size, self.worlds))

    def _checksum(self, worlds: slice) -> int:
        code = 0
        for name in _DONE_BY_PIECE:
            data = self._file[name]
            if data.size:
                code = zlib.crc32(np.ascontiguousarray(data[worlds]).tobytes(), code)
        return code


def create(
    path: Path,
    description: dict[str, Any],
    values: dict[str, Array],
    signals: list[str],
    records: list[str],
    t: Array,
    piece_size: int,
) -> None:
    """Make the file of a sweep, which appears under its name when it is complete in structure."""
    import h5py  # noqa: PLC0415

    draft = path.with_name(f".{path.name}.part")
    worlds = len(next(iter(values.values())))
    pieces = -(-worlds // piece_size)
    with h5py.File(draft, "w") as file:
        file.attrs["sweep"] = json.dumps(description, sort_keys=True)
        file.attrs["format"] = FORMAT
        file.attrs["piece_size"] = piece_size
        axes: dict[str, Any] = {
            "world": np.arange(worlds),
            "signal": _texts(signals),
            "statistic": _texts(STATISTICS),
            "record": _texts(records) if records else np.zeros(0, "S1"),
            "time": t,
            "piece": np.arange(pieces),
        }
        for name in _SCALES:
            file.create_dataset(name, data=axes[name]).make_scale(name)
        for name, column in values.items():
            _with_axes(file, file.create_dataset(name, data=column), "world")
        sizes = {name: len(axis) for name, axis in axes.items()}
        for name, dims, dtype, fill in (
            ("summary", ("world", "signal", "statistic"), "f8", np.nan),
            ("series", ("world", "record", "time"), "f8", np.nan),
            ("failure", ("world",), f"S{FAILURE}", b""),
            ("checksum", ("piece",), "i8", -1),
        ):
            space = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            space.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            shape = tuple(sizes[dim] for dim in dims)
            data = file.create_dataset(name, shape, dtype, fillvalue=fill, dcpl=space)
            _with_axes(file, data, *dims)
    draft.replace(path)


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
            raise _unopened(path, error) from error
        found = None  # no HDF5
    if not isinstance(found, dict):
        raise SimulationError(
            str(path), "is not the file of a sweep; choose another, or overwrite it"
        )
    return found


def _unopened(path: Path, error: OSError) -> SimulationError:
    if isinstance(error, BlockingIOError):
        problem = "is open in another program; close it there, or wait until it is done"
    else:
        reason = os.strerror(error.errno).lower() if error.errno is not None else str(error)
        problem = f"cannot be opened, {reason}; choose another file"
    return SimulationError(str(path), problem)


def load_sweep(path: str | Path) -> xarray.Dataset:
    """Open the dataset of a sweep, which xarray reads lazily.

    Raises:
        SimulationError: the file is not a sweep's.
    """
    import xarray  # noqa: PLC0415, an optional dependency

    described(Path(path))
    dataset = xarray.open_dataset(path, engine="h5netcdf")
    for name in ("failure", "signal", "statistic", "record"):
        dataset[name] = dataset[name].dims, np.char.decode(dataset[name].values, "utf-8")
    names = [name for name in dataset.data_vars if dataset[name].dims == ("world",)]
    return dataset.set_coords([name for name in names if name != "failure"])


def _with_axes(file: h5py.File, data: h5py.Dataset, *dims: str) -> None:
    for axis, dim in enumerate(dims):
        data.dims[axis].attach_scale(file[dim])


def _texts(names: list[str] | tuple[str, ...]) -> NDArray[np.bytes_]:
    return np.array([name.encode() for name in names])


def _cut(text: str) -> bytes:
    """Return the start of a text that fits into a field."""
    return text.encode()[:FAILURE].decode(errors="ignore").encode()
