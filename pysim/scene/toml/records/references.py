"""References: types of the keys that name a body, joint, material or other part of a scene, and their check.

A key declares by its type what it may name, as in `parent: MountName`. `check_references` finds all such keys in the
tables by these types, and reports names that no part has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, get_args, get_origin

from pysim.scene.toml.records.keys import ALL_JOINTS, Name, error_text
from pysim.scene.toml.records.schema import Shorthand
from pysim.scene.toml.records.table import Table
from pysim.scene.toml.units import convert, split_quantity
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.source import Steps

EVERY_BODY = "*"  # in a list of bodies and frames
FIXED = "fixed joint"  # which a key may name, although it hardly ever means one


@dataclass(frozen=True)
class Reference:
    """Type of a key that names a part of the scene.

    Attributes:
        noun: what is named, for messages.
        kinds: kinds of parts: "world", "body", "frame", "joint", "fixed joint", "coordinate", "material" or "rod".
        others: further values that the key takes.
    """

    noun: str
    kinds: tuple[str, ...]
    others: frozenset[str] = frozenset()


# a reference, a table, or those that the items of a list or dict, or a value of several types, may be
Plan: TypeAlias = Reference | type[Table] | tuple[Reference | type[Table], ...]


class Use(NamedTuple):
    """A name in a table: its path, what it refers to, and whether it is the key of the value at the path."""

    path: Steps
    reference: Reference
    name: str
    is_key: bool = False


AT = "@"  # between the name of a rod and a length, in the name of its frame there


def _named_station(value: object) -> object:
    """Return the name of the frame at a length of a rod, for { rod = "hose", s = 0.4 }."""
    if not isinstance(value, dict):
        return value
    unknown = sorted(value.keys() - {"rod", "s"})
    if unknown:
        raise error_text(f'unknown key {unknown[0]!r}; write {{ rod = "NAME", s = 0.4 }}')
    rod, s = value.get("rod"), value.get("s")
    if not isinstance(rod, str) or not rod:
        raise error_text(
            f'rod must be the name of a rod, got {rod!r}; write {{ rod = "NAME", s = 0.4 }}'
        )
    if isinstance(s, str) and split_quantity(s) is not None:
        try:
            s = convert(s, ["m"])
        except ValueError as error:
            raise error_text(f"s: {error}") from None
    if isinstance(s, bool) or not isinstance(s, (int, float)):
        raise error_text(f"s must be a length along rod {rod!r} [m], got {s!r}; write s = 0.4")
    return f"{rod}{AT}{s:.12g}"


def _station_schema(_: dict[str, Any]) -> dict[str, Any]:
    keys = {"rod": {"type": "string"}, "s": {"type": ["number", "string"]}}
    return {
        "type": "object",
        "properties": keys,
        "required": ["rod", "s"],
        "additionalProperties": False,
    }


_STATION = Shorthand(_named_station, _station_schema)
_BODY_OR_FRAME = ("body or frame", ("body", "frame"))
_JOINT = Reference("joint", ("joint", FIXED))
BodyName = Annotated[Name, Reference("body", ("body",))]
LinkName = Annotated[Name, Reference("body", ("world", "body"))]
TouchingName = Annotated[Name, Reference("body or rod", ("world", "body", "rod"))]
MountName = Annotated[Name, _STATION, Reference("body or frame", ("world", "body", "frame"))]
MovingName = Annotated[Name, _STATION, Reference(*_BODY_OR_FRAME)]
MovingNameOrAll = Annotated[Name, _STATION, Reference(*_BODY_OR_FRAME, frozenset({EVERY_BODY}))]
WatchedName = Annotated[Name, _STATION, Reference(*_BODY_OR_FRAME, frozenset({WORLD}))]
JointName = Annotated[Name, _JOINT]
JointKey = Annotated[str, _JOINT]
JointKeyOrAll = Annotated[str, Reference("joint", ("joint", FIXED), frozenset({ALL_JOINTS}))]
CoordinateName = Annotated[Name, Reference("joint", ("joint", "coordinate"))]
MaterialName = Annotated[Name, Reference("material", ("material",))]


def check_references(
    scene: Table,
    known: Mapping[str, Collection[str]],
    problems: Problems,
    unused: Collection[str] = (),
) -> None:
    """Report the names in tables that no part of the scene has.

    Args:
        scene: the table of the scene, with those in it.
        known: names by kind of part.
        problems: receives the errors, with the name that was probably meant.
        unused: keys of the scene that have no effect.
    """
    names: dict[tuple[str, ...], tuple[set[str], set[str]]] = {}  # all, and those likely meant
    for path, reference, name, is_key in _uses(scene, type(scene), ()):
        if path[0] in unused:
            continue
        kinds = reference.kinds
        if kinds not in names:
            meant = set().union(*(known[kind] for kind in kinds if kind != FIXED))
            names[kinds] = meant.union(*(known[kind] for kind in kinds)), meant
        taken, meant = names[kinds]
        if name not in taken and name not in reference.others:
            problems.add_unknown(path, reference.noun, name, meant, of_key=is_key)


def names_of_stations(scene: Table) -> Iterator[tuple[Steps, str]]:
    """Yield the places and names of the frames at lengths of rods that tables name."""
    for path, reference, name, _ in _uses(scene, type(scene), ()):
        if "frame" in reference.kinds and is_station(name):
            yield path, name


def is_station(name: str) -> bool:
    """Return whether a name is that of a frame at a length of a rod, such as "hose@0.4"."""
    rod, at, text = name.rpartition(AT)
    try:
        return bool(rod and at) and math.isfinite(float(text))
    except ValueError:
        return False


def _uses(value: Any, plan: Plan, path: Steps) -> Iterator[Use]:  # noqa: ANN401, of any key
    """Yield the references in a value, which are at the places of a plan."""
    if isinstance(plan, Reference):
        if isinstance(value, str):
            yield Use(path, plan, value)
    elif isinstance(plan, type):
        for key, inner in _keys_with_references(plan) if isinstance(value, plan) else ():
            if item := getattr(value, key):
                yield from _uses(item, inner, (*path, key))
    elif isinstance(value, dict):
        for key, item in value.items():
            for inner in plan:
                if isinstance(inner, Reference):
                    yield Use((*path, key), inner, key, is_key=True)
                else:
                    yield from _uses(item, inner, (*path, key))
    else:
        items = (
            [((*path, k), x) for k, x in enumerate(value)]
            if isinstance(value, list)
            else [(path, value)]
        )
        for at, item in items:
            for inner in plan:
                yield from _uses(item, inner, at)


@cache
def _keys_with_references(table: type[Table]) -> list[tuple[str, Plan]]:
    """Return the keys of a table that hold references or tables with references, with their plans."""
    found = [
        (key, _reference_places(Annotated[info.annotation, "", *info.metadata]))
        for key, info in table.model_fields.items()
    ]
    return [(key, plan) for key, plan in found if plan]


def _reference_places(annotation: Any) -> Plan:  # noqa: ANN401, a type
    """Return the places of references in values of a type; in a dict, those of its keys."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        references = [item for item in arguments[1:] if isinstance(item, Reference)]
        return references[0] if references else _reference_places(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation if _keys_with_references(annotation) else ()
    found = [_reference_places(item) for item in arguments]
    return tuple(x for plan in found for x in (plan if isinstance(plan, tuple) else (plan,)))
