"""Forces that come with pysim, written as plugins: a list, one class a force, long because there are many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import SPRING, Force, force
from pysim.elements.interpolation import polyline
from pysim.elements.quantities import Twist, Wrench
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.joints.displacement import Pose

VACUUM = 1e-7  # μ0 / 4π [N/A²]


def _rotation(pose: Pose) -> Any:
    """Return R (3, 3) of plain or symbolic numbers."""
    return np.array(pose.rotation, object)


# ---------------------------------------------------------------------------------- along a path


@force("path_spring")
class PathSpring(Force):
    """Spring and damper along a path; it pulls and pushes."""

    stiffness: float  # [N/m]
    rest_length: float  # [m]
    damping: float = 0.0  # [N·s/m]
    keeps_structure = True
    not_negative = ("rest_length",)
    resisting = ("damping",)

    def tension(self, length: Any, rate: Any) -> Any:
        return self.stiffness * (length - self.rest_length) + self.damping * rate

    def energy(self, length: Any) -> Any:
        return 0.5 * self.stiffness * (length - self.rest_length) ** 2


@force(SPRING)
class Spring(Force):
    """Spring and damper between two points, along the line through them."""

    stiffness: float = 0.0  # [N/m]
    damping: float = 0.0  # [N·s/m]
    length: float = 0.0  # [m], natural
    between_points = True
    keeps_structure = True
    not_negative = ("stiffness", "damping", "length")

    def tension(self, length: Any, rate: Any) -> Any:
        return PathSpring(self.stiffness, self.length, self.damping).tension(length, rate)

    def energy(self, length: Any) -> Any:
        return PathSpring(self.stiffness, self.length, self.damping).energy(length)


@force("rope")
class Rope(Force):
    """Elastic rope along a path: it pulls where it is longer than its rest length, and never pushes."""

    stiffness: float  # [N/m]
    rest_length: float  # [m]
    damping: float = 0.0  # [N·s/m], while it is taut
    not_negative = ("stiffness", "rest_length", "damping")

    def tension(self, length: Any, rate: Any) -> Any:
        stretch = length - self.rest_length
        pull = np.maximum(self.stiffness * stretch + self.damping * rate, 0.0)
        return np.where(stretch > 0, pull, 0.0)

    def energy(self, length: Any) -> Any:
        return 0.5 * self.stiffness * np.maximum(length - self.rest_length, 0.0) ** 2


# ---------------------------------------------------------------------------------- on coordinates


def difference(numbers: Sequence[Any]) -> Any:
    """Return the coordinate, or the second of two less the first."""
    return numbers[0] if len(numbers) == 1 else numbers[1] - numbers[0]


def against(numbers: Sequence[Any], pull: Any) -> list[Any]:
    """Return a force against the difference, and its opposite on the first of two coordinates."""
    if len(numbers) > 2:
        problem = f"acts on one coordinate or between two, got {len(numbers)}"
        raise PysimError("coordinates", f"{problem}; name one or two")
    return [-pull] if len(numbers) == 1 else [pull, -pull]


@force("coordinate_spring")
class CoordinateSpring(Force):
    """Spring and damper on a coordinate, or between two: linear or torsional, as the coordinates are."""

    stiffness: float  # [N/m or N·m/rad]
    damping: float = 0.0  # [N·s/m or N·m·s/rad]
    rest: float = 0.0  # [m or rad], coordinate or difference at rest
    resisting = ("damping",)

    def force(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        stretch = difference(q) - self.rest
        return against(q, self.stiffness * stretch + self.damping * difference(v))

    def energy(self, q: Sequence[Any]) -> Any:
        return 0.5 * self.stiffness * (difference(q) - self.rest) ** 2


@force("table_spring")
class TableSpring(Force):
    """Spring on a coordinate, or between two, with its force from a table; straight between and beyond its points."""

    stretch: tuple[float, ...]  # [m or rad], increasing
    pull: tuple[float, ...]  # [N or N·m] at each stretch, positive against a positive stretch
    damping: float = 0.0  # [N·s/m or N·m·s/rad]
    resisting = ("damping",)

    def __post_init__(self) -> None:
        if len(self.stretch) != len(self.pull) or len(self.stretch) < 2:
            got = f"{len(self.stretch)} values of stretch and {len(self.pull)} of pull"
            problem = f"a table needs two or more points, got {got}"
            raise PysimError("stretch", f"{problem}; write one pull for each stretch")
        if not (np.diff(self.stretch) > 0).all():
            problem = f"must increase, got {list(self.stretch)}"
            raise PysimError("stretch", f"{problem}; sort the points")

    def _slopes(self) -> list[float]:
        slopes: list[float] = (np.diff(self.pull) / np.diff(self.stretch)).tolist()
        return slopes

    def force(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        pull = polyline(difference(q), self.stretch, self.pull)
        return against(q, pull + self.damping * difference(v))

    def energy(self, q: Sequence[Any]) -> Any:
        x, slopes = difference(q), self._slopes()
        away: Any = x - self.stretch[0]
        energy = self.pull[0] * away + 0.5 * slopes[0] * away * away
        for knot, bend in zip(self.stretch[1:-1], np.diff(slopes).tolist(), strict=True):
            beyond: Any = np.maximum(x - knot, 0.0)
            energy = energy + 0.5 * bend * beyond * beyond
        return energy - self._energy_at_zero()

    def _energy_at_zero(self) -> float:
        """Return the integral of the table from its first point to 0, so that the energy counts from there."""
        away, slopes = -self.stretch[0], self._slopes()
        energy = self.pull[0] * away + 0.5 * slopes[0] * away * away
        for knot, bend in zip(self.stretch[1:-1], np.diff(slopes).tolist(), strict=True):
            energy += 0.5 * bend * max(-knot, 0.0) ** 2
        return energy


@force("stribeck_friction")
class StribeckFriction(Force):
    """Dry friction on a coordinate, or between two, which falls from its static to its kinetic value with speed.

    F = [Fc + (Fs − Fc) exp(−(|v|/vs)^δ)] v/√(v² + vr²) + b v [Armstrong-Hélouvry, Dupont and Canudas de Wit 1994].
    """

    kinetic: float  # [N or N·m], Fc
    static: float  # [N or N·m], Fs
    stribeck_speed: float  # [m/s or rad/s], vs
    exponent: float = 2.0  # [1], δ
    rounding_speed: float = 1e-3  # [m/s or rad/s], vr, below which friction is viscous
    viscous: float = 0.0  # [N·s/m or N·m·s/rad], b
    positive = ("stribeck_speed", "rounding_speed")
    not_negative = ("kinetic", "static", "viscous")

    def force(self, v: Sequence[Any]) -> list[Any]:
        rate = difference(v)
        smooth: Any = np.sqrt(rate * rate + self.rounding_speed**2)
        # |v|^δ has no slope at 0 where δ < 1, and its product with v has
        moving = np.where(rate == 0, 1.0, rate)
        ratio: Any = np.abs(moving) / self.stribeck_speed
        fall = np.where(rate == 0, 1.0, np.exp(-(ratio**self.exponent)))
        dry = (self.kinetic + (self.static - self.kinetic) * fall) * rate / smooth
        return against(v, dry + self.viscous * rate)


@force("gas_spring")
class GasSpring(Force):
    """Closed gas cylinder on a prismatic coordinate x: A (p − p_a) towards +x, p = p0 (V0/(V0 + A x))^n."""

    area: float  # [m²]
    pressure: float  # [Pa], at x = 0
    volume: float  # [m³], at x = 0
    ambient: float = 101325.0  # [Pa]
    exponent: float = 1.4  # [1], polytropic
    damping: float = 0.0  # [N·s/m]
    positive = ("area", "pressure", "volume")
    not_negative = ("ambient", "damping")

    def force(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        ratio: Any = self.volume / (self.volume + self.area * q[0])
        push = self.area * (self.pressure * ratio**self.exponent - self.ambient)
        return [push - self.damping * v[0]]

    def energy(self, q: Sequence[Any]) -> Any:
        volume: Any = self.volume + self.area * q[0]
        outside = self.ambient * self.area * q[0]
        work = self.pressure * self.volume
        if self.exponent == 1:
            return outside - work * np.log(volume / self.volume)
        less = self.exponent - 1
        return outside + work / less * ((self.volume / volume) ** less - 1)


# ---------------------------------------------------------------------------------- between frames


Rows = tuple[tuple[float, ...], ...]
ZERO6: Rows = ((0.0,) * 6,) * 6
ASYMMETRY = 1e-12  # of a symmetric matrix's largest entry, by rounding


def _left_jacobian_inverse_times(theta: Any, x: Any) -> Any:
    """Return J_l(θ)⁻¹ x = x − θ × x / 2 + κ θ × (θ × x), which is J_r(θ)^−T x and J_r(−θ)⁻¹ x."""
    square = theta @ theta
    near = square < 1e-4
    far = np.where(near, 1.0, square)
    angle: Any = np.sqrt(far)
    half = 0.5 * angle
    kappa = np.where(
        near,
        1 / 12 + square * (1 / 720 + square * (1 / 30240 + square / 1209600)),
        (1 - half * np.cos(half) / np.sin(half)) / far,
    )
    once = np.cross(theta, x)
    return x - 0.5 * once + kappa * np.cross(theta, once)


def _rotation_vector(R: Any) -> Any:
    """Return log R (3,), |θ| ≤ π, from the quaternion whose largest number is computed first."""
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    # 4 w², 4 x², …
    squares = [1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz]
    sums = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]  # 4 w x, …
    xy, zx, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = [
        (squares[0], *sums),
        (sums[0], squares[1], xy, zx),
        (sums[1], xy, squares[2], yz),
        (sums[2], zx, yz, squares[3]),
    ]
    best, row = squares[0], list(rows[0])
    for k in (1, 2, 3):
        larger = squares[k] > best
        row = [np.where(larger, a, b) for a, b in zip(rows[k], row, strict=True)]
        best = np.where(larger, squares[k], best)
    sign = np.where(row[0] < 0, -1.0, 1.0)
    w, *axis = [sign * number / (2 * np.sqrt(best)) for number in row]
    sine_square = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]
    near = sine_square < 1e-8
    sine: Any = np.sqrt(np.where(near, 1.0, sine_square))
    # 2 asin(s)/s of a small s, from its series
    factor = np.where(
        near, 2 + sine_square * (1 / 3 + sine_square * 0.15), 2 * np.arctan2(sine, w) / sine
    )
    return np.array([factor * number for number in axis], object)


@force("bushing")
class Bushing(Force):
    """Bushing between frames: a 6×6 stiffness and damping on the position of b in a and its rotation vector.

    x = (p, θ) − home, θ = log R_ab; E = ½ xᵀ K x, dissipation ½ ẋᵀ D ẋ [Chirikjian 2011, chapter 10].
    """

    stiffness: Rows  # [N/m, N, N·m/rad], K, symmetric (6, 6)
    damping: Rows = ZERO6  # [N·s/m, N·s, N·m·s/rad], D, symmetric (6, 6)
    home: tuple[float, ...] = (0.0,) * 6  # [m, rad], x without load

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            matrix = getattr(self, name)
            if [len(row) for row in matrix] != [6] * 6:
                raise PysimError(
                    name, "must have 6 rows of 6 numbers; write 0 for entries without effect"
                )
            _check_symmetric(name, np.array(matrix, float))
        if len(self.home) != 6:
            problem = f"must have 6 numbers, got {len(self.home)}"
            raise PysimError("home", f"{problem}; write x, y, z and a rotation vector")

    def _coordinates(self, pose: Pose) -> Any:
        theta = _rotation_vector(_rotation(pose))
        return np.concatenate([np.array(pose.p, object), theta]) - np.array(self.home)

    def wrench(self, pose: Pose, twist: Twist) -> Wrench:
        R, x = _rotation(pose), self._coordinates(pose)
        theta = x[3:] + np.array(self.home[3:])
        rate = np.concatenate([R @ twist.v, _left_jacobian_inverse_times(-theta, twist.w)])
        load = _symmetric(self.stiffness) @ x + _symmetric(self.damping) @ rate
        torque = _left_jacobian_inverse_times(theta, load[3:])
        return Wrench(force=-(R.T @ load[:3]), torque=-torque)

    def energy(self, pose: Pose) -> Any:
        x = self._coordinates(pose)
        return 0.5 * (x @ (_symmetric(self.stiffness) @ x))


def _check_symmetric(name: str, matrix: Any) -> None:
    """Reject a matrix that differs from its transpose by more than rounding."""
    off = np.abs(matrix - matrix.T)
    if not off.max() <= ASYMMETRY * np.abs(matrix).max():
        raise PysimError(name, "must be symmetric; write the mean of the matrix and its transpose")


def _symmetric(rows: Rows) -> Any:
    """Return the mean of a matrix and its transpose, which has the bits of a matrix that is symmetric."""
    matrix = np.array(rows, float)
    return 0.5 * matrix + 0.5 * matrix.T


@force("constant_force")
class ConstantForce(Force):
    """Constant force at the origin of b, in the axes of a."""

    load: tuple[float, float, float]  # [N]

    def wrench(self, pose: Pose) -> Wrench:
        return Wrench(force=_rotation(pose).T @ np.array(self.load, object))

    def energy(self, pose: Pose) -> Any:
        return -(np.array(self.load) @ np.array(pose.p, object))


@force("linear_drag")
class LinearDrag(Force):
    """Drag −c (v − wind) at the origin of b, against its velocity relative to a."""

    coefficient: float  # [N·s/m], c
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s], in the axes of a
    resisting = ("coefficient",)

    def wrench(self, pose: Pose, twist: Twist) -> Wrench:
        return Wrench(force=-self.coefficient * _through_air(pose, twist, self.wind))


@force("quadratic_drag")
class QuadraticDrag(Force):
    """Drag −½ ρ C A |v − wind| (v − wind) at the origin of b, against its velocity relative to a."""

    density: float  # [kg/m³], ρ
    drag_coefficient: float  # [1], C
    area: float  # [m²], A
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s], in the axes of a
    not_negative = ("density", "area")
    resisting = ("drag_coefficient",)

    def wrench(self, pose: Pose, twist: Twist) -> Wrench:
        air = _through_air(pose, twist, self.wind)
        square = air @ air
        speed = np.where(square > 0, np.sqrt(np.where(square > 0, square, 1.0)), 0.0)
        return Wrench(force=-0.5 * self.density * self.drag_coefficient * self.area * speed * air)


def _through_air(pose: Pose, twist: Twist, wind: Sequence[float]) -> Any:
    """Return the velocity of b's origin relative to the wind, in b."""
    return twist.v - _rotation(pose).T @ np.array(wind)


