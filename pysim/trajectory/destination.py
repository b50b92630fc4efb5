"""Where a trajectory is written: what may stand there, the draft beside it, and who else writes.

A name may change hands while a run lasts: files are moved, removed, replaced. So a writer keeps to the descriptor of
its file, and this is all that works by name: a draft that is whole takes it, unless someone writes what stands there.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

from pysim.errors import TrajectoryError
from pysim.trajectory.reader import is_trajectory

_taking = threading.Lock()  # between the last look at a name and taking it


def target_of(path: Path) -> Path:
    """Return the absolute path that a name stands for now, links followed."""
    return Path(os.path.realpath(path))


def draft_beside(path: Path, suffix: str = "") -> Path:
    """Return a name in the same folder that nobody else has, and that is short whatever `path` is called."""
    return path.with_name(f".pysim-{secrets.token_hex(8)}.part{suffix}")


def open_draft(draft: Path) -> int:
    """Make a draft and return its descriptor, which is locked as long as someone works on the draft."""
    while True:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        hold(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # removed as abandoned before it was locked


def remove_abandoned_drafts(folder: Path) -> None:
    """Remove the drafts of runs that were killed, which nobody locks any more."""
    for draft in folder.glob(f".pysim-{'[0-9a-f]' * 16}.part*"):
        with suppress(OSError), draft.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def check_output(path: Path, target: Path, *, overwrite: bool) -> None:
    """Refuse an output path that cannot be written, that holds something else or that someone writes."""
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        problem = f"the folder {str(folder)!r} does not exist; make it or choose another"
        raise TrajectoryError(str(path), problem)
    if target.is_dir():
        raise TrajectoryError(str(path), "is a folder; give a file name")
    if not (target.exists() or target.is_symlink()):
        return
    if not is_trajectory(path):
        problem = "exists and is not a pysim trajectory, so it is left alone; choose another name"
        raise TrajectoryError(str(path), problem)
    if not overwrite:
        problem = "exists; choose another name, or overwrite it on purpose"
        raise TrajectoryError(str(path), problem)


def take_name(draft: Path, path: Path, target: Path, *, overwrite: bool) -> None:
    """Move a whole draft to its name, unless someone else has taken that since it was first looked at."""
    with _taking:
        check_output(path, target, overwrite=overwrite)
        draft.replace(target)


def hold(descriptor: int) -> None:
    """Lock an open file for writing, as HDF5 does unless its locks are switched off; some file systems have none."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def fate_of_name(descriptor: int, target: Path) -> str:
    """What became of an open file's name; nothing where it still has it, or where nobody can tell."""
    own = os.fstat(descriptor)
    try:
        if os.path.samestat(own, target.stat()):
            return ""
    except FileNotFoundError:
        pass
    except OSError:
        return ""
    if own.st_nlink == 0:
        return "was removed or replaced while a run wrote it, and its rows with it; run again"
    return "was moved while a run wrote it; its rows are where it was moved to"
