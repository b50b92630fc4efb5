"""Worlds of the engine, made for a scene: its scheme, its sampled blocks, its events and what Python runs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim import _engine
from pysim.integrators import find_integrator
from pysim.worlds.adaptive_scheme import adaptive_settings
from pysim.worlds.impacts import has_impacts, kept_numbers

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene
    from pysim.worlds.python_steps import PythonSteps


def engine_worlds(
    scene: Scene,
    count: int,
    *,
    is_single: bool,
    python: PythonSteps | None,
    events: _engine.Events | None,
) -> _engine.Worlds | _engine.FloatWorlds:
    """Return worlds of the engine, which have not begun.

    Args:
        scene: whose settings they have.
        count: of worlds.
        is_single: whether they are stepped in single precision.
        python: makes their steps, if the engine does not.
        events: at which worlds stop.
    """
    settings, signals = scene.settings, scene.signals
    make = _engine.FloatWorlds if is_single else _engine.Worlds
    worlds = make(
        scene.model,
        scene.actuation,
        None if scene.contacts is None else scene.contacts.engine,
        count,
        settings.integrator,
        settings.step,
        periods=[] if signals is None else list(signals.periods),
        first_bit=0 if signals is None else signals.begins,
        python=_blocks_in_python(scene, steps_in_python=python is not None),
        key=-1 if signals is None or signals.noise is None else signals.noise.place,
        python_step=python,
        events=events,
        caller_numbers=kept_numbers(scene) if has_impacts(scene) else 0,
        **(adaptive_settings(scene) if find_integrator(settings.integrator).adaptive else {}),
        **_parameters(scene),
    )
    worlds.set_contact_sensors(scene.contact_sensors)
    return worlds


def _blocks_in_python(scene: Scene, *, steps_in_python: bool) -> int:
    """Return the bits of the sampled blocks that Python runs."""
    signals = scene.signals
    if signals is None:
        return 0
    if steps_in_python:
        return (1 << (signals.begins + len(signals.periods))) - 1
    return sum(1 << callback.bit for callback in signals.callbacks)


def _parameters(scene: Scene) -> dict[str, Any]:
    """Return the numbers of the scheme by the engine's names."""
    known = ("spectral_radius", "passes", "solver_tolerance", "accuracy", "least_step")
    return {name: value for name, value in scene.settings.parameters.items() if name in known}
