"""What the actuators of a scene push with: τ(t) = offset + amplitude · sin(frequency t + phase)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim import _engine


def actuator_forces(actuation: _engine.Actuation, t: ArrayLike) -> NDArray[np.float64]:
    """Return the generalised forces (…, nv) [N or N·m] at the times t (…) [s]."""
    angle = actuation.frequency * np.asarray(t)[..., None] + actuation.phase
    return np.asarray(actuation.offset + actuation.amplitude * np.sin(angle))
