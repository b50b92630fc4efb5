"""Ligaments, limits of coordinates and bushings with the laws of OpenSim 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import Force, force
from pysim.elements.quantities import Wrench
from pysim.errors import PysimError
from pysim.tracing.spline import spline

if TYPE_CHECKING:
    from pysim.elements.quantities import Twist
    from pysim.joints.displacement import Pose

Three = tuple[float, float, float]


@force("coordinate_limit")
class CoordinateLimit(Force):
    """Ligaments and bone at the limits of a coordinate: a spring that stiffens over a transition.

        τ = −k₊ (q − upper) + k₋ (lower − q) − d (k₊/K₊ + k₋/K₋) q̇
        k₊ = K₊ s((q − upper)/w),  k₋ = K₋ s((lower − q)/w),  s(x) = 10 x³ − 15 x⁴ + 6 x⁵ from 0 to 1

    It is `CoordinateLimitForce` of OpenSim, in radians.
    """

    lower: float  # [m or rad]
    upper: float  # [m or rad]
    lower_stiffness: float  # [N/m or N·m/rad], K₋
    upper_stiffness: float  # [N/m or N·m/rad], K₊
    transition: float  # [m or rad], w
    damping: float = 0.0  # [N·s/m or N·m·s/rad], d
    positive = ("transition",)
    not_negative = ("lower_stiffness", "upper_stiffness", "damping")

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise PysimError("lower", f"{self.lower:g} is above upper, {self.upper:g}; swap them")

    def force(self, q: Any, v: Any) -> Any:
        above, below = q[0] - self.upper, self.lower - q[0]
        up, low = _step(above / self.transition), _step(below / self.transition)
        spring = self.lower_stiffness * low * below - self.upper_stiffness * up * above
        return [spring - self.damping * (up + low) * v[0]]


def _step(x: Any) -> Any:
    x = np.clip(x, 0.0, 1.0)
    return x * x * x * (10 - 15 * x + 6 * x * x)


@force("stretch_spring")
class StretchSpring(Force):
    """Spring along a path that pulls beyond its rest length, T = k (L − L₀)(1 + c L̇), the `PathSpring` of OpenSim."""

    stiffness: float  # [N/m], k
    rest_length: float  # [m], L₀
    dissipation: float = 0.0  # [s/m], c
    not_negative = ("stiffness", "dissipation")

    def tension(self, length: Any, rate: Any) -> Any:
        stretch = np.maximum(length - self.rest_length, 0.0)
        return self.stiffness * stretch * (1 + self.dissipation * rate)

    def energy(self, length: Any) -> Any:
        stretch = np.maximum(length - self.rest_length, 0.0)
        return 0.5 * self.stiffness * stretch * stretch


@force("ligament")
class Ligament(Force):
    """Ligament along a path: a force times a curve of its relative length, T = F f(L/L₀) beyond its rest length.

    The curve is a spline with the ends of Forsythe, Malcolm and Moler, as in OpenSim's `Ligament`.
    """

    rest_length: float  # [m], L₀
    scale: float  # [N], F
    lengths: tuple[float, ...]  # [1], L/L₀, increasing
    forces: tuple[float, ...]  # [1], f at the lengths
    positive = ("rest_length",)
    not_negative = ("scale",)

    def tension(self, length: Any) -> Any:
        relative = length / self.rest_length
        pull = self.scale * spline(relative, self.lengths, self.forces, ends="fmm")
        return np.where(relative > 1, pull, 0.0)


@force("angle_bushing")
class AngleBushing(Force):
    """Bushing between frames in body-fixed angles x, y, z and positions of b in a, the `BushingForce` of OpenSim.

    R_ab = R_x(θ₁) R_y(θ₂) R_z(θ₃);  loads −k θ − d θ̇ and −k p − d ṗ of each coordinate
    """

    angular_stiffness: Three = (0.0, 0.0, 0.0)  # [N·m/rad]
    linear_stiffness: Three = (0.0, 0.0, 0.0)  # [N/m]
    angular_damping: Three = (0.0, 0.0, 0.0)  # [N·m·s/rad]
    linear_damping: Three = (0.0, 0.0, 0.0)  # [N·s/m]
    not_negative = (
        "angular_stiffness",
        "linear_stiffness",
        "angular_damping",
        "linear_damping",
    )

    @staticmethod
    def _angles(pose: Pose) -> Any:
        R = pose.rotation
        sine = np.clip(R[0, 2], -1.0, 1.0)
        return np.array(
            [np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(sine), np.arctan2(-R[0, 1], R[0, 0])], object
        )

    def wrench(self, pose: Pose, twist: Twist) -> Wrench:
        R, angles = pose.rotation, self._angles(pose)
        cb, sb = np.cos(angles[1]), np.sin(angles[1])
        cc, sc = np.cos(angles[2]), np.sin(angles[2])
        w = twist.w
        first = (cc * w[0] - sc * w[1]) / cb  # θ̇ of ω in b
        rates = (first, sc * w[0] + cc * w[1], w[2] - sb * first)
        load = [
            -k * x - d * v
            for k, d, x, v in zip(
                self.angular_stiffness, self.angular_damping, angles, rates, strict=True
            )
        ]
        # virtual work: E(θ)ᵀ m = load, with ω = E θ̇
        along = (load[0] - sb * load[2]) / cb
        torque = (cc * along + sc * load[1], cc * load[1] - sc * along, load[2])
        slides = R @ twist.v
        push = np.array(
            [
                -k * x - d * v
                for k, d, x, v in zip(
                    self.linear_stiffness, self.linear_damping, pose.p, slides, strict=True
                )
            ],
            object,
        )
        return Wrench(force=tuple(R.T @ push), torque=torque)

    def energy(self, pose: Pose) -> Any:
        angles = self._angles(pose)
        turning = sum(k * x * x for k, x in zip(self.angular_stiffness, angles, strict=True))
        sliding = sum(k * x * x for k, x in zip(self.linear_stiffness, pose.p, strict=True))
        return 0.5 * (turning + sliding)
