"""Joint types by name: built-in ones, and plugins from decorators and installed packages."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from pysim.errors import JointError
from pysim.joints.builtin import BUILTIN, JointType, Key
from pysim.joints.callback import CallbackJoint
from pysim.joints.definition import check_complete
from pysim.joints.plugin import Joint
from pysim.plugins.fields import fields_of, spelled
from pysim.plugins.registry import PluginKind
from pysim.tracing.author_code import shown_owner

if TYPE_CHECKING:
    from collections.abc import Callable

Plugin = TypeVar("Plugin", bound=type[Joint])
_GROUP_NAMES = {
    "rotation": ("x", "y", "z", "w"),
    "pose": ("px", "py", "pz", "x", "y", "z", "w"),
}
_GROUP_V_NAMES = {"rotation": ("wx", "wy", "wz"), "pose": ("vx", "vy", "vz", "wx", "wy", "wz")}
_UNITS = {"rotation": ("1",) * 4, "pose": ("m",) * 3 + ("1",) * 4}
_V_UNITS = {"rotation": ("rad/s",) * 3, "pose": ("m/s",) * 3 + ("rad/s",) * 3}


def _check_joint(plugin: type[Joint], where: str) -> None:  # noqa: ARG001, it says its own
    callback = issubclass(plugin, CallbackJoint)
    check_complete(plugin, *(("poses", CallbackJoint) if callback else ("placement", Joint)))


JOINTS: PluginKind[type[Joint]] = PluginKind(
    "joint",
    noun="joint type",
    base=Joint,
    public="pysim.joints.Joint",
    builtin=BUILTIN,
    check=_check_joint,
    error=JointError,
)


def joint(kind: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this plugin available as `type = "<kind>"` in scenes.

    Raises:
        JointError: the name is taken; the text names both owners.
    """
    return JOINTS.named(kind)


def find_joint(kind: str) -> JointType:
    """Return the joint type of a name, importing its package if need be.

    Raises:
        JointError: there is none; the text suggests one.
    """
    if kind in BUILTIN:
        return BUILTIN[kind]
    _load_library()
    return joint_type(kind, JOINTS.find(kind))


def joint_types() -> dict[str, JointType]:
    """Return every joint type by name, including those of installed packages."""
    _load_library()
    JOINTS.load_installed()
    plugins = JOINTS.registered.items()
    return BUILTIN | {kind: joint_type(kind, plugin) for kind, plugin in plugins}


def _load_library() -> None:
    """Import the traced joints that come with pysim, which register themselves."""
    import pysim.joints.custom_joint  # noqa: F401, PLC0415, it imports this module


def joint_type(kind: str, plugin: type[Joint]) -> JointType:
    """Return the description of a plugin, in the form of the built-in types."""
    q_names: list[str] = []
    v_names: list[str] = []
    q_units: list[str] = []
    v_units: list[str] = []
    alone = len(plugin.coordinates.parts) == 1
    for part in plugin.coordinates.parts:
        if part.group == "real":
            q_names.append(part.name)
            v_names.append(part.name)
            q_units.append(part.unit)
            v_units.append(f"{part.unit}/s")
        else:
            prefix = "" if alone else f"{part.name}."
            q_names += [prefix + name for name in _GROUP_NAMES[part.group]]
            v_names += [prefix + name for name in _GROUP_V_NAMES[part.group]]
            q_units += _UNITS[part.group]
            v_units += _V_UNITS[part.group]
    return JointType(
        kind,
        (plugin.__doc__ or "").strip(),
        f"computed in Python by {shown_owner(plugin)}.poses"
        if issubclass(plugin, CallbackJoint)
        else f"traced from {shown_owner(plugin)}.placement",
        tuple(q_names),
        tuple(q_units),
        tuple(v_names),
        tuple(v_units),
        tuple(_key(field) for field in fields_of(plugin).values()),
        plugin,
        plugin.force is not Joint.force,
    )


def _key(field: dataclasses.Field[Any]) -> Key:
    default = "required"
    if field.default is not dataclasses.MISSING:
        default = repr(field.default)
    elif field.default_factory is not dataclasses.MISSING:
        default = repr(field.default_factory())
    unit, doc = field.metadata.get("unit", ""), field.metadata.get("doc", "")
    return Key(field.name, unit, doc, default, spelled(field.type))
