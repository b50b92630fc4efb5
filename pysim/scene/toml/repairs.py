"""Repairs of a scene file: mistakes that have one remedy are corrected in its text.

Only what the reader rejects is changed, and nothing else of the text: brackets of tables, misspelt keys and types,
words of other programs, lists of numbers that must be tables, quaternions whose digits were cut, names of files that
are found elsewhere in the folder, inconsistent inertias, and slips of TOML such as `.5` and `True`.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

import numpy as np
from pydantic import TypeAdapter, ValidationError

from pysim.errors import OTHER_PROGRAMS, PysimError, SceneError, closest
from pysim.inertia import theta_from_com, unphysical_reason
from pysim.integrators import BUILTIN as INTEGRATORS
from pysim.joints import joint_types
from pysim.joints.loop_joints import loop_types
from pysim.scene.inertia_text import nearest_printable, toml_inertia
from pysim.scene.packages import resolve_uri
from pysim.scene.toml.plugin_keys import PARAMETERS, keys_of
from pysim.scene.toml.problems import corrected, is_list_of_tables, table_in
from pysim.scene.toml.source import source_of
from pysim.scene.toml.tables import Scene
from pysim.scene.toml.units import read_unit
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray
    from pydantic.fields import FieldInfo

    from pysim.scene.toml.keys import Table
    from pysim.scene.toml.source import Source, Steps

    Array = NDArray[np.float64]

ROUNDS = 50  # of repairs: one may reveal others
ALIKE = 0.8  # similarity of a misspelt word and the word that is meant
CUT = 1e-2  # relative error of a quaternion's norm that is one of its digits
MOST_FILES = 10_000  # looked through for a missing one
_QUATERNIONS = ("quat_wxyz", "quat_xyzw")
_FILES = {"mesh", "file", "srdf", "include", "plugins"}
_NUMBER = r"[+-]?(?:\d[\d_]*)(?:\.\d+)?(?:[eE][+-]?\d+)?"
_SLIPS: tuple[tuple[str, str], ...] = (
    (r"(?<![\w.\"'])([+-]?)\.(\d)", r"\g<1>0.\2"),
    (r"(?<![\w.\"'])([+-]?\d+)\.(?![\d\w])", r"\1.0"),
    (r"(?<![\w\"'])(?:True|TRUE)(?![\w\"'])", "true"),
    (r"(?<![\w\"'])(?:False|FALSE)(?![\w\"'])", "false"),
    (r",(\s*\})", r"\1"),
    (r"(\s)//(?=\s)", r"\1#"),
    (r"=(\s*)([A-Za-z_][\w-]*)(\s*)$", r'=\1"\2"\3'),
)
_KEPT = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|\#.*$)""")
_WITH_UNIT = re.compile(rf"(?<![\w\"'.])({_NUMBER})\s*([a-zA-Z°µ][^\s,\]}}#\"']*)")


@dataclass(frozen=True)
class Edit:
    """Replacement of a piece of text at a line and column, which count from 1."""

    line: int
    column: int
    old: str
    new: str


def repaired(name: str, text: str, package_dirs: Iterable[Path] = ()) -> str:
    """Return the text of a scene file with its repairs; what cannot be repaired stays for the reader to report.

    Args:
        name: the file, in whose folder missing files are looked for.
        text: its text.
        package_dirs: folders with packages.
    """
    folders = tuple(package_dirs)
    for _ in range(ROUNDS):
        new = _without_slip(name, text) or _with_edits(name, text, folders)
        if new in {None, text}:
            break
        text = str(new)
    return text


def _with_edits(name: str, text: str, package_dirs: tuple[Path, ...]) -> str | None:
    """Return the text after the first repairs that leave it TOML, None if there are none."""
    try:
        source = source_of(name, text)
    except SceneError:
        return None
    for edits in (_brackets(source), _Repairs(source, package_dirs).all()):
        new = _applied(text, list(edits))
        with suppress(SceneError):
            source_of(name, new)
            if new != text:
                return new
    return None