@force("mutual_gravity")
class MutualGravity(Force):
    """Newtonian attraction of the origins of a and b: G m_a m_b / r²."""

    strength: float  # [N·m²], G m_a m_b

    def wrench(self, pose: Pose) -> Wrench:
        p = np.array(pose.p, object)
        square = p @ p
        pull = -self.strength / (square * np.sqrt(square)) * p
        return Wrench(force=_rotation(pose).T @ pull)

    def energy(self, pose: Pose) -> Any:
        p = np.array(pose.p, object)
        return -self.strength / np.sqrt(p @ p)


@force("buoyant_sphere")
class BuoyantSphere(Force):
    """Buoyancy of a sphere about the origin of b, in a fluid below the plane z = surface of a; without added mass."""

    radius: float  # [m]
    density: float  # [kg/m³], of the fluid
    gravity: float = 9.81  # [m/s²], against z of a
    surface: float = 0.0  # [m], height in a
    positive = ("radius",)
    not_negative = ("density",)

    def _depth(self, pose: Pose) -> Any:
        depth = self.radius + self.surface - pose.p[2]
        return np.clip(depth, 0.0, 2 * self.radius)

    def wrench(self, pose: Pose) -> Wrench:
        h = self._depth(pose)
        volume = math.pi * h * h * (3 * self.radius - h) / 3
        lift = np.array([0.0, 0.0, self.density * self.gravity * volume], object)
        return Wrench(force=_rotation(pose).T @ lift)

    def energy(self, pose: Pose) -> Any:
        r, h = self.radius, self._depth(pose)
        # below the depth at which it is covered
        sunk = np.maximum(self.surface - pose.p[2] - r, 0.0)
        volume = 4 / 3 * math.pi * r**3
        moment = math.pi * h * h * h * (4 * r - h) / 12  # ∫ V dh
        return self.density * self.gravity * (moment + volume * sunk)


