"""Exporters: writers of runs in formats of other programs, each a command of its name.

    from pysim.trajectory.exporter import Exporter, exporter

    @exporter("tracks")
    class Tracks(Exporter):
        \"\"\"Positions of bodies as lines of text.\"\"\"

        suffixes = (".txt",)
        result = "tracks"

        def write(self, trajectory, path, *, fps, mesh_dirs):
            ...
            return path

The modules of `pysim.render.exporters` define those that come with pysim; an installed package offers its own by an
entry point in the group `pysim.exporters`.
"""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from pysim.errors import PysimError
from pysim.plugins.registry import PluginKind, require_method
from pysim.tracing.author_code import definition_place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from pysim.trajectory import Trajectory

PACKAGE = "pysim.render.exporters"
FOLDER = Path(__file__).parents[1] / "render" / "exporters"


class Exporter:
    """Base class of exporters: the suffixes of their files, what these are called, and `write`."""

    suffixes: ClassVar[tuple[str, ...]] = ()  # lower case, with the dot; the first if none is given
    result: ClassVar[str] = "file"  # the command's word for what it has written

    def write(
        self,
        trajectory: Trajectory,
        path: Path,
        *,
        fps: float,  # noqa: ARG002, the author's arguments
        mesh_dirs: Sequence[str | PathLike[str]],  # noqa: ARG002, as above
    ) -> Path:
        """Write a run, and return the file.

        Args:
            trajectory: the run.
            path: the file.
            fps: frames of a second of the run.
            mesh_dirs: folders with the meshes of the bodies, where they are no longer at their place.
        """
        del trajectory, path
        raise PysimError(definition_place(type(self)), f"has no method write; write {_USAGE}")


_USAGE = "`def write(self, trajectory, path, *, fps, mesh_dirs)`, which returns the path"


def _check_exporter(plugin: type[Exporter], where: str) -> None:
    require_method(plugin, Exporter, "write", where, _USAGE)
    if not plugin.suffixes:
        raise PysimError(where, 'has no suffixes; write suffixes = (".xyz",)')


Plugin = TypeVar("Plugin", bound=type[Exporter])
EXPORTERS: PluginKind[type[Exporter]] = PluginKind(
    "exporter", base=Exporter, public="pysim.trajectory.exporter.Exporter", check=_check_exporter
)


def exporter(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this exporter available as the command of its name.

    Raises:
        PysimError: the name is taken, or the class has no `write`.
    """
    return EXPORTERS.named(name)


def find_exporter(name: str) -> type[Exporter]:
    """Return the exporter of a name: of pysim, or of an installed package.

    Raises:
        PysimError: there is none.
    """
    if name in builtin_exporters():
        import_module(f"{PACKAGE}.{name}")
    return EXPORTERS.find(name)


def builtin_exporters() -> list[str]:
    """Return the names of the exporters that come with pysim, which are not loaded."""
    return [module.name for module in pkgutil.iter_modules([str(FOLDER)])]


def exporter_commands() -> dict[str, str]:
    """Return a line of help for each exporter by name; none is loaded, because drawing libraries load slowly."""
    commands = {name: _first_line(FOLDER / f"{name}.py") for name in builtin_exporters()}
    for name, package in EXPORTERS.offered().items():
        commands.setdefault(name, f"Format {name}, by {package}.")
    return commands


def _first_line(module: Path) -> str:
    """Return the first line of the docstring of a module."""
    text = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or module.stem
    return text.partition("\n")[0]
