"""Importers: readers of other programs' models, found by the suffix and the content of a file.

    from pysim.scene.importer import Importer, importer

    @importer("bvh")
    class Bvh(Importer):
        \"\"\"Skeletons in the Biovision format.\"\"\"

        suffixes = (".bvh",)

        def read(self, path, options):
            return ModelSpec(...)

The modules of `pysim.scene.importers` define those that come with pysim; an installed package offers its own by an
entry point in the group `pysim.importers`.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, TypeVar
from xml.parsers import expat

from pysim.errors import PysimError, SceneError
from pysim.plugins.registry import PluginKind, require_method
from pysim.tracing.author_code import definition_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike
    from pathlib import Path

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import ModelSpec

LONGEST_HEAD = 1 << 18  # bytes in which the root element of an XML file must begin


@dataclass(frozen=True)
class ImportOptions:
    """Choices of the user that apply to every format."""

    free_base: bool = False  # give the root body a free joint to the world
    mimic: bool = True  # let joints follow others; otherwise each is an independent coordinate
    # folders that hold packages, or are packages
    package_dirs: tuple[str | PathLike[str], ...] = ()
    inertia: InertiaPolicy = "check"
    strict: bool = False  # reject what the model would leave out
    allow_code: bool = False  # run code in the file, such as the expressions of xacro
    srdf: Path | None = None  # start states of a URDF or SDF
    fix_massless: bool = True  # fix joints that move no mass; a scene may give them some
    self_collision: bool | None = None  # whether links touch each other; None as the file says


class Importer:
    """Base class of importers: a format's suffixes and XML root elements, and `read`."""

    suffixes: ClassVar[tuple[str, ...]] = ()  # lower case, with the dot
    roots: ClassVar[tuple[str, ...]] = ()  # names of the root element; empty if it is not XML
    reads_srdf: ClassVar[bool] = False  # whether an SRDF file may accompany it

    def read(self, path: Path, options: ImportOptions) -> ModelSpec:  # noqa: ARG002, the author's arguments
        """Return the mechanism in a file.

        Raises:
            SceneError: the file cannot be read.
            ModelError: its content is not a valid mechanism.
        """
        raise PysimError(
            definition_place(type(self)),
            "has no method read; write `def read(self, path, options)` that returns a ModelSpec",
        )

    def scene_text(self, path: Path) -> str | None:  # noqa: ARG002
        """Return the text of a scene that runs a file by itself; None, as here, if it takes a scene with [[model]]."""
        return None


def _check_importer(plugin: type[Importer], where: str) -> None:
    usage = "`def read(self, path, options)`, which returns a ModelSpec"
    require_method(plugin, Importer, "read", where, usage)
    if not plugin.suffixes and not plugin.roots:
        problem = 'has neither suffixes nor roots; write suffixes = (".xyz",)'
        raise PysimError(where, problem)


Plugin = TypeVar("Plugin", bound=type[Importer])
IMPORTERS: PluginKind[type[Importer]] = PluginKind(
    "importer", base=Importer, public="pysim.scene.importer.Importer", check=_check_importer
)


def importer(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this importer available to `load_model` and to the `[[model]]` tables of scenes.

    Raises:
        PysimError: the name is taken, or the class has no `read`.
    """
    return IMPORTERS.named(name)


def read_foreign(path: Path, options: ImportOptions) -> ModelSpec:
    """Return the mechanism in a file of any format that an importer reads.

    Raises:
        SceneError: no importer reads it, or it cannot be read.
        ModelError: its content is not a valid mechanism.
    """
    return find_importer(path)().read(path, options)


def find_importer(path: Path) -> type[Importer]:
    """Return the importer of a file: the content decides where it is XML with a known root, else the suffix.

    Raises:
        SceneError: there is none.
    """
    _load_builtin()
    root = _root_of(path)
    found = _match(path, root)
    if found is None:
        IMPORTERS.load_installed()
        found = _match(path, root) or _by_suffix(path)
    if found is not None:
        return found
    if root is not None and any(path.suffix.lower() in i.suffixes for i in _registered()):
        names = ", ".join(f"<{name}>" for i in _registered() for name in i.roots)
        problem = f"the root element <{root}> does not belong to a format that pysim reads; known: {names}"
        raise SceneError(str(path), problem)
    known = ", ".join(foreign_suffixes())
    problem = f"unknown kind of file {path.suffix!r}; models are read from {known}"
    raise SceneError(str(path), problem)


def scene_text(path: Path) -> str | None:
    """Return the text of a scene that runs a file of another program by itself, None where there is none."""
    suffix = path.suffix.lower()
    if suffix == ".toml" or suffix not in foreign_suffixes() or not path.is_file():
        return None
    return find_importer(path)().scene_text(path)


def foreign_suffixes() -> list[str]:
    """Return the suffixes of files that importers read, in alphabetical order."""
    _load_builtin()
    IMPORTERS.load_installed()
    return sorted({suffix for i in _registered() for suffix in i.suffixes})


def _registered() -> Iterable[type[Importer]]:
    return IMPORTERS.registered.values()


def _match(path: Path, root: str | None) -> type[Importer] | None:
    """Return the importer whose roots include the file's, the one of its suffix first; None if the suffix decides."""
    suffix = path.suffix.lower()
    of_root = [i for i in _registered() if root is not None and root in i.roots]
    of_suffix = [i for i in _registered() if suffix in i.suffixes]
    both = [i for i in of_root if i in of_suffix]
    not_xml = [i for i in of_suffix if not i.roots]
    return next(iter([*both, *of_root, *not_xml]), None)


def _by_suffix(path: Path) -> type[Importer] | None:
    """Return the only importer of a suffix, whose reader reports what is wrong with the content."""
    found = [i for i in _registered() if path.suffix.lower() in i.suffixes]
    return found[0] if len(found) == 1 else None


@cache
def _load_builtin() -> None:
    """Import the modules of `pysim.scene.importers`, which register themselves."""
    from pysim.scene import importers  # noqa: PLC0415, they import this module

    for module in pkgutil.iter_modules(importers.__path__):
        import_module(f"{importers.__name__}.{module.name}")


def _root_of(path: Path) -> str | None:
    """Return the name of the root element of an XML file; None if the file is not XML or cannot be read."""
    parser = expat.ParserCreate()
    parser.StartElementHandler = _raise_root
    parser.StartDoctypeDeclHandler = _raise_root  # entities are not read
    try:
        if not path.is_file():  # a pipe might never end
            return None
        with path.open("rb") as file:
            parser.Parse(file.read(LONGEST_HEAD), False)
    except _RootError as root:
        return root.name
    except (OSError, LookupError, ValueError, expat.ExpatError):
        return None
    return None


class _RootError(Exception):
    """Ends the parsing at the root element, or at the document type, which has its name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _raise_root(name: str, *_rest: object) -> None:
    raise _RootError(name)
