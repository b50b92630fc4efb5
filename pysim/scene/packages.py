"""Look-up of files that a robot or scene names: relative paths, `file://` paths and `package://NAME/rest`.

Without the user's consent, files are read only from the folder of the naming file, the two folders above it and what is
below them, after links are resolved, and only files of the expected kind: a robot from an unknown source cannot read
other files of the machine. A package NAME is one of these folders, or a folder directly in one, whose name or whose
`package.xml` is NAME. Consent is given outside the file, by `package_dirs` in Python and `--package-dir` of the
command. example-robot-data, if it is installed, needs none.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

FOLDERS_ABOVE = 2
CONSENT = "--package-dir, in Python package_dirs"
LONGEST_SHOWN, LONGEST_NAME = 200, 255  # characters
LONGEST_PACKAGE_XML = 1 << 16
ROBOTS = "example-robot-data"
_ROBOT_SUFFIXES = ("_description", "_data")  # suffix of its folders


class ForbiddenFileError(SceneError):
    """A file exists, but outside the folders that may be read."""


def resolve_uri(
    uri: str,
    base: Path,
    package_dirs: Iterable[str | PathLike[str]] = (),
    suffixes: Sequence[str] = (),
) -> Path:
    """Return the existing file that a name in a file refers to.

    Args:
        uri: relative or absolute path, `file://…` or `package://NAME/rest`.
        base: folder of the file that names it.
        package_dirs: folders that hold packages, or are packages, searched first; files in them are read as well.
        suffixes: allowed file suffixes in lower case; empty: any.

    Raises:
        ForbiddenFileError: the file lies outside the allowed folders.
        SceneError: there is no such file, package or scheme, or the file has another suffix.
    """
    base = base.resolve()
    folders = [Path(folder).resolve() for folder in package_dirs]
    scheme, separator, rest = uri.partition("://")
    if not separator:
        scheme, rest = "file", uri
    elif scheme in {"file", "package"}:
        rest = unquote(rest)
    if not rest or "\0" in rest:
        raise SceneError(short(uri), "names no file; give a path, or package://NAME/path")
    if scheme == "package":
        name, _, path = rest.lstrip("/").partition("/")  # package:///NAME occurs too
        roots = _package_roots(uri, name, base, folders)
        return _existing(uri, [(root / path.lstrip("/"), [root]) for root in roots], suffixes)
    if scheme == "file":
        return _existing(uri, [(base / rest, [*_own_folders(base), *folders])], suffixes)
    problem = f"unknown scheme {scheme[:40]!r}; use a path, file:// or package://"
    raise SceneError(short(uri), problem)


def package_folder(name: str, base: Path, package_dirs: Iterable[str | PathLike[str]] = ()) -> Path:
    """Return the folder of the package `name` for a file in the folder `base`.

    Raises:
        SceneError: there is none.
    """
    folders = [Path(folder).resolve() for folder in package_dirs]
    return _package_roots(f"package://{name}", name, base.resolve(), folders)[0]


def folders_around(base: Path) -> list[Path]:
    """Return the folder and the two above it, except folders that contain home folders."""
    home = Path.home().resolve()
    around = [base, *base.parents][: 1 + FOLDERS_ABOVE]
    return [folder for folder in around if folder not in home.parents and folder.parent != folder]


def short(uri: str) -> str:
    """Return a name in quotes, shortened if it is long."""
    return repr(uri if len(uri) <= LONGEST_SHOWN else uri[:LONGEST_SHOWN] + "…")


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
    own = folders_around(base)
    roots = [folder / name for folder in folders]
    roots += [folder for folder in (*folders, *own) if _is_package(folder, name)]
    roots += [folder / name for folder in own]
    if share is not None:
        roots += [share] if name == ROBOTS else [share / "robots" / name]
    valid = name not in {"", ".", ".."} and len(name) <= LONGEST_NAME
    found = [root for root in roots if valid and root.is_dir()]
    if valid and not found:
        found = [child for folder in own for child in _children(folder) if _is_package(child, name)]
    if not found:
        remedy = f"list the folder that holds it in {CONSENT}"
        if share is None and (name == ROBOTS or name.endswith(_ROBOT_SUFFIXES)):
            remedy = f'install it with `pip install "pysim-multibody[robots]"`, or {remedy}'
        raise SceneError(short(uri), f"there is no package {short(name)}; {remedy}")
    return found


def _is_package(folder: Path, name: str) -> bool:
    """Return whether the name of a folder, or the one in its package.xml, is `name`."""
    if folder.name == name:
        return True
    try:
        with (folder / "package.xml").open("rb") as file:
            text = file.read(LONGEST_PACKAGE_XML).decode("utf-8", "replace")
    except OSError:
        return False
    found = re.search(r"<name>\s*([^<]*?)\s*</name>", text)
    return found is not None and found.group(1) == name


def _children(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(child.parent for child in folder.glob("*/package.xml"))


def _own_folders(base: Path) -> Iterator[Path]:
    """Yield the folders whose files a file in `base` may name without a package."""
    yield base
    yield from folders_around(base)
    share = robots_folder()
    if share is not None:
        yield share


def _existing(uri: str, candidates: list[tuple[Path, list[Path]]], suffixes: Sequence[str]) -> Path:
    """Return the first path that is a file of the kind and, after resolving links, lies below one of its folders."""
    try:
        return _first_existing(uri, candidates, suffixes)
    except OSError as error:  # the system rejects the name, or the folder cannot be opened
        reason = (error.strerror or "unreadable").lower()
        raise SceneError(short(uri), f"cannot be looked up: {reason}; check the path") from None


def _first_existing(
    uri: str, candidates: list[tuple[Path, list[Path]]], suffixes: Sequence[str]
) -> Path:
    inside = [
        path
        for path, folders in ((path.resolve(), folders) for path, folders in candidates)
        if any(path.is_relative_to(folder) for folder in folders)
    ]
    if not inside:
        problem = (
            f"{str(candidates[0][0].resolve())!r} is outside the folders from which this file may name files; "
            f"move it below the file that names it, or list its folder in {CONSENT}"
        )
        exists = any(path.is_file() for path, _ in candidates)
        raise (ForbiddenFileError if exists else SceneError)(short(uri), problem)
    of_kind = [path for path in inside if not suffixes or path.suffix.lower() in suffixes]
    if not of_kind:
        problem = (
            f"unknown kind of file {inside[0].suffix[:40]!r}; use one of {', '.join(suffixes)}"
        )
        raise SceneError(short(uri), problem)
    for path in of_kind:
        if path.is_file():
            return path
    problem = f"there is no file {str(of_kind[0])!r}; check the path, or {CONSENT}"
    raise SceneError(short(uri), problem)
