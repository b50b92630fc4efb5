"""Joint types by name: the built-in ones, those a decorator registered, those an installed package offers."""

from __future__ import annotations

import dataclasses
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from pysim.errors import JointError, did_you_mean
from pysim.joints.builtin import BUILTIN, JointType, Key
from pysim.joints.callback import CallbackJoint
from pysim.joints.definition import check_complete
from pysim.joints.plugin import Joint
from pysim.plugins.fields import fields_of, spelled
from pysim.plugins.names import declare_kind, note_named
from pysim.tracing.author_code import author_line, definition_place, is_same, owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

Plugin = TypeVar("Plugin", bound=type[Joint])
declare_kind(Joint, "joint")
_plugins: dict[str, type[Joint]] = {}
_GROUP_NAMES = {
    "rotation": ("x", "y", "z", "w"),
    "pose": ("px", "py", "pz", "x", "y", "z", "w"),
}
_GROUP_V_NAMES = {"rotation": ("wx", "wy", "wz"), "pose": ("vx", "vy", "vz", "wx", "wy", "wz")}
_UNITS = {"rotation": ("1",) * 4, "pose": ("m",) * 3 + ("1",) * 4}
_V_UNITS = {"rotation": ("rad/s",) * 3, "pose": ("m/s",) * 3 + ("rad/s",) * 3}


def joint(kind: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this plugin available as `type = "<kind>"` in scenes.

    Raises:
        JointError: the name is taken; the text names both owners.
    """
    named: object = kind  # forgotten parentheses give the class itself
    if not isinstance(named, str) or not named:
        problem = f"a joint type needs a name, got {kind!r}"
        raise JointError(author_line(), f'{problem}; write @joint("name") above the class')

    def register(plugin: Plugin) -> Plugin:
        given: object = plugin
        if not (isinstance(given, type) and issubclass(given, Joint)):
            problem = f"{given!r} is no subclass of pysim.joints.Joint"
            raise JointError(f"{author_line()}: joint type {kind!r}", problem)
        motion, base = (
            ("poses", CallbackJoint) if issubclass(plugin, CallbackJoint) else ("placement", Joint)
        )
        check_complete(plugin, motion, base)
        if kind in BUILTIN:
            problem = f"joint type {kind!r} is built in; choose another name"
            raise JointError(definition_place(plugin), problem)
        taken = _plugins.setdefault(kind, plugin)
        if not is_same(taken, plugin):
            problem = f"joint type {kind!r} is already taken by {definition_place(taken)}"
            raise JointError(definition_place(plugin), f"{problem}; choose another name")
        _plugins[kind] = plugin
        note_named(plugin)
        return plugin

    return register


def find_joint(kind: str) -> JointType:
    """Return the joint type of a name, importing its package if need be.

    Raises:
        JointError: there is none; the text suggests one.
    """
    if kind in BUILTIN:
        return BUILTIN[kind]
    if kind not in _plugins:
        installed = _installed()
        if kind not in installed:
            known = {*BUILTIN, *_plugins, *installed}
            problem = f"unknown joint type {kind!r}{did_you_mean(kind, known)}"
            raise JointError("joint", problem)
        _load(kind, installed[kind])
    return joint_type(kind, _plugins[kind])


def joint_types() -> dict[str, JointType]:
    """Return every joint type by name, those of installed packages included."""
    for kind, entry in _installed().items():
        if kind not in _plugins:
            _load(kind, entry)
    return BUILTIN | {kind: joint_type(kind, plugin) for kind, plugin in _plugins.items()}


def _installed() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group="pysim.joints"):
        if entry.name in found and found[entry.name].value != entry.value:
            problem = (
                f"joint type {entry.name!r} is offered by {found[entry.name].value} of "
                f"{_distribution(found[entry.name])} and by {entry.value} of "
                f"{_distribution(entry)}; uninstall one"
            )
            raise JointError("entry points pysim.joints", problem)
        found[entry.name] = entry
    return found


def _load(kind: str, entry: EntryPoint) -> None:
    where = f"entry point {entry.name} = {entry.value!r} of {_distribution(entry)}"
    try:
        plugin = entry.load()
    except Exception as error:
        problem = f"cannot be loaded, {type(error).__name__}: {error}; mend or uninstall it"
        raise JointError(where, problem) from error
    if not (isinstance(plugin, type) and issubclass(plugin, Joint)):
        problem = f"joint type {kind!r} is no subclass of pysim.joints.Joint, got {plugin!r}"
        raise JointError(where, problem)
    joint(kind)(plugin)


def _distribution(entry: EntryPoint) -> str:
    """The installed package that offers an entry point."""
    return entry.dist.name if entry.dist is not None else "an unnamed package"


def joint_type(kind: str, plugin: type[Joint]) -> JointType:
    """Describe a plugin as the built-in types are described."""
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
        f"computed in Python by {owner(plugin)}.poses"
        if issubclass(plugin, CallbackJoint)
        else f"traced from {owner(plugin)}.placement",
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
