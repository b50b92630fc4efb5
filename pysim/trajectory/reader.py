"""Reading a trajectory back, whole or cut short. The layout is in `pysim.trajectory`.

libhdf5 trusts what it parses: damage can crash it or make it run forever. This module therefore lets it
parse only files whose pages have their checksums; any other is read by a child process with limits
(`pysim.trajectory.isolated_reader`).
"""

from __future__ import annotations

import errno
import fcntl
import os
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory.checkpoint import Checkpoint, read_checkpoint, read_origin
from pysim.trajectory.contacts import read_points
from pysim.trajectory.events import read_events
from pysim.trajectory.header_file import FORMAT, FORMAT_VERSION, read_header
from pysim.trajectory.isolated_reader import read_by_child
from pysim.trajectory.page_checks import checked_commit, is_hdf5
from pysim.trajectory.parts import (
    flag,
    has_attribute,
    numbers,
    stored_rows,
    text_attribute,
    whole_number,
)
from pysim.trajectory.record import FINITE, StoredRun, Trajectory, trajectory_of, valid_rows
from pysim.trajectory.stored_rows import StoredFile, StoredRows, by_blocks
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    import h5py

Found = TypeVar("Found")
STREAMED = 1 << 28  # bytes of a file beyond which pictures read it as a stream


def load_trajectory(path: str | PathLike[str], *, stream: bool = False) -> Trajectory:
    """Read a trajectory file; one that was cut short is read as far as it goes, with a warning.

    Args:
        path: the file.
        stream: leave the rows in the file, except for their times, and read them when the arrays are indexed or used
            with NumPy, so that memory does not grow with the file. A file that another program wrote is read whole.

    Raises:
        TrajectoryError: the file is not a trajectory, is in use or is damaged.
    """
    path = Path(path)
    trajectory, reason = _read_from(path, read_whole, "whole", stream=stream)
    object.__setattr__(trajectory, "folder", path.resolve().parent)
    if not trajectory.complete:
        end = f"its last time is {trajectory.t[-1]:g} s" if len(trajectory) else "it has no rows"
        why = f", {reason}" if reason else ""
        text = f"{path}: incomplete, the run was cut short; {end}{why}"
        warnings.warn(text, PysimWarning, stacklevel=2)
    return trajectory


def is_trajectory(path: Path) -> bool:
    """Return whether a file is a pysim trajectory, of any version. One that is in use is an error."""
    return name_in(path) is not None


def name_in(path: Path) -> str | None:
    """Return the name of the scene in a trajectory of any version, None for any other file.

    Raises:
        TrajectoryError: the file is in use.
    """
    found = stored_run(path)
    return None if found is None else found.name


def stored_run(path: Path) -> StoredRun | None:
    """Return the scene of the run in a trajectory of any version and whether it is complete, None for any other file.

    Raises:
        TrajectoryError: the file is in use.
    """
    if not path.is_file():
        return None
    try:
        return _read_from(path, read_run, "run")
    except TrajectoryError as error:
        if error.__cause__ is not None and _in_use(error.__cause__):
            raise
        return None


def load_stopped_run(path: Path) -> tuple[Trajectory, str | None, Checkpoint | None]:
    """Read the trajectory of a run that did not reach its end, what the run was made of, and its last checkpoint.

    Raises:
        TrajectoryError: the file is not a trajectory, is in use, is damaged, or another program has written it.
    """
    found: tuple[Any, ...] = _read_from(path, _read_stopped, "whole")
    if len(found) != 3:  # read by a child
        problem = (
            "is damaged, or was changed by another program, so that its checkpoint is not trusted"
        )
        raise TrajectoryError(str(path), f"{problem}; run the scene again with --overwrite")
    return found


def _read_stopped(
    path: Path, file: h5py.File, _stored: StoredFile | None = None
) -> tuple[Trajectory, str | None, Checkpoint | None]:
    trajectory, _ = read_whole(path, file)
    return trajectory, read_origin(file), read_checkpoint(file)


def load_for_pictures(path: str | PathLike[str]) -> Trajectory:
    """Read a trajectory file as `load_trajectory` does, a large one as a stream."""
    path = Path(path)
    return load_trajectory(path, stream=path.is_file() and path.stat().st_size > STREAMED)


