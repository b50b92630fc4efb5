"""Parts of scenes that keep their steps from having derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim import _engine
from pysim._engine import SignalSource

if TYPE_CHECKING:
    from pysim.elements.graph_types import CompiledSignals
    from pysim.mechanism.model import Model
    from pysim.simulation.worlds import Worlds
    from pysim.worlds.loading import Scene

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
    if signals is None or not reason.startswith("sampled blocks"):
        return reason
    return _late_block(records.scene, signals, between="between" in reason) or reason


def _late_block(scene: Scene, signals: CompiledSignals, *, between: bool) -> str:
    """Return the first sampled block that reads what a step ends with and has no derivatives, and its reading."""
    late = signals.touching if between else signals.measuring
    part = "" if between else " in a mechanism with loops, couplings or prescribed motions"
    for k, name in enumerate(signals.sampled):
        bit = signals.begins + k
        if not late >> bit & 1:
            continue
        readings = [
            found
            for source, index, _ in signals.description.blocks[bit].inputs
            if (found := _late_reading(scene.model, signals, source, index))
        ]
        return f"sampled block {name!r}, which reads {readings[0]}{part}"
    return ""


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
