"""Rotations, poses, twists and inertias as dense matrices. Everything accepts complex numbers."""

from __future__ import annotations

import numpy as np


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(axis, angle):
    """Rodrigues' formula."""
    K = skew(np.asarray(axis))
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def quaternion_rotation(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_product(a, b):
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def quaternion_exp(w):
    """Unit quaternion of a rotation vector, by its power series where the angle is small."""
    square = w @ w
    if abs(square) < 1e-8:
        return np.array([*(w * (0.5 - square / 48)), 1 - square / 8])
    angle = np.sqrt(square)
    return np.array([*(w * np.sin(angle / 2) / angle), np.cos(angle / 2)])


def left_jacobian(w):
    """∫₀¹ exp(s w×) ds by its power series; exact to rounding for the angles of the tests."""
    K, term, total = skew(w), np.eye(3), np.eye(3)
    for n in range(1, 40):
        term = term @ K / (n + 1)
        total = total + term
    return total


def pose(R, p):
    X = np.eye(4, dtype=np.result_type(R, p))
    X[:3, :3], X[:3, 3] = R, p
    return X


def inverse(X):
    return pose(X[:3, :3].T, -X[:3, :3].T @ X[:3, 3])


def adjoint(X):
    """X_AB: twists of B to A, [v; ω]."""
    R, p = X[:3, :3], X[:3, 3]
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


def spatial_cross(V):
    """V ×, on twists; −Vᵀ of it is V ×*, on wrenches."""
    return np.block([[skew(V[3:]), skew(V[:3])], [np.zeros((3, 3)), skew(V[3:])]])


def spatial_inertia(theta):
    m, c = theta[0], skew(theta[1:4])
    xx, xy, yy, xz, yz, zz = theta[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[m * np.eye(3), -c], [c, I]])
