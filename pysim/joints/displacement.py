"""Displacements of symbolic or plain numbers, as an author of a joint writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.joints.expression import Number, record

if TYPE_CHECKING:
    from collections.abc import Sequence

Entries = list[list[Any]]


def _product(A: Sequence[Sequence[Any]], B: Sequence[Sequence[Any]]) -> Entries:
    return [[_dot(row, column) for column in zip(*B, strict=True)] for row in A]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if not (_is_plain(x, 0) or _is_plain(y, 0)):
            total = total + x * y
    return total


def _is_plain(x: Any, value: float) -> bool:
    return isinstance(x, (int, float)) and x == value


class Pose:
    """X_AB: maps B coordinates to A, p_A = R p_B + p. `@` chains displacements, left to right.

    `Pose.rotate_z(q.angle) @ Pose.translate(0, 0, h)` turns first, then moves along the turned axes.
    Angles are in [rad], lengths in [m].
    """

    __slots__ = ("p", "rotation")

    def __init__(self, rotation: Sequence[Sequence[Number]], p: Sequence[Number]) -> None:
        self.rotation: Entries = [list(row) for row in rotation]
        self.p: list[Any] = list(p)
        if [len(row) for row in self.rotation] != [3, 3, 3] or len(self.p) != 3:
            raise ValueError("a pose needs a 3×3 rotation and 3 numbers of position")

    @classmethod
    def identity(cls) -> Pose:
        """No displacement."""
        return cls(np.eye(3).tolist(), [0.0, 0.0, 0.0])

    @classmethod
    def translate(cls, x: Number, y: Number, z: Number) -> Pose:
        """Move by (x, y, z) [m]."""
        return cls(np.eye(3).tolist(), [x, y, z])

    @classmethod
    def rotate_x(cls, angle: Number) -> Pose:
        """Turn about x [rad]."""
        s, c = record("sin", angle), record("cos", angle)
        return cls([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]], [0.0, 0.0, 0.0])

    @classmethod
    def rotate_y(cls, angle: Number) -> Pose:
        """Turn about y [rad]."""
        s, c = record("sin", angle), record("cos", angle)
        return cls([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]], [0.0, 0.0, 0.0])

    @classmethod
    def rotate_z(cls, angle: Number) -> Pose:
        """Turn about z [rad]."""
        s, c = record("sin", angle), record("cos", angle)
        return cls([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0])

    @classmethod
    def rotate(cls, axis: Sequence[Number], angle: Number) -> Pose:
        """Turn about an axis of unit length [rad] (Rodrigues)."""
        s, c = record("sin", angle), record("cos", angle)
        x, y, z = axis
        K = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        KK = _product(K, K)
        R = [
            [(1.0 if i == j else 0.0) + s * K[i][j] + (1 - c) * KK[i][j] for j in range(3)]
            for i in range(3)
        ]
        return cls(R, [0.0, 0.0, 0.0])

    @classmethod
    def rotate_quaternion(cls, quaternion: Sequence[Number]) -> Pose:
        """Turn by a unit quaternion (x, y, z, w), as `rotation` coordinates are."""
        x, y, z, w = quaternion
        R = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return cls(R, [0.0, 0.0, 0.0])

    @classmethod
    def from_matrix(cls, matrix: Any) -> Pose:
        """From a 4×4 array of numbers."""
        rows = np.asarray(matrix).tolist()
        return cls([row[:3] for row in rows[:3]], [row[3] for row in rows[:3]])

    def __matmul__(self, other: Pose) -> Pose:
        if not isinstance(other, Pose):
            return NotImplemented
        return Pose(_product(self.rotation, other.rotation), self.act(other.p))

    def act(self, point: Sequence[Number]) -> list[Any]:
        """R point + p: where a point of B lies in A."""
        return [_dot(row, point) + p for row, p in zip(self.rotation, self.p, strict=True)]

    def inverse(self) -> Pose:
        """The displacement that undoes this one."""
        transposed = [list(column) for column in zip(*self.rotation, strict=True)]
        return Pose(transposed, [-_dot(row, self.p) for row in transposed])