def _read_from(
    path: Path,
    read: Callable[[Path, h5py.File, StoredFile | None], Found],
    what: str,
    *,
    stream: bool = False,
) -> Found:
    """Open a file, check its pages and let `read` read it, here or in a child process."""
    if not path.exists():
        raise TrajectoryError(str(path), "does not exist; a run with -o writes it")
    if path.is_dir():
        raise TrajectoryError(str(path), "is a folder; give the trajectory file in it")
    if not path.is_file():
        raise TrajectoryError(
            str(path), "is not a regular file; give a trajectory that pysim wrote"
        )
    with reported(path), path.open("rb") as opened:
        descriptor = opened.fileno()
        _check_unlocked(descriptor)
        if not is_hdf5(descriptor):
            problem = "is not an HDF5 file; give a trajectory that pysim wrote"
            raise TrajectoryError(str(path), problem)
        commit = checked_commit(descriptor)
        if commit is None:
            found: Found = read_by_child(path, what)
            return found

        import h5py  # noqa: PLC0415, costs 0.1 s

        if stream:
            stored = StoredFile(path, os.dup(descriptor), commit)
            return read(path, stored.file, stored)
        with h5py.File(commit.opened(descriptor), "r") as file:
            return read(path, file, None)


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Raise every error of reading a file as one of that file, in a user's words."""
    try:
        yield
    except TrajectoryError as error:
        if error.where != str(path):  # a header whose parts disagree
            raise damaged(path, str(error)) from error
        raise
    except (LookupError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
        raise damaged(path, _plain(error)) from error
    except MemoryError as error:
        problem = "does not fit into memory; run again with a longer output.every"
        raise TrajectoryError(str(path), problem) from error
    except (OSError, RuntimeError) as error:
        raise failure(path, "cannot read", error, "; copy it again, or run again") from error


def damaged(path: Path, what: str) -> TrajectoryError:
    """Return the error of a damaged file."""
    return TrajectoryError(str(path), f"is damaged, {what}; run again")


def _check_unlocked(descriptor: int) -> None:
    """Raise BlockingIOError for a file that someone writes; keep others from writing it meanwhile."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return  # a file system without locks


def failure(path: Path, what: str, error: Exception, otherwise: str = "") -> TrajectoryError:
    """Return the error for a failure of the file system or HDF5; `otherwise` is the fallback remedy."""
    if _in_use(error):
        problem = "another program is writing it; wait until it is done"
        return TrajectoryError(str(path), problem)
    number = getattr(error, "errno", None) or _errno_in(str(error))
    remedy = {
        errno.ENOSPC: "; make room on the disk",
        errno.EDQUOT: "; make room in the quota",
        errno.EFBIG: "; raise the limit on file sizes",
        errno.EACCES: "; choose a place with access",
        errno.EROFS: "; choose a place that can be written",
        errno.ENAMETOOLONG: "; choose a shorter name",
    }.get(number or 0, otherwise)
    reason = os.strerror(number).lower() if number else _plain(error)
    return TrajectoryError(str(path), f"{what}, {reason}{remedy}")


def _plain(error: Exception) -> str:
    """Return the first line of an error's text, without a capital."""
    text = str(error.args[0] if error.args else error).splitlines()
    return (text[0][:1].lower() + text[0][1:]) if text else type(error).__name__


def _errno_in(text: str) -> int | None:
    """Return the system's error number, which HDF5 includes in its text: `errno = 28`."""
    _, found, rest = text.partition("errno = ")
    digits = rest.split(",")[0].strip()
    return int(digits) if found and digits.isdigit() else None


def _in_use(error: BaseException) -> bool:
    return isinstance(error, BlockingIOError) or "unable to lock file" in str(error)


def read_run(path: Path, file: h5py.File, _stored: StoredFile | None = None) -> StoredRun:
    """Return the scene of the run in a trajectory of any version, and whether it is complete."""
    _check_format(path, file)
    name = text_attribute(file, "name") if has_attribute(file, "name") else ""
    complete = False
    with suppress(ValueError):  # an attribute of another type, in a damaged file
        complete = has_attribute(file, "complete") and flag(file, "complete")
    return StoredRun(name, complete)


def read_whole(
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
        else _rows(stored, key, rows)
        for key, part in parts.items()
    }
    good = _good_rows(columns, checked_later=complete and stored is not None)
    if complete and good < rows:
        raise ValueError(_fault_of_row(columns, good))
    columns = {
        key: values[:good]
        if isinstance(values, np.ndarray)
        else _rows(stored, key, good, partial(_are_valid, key))
        for key, values in columns.items()
    }
    events = read_events(file, *header.row_shapes["q"], *header.row_shapes["v"], complete=complete)
    contacts = read_points(file, len(columns["time"]), stored)
    return trajectory_of(
        header, columns, complete=complete, source=str(path), events=events, contacts=contacts
    )


def _rows(
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
