"""Request of a rollout of scenes: its arguments, and what they make of the scenes' settings and inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.integrators import check_wheels, find_integrator
from pysim.typing import Array
from pysim.worlds.loading import Scene, with_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Request:
    """Arguments of a rollout of scenes; None for the value of the scene."""

    q0: Array | None
    v0: Array | None
    step: float | None
    integrator: str | None
    threads: int
    steps: int | None
    every: int | None
    spectral_radius: float | None
    state: bytes | None
    signals: tuple[str, ...] = ()  # to record
    contacts: bool = False  # whether to record them
    worlds: tuple[int, ...] | None = None  # numbers of the worlds; 0, 1, … by default
    controls: Array | None = None  # (…, rows − 1, inputs) of the scene
    on_failure: str | None = None  # "stop" or "drop_world"


def requested_scene(scene: Scene, request: Request) -> Scene:
    """Return the scene with the requested scheme and step; the scene itself if they are its own."""
    settings = scene.settings
    kind = find_integrator(request.integrator or settings.integrator)
    if kind.adaptive and not find_integrator(settings.integrator).adaptive:
        problem = f"{kind.name!r} needs tolerances; set simulation.integrator and simulation.rtol in the scene"
        raise SimulationError("integrator", problem)
    if scene.contacts is not None and not (kind.contacts or kind.smooth):
        problem = f"{kind.name!r} computes no contacts, and the scene has some"
        raise SimulationError("integrator", f"{problem}; leave integrator out")
    if kind.contacts and scene.contacts is None:
        replaced = settings.integrator
        problem = f"{kind.name!r} cannot replace {replaced!r}, because only {kind.name!r} handles contacts"
        raise SimulationError("integrator", f"{problem}; leave integrator out")
    check_wheels(kind, scene.model.spec.wheels)
    changes: dict[str, Any] = {"integrator": kind.name}
    if kind.name != settings.integrator:
        default = {"spectral_radius": 0.9, "passes": 2}
        changes["parameters"] = {key: default[key] for key in kind.keys if key in default}
    if request.spectral_radius is not None and "spectral_radius" in kind.keys:
        changes["parameters"] = {"spectral_radius": request.spectral_radius}
    if request.step is not None:
        changes["step"] = request.step
    if request.on_failure is not None:
        changes["on_failure"] = request.on_failure
    if kind.adaptive and request.steps is not None:
        raise SimulationError("steps", f"{kind.name!r} chooses its steps; leave steps out")
    if not kind.adaptive and not np.isfinite(changes.get("step", settings.step)):
        raise SimulationError(
            "step", f"{kind.name!r} needs a step, which the scene does not set; pass step="
        )
    requested = replace(settings, **changes)
    return scene if requested == settings else with_settings(scene, requested)


def requested_inputs(scene: Scene, controls: Array | None, count: int, rows: int) -> Array | None:
    """Return the inputs of `count` worlds (count, rows, inputs), held from each row to the next."""
    if controls is None:
        return None
    signals = scene.signals
    size = 0 if signals is None else sum(len(x.places) for x in signals.inputs)
    if not size:
        problem = "are values of a scene's inputs, and this one has none"
        remedy = 'add a [[signal]] with type = "input", or give forces to a rollout of its model'
        raise SimulationError("controls", f"{problem}; {remedy}")
    if controls.shape not in ((rows, size), (count, rows, size)):
        problem = f"controls must have shape ({count}, {rows}, {size}) or ({rows}, {size})"
        raise ValueError(f"{problem}, got {controls.shape}")
    if not np.isfinite(controls).all():
        raise ValueError("controls must be finite, got nan or inf")
    return np.broadcast_to(np.asarray(controls, float), (count, rows, size))


def requested_numbers(request: Request, count: int) -> NDArray[np.intp]:
    """Return the numbers of the worlds, by which their random numbers differ."""
    if request.worlds is None:
        return np.arange(count)
    if len(request.worlds) != count:
        problem = f"worlds has {len(request.worlds)} numbers for {count} worlds"
        raise ValueError(f"{problem}; pass one for each")
    return np.array(request.worlds, np.intp)
