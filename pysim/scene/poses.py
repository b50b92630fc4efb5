"""Poses from the notations of rotations in files. X_AB (4, 4) maps B coordinates to A."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.spatial.rotations import quaternion_entries
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Quaternion = tuple[float, float, float, float]  # x, y, z, w


def pose(xyz: ArrayLike, quaternion: ArrayLike) -> Array:
    """Return X (4, 4) of a position [m] and a quaternion (x, y, z, w)."""
    X = np.eye(4)
    X[:3, :3] = rotation(quaternion)
    X[:3, 3] = xyz
    return X


def translation(xyz: ArrayLike) -> Array:
    """Return X (4, 4) of a position [m] without a rotation."""
    X = np.eye(4)
    X[:3, 3] = xyz
    return X


def rotation(quaternion: ArrayLike) -> Array:
    """Return R (3, 3) of a quaternion (x, y, z, w) of any nonzero length.

    A rotation by a multiple of 90° about a coordinate axis has entries that are exactly 0 and ±1.
    """
    u = np.asarray(quaternion, float)
    R: Array = np.array(quaternion_entries(u / np.linalg.norm(u)))
    nearest = np.round(R)
    return nearest if abs(R - nearest).max() < 4e-16 else R


def from_axis_angle(x: float, y: float, z: float, angle: float) -> Quaternion:
    """Return the quaternion of a rotation by `angle` [rad] about (x, y, z), of any nonzero length."""
    axis = np.array([x, y, z]) / math.hypot(x, y, z)
    sx, sy, sz = np.sin(angle / 2) * axis
    return float(sx), float(sy), float(sz), float(np.cos(angle / 2))


def from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Return the quaternion of Rz(yaw) Ry(pitch) Rx(roll), angles [rad]."""
    cr, cp, cy = np.cos(np.array([roll, pitch, yaw]) / 2)
    sr, sp, sy = np.sin(np.array([roll, pitch, yaw]) / 2)
    return (
        float(sr * cp * cy - cr * sp * sy),
        float(cr * sp * cy + sr * cp * sy),
        float(cr * cp * sy - sr * sp * cy),
        float(cr * cp * cy + sr * sp * sy),
    )


def rpy_of(R: Array) -> tuple[float, float, float]:
    """Return roll, pitch, yaw [rad] of R (3, 3) = Rz(yaw) Ry(pitch) Rx(roll), accurate at a pitch of ±90° too.

    Yaw turns the x axis into the plane of R's first column; what is left of R are pitch and roll, each by arctan2.
    """
    yaw = math.atan2(R[1, 0], R[0, 0]) if R[0, 0] or R[1, 0] else 0.0
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def relative_pose(X_WA: Array, X_WB: Array) -> Array:
    """Return X_AB (4, 4) of the poses of two frames in a third."""
    X = np.eye(4)
    R = X_WA[:3, :3].T
    X[:3, :3] = R @ X_WB[:3, :3]
    X[:3, 3] = R @ (X_WB[:3, 3] - X_WA[:3, 3])
    return X
