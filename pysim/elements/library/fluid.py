"""Forces of a fluid on bodies in it: the lift of a displaced volume, and the wrench on a moving ellipsoid."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import Force, force
from pysim.elements.quantities import Twist, Wrench
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.joints.displacement import Pose


@force("buoyancy")
class Buoyancy(Force):
    """Buoyancy of a submerged volume, V ρ g upwards along z of a, at the origin of b; ρ = ρ₀ exp(−z/H) with height.

    H is the scale height of the atmosphere, 8400 m for air; without one the density is the same everywhere. A body
    rests where V ρ is its mass: at z = H ln(V ρ₀/m).
    """

    volume: float  # [m³], V
    density: float  # [kg/m³], ρ₀, of the fluid at z = 0 of a
    scale_height: float = math.inf  # [m], H
    gravity: float = 9.81  # [m/s²], against z of a
    positive = ("scale_height",)
    not_negative = ("volume", "density")

    def _lift(self, pose: Pose) -> Any:
        surface = self.volume * self.density * self.gravity
        if self.scale_height == math.inf:
            return surface
        return surface * np.exp(-pose.p[2] / self.scale_height)

    def wrench(self, pose: Pose) -> Wrench:
        return Wrench(force=[self._lift(pose) * x for x in pose.rotation[2]])

    def energy(self, pose: Pose) -> Any:
        if self.scale_height == math.inf:
            return -self._lift(pose) * pose.p[2]
        return self.scale_height * self._lift(pose)


@force("fluid_ellipsoid")
class FluidEllipsoid(Force):
    """Wrench of a fluid on a moving ellipsoid about the origin of b, whose axes are those of b.

    Added mass (without acceleration terms), lift of a turning body (Magnus) and of an inclined one (Kutta), viscous
    and quadratic drag, as MuJoCo's ellipsoid model has them; added mass of potential flow [Lamb 1932, sections
    114, 115]. The velocity v is relative to the wind:

        f = ρ (m v × ω + c_M V ω × v + c_K A cos γ (n × v) × v) − (3 π μ D + ρ |v| (c_b A + c_s (A_max − A))) v
        τ = ρ (m v × v + j ω × ω) − (π μ D³ + ρ |ω (c_a I + c_s (I_max − I))|) ω
    """

    semi_axes: tuple[float, float, float]  # [m], along x, y, z of b
    density: float  # [kg/m³], ρ, of the fluid
    viscosity: float = 0.0  # [Pa·s], μ
    blunt_drag: float = 0.5  # [1], c_b
    slender_drag: float = 0.25  # [1], c_s
    angular_drag: float = 1.5  # [1], c_a
    kutta_lift: float = 1.0  # [1], c_K
    magnus_lift: float = 1.0  # [1], c_M
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s], in the axes of a
    positive = ("semi_axes",)
    not_negative = ("density", "viscosity")

    @cached_property
    def _added(self) -> tuple[Array, Array]:
        return added_mass(np.array(self.semi_axes, float))

    def wrench(self, pose: Pose, twist: Twist) -> Wrench:
        R = np.array(pose.rotation, object)
        v, w = twist.v - R.T @ np.array(self.wind), twist.w
        lift, moment = self._potential_flow(v, w)
        force = lift + self.density * self._lift(v, w) - self._drag(v) * v
        return Wrench(force=force, torque=moment - self._turning_drag(w) * w)

    def _potential_flow(self, v: Any, w: Any) -> tuple[Any, Any]:
        """Return force and moment of the added mass and inertia."""
        mass, inertia = self._added
        p, h = self.density * mass * v, self.density * inertia * w
        return np.cross(p, w), np.cross(p, v) + np.cross(h, w)

    def _lift(self, v: Any, w: Any) -> Any:
        """Return the lift per density of a turning and of an inclined ellipsoid."""
        volume = 4 / 3 * math.pi * math.prod(self.semi_axes)
        along, most = self._projections(v)
        area = math.pi * np.sqrt(most / along)
        cosine = along / (_size(v, other=1.0) * most)
        n = self._areas * v
        kutta = self.kutta_lift * cosine * area * np.cross(np.cross(n, v), v)
        return self.magnus_lift * volume * np.cross(w, v) + kutta

    def _drag(self, v: Any) -> Any:
        """Return the drag per velocity."""
        _, middle, longest = sorted(self.semi_axes)
        widest = math.pi * longest * middle
        along, most = self._projections(v)
        area = math.pi * np.sqrt(most / along)
        coefficient = self.blunt_drag * area + self.slender_drag * (widest - area)
        viscous = 3 * math.pi * self.viscosity * 2 / 3 * sum(self.semi_axes)
        return viscous + self.density * _size(v) * coefficient

    def _turning_drag(self, w: Any) -> Any:
        """Return the drag moment per angular velocity."""
        s = self.semi_axes
        _, middle, longest = sorted(s)
        most = 8 / 15 * math.pi * middle * longest**4
        own = [8 / 15 * math.pi * s[i] * max(s[(i + 1) % 3], s[(i + 2) % 3]) ** 4 for i in range(3)]
        weights = [self.angular_drag * x + self.slender_drag * (most - x) for x in own]
        viscous = math.pi * self.viscosity * (2 / 3 * sum(s)) ** 3
        return viscous + self.density * _size(w * np.array(weights))

    @property
    def _areas(self) -> Array:
        """Squares of the cross-sections across x, y, z, divided by π²."""
        x, y, z = self.semi_axes
        return np.array([y * z, z * x, x * y]) ** 2

    def _projections(self, v: Any) -> tuple[Any, Any]:
        """Return Σ aᵢ vᵢ² and Σ aᵢ² vᵢ², which give the projected area; those of v = (1, 0, 0) without motion."""
        areas, moves = self._areas, (v @ v) > 0
        return (
            np.where(moves, areas @ (v * v), areas[0]),
            np.where(moves, areas**2 @ (v * v), areas[0] ** 2),
        )


def _size(x: Any, other: float = 0.0) -> Any:
    """Return |x|, and another number where that is 0, with a finite derivative."""
    square = x @ x
    return np.where(square > 0, np.sqrt(np.where(square > 0, square, 1.0)), other)


def added_mass(semi_axes: Array) -> tuple[Array, Array]:
    """Return added mass (3,) [m³] and added inertia (3,) [m⁵] of an ellipsoid per density [Lamb 1932, 114, 115]."""
    from scipy.special import elliprd  # noqa: PLC0415, loads where a scene has an ellipsoid

    s = np.asarray(semi_axes, float)
    squares, volume = s**2, 4 / 3 * math.pi * s.prod()
    order = [(1, 2, 0), (2, 0, 1), (0, 1, 2)]
    shape = np.array(
        [s.prod() * 2 / 3 * elliprd(squares[j], squares[k], squares[i]) for j, k, i in order]
    )
    inertia = np.zeros(3)
    for i, (j, k, _) in enumerate(order):
        less, sum_ = squares[j] - squares[k], squares[j] + squares[k]
        divisor = 2 * less + sum_ * (shape[j] - shape[k])
        if abs(divisor) > 1e-12 * sum_:  # 0 of a body of revolution about this axis
            inertia[i] = volume / 5 * less**2 * (shape[k] - shape[j]) / divisor
    return volume * shape / (2 - shape), inertia
