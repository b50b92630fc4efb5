"""Look-up of files that a robot or scene names: relative paths, `file://` paths and `package://NAME/rest`.

Without the user's consent, a file may name files, after links are resolved, only

* in its own folder and the one above it, where robots have their `meshes` beside `urdf`, and in folders below;
* in its ROS package, the nearest folder above it with a `package.xml`;
* in a package that `package://NAME` names, if that is a folder within these or its own package, or has a `package.xml`
  beside its own package, as in a ROS workspace.

A folder above is never one that holds files of many sources: a home folder, one that holds home folders, that of
temporary files or of downloads. A file that lies in one of these itself names no hidden files.

Only files of the expected kind are read. Consent is given outside the file: by `package_dirs` in Python, by
`--package-dir` of the command, and by ROS's variables `ROS_PACKAGE_PATH` and `AMENT_PREFIX_PATH`. example-robot-data
needs none if it is installed.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

FOLDERS_ABOVE = 1  # in which a file may name files
# that may be the file's own package by their name, as in NAME/robots/model/robot.urdf
PACKAGES_ABOVE = 2
TEMPORARY = ("/tmp", "/var/tmp")
DOWNLOADS = ("Downloads", "Desktop")  # of a home folder
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
    scheme, separator, location = uri.partition("://")
    if not separator:
        scheme, location = "file", uri
    elif scheme in {"file", "package"}:
        location = unquote(location)
    if not location or "\0" in location:
        raise SceneError(short(uri), "names no file; give a path, or package://NAME/path")
    if scheme == "package":
        name, _, path = location.lstrip("/").partition("/")  # package:///NAME occurs too
        roots = _package_roots(uri, name, base, folders)
        candidates = [(root / path.lstrip("/"), AllowedFolders((root,))) for root in roots]
        return _existing(uri, candidates, suffixes)
    if scheme == "file":
        return _existing(uri, [(base / location, allowed_folders(base, folders))], suffixes)
    problem = f"unknown scheme {scheme[:40]!r}; use a path, file:// or package://"
    raise SceneError(short(uri), problem)


def package_folder(name: str, base: Path, package_dirs: Iterable[str | PathLike[str]] = ()) -> Path:
    """Return the folder of the package `name` for a file in the folder `base`.

    Raises:
        SceneError: there is none.
    """
    folders = [Path(folder).resolve() for folder in package_dirs]
    return _package_roots(f"package://{name}", name, base.resolve(), folders)[0]


@dataclass(frozen=True)
class AllowedFolders:
    """Folders whose files may be read, all resolved; in `open_folders`, files in hidden folders may not."""

    folders: tuple[Path, ...]
    open_folders: tuple[Path, ...] = ()

    def holds(self, path: Path) -> bool:
        """Return whether a resolved path lies in one of the folders."""
        if any(path.is_relative_to(folder) for folder in self.folders):
            return True
        below = (path.relative_to(top) for top in self.open_folders if path.is_relative_to(top))
        return any(not any(part.startswith(".") for part in inside.parts) for inside in below)


def allowed_folders(base: Path, package_dirs: Iterable[str | PathLike[str]] = ()) -> AllowedFolders:
    """Return the folders in which a file in the folder `base` may name files without a package."""
    base = base.resolve()
    share = robots_folder()
    granted = [Path(folder).resolve() for folder in package_dirs]
    inside = [*folders_around(base), *granted, *([] if share is None else [share])]
    return AllowedFolders(tuple(inside), (base,) if is_shared(base) else ())


def folders_around(base: Path) -> list[Path]:
    """Return the folder, the one above it and the one of its ROS package, without those that many sources share."""
    package = ros_package(base)
    around = [base, *base.parents][: 1 + FOLDERS_ABOVE] + ([] if package is None else [package])
    return [folder for folder in dict.fromkeys(around) if not is_shared(folder)]


def ros_package(base: Path) -> Path | None:
    """Return the nearest folder, from `base` up, whose package.xml names a package; None if there is none."""
    for folder in (base, *base.parents):
        if is_shared(folder):
            return None
        if _name_in_xml(folder) is not None:
            return folder
    return None


def is_shared(folder: Path) -> bool:
    """Return whether a folder holds files of many sources: a home folder or one above, downloads, temporary files."""
    try:
        home = str(Path.home())
    except RuntimeError:  # a user without one
        home = ""
    alone, with_parents = _shared_folders(home, tempfile.gettempdir())
    above = any(part.is_relative_to(folder) for part in with_parents)
    return above or folder in alone or folder.parent == folder


@cache
def _shared_folders(home: str, temporary: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return folders that many sources share, and those that are shared with all above them."""
    names = [*TEMPORARY, temporary]
    names += [str(Path(home, name)) for name in DOWNLOADS if home]
    alone = tuple(Path(name).resolve() for name in names)
    return alone, (Path(home).resolve(),) if home else ()


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
    share, valid = robots_folder(), not name.startswith(".") and 0 < len(name) <= LONGEST_NAME
    granted, around = [*folders, *_ros_folders()], folders_around(base)
    above = [base, *base.parents][: 1 + PACKAGES_ABOVE]
    own = [folder for folder in (*above, *around) if not is_shared(folder)]
    within = [*around, base]
    package = ros_package(base)
    workspace = [] if package is None or is_shared(package.parent) else [package.parent]
    roots = [folder / name for folder in granted]
    roots += [folder for folder in (*granted, *own) if _is_package(folder, name)]
    roots += [folder / name for folder in within]
    roots += [folder / name for folder in workspace if _name_in_xml(folder / name) is not None]
    if share is not None:
        roots += [share] if name == ROBOTS else [share / "robots" / name]
    existing = [root for root in roots if valid and root.is_dir()]
    if valid and not existing:
        places = (*granted, *within, *workspace)
        existing = [
            child for folder in places for child in _children(folder) if _is_package(child, name)
        ]
    if not existing:
        remedy = f"list the folder that holds it in {CONSENT}"
        if share is None and (name == ROBOTS or name.endswith(_ROBOT_SUFFIXES)):
            remedy = f'install it with `pip install "pysim-multibody[robots]"`, or {remedy}'
        raise SceneError(short(uri), f"there is no package {short(name)}; {remedy}")
    return list(dict.fromkeys(existing))


