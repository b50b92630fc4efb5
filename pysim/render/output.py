"""Picture files take their place only when they are whole."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike


@contextmanager
def replacing(path: str | PathLike[str] | None, suffixes: Sequence[str]) -> Iterator[Path | None]:
    """Yield a draft beside `path` that becomes `path` when the block ends well (None: nothing)."""
    if path is None:
        yield None
        return
    path = Path(path)
    check_picture(path, suffixes)
    draft = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        draft.touch()  # before minutes of drawing, not after
        yield draft
        draft.replace(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        problem = f"cannot write the picture, {reason}; choose another place"
        raise PysimError(str(path), problem) from error
    finally:
        draft.unlink(missing_ok=True)


def check_picture(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a picture file that cannot be written, before anything is drawn."""
    if path.suffix.lower() not in suffixes:
        known = ", ".join(suffixes)
        raise PysimError(str(path), f"unknown kind of picture {path.suffix!r}; use one of {known}")
    if not path.parent.is_dir():
        problem = f"the folder {str(path.parent)!r} does not exist; make it or choose another"
        raise PysimError(str(path), problem)
    if path.is_dir():
        raise PysimError(str(path), "is a folder; give a file name")
