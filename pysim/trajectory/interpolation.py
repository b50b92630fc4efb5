"""Poses between output instants: straight lines for positions, great circles for quaternions.

x(s) = (1 − s) x₀ + s x₁        Q(s) as `pysim.spatial.slerp`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.spatial.rotations import arc, quaternion_entries
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]


def rows_around(t: Array, times: Array) -> tuple[Rows, Rows, Array]:
    """Return the rows before and after `times` (k,), and the fractions (k,) of the time between them."""
    if len(t) == 1:
        row = np.zeros(len(times), np.intp)
        return row, row, np.zeros(len(times))
    after = np.clip(np.searchsorted(t, times, side="right"), 1, len(t) - 1)
    before = after - 1
    return before, after, np.clip((times - t[before]) / (t[after] - t[before]), 0.0, 1.0)


def interpolated_poses(t: Array, poses: Array, times: Array) -> Array:
    """Return poses (k, nbodies, 7) at `times` (k,), interpolated from `poses` (n, nbodies, 7) at `t` (n,) [s]."""
    before, after, fractions = rows_around(t, times)
    s = fractions[:, None, None]
    first, last = poses[before], poses[after]
    position = (1 - s) * first[..., :3] + s * last[..., :3]
    return np.concatenate([position, arc(first[..., 3:], last[..., 3:], s)], axis=-1)


def continuous_quaternions(quaternions: Array) -> Array:
    """Return unit quaternions (n, 4), of whose two signs each is the nearer to the one before."""
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
    signs = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])
    unit = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    return np.asarray(unit * signs[:, None])


def rotation_matrices(quaternions: Array) -> Array:
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4) in the order x y z w."""
    rows = quaternion_entries(np.moveaxis(quaternions, -1, 0))
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def pose_matrices(poses: Array) -> Array:
    """Return homogeneous matrices (..., 4, 4) of poses (..., 7): position, then quaternion."""
    matrices = np.zeros((*poses.shape[:-1], 4, 4))
    matrices[..., :3, :3] = rotation_matrices(poses[..., 3:])
    matrices[..., :3, 3] = poses[..., :3]
    matrices[..., 3, 3] = 1.0
    return matrices
