"""The annotated fields of a plugin, which are keys of its scene table."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from pysim.errors import JointError, PysimError, did_you_mean
from pysim.joints.definition import checked, field_type
from pysim.tracing.author_code import told_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Plugin = TypeVar("Plugin")


def fields_of(plugin: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """The scene keys of a plugin."""
    return {field.name: field for field in dataclasses.fields(plugin)}


def build(plugin: type[Plugin], keys: Mapping[str, Any], where: str) -> Plugin:
    """Make a plugin from scene keys.

    Raises:
        JointError: a key is missing, unknown or of the wrong type.
    """
    fields = fields_of(plugin)
    values = {}
    for name, value in keys.items():
        if name not in fields:
            hint = did_you_mean(name, fields)
            raise JointError(where, f"unknown key {name!r} of {plugin.__qualname__}{hint}")
        values[name] = checked(value, field_type(plugin, fields[name]), f"{where}.{name}")
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
        return plugin(**values)
    except PysimError:
        raise
    except Exception as error:
        raise told_of(error, plugin.__init__, plugin.__qualname__) from error
