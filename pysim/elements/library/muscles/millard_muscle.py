"""Hill muscle of Millard, Uchida, Seth and Delp 2013, whose curves are Bézier splines and whose fibre is damped."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pysim.elements.channels import real
from pysim.elements.force import force
from pysim.elements.library.muscles.bezier_curve import BezierCurve
from pysim.elements.library.muscles.muscle import ElasticMuscle, Muscle
from pysim.errors import PysimError
from pysim.tracing.implicit_equation import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

PLATEAU = 0.05  # half of the width of f_l about l_o
LARGEST_SPEED = 50.0  # damped fibre, in v_max
FASTEST_UNDAMPED = 1e6  # where the straight ends of f_v alone bound the velocity
Pair = tuple[float, float]
Triple = tuple[float, float, float]
Five = tuple[float, float, float, float, float]


class _MillardFibre(Muscle):
    """The curves of a fibre, with the parameters and the names of OpenSim 4."""

    max_contraction_velocity: float = 10.0  # [1/s], v_max, in optimal lengths
    activation_time: float = 0.01  # [s], τ_a
    deactivation_time: float = 0.04  # [s], τ_d
    damping: float = 0.1  # [1], β, of the fibre: force per F_max at v_max
    active_lengths: Triple = (0.4441, 0.73, 1.8123)  # [1], of f_l: first, transition, last
    shallow_slope: float = 0.8616  # [1], of f_l between the transition and the plateau
    active_curviness: float = 1.0  # [1], of f_l
    active_minimum: float = 0.0  # [1], f_l before the first and beyond the last length
    passive_strains: Pair = (0.0, 0.7)  # [1], of f_p at no force and at F_max
    passive_slopes: Pair = (0.2, 2 / 0.7)  # [1], of f_p at low force and at F_max
    passive_curviness: float = 0.75  # [1], of f_p
    velocity_slopes: Five = (0.0, 0.25, 5.0, 0.15, 0.0)  # [1], of f_v at −1, −0.9, 0, 0.9, 1
    lengthening_force: float = 1.4  # [1], f_v at v_max
    velocity_curviness: Pair = (0.6, 0.9)  # [1], of f_v, shortening and lengthening
    not_negative: ClassVar[tuple[str, ...]] = (*Muscle.not_negative, "damping", "active_minimum")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_curves()
        flat = not (self.active_minimum > 0 and min(self.velocity_slopes) > 0)
        if self.damping == 0 and flat and isinstance(self, ElasticMuscle):
            problem = "must be positive where f_l may vanish or f_v is flat"
            remedy = "give active_minimum and all velocity_slopes a positive number"
            raise PysimError("damping", f"{problem}, got 0; {remedy}")

    def _check_curves(self) -> None:
        """Reject numbers with which a curve is no function of the length or the velocity, or falls where it rises.

        Raises:
            PysimError: the error names the field.
        """
        first, transition, last = self.active_lengths
        shoulder = 1 - PLATEAU
        if not (first < transition < shoulder and last > 1 + 2 * PLATEAU):
            wanted = f"increase, the second below {shoulder:g}, the last above {1 + 2 * PLATEAU:g}"
            lengths = f"{first:g}, {transition:g}, {last:g}"
            raise PysimError(
                "active_lengths",
                f"must {wanted}, got {lengths}; change those that are out of order",
            )
        steepest = 1 / (shoulder - transition)
        if not 0 < self.shallow_slope < steepest:
            problem = f"must be positive and less than {steepest:.4g}, got {self.shallow_slope:g}"
            raise PysimError("shallow_slope", f"{problem}; change it")
        zero, one = self.passive_strains
        if not one > zero:
            problem = f"must increase, got {zero:g}, {one:g}"
            raise PysimError("passive_strains", f"{problem}; give the smaller one first")
        if not self.lengthening_force > 1:
            problem = f"must be more than 1, got {self.lengthening_force:g}"
            raise PysimError("lengthening_force", f"{problem}; give for example 1.4")

    @cached_property
    def active_curve(self) -> BezierCurve:
        """f_l of a length l/l_o."""
        lengths, slope = self.active_lengths, self.shallow_slope
        return _active_curve(lengths, slope, self.active_curviness, self.active_minimum)

    @cached_property
    def passive_curve(self) -> BezierCurve:
        """f_p of a length l/l_o."""
        return _passive_curve(self.passive_strains, self.passive_slopes, self.passive_curviness)

    @cached_property
    def velocity_curve(self) -> BezierCurve:
        """f_v of a velocity l′/(l_o v_max)."""
        return _velocity_curve(
            self.velocity_slopes, self.lengthening_force, self.velocity_curviness
        )

    @property
    def least_fibre_length(self) -> float:
        """Length [m] at which f_l begins, or the fibres are as steep as they may be; they get no shorter."""
        first = self.active_lengths[0] * self.optimal_fibre_length
        longer: float = np.maximum(super().least_fibre_length, first)
        return longer

    def active_force(self, fibre: Any) -> Any:
        return self.active_curve(fibre)

    def velocity_force(self, velocity: Any) -> Any:
        return self.velocity_curve(velocity)

    def isometric_force(self, activation: Any, fibre: Any) -> Any:
        """Return the force of a fibre at rest, of its length l/l_o."""
        return activation * self.active_curve(fibre) + self.passive_curve(fibre)


@force("millard_muscle")
class MillardMuscle(_MillardFibre, ElasticMuscle):
    """Muscle along a path with an elastic tendon and a damped fibre, and the activation of a signal.

        F_max (a f_l(l) f_v(v) + f_p(l) + β v) cos φ = F_max f_T(L_T/L_s),  v = l′/(l_o v_max)
        a′ = (u − a)/τ,  τ = τ_a (0.5 + 1.5 a) for u > a, else τ_d/(0.5 + 1.5 a);  thickness l sin φ constant

    The first is solved for v [Millard, Uchida, Seth and Delp 2013]. The curves f are quintic Bézier splines with the
    parameters of OpenSim 4, `f_l` with the minimum 0 as damped muscles have it there. With the damping 0, f_v needs
    slopes at v_max and f_l a minimum that are positive: `velocity_slopes = [0.125, 0.25, 5.0, 0.15, 0.075]` and
    `active_minimum = 0.1`, those of undamped muscles there.
    """

    tendon_strain: float = 0.049  # [1], of f_T at F_max
    tendon_slope: float = 1.375 / 0.049  # [1], of f_T at F_max
    toe_force: float = 2 / 3  # [1], f_T at the end of the toe
    tendon_curviness: float = 0.5  # [1], of f_T

    @cached_property
    def tendon_curve(self) -> BezierCurve:
        """f_T of a length L_T/L_s."""
        return _tendon_curve(
            self.tendon_strain, self.tendon_slope, self.toe_force, self.tendon_curviness
        )

    def tendon_force(self, strain: Any) -> Any:
        return self.tendon_curve(1 + strain)

    def fibre_velocity(self, activation: Any, fibre: Any, cosine: Any, pull: Any) -> Any:
        curve, still = self.velocity_curve, len(self.velocity_curve.points) // 2
        active = activation * self.active_curve(fibre)
        wanted = pull / cosine - self.passive_curve(fibre)
        fastest = LARGEST_SPEED if self.damping > 0 else FASTEST_UNDAMPED
        s = solve(
            lambda s: active * curve.y(s) + self.damping * curve.x(s) - wanted,
            float(still),
            -fastest,
            fastest + 2 * still,
        )
        return self.max_contraction_velocity * curve.x(s)


@force("rigid_tendon_muscle")
class RigidTendonMuscle(_MillardFibre):
    """Muscle along a path with an inextensible tendon and the fibre of `millard_muscle`.

        T = F_max (a f_l(l) f_v(v) + f_p(l) + β v) cos φ,  l = √((L − L_s)² + h²),  v = L′ cos φ/(l_o v_max)

    It suits short tendons, whose stretch matters little; the fibre has no state, and steps may be longer. It never
    pushes.
    """

    states = real("activation")  # [1], a

    def initial(self) -> Any:
        return self.initial_activation

    def state_rate(self, activation: Any) -> Any:
        return self.activation_rate(activation)

    def tension(self, length: Any, rate: Any, activation: Any) -> Any:
        along = np.maximum(length - self.tendon_slack_length, 0.0)
        fibre = np.maximum(
            np.sqrt(along * along + self.thickness * self.thickness + 1e-30),
            self.least_fibre_length,
        )
        cosine, relative = self.cosine(fibre), fibre / self.optimal_fibre_length
        v = rate * cosine / (self.optimal_fibre_length * self.max_contraction_velocity)
        a = self.used_activation(activation)
        active = a * self.active_curve(relative) * self.velocity_curve(v)
        own = active + self.passive_curve(relative) + self.damping * v
        pull = self.max_isometric_force * np.maximum(own, 0.0) * cosine
        return np.where(length > self.tendon_slack_length, pull, 0.0)


def _active_curve(
    lengths: Sequence[float], slope: float, curviness: float, least: float
) -> BezierCurve:
    """Return the curve of OpenSim 4: a steep and a shallow rise, a plateau at l_o, a fall."""
    (x0, x1, x3), half_width = lengths, PLATEAU
    shoulder = 1 - half_width
    y1 = 1 - slope * (shoulder - x1)
    steep = 1.25 * y1 / (x1 - x0)
    middle = 1 + half_width + 0.5 * (x3 - 1 - half_width)
    fall = -1 / (x3 - 1 - 2 * half_width)
    points = (
        (x0, least, 0.0),
        (0.5 * (x0 + x1), 0.5 * y1, steep),
        (0.5 * (x1 + shoulder), 0.5 * (1 + y1), slope),
        (1.0, 1.0, 0.0),
        (middle, 0.5, fall),
        (x3, least, 0.0),
    )
    return BezierCurve(points, (curviness,) * 5)


def _passive_curve(
    strains: Sequence[float], slopes: Sequence[float], curviness: float
) -> BezierCurve:
    zero, one = 1 + strains[0], 1 + strains[1]
    width = min(0.1 / slopes[1], 0.1 * (one - zero))
    low = zero + width
    points = ((zero, 0.0, 0.0), (low, slopes[0] * 0.5 * width, slopes[0]), (one, 1.0, slopes[1]))
    return BezierCurve(points, (curviness,) * 2)


def _velocity_curve(
    slopes: Sequence[float], longest: float, curviness: Sequence[float]
) -> BezierCurve:
    first, near_first, still, near_last, last = slopes
    points = (
        (-1.0, 0.0, first),
        (-0.9, 0.05 * (near_first + first), near_first),
        (0.0, 1.0, still),
        (0.9, longest - 0.05 * (near_last + last), near_last),
        (1.0, longest, last),
    )
    return BezierCurve(points, (curviness[0],) * 2 + (curviness[1],) * 2)


def _tendon_curve(strain: float, slope: float, toe_force: float, curviness: float) -> BezierCurve:
    one = 1 + strain
    toe = (toe_force - 1) / slope + one
    foot = 1 + (toe - 1) / 10
    middle = (0.5 * toe_force - 1) / slope + one
    steep = 0.5 * toe_force / (middle - foot)
    x = foot + 0.5 * (middle - foot)
    points = ((1.0, 0.0, 0.0), (x, steep * (x - foot), steep), (toe, toe_force, slope))
    return BezierCurve(points, (curviness,) * 2)