def _applied(text: str, edits: list[Edit]) -> str:
    """Return a text with edits that do not overlap; of several at one place the first is made."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    by_place = {starts[e.line - 1] + e.column - 1: e for e in reversed(edits)}
    end = len(text)
    for at in sorted(by_place, reverse=True):
        edit = by_place[at]
        stop = at + len(edit.old)
        if text[at:stop] == edit.old and stop <= end:
            text, end = text[:at] + edit.new + text[stop:], at
    return text


# Slips of TOML ------------------------------------------------------------------------------------


def _without_slip(name: str, text: str) -> str | None:
    """Return the text without its first slip of TOML, None if it is TOML or the slip is not known."""
    place = _fault(name, text)
    if place is None:
        return None
    lines = text.split("\n")
    at, line = place[0] - 1, lines[place[0] - 1]
    # Quoted texts and comments, the odd pieces, stay.
    pieces = _KEPT.split(line)
    code = pieces[::2]
    tries = [[_WITH_UNIT.sub(_quoted_quantity, piece) for piece in code]]
    tries += [[re.sub(pattern, new, piece) for piece in code] for pattern, new in _SLIPS]
    for tried in tries:
        pieces[::2] = tried
        new_line = "".join(pieces)
        new = "\n".join([*lines[:at], new_line, *lines[at + 1 :]])
        after = _fault(name, new)
        is_later = after is None or after[0] > place[0]
        left = 0 if is_later or after is None else len(new_line) - after[1]
        if new_line != line and (is_later or left < len(line) - place[1]):
            return new
    return None


def _quoted_quantity(match: re.Match[str]) -> str:
    known = read_unit(match[2]) is not None
    return f'"{match[1]} {match[2]}"' if known else match[0]


def _fault(name: str, text: str) -> tuple[int, int] | None:
    """Return line and column of the first text that is not TOML, None if there is none."""
    try:
        source_of(name, text)
    except SceneError as error:
        found = re.match(r":(\d+):(\d+)", error.where.removeprefix(name))
        return (int(found[1]), int(found[2])) if found else None
    return None


# Brackets -----------------------------------------------------------------------------------------


def _brackets(source: Source) -> Iterator[Edit]:
    """Yield the headers of tables that must be lists of tables, or the reverse."""
    for name, info in Scene.model_fields.items():
        value = source.values.get(name)
        if isinstance(value, dict) and is_list_of_tables(info):
            yield from _headers(source, rf"\[\s*{name}\s*\]", f"[[{name}]]")
        elif isinstance(value, list) and len(value) == 1 and get_origin(info.annotation) is None:
            yield from _headers(source, rf"\[\[\s*{name}\s*\]\]", f"[{name}]")


def _headers(source: Source, pattern: str, new: str) -> Iterator[Edit]:
    for number, line in enumerate(source.lines, 1):
        found = re.match(rf"\s*({pattern})\s*(#.*)?$", line)
        if found:
            yield Edit(number, found.start(1) + 1, found[1], new)


# Keys and values ----------------------------------------------------------------------------------


class _Repairs:
    """Repairs of the keys and values of a file that is TOML."""

    def __init__(self, source: Source, package_dirs: tuple[Path, ...]) -> None:
        self._source = source
        self._folder = Path(source.name).parent
        self._package_dirs = package_dirs

    def all(self) -> Iterator[Edit]:
        """Yield the repairs of all tables."""
        yield from self._table(self._source.values, (), Scene)
        for k, body in enumerate(_listed(self._source.values.get("body", []))):
            if isinstance(body, dict):
                yield from self._inertia(body, ("body", k))

    def _table(self, table: dict[str, Any], path: Steps, owner: type[Table]) -> Iterator[Edit]:
        yield from self._keys(table, path, owner)
        for name, value in table.items():
            info = owner.model_fields.get(name)
            if info is not None:
                yield from self._field(value, (*path, name), info)

    def _field(self, value: Any, path: Steps, info: FieldInfo) -> Iterator[Edit]:  # noqa: ANN401
        """Yield the repairs of a key's value, and of the tables in it."""
        inner = table_in(info.annotation)
        if isinstance(value, list):
            text = _as_table(value, inner, info) or _unit_quaternion(value, str(path[-1]))
            if text is not None:
                yield from self._edit(path, text)
                return
        items: Iterable[tuple[Steps, Any]] = [(path, value)]
        if isinstance(value, list):
            items = [((*path, k), item) for k, item in enumerate(value)]
        elif isinstance(value, dict) and get_origin(info.annotation) is dict:
            items = [((*path, key), item) for key, item in value.items()]
        for at, item in items:
            if isinstance(item, dict) and inner is not None:
                yield from self._table(item, at, inner)
            elif isinstance(item, str):
                word = self._word(item, path)
                yield from self._edit(at, f'"{word}"') if word is not None else ()

    def _keys(self, table: dict[str, Any], path: Steps, owner: type[Table]) -> Iterator[Edit]:
        """Yield the unknown keys of a table whose correction is certain."""
        known = set(owner.model_fields)
        if owner is not Scene and PARAMETERS in known:
            known.remove(PARAMETERS)
            try:
                known |= set(keys_of(self._source.values, path))
            except PysimError:  # the type is unknown, and so are its keys
                return
            if path[0] == "event" and "type" in table:
                return
        for name in table:
            meant = None if name in known else _meant(name, known - set(table))
            if meant is not None:
                line, column = self._source.position_there((*path, name), of_key=True)
                text = self._source.lines[line - 1]
                if text[column - 1] == "[":  # of a header, where the key is the last word
                    column = text.rfind(name, 0, text.find("]", column)) + 1
                yield Edit(line, column, name, meant)

    def _word(self, value: str, path: Steps) -> str | None:
        """Return the word that is meant by a misspelt type, by a parent, or by the name of a file."""
        place = tuple(step for step in path if isinstance(step, str))
        if place in {("joint", "parent"), ("model", "parent"), ("frame", "body")}:
            is_world = value.lower() in OTHER_PROGRAMS[WORLD].split() and not self._is_name(value)
            return WORLD if is_world else None
        if place[-1] in _FILES:
            return self._file(value)
        known = _TYPES.get(place, tuple)()
        is_plugin = bool(self._source.values.get("plugins"))
        return None if value in known or is_plugin else _meant(value, known)

    def _is_name(self, word: str) -> bool:
        """Return whether a body or frame may have a name; those of other files may have any."""
        values = self._source.values
        tables = [*_listed(values.get("body", [])), *_listed(values.get("frame", []))]
        names = {table.get("name") for table in tables if isinstance(table, dict)}
        return word in names or "model" in values or "include" in values

    def _file(self, name: str) -> str | None:
        """Return the name of the single file in the folder that is called like a missing one."""
        with suppress(PysimError):
            resolve_uri(name, self._folder, self._package_dirs)
            return None
        wanted = Path(name.replace("\\", "/")).name.lower()
        found: list[Path] = []
        for count, path in enumerate(self._folder.rglob("*")):
            if count > MOST_FILES:
                return None
            if path.name.lower() == wanted and path.is_file():
                found.append(path)
        return found[0].relative_to(self._folder).as_posix() if len(found) == 1 else None

    def _inertia(self, body: dict[str, Any], path: Steps) -> Iterator[Edit]:
        """Yield the nearest consistent inertia of a body whose numbers are inconsistent."""
        theta = _theta(body)
        if theta is None or theta[0] <= 0 or unphysical_reason(theta) is None:
            return
        near, inertia = toml_inertia(nearest_printable(theta)), body["inertia"]
        entries = dict(re.findall(r"(\w\w) = ([^,\s}]+)", near))
        if self._source.raw((*path, "inertia")).startswith("{"):
            yield from self._edit((*path, "inertia"), near)
        elif all(name in inertia or float(entries[name]) == 0 for name in entries):
            for name in inertia:
                yield from self._edit((*path, "inertia", name), entries[name])

    def _edit(self, path: Steps, new: str) -> Iterator[Edit]:
        raw = self._source.raw(path)
        if raw:
            line, column = self._source.position_there(self._source.steps(path))
            yield Edit(line, column, raw, new)


