"""Files of scenes for engines without Python (cpp/engine/scene_file.hpp): FMUs, programs in C and C++.

A file has the model, the contacts, the programs of the signals, the scheme and the record of a world that begins. What
Python runs in every step has no place in it: an error names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import SimulationError, did_you_mean
from pysim.inertia import theta_to_packed
from pysim.simulation.worlds import Worlds
from pysim.worlds.impacts import has_impacts
from pysim.worlds.parameters.parameter_units import bounds_of, labels_of, unit_of
from pysim.worlds.python_stepping import runs_in_python
from pysim.worlds.signal_runs import start_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.elements.graph_types import RecordedSignal
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameters.number_program import NumberProgram


@dataclass(frozen=True)
class SetNumber:
    """A number of a scene, or a list of them, that may be set while an engine without Python runs."""

    name: str  # its path
    unit: str
    start: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    labels: tuple[str, ...]  # ends of the names of a list's numbers


def engine_file(scene: Scene, parameters: Sequence[str] = ()) -> bytes:
    """Return the file of a scene that an engine without Python loads and runs.

    Args:
        scene: without parts that Python runs.
        parameters: paths or patterns of `Worlds.parameters` that may be set while it runs.

    Raises:
        SimulationError: the scene has a part that Python runs: a joint, controller or integrator of a plugin that is
            not traced, events or impacts; or Python computes with a parameter, or one may move the start.
    """
    check_runs_without_python(scene)
    return file_of_worlds(Worlds(scene), parameters)[0]


def file_of_worlds(
    worlds: Worlds, parameters: Sequence[str] = ()
) -> tuple[bytes, tuple[SetNumber, ...]]:
    """Return the file of the scene of one world that has begun, and the parameters that it has."""
    numbers, program = _parameters(worlds, parameters)
    records = worlds._records  # noqa: SLF001, the record is what is written
    scene = records.scene
    assert isinstance(records.engine, _engine.Worlds)  # in double precision
    model, signals, contacts = scene.model, scene.signals, scene.contacts
    connections = model.connections
    inputs = () if signals is None else signals.inputs
    file = bytes(
        _engine.scene_file(
            records.engine,
            scene.spec.name,
            list(model._descriptions),  # noqa: SLF001
            theta_to_packed(model.parameters),
            (
                list(connections.loops),
                list(connections.couplings),
                list(connections.elements),
                connections.signals,
            ),
            names=[
                list(model.coordinate_names),
                list(model.coordinate_units),
                list(model.velocity_names),
                list(model.velocity_units),
                list(model.body_names),
                [] if contacts is None else [pair.name for pair in contacts.pairs],
            ],
            shapes=([], [])
            if contacts is None
            else (contacts.shapes.pair.tolist(), contacts.signs_of_shapes.tolist()),
            inputs=[(x.name, input_unit(scene, x.name), list(x.places)) for x in inputs],
            outputs=[
                (x.name, x.unit, x.first, x.size, list(x.labels), x.is_touching)
                for x in recorded_signals(scene)
            ],
            parameters=[(x.name, x.unit, x.start, x.low, x.high, x.labels) for x in numbers],
            follow=(None, []) if program is None else program,
            numbers=([], False)
            if signals is None
            else (start_numbers(signals, 0).tolist(), bool(signals.settled)),
        )
    )
    return file, numbers


def _parameters(
    worlds: Worlds, patterns: Sequence[str]
) -> tuple[tuple[SetNumber, ...], NumberProgram | None]:
    """Return the parameters that match patterns, with the program of the numbers that follow from them.

    Raises:
        SimulationError: a pattern matches nothing, or a parameter cannot be set without Python.
    """
    paths = _matching(worlds, patterns)
    if not paths:
        return (), None
    scene = worlds.scene()
    if scene.spec.equilibrium:
        problem = f"{paths[0]!r} may move the start, which is an equilibrium of the scene's numbers"
        raise SimulationError("parameters", f"{problem}; write a file for each value")
    try:
        found, program = worlds.parameters.program(paths)
    except SimulationError as error:
        problem = error.problem.removesuffix("; load scenes with pysim.load_scenes")
        if problem == error.problem:
            raise
        remedy = "leave it out, or write a file for each value"
        raise SimulationError(error.where, f"{problem}; {remedy}") from error
    numbers = []
    for own in found:
        if not np.isfinite(own.start).all():
            problem = "is infinite in the scene; give a finite number there"
            raise SimulationError(f"parameters: {own.name}", problem)
        low, high = bounds_of(scene, own)
        start, labels = tuple(own.start.tolist()), labels_of(own)
        bounds = tuple(low.tolist()), tuple(high.tolist())
        numbers.append(SetNumber(own.name, unit_of(scene, own), start, *bounds, labels))
    return tuple(numbers), program


def _matching(worlds: Worlds, patterns: Sequence[str]) -> list[str]:
    """Return the paths of parameters that match patterns; one without * and ? is a path."""
    if not patterns:
        return []
    known, paths = list(worlds.parameters), list[str]()
    for pattern in patterns:
        if not any(sign in pattern for sign in "*?"):
            paths.append(pattern)
            continue
        own = [path for path in known if fnmatchcase(path, pattern)]
        if not own:
            hint = did_you_mean(pattern, known)
            problem = f"{pattern!r} matches none of {len(known)} paths{hint}"
            raise SimulationError("parameters", f"{problem}; see list(worlds.parameters)")
        paths += own
    return list(dict.fromkeys(paths))


def recorded_signals(scene: Scene) -> tuple[RecordedSignal, ...]:
    """Return the signals of a scene."""
    return () if scene.signals is None else scene.signals.recorded


def input_unit(scene: Scene, name: str) -> str:
    """Return the unit of an input, which is recorded under its name."""
    return next((own.unit for own in recorded_signals(scene) if own.name == name), "")


def check_runs_without_python(scene: Scene) -> None:
    """Reject a scene with a part that Python runs.

    Raises:
        SimulationError: it names the part.
    """
    where, remedy = str(scene.spec.path), "an engine without Python cannot run it"
    if runs_in_python(scene):
        calls = scene.model.callback_joints
        part = f"joint {calls[0]!r}" if calls else f"integrator {scene.settings.integrator!r}"
        raise SimulationError(where, f"{part} is computed in Python; {remedy}")
    if has_impacts(scene):
        raise SimulationError(where, f"'impact' changes velocities in Python; {remedy}")
    if scene.spec.events:
        raise SimulationError(
            where, f"event {scene.spec.events[0].name!r} is answered in Python; {remedy}"
        )
    signals = scene.signals
    if signals is not None and signals.callbacks:
        raise SimulationError(
            where, f"controller {signals.callbacks[0].name!r} is written in Python; {remedy}"
        )
