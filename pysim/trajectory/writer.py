"""Writing a trajectory as the run goes. The layout is in `pysim.trajectory`.

A new file grows under a temporary name until its header is on disk, then takes its place: at no
moment is there a file of that name without a header. Rows are kept in memory until a chunk is
full or a second has passed, then written and flushed at once, so that a kill finds the file whole. Whatever becomes of
the name, the rows go into the file that had it.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory.destination import (
    check_output,
    draft_beside,
    fate_of_name,
    hold,
    take_name,
    target_of,
)
from pysim.trajectory.events import CHUNK, Events, append_events, joined
from pysim.trajectory.header_file import chunk_rows, write_header
from pysim.trajectory.reader import failure
from pysim.trajectory.record import FINITE

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    import h5py
    from numpy.typing import ArrayLike, NDArray

    from pysim.trajectory.record import TrajectoryHeader

    Array = NDArray[np.float64]

METADATA_BYTES = 1 << 15  # HDF5's own records, more than one flush adds
LONGEST_REASON = 2000  # characters
FLUSH_INTERVAL = 1.0  # [s] of wall time


class TrajectoryWriter:
    """Streams rows into an HDF5 file that is marked incomplete until `finish()`.

    A file of that name which is no pysim trajectory is never touched; a pysim trajectory is
    replaced with `overwrite=True`. Leaving the `with` block closes the file and does not finish it.
    """

    def __init__(
        self, path: str | PathLike[str], header: TrajectoryHeader, *, overwrite: bool = False
    ) -> None:
        self.path = Path(path)
        self.header = header
        self.rows = 0
        self._pending: list[dict[str, Array]] = []
        self._events: list[Events] = []
        self._last_time = -np.inf
        self._last_flush = time.monotonic()
        self._file: h5py.File | None = None
        self._target = target_of(self.path)
        self._create(overwrite=overwrite)

    def append(self, *columns: ArrayLike) -> None:
        """Add k rows, an array (k, …) for each of the header's `row_shapes`, in its order.

        t and energies (k,), q (k, nq), v and a (k, nv), poses (k, nbodies, 7), then what loops and couplings do.
        """
        self._opened()
        shapes = self.header.row_shapes
        if len(columns) != len(shapes):
            problem = f"takes {len(shapes)} arrays ({', '.join(shapes)}), got {len(columns)}"
            raise TrajectoryError(f"{self.path}: rows", problem)
        rows = {key: np.array(value, float) for key, value in zip(shapes, columns, strict=True)}
        count = rows["time"].size
        for key, shape in shapes.items():
            if rows[key].shape != (count, *shape):
                problem = f"must have shape {(count, *shape)}, got {rows[key].shape}"
                raise TrajectoryError(f"{self.path}: {key}", problem)
        for key in FINITE:
            if not np.isfinite(rows[key]).all():
                raise TrajectoryError(f"{self.path}: {key}", "must be finite")
        times = np.concatenate([[self._last_time], rows["time"]])
        if not (np.diff(times) > 0).all():
            raise TrajectoryError(f"{self.path}: time", "must increase from row to row")
        self._last_time = float(times[-1])
        self._pending.append(rows)
        waiting = sum(len(block["time"]) for block in self._pending)
        late = time.monotonic() - self._last_flush > FLUSH_INTERVAL
        if late or waiting >= chunk_rows(self.header, "poses"):
            self.flush()

    def append_events(self, events: Events) -> None:
        """Add events, which go to disk with the next rows."""
        self._opened()
        if len(events):
            self._events.append(events)

    def flush(self) -> None:
        """Bring every row and event so far to disk."""
        file = self._opened()
        if self._events:
            self._flush_events(file)
        if self._pending:
            blocks, self._pending = self._pending, []
            rows = {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}
            total = self.rows + len(rows["time"])
            try:
                self._reserve(file, total)
                for key, values in rows.items():
                    file[key].resize(total, axis=0)
                    file[key][self.rows :] = values
                file.flush()
                os.ftruncate(file.id.get_vfd_handle(), file.id.get_filesize())
            except (OSError, RuntimeError) as error:
                self._abandon()
                raise failure(self.path, "cannot write", error) from error
            self.rows = total
        self._last_flush = time.monotonic()

    def _flush_events(self, file: h5py.File) -> None:
        nq, nv = len(self.header.coordinate_names), len(self.header.velocity_names)
        events, self._events = joined(self._events, nq, nv), []
        try:
            self._claim(file, (len(events) + CHUNK) * (1 + nq + nv + 4) * 8)
            append_events(file, events)
            file.flush()
            os.ftruncate(file.id.get_vfd_handle(), file.id.get_filesize())
        except (OSError, RuntimeError) as error:
            self._abandon()
            raise failure(self.path, "cannot write", error) from error

    def finish(self) -> None:
        """Write what is pending, mark the file complete and close it."""
        self.flush()
        file = self._opened()
        self._mark(file, "complete", True)
        self._shut(file)

    def close(self, reason: str = "") -> None:
        """Write what is pending and close; without `finish()` the file stays incomplete, for this reason."""
        if self._file is not None:
            self.flush()
            file = self._opened()
            if reason:
                self._mark(file, "reason", reason[:LONGEST_REASON])
            self._shut(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _opened(self) -> h5py.File:
        if self._file is None:
            raise TrajectoryError(
                str(self.path), "is closed; rows go in before finish() or close()"
            )
        return self._file

    def _mark(self, file: h5py.File, key: str, value: object) -> None:
        try:
            file.attrs[key] = value
        except (OSError, RuntimeError) as error:
            self._abandon()
            raise failure(self.path, "cannot write", error) from error

    def _shut(self, file: h5py.File) -> None:
        self._file = None
        fate = fate_of_name(file.id.get_vfd_handle(), self._target)
        try:
            file.close()
        except (OSError, RuntimeError) as error:
            raise failure(self.path, "cannot write", error) from error
        if fate:
            warnings.warn(f"{self.path}: {fate}", PysimWarning, stacklevel=3)

    def _abandon(self) -> None:
        """Let go of a file that cannot be written any more; what was flushed stays."""
        file, self._file, self._pending, self._events = self._file, None, [], []
        if file is not None:
            try:
                file.close()
            except (OSError, RuntimeError):
                return  # the error that brought us here is the one to report

    def _reserve(self, file: h5py.File, total: int) -> None:
        """Claim the room for `total` rows; HDF5 cannot read a file that it failed to write."""
        needed = 0
        for key, shape in self.header.row_shapes.items():
            chunk = chunk_rows(self.header, key)
            chunks = -(-total // chunk) + (-self.rows // chunk)
            needed += chunks * chunk * 8 * int(np.prod(shape, dtype=int))
        self._claim(file, needed)

    def _claim(self, file: h5py.File, needed: int) -> None:
        """Claim room for `needed` bytes and HDF5's own records."""
        if needed and hasattr(os, "posix_fallocate"):
            end = file.id.get_filesize()
            os.posix_fallocate(file.id.get_vfd_handle(), end, needed + METADATA_BYTES)

    def _create(self, *, overwrite: bool) -> None:
        import h5py  # noqa: PLC0415, costs 0.1 s

        draft = draft_beside(self._target)
        try:
            check_output(self.path, self._target, overwrite=overwrite)
            self._file = h5py.File(draft, "x")
            hold(self._file.id.get_vfd_handle())
            write_header(self._file, self.header)
            self._file.flush()
            take_name(draft, self.path, self._target, overwrite=overwrite)
        except BaseException as error:
            self._abandon()
            draft.unlink(missing_ok=True)
            if isinstance(error, OSError | RuntimeError):
                raise failure(self.path, "cannot write", error) from error
            raise
