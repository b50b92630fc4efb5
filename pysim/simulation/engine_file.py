"""Files of scenes for engines without Python (cpp/engine/scene_file.hpp): FMUs, programs in C and C++.

A file has the model, the contacts, the programs of the signals, the scheme and the record of a world that begins. What
Python runs in every step has no place in it: an error names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim import _engine
from pysim.errors import SimulationError
from pysim.inertia import theta_to_packed
from pysim.simulation.worlds import Worlds
from pysim.worlds.loading import refuse_impacts
from pysim.worlds.python_stepping import runs_in_python
from pysim.worlds.signal_runs import start_numbers

if TYPE_CHECKING:
    from pysim.elements.graph_types import RecordedSignal
    from pysim.worlds.loading import Scene


def engine_file(scene: Scene) -> bytes:
    """Return the file of a scene that an engine without Python loads and runs.

    Raises:
        SimulationError: the scene has a part that Python runs: a joint, controller or integrator of a plugin that is
            not traced, events, impacts, or a block that reads contacts.
    """
    check_runs_without_python(scene)
    return file_of_worlds(Worlds(scene))


def file_of_worlds(worlds: Worlds) -> bytes:
    """Return the file of the scene of one world that has begun."""
    own, records = worlds.scene(), worlds._records  # noqa: SLF001, the record is what is written
    assert isinstance(records.engine, _engine.Worlds)  # in double precision
    model, signals, contacts = own.model, own.signals, own.contacts
    connections = model.connections
    inputs = () if signals is None else signals.inputs
    return bytes(
        _engine.scene_file(
            records.engine,
            own.spec.name,
            list(model._descriptions),  # noqa: SLF001
            theta_to_packed(model.parameters),
            list(connections.loops),
            list(connections.couplings),
            list(connections.elements),
            connections.signals,
            names=[
                list(model.coordinate_names),
                list(model.coordinate_units),
                list(model.velocity_names),
                list(model.velocity_units),
                list(model.body_names),
                [] if contacts is None else [pair.name for pair in contacts.pairs],
            ],
            pair_of_shapes=[] if contacts is None else contacts.shapes.pair.tolist(),
            signs=[] if contacts is None else contacts.signs_of_shapes.tolist(),
            inputs=[(x.name, input_unit(own, x.name), list(x.places)) for x in inputs],
            outputs=[
                (x.name, x.unit, x.first, x.size, list(x.labels)) for x in readable_signals(own)
            ],
            numbers=[] if signals is None else start_numbers(signals, 0).tolist(),
            settles=signals is not None and bool(signals.settled),
        )
    )


def readable_signals(scene: Scene) -> tuple[RecordedSignal, ...]:
    """Return the signals that an engine without Python reads: those that do not wait for accelerations or contacts."""
    recorded = () if scene.signals is None else scene.signals.recorded
    return tuple(own for own in recorded if not own.is_late)


def input_unit(scene: Scene, name: str) -> str:
    """Return the unit of an input, which is recorded under its name."""
    recorded = () if scene.signals is None else scene.signals.recorded
    return next((own.unit for own in recorded if own.name == name), "")


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
    refuse_impacts(scene)
    if scene.spec.events:
        raise SimulationError(
            where, f"event {scene.spec.events[0].name!r} is answered in Python; {remedy}"
        )
    signals = scene.signals
    if signals is None:
        return
    if signals.callbacks:
        raise SimulationError(
            where, f"controller {signals.callbacks[0].name!r} is written in Python; {remedy}"
        )
    is_convex = scene.settings.integrator == "convex"
    waiting = signals.touching | (signals.measuring if is_convex else 0)
    if waiting:
        k = (waiting & -waiting).bit_length() - 1 - signals.begins
        problem = (
            f"block {signals.sampled[k]!r} reads contacts or accelerations, which Python computes"
        )
        raise SimulationError(where, f"{problem}; {remedy}")
