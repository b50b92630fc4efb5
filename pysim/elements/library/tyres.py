"""Tyres on the plane z = 0 of frame a: the brush model and Pacejka's Magic Formula of 1994.

Frame b is the wheel, which turns about its y. With the normal n of the road, the axle e and the directions
x = e × n/|e × n| and y = n × x along and across the wheel's plane, the contact point c lies below the axle in
that plane, and V is the velocity there of the wheel without its spin ω:

    κ = −(V_x − ω R_e)/|V_x|       tan α = −V_y/|V_x|       sin γ = −e · n

κ > 0 drives forwards, α > 0 pushes to the left (y), and a wheel with γ > 0 leans to the left. Tyres yield before
they slip: their deflections u, v follow u′ = −(V_x − ω R_e) − |V_x| u/σ_x, v′ = −V_y − |V_x| v/σ_y, and κ = u/σ_x,
tan α = v/σ_y [Pacejka 2006, section 7.2], which also holds a wheel that stands. The load is that of a spring and a
damper on the deflection R − r of the loaded radius r, and never pulls.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pysim.elements.channels import real
from pysim.elements.force import Force, force
from pysim.elements.quantities import Twist, Wrench
from pysim.errors import PysimError

if TYPE_CHECKING:
    from pysim.joints.displacement import Pose

LEAST_COSINE = 0.1  # of the camber
LEAST_ROLLING = 1e-3  # of 1 + κ, so that slips of a locked wheel stay finite
STANDSTILL = 1e-6  # [rad²/s²], of the spin, below which rolling resistance is viscous
RELEASE = 10.0  # [m/s], with which the deflections of a tyre in the air decay


class _Contact:
    """A wheel on a road: its directions, velocities and load.

    Attributes:
        down: from the hub to the contact point, in a (3,) [m].
        ahead: x (3,).
        left: y (3,).
        speed: V_x [m/s].
        slide: V_x − ω R_e and V_y [m/s].
        load: [N].
        camber: γ [rad].
        spin: ω [rad/s].
    """

    def __init__(self, tyre: _Tyre, pose: Pose, twist: Twist) -> None:
        R = np.array(pose.rotation, object)
        axle, normal = R[:, 1], np.array([0.0, 0.0, 1.0])
        across = np.cross(axle, normal)
        # of the camber; a wheel that lies on its side is one that leans by 84°
        cosine: Any = np.sqrt(np.maximum(across @ across, LEAST_COSINE**2))
        self.rotation, self.axle = R, axle
        self.ahead = across / cosine
        self.left = np.cross(normal, self.ahead)
        radius = pose.p[2] / cosine
        self.down = -radius * np.cross(self.ahead, axle)
        v, w = R @ twist.v, R @ twist.w
        self.spin = w @ axle
        here = v + np.cross(w - self.spin * axle, self.down)
        self.speed = here @ self.ahead
        self.slide = (self.speed - self.spin * tyre.rolling_radius_used, here @ self.left)
        self.camber = np.arcsin(np.clip(-(axle @ normal), -1.0, 1.0))
        deflection: Any = tyre.radius - radius
        spring = tyre.stiffness * deflection - tyre.damping * v[2] / cosine
        self.load = np.where(deflection > 0, np.maximum(spring, 0.0), 0.0)


class _Tyre(Force):
    """Base class of tyres, whose forces follow from load and slips."""

    states = real("longitudinal") * real("lateral")  # [m], u and v
    _: KW_ONLY
    radius: float  # [m], R, of the unloaded wheel
    stiffness: float  # [N/m], vertical
    damping: float = 0.0  # [N·s/m], vertical
    rolling_radius: float = 0.0  # [m], R_e, free rolling; 0 for `radius`
    relaxation_longitudinal: float = 0.1  # [m], σ_x
    relaxation_lateral: float = 0.3  # [m], σ_y
    carcass_damping: float = 0.0  # [s], τ of a wheel that stands: u + τ u′/(1 + V_x²) acts
    rolling_resistance: float = 0.0  # [1], moment against the spin per load and radius
    positive: ClassVar[tuple[str, ...]] = (
        "radius",
        "relaxation_longitudinal",
        "relaxation_lateral",
    )
    not_negative = (
        "stiffness",
        "damping",
        "rolling_radius",
        "carcass_damping",
        "rolling_resistance",
    )

    @property
    def rolling_radius_used(self) -> float:
        """Radius R_e [m] by which the wheel rolls freely."""
        return self.rolling_radius or self.radius

    def state_rate(self, pose: Pose, twist: Twist, longitudinal: Any, lateral: Any) -> Any:
        contact = _Contact(self, pose, twist)
        return self._rates(contact, longitudinal, lateral)

    def _rates(self, contact: _Contact, longitudinal: Any, lateral: Any) -> tuple[Any, Any]:
        # off the road a tyre springs back
        speed = np.where(contact.load > 0, np.abs(contact.speed), RELEASE)
        slide = [np.where(contact.load > 0, x, 0.0) for x in contact.slide]
        return (
            -slide[0] - speed * longitudinal / self.relaxation_longitudinal,
            -slide[1] - speed * lateral / self.relaxation_lateral,
        )

    def wrench(self, pose: Pose, twist: Twist, longitudinal: Any, lateral: Any) -> Wrench:
        contact = _Contact(self, pose, twist)
        rates = self._rates(contact, longitudinal, lateral)
        slow = self.carcass_damping / (1 + contact.speed * contact.speed)
        kappa = (longitudinal + slow * rates[0]) / self.relaxation_longitudinal
        tangent = (lateral + slow * rates[1]) / self.relaxation_lateral
        along, across, moment = self.forces(contact.load, kappa, tangent, contact.camber)
        push = along * contact.ahead + across * contact.left
        push = push + contact.load * np.array([0.0, 0.0, 1.0])
        spin = contact.spin / np.sqrt(contact.spin * contact.spin + STANDSTILL)
        resistance = self.rolling_resistance * contact.load * self.radius * spin
        torque = np.cross(contact.down, push) - resistance * contact.axle
        torque = torque + moment * np.array([0.0, 0.0, 1.0])
        R = contact.rotation
        return Wrench(force=R.T @ push, torque=R.T @ torque)

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, Any, Any]:
        """Return F_x, F_y [N] and M_z [N·m] at a load [N], slips κ and tan α, and camber γ [rad]."""
        raise NotImplementedError


@force("brush_tyre")
class BrushTyre(_Tyre):
    """Brush tyre: elastic bristles under a parabolic pressure, which slide from the rear of the contact on.

        σ = (κ, tan α)/(1 + κ),  x = min(2 c a² |σ|/(3 μ F_z), 1)
        F = μ F_z (3x − 3x² + x³) along σ,  M_z = −F_y a (1 − x)³/(3 − 3x + x²)     [Pacejka 2006, section 3.2]

    Frame b is the wheel, which turns about its y, on the plane z = 0 of a. Slip and cornering stiffness are 2 c a².
    """

    bristle_stiffness: float  # [N/m²], c, per length of the contact
    half_length: float  # [m], a, of the contact
    friction: float  # [1], μ
    positive = (*_Tyre.positive, "bristle_stiffness", "half_length", "friction")

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, Any, Any]:  # noqa: ARG002
        rolling = np.maximum(1 + kappa, LEAST_ROLLING)
        along, across = kappa / rolling, tangent / rolling
        square = along * along + across * across
        slip = np.sqrt(np.where(square > 0, square, 1.0))
        a, most = self.half_length, self.friction * load
        whole = 2 * self.bristle_stiffness * a * a * slip
        x = np.minimum(whole, 3 * most) / np.where(most > 0, 3 * most, 1.0)
        per_slip = most * x * (3 - 3 * x + x * x) / slip
        stuck = np.where(most > 0, 2 * self.bristle_stiffness * a * a, 0.0)
        per_slip = np.where(square > 0, per_slip, stuck)
        trail = a * (1 - x) ** 3 / (3 - 3 * x + x * x)
        return per_slip * along, per_slip * across, -trail * per_slip * across


def magic_formula(slip: Any, shape: float, peak: Any, slope: Any, curvature: Any) -> Any:
    """Return D sin(C atan(B x − E (B x − atan B x))) of the slip x, with B C D the slope at 0."""
    y = slope / (shape * np.where(peak > 0, peak, 1.0)) * slip
    return peak * np.sin(shape * np.arctan(y - curvature * (y - np.arctan(y))))


@force("pacejka_tyre")
class PacejkaTyre(_Tyre):
    """Tyre of Pacejka's Magic Formula with the coefficients of 1994, a₀ … a₁₇ lateral and b₀ … b₁₃ longitudinal.

    F = D sin(C atan(B x − E (B x − atan B x))) + V, with F_z in kN, α and γ in degrees, κ in percent:

        lateral       C = a₀, D = F_z (a₁ F_z + a₂)(1 − a₁₅ γ²), B C D = a₃ sin(2 atan(F_z/a₄))(1 − a₅ |γ|)
                      x = α + a₈ F_z + a₉ + a₁₀ γ, E = (a₆ F_z + a₇)(1 − (a₁₆ γ + a₁₇) sign x)
                      V = a₁₁ F_z + a₁₂ + (a₁₃ F_z + a₁₄) γ F_z
        longitudinal  C = b₀, D = F_z (b₁ F_z + b₂), B C D = (b₃ F_z² + b₄ F_z) exp(−b₅ F_z)
                      x = κ + b₉ F_z + b₁₀, E = (b₆ F_z² + b₇ F_z + b₈)(1 − b₁₃ sign x), V = b₁₁ F_z + b₁₂

    [Bakker, Pacejka and Lidner 1989]. Both slips at once are scaled back to the ellipse of the peaks D unless
    `combined = false`. There is no aligning moment. Frame b is the wheel, which turns about its y, on the plane z = 0
    of a.
    """

    lateral: tuple[float, ...]  # a₀ … a₁₇
    longitudinal: tuple[float, ...]  # b₀ … b₁₃
    combined: bool = True

    def __post_init__(self) -> None:
        for name, count in (("lateral", 18), ("longitudinal", 14)):
            given = len(getattr(self, name))
            if given != count:
                problem = f"must have {count} coefficients, got {given}"
                raise PysimError(name, f"{problem}; write 0 for those that are unknown")

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, Any, Any]:
        z, percent = load / 1000, 100 * kappa
        degrees = np.arctan(tangent) * (180 / np.pi)
        along, most_along = self._along(z, percent)
        across, most_across = self._across(z, degrees, camber * (180 / np.pi))
        if self.combined:
            used = (along / np.where(most_along > 0, most_along, 1.0)) ** 2
            used = used + (across / np.where(most_across > 0, most_across, 1.0)) ** 2
            share = 1 / np.sqrt(np.maximum(used, 1.0))
            along, across = share * along, share * across
        is_loaded = load > 0
        return np.where(is_loaded, along, 0.0), np.where(is_loaded, across, 0.0), 0.0

    def _along(self, z: Any, percent: Any) -> tuple[Any, Any]:
        """Return F_x [N] and its peak at a load z [kN]."""
        b = self.longitudinal
        x = percent + b[9] * z + b[10]
        peak = z * (b[1] * z + b[2])
        slope = (b[3] * z * z + b[4] * z) * np.exp(-b[5] * z)
        curvature = (b[6] * z * z + b[7] * z + b[8]) * (1 - b[13] * np.sign(x))
        return magic_formula(x, b[0], peak, slope, curvature) + b[11] * z + b[12], peak

    def _across(self, z: Any, degrees: Any, camber: Any) -> tuple[Any, Any]:
        """Return F_y [N] and its peak at a load z [kN], side slip and camber [°]."""
        a = self.lateral
        x = degrees + a[8] * z + a[9] + a[10] * camber
        peak = z * (a[1] * z + a[2]) * (1 - a[15] * camber * camber)
        slope = a[3] * np.sin(2 * np.arctan(z / a[4])) * (1 - a[5] * np.abs(camber))
        curvature = (a[6] * z + a[7]) * (1 - (a[16] * camber + a[17]) * np.sign(x))
        shift = a[11] * z + a[12] + (a[13] * z + a[14]) * camber * z
        return magic_formula(x, a[0], peak, slope, curvature) + shift, peak
