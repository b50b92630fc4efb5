"""Checks of a joint plugin's class when it is defined: fields, coordinates and methods."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import TYPE_CHECKING, Any, ClassVar

from pysim.errors import JointError, closest
from pysim.joints.coordinates import Coordinates
from pysim.plugins.fields import checked, field_type
from pysim.tracing.author_code import author_line, defined_at

if TYPE_CHECKING:
    from collections.abc import Callable

LIKE_A_METHOD = 0.85  # similarity of names: `forces` is like `force`, `enforce` is not
SCENE_KEYS = frozenset(
    {
        "name",
        "type",
        "parent",
        "child",
        "at",
        "mimic",
        "start",
        "parameters",
        "armature",
        "damping",
        "stiffness",
        "rest",
        "friction",
        "friction_width",
        "limits",
        "effort_limit",
        "velocity_limit",
        "velocity_band",
        "enforce_limits",
        "motion",
    }
)  # keys of every joint type (pysim/scene/toml/records/tables.py)


def define(cls: type[Any]) -> None:
    """Make a plugin's class a dataclass.

    Raises:
        JointError: the class is invalid; the error names the author's line.
    """
    where = f"{author_line()}: {cls.__qualname__}"
    own = inspect.get_annotations(cls)
    for name, annotation in own.items():
        if not _is_class_variable(annotation):
            _check_name(cls, name, where)
    _check_methods(cls)
    for name, value in vars(cls).items():
        if name not in own and _is_forgotten(name, value):
            kind = type(value).__name__
            problem = f"the field {name!r} has no type, so scenes cannot set it"
            remedy = f"write `{name}: {kind} = …`, or {name.upper()} for a constant"
            raise JointError(where, f"{problem}; {remedy}")
    if "coordinates" in vars(cls) and not isinstance(cls.coordinates, Coordinates):
        problem = f"coordinates must be made by real, rotation or pose, got {cls.coordinates!r}"
        raise JointError(where, f'{problem}; write for example `coordinates = real("angle")`')
    try:
        dataclasses.dataclass(cls)
    except (TypeError, ValueError) as error:
        raise JointError(where, _dataclass_problem(str(error))) from None
    _check_defaults(cls, where)


def _check_name(cls: type[Any], name: str, where: str) -> None:
    if name == "coordinates":
        problem = "coordinates is not a field; remove its annotation"
    elif name in SCENE_KEYS:
        problem = f"the field {name!r} is a key that every joint has; choose another name"
    elif name in dir(cls.__mro__[1]) and name not in _fields_of_bases(cls):
        problem = f"the field {name!r} hides a method of joints; choose another name"
    elif name.startswith("_"):
        problem = f"the field {name!r} cannot be a scene key; begin its name with a letter"
    else:
        return
    raise JointError(where, problem)


def _check_methods(cls: type[Any]) -> None:
    """Reject a method whose name is nearly that of an overridable method with the same number of arguments."""
    methods = dict(inspect.getmembers(cls, inspect.isfunction))
    known = [name for name, method in methods.items() if method.__module__.startswith("pysim.")]
    own = [name for name, value in vars(cls).items() if inspect.isfunction(value)]
    for name in [name for name in own if name not in known]:
        meant = None if name.startswith("_") else closest(name, known, LIKE_A_METHOD)
        if meant is None or _arguments(methods[name]) != _arguments(methods[meant]):
            continue
        problem = f"joints have no method {name!r}; did you mean {meant!r}?"
        remedy = "the name of a helper may begin with _"
        where = f"{defined_at(methods[name])}: {cls.__qualname__}"
        raise JointError(where, f"{problem} {remedy}")


def _arguments(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


def _fields_of_bases(cls: type[Any]) -> set[str]:
    return {
        name
        for base in cls.__mro__[1:]
        if dataclasses.is_dataclass(base)
        for name in (field.name for field in dataclasses.fields(base))
    }


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1] == "ClassVar"
    return annotation is ClassVar or typing.get_origin(annotation) is ClassVar


def _is_forgotten(name: str, value: Any) -> bool:
    """Return whether a class attribute looks like a field without its annotation."""
    if name.startswith("_") or name.isupper() or name == "coordinates":
        return False
    return not (callable(value) or hasattr(value, "__get__"))


def _dataclass_problem(text: str) -> str:
    if "mutable default" in text:
        name = text.partition(" for field ")[2].partition(" ")[0]
        remedy = "write a tuple, or dataclasses.field(default_factory=…)"
        return f"the default of {name!r} would be shared by all joints; {remedy}"
    if "non-default argument" in text:
        name = text.split("'")[1]
        return f"the field {name!r} has no default but follows one that has; put it first"
    return f"{text}; fix the fields"


def _check_defaults(cls: type[Any], where: str) -> None:
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING and field.name in inspect.get_annotations(cls):
            try:
                wanted = field_type(cls, field)
            except JointError:
                continue  # reported when the joint is registered, when its module is complete
            try:
                checked(field.default, wanted, "")
            except JointError as error:
                raise JointError(where, f"the default of {field.name!r} {error.problem}") from None


def check_complete(plugin: type[Any], motion: str, base: type[Any]) -> None:
    """Reject an incomplete class: without coordinates or motion, or with a field of unknown type.

    Raises:
        JointError: the class is incomplete; the error names the author's line.
    """
    where = f"{author_line()}: {plugin.__qualname__}"
    if not hasattr(plugin, "coordinates"):
        raise JointError(where, 'has no coordinates; write `coordinates = real("angle")`')
    if getattr(plugin, motion) is getattr(base, motion):
        result = "a Pose" if motion == "placement" else "poses (n, 4, 4)"
        raise JointError(
            where, f"has no method {motion}; write `def {motion}(self, q)` that returns {result}"
        )
    for field in dataclasses.fields(plugin):
        field_type(plugin, field)
