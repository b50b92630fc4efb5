"""Readers of scene and robot files, which return plain specifications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import PysimError, SceneError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import ModelSpec, SceneSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.environment_table import Environment
    from pysim.scene.toml.records.optimise_table import Optimise
    from pysim.scene.toml.records.sweep_table import Sweep

__all__ = [
    "located",
    "read_environment",
    "read_model",
    "read_optimise",
    "read_scene",
    "read_scenes",
    "read_sweep",
    "scene_schema",
]

PACKAGE = "package://"

# The readers are imported when they are first called: pydantic and lxml cost a tenth of a second.
# ruff: noqa: PLC0415


def _check_flag(allow_code: object) -> None:
    """Reject a consent to run code that is not true or false, such as overrides in its place, which would be true.

    Raises:
        SceneError: it is not.
    """
    if allow_code is not True and allow_code is not False:
        problem = f"must be true or false, got {allow_code!r}"
        remedy = "overrides are one mapping, the second argument"
        raise SceneError("allow_code", f"{problem}; {remedy}")


def located(path: str | PathLike[str], package_dirs: Iterable[str | PathLike[str]] = ()) -> Path:
    """Return the path of a file, which may be given as `package://NAME/path`.

    Raises:
        SceneError: there is no such package or file.
    """
    if not str(path).startswith(PACKAGE):
        return Path(path)
    from pysim.scene.packages import resolve_uri

    return resolve_uri(str(path), Path.cwd(), package_dirs)


def read_scene(
    path: str | PathLike[str],
    overrides: Mapping[str, object] | None = None,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> SceneSpec:
    """Return the specification of a scene file.

    Args:
        path: the `.toml` file, or `package://NAME/path`.
        overrides: values by the path of a key, {"simulation.step": 1e-4, "body.rod.mass": "2"}, which replace those of
            the file. Text is parsed as a TOML value if it is one.
        allow_code: whether the scene may run Python code that it names.
        package_dirs: folders that hold packages, or are packages; the scene and its robots may read meshes in them.

    Raises:
        SceneError: the file is invalid; the error lists every problem as `file:line:column: key.path`.
        ModelError: bodies and joints do not form a tree.
    """
    from pysim.scene.toml.reader import read_toml

    _check_flag(allow_code)
    return read_toml(
        located(path, package_dirs),
        {} if overrides is None else overrides,
        allow_code=allow_code,
        package_dirs=package_dirs,
    )


def read_scenes(
    path: str | PathLike[str],
    worlds: Iterable[Mapping[str, object]],
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> Iterator[SceneSpec | PysimError]:
    """Yield the specification of a scene file in every world, given the overrides of each, or the error of a world."""
    from pysim.scene.toml.world_specs import read_toml_worlds

    _check_flag(allow_code)
    file = located(path, package_dirs)
    return read_toml_worlds(file, worlds, allow_code=allow_code, package_dirs=package_dirs)


def read_optimise(
    path: str | PathLike[str], overrides: Mapping[str, object] | None = None
) -> Optimise:
    """Return the `[optimise]` table of a scene file with overrides, as in `read_scene`; others are not checked."""
    from pysim.scene.toml.records.single_tables import read_toml_optimise

    return read_toml_optimise(located(path), {} if overrides is None else overrides)


def read_sweep(path: str | PathLike[str], overrides: Mapping[str, object] | None = None) -> Sweep:
    """Return the `[sweep]` table of a scene file with overrides, as in `read_scene`; other tables are not checked."""
    from pysim.scene.toml.records.single_tables import read_toml_sweep

    return read_toml_sweep(located(path), {} if overrides is None else overrides)


def read_environment(
    path: str | PathLike[str], overrides: Mapping[str, object] | None = None
) -> tuple[Environment, Problems]:
    """Return the `[environment]` table of a scene file with overrides, and the collection of its problems."""
    from pysim.scene.toml.records.single_tables import read_toml_environment

    return read_toml_environment(located(path), {} if overrides is None else overrides)


def has_environment(
    path: str | PathLike[str], overrides: Mapping[str, object] | None = None
) -> bool:
    """Return whether a scene file with overrides has an `[environment]` table."""
    from pysim.scene.toml.records.single_tables import has_toml_environment

    return has_toml_environment(located(path), {} if overrides is None else overrides)


def read_model(
    path: str | PathLike[str],
    *,
    free_base: bool = False,
    mimic: bool = True,
    package_dirs: Iterable[str | PathLike[str]] = (),
    inertia: InertiaPolicy = "check",
    allow_code: bool = False,
    strict: bool = False,
) -> ModelSpec:
    """Return the mechanism of a scene, or of a file of another program that an importer reads.

    Args:
        path: the file, or `package://NAME/path`.
        free_base: give a URDF's root link a free joint to the world.
        mimic: let mimic joints follow; otherwise each is an independent coordinate.
        package_dirs: folders that hold packages, or are packages; searched first, and meshes in them may be read.
        inertia: how to treat a physically inconsistent inertia. "check" warns of one in a robot file and rejects one in
            a scene, "strict" rejects both, "nearest" replaces it with the nearest valid one and logs that.
        allow_code: whether a scene may run Python code that it names, and a robot be expanded by xacro.
        strict: reject what an importer would leave out of the model; otherwise there is a warning.

    Raises:
        SceneError: the file cannot be read.
        ModelError: bodies and joints do not form a tree.
    """
    from pysim.scene.inertia_policy import INERTIA_POLICIES

    _check_flag(allow_code)
    if inertia not in INERTIA_POLICIES:
        raise SceneError(
            f"inertia {inertia!r}", f"unknown{did_you_mean(inertia, INERTIA_POLICIES)}"
        )
    path = located(path, package_dirs)
    if Path(path).suffix.lower() != ".toml":
        from pysim.scene.importer import ImportOptions, read_foreign

        options = ImportOptions(free_base, mimic, tuple(package_dirs), inertia, strict, allow_code)
        return read_foreign(Path(path), options)
    from pysim.scene.toml.reader import read_mechanism

    if free_base:
        problem = 'free_base is for URDF; in a scene give the body a joint of type "free"'
        raise SceneError(str(path), problem)
    return read_mechanism(
        Path(path),
        mimic=mimic,
        package_dirs=package_dirs,
        inertia=inertia,
        allow_code=allow_code,
    )


def scene_schema() -> dict[str, Any]:
    """Return the JSON Schema of scene files."""
    from pysim.scene.toml.records.schema import SceneSchema
    from pysim.scene.toml.records.tables import Scene

    return Scene.model_json_schema(schema_generator=SceneSchema)
