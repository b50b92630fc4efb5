"""Scenes of one file that differ in a few values: a model for every world of a rollout.

    scenes = pysim.load_scenes("pendulum.toml", {"body.rod.mass": [1.0, 1.1, 1.2]})
    q, v = pysim.rollout([scene.model for scene in scenes], q0, v0, controls, step=1e-3)

The file is read once, and what is equal in two worlds is read, traced and compiled once; every world is checked and
closed on its own.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.diagnosis.scene_warnings import warn_of_start, warn_of_worlds
from pysim.errors import PysimError, SceneError
from pysim.scene.toml.overrides import checked_overrides
from pysim.worlds.loading import SceneCompiler, no_garbage_collection, not_within_itself

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from pysim.scene.spec import SceneSpec
    from pysim.worlds.loading import Scene


_COLLECTED_TOGETHER = 256  # worlds; most of their objects stay


def load_scenes(
    path: str | PathLike[str],
    overrides: Mapping[str, Any],
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> tuple[Scene, ...]:
    """Read a scene file once and compile it for each of many worlds; loops are closed in every one.

    Suspicious starts are warned of, as by `load_scene`: those of the first of 32 worlds that has one.

    Args:
        path: the `.toml` file.
        overrides: values by the path of a key, as `load_scene` takes them, but one for each world: a list, or an array
            whose first axis is the world. A number, truth value or text that stands alone is that of every world.
        allow_code: whether the scene may name programs to run.
        package_dirs: folders that hold packages, or are packages, as `load_scene` takes them.

    Raises:
        SceneError: there is no list, a list is empty or differs in length, or a value is invalid for its key.
        ModelError: no such mechanism, or no start near the given one in which every loop is closed. Both name the
            first world in which that is so.
    """
    loaded = load_each(path, _worlds(overrides), allow_code, package_dirs, stop=True)
    scenes: list[Scene] = []
    for world, scene in enumerate(loaded):
        if isinstance(scene, PysimError):
            raise type(scene)(f"world {world}: {scene.where}", scene.problem) from scene
        scenes.append(scene)
    warn_of_worlds(scenes, warn_of_start)
    return tuple(scenes)


def load_each(
    path: str | PathLike[str],
    worlds: Sequence[Mapping[str, Any]],
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
    *,
    stop: bool = False,
) -> list[Scene | PysimError]:
    """Load the scene of each world, or its error.

    Args:
        path: the `.toml` file.
        worlds: overrides of every world.
        allow_code: whether the scene may name programs to run.
        package_dirs: folders that hold packages, or are packages, as `load_scene` takes them.
        stop: whether worlds after the first error are left out.
    """
    from pysim.scene import read_scenes  # noqa: PLC0415, pydantic costs 0.1 s

    loaded: list[Scene | PysimError] = []
    compiler = SceneCompiler()
    try:
        with no_garbage_collection(), not_within_itself(path):
            for spec in read_scenes(path, worlds, allow_code, package_dirs):
                loaded.append(_compiled(compiler, spec, len(loaded)))
                if stop and isinstance(loaded[-1], PysimError):
                    break
                if len(loaded) % _COLLECTED_TOGETHER == 0:
                    gc.collect(1)  # what was made since the last time
    except PysimError as error:  # of the file
        loaded += [error] * (len(worlds) - len(loaded))
    for world, invalid in compiler.invalid():
        loaded[world] = invalid
    return loaded


def _compiled(
    compiler: SceneCompiler, spec: SceneSpec | PysimError, world: int
) -> Scene | PysimError:
    if isinstance(spec, PysimError):
        return spec
    try:
        return compiler.compile(spec, world)
    except PysimError as error:
        return error


def _worlds(overrides: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the overrides of every world, from the worlds of every override."""
    overrides = checked_overrides(overrides)
    each = {key: value for key, value in overrides.items() if not _stands_alone(value)}
    if not each:
        problem = "no value is a list or an array with one item for each world; give one, or use load_scene"
        raise SceneError("overrides", problem)
    first, count = next((key, len(value)) for key, value in each.items())
    for key, value in each.items():
        if len(value) != count:
            problem = f"has values for {len(value)} worlds, but {first} for {count}; give one for each world"
            raise SceneError(f"overrides: {key}", problem)
    if count == 0:
        raise SceneError(f"overrides: {first}", "has values for no world; give one for each world")
    return [
        {key: value[k] if key in each else value for key, value in overrides.items()}
        for k in range(count)
    ]


def _stands_alone(value: Any) -> bool:  # noqa: ANN401, whatever TOML can hold
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, (str, dict)) or not hasattr(value, "__len__")
