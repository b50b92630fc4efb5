"""A new dataset of a sweep, whose space is written before it takes its name.

HDF5 describes the file in memory, and the system then writes all of its bytes: a full disk is reported before the first
world runs, and leaves nothing behind.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.files.descriptors import write_all
from pysim.sweeps.dataset import UNFINISHED, unusable
from pysim.sweeps.dataset_checksum import seal_of
from pysim.sweeps.signal_statistics import STATISTICS
from pysim.sweeps.structure import FORMAT, RESULTS
from pysim.trajectory.output_file import (
    draft_beside,
    open_draft,
    remove_abandoned_drafts,
    target_of,
)
from pysim.trajectory.page_file import MemoryFile
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    import h5py
    from numpy.typing import NDArray

BLOCK = 1 << 16  # items that are filled together
LABELS = ("signal", "statistic", "record")
ENCODING = "_Encoding"  # attribute of texts by which xarray decodes them
FILLS = {"summary": np.nan, "series": np.nan, "failure": b"", "checksum": UNFINISHED}
_SCALES = ("world", "signal", "statistic", "record", "time", "piece")


@dataclass(frozen=True)
class _Fill:
    """Items that are all the same."""

    item: NDArray[np.generic]
    count: int

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.item.dtype.itemsize * self.count


def create(
    path: Path,
    description: dict[str, Any],
    values: dict[str, Array],
    signals: list[str],
    records: list[str],
    t: Array,
    piece_size: int,
) -> None:
    """Make the file of a sweep, which appears under its name when it is complete.

    Raises:
        SimulationError: it cannot be written.
    """
    import h5py  # noqa: PLC0415, which workers of a cluster do not need

    memory = MemoryFile()
    with h5py.File(memory, "w") as file:
        file.attrs["sweep"] = json.dumps(description, sort_keys=True)
        file.attrs["format"] = FORMAT
        file.attrs["piece_size"] = piece_size
        fills = _structure(file, values, signals, records, t, piece_size)
    size = memory.seek(0, os.SEEK_END)
    seal = seal_of(size, ((offset, items.size) for offset, items in fills), memory.bytes_at)
    target = target_of(path)
    draft = draft_beside(target)
    try:
        remove_abandoned_drafts(target.parent)
        descriptor = open_draft(draft)
        try:
            os.ftruncate(descriptor, size)
            for offset, data in memory.written():
                write_all(descriptor, data, offset)
            for offset, items in fills:
                _fill(descriptor, offset, items)
            write_all(descriptor, seal, size)
            draft.replace(target)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unusable(path, error, "cannot be written") from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _structure(
    file: h5py.File,
    values: dict[str, Array],
    signals: list[str],
    records: list[str],
    t: Array,
    piece_size: int,
) -> list[tuple[int, _Fill]]:
    """Describe the datasets, write parameters and labels, and return the places of the others with what fills them."""
    worlds = len(next(iter(values.values())))
    axes: dict[str, Any] = {
        "world": np.arange(worlds),
        "signal": _texts(signals),
        "statistic": _texts(STATISTICS),
        "record": _texts(records) if records else np.zeros(0, "S1"),
        "time": t,
        "piece": np.arange(-(-worlds // piece_size)),
    }
    for name in _SCALES:
        file.create_dataset(name, data=axes[name]).make_scale(name)
    for name, column in values.items():
        _with_axes(file, file.create_dataset(name, data=column), "world")
    fills = []
    for name, (dtype, dims) in RESULTS.items():
        fill = FILLS[name]
        data = _reserve(file, name, tuple(len(axes[dim]) for dim in dims), dtype, fill)
        _with_axes(file, data, *dims)
        if data.size:
            fills.append((data.id.get_offset(), _Fill(np.array(fill, dtype), data.size)))
    for name in ("failure", *LABELS):
        file[name].attrs[ENCODING] = "utf-8"
    return fills


def _reserve(
    file: h5py.File, name: str, shape: tuple[int, ...], dtype: str, fill: object
) -> h5py.Dataset:
    """Return a dataset that has its place in the file; nothing is written to it."""
    import h5py  # noqa: PLC0415

    space = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    space.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return file.create_dataset(name, shape, dtype, fillvalue=fill, dcpl=space)


def _fill(descriptor: int, offset: int, items: _Fill) -> None:
    block = np.full(min(BLOCK, items.count), items.item).tobytes()
    size = items.item.dtype.itemsize
    for first in range(0, items.count, BLOCK):
        count = min(BLOCK, items.count - first)
        write_all(descriptor, block[: count * size], offset + first * size)


def _with_axes(file: h5py.File, data: h5py.Dataset, *dims: str) -> None:
    for axis, dim in enumerate(dims):
        data.dims[axis].attach_scale(file[dim])


def _texts(names: list[str] | tuple[str, ...]) -> NDArray[np.bytes_]:
    return np.array([name.encode() for name in names])
