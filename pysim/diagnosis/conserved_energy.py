"""Conservation of energy: whether a scene conserves it, and the share whose change no error of a scheme explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.mechanism.passive_elements import dissipates

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene

LARGE = 0.3  # of energy and work: a larger change is no error of a step that resolves the motion


def conserves_energy(scene: Scene) -> bool:
    """Return whether a scene conserves energy: no actuators, damping, friction, damped stops and other such forces."""
    if scene.spec.actuators or scene.contacts is not None:
        return False
    if scene.model.spec.has_motions:
        return False
    signals = scene.model.connections.signals
    if signals is not None and signals.forces is not None:
        return False
    if scene.model.connections.nonconservative:
        return False
    return not any(map(dissipates, scene.spec.model.joints))
