"""Reading a trajectory back, whole or cut short. The layout is in `pysim.trajectory`.

libhdf5 trusts what it parses: damage can crash it or make it run forever. This module therefore lets it
parse only files whose pages have their checksums; any other is read by a child process with limits
(`pysim.trajectory.isolated_reader`).
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pysim.errors import PysimWarning, TrajectoryError
from pysim.files.descriptors import lock_file
from pysim.trajectory.checkpoint import Checkpoint, read_checkpoint, read_origin
from pysim.trajectory.file_content import read_content, read_run
from pysim.trajectory.file_errors import in_use, reported
from pysim.trajectory.isolated_reader import read_by_child
from pysim.trajectory.page_checks import checked_commit, is_hdf5
from pysim.trajectory.record import StoredRun, Trajectory
from pysim.trajectory.stored_rows import StoredFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    import h5py

Found = TypeVar("Found")
STREAMED_BYTES = 1 << 28  # bytes of a file beyond which pictures read it as a stream


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
    trajectory, reason = _read_from(path, read_content, "whole", stream=stream)
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
        if error.__cause__ is not None and in_use(error.__cause__):
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
    trajectory, _ = read_content(path, file)
    return trajectory, read_origin(file), read_checkpoint(file)


def load_for_pictures(path: str | PathLike[str]) -> Trajectory:
    """Read a trajectory file as `load_trajectory` does, a large one as a stream."""
    path = Path(path)
    return load_trajectory(path, stream=path.is_file() and path.stat().st_size > STREAMED_BYTES)


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


def _check_unlocked(descriptor: int) -> None:
    """Raise BlockingIOError for a file that someone writes; keep others from writing it meanwhile."""
    try:
        lock_file(descriptor, write=False)
    except BlockingIOError:
        raise
    except OSError:
        return  # a file system without locks
