"""Output path of a trajectory: checks of an existing file, the draft beside it, and locks against other writers.

The file of a name may change during a run: files are moved, removed, replaced. A writer therefore uses the descriptor
of its file, and only this module works with names: a complete draft replaces the file of its name, unless another
process is writing that file.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

from pysim.errors import TrajectoryError
from pysim.files.descriptors import lock_file, make_file
from pysim.trajectory.reader import is_trajectory

OTHER_FORMATS = (
    ".csv",
    ".json",
    ".mat",
    ".npy",
    ".npz",
    ".parquet",
    ".toml",
    ".txt",
    ".urdf",
    ".xml",
)
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
        descriptor = make_file(draft)
        hold(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # removed as abandoned before it was locked


def remove_abandoned_drafts(folder: Path) -> None:
    """Remove the drafts of runs that were killed, which nobody locks any more."""
    for draft in folder.glob(f".pysim-{'[0-9a-f]' * 16}.part*"):
        with suppress(OSError), draft.open("rb") as file:
            lock_file(file.fileno(), write=True)
            draft.unlink()


def check_output(path: Path, target: Path, *, overwrite: bool) -> None:
    """Reject an output path that cannot be written, holds another kind of file, or is being written."""
    if path.suffix.lower() in OTHER_FORMATS:
        problem = f"trajectories are HDF5 files, not {path.suffix}; call it {path.stem}.h5"
        raise TrajectoryError(str(path), problem)
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        problem = f"the folder {str(folder)!r} does not exist; make it or choose another"
        raise TrajectoryError(str(path), problem)
    if target.is_dir():
        raise TrajectoryError(str(path), "is a folder; give a file name")
    if not (target.exists() or target.is_symlink()):
        return
    if not is_trajectory(path):
        problem = (
            "exists and is not a pysim trajectory, so it is not overwritten; choose another name"
        )
        raise TrajectoryError(str(path), problem)
    if not overwrite:
        problem = "exists; choose another name, or pass overwrite"
        raise TrajectoryError(str(path), problem)


def take_name(draft: Path, path: Path, target: Path, *, overwrite: bool) -> None:
    """Move a complete draft to its name, unless another process has taken the name since the first check."""
    with _taking:
        check_output(path, target, overwrite=overwrite)
        draft.replace(target)


def hold(descriptor: int) -> None:
    """Lock an open file for writing, as HDF5 does unless its locks are disabled; some file systems have no locks."""
    with suppress(OSError):
        lock_file(descriptor, write=True)


def renamed_or_removed(descriptor: int, target: Path) -> str:
    """Return a text if an open file was moved, removed or replaced; "" if not, or if that cannot be determined."""
    own = os.fstat(descriptor)
    try:
        if os.path.samestat(own, target.stat()):
            return ""
    except FileNotFoundError:
        pass
    except OSError:
        return ""
    if own.st_nlink == 0:
        return "was removed or replaced while a run wrote it, and its rows are lost; run again"
    return "was moved while a run wrote it; its rows are in the moved file"