@force("magnet_dipoles")
class MagnetDipoles(Force):
    """Magnetic dipoles at the origins of a and b [Griffiths 2017, chapters 5 and 6]."""

    moment_a: tuple[float, float, float]  # [A·m²], in a
    moment_b: tuple[float, float, float]  # [A·m²], in b

    def wrench(self, pose: Pose) -> Wrench:
        R, r = _rotation(pose), np.array(pose.p, object)
        m1, m2 = np.array(self.moment_a), R @ np.array(self.moment_b)  # in a
        square = r @ r
        distance: Any = np.sqrt(square)
        cube = square * distance
        along1, along2 = m1 @ r, m2 @ r
        field = VACUUM * (3 * along1 / (cube * square) * r - m1 / cube)
        turning = along1 * m2 + along2 * m1 + (m1 @ m2) * r - 5 * along1 * along2 / square * r
        force_a = 3 * VACUUM / (cube * square) * turning
        return Wrench(force=R.T @ force_a, torque=R.T @ np.cross(m2, field))

    def energy(self, pose: Pose) -> Any:
        R, r = _rotation(pose), np.array(pose.p, object)
        m1, m2 = np.array(self.moment_a), R @ np.array(self.moment_b)
        square = r @ r
        cube = square * np.sqrt(square)
        return VACUUM * ((m1 @ m2) / cube - 3 * (m1 @ r) * (m2 @ r) / (cube * square))