_TYPES: dict[Steps, Callable[[], Iterable[str]]] = {
    ("joint", "type"): joint_types,
    ("loop", "type"): loop_types,
    ("simulation", "integrator"): lambda: INTEGRATORS,
}


def _meant(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that another program's word or a misspelt one means, if it is the only one."""
    names = set(known)
    other = word.lower().replace(" ", "_").replace("-", "_")
    same = [name for name in names if other in OTHER_PROGRAMS.get(name, "").split()]
    if same:
        return same[0] if len(same) == 1 else None
    meant = closest(word, names, ALIKE)
    second = None if meant is None else closest(word, names - {meant}, ALIKE)
    return meant if second is None else None


def _as_table(value: list[Any], inner: type[Table] | None, info: FieldInfo) -> str | None:
    """Return the table that a list of numbers was meant to be, None if the key takes the list."""
    if inner is None:
        return None
    with suppress(ValidationError):
        TypeAdapter(info.rebuild_annotation()).validate_python(value)
        return None
    return corrected(inner, value) or None


def _unit_quaternion(value: list[Any], name: str) -> str | None:
    """Return a quaternion divided by its norm if its digits were cut."""
    numbers = len(value) == 4 and all(type(item) in {int, float} for item in value)
    if name not in _QUATERNIONS or not numbers:
        return None
    norm = math.hypot(*value)
    if not 1e-6 < abs(norm - 1) < CUT:
        return None
    return f"[{', '.join(repr(item / norm) for item in value)}]"


def _theta(body: dict[str, Any]) -> Array | None:
    """Return θ (10,) of a body whose mass and inertia are numbers."""
    inertia, com = body.get("inertia"), body.get("com", [0, 0, 0])
    if not isinstance(inertia, dict) or not isinstance(com, list) or len(com) != 3:
        return None
    if not all(type(x) in {int, float} for x in (body.get("mass"), *com, *inertia.values())):
        return None
    xx, yy, zz, xy, yz, xz = (
        float(inertia.get(name, 0)) for name in ("xx", "yy", "zz", "xy", "yz", "xz")
    )
    tensor = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return np.asarray(theta_from_com(float(body["mass"]), com, tensor))


def _listed(value: Any) -> list[Any]:  # noqa: ANN401, any TOML value
    return value if isinstance(value, list) else [value]
