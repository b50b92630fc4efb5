"""Writing a trajectory as the run goes. The layout is in `pysim.trajectory`.

A new file grows under a temporary name until its header is on disk, then takes its place: at no
moment is there a file of that name without a header. Rows are kept in memory until there are many or a second has
passed, then reach the disk together (`pysim.trajectory.page_file`), so that a kill or a write that fails
leaves all rows before. The rows go into the same file wherever it is moved.
"""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory.checkpoint import remove_checkpoints, write_checkpoint, write_origin
from pysim.trajectory.contacts import ContactPoints, append_points, joined_points
from pysim.trajectory.events import Events, append_events, joined
from pysim.trajectory.file_errors import failure
from pysim.trajectory.header import FINITE, valid_rows
from pysim.trajectory.header_file import write_header
from pysim.trajectory.output_file import (
    check_output,
    draft_beside,
    open_draft,
    remove_abandoned_drafts,
    renamed_or_removed,
    take_name,
    target_of,
)
from pysim.trajectory.page_file import PageFile
from pysim.trajectory.parts import write_attribute
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    import h5py
    from numpy.typing import ArrayLike

    from pysim.trajectory.header import TrajectoryHeader
    from pysim.trajectory.record import Trajectory

LONGEST_REASON = 2000  # characters
FLUSH_INTERVAL = 1.0  # [s] of wall time
FLUSH_BYTES = 1 << 22


class Beginning(NamedTuple):
    """Rows, events, contact points and record with which the file of a resumed run begins."""

    columns: tuple[Array, ...]
    events: Events
    contacts: ContactPoints
    record: bytes


