"""Reading of files that a stranger's file may name: pipes and devices, which might never end, are not opened."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

PART = 1 << 18  # bytes read at once: a file object takes as much memory as it is asked for


def read_regular(path: Path, largest: int) -> bytes:
    """Return the content of a file of at most `largest` bytes.

    Raises:
        SceneError: it is larger, is not a regular file, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise SceneError(str(path), "is not a regular file; give another one")
        with path.open("rb") as file:
            data = b"".join(_parts(file, largest))
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise SceneError(str(path), f"cannot be read: {reason}; check the path") from None
    if len(data) > largest:
        raise SceneError(str(path), f"is larger than {largest >> 20} MiB; split it")
    return data


def _parts(file: BinaryIO, largest: int) -> Iterator[bytes]:
    """Yield the content of a file to its end, or to the part that exceeds `largest` bytes."""
    size = 0
    while size <= largest and (part := file.read(PART)):
        size += len(part)
        yield part
