"""Scenes written to files: the tables that they were read from, with those of included files, and their overrides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SceneError
from pysim.scene_files.scene_builder import SceneBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.worlds.loading import Scene


def save_scene(
    scene: Scene,
    path: str | PathLike[str],
    *,
    overwrite: bool,
    package_dirs: Iterable[str | PathLike[str]],
) -> Path:
    """Write a scene to a file; see `Scene.save`."""
    target, folders = Path(path), tuple(Path(folder) for folder in package_dirs)
    if target.exists() and not overwrite:
        raise SceneError(str(target), "exists; name another file, or pass overwrite=True")
    spec = scene.spec
    builder = SceneBuilder(
        folder=spec.path.parent, **{"name": spec.name, **_tables(scene, folders)}
    )
    again = builder.build(allow_code=True, package_dirs=folders)  # whose code has run here
    changed = [
        name
        for name, one, other in (
            ("state", _list_compared_numbers(scene), _list_compared_numbers(again)),
            ("settings", scene.settings, again.settings),
        )
        if one != other
    ]
    if changed:
        problem = f"its {' and '.join(changed)} was changed after it was read"
        remedy = "pass the change to load_scene as overrides, then save"
        raise SceneError(f"scene {spec.name!r}", f"{problem}; {remedy}")
    return builder.save(target, overwrite=overwrite, allow_code=True, package_dirs=folders)


def _list_compared_numbers(scene: Scene) -> list[Any]:
    """Return the start, gravity and inertias of a scene, to compare."""
    model, state = scene.model, scene.state
    arrays = (state.q, state.v, model.gravity, model.parameters, model.armature)
    return [np.round(x, 12).tolist() for x in arrays]


def _tables(scene: Scene, folders: tuple[Path, ...]) -> dict[str, Any]:
    """Return the tables of a scene, with its overrides."""
    from pysim.scene.toml.reader import tables_of  # noqa: PLC0415, pydantic

    spec, settings = scene.spec, scene.settings
    if not spec.text:  # of a file of another program
        tables: dict[str, Any] = {"name": spec.name, "model": [{"file": spec.path.name}]}
        tables["simulation"] = {"integrator": settings.integrator, "step": settings.step}
        tables["simulation"] |= settings.parameters
        return tables
    return tables_of(spec, folders)
