"""References: types of the keys that name a body, joint, material or other part of a scene, and their check.

A key declares by its type what it may name, as in `parent: MountName`. `check_references` finds all such keys in the
tables by these types, and reports names that no part has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from pysim.scene.toml.records.keys import ALL_JOINTS, Name, Table
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.source import Steps

    Visit = Callable[[Any, Steps], Iterator["Use"]]

EVERY_BODY = "*"  # in a list of bodies and frames
FIXED = "fixed joint"  # which a key may name, although it hardly ever means one


@dataclass(frozen=True)
class Reference:
    """Type of a key that names a part of the scene.

    Attributes:
        noun: what is named, for messages.
        kinds: kinds of parts: "world", "body", "frame", "joint", "fixed joint", "coordinate" or "material".
        others: further values that the key takes.
    """

    noun: str
    kinds: tuple[str, ...]
    others: frozenset[str] = frozenset()


class Use(NamedTuple):
    """A name in a table: its path, what it refers to, and whether it is the key of the value at the path."""

    path: Steps
    reference: Reference
    name: str
    is_key: bool = False


_BODY_OR_FRAME = ("body or frame", ("body", "frame"))
_JOINT = Reference("joint", ("joint", FIXED))
BodyName = Annotated[Name, Reference("body", ("body",))]
LinkName = Annotated[Name, Reference("body", ("world", "body"))]
MountName = Annotated[Name, Reference("body or frame", ("world", "body", "frame"))]
MovingName = Annotated[Name, Reference(*_BODY_OR_FRAME)]
MovingNameOrAll = Annotated[Name, Reference(*_BODY_OR_FRAME, frozenset({EVERY_BODY}))]
WatchedName = Annotated[Name, Reference(*_BODY_OR_FRAME, frozenset({WORLD}))]
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
    visit = _uses_of(type(scene))
    for path, reference, name, is_key in visit(scene, ()) if visit is not None else ():
        if path[0] in unused:
            continue
        kinds = reference.kinds
        if kinds not in names:
            meant = set().union(*(known[kind] for kind in kinds if kind != FIXED))
            names[kinds] = meant.union(*(known[kind] for kind in kinds)), meant
        taken, meant = names[kinds]
        if name not in taken and name not in reference.others:
            problems.add_unknown(path, reference.noun, name, meant, of_key=is_key)


@cache
def _uses_of(table: type[Table]) -> Visit | None:
    """Return a function that yields the references in a table and the tables in it, None if it can have none."""
    found = [
        (key, visit)
        for key, info in table.model_fields.items()
        if (visit := _visitor(Annotated[info.annotation, "", *info.metadata])) is not None
    ]

    def visit_table(value: Any, path: Steps) -> Iterator[Use]:  # noqa: ANN401, of any key's type
        if isinstance(value, Table):
            for key, visit in found:
                yield from visit(getattr(value, key), (*path, key))

    return visit_table if found else None


def _visitor(annotation: Any) -> Visit | None:  # noqa: ANN401, a type
    """Return a function that yields the references in a value of a type, None if it can have none."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        references = [item for item in arguments[1:] if isinstance(item, Reference)]
        return _names(references[0]) if references else _visitor(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return _uses_of(annotation)
    if not arguments:
        return None
    inner = [visit for item in arguments if (visit := _visitor(item)) is not None]
    if not inner:
        return None
    if origin is dict:
        return _entries(_visitor(arguments[0]), _visitor(arguments[1]))
    return _items(inner[0]) if origin is list else _any_of(inner)


def _names(reference: Reference) -> Visit:
    def visit(value: Any, path: Steps) -> Iterator[Use]:  # noqa: ANN401, of any type
        if isinstance(value, str):
            yield Use(path, reference, value)

    return visit


def _items(inner: Visit) -> Visit:
    def visit(value: Any, path: Steps) -> Iterator[Use]:  # noqa: ANN401, of any type
        for k, item in enumerate(value if isinstance(value, list) else ()):
            yield from inner(item, (*path, k))

    return visit


def _entries(of_key: Visit | None, of_value: Visit | None) -> Visit:
    def visit(value: Any, path: Steps) -> Iterator[Use]:  # noqa: ANN401, of any type
        for key, item in value.items() if isinstance(value, dict) else ():
            if of_key is not None:
                for use in of_key(key, (*path, key)):
                    yield use._replace(is_key=True)
            if of_value is not None:
                yield from of_value(item, (*path, key))

    return visit


def _any_of(types: Collection[Visit]) -> Visit:
    def visit(value: Any, path: Steps) -> Iterator[Use]:  # noqa: ANN401, of any type
        for inner in types:
            yield from inner(value, path)

    return visit
