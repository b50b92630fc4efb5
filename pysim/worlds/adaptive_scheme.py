"""Steps of adapted size: their part of a record (cpp/stepping/adaptive.hpp), and their settings."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


class Place(IntEnum):
    """Places in the scheme's part of a record."""

    BEGUN = 0  # 0: steps begin anew at the state of the record
    SIZE = 1  # of the next step [s], 0 to choose it
    TIME = 2  # at which it starts [s]
    REJECTED = 5  # steps so far
    WORST = 6  # coordinate of v with the largest error of the last step tried
    SIGNS = 9  # of events; then q, v and the states of elements at the start of the next step


def adaptive_settings(scene: Scene) -> dict[str, Any]:
    """Return the settings of steps of adapted size by the engine's names."""
    rtol, atol = tolerances(scene)
    return {"rtol": rtol, "atol": atol}


def tolerances(scene: Scene) -> tuple[Array, Array]:
    """Return rtol and atol of every coordinate of v (nv,)."""
    settings = scene.settings
    return per_coordinate(scene.model, settings.rtol), per_coordinate(scene.model, settings.atol)


def per_coordinate(model: Model, tolerance: Mapping[str, float]) -> Array:
    """Spread a tolerance by joint, "" for the rest, over the coordinates of v (nv,)."""
    own = np.full(model.nv, tolerance[""])
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        if joint.name in tolerance and at >= 0:
            own[at : at + len(joint.damping)] = tolerance[joint.name]
    return own
