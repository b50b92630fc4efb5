"""`pysim elements`: lists forces, signals, sensors, controllers and actuators, or describes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pysim.elements.block_library
import pysim.elements.library
import pysim.trajectory.source  # noqa: F401, all register their types
from pysim.cli.messages import print_columns, print_line
from pysim.elements.block import KINDS
from pysim.elements.force import FORCES
from pysim.errors import PysimError, did_you_mean
from pysim.joints.documentation import comments_of
from pysim.plugins.fields import field_type, fields_of, spelled
from pysim.plugins.files import run_plugin

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.elements.channels import Channels
    from pysim.plugins.registry import PluginKind

ALL: dict[str, PluginKind[Any]] = {"force": FORCES, **KINDS}


def describe_elements(name: str | None, plugin: Path | None) -> None:
    """List all types, those of one kind, or describe the types with this name.

    Raises:
        PysimError: there is neither a kind nor a type of this name.
    """
    if plugin is not None:
        run_plugin(plugin, "--plugin")
    for plugins in ALL.values():
        plugins.load_installed()
    if name is None or name in ALL:
        for kind in ALL if name is None else (name,):
            list_kind(kind)
        print_line("`pysim elements NAME` explains a type.")
        return
    found = [(kind, ALL[kind].registered[name]) for kind in ALL if name in ALL[kind].registered]
    if not found:
        known = [*ALL, *(type_ for kind in ALL.values() for type_ in kind.registered)]
        raise PysimError("elements", f"unknown kind or type {name!r}{did_you_mean(name, known)}")
    for kind, cls in found:
        describe(kind, name, cls)


def list_kind(kind: str) -> None:
    """Print one line for each type of a kind."""
    rows = [
        (name, ", ".join(fields_of(plugin)), _first_line(plugin))
        for name, plugin in sorted(ALL[kind].registered.items())
    ]
    print_columns((f"[[{kind}]]", "keys", "what it is"), rows)
    print_line()


def describe(kind: str, name: str, plugin: Any) -> None:  # noqa: ANN401, a plugin's class
    """Print the docstring of a type, its inputs and outputs, and its keys with units."""
    print_line(f'[[{kind}]] type = "{name}"')
    for line in (plugin.__doc__ or "").strip().splitlines():
        print_line(f"  {line.strip()}".rstrip())
    for word in ("inputs", "outputs", "states", "memory"):
        channels: Channels | None = getattr(plugin, word, None)
        if channels is not None and len(channels):
            described = (f"{c.name} [{c.unit}]" if c.unit else c.name for c in channels)
            print_line(f"  {word:<10}  {', '.join(described)}")
    comments = comments_of(plugin)
    rows = []
    for key, field in fields_of(plugin).items():
        unit, doc = comments.get(key, ("", ""))
        required = field.default is field.default_factory  # both missing
        default = "required" if required else repr(field.default)
        rows.append((key, spelled(field_type(plugin, field)), unit, default, doc))
    if rows:
        print_line()
        print_columns(("key", "type", "unit", "default", ""), rows)
    print_line()


def _first_line(plugin: Any) -> str:  # noqa: ANN401, as above
    return (plugin.__doc__ or "").strip().partition("\n")[0]
