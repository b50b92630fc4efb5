"""The key `coordinate`: the name of a joint's coordinate, or its index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, WithJsonSchema

from pysim.errors import did_you_mean
from pysim.scene.toml.records.keys import error_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.source import Steps


def _name_or_place(value: object) -> object:
    is_place = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if is_place or (isinstance(value, str) and value):
        return value
    raise error_text(f"must be the name of a coordinate or its index, from 0, got {value!r}")


CoordinateOf = Annotated[
    int | str,
    BeforeValidator(_name_or_place),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "minLength": 1}]}
    ),
]


def place_of(
    given: int | str, names: Sequence[str], kind: str, path: Steps, problems: Problems
) -> int | None:
    """Return the index of a coordinate among the names of a joint type; None if it is unknown."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if isinstance(given, int) and given < len(names):
        return given
    named = ", ".join(f"{k} {name}" for k, name in enumerate(names))
    hint = did_you_mean(given, names) if isinstance(given, str) and len(names) > 1 else ""
    problem = f"a {kind} joint has no coordinate {given}; it has {named}{hint}"
    problems.add((*path, "coordinate"), problem)
    return None
