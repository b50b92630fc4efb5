"""Detection of jumps of a joint's pose, by bisection until any continuous change would have vanished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.joints.coordinate_ranges import describe_state
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.joints.motion_evaluation import MotionNumbers

POINTS = 257  # along each coordinate
STEEPEST_INTERVALS = 4  # number of intervals of each coordinate that are bisected
HALVINGS = 44  # until 257 points of π are 1e-15 apart
POSE_JUMP = 1e-6  # relative to the pose's largest number or 1; the rest of a continuous change is far smaller


def largest_jump(numbers: MotionNumbers, ends: Array, start: Array) -> tuple[str, float] | None:
    """Return a description of the state and the size of the largest jump along real coordinates, None without one."""
    coordinates = numbers.joint.coordinates
    low, high = [], []
    for part, at, at_v in coordinates.offsets():
        if part.group != "real":
            continue
        walk = np.tile(start, (POINTS, 1))
        walk[:, at] = np.linspace(ends[0, at_v], ends[1, at_v], POINTS)
        X = numbers.poses(walk)
        change = _distance(X[:-1], X[1:])
        steepest = np.argsort(change)[-STEEPEST_INTERVALS:]
        low.append(walk[:-1][steepest])
        high.append(walk[1:][steepest])
    if not low:
        return None
    a, X_a, X_b = _halved(numbers, np.concatenate(low), np.concatenate(high))
    size = _distance(X_a, X_b)
    worst = int(np.argmax(size))
    least = POSE_JUMP * max(1.0, float(np.abs(X_a[worst]).max()))
    return (
        (describe_state(coordinates, a[worst]), float(size[worst])) if size[worst] > least else None
    )


def _halved(numbers: MotionNumbers, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Bisect towards the half with the larger change; return its beginning and the poses at its ends."""
    X_a, X_b = numbers.poses(a), numbers.poses(b)
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        X = numbers.poses(middle)
        first = _distance(X_a, X) >= _distance(X, X_b)
        a, b = np.where(first[:, None], a, middle), np.where(first[:, None], middle, b)
        X_a, X_b = np.where(first[:, None, None], X_a, X), np.where(first[:, None, None], X, X_b)
    return a, X_a, X_b


def _distance(X: Array, Y: Array) -> Array:
    """Return the largest difference of the numbers of two poses (n,); 0 if one is not finite."""
    return np.asarray(np.nan_to_num(np.abs(X - Y).max(axis=(1, 2)), nan=0.0, posinf=0.0))
