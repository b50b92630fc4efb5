"""A complaint where a scene starts at a singular position, from which its motion is not determined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import complain
from pysim.loops import constraints, mobility

if TYPE_CHECKING:
    from pysim.compile import Scene
    from pysim.loops import Mobility

_FOLLOWED = 1e-6  # of what the fastest coordinate asks for, that no acceleration makes up for


def mobility_at_start(scene: Scene) -> Mobility | None:
    """How many ways it can move at the start; None where nothing ties its coordinates."""
    model, state = scene.model, scene.state
    return mobility(model, state.q, state.loop_q) if model.rows else None


def warn_of_start(scene: Scene, found: Mobility | None) -> None:
    """Warn of a start where loops let the mechanism move in more ways for an instant than it can go.

    One that moves along a way on is told nothing.
    """
    if found is None:
        return
    state = scene.state
    reasons = []
    if found.rank_here < found.rank and not state.v.any():
        reasons.append("it can go on in more ways than one, and from rest rounding alone decides")
    elif found.singular and not _leads_on(scene):
        reasons.append("its start velocity cannot be followed")
    if found.stuck:
        reasons.append("nothing holds it against what pushes where it cannot go")
    if reasons:
        told = "; ".join([f"the start is a singular position ({found})", *reasons])
        complain("warning", f"{told}; start beside it, or change a length")


def _leads_on(scene: Scene) -> bool:
    """Whether some v̇ keeps J v̇ + J̇ v = 0 along the start velocity."""
    state = scene.state
    at = constraints(scene.model, state.q, state.v, loop_q=state.loop_q)
    left = at.bias - at.jacobian @ (np.linalg.pinv(at.jacobian, _FOLLOWED) @ at.bias)
    return bool(np.abs(left).max() <= _FOLLOWED * np.abs(state.v).max(initial=0.0) ** 2)
