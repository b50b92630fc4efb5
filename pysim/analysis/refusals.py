"""Parts of scenes that keep their steps from having derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim import _engine

if TYPE_CHECKING:
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
    return str(_engine.cotangent_sizes(records.engine)[0])
