"""Keys of plugins in the tables of a scene, and the plugin files that a scene names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.elements.block import KINDS, find_block
from pysim.elements.force import SPRING, find_force
from pysim.errors import JointError, PysimError, SceneError
from pysim.events import find_event
from pysim.integrators import find_integrator
from pysim.joints import Joint, find_joint
from pysim.joints.loop_joints import find_loop_type
from pysim.plugins.fields import build, fields_of
from pysim.plugins.files import check_consent, run_plugin
from pysim.scene.packages import allowed_folders

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.source import Source

PARAMETERS = "parameters"
FILE = "file"  # field of plugins that names a file of data


def load_plugins(source: Source, *, allow_code: bool) -> None:
    """Run the files of the scene's `plugins` key; their decorators register what they define.

    Raises:
        SceneError: code is not allowed, also that of FMUs, a file is missing, or the plugin raised an error, with its
            line.
    """
    controllers = source.values.get("controller", [])
    for k, table in enumerate(controllers if isinstance(controllers, list) else []):
        if isinstance(table, dict) and table.get("type") == "fmu" and not allow_code:
            problem = f"would run the compiled code of {table.get('file')!r}; if you trust it, allow it with"
            remedy = "--allow-code, or allow_code=True from Python"
            raise SceneError(source.where(("controller", k)), f"{problem} {remedy}")
    names = source.values.get("plugins", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return  # the table's types are checked with the others
    if names:
        check_consent(names, source.where(("plugins",)), allow_code=allow_code)
    for k, name in enumerate(names):
        file = source.folder(("plugins", k)) / name
        if not file.is_file():
            problem = f"there is no file {str(file)!r}; paths are relative to the scene"
            raise SceneError(source.where(("plugins", k)), problem)
        run_plugin(file, source.where(("plugins", k)))


def gather_parameters(values: Mapping[str, Any], shared: Mapping[str, Collection[str]]) -> None:
    """Move the keys of plugins into separate tables.

    For an unknown type of a joint, a loop or the run, all keys that such tables do not share are moved: the error is
    the type, not the keys.

    Args:
        values: of the scene.
        shared: keys that all tables of a name share, by this name.
    """
    _gather_of_integrator(values.get("simulation"), shared.get("simulation", ()))
    for name, keys in shared.items():
        tables = values.get(name, [])
        for table in tables if isinstance(tables, list) else []:
            if not isinstance(table, dict) or not isinstance(table.get("type"), str):
                continue
            if name in ("joint", "loop"):
                _gather(table, keys)
            elif name != "force" or table["type"] != SPRING:
                own = [key for key in table if key not in keys]
                table[PARAMETERS] = {key: table.pop(key) for key in own}


def _gather(table: dict[str, Any], shared: Collection[str]) -> None:
    plugin = _plugin_of(table)
    if plugin is not None:
        names = [name for name in fields_of(plugin) if name in table]
    elif not _is_known(table["type"]):
        names = [name for name in table if name not in shared]
    else:
        return
    if PARAMETERS in table:  # written in the file itself, which no table allows
        names = [*names, *({PARAMETERS} - set(names))]
    table[PARAMETERS] = {name: table.pop(name) for name in names}


def _gather_of_integrator(table: object, shared: Collection[str]) -> None:
    if not isinstance(table, dict) or not isinstance(table.get("integrator"), str):
        return
    try:
        plugin = find_integrator(table["integrator"]).plugin
    except PysimError:  # the error is its name, not its keys
        names = [name for name in table if name not in shared]
    else:
        own = () if plugin is None else fields_of(plugin)
        names = [name for name in own if name in table and name not in shared]
        # written in the file itself, which no table allows
        if plugin is not None and PARAMETERS in table:
            names.append(PARAMETERS)
    if names:
        table[PARAMETERS] = {name: table.pop(name) for name in names}


def _is_known(kind: str) -> bool:
    try:
        find_loop_type(kind)
    except JointError:
        return False
    return True


def _plugin_of(table: dict[str, Any]) -> type[Joint] | None:
    return find_loop_type(table["type"]).plugin if _is_known(table["type"]) else None


def keys_of(values: Mapping[str, Any], path: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the keys of the plugin of the table at `path`, of a joint, a loop, an element or the run.

    Raises:
        JointError: the table's type is unknown.
    """
    plugin = plugin_at(values, path)
    return () if plugin is None else tuple(fields_of(plugin))


