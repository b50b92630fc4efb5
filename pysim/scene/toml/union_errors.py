"""Errors of keys that take several types, such as `collision = true` or a shape: those of the type that was meant.

Pydantic reports the errors of every type of a union, each below a step of its path that names the type. If the value
has one of the types, the errors below that type are kept; otherwise one error lists what the key takes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

    from pysim.scene.toml.source import Step

KINDS = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "finite_number": "finite",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_type": "text in quotes",
}
_TYPE = re.compile(
    r"(?:bool|str|float|int|constrained-str|(?:function-|literal\[|list\[|dict\[).*)$"
)


class Invalid(NamedTuple):
    """An error of pydantic at a path of keys; `demand` is set if it stands for those of several types."""

    path: tuple[Step, ...]
    details: ErrorDetails
    demand: str = ""


def choose(errors: Iterable[ErrorDetails], values: object) -> Iterator[Invalid]:
    """Yield the errors of a document's values, those of one type for each key that takes several."""
    by_key: dict[tuple[Step, ...], dict[Step, list[Invalid]]] = {}
    for details in errors:
        at = _type_step(details["loc"], values)
        if at is None:
            yield Invalid(details["loc"], details)
        else:
            key, name, rest = details["loc"][:at], details["loc"][at], details["loc"][at + 1 :]
            invalid = Invalid((*key, *rest), details)
            by_key.setdefault(key, {}).setdefault(name, []).append(invalid)
    for key, types in by_key.items():
        meant = [
            found for found in types.values() if not all(_has_other_type(key, e) for e in found)
        ]
        if meant:
            yield from meant[0]
        else:
            firsts = [found[0] for found in types.values()]
            demand = ", or ".join(_demanded(invalid.details) for invalid in firsts)
            yield Invalid(key, firsts[0].details, demand)


def _type_step(path: tuple[Step, ...], value: Any) -> int | None:  # noqa: ANN401, a document's value
    """Return the index of the step that names a type instead of a key."""
    for k, step in enumerate(path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(step, str) and _TYPE.match(step):
            return k
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
    return None


def _has_other_type(key: tuple[Step, ...], invalid: Invalid) -> bool:
    """Return whether an error says that the key's own value is not of the type."""
    kind, given = invalid.details["type"], invalid.path[len(key) :]
    return kind in {*KINDS, "literal_error", "model_type"} and (
        not given or (kind == "model_type" and given == (0,))
    )


def _demanded(details: ErrorDetails) -> str:
    if details["type"] == "literal_error":
        return str(details["ctx"]["expected"]).replace("'", '"')
    return "a table" if details["type"] == "model_type" else KINDS[details["type"]]
