"""Inclusion of scene files: `include = ["gripper.toml"]` adds the tables of other files to those of a scene.

Lists of tables follow those of the including file, in the order of `include`. Of a key that several files give, the
including file's counts, then that of the last file that it includes. A file is read once, even if two files include it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import SceneError
from pysim.scene.packages import resolve_uri
from pysim.scene.toml.source import read_source

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.toml.source import Source, Steps

INCLUDE = "include"
MOST_FILES = 100
SUFFIXES = (".toml",)
_NOT_INCLUDED = {"name", INCLUDE}  # keys that an included file keeps to itself
_JOINED = {("assembly", "hold")}  # lists of names in tables, which are joined


def read_with_includes(path: Path, package_dirs: Iterable[str | PathLike[str]] = ()) -> Source:
    """Read a TOML file and the files that it includes.

    Raises:
        SceneError: one of them cannot be read, or includes itself.
    """
    return with_includes(read_source(path), path, package_dirs)


def with_includes(
    source: Source, path: Path, package_dirs: Iterable[str | PathLike[str]] = ()
) -> Source:
    """Return the values of a file, or of a text for a path, with those of the files that it includes.

    Raises:
        SceneError: one of them cannot be read, or includes itself.
    """
    return _read(source, path, tuple(package_dirs), [path.resolve()], {path.resolve()})


def _read(
    source: Source,
    path: Path,
    folders: tuple[str | PathLike[str], ...],
    chain: list[Path],
    seen: set[Path],
) -> Source:
    """Read the files that a file includes; `chain` leads from the first file to it, `seen` holds all files."""
    included_files = []
    for k, name in enumerate(_names(source)):
        where = source.where((INCLUDE, k))
        try:
            file = resolve_uri(name, path.parent, folders, SUFFIXES)
        except SceneError as error:
            raise SceneError(where, error.problem) from None
        if file in chain:
            raise SceneError(where, f"{cycle_text('includes', chain, file)}; remove this one")
        if file in seen:
            continue
        seen.add(file)
        if len(seen) > MOST_FILES:
            problem = f"more than {MOST_FILES} files are included; join some of them"
            raise SceneError(where, problem)
        named = as_named(name, path, file)
        included_files.append(_read(read_source(named), named, folders, [*chain, file], seen))
    return _merged(source, included_files) if included_files else source


def cycle_text(verb: str, chain: list[Path], file: Path) -> str:
    """Return the sentence about files that lead back to one of them."""
    names = [f"'{name.name}'" for name in (*chain[chain.index(file) :], file)]
    return f"the file {verb} itself: {' → '.join(names)}"


def as_named(name: str, path: Path, file: Path) -> Path:
    """Return the path of a file that another one names, for messages: relative as that of the other one."""
    return file if "://" in name else path.parent / name


def _names(source: Source) -> list[str]:
    """Return the files that a file includes; wrong types are reported with those of the other keys."""
    given = source.values.get(INCLUDE, [])
    names = given if isinstance(given, list) else [given]
    return [name for name in names if isinstance(name, str) and name]


def _merged(source: Source, included_files: list[Source]) -> Source:
    """Return a file's values with those of the files that it includes, and the places of all."""
    values = dict(source.values)
    included: dict[Steps, tuple[Source, Steps]] = {}
    for file in included_files:
        for name, value in file.values.items():
            if name not in _NOT_INCLUDED and _is_joined(name, value):
                _join(values, (name,), value, file, included)
    for file in reversed(included_files):
        for name, value in file.values.items():
            if name in _NOT_INCLUDED or _is_joined(name, value):
                continue
            if name not in values:
                values[name] = {} if isinstance(value, dict) else value
                included[name,] = file.origin((name,))
            if isinstance(value, dict) and isinstance(values[name], dict):
                values[name] = _with_keys(values[name], name, value, file, included)
    return replace(source, values=values, included=included)


def _is_joined(name: str, given: object) -> bool:
    """Return whether the value of a key is a list of tables or names, to which others are added."""
    return isinstance(given, list) and name != "gravity"


def _join(
    table: dict[str, Any],
    path: Steps,
    items: list[Any],
    file: Source,
    included: dict[Steps, tuple[Source, Steps]],
) -> None:
    """Append the items of another file's list."""
    before = table.get(str(path[-1]), [])
    if not isinstance(before, list):
        return  # reported with the types of the other keys
    if str(path[-1]) not in table:
        included[path] = file.origin(path)
    for k, _ in enumerate(items):
        included[(*path, len(before) + k)] = file.origin((*path, k))
    table[str(path[-1])] = [*before, *items]


def _with_keys(
    table_before: dict[str, Any],
    name: str,
    further: dict[str, Any],
    file: Source,
    included: dict[Steps, tuple[Source, Steps]],
) -> dict[str, Any]:
    """Return a table with the keys of another file's that it has not."""
    table = dict(table_before)
    for key, value in further.items():
        if (name, key) in _JOINED and isinstance(value, list):
            _join(table, (name, key), value, file, included)
        elif key not in table:
            table[key] = value
            included[name, key] = file.origin((name, key))
    return table
