"""Reading a trajectory back, whole or cut short. The layout is in `pysim.trajectory`."""

from __future__ import annotations

import errno
import fcntl
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory.events import read_events
from pysim.trajectory.header_file import FORMAT, FORMAT_VERSION, read_header
from pysim.trajectory.parts import flag, numbers, text_attribute, whole_number
from pysim.trajectory.record import FINITE, Trajectory, trajectory_of

if TYPE_CHECKING:
    from os import PathLike

    import h5py
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def load_trajectory(path: str | PathLike[str]) -> Trajectory:
    """Read a trajectory file; one that was cut short is read as far as it goes, with a warning.

    Raises:
        TrajectoryError: the file is none, is in use or makes no sense; by name, with what to do.
    """
    path = Path(path)
    try:
        with _open(path) as file:
            _check_format(path, file)
            trajectory = _read(path, file)
            reason = text_attribute(file, "reason") if "reason" in file.attrs else ""
    except TrajectoryError as error:
        if error.where != str(path):  # a header whose parts disagree
            raise _damaged(path, str(error)) from error
        raise
    except (LookupError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
        raise _damaged(path, _plain(error)) from error
    except MemoryError as error:
        problem = "does not fit into memory; run again with a longer output.every"
        raise TrajectoryError(str(path), problem) from error
    except (OSError, RuntimeError) as error:
        raise failure(path, "cannot read", error, "; copy it again, or run again") from error
    if not trajectory.complete:
        end = f"its last time is {trajectory.t[-1]:g} s" if len(trajectory) else "it has no rows"
        why = f", {reason}" if reason else ""
        text = f"{path}: incomplete, the run was cut short; {end}{why}"
        warnings.warn(text, PysimWarning, stacklevel=2)
    return trajectory


def _damaged(path: Path, what: str) -> TrajectoryError:
    return TrajectoryError(str(path), f"is damaged, {what}; run again")


def is_trajectory(path: Path) -> bool:
    """Whether a file is a pysim trajectory, of any version. One that is in use is an error."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    if not path.is_file():
        return False
    try:
        _check_unlocked(path)
        with h5py.File(path, "r") as file:
            return bool(file.attrs.get("format") == FORMAT)
    except OSError as error:
        if _in_use(error):
            raise failure(path, "cannot read", error) from error
        return False


def _check_unlocked(path: Path) -> None:
    """Raise BlockingIOError for a file that someone writes, which HDF5 overlooks where its locks are switched off."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return  # a file system without locks


def failure(path: Path, what: str, error: Exception, otherwise: str = "") -> TrajectoryError:
    """Say in a user's words why the file system or HDF5 refused; `otherwise` is what to do where no more is known."""
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
    """First line of an error's text, without a capital."""
    text = str(error.args[0] if error.args else error).splitlines()
    return (text[0][:1].lower() + text[0][1:]) if text else type(error).__name__


def _errno_in(text: str) -> int | None:
    """HDF5 hides the system's error number in its text: `errno = 28`."""
    _, found, rest = text.partition("errno = ")
    digits = rest.split(",")[0].strip()
    return int(digits) if found and digits.isdigit() else None


def _in_use(error: Exception) -> bool:
    return isinstance(error, BlockingIOError) or "unable to lock file" in str(error)


def _open(path: Path) -> h5py.File:
    import h5py  # noqa: PLC0415, costs 0.1 s

    if not path.exists():
        raise TrajectoryError(str(path), "does not exist; a run with -o writes it")
    if path.is_dir():
        raise TrajectoryError(str(path), "is a folder; give the trajectory file in it")
    try:
        if not h5py.is_hdf5(path):
            with path.open("rb"):  # an unreadable file is not the same as a foreign one
                problem = "is not an HDF5 file; give a trajectory that pysim wrote"
                raise TrajectoryError(str(path), problem)
    except (OSError, RuntimeError) as error:
        raise failure(path, "cannot read", error) from error
    return h5py.File(path, "r")


def _check_format(path: Path, file: h5py.File) -> None:
    if file.attrs.get("format") != FORMAT:
        problem = "is HDF5, but not a pysim trajectory; give a file that pysim wrote"
        raise TrajectoryError(str(path), problem)
    version = whole_number(file, "format_version")
    if version != FORMAT_VERSION:
        made = file.attrs.get("pysim_version", "unknown")
        problem = f"has format version {version}, this pysim reads {FORMAT_VERSION}"
        raise TrajectoryError(str(path), f"{problem}; use pysim {made}, which wrote it")


def _read(path: Path, file: h5py.File) -> Trajectory:
    header = read_header(file)
    complete = flag(file, "complete")
    parts = {key: numbers(file, key, (None, *row)) for key, row in header.row_shapes.items()}
    rows = min(len(part) for part in parts.values())
    for key, part in parts.items():
        if complete and len(part) != rows:
            raise ValueError(f"{key!r} has {len(part)} rows, others have {rows}")
    columns = {key: np.asarray(part[:rows], float) for key, part in parts.items()}
    good = _good_rows(columns)
    if complete and good < rows:
        raise ValueError(_fault_of_row(columns, good))
    columns = {key: values[:good] for key, values in columns.items()}
    events = read_events(file, *header.row_shapes["q"], *header.row_shapes["v"], complete=complete)
    return trajectory_of(header, columns, complete=complete, source=str(path), events=events)


def _good_rows(columns: dict[str, Array]) -> int:
    """Count the leading rows that are finite, each later than the one before.

    In a run that was cut short these reached the disk in full; the rest still holds the fill, NaN.
    """
    good = np.diff(columns["time"], prepend=-np.inf) > 0
    for key in FINITE:
        values = columns[key]
        good &= np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    return len(good) if good.all() else int(np.argmin(good))


def _fault_of_row(columns: dict[str, Array], row: int) -> str:
    for key in FINITE:
        if not np.isfinite(columns[key][row]).all():
            return f"{key!r} is not finite in row {row}"
    return f"'time' does not increase at row {row}"
