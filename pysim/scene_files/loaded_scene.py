"""Scenes of files and of tables, compiled; a suspicious start is warned of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim.diagnosis.scene_warnings import warn_of_start
from pysim.errors import SceneError
from pysim.worlds.loading import (
    compile_scene,
    no_garbage_collection,
    not_within_itself,
    rounding_reported,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from pysim.scene.spec import SceneSpec
    from pysim.worlds.loading import Scene


def load_scene(
    path: str | PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> Scene:
    """Read a scene file and compile it; `overrides` maps dotted keys to values.

    Files that the scene names are read from its folder, the one above it and `package_dirs`.
    A scene that names Python code is rejected unless `allow_code` is true. There are warnings about a suspicious start:
    a singular position, a body too light for its loops, a joint beyond its limits.

    >>> scene = pysim.load_scene("scenes/pendulum.toml", {"simulation.duration": 2.0})
    >>> scene.settings.duration
    2.0
    """
    from pysim.scene import read_scene  # noqa: PLC0415, pydantic costs 0.1 s

    with no_garbage_collection(), not_within_itself(path):
        return compile_checked(read_scene(path, overrides, allow_code, package_dirs))


def load_model_scene(
    path: str | PathLike[str], package_dirs: Iterable[str | PathLike[str]] = ()
) -> Scene:
    """Read a file of another program and compile it as a scene: its actuators, sensors and contacts, and its step.

    Where bodies of the file touch, steps are convex, and otherwise rk4's; a file without a step of its own has 1 ms.
    """
    from pysim.scene import located, read_model  # noqa: PLC0415, pydantic costs 0.1 s
    from pysim.scene.spec import RenderSpec, SceneSpec, Settings  # noqa: PLC0415

    file = located(path, package_dirs)
    spec = read_model(file, package_dirs=package_dirs)
    touches = spec.contacts is not None
    settings = Settings(
        step=1e-3 if spec.shortest_step is None else spec.shortest_step.step,
        integrator="convex" if touches else "rk4",
        parameters={"passes": 2} if touches else {},
    )
    scene = SceneSpec(spec.name, spec, (), settings, RenderSpec(), "", file, blocks=spec.blocks)
    return compile_checked(scene)


def compile_checked(spec: SceneSpec) -> Scene:
    """Compile a scene as `load_scene` does: one without bodies is rejected, a suspicious start is warned of."""
    scene = compile_scene(spec)
    if not scene.spec.model.bodies:
        raise SceneError(str(spec.path), "has no [[body]] and no [[model]]; add one")
    with rounding_reported(spec):
        warn_of_start(scene, stacklevel=3)
    return scene
