"""Scenes of `Worlds`: loaded from paths, with inputs for the actuators of model files, and other settings."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.scene.control_inputs import with_control_inputs
from pysim.scene_files.loaded_scene import load_model_scene, load_scene
from pysim.worlds.argument_checks import checked_whole_number
from pysim.worlds.controller_memory import with_own_controllers
from pysim.worlds.failed_worlds import checked_on_failure
from pysim.worlds.loading import Scene, compile_scene, with_settings

if TYPE_CHECKING:
    from pysim.scene.control_inputs import ControlPlace

KEYS = 2**53  # seeds and numbers of worlds are below: whole numbers that doubles hold


def loaded(scene: Any) -> Scene:  # noqa: ANN401, whatever callers give
    """Return the given scene, or load that of a scene file or of a model file."""
    if isinstance(scene, Scene):
        return scene
    if not isinstance(scene, (str, PathLike)):
        problem = f"must be a pysim.Scene or a path, got {type(scene).__name__}"
        raise TypeError(f"scene {problem}; give what pysim.load_scene returns")
    is_scene = Path(scene).suffix.lower() == ".toml"
    return load_scene(scene) if is_scene else load_model_scene(scene)


def with_controls(scene: Scene) -> tuple[Scene, dict[str, ControlPlace]]:
    """Return a scene in which actuators of model files follow inputs, and where in these each command lies."""
    spec, places = with_control_inputs(scene.spec)
    if spec is scene.spec:
        return scene, places
    return replace(compile_scene(spec), state=scene.state, settings=scene.settings), places


def scene_to_step(
    scene: Scene, seed: int | None, on_failure: str | None
) -> tuple[Scene, dict[str, ControlPlace]]:
    """Return the scene that `Worlds` of a scene step, and where in its inputs each actuator command lies.

    It has copies of the controllers in Python, its actuators from model files follow inputs, and `seed` and
    `on_failure` replace the scene's if given.
    """
    stepped, controls = with_controls(scene)
    stepped = with_own_controllers(stepped)
    if seed is not None:
        stepped = with_seed(stepped, seed)
    choice = checked_on_failure(on_failure) or stepped.settings.on_failure
    if choice != stepped.settings.on_failure:
        stepped = with_settings(stepped, replace(stepped.settings, on_failure=choice))
    return stepped, controls


def with_seed(scene: Scene, seed: int) -> Scene:
    """Return the scene with another seed of its random numbers, a whole number below 2**53."""
    seed = checked_whole_number(seed, "seed", 0, KEYS - 1)
    other = with_settings(scene, replace(scene.settings, seed=seed))
    signals = scene.signals
    if signals is None or signals.noise is None:
        return other
    return replace(other, signals=replace(signals, noise=replace(signals.noise, seed=seed)))
