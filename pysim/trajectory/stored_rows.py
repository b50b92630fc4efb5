"""Rows of a trajectory file that are read when they are indexed, so that memory does not grow with the file.

An index reads block by block, each a few megabytes of whole HDF5 chunks, and keeps what it selects. Rows are checked as
they are read. A `StoredFile` can be pickled: another process opens the same file, if it is unchanged.
"""

from __future__ import annotations

import operator
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from pysim.errors import TrajectoryError
from pysim.files.descriptors import open_file
from pysim.trajectory.file_errors import reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike, NDArray

    from pysim.trajectory.page_checks import Commit

    Array = NDArray[Any]

BLOCK_BYTES = 1 << 22  # of rows that are read together


class StoredFile:
    """HDF5 file whose pages have been compared with their checksums, open for reading."""

    def __init__(self, path: Path, descriptor: int, commit: Commit) -> None:
        import h5py  # noqa: PLC0415, costs 0.1 s

        self.path, self._descriptor, self._commit = path, descriptor, commit
        self._state = _state_of(descriptor)
        self.file = h5py.File(commit.opened(descriptor), "r")

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (self.path.absolute(), self._state, self._commit)

    def __del__(self) -> None:
        with suppress(OSError, AttributeError, RuntimeError):
            self.file.close()
        with suppress(OSError, AttributeError):
            os.close(self._descriptor)


def _state_of(descriptor: int) -> tuple[int, ...]:
    """Return the identity of a file and of its present contents: it differs for other files and after a change."""
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _opened_again(path: Path, state: tuple[int, ...], commit: Commit) -> StoredFile:
    try:
        descriptor = open_file(path)
    except FileNotFoundError:
        problem = "was removed while its rows were read; run again"
        raise TrajectoryError(str(path), problem) from None
    if _state_of(descriptor) != state:
        os.close(descriptor)
        raise TrajectoryError(str(path), "was changed while its rows were read; open it again")
    return StoredFile(path, descriptor, commit)


class StoredRows(NDArrayOperatorsMixin):
    """Dataset (n, …) of a file, in the form of an array; every index, operator and function of NumPy reads it anew.

    `check` returns whether rows are valid, and `fault` is the error of those that are not.
    """

    def __init__(
        self,
        source: StoredFile,
        key: str,
        rows: int,
        check: Callable[[Array], bool],
        dtype: DTypeLike = float,
    ) -> None:
        stored = source.file[key]
        self._source, self._key, self._check = source, key, check
        self.shape: tuple[int, ...] = (rows, *stored.shape[1:])
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        chunk = stored.chunks[0] if stored.chunks else 1
        row = 8 * max(1, int(np.prod(self.shape[1:], dtype=int)))
        self._block = chunk * max(1, BLOCK_BYTES // (chunk * row))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{self._key!r} of {self._source.path}: {self.shape}, read when indexed>"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        whole: Array = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:  # noqa: ANN401
        plain = [np.asarray(x) if isinstance(x, StoredRows) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks():
            yield from block

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401, as arrays
        first, *columns = index if isinstance(index, tuple) else (index,)
        if first is Ellipsis:
            dropped = sum(part is not None for part in columns)
            first, columns = slice(None), [slice(None)] * (self.ndim - 1 - dropped) + columns
        if first is None:
            return self[:][index]
        if isinstance(first, slice):
            return self._selected(np.arange(len(self))[first], columns)
        rows = np.asarray(first)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        if rows.ndim == 0:
            row = range(len(self))[operator.index(first)]
            return self._read(row, row + 1)[(0, *columns)]
        rows = np.where(rows < 0, rows + len(self), rows)
        if rows.size and (rows.min() < 0 or rows.max() >= len(self)):
            raise IndexError(f"rows of {self._key!r} must lie within {len(self)}")
        different, inverse = np.unique(rows, return_inverse=True)
        chosen: Array = self._selected(different, [])[(inverse.reshape(rows.shape), *columns)]
        return chosen

    def blocks(self) -> Iterator[Array]:
        """Yield all rows, a few megabytes at a time."""
        for first in range(0, len(self), self._block):
            yield self._read(first, min(first + self._block, len(self)))

    def _selected(self, rows: NDArray[np.intp], columns: list[Any]) -> Array:
        """Return increasing or decreasing rows, indexed further by `rest`."""
        edges = np.flatnonzero(np.diff(rows // self._block)) + 1
        chosen, done = self._read(0, 0)[(slice(None), *columns)], 0
        chosen = np.empty((len(rows), *chosen.shape[1:]), self.dtype)
        for some in np.split(rows, edges) if len(rows) else ():
            low, high = int(some.min()), int(some.max()) + 1
            block = self._read(low, high)
            if len(some) < len(block) or some[0] > some[-1]:
                block = block[some - low]
            chosen[done : done + len(some)] = block[(slice(None), *columns)]
            done += len(some)
        return chosen

    def _read(self, first: int, last: int) -> Array:
        with reported(self._source.path):
            found = np.asarray(self._source.file[self._key][first:last], float)
            if len(found) != last - first or not self._check(found):
                raise ValueError(f"{self._key!r} is not valid in the rows {first} to {last - 1}")
        return found.astype(self.dtype, copy=False)


def by_blocks(function: Callable[[Array], Array], rows: Array) -> Array:
    """Return function(rows) for a function that treats every row alone; stored rows are read block by block."""
    stored: Any = rows
    if not isinstance(stored, StoredRows):
        return function(rows)
    return np.concatenate([function(block) for block in stored.blocks()] or [function(stored[:])])
