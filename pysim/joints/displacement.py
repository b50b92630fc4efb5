"""`Pose`: rigid displacements of symbolic or plain numbers, in which authors write placements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.spatial.rotations import quaternion_entries
from pysim.tracing.expression import Number, Scalar, record
from pysim.tracing.symbolic_array import symbolic_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

Entries = list[list[Any]]


def _product(A: Sequence[Sequence[Any]], B: Sequence[Sequence[Any]]) -> Entries:
    return [[_dot(row, column) for column in zip(*B, strict=True)] for row in A]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if not (_is_plain(x, 0) or _is_plain(y, 0)):
            total = total + x * y
    return total


def _array(numbers: Sequence[Any]) -> Array:
    """Return an array of numbers: of floats, unless one is symbolic."""
    found: Array = symbolic_array(np.array(numbers, object))
    if not any(isinstance(x, Scalar) for x in found.flat):
        found = found.view(np.ndarray).astype(float)
    found.flags.writeable = False
    return found


def _is_plain(x: Any, value: float) -> bool:
    return isinstance(x, (int, float)) and x == value


@dataclass(frozen=True, eq=False)
class Factor:
    """Displacement that is not a product of others: R, p, and for a rotation its axis and angle [rad]."""

    rotation: tuple[tuple[Any, ...], ...]
    p: tuple[Any, ...]
    axis_angle: tuple[tuple[float, ...], Any] | None = None


class Pose:
    """Displacement X_AB, which maps B coordinates to A: p_A = R p_B + p. `@` multiplies, so X_AC = X_AB @ X_BC.

    `Pose.rotate_z(q.angle) @ Pose.translate(0, 0, h)` rotates first, then translates along the rotated axes.
    Angles are in [rad], lengths in [m]. Poses are immutable.
    """

    __slots__ = ("_factors", "_p", "_rotation")

    def __init__(self, rotation: Sequence[Sequence[Number]], p: Sequence[Number]) -> None:
        self._rotation: tuple[tuple[Any, ...], ...] = tuple(tuple(row) for row in rotation)
        self._p: tuple[Any, ...] = tuple(p)
        if [len(row) for row in self._rotation] != [3, 3, 3] or len(self._p) != 3:
            raise ValueError("a pose needs a 3×3 rotation and 3 numbers of position")
        self._factors: tuple[Factor, ...] = (Factor(self._rotation, self._p),)

    @property
    def rotation(self) -> Array:
        """R (3, 3)."""
        return _array(self._rotation)

    @property
    def p(self) -> Array:
        """Position of the origin of B in A (3,) [m]."""
        return _array(self._p)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Factors of this displacement, left to right."""
        return self._factors

    @classmethod
    def _turn(cls, axis: tuple[float, ...], angle: Number, rotation: Entries) -> Pose:
        made = cls(rotation, [0.0, 0.0, 0.0])
        made._factors = (Factor(made._rotation, made._p, (axis, angle)),)
        return made

    @classmethod
    def identity(cls) -> Pose:
        """Return the identity, no displacement."""
        return cls(np.eye(3).tolist(), [0.0, 0.0, 0.0])

    @classmethod
    def translate(cls, x: Number, y: Number, z: Number) -> Pose:
        """Return a translation by (x, y, z) [m]."""
        return cls(np.eye(3).tolist(), [x, y, z])

    @classmethod
    def rotate_x(cls, angle: Number) -> Pose:
        """Turn about x [rad]."""
        s, c = record("sin", angle), record("cos", angle)
        return cls._turn((1.0, 0.0, 0.0), angle, [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])

    @classmethod
    def rotate_y(cls, angle: Number) -> Pose:
        """Turn about y [rad]."""
        s, c = record("sin", angle), record("cos", angle)
        return cls._turn((0.0, 1.0, 0.0), angle, [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])

    @classmethod
    def rotate_z(cls, angle: Number) -> Pose:
        """Turn about z [rad]."""
        s, c = record("sin", angle), record("cos", angle)
        return cls._turn((0.0, 0.0, 1.0), angle, [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    @classmethod
    def rotate(cls, axis: Sequence[Number], angle: Number) -> Pose:
        """Return a rotation about a unit axis by an angle [rad] (Rodrigues' formula)."""
        s, c = record("sin", angle), record("cos", angle)
        x, y, z = axis
        K = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        KK = _product(K, K)
        R = [
            [(1.0 if i == j else 0.0) + s * K[i][j] + (1 - c) * KK[i][j] for j in range(3)]
            for i in range(3)
        ]
        fixed = tuple(float(a) for a in axis if isinstance(a, (int, float, np.number)))
        return cls._turn(fixed, angle, R) if len(fixed) == 3 else cls(R, [0.0, 0.0, 0.0])

    @classmethod
    def rotate_quaternion(cls, quaternion: Sequence[Number]) -> Pose:
        """Return the rotation of a unit quaternion (x, y, z, w), the form of `rotation` coordinates."""
        return cls(quaternion_entries(quaternion), [0.0, 0.0, 0.0])

    @classmethod
    def from_matrix(cls, matrix: Any) -> Pose:
        """Return the displacement of a 4×4 array of numbers."""
        rows = np.asarray(matrix).tolist()
        return cls([row[:3] for row in rows[:3]], [row[3] for row in rows[:3]])

    def __matmul__(self, other: Pose) -> Pose:
        if not isinstance(other, Pose):
            return NotImplemented
        made = Pose(_product(self._rotation, other._rotation), self.act(other._p))
        made._factors = (*self.factors, *other.factors)
        return made

    def act(self, point: Sequence[Number]) -> list[Any]:
        """Return R point + p, the position in A of a point given in B."""
        return [_dot(row, point) + p for row, p in zip(self._rotation, self._p, strict=True)]

    def inverse(self) -> Pose:
        """Return the inverse displacement X_BA."""
        transposed = [list(column) for column in zip(*self._rotation, strict=True)]
        return Pose(transposed, [-_dot(row, self._p) for row in transposed])
