"""Checks of files named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pysim.cli.application import app
from pysim.errors import PysimError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable


def existing(name: str | Path, package_dirs: Iterable[Path] = ()) -> Path:
    """Return the path of an existing file; otherwise an error suggests a command or file."""
    if str(name).startswith("package://"):
        from pysim.scene.packages import resolve_uri  # noqa: PLC0415, where it is needed

        return resolve_uri(str(name), Path.cwd(), package_dirs)
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        raise PysimError(str(path), "is a folder; give a file in it")
    near = [str(found) for found in sorted(path.parent.glob(f"*{path.suffix or '.toml'}"))]
    if path.suffix:
        raise PysimError(str(path), f"no such file{_hint(str(path), near)}")
    raise PysimError(str(path), f"no such command or file{_hint(str(path), [*app, *near])}")


def check_replaced(path: Path, *, overwrite: bool) -> None:
    """Reject the name of a file that exists, unless it is to be replaced."""
    if path.exists() and not overwrite:
        raise PysimError(str(path), "exists and is not overwritten; pass --overwrite to replace it")


def _hint(word: str, known: list[str]) -> str:
    return did_you_mean(word, known) if known else ""
