"""Parts of scenes that keep their steps from having derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim import _engine
from pysim._engine import SignalSource

if TYPE_CHECKING:
    from pysim.elements.graph_types import CompiledSignals
    from pysim.mechanism.model import Model
    from pysim.simulation.worlds import Worlds

__all__ = ["refusal"]


def refusal(worlds: Worlds) -> str:
    """Return the part of worlds that keeps their steps from having derivatives, '' for none."""
    records = worlds._records  # noqa: SLF001, the engine's records
    signals = records.scene.signals
    if not isinstance(records.engine, _engine.Worlds):
        return "dtype = np.float32"
    if signals is not None and signals.callbacks:
        return "controllers in Python"
    reason = str(_engine.cotangent_sizes(records.engine)[0])
    if signals is None or reason != "sampled blocks that run between steps":
        return reason
    return _late_block(records.scene.model, signals)


def _late_block(model: Model, signals: CompiledSignals) -> str:
    """Return the first sampled block that reads what exists after a convex step only, and its reading."""
    for k, name in enumerate(signals.sampled):
        bit = signals.begins + k
        if not (signals.measuring | signals.touching) >> bit & 1:
            continue
        program = signals.description.blocks[bit]
        readings = [
            found
            for source, index, _ in program.inputs
            if (found := _late_reading(model, signals, source, index))
        ]
        return f"sampled block {name!r}, which reads {readings[0]} of a step"
    return "sampled blocks that run between steps"


def _late_reading(model: Model, signals: CompiledSignals, source: SignalSource, index: int) -> str:
    """Return the name of an input that follows from the forces of a step, '' for any other."""
    if source is SignalSource.acceleration:
        return f"the acceleration of {model.velocity_names[index]!r}"
    if source is SignalSource.port_acceleration:
        return f"the acceleration of {signals.description.ports[index // 6].name!r}"
    if source is SignalSource.reaction:
        return f"the wrench of joint {model.joints[index // 6].name!r}"
    if source is SignalSource.state:
        for body, places in signals.contacts:
            if index in places:
                return f"contacts of sensor {body.name!r}"
    return ""