class TrajectoryWriter:
    """Streams rows into an HDF5 file that is marked incomplete until `finish()`.

    A file of that name which is no pysim trajectory is never touched; a pysim trajectory is
    replaced with `overwrite=True`. Leaving the `with` block closes the file and does not finish it.

    `origin` describes in JSON what a run that can be resumed is made of. `beginning` is on disk before the file
    replaces another one.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        header: TrajectoryHeader,
        *,
        overwrite: bool = False,
        origin: str | None = None,
        beginning: Beginning | None = None,
    ) -> None:
        self.path = Path(path)
        self.header = header
        self.rows = 0
        self._pending: list[dict[str, Array]] = []
        self._events: list[Events] = []
        self._contacts: list[ContactPoints] = []
        self._last_time = -np.inf
        self._last_flush = time.monotonic()
        self._pages: PageFile | None = None
        self._file: h5py.File | None = None
        self._datasets: dict[str, h5py.Dataset] = {}
        self._target = target_of(self.path)
        self._create(overwrite=overwrite, origin=origin, beginning=beginning)

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
        for key, values in rows.items():
            if not valid_rows(key, values).all():
                problem = "must be finite" if key in FINITE else "must not be NaN"
                raise TrajectoryError(f"{self.path}: {key}", problem)
        times = np.concatenate([[self._last_time], rows["time"]])
        if not (np.diff(times) > 0).all():
            raise TrajectoryError(f"{self.path}: time", "must increase from row to row")
        self._last_time = float(times[-1])
        self._pending.append(rows)
        waiting = sum(len(block["time"]) for block in self._pending)
        late = time.monotonic() - self._last_flush > FLUSH_INTERVAL
        if late or waiting >= self._rows_a_flush():
            self.flush()

    def append_events(self, events: Events) -> None:
        """Add events, which go to disk with the next rows."""
        self._opened()
        if len(events):
            self._events.append(events)

    def append_contacts(self, points: ContactPoints) -> None:
        """Add the contact points of the rows that are added next; they go to disk before those."""
        self._opened()
        if self.header.contact_names:
            self._contacts.append(points)

    def flush(self) -> None:
        """Bring every row, event and contact point so far to disk."""
        self._opened()
        if self._contacts:
            points, self._contacts = joined_points(self._contacts), []
            with self._writing() as file:
                append_points(file, points)
        if self._events:
            nq, nv = len(self.header.coordinate_names), len(self.header.velocity_names)
            events, self._events = joined(self._events, nq, nv), []
            with self._writing() as file:
                append_events(file, events)
        if self._pending:
            blocks, self._pending = self._pending, []
            rows = {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}
            for first in range(0, len(rows["time"]), self._rows_a_flush()):
                part = slice(first, first + self._rows_a_flush())
                self._write_rows({key: values[part] for key, values in rows.items()})
        self._last_flush = time.monotonic()

    def checkpoint(self, record: bytes) -> None:
        """Bring every row, event and contact point so far to disk, and then what the run needs to go on from there."""
        self.flush()
        with self._writing() as file:
            write_checkpoint(file, self.rows, record)

    def _rows_a_flush(self) -> int:
        """Return the number of rows per flush: a few megabytes, and in small mechanisms a few HDF5 chunks."""
        row = sum(8 * int(np.prod(shape, dtype=int)) for shape in self.header.row_shapes.values())
        return max(1, FLUSH_BYTES // row)

    def _write_rows(self, rows: dict[str, Array]) -> None:
        total = self.rows + len(rows["time"])
        with self._writing():
            for key, values in rows.items():
                self._datasets[key].resize(total, axis=0)
                self._datasets[key][self.rows :] = values
        self.rows = total

    @contextmanager
    def _writing(self) -> Iterator[h5py.File]:
        """Bring what is written in the block to disk; after a failure, abandon the file and say why."""
        file = self._opened()
        try:
            yield file
            file.flush()
            self._commit()
        except (OSError, RuntimeError) as error:
            self._abandon()
            raise failure(self.path, "cannot write", error) from error

    def _commit(self) -> None:
        if self._pages is not None:
            self._pages.commit()

    def finish(self) -> None:
        """Write what is pending, mark the file complete and close it."""
        self.flush()
        remove_checkpoints(self._opened())  # on disk together with the mark
        self._shut("complete", True)

    def close(self, reason: str = "") -> None:
        """Write what is pending and close; without `finish()` the file stays incomplete, for this reason."""
        if self._file is not None:
            self.flush()
            self._shut("reason", reason[:LONGEST_REASON])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _opened(self) -> h5py.File:
        if self._file is None:
            raise TrajectoryError(
                str(self.path), "is closed; rows go in before finish() or close()"
            )
        return self._file

    def _shut(self, key: str, value: object) -> None:
        """Set a last attribute, unless it is empty, and close once the disk has everything."""
        file, pages, fate = self._opened(), self._pages, ""
        try:
            if value:
                write_attribute(file, key, value)
            self._datasets.clear()
            file.close()  # writes to the pages
            self._commit()
            if pages is not None:
                pages.sync()
                fate = renamed_or_removed(pages.descriptor, self._target)
                pages.close()
        except (OSError, RuntimeError) as error:
            self._abandon()
            raise failure(self.path, "cannot write", error) from error
        self._file, self._pages = None, None
        if fate:
            warnings.warn(f"{self.path}: {fate}", PysimWarning, stacklevel=3)

    def _abandon(self) -> None:
        """Close a file that cannot be written any more; committed data remains."""
        file, self._file, self._pending, self._events = self._file, None, [], []
        self._contacts = []
        pages, self._pages = self._pages, None
        self._datasets.clear()
        with suppress(OSError, RuntimeError):  # the error that brought us here is the one to report
            if file is not None:
                file.close()
        with suppress(OSError):
            if pages is not None:
                pages.close()

    def _create(self, *, overwrite: bool, origin: str | None, beginning: Beginning | None) -> None:
        import h5py  # noqa: PLC0415, costs 0.1 s

        draft = draft_beside(self._target)
        try:
            check_output(self.path, self._target, overwrite=overwrite)
            remove_abandoned_drafts(self._target.parent)
            self._pages = PageFile(open_draft(draft))
            self._file = h5py.File(self._pages, "w")
            with self._writing() as file:
                write_header(file, self.header)
                if origin is not None:
                    write_origin(file, origin)
            self._datasets = {key: self._file[key] for key in self.header.row_shapes}
            if beginning is not None:
                self.append_contacts(beginning.contacts)
                self.append_events(beginning.events)
                self.append(*beginning.columns)
                self.checkpoint(beginning.record)
            take_name(draft, self.path, self._target, overwrite=overwrite)
        except BaseException as error:
            self._abandon()
            draft.unlink(missing_ok=True)
            if isinstance(error, OSError | RuntimeError):
                raise failure(self.path, "cannot write", error) from error
            raise


def save(trajectory: Trajectory, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a trajectory to `path`; see `pysim.trajectory` for the layout."""
    with TrajectoryWriter(path, trajectory.header, overwrite=overwrite) as writer:
        writer.append_contacts(trajectory.contacts)
        writer.append(*trajectory.columns)
        writer.append_events(trajectory.events)
        if trajectory.complete:
            writer.finish()
