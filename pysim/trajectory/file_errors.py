"""Errors of reading and writing a trajectory file, in a user's words."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pysim.errors import TrajectoryError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


def check_replaced(path: Path, *, overwrite: bool) -> None:
    """Reject the name of a file that exists, unless it is to be replaced."""
    if path.exists() and not overwrite:
        problem = "exists and is not overwritten; name another file, or pass overwrite=True"
        raise TrajectoryError(str(path), problem)


def damaged(path: Path, what: str) -> TrajectoryError:
    """Return the error of a damaged file."""
    return TrajectoryError(str(path), f"is damaged, {what}; run again")


def failure(path: Path, what: str, error: Exception, otherwise: str = "") -> TrajectoryError:
    """Return the error for a failure of the file system or HDF5; `otherwise` is the fallback remedy."""
    if in_use(error):
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


def in_use(error: BaseException) -> bool:
    """Return whether a file cannot be opened because another program is writing it."""
    return isinstance(error, BlockingIOError) or "unable to lock file" in str(error)
