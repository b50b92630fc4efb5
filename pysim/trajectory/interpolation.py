"""Poses between output instants: straight lines for positions, great circles for quaternions.

    x(s) = (1 − s) x₀ + s x₁        Q(s) = (sin((1 − s) φ) Q₀ + sin(s φ) Q₁) / sin φ

with cos φ = Q₀·Q₁ and Q₁ of the sign that makes it positive [Shoemake 1985].
"""

from __future__ import annotations

import numpy as np

from pysim.typing import Array


def interpolated_poses(t: Array, poses: Array, times: Array) -> Array:
    """Return poses (k, nbodies, 7) at `times` (k,), interpolated from `poses` (n, nbodies, 7) at `t` (n,) [s]."""
    if len(t) == 1:
        return np.repeat(np.asarray(poses), len(times), axis=0)
    after = np.clip(np.searchsorted(t, times, side="right"), 1, len(t) - 1)
    before = after - 1
    s = np.clip((times - t[before]) / (t[after] - t[before]), 0.0, 1.0)[:, None, None]
    first, last = poses[before], poses[after]
    position = (1 - s) * first[..., :3] + s * last[..., :3]
    return np.concatenate([position, slerp(first[..., 3:], last[..., 3:], s)], axis=-1)


def slerp(first: Array, last: Array, s: Array) -> Array:
    """Return unit quaternions (..., 4) at a fraction `s` of the shorter arc from `first` to `last`."""
    cosine = np.sum(first * last, axis=-1, keepdims=True)
    last = np.where(cosine < 0, -last, last)
    phi = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    near = phi < 1e-6  # there the chord and the circle agree to 1e-12
    sine = np.where(near, 1.0, np.sin(phi))
    start = np.where(near, 1 - s, np.sin((1 - s) * phi) / sine)
    end = np.where(near, s, np.sin(s * phi) / sine)
    mixed = start * first + end * last
    unit: Array = mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)
    return unit


def continuous_quaternions(quaternions: Array) -> Array:
    """Return unit quaternions (n, 4), of whose two signs each is the nearer to the one before."""
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
    signs = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])
    unit = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    return np.asarray(unit * signs[:, None])


def rotation_matrices(quaternions: Array) -> Array:
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4) in the order x y z w."""
    x, y, z, w = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def pose_matrices(poses: Array) -> Array:
    """Return homogeneous matrices (..., 4, 4) of poses (..., 7): position, then quaternion."""
    matrices = np.zeros((*poses.shape[:-1], 4, 4))
    matrices[..., :3, :3] = rotation_matrices(poses[..., 3:])
    matrices[..., :3, 3] = poses[..., :3]
    matrices[..., 3, 3] = 1.0
    return matrices
