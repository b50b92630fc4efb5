"""The base class of tables, and their correspondence with specifications, written once for both directions.

A key has the name of the specification's field, unless `spec_names` gives another one. What a key lacks is the
default of the field; a field with its default is left out of the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, Union, cast, get_args, get_origin

import numpy as np
from pydantic import BaseModel, ConfigDict

from pysim.plugins.fields import SIGNAL, SignalName
from pysim.scene.toml.plugin_keys import PARAMETERS
from pysim.scene.toml.records.schema import Shorthand

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    Tables = dict[str, Any]


class Table(BaseModel):
    """A table that rejects unknown keys.

    Attributes:
        spec_names: fields of the specification whose keys have other names.
        is_flat: whether its keys are fields of the specification of the table around it.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)
    spec_names: ClassVar[Mapping[str, str]] = {}
    is_flat: ClassVar[bool] = False

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the table, which is frozen: pydantic copies the default of a key for each table."""
        return self

    def spec_fields(self, kind: type[Any]) -> dict[str, Any]:
        """Return the fields of a specification of a kind that the table gives."""
        taken = _defaults(cast("Any", kind))
        found: dict[str, Any] = {}
        for key, inner in _tables_in(type(self)).items():
            value = getattr(self, key)
            if inner is not None and inner.is_flat and isinstance(value, Table):
                found |= value.spec_fields(kind)
            elif value is not None and (name := self.spec_names.get(key, key)) in taken:
                found[name] = _field_value(value)
        return found

    def spec_value(self) -> Any:  # noqa: ANN401, a tuple, or what the type of table stands for
        """Return the value of a specification's field that the table stands for: the tuple of its values."""
        return tuple(getattr(self, key) for key in type(self).model_fields)

    @classmethod
    def keys_of(cls, spec: Any) -> Tables:  # noqa: ANN401, of the table
        """Return the table of a specification, or of a tuple of its values, without defaults."""
        if isinstance(spec, tuple):
            return dict(zip(cls.model_fields, map(plain, spec), strict=True))
        defaults = _defaults(cast("Any", type(spec)))
        table: Tables = {}
        for key, info in cls.model_fields.items():
            inner, name = _tables_in(cls)[key], cls.spec_names.get(key, key)
            if inner is not None and inner.is_flat:
                value = _short(inner.keys_of(spec), info)
            elif name in defaults and not _is_default(getattr(spec, name), defaults[name], info):
                value = _key_value(getattr(spec, name), inner, info)
            else:
                continue
            if value not in (None, {}, []):
                table |= _given_parameters(value) if key == PARAMETERS else {key: value}
        return table

    @classmethod
    def number_keys(cls, prefix: str = "") -> Iterator[tuple[str, str, float]]:
        """Yield the path of every key, the field of the specification, and the least number that the key allows."""
        for key, info in cls.model_fields.items():
            inner = _tables_in(cls)[key]
            if inner is not None and inner.is_flat:
                yield from inner.number_keys(f"{prefix}{key}.")
            else:
                yield prefix + key, cls.spec_names.get(key, key), _least((info, info.annotation))

    @classmethod
    def units(cls, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield the path of every key with its unit, empty for none; those of tables within are paths, too."""
        for key, info in cls.model_fields.items():
            inner = _tables_in(cls)[key]
            if inner is None or not inner.is_flat:
                extra = info.json_schema_extra
                yield prefix + key, str(extra.get("unit", "")) if isinstance(extra, dict) else ""
            if inner is not None:
                yield from inner.units(f"{prefix}{key}.")


def table_in(annotation: object) -> type[Table] | None:
    """Return the table in list[Table], Table | None and the like."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next((t for a in get_args(annotation) if (t := table_in(a)) is not None), None)


def plain(value: Any) -> Any:  # noqa: ANN401, any field
    """Return a field's value as TOML holds it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, SignalName):
        return {SIGNAL: value.name}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    return value


def _least(parts: Iterable[Any]) -> float:
    """Return the least number of a type with these parts, just above an open bound; −∞ without a bound."""
    for part in parts:
        if hasattr(part, "ge"):
            return float(part.ge)
        if hasattr(part, "gt"):
            return float(np.nextafter(part.gt, np.inf))
        least = _least((*get_args(part), *getattr(part, "metadata", ())))
        if least > -np.inf:
            return least
    return -np.inf


def _given_parameters(parameters: Tables) -> Tables:
    return {key: value for key, value in parameters.items() if value is not None}


@cache
def _tables_in(kind: type[Table]) -> dict[str, type[Table] | None]:
    return {key: table_in(info.annotation) for key, info in kind.model_fields.items()}


@cache
def _defaults(kind: Any) -> dict[str, Any]:  # noqa: ANN401, a dataclass
    """Return the fields of a specification with their defaults, None for a required one."""
    return {
        item.name: item.metadata["none"]
        if "none" in item.metadata
        else item.default_factory()
        if item.default_factory is not dataclasses.MISSING
        else None
        if item.default is dataclasses.MISSING
        else item.default
        for item in dataclasses.fields(kind)
    }


def _field_value(value: Any) -> Any:  # noqa: ANN401, of any key
    """Return the value of a specification's field for that of a key."""
    if isinstance(value, Table):
        return value.spec_value()
    return tuple(map(_field_value, value)) if isinstance(value, list) else value


def _is_default(value: Any, default: Any, info: FieldInfo) -> bool:  # noqa: ANN401, of any field
    """Return whether a field has the default of its specification, or that of its key."""
    if isinstance(value, np.ndarray):
        if default is None:
            return False
        if np.isnan(value).any() and np.isnan(default).all():
            return True  # chosen when the scene is read
        return np.array_equal(value, np.broadcast_to(default, value.shape), equal_nan=True)
    return value is None or value in (default, info.default)


def _key_value(value: Any, inner: type[Table] | None, info: FieldInfo) -> Any:  # noqa: ANN401
    """Return the value of a key for that of a specification's field, in a table if its type is one."""
    if inner is None or isinstance(value, Mapping):
        numbers = plain(value)
        is_same = isinstance(value, np.ndarray) and len(set(numbers)) == 1
        return _short(numbers[:1] if is_same else numbers, info)
    if isinstance(value, tuple) and not isinstance(value[0], float):
        items = [x if isinstance(x, Mapping) else inner.keys_of(x) for x in value]
        return _short(items, info)
    return _short(inner.keys_of(value), info)


def _short(value: Any, info: FieldInfo) -> Any:  # noqa: ANN401, of any key
    """Return the shorthand of a value, if its key has one that holds all of it."""
    shorthand = _shorthand(Annotated[info.annotation, "", *info.metadata])
    if shorthand is None or not value:
        return value
    first = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return first if shorthand.opened(first) == value else value


def _shorthand(annotation: Any) -> Shorthand | None:  # noqa: ANN401, a type
    """Return the shorthand of a type, or of one that it may be."""
    arguments = get_args(annotation)
    if get_origin(annotation) not in (Annotated, Union, UnionType):
        return None
    found = [item for item in arguments if isinstance(item, Shorthand)]
    return next(iter(found), None) or next(filter(None, map(_shorthand, arguments)), None)
