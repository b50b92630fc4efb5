"""Content of an open trajectory file: its header, rows, events and contact points, as far as they are valid."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError
from pysim.trajectory.contacts import read_points
from pysim.trajectory.events import read_events
from pysim.trajectory.header import FINITE, valid_rows
from pysim.trajectory.header_file import FORMAT, FORMAT_VERSION, read_header
from pysim.trajectory.parts import (
    flag,
    has_attribute,
    numbers,
    stored_rows,
    text_attribute,
    whole_number,
)
from pysim.trajectory.record import StoredRun, Trajectory, trajectory_of
from pysim.trajectory.stored_rows import StoredFile, StoredRows, by_blocks
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import h5py


def read_run(path: Path, file: h5py.File, _stored: StoredFile | None = None) -> StoredRun:
    """Return the scene of the run in a trajectory of any version, and whether it is complete."""
    _check_format(path, file)
    name = text_attribute(file, "name") if has_attribute(file, "name") else ""
    complete = False
    with suppress(ValueError):  # an attribute of another type, in a damaged file
        complete = has_attribute(file, "complete") and flag(file, "complete")
    return StoredRun(name, complete)


def read_content(
    path: Path, file: h5py.File, stored: StoredFile | None = None
) -> tuple[Trajectory, str]:
    """Return everything in a file, and why the run ended early if the file says it; rows stay in a `stored` file."""
    _check_format(path, file)
    version = whole_number(file, "format_version")
    if version != FORMAT_VERSION:
        made = text_attribute(file, "pysim_version") if has_attribute(file, "pysim_version") else ""
        problem = f"has format version {version}, this pysim reads {FORMAT_VERSION}"
        raise TrajectoryError(
            str(path), f"{problem}; use pysim {made or 'unknown'}, which wrote it"
        )
    reason = text_attribute(file, "reason") if has_attribute(file, "reason") else ""
    return _read(path, file, stored), reason


def _check_format(path: Path, file: h5py.File) -> None:
    if not has_attribute(file, "format") or text_attribute(file, "format") != FORMAT:
        problem = "is HDF5, but not a pysim trajectory; give a file that pysim wrote"
        raise TrajectoryError(str(path), problem)


def _read(path: Path, file: h5py.File, stored: StoredFile | None) -> Trajectory:
    header = read_header(file)
    complete = flag(file, "complete")
    parts = {key: numbers(file, key, (None, *row)) for key, row in header.row_shapes.items()}
    rows = min(len(part) for part in parts.values())
    for key, part in parts.items():
        if complete and len(part) != rows:
            raise ValueError(f"{key!r} has {len(part)} rows, others have {rows}")
        if complete and stored_rows(part) < rows:
            raise ValueError(f"{key!r} has {rows} rows, but {stored_rows(part)} are stored")
    if not complete:
        rows = min(stored_rows(part) for part in parts.values())
    columns = {
        key: np.asarray(part[:rows], float)
        if stored is None or key == "time"
        else _lazy_array(stored, key, rows)
        for key, part in parts.items()
    }
    good = _good_rows(columns, checked_later=complete and stored is not None)
    if complete and good < rows:
        raise ValueError(_fault_of_row(columns, good))
    columns = {
        key: values[:good]
        if isinstance(values, np.ndarray)
        else _lazy_array(stored, key, good, partial(_are_valid, key))
        for key, values in columns.items()
    }
    events = read_events(file, *header.row_shapes["q"], *header.row_shapes["v"], complete=complete)
    contacts = read_points(file, len(columns["time"]), stored)
    return trajectory_of(
        header, columns, complete=complete, source=str(path), events=events, contacts=contacts
    )


def _lazy_array(
    stored: StoredFile | None, key: str, rows: int, check: Callable[[Array], bool] = lambda _: True
) -> Any:  # noqa: ANN401, used as an array
    """Return a dataset as an array that is read when it is indexed."""
    assert stored is not None
    return StoredRows(stored, key, rows, check)


def _are_valid(key: str, values: Array) -> bool:
    return bool(valid_rows(key, values).all())


def _good_rows(columns: dict[str, Any], *, checked_later: bool) -> int:
    """Count the leading rows without a fault, each later than the one before.

    In a run that was cut short these reached the disk in full; the rest still holds the fill, NaN. Stored rows of
    complete runs are checked as they are read.
    """
    good = np.diff(columns["time"], prepend=-np.inf) > 0
    for key, values in columns.items():
        if not (checked_later and isinstance(values, StoredRows)):
            good &= by_blocks(partial(valid_rows, key), values)
    return len(good) if good.all() else int(np.argmin(good))


def _fault_of_row(columns: dict[str, Array], row: int) -> str:
    for key, values in columns.items():
        if not valid_rows(key, values[row : row + 1]).all():
            return f"{key!r} {'is not finite' if key in FINITE else 'is NaN'} in row {row}"
    return f"'time' does not increase at row {row}"
