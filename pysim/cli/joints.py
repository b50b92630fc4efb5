"""`pysim joints`: the joint types, their coordinates and the keys that scenes give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import say, say_columns
from pysim.errors import PysimError, did_you_mean
from pysim.joints import joint_types

if TYPE_CHECKING:
    from pysim.joints import JointType


def describe_joints(name: str | None = None) -> None:
    """List the joint types, or explain the one of that name."""
    types = joint_types()
    if name is None:
        rows = [
            (
                kind.name,
                coordinates(kind),
                ", ".join(key.name for key in kind.keys),
                first_line(kind.doc),
            )
            for kind in types.values()
        ]
        say_columns(("type", "q", "keys", "motion"), rows)
        say()
        say("`pysim joints NAME` explains one; keys for every joint are in the README.")
    elif name in types:
        describe(types[name])
    else:
        raise PysimError("joints", f"unknown joint type {name!r}{did_you_mean(name, types)}")


def describe(kind: JointType) -> None:
    """Explain one joint type."""
    say(kind.name, style="bold")
    for line in kind.doc.splitlines():
        say(f"  {line.strip()}")
    say()
    say(f"  motion  {kind.motion}")
    say(f"  q       {coordinates(kind)}")
    say(f"  v       {', '.join(map(with_unit, kind.v_names, kind.v_units)) or 'none'}")
    if kind.keys:
        say()
        rows = [
            (key.name, f"[{key.unit}]" * bool(key.unit), key.default, key.doc) for key in kind.keys
        ]
        say_columns(("key", "unit", "default", "meaning"), rows)


def coordinates(kind: JointType) -> str:
    """Coordinates of a joint type with their units."""
    return ", ".join(map(with_unit, kind.q_names, kind.q_units)) or "none"


def with_unit(name: str, unit: str) -> str:
    """`angle [rad]`, and the name alone where there is no unit."""
    return name if unit in {"", "1"} else f"{name} [{unit}]"


def first_line(text: str) -> str:
    """First line of a docstring."""
    return text.strip().partition("\n")[0]
