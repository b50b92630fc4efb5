"""Warnings about a scene before it runs, shared by `load_scene`, `simulate`, `rollout` and the command.

Loading warns about the start, running about the step. A warning about a scene object is not repeated; a copy with
another start or other settings is another object. If the start leaves the motion undetermined, the step is not
assessed.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pysim.diagnosis.contact_checks import contact_warnings
from pysim.diagnosis.entered_obstacles import entered_obstacle
from pysim.diagnosis.implausible_mechanisms import implausible_parts
from pysim.diagnosis.start_checks import (
    light_bodies,
    mobility_at_start,
    singular_start,
    starts_beyond_limits,
)
from pysim.diagnosis.step_checks import long_steps, sharp_friction, unstable_control
from pysim.errors import PysimWarning
from pysim.typing import Array
from pysim.worlds.loading import START_IS_DETERMINED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.diagnosis.stability import StepBounds
    from pysim.loops import Mobility
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene

CHECKED_WORLDS = 32  # of many that are checked, evenly spaced
_checked_models: WeakKeyDictionary[Model, set[tuple[Any, ...]]] = WeakKeyDictionary()
_STEP = "_step_is_checked"  # attribute of the object alone: copies do not have it


def warn_of_start(scene: Scene, mobility: Mobility | None = None, *, stacklevel: int = 2) -> bool:
    """Warn of a start that is suspicious, and return whether it determines the motion.

    Args:
        scene: the scene.
        mobility: its mobility at the start, if that is known already.
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    known: bool | None = scene.__dict__.get(START_IS_DETERMINED)
    if known is not None:
        return known
    light = light_bodies(scene)
    singular = None  # beside light bodies the rank of the rows is rounding
    if light is None:
        singular = singular_start(scene.model, scene.state, mobility or mobility_at_start(scene))
    suspicious = *starts_beyond_limits(scene), *contact_warnings(scene), *implausible_parts(scene)
    for text in (*suspicious, singular, light):
        _warn(text, stacklevel=stacklevel + 2)
    scene.__dict__[START_IS_DETERMINED] = singular is None
    return singular is None


def _warn(text: str | None, stacklevel: int) -> None:
    """Warn of what a judgement found, if it found anything."""
    if text is not None:
        warnings.warn(text, PysimWarning, stacklevel=stacklevel)


def warn_of_scene(
    scene: Scene,
    found: Mobility | None = None,
    bounds: StepBounds | None = None,
    *,
    stacklevel: int = 2,
) -> None:
    """Warn of a suspicious start and of steps that are too long, each once; arguments as of `warn_of_start`."""
    determined = warn_of_start(scene, found, stacklevel=stacklevel + 1)
    if determined and not scene.__dict__.get(_STEP):
        for text in long_steps(scene, bounds):
            warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)
    scene.__dict__[_STEP] = True


def warn_of_friction(scene: Scene, t: Array, q: Array, v: Array, stacklevel: int = 2) -> None:
    """Warn of friction sharper than the step along a run.

    Args:
        scene: the scene.
        t: times of the outputs (n,) [s].
        q: configurations (n, nq).
        v: velocities (n, nv).
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    _warn(sharp_friction(scene, t, q, v), stacklevel=stacklevel + 2)


def warn_of_control(scene: Scene, t: Array, q: Array, stacklevel: int = 2) -> None:
    """Warn of control that is unstable at a step somewhere along a run, though not at the start.

    Args:
        scene: the scene.
        t: times of the outputs (n,) [s].
        q: configurations (n, nq).
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    _warn(unstable_control(scene, t, q), stacklevel=stacklevel + 2)


def warn_of_obstacles(scene: Scene, t: Array, q: Array, stacklevel: int = 2) -> None:
    """Warn of the first end of a path that enters an obstacle, where energy jumps.

    Args:
        scene: the scene.
        t: times of the outputs (n,) [s].
        q: configurations (n, nq).
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    _warn(entered_obstacle(scene, t, q), stacklevel=stacklevel + 2)


def warn_of_model(world: Scene, stacklevel: int = 2) -> None:
    """Warn of a model of a rollout, at the start of a world, as of a scene; once for every integrator and step.

    Args:
        world: with the model's fields of a scene.
        stacklevel: as of `warnings.warn`, from the caller of this function.
    """
    settings = world.settings
    checked = _checked_models.setdefault(world.model, set())
    key = settings.integrator, settings.step, *settings.parameters.values()
    if key in checked:
        return
    checked.add(key)
    found = mobility_at_start(world)
    if found is not None and found.singular:
        return  # reported with the starts
    for text in (light_bodies(world), *long_steps(world)):
        if text is not None:
            where = "rollout: " + text.replace("simulation.step", "step")
            warnings.warn(where, PysimWarning, stacklevel=stacklevel + 1)


def warn_of_worlds(
    scenes: Sequence[Scene], warn: Callable[..., object], stacklevel: int = 2
) -> None:
    """Warn of the first of some worlds, evenly spaced among all, that has something to warn of."""
    for k in np.unique(np.linspace(0, len(scenes) - 1, min(len(scenes), CHECKED_WORLDS)).round()):
        world = int(k)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn(scenes[world])
        for found in caught:
            where = f"world {world}: " if len(scenes) > 1 else ""
            warnings.warn(f"{where}{found.message}", found.category, stacklevel=stacklevel + 1)
        if caught:
            return