def plugin_at(values: Mapping[str, Any], path: tuple[Any, ...]) -> type[Any] | None:
    """Return the plugin of the table at `path`, None if it has none.

    Raises:
        PysimError: the table's type is unknown.
    """
    if path == ("simulation",):
        name = values["simulation"].get("integrator")
        return find_integrator(name).plugin if isinstance(name, str) else None
    if len(path) != 2 or path[0] not in {"joint", "loop", "force", "event", *KINDS}:
        return None
    kind = values[path[0]][path[1]].get("type")
    if not isinstance(kind, str):
        return None
    if path[0] == "force":
        return None if kind == SPRING else find_force(kind)
    if path[0] == "event":
        return find_event(kind)
    if path[0] in KINDS:
        return find_block(path[0], kind)
    return find_loop_type(kind).plugin


def find_file(
    keys: dict[str, Any], path: tuple[Any, ...], problems: Problems, package_dirs: Sequence[Path]
) -> bool:
    """Replace the file of data that the keys of a plugin name by its path; return False after a problem with it.

    Args:
        keys: keys and values.
        path: of the table.
        problems: receives that it is missing, or outside the folders that the scene may read.
        package_dirs: folders beside that of the scene.
    """
    name = keys.get(FILE)
    if not isinstance(name, str) or not name:
        return True
    folder = Path(problems.source.folder((*path, FILE)))
    file = folder / name
    if not allowed_folders(folder, package_dirs).holds(file.resolve()):
        problem = f"{str(file.resolve())!r} is outside the folders that a scene may read"
        problems.add((*path, FILE), f"{problem}; move it beside the scene")
    elif not file.is_file():
        problem = f"there is no file {str(file)!r}; paths are relative to the scene"
        problems.add((*path, FILE), problem)
    else:
        keys[FILE] = str(file)
        return True
    return False


def built_plugin(
    plugin: type[Any],
    keys: Mapping[str, Any],
    path: tuple[Any, ...],
    problems: Problems,
    written: Collection[str] | None = None,
) -> Any:  # noqa: ANN401, a plugin of any kind
    """Return a plugin with the keys of a table, None if there is a problem with them.

    Args:
        plugin: its class.
        keys: keys and values.
        path: of the table.
        problems: receives what is wrong.
        written: keys whose problems have a place of their own in the table; all by default.
    """
    try:
        return build(plugin, keys, "")
    except JointError as error:
        name = error.where.removeprefix(".")
        is_written = name in (keys if written is None else written)
        problems.add((*path, name) if is_written else path, error.problem)
    except PysimError as error:  # the plugin's own check of its fields
        if error.where in (keys if written is None else written):
            problems.add((*path, error.where), error.problem)
        else:
            problems.add(path, f"{error.where}: {error.problem}")
    return None


def values_of(plugin: Any) -> dict[str, Any]:  # noqa: ANN401, of any kind
    """Return the values of a plugin's keys; none of None."""
    return (
        {} if plugin is None else {name: getattr(plugin, name) for name in fields_of(type(plugin))}
    )


def check_parameters(
    kind: str, given: Mapping[str, Any], path: tuple[Any, ...], problems: Problems
) -> dict[str, Any]:
    """Return the keys of a joint's plugin with their types checked; errors are collected in `problems`."""
    plugin = find_joint(kind).plugin
    return {} if plugin is None else values_of(built_plugin(plugin, given, path, problems))
