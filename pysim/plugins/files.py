"""Files of plugins: the Python files that a scene names, run with the caller's consent.

Code runs only if the caller allows it; a scene from an unknown source is data.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from pysim.errors import JointError, PysimError, SceneError
from pysim.plugins.registry import kind_called, kind_of
from pysim.tracing.author_code import RUN_TEXT, definition_place, source_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

Files = dict[tuple[str, str], str]  # by noun of the kind and name of the plugin
_one_at_a_time = threading.RLock()
_in_force: dict[tuple[str, bytes], Path] = {}  # where the file of a name and text was last run


def check_consent(names: Sequence[str], where: str, *, allow_code: bool) -> None:
    """Reject a scene's plugin files unless the caller allows code.

    Raises:
        SceneError: code is not allowed.
    """
    if not allow_code:
        problem = (
            f"would run the Python code of {', '.join(names)}; read it, then allow it with "
            "--allow-code, or allow_code=True from Python"
        )
        raise SceneError(where, problem)


def run_plugin(file: Path, where: str) -> None:
    """Import a plugin file as a module of its own, unless it is already imported and unchanged.

    Among copies of one file in several folders, the plugins of the copy that ran last are registered; another copy is
    run again.
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
    """Run the text of a plugin file as a module, which is removed again if it raises.

    Python's own import would run bytecode of an earlier text that has the same length and second of change.
    """
    place = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"pysim_plugin_{path.stem}_{place}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise SceneError(where, f"{str(path)!r} is not a Python file; its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    setattr(module, RUN_TEXT, text)
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
        _check_named(module)
    except BaseException as error:
        sys.modules.pop(name)
        if isinstance(error, PysimError) or not isinstance(error, Exception):
            raise
        lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = lines[-1].lineno if lines else getattr(error, "lineno", 1)
        problem = f"{type(error).__name__}: {error}; fix the plugin {where} names"
        raise SceneError(f"{path}:{line}", problem) from error


def _check_named(module: ModuleType) -> None:
    """Reject a file none of whose plugins has a name, so that no scene could use it."""
    own = [x for x in vars(module).values() if getattr(x, "__module__", "") == module.__name__]
    kinds = [(plugin, kind) for plugin in own if (kind := kind_of(plugin)) is not None]
    if kinds and not any(kind.is_registered(plugin) for plugin, kind in kinds):
        plugin, kind = kinds[0]
        problem = f'has no name for scenes; write @{kind.decorator}("name") above the class'
        raise SceneError(definition_place(plugin), problem)


def plugin_files(plugins: Iterable[tuple[str, str]]) -> Files:
    """Return the files that define plugins, given by the noun of their kind and their name; built-ins have none."""
    given = ((noun, name, kind_called(noun).registered.get(name)) for noun, name in plugins)
    return {(noun, name): str(source_file(p)) for noun, name, p in given if p is not None}


def check_run_here(files: Mapping[tuple[str, str], str], where: str) -> None:
    """Require that this process has run the files that define plugins, as those of a pickled model.

    Raises:
        JointError: the process has not; the error names the file.
    """
    for (noun, name), file in files.items():
        try:
            kind_called(noun).find(name)
        except PysimError as error:
            problem = (
                f"{noun} {name!r} is defined in {file!r}, which this process has not run; load the scene that names "
                "that file here first, with allow_code=True, for example in the initializer of a pool of processes"
            )
            raise JointError(where, problem) from error
