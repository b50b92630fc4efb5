"""Python files that a scene names, and the keys that their joints add to joint tables.

Code runs only where the caller allows it: a scene from a stranger is data.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

from pysim.errors import JointError, PysimError, SceneError
from pysim.events import OWN_KEYS, Event
from pysim.integrators import Integrator, find_integrator
from pysim.joints import Joint, find_joint
from pysim.joints.closing import find_closing
from pysim.joints.fields import build, fields_of
from pysim.joints.plugin_names import is_named
from pysim.tracing.author_code import RUN_TEXT, definition_place

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path
    from types import ModuleType

    from pysim.scene.source import Source
    from pysim.scene.wording import Problems

PARAMETERS = "parameters"
_one_at_a_time = threading.RLock()
_in_force: dict[tuple[str, bytes], Path] = {}  # where the file of a name and text was last run


def load_plugins(source: Source, path: Path, *, allow_code: bool) -> None:
    """Run the files of the scene's `plugins` key; their decorators register what they define.

    Raises:
        SceneError: code is not allowed, a file is missing, or its own error, with its line.
    """
    names = source.values.get("plugins", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return  # the table's types are checked with the others
    if names and not allow_code:
        problem = (
            f"would run the Python code of {', '.join(names)}; read it, then allow it by "
            "--allow-code, or allow_code=True from Python"
        )
        raise SceneError(source.where(("plugins",)), problem)
    for k, name in enumerate(names):
        file = path.parent / name
        if not file.is_file():
            problem = f"there is no file {str(file)!r}; paths are relative to the scene"
            raise SceneError(source.where(("plugins", k)), problem)
        run_plugin(file, source.where(("plugins", k)))


def run_plugin(file: Path, where: str) -> None:
    """Import a file under a name of its own; one that is already imported and unchanged is left.

    Of a file and its copies in other folders the last that was run is in force; another is run again.
    """
    path = file.resolve()
    with _one_at_a_time:
        text = path.read_bytes()
        if _in_force.get((path.name, text)) == path:
            return
        for known in [known for known, at in _in_force.items() if at == path]:
            del _in_force[known]
        _import(path, text, where)
        _in_force[path.name, text] = path


def _import(path: Path, text: bytes, where: str) -> None:
    """Run a plugin's file as a module; nothing of it stays where it does not run to its end."""
    place = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"pysim_plugin_{path.stem}_{place}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SceneError(where, f"{str(path)!r} is no Python file; its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    setattr(module, RUN_TEXT, text)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        _check_named(module)
    except BaseException as error:
        sys.modules.pop(name)
        if isinstance(error, PysimError) or not isinstance(error, Exception):
            raise
        lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = lines[-1].lineno if lines else getattr(error, "lineno", 1)
        problem = f"{type(error).__name__}: {error}; mend the plugin {where} names"
        raise SceneError(f"{path}:{line}", problem) from error


def _check_named(module: ModuleType) -> None:
    """Refuse a file whose joints, integrators and events no decorator names: no scene could use them."""
    decorators = {Joint: "joint", Integrator: "integrator", Event: "event"}
    own = [x for x in vars(module).values() if getattr(x, "__module__", "") == module.__name__]
    kinds = {
        plugin: noun
        for plugin in own
        for base, noun in decorators.items()
        if isinstance(plugin, type) and issubclass(plugin, base)
    }
    if kinds and not any(map(is_named, kinds)):
        plugin, noun = next(iter(kinds.items()))
        problem = f'has no name for scenes; write @{noun}("name") above the class'
        raise SceneError(definition_place(plugin), problem)


def gather_parameters(values: Mapping[str, Any], shared: Mapping[str, Collection[str]]) -> None:
    """Move the keys that belong to a plugin from the tables of joints, loops and the run into a table of their own.

    Of a type that is not known, these are all that such tables do not share: the type is what is wrong, not the keys.
    """
    _gather_of_integrator(values.get("simulation"), shared.get("simulation", ()))
    for name, keys in shared.items():
        tables = values.get(name, [])
        for table in tables if isinstance(tables, list) else []:
            if isinstance(table, dict) and isinstance(table.get("type"), str):
                _gather(table, keys)


def _gather(table: dict[str, Any], shared: Collection[str]) -> None:
    plugin = _plugin_of(table)
    if plugin is not None:
        names = [name for name in fields_of(plugin) if name in table]
    elif not _is_known(table["type"]):
        names = [name for name in table if name not in shared]
    else:
        return
    if PARAMETERS in table:  # the file's own word, which no table has
        names = [*names, *({PARAMETERS} - set(names))]
    table[PARAMETERS] = {name: table.pop(name) for name in names}


def _gather_of_integrator(table: object, shared: Collection[str]) -> None:
    if not isinstance(table, dict) or not isinstance(table.get("integrator"), str):
        return
    try:
        plugin = find_integrator(table["integrator"]).plugin
    except PysimError:  # its name is what is wrong, not its keys
        names = [name for name in table if name not in shared]
    else:
        own = () if plugin is None else fields_of(plugin)
        names = [name for name in own if name in table and name not in shared]
        if plugin is not None and PARAMETERS in table:  # the file's own word, which no table has
            names.append(PARAMETERS)
    if names:
        table[PARAMETERS] = {name: table.pop(name) for name in names}


def gather_event_parameters(values: Mapping[str, Any]) -> None:
    """Move the keys that belong to an event plugin from its table into a table of their own."""
    events = values.get("event", [])
    for table in events if isinstance(events, list) else []:
        if isinstance(table, dict) and isinstance(table.get("type"), str):
            own = [name for name in table if name not in OWN_KEYS]
            table[PARAMETERS] = {name: table.pop(name) for name in own}


def _is_known(kind: str) -> bool:
    try:
        find_closing(kind)
    except JointError:
        return False
    return True


def _plugin_of(table: object) -> type[Joint] | None:
    if not isinstance(table, dict) or not isinstance(table.get("type"), str):
        return None
    return find_closing(table["type"]).plugin if _is_known(table["type"]) else None


def keys_of(values: Mapping[str, Any], path: tuple[Any, ...]) -> tuple[str, ...]:
    """The keys that the plugin of the table at `path`, a joint's, a loop's or the run's, has of its own.

    Raises:
        JointError: the table's type is unknown, so that nobody knows its keys.
    """
    if path == ("simulation",):
        name = values["simulation"].get("integrator")
        scheme = find_integrator(name).plugin if isinstance(name, str) else None
        return () if scheme is None else tuple(fields_of(scheme))
    if len(path) != 2 or path[0] not in {"joint", "loop"}:
        return ()
    kind = values[path[0]][path[1]].get("type")
    plugin = find_closing(kind).plugin if isinstance(kind, str) else None
    return () if plugin is None else tuple(fields_of(plugin))


def check_parameters(
    kind: str, given: Mapping[str, Any], path: tuple[Any, ...], problems: Problems
) -> dict[str, Any]:
    """Return a plugin's keys with their types checked; what is wrong goes to `problems`."""
    plugin = find_joint(kind).plugin
    if plugin is None:
        return {}
    try:
        joint = build(plugin, given, "")
    except JointError as error:
        name = error.where.removeprefix(".")
        problems.add((*path, name) if name in given else path, error.problem)
        return {}
    return {name: getattr(joint, name) for name in fields_of(plugin)}
