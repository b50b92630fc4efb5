"""Annotated fields of a plugin, which are keys of its scene table."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
import types
import typing
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from pysim.errors import JointError, PysimError, did_you_mean
from pysim.plugins.bounds import check_bounds
from pysim.tracing.author_code import author_error

if TYPE_CHECKING:
    from collections.abc import Mapping

Plugin = TypeVar("Plugin")
SIGNAL = "signal"  # key of a table that names a signal
# types of fields by name, of classes
_TYPES: weakref.WeakKeyDictionary[type[Any], dict[str, Any]] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True)
class SignalName:
    """Name of a signal that a scene gives instead of numbers: `{ signal = "NAME" }`."""

    name: str


def fields_of(plugin: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """Return the scene keys of a plugin."""
    return {field.name: field for field in dataclasses.fields(plugin)}


def build(plugin: type[Plugin], keys: Mapping[str, Any], where: str) -> Plugin:
    """Make a plugin from scene keys.

    A class with the attribute `takes_signals` may have signals in place of numbers, as `SignalName`.

    Raises:
        JointError: a key is missing, unknown or of the wrong type.
    """
    fields = fields_of(plugin)
    values = {}
    for name, value in keys.items():
        if name not in fields:
            raise JointError(f"{where}.{name}", f"unknown key{did_you_mean(name, fields)}")
        wanted = field_type(plugin, fields[name])
        named = _named_signal(value) if getattr(plugin, "takes_signals", False) else None
        if named is not None and _takes_numbers(wanted):
            values[name] = named
        else:
            check_not_nan(value, f"{where}.{name}")
            values[name] = checked(value, wanted, f"{where}.{name}")
    missing = [
        name
        for name, field in fields.items()
        if name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        what = "the key" if len(missing) == 1 else "the keys"
        problem = f"{plugin.__qualname__} needs {what} {', '.join(missing)}"
        raise JointError(where, f"{problem}; write {', '.join(f'{name} = …' for name in missing)}")
    try:
        built = plugin(**values)
        check_bounds(built)
    except PysimError:
        raise
    except Exception as error:
        check_numbers_given(values, plugin.__qualname__, where)
        raise author_error(error, plugin.__init__, plugin.__qualname__) from error
    return built


def check_not_nan(value: object, where: str) -> None:
    """Reject NaN, also inside of lists.

    Raises:
        JointError: a number is NaN.
    """
    if isinstance(value, (list, tuple)):
        for inner in value:
            check_not_nan(inner, where)
    elif isinstance(value, float) and math.isnan(value):
        raise JointError(where, "must not be NaN; give a number")


def check_numbers_given(values: Mapping[str, Any], owner: str, where: str) -> None:
    """Reject signals in place of numbers that a plugin computes with before a run.

    Raises:
        JointError: a value is a signal.
    """
    for name, value in values.items():
        if isinstance(value, SignalName):
            problem = f"{owner} needs it before the scene runs; give a number"
            raise JointError(f"{where}.{name}", f"must not be a signal: {problem}")


def signals_in(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the signals that values of keys name in place of numbers, by key."""
    return {key: value.name for key, value in values.items() if isinstance(value, SignalName)}


def _named_signal(value: object) -> SignalName | None:
    if isinstance(value, SignalName):
        return value
    if isinstance(value, dict) and set(value) == {SIGNAL} and isinstance(value[SIGNAL], str):
        return SignalName(value[SIGNAL])
    return None


def _takes_numbers(wanted: Any) -> bool:
    """Return whether a field holds a number or a row of numbers."""
    if wanted is float:
        return True
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(map(_takes_numbers, inner))
    return origin is tuple and all(x in (float, Ellipsis) for x in inner)


def field_type(plugin: type[Any], field: dataclasses.Field[Any]) -> Any:
    """Return a field's annotation, evaluated if `from __future__ import annotations` left it as text.

    Raises:
        JointError: the annotation cannot be evaluated.
    """
    if not isinstance(field.type, str):
        return field.type
    types_of_class = _TYPES.setdefault(plugin, {})
    if field.name not in types_of_class:
        types_of_class[field.name] = _evaluated(plugin, field, field.type)
    return types_of_class[field.name]


def _evaluated(plugin: type[Any], field: dataclasses.Field[Any], annotation: str) -> Any:
    owner = next(c for c in plugin.__mro__ if field.name in inspect.get_annotations(c))
    module = sys.modules.get(owner.__module__)
    try:
        return eval(annotation, vars(module) if module else {})  # text of the author's own file
    except Exception as error:
        problem = f"the type {annotation!r} of the field {field.name!r} cannot be understood"
        where = f"{owner.__module__}.{owner.__qualname__}"
        raise JointError(
            where, f"{problem}, {error}; use float, int, bool, str or tuples"
        ) from error


def checked(value: Any, wanted: Any, where: str) -> Any:
    """Return a value converted to a field's type: integers become floats, lists become tuples.

    Raises:
        JointError: the value has another type.
    """
    if hasattr(wanted, "named_by"):
        return wanted.named_by(value, where)
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return _checked_union(value, wanted, where)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kind = wanted if origin is None else origin
    if kind in (tuple, list) and isinstance(value, (tuple, list)):
        return kind(_checked_elements(value, wanted, inner, where))
    refused = isinstance(kind, type) and not isinstance(value, kind)
    if refused or (kind is int and isinstance(value, bool)):
        raise JointError(where, f"must be {spelled(wanted)}, got {value!r}")
    return value


def _checked_union(value: Any, wanted: Any, where: str) -> Any:
    for option in typing.get_args(wanted):
        try:
            return checked(value, option, where)
        except JointError:
            continue
    raise JointError(where, f"must be {spelled(wanted)}, got {value!r}")


def _checked_elements(value: Any, wanted: Any, inner: tuple[Any, ...], where: str) -> list[Any]:
    if not inner:
        return [float(x) if type(x) is int else x for x in value]
    open_ended = len(inner) == 1 or inner[-1] is Ellipsis
    if not open_ended and len(value) != len(inner):
        raise JointError(where, f"must have {len(inner)} elements, got {len(value)}")
    kinds = [inner[0]] * len(value) if open_ended else inner
    try:
        return [checked(x, kind, where) for x, kind in zip(value, kinds, strict=True)]
    except JointError:
        raise JointError(where, f"must be {spelled(wanted)}, got {value!r}") from None


def spelled(wanted: Any) -> str:
    """Return a type as its author writes it."""
    if typing.get_origin(wanted) is None and isinstance(wanted, type):
        return wanted.__name__
    return str(wanted).replace("typing.", "")