def _ros_folders() -> list[Path]:
    """Return the folders that ROS searches for packages, by its variables."""
    places = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    found = [*map(Path, filter(None, places)), *(Path(x, "share") for x in prefixes if x)]
    return [folder.resolve() for folder in found if folder.is_absolute()]


def _is_package(folder: Path, name: str) -> bool:
    """Return whether the name of a folder, or the one in its package.xml, is `name`."""
    return folder.name == name or _name_in_xml(folder) == name


def _name_in_xml(folder: Path) -> str | None:
    """Return the name in a folder's package.xml, None if there is none."""
    path = folder / "package.xml"
    try:
        if not path.is_file():  # a pipe might never end
            return None
        with path.open("rb") as file:
            text = file.read(LONGEST_PACKAGE_XML).decode("utf-8", "replace")
    except OSError:
        return None
    found = re.search(r"<name>\s*([^<\s]+)\s*</name>", text)
    return None if found is None else found.group(1)


def _children(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(child.parent for child in folder.glob("*/package.xml"))


def _existing(
    uri: str, candidates: list[tuple[Path, AllowedFolders]], suffixes: Sequence[str]
) -> Path:
    """Return the first path that is a file of the kind and lies within its allowed folders after links are resolved."""
    try:
        return _first_existing(uri, candidates, suffixes)
    except OSError as error:  # the system rejects the name, or the folder cannot be opened
        reason = (error.strerror or "unreadable").lower()
        raise SceneError(short(uri), f"cannot be looked up: {reason}; check the path") from None


def _first_existing(
    uri: str, candidates: list[tuple[Path, AllowedFolders]], suffixes: Sequence[str]
) -> Path:
    inside = [
        path
        for path, allowed in ((path.resolve(), allowed) for path, allowed in candidates)
        if allowed.holds(path)
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
