"""Names and poses in specifications that change when a mechanism is attached to another one, by the types of fields.

    parent: BodyName                           a body or frame of the mechanism, or its world
    at: Annotated[Array, PoseIn("parent")]     a pose (4, 4) relative to it

`renamed` replaces them in a specification, and in those within it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from pysim.typing import Array


class Named(Enum):
    """Kinds of names that a field may hold."""

    OWN = "of a part of the mechanism: a body, joint, coordinate, force or signal"
    BODY = "of a body or frame, or the world, which are in a place of the other mechanism"
    LINK = "of a body, or the world of all mechanisms"
    MATERIAL = "of a material, which may be one of the other mechanism"


OwnName = Annotated[str, Named.OWN]
BodyName = Annotated[str, Named.BODY]
LinkName = Annotated[str, Named.LINK]
MaterialName = Annotated[str, Named.MATERIAL]


@dataclasses.dataclass(frozen=True)
class PoseIn:
    """Type of a pose (4, 4), or a point (3,), relative to the body that another field names."""

    body: str


class Renaming(NamedTuple):
    """New names: by their kind, and for the name of a body also the pose (4, 4) of its old frame in the new one."""

    # without those of bodies; those that are left out stay
    names: Mapping[Named, Callable[[str], str]]
    place: Callable[[str], tuple[str, Array]]


_SPECIFICATIONS = "pysim.scene.spec"  # module of the types whose fields are searched
Change = Callable[[Any, Any, Renaming], Any]  # of a value in a specification
Spec = TypeVar("Spec")


def renamed(spec: Spec, renaming: Renaming) -> Spec:
    """Return a specification with new names and poses."""
    changed = {
        name: change(getattr(spec, name), spec, renaming) for name, change in _changes(type(spec))
    }
    copy = object.__new__(type(spec))  # a tenth of the time of `dataclasses.replace`
    copy.__dict__.update(spec.__dict__ | changed)
    return copy


_KNOWN_CHANGES: dict[type[Any], list[tuple[str, Change]]] = {}  # by type of specification


def _changes(kind: type[Any]) -> list[tuple[str, Change]]:
    """Return the fields of a specification that hold names or poses, and how to change their values."""
    if kind not in _KNOWN_CHANGES:
        types = get_type_hints(kind, include_extras=True)
        found = [(item.name, _change_of(types[item.name])) for item in dataclasses.fields(kind)]
        _KNOWN_CHANGES[kind] = [(name, change) for name, change in found if change is not None]
    return _KNOWN_CHANGES[kind]


def _change_of(annotation: Any) -> Change | None:  # noqa: ANN401, a type
    """Return the change of values of a type, None if they have no names and poses."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        mark = arguments[1]
        return _of_pose(mark) if isinstance(mark, PoseIn) else _of_name(mark)
    if isinstance(annotation, type) and annotation.__module__ == _SPECIFICATIONS:
        return (
            (lambda value, _, renaming: renamed(value, renaming)) if _changes(annotation) else None
        )
    inner = next((c for item in arguments if (c := _change_of(item)) is not None), None)
    if inner is None:
        return None
    if origin in (Union, UnionType) and NoneType in arguments:
        return lambda value, spec, renaming: None if value is None else inner(value, spec, renaming)
    if origin is tuple:
        return lambda values, spec, renaming: tuple(inner(x, spec, renaming) for x in values)
    return lambda values, spec, renaming: {inner(k, spec, renaming): x for k, x in values.items()}


def _of_name(kind: Named) -> Change:
    if kind is Named.BODY:
        return lambda name, _, renaming: renaming.place(name)[0]

    def change(name: str, _: object, renaming: Renaming) -> str:
        new = renaming.names.get(kind)
        return new(name) if new is not None and name else name

    return change


def _of_pose(mark: PoseIn) -> Change:
    def change(pose: Array, spec: object, renaming: Renaming) -> Array:
        body = getattr(spec, mark.body)
        if body is None:
            return pose
        X = renaming.place(body)[1]
        return X @ pose if pose.ndim == 2 else np.asarray(X[:3, :3] @ pose + X[:3, 3])

    return change
