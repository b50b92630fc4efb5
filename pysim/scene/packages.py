"""Look-up of files that a robot or scene names: relative paths, `file://` paths and `package://NAME/rest`.

Files are read only from the folder of the naming file and below, from the package it belongs to, from folders that the
user lists, and from example-robot-data if it is installed: a robot from an unknown source cannot read other files of
the machine.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

ROBOTS = "example-robot-data"
_ROBOT_SUFFIXES = ("_description", "_data")  # suffix of its folders


def resolve_uri(uri: str, base: Path, package_dirs: Iterable[str | PathLike[str]] = ()) -> Path:
    """Return the existing file that a name in a file refers to.

    Args:
        uri: relative or absolute path, `file://…` or `package://NAME/rest`.
        base: folder of the file that names it.
        package_dirs: folders that hold packages, or are packages, searched first.

    Raises:
        SceneError: there is no such file, package or scheme, or the file lies outside the allowed folders.
    """
    base = base.resolve()
    folders = [Path(folder).resolve() for folder in package_dirs]
    scheme, separator, rest = uri.partition("://")
    if not separator:
        scheme, rest = "file", uri
    elif scheme in {"file", "package"}:
        rest = unquote(rest)
    if not rest or "\0" in rest:
        raise SceneError(repr(uri), "names no file")
    if scheme == "package":
        name, _, path = rest.lstrip("/").partition("/")  # package:///NAME occurs too
        roots = _package_roots(uri, name, base, folders)
        return _existing(uri, [(root / path.lstrip("/"), [root]) for root in roots])
    if scheme == "file":
        return _existing(uri, [(base / rest, [*_own_folders(base), *folders])])
    problem = f"unknown scheme {scheme!r}; use a path, file:// or package://"
    raise SceneError(repr(uri), problem)


def robots_folder() -> Path | None:
    """Return the folder of example-robot-data's files, None if it is not installed."""
    return _share(ROBOTS)


@cache
def _share(name: str) -> Path | None:
    """Return the share folder of an installed distribution's data."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    folder = Path(str(distribution.locate_file(f"cmeel.prefix/share/{name}")))
    return folder.resolve() if folder.is_dir() else None


def _package_roots(uri: str, name: str, base: Path, folders: list[Path]) -> list[Path]:
    """Return the folders that may be the package `name`, the most specific first."""
    share = robots_folder()
    roots = [folder / name for folder in folders]
    roots += [folder for folder in (*folders, base, *base.parents) if folder.name == name]
    if share is not None:
        roots += [share] if name == ROBOTS else [share / "robots" / name]
    found = [root for root in roots if name not in {"", ".", ".."} and root.is_dir()]
    if not found:
        remedy = "list the folder that holds it in package_dirs"
        if share is None and (name == ROBOTS or name.endswith(_ROBOT_SUFFIXES)):
            remedy = f'install it with `pip install "pysim[robots]"`, or {remedy}'
        raise SceneError(repr(uri), f"there is no package {name!r}; {remedy}")
    return found


def _own_folders(base: Path) -> Iterator[Path]:
    """Yield the folders whose files a file in `base` may name without a package."""
    yield base
    for folder in (base, *base.parents):
        if (folder / "package.xml").is_file():
            yield folder
            break
    share = robots_folder()
    if share is not None:
        yield share


def _existing(uri: str, candidates: list[tuple[Path, list[Path]]]) -> Path:
    """Return the first path that is a file and, after resolving links, lies below one of its folders."""
    inside = [
        path
        for path, folders in ((path.resolve(), folders) for path, folders in candidates)
        if any(path.is_relative_to(folder) for folder in folders)
    ]
    for path in inside:
        if path.is_file():
            return path
    if inside:
        problem = f"there is no file {str(inside[0])!r}; check the path, or package_dirs"
    else:
        problem = (
            f"{str(candidates[0][0].resolve())!r} is outside the folders from which this file may name files; "
            "move it below the file that names it, or list its folder in package_dirs"
        )
    raise SceneError(repr(uri), problem)
