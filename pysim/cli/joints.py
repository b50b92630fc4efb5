"""`pysim joints`: lists joint types, or describes one with its coordinates and scene keys."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from pysim.cli.files import existing
from pysim.cli.joint_picture import draw_builtin, draw_plugin
from pysim.cli.messages import print_columns, print_line
from pysim.cli.run import parse_overrides
from pysim.errors import PysimError, did_you_mean
from pysim.joints import CallbackJoint, joint_types
from pysim.joints.coordinate_ranges import limits_of
from pysim.joints.documentation import documented
from pysim.joints.loop_joints import LOOP_ONLY_TYPES
from pysim.joints.trace import trace
from pysim.mechanism.joint_description import runs_as, traced_motion
from pysim.plugins.fields import build
from pysim.plugins.files import run_plugin
from pysim.render.output import check_picture
from pysim.render.still import IMAGES

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import JointOptions
    from pysim.joints import Joint, JointType
    from pysim.joints.trace import Traced


def describe_joints(name: str | None, options: JointOptions) -> None:
    """List the joint types, or describe the one with this name."""
    if options.plugin is not None:
        run_plugin(existing(options.plugin), "--plugin")
    types = {**joint_types(), **LOOP_ONLY_TYPES}
    if name is None:
        if options.still is not None or options.values:
            raise PysimError("joints", "--still and --set are for one joint type; name it")
        list_types()
    elif name in types:
        describe(types[name], options)
    else:
        raise PysimError("joints", f"unknown joint type {name!r}{did_you_mean(name, types)}")


def list_types() -> None:
    """Print one line for each joint type and for each type of loop that is not a joint type."""
    of_tree = [
        (kind.name, coordinates(kind), *_keys_and_doc(kind)) for kind in joint_types().values()
    ]
    of_loops = [(kind.name, *_keys_and_doc(kind)) for kind in LOOP_ONLY_TYPES.values()]
    print_columns(("type", "q", "keys", "motion"), of_tree)
    print_line()
    print_columns(("loops only", "keys", "constraint"), of_loops)
    print_line()
    print_line(
        "`pysim joints NAME` explains one; the keys of every joint are in the scene reference."
    )


def _keys_and_doc(kind: JointType) -> tuple[str, str]:
    return ", ".join(key.name for key in kind.keys), first_line(kind.doc)


def describe(kind: JointType, options: JointOptions) -> None:
    """Describe one joint type, and draw it if requested."""
    if options.still is not None:
        check_moves(kind)
        check_picture(options.still, IMAGES)
    values = {key: toml_value(text) for key, text in parse_overrides(options.values).items()}
    for key in values:
        own = [known.name for known in kind.keys]
        if key not in own:
            problem = f"a {kind.name} joint has no such key{did_you_mean(key, own)}"
            raise PysimError(f"--set {key}", problem)
    joint = None if kind.plugin is None else built_joint(kind, values)
    traced = None if joint is None or isinstance(joint, CallbackJoint) else trace(joint)
    print_line(kind.name, style="bold")
    for line in kind.doc.splitlines():
        print_line(f"  {line.strip()}".rstrip())
    print_line()
    if kind.name in LOOP_ONLY_TYPES:
        print_line(f"  holds   {kind.motion}, for frames A and B of a [[loop]]")
        print_keys(kind)
        return
    print_line(f"  motion  {kind.motion}")
    if joint is not None:
        print_line(f"          {runs_as(traced_motion(joint, traced).description)}")
    elif kind.plugin is not None:
        print_line(f"          {UNSET} {', '.join(f'--set {key}=…' for key in required(kind))}")
    print_line(f"  q       {coordinates(kind)}")
    print_line(f"  v       {', '.join(map(with_unit, kind.v_names, kind.v_units)) or 'none'}")
    for line in limits(joint):
        print_line(f"  limits  {line}")
    print_keys(kind)
    if options.still is not None:
        draw(kind, joint, traced, values, options.still)
        print_line()
        print_line(f"  still   {options.still}")


def check_moves(kind: JointType) -> None:
    """Reject drawing a type of loop without coordinates."""
    if kind.name in LOOP_ONLY_TYPES:
        problem = f"{kind.name} has no motion of its own; draw a scene in which it closes a loop"
        raise PysimError("--still", problem)


UNSET = "how it runs depends on its keys:"


def built_joint(kind: JointType, values: dict[str, Any]) -> Joint | None:
    """Return the plugin with its keys set, None if required keys are missing."""
    assert kind.plugin is not None
    if set(required(kind)) - set(values):
        return None
    return build(kind.plugin, values, "--set")


def required(kind: JointType) -> list[str]:
    """Return the keys without a default."""
    return [key.name for key in kind.keys if key.default == "required"]


def toml_value(text: str) -> Any:  # noqa: ANN401, whatever TOML holds
    """Return the value of a TOML expression, or the text itself if it does not parse."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def draw(
    kind: JointType, joint: Joint | None, traced: Traced | None, values: dict[str, Any], path: Path
) -> None:
    """Draw the motion over the range of its coordinates."""
    if joint is not None:
        draw_plugin(kind, joint, traced, path)
    elif kind.plugin is None:
        draw_builtin(kind, values, path)
    else:
        missing = ", ".join(f"--set {key}=…" for key in required(kind))
        raise PysimError(
            str(path), f"{kind.name} cannot be drawn before its keys are set; add {missing}"
        )


def limits(joint: Joint | None) -> list[str]:
    """Return one line for each coordinate with limits."""
    if joint is None:
        return []
    units = {part.name: part.unit for part in joint.coordinates.parts}
    found = limits_of(joint).items()
    return [f"{name} {low:g} … {high:g} {units[name]}" for name, (low, high) in found]


def print_keys(kind: JointType) -> None:
    """Print the keys of a joint type with their types, units and meaning."""
    keys = kind.keys if kind.plugin is None else documented(kind.keys, kind.plugin)
    if keys:
        print_line()
        rows = [
            (key.name, key.type, f"[{key.unit}]" * bool(key.unit), key.default, key.doc)
            for key in keys
        ]
        print_columns(("key", "type", "unit", "default", "meaning"), rows)


def coordinates(kind: JointType) -> str:
    """Return the coordinates of a joint type with their units."""
    return ", ".join(map(with_unit, kind.q_names, kind.q_units)) or "none"


def with_unit(name: str, unit: str) -> str:
    """Return `angle [rad]`, or the name alone without a unit."""
    return name if unit in {"", "1"} else f"{name} [{unit}]"


def first_line(text: str) -> str:
    """Return the first line of a docstring."""
    return text.strip().partition("\n")[0]
