"""Orientations and poses as a scene writes them.

Quaternions are (x, y, z, w) inside pysim; a scene names the order of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ORIENTATIONS = ("rpy", "quat_wxyz", "quat_xyzw", "axis_angle")
UNIT_TOLERANCE = 1e-6  # of the norm: more than rounding is a mistake


def quaternion(kind: str, numbers: Sequence[float]) -> Array:
    """Return the unit quaternion (x, y, z, w) of an orientation written as `kind`."""
    match kind:
        case "rpy":
            return quaternion_rpy(*numbers)
        case "quat_wxyz":
            unit = unit_quaternion(kind, numbers)
            return unit[[1, 2, 3, 0]]
        case "quat_xyzw":
            return unit_quaternion(kind, numbers)
    axis, angle = unit_axis(kind, numbers[:3]), numbers[3]
    return np.array([*(np.sin(angle / 2) * axis), np.cos(angle / 2)])


def quaternion_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return the quaternion of Rz(yaw) Ry(pitch) Rx(roll), angles [rad]."""
    half = np.array([roll, pitch, yaw]) / 2
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    return np.array(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )


def unit_quaternion(name: str, numbers: Sequence[float]) -> Array:
    """Return the quaternion, refused unless it is unit within rounding."""
    q = np.array(numbers, float)
    norm = float(np.linalg.norm(q))
    if norm == 0:
        raise SceneError(name, "a quaternion must have norm 1, got all zeros")
    if abs(norm - 1) > UNIT_TOLERANCE:
        better = ", ".join(f"{x:.9g}" for x in q / norm)
        raise SceneError(name, f"a quaternion must have norm 1, got {norm:.7g}; write [{better}]")
    return q / norm


def unit_axis(name: str, numbers: Sequence[float]) -> Array:
    """Return the direction of a vector, refused if it has none."""
    axis = np.array(numbers, float)
    length = float(np.linalg.norm(axis))
    if length < 1e-12:
        text = ", ".join(f"{x:g}" for x in axis)
        raise SceneError(name, f"an axis needs a direction, got [{text}]; as [0, 0, 1]")
    return axis / length


def rotation(q: Array) -> Array:
    """Return the rotation matrix (3, 3) of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
