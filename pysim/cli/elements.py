"""`pysim elements`: lists forces, signals, sensors, controllers and actuators, or describes one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pysim.trajectory.source  # noqa: F401, registers its type
from pysim.cli.files import existing
from pysim.cli.messages import print_columns, print_line
from pysim.elements.block import KINDS
from pysim.elements.force import FORCES, method_of
from pysim.elements.library import load_library
from pysim.errors import PysimError, did_you_mean
from pysim.joints.documentation import comments_of
from pysim.plugins.fields import field_type, fields_of, spelled
from pysim.plugins.files import run_plugin

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.elements.channels import Channels
    from pysim.plugins.registry import PluginKind

ALL: dict[str, PluginKind[Any]] = {"force": FORCES, **KINDS}
_MOST_KEYS = 60  # characters
load_library()


def describe_elements(name: str | None, plugin: Path | None) -> None:
    """List all types, those of one kind, or describe the types with this name.

    Raises:
        PysimError: there is neither a kind nor a type of this name.
    """
    if plugin is not None:
        run_plugin(existing(plugin), "--plugin")
    for plugins in ALL.values():
        plugins.load_installed()
    if name is None or name in ALL:
        for kind in ALL if name is None else (name,):
            list_kind(kind)
        if name is None or all(name not in ALL[kind].registered for kind in ALL):
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
        (name, _listed(list(fields_of(plugin))), _first_line(plugin))
        for name, plugin in ALL[kind].registered.items()
    ]
    print_columns((f"[[{kind}]]", "keys", "what it is"), sorted(rows))
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
    for line in _table_keys(kind, plugin):
        print_line(f"  {line}")
    comments = comments_of(plugin)
    rows = []
    for key, field in fields_of(plugin).items():
        unit, doc = comments.get(key, ("", ""))
        doc = doc.removeprefix(",").strip()
        required = field.default is field.default_factory  # both missing
        default = "required" if required else _shortened(repr(field.default))
        rows.append((key, spelled(field_type(plugin, field)), unit, default, doc))
    if rows:
        print_line()
        print_columns(("key", "type", "unit", "default", ""), rows)
    print_line()


_FORCE_KEYS = {
    "points": "a, at_a, b and at_b: bodies or frames, and points in them; a and b are the world by default",
    "frames": "b, at_b, a and at_a: bodies or frames between which it acts; a is the world by default",
    "path": "path: points along which it acts",
    "coordinates": "coordinates: joints on which it acts",
}
_SENSOR_KEYS = {  # by arguments of `measure`
    ("q", "v", "a"): "coordinates: joints that it measures",
    ("pose", "twist", "acceleration"): "frame, at and relative_to: the frame that it measures",
    ("length", "rate"): "path: points whose path it measures",
    ("wrench",): "joint: the joint that it measures",
    (
        "contact",
    ): "frame, at and others: the body whose contacts it measures, and with which others",
    ("power", "energy"): "element: the force, actuator or joint that it measures",
}


def _table_keys(kind: str, plugin: Any) -> list[str]:  # noqa: ANN401, as above
    """Return what the keys are that a type shares with others of its kind."""
    if kind == "force":
        acts = "points" if plugin.between_points else method_of(plugin).acts
        return [f"place       {_FORCE_KEYS[acts]}"]
    if kind == "actuator":
        return ["place       joint, coordinates or path: what it drives"]
    if kind != "sensor":
        return []
    named = set(inspect.signature(plugin.measure).parameters)
    return [f"place       {keys}" for names, keys in _SENSOR_KEYS.items() if named & set(names)]


def _listed(keys: list[str]) -> str:
    """Return the first keys of a type, as many as a line of the list holds."""
    while len(", ".join(keys)) > _MOST_KEYS:
        keys = [*keys[:-2], "…"] if keys[-1] == "…" else [*keys[:-1], "…"]
    return ", ".join(keys)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:36]} …"


def _first_line(plugin: Any) -> str:  # noqa: ANN401, as above
    return (plugin.__doc__ or "").strip().partition("\n")[0]
