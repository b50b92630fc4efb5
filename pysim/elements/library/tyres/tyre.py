"""Tyres on a road: the brush model and Pacejka's Magic Formula of 1994.

Frame b is the wheel, which turns about its y. The road is the plane z = 0 of frame a, or the ground, which counts as
the plane through the ends and the sides of the contact patch. With the normal n of that plane, the axle e and the
directions x = e × n/|e × n| and y = n × x along and across the wheel's plane, the contact point c lies below the axle
in that plane, and V is the velocity there of the wheel without its spin ω:

    κ = −(V_x − ω R_e)/|V_x|       tan α = −V_y/|V_x|       sin γ = −e · n

κ > 0 drives forwards, α > 0 pushes to the left (y), and a wheel with γ > 0 leans to the left. Tyres yield before
they slip: their deflections u, v follow u′ = −(V_x − ω R_e) − |V_x| u/σ_x, v′ = −V_y − |V_x| v/σ_y, and κ = u/σ_x,
tan α = v/σ_y [Pacejka 2006, section 7.2], which also holds a wheel that stands. The load is that of a spring and a
damper on the deflection R − r of the loaded radius r, and never pulls.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pysim.elements.channels import real
from pysim.elements.force import Force, force
from pysim.elements.library.sources import check_choice
from pysim.elements.quantities import Twist, Wrench
from pysim.errors import PysimError
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.elements.ground import Ground
    from pysim.joints.displacement import Pose

ROADS = ("plane", "ground")
UP = np.array([0.0, 0.0, 1.0])

LEAST_COSINE = 0.1  # of the camber
LEAST_ROLLING = 1e-3  # of 1 + κ, so that slips of a locked wheel stay finite
STANDSTILL = 1e-6  # [rad²/s²], of the spin, below which rolling resistance is viscous
RELEASE = 10.0  # [m/s], with which the deflections of a tyre in the air decay


@dataclass
class _Stance:
    """Axes and camber of a wheel relative to the plane on which it stands.

    Attributes:
        normal: n of the plane, in a (3,).
        ahead: x (3,).
        left: y (3,).
        cosine: of the camber; a wheel that lies on its side is one that leans by 84°.
        radius: from the axle to the plane, in the wheel's plane [m].
        down: from the hub to the contact point, in a (3,) [m].
    """

    normal: Array
    ahead: Array
    left: Array
    cosine: Any
    radius: Any
    down: Array

    @classmethod
    def on(cls, normal: Array, height: Any, axle: Array) -> _Stance:
        """Return the stance of a wheel whose hub is at a height [m] above a plane."""
        across = np.cross(axle, normal)
        cosine: Any = np.sqrt(np.maximum(across @ across, LEAST_COSINE**2))
        ahead, radius = across / cosine, height / cosine
        down = -radius * np.cross(ahead, axle)
        return cls(normal, ahead, np.cross(normal, ahead), cosine, radius, down)

    @classmethod
    def on_ground(cls, tyre: Tyre, hub: Array, axle: Array, ground: Ground) -> _Stance:
        """Return the stance on the ground: below the hub first, then where the wheel touches that plane."""
        found = cls.on(UP, 0.0, axle)
        for _ in range(2):
            normal, height = _patch_plane(tyre, hub, found, ground)
            found = cls.on(normal, height, axle)
        return found


def _patch_plane(tyre: Tyre, hub: Array, stance: _Stance, ground: Ground) -> tuple[Array, Any]:
    """Return the normal of the plane through the ground at the ends and sides of the patch, and the hub's height.

    The ground counts between the height of the hub and two radii below it.
    """
    x, y = hub[:2] + stance.down[:2]
    along, across = stance.ahead[:2]
    level: Any = np.sqrt(np.maximum(along * along + across * across, LEAST_COSINE**2))
    c, s = along / level, across / level
    length, width = tyre.patch

    def height(forwards: float, left: float) -> Any:
        z = ground.height(x + c * forwards - s * left, y + s * forwards + c * left)
        return np.clip(z, hub[2] - 2 * tyre.radius, hub[2])

    front, rear = height(length / 2, 0.0), height(-length / 2, 0.0)
    left, right = height(0.0, width / 2), height(0.0, -width / 2)
    rise, bank = (front - rear) / length, (left - right) / width
    slope = np.array([rise * c - bank * s, rise * s + bank * c])
    steepness: Any = np.sqrt(1 + slope @ slope)
    normal = np.array([-slope[0], -slope[1], 1.0]) / steepness
    middle = (front + rear + left + right) / 4 - slope @ stance.down[:2]  # below the hub
    return normal, (hub[2] - middle) / steepness


class _Contact(_Stance):
    """A wheel on a road: its directions, velocities and load.

    Attributes:
        speed: V_x [m/s].
        slide: V_x − ω R_e and V_y [m/s].
        load: [N].
        camber: γ [rad].
        spin: ω [rad/s].
    """

    def __init__(self, tyre: Tyre, pose: Pose, twist: Twist, ground: Ground | None) -> None:
        R = np.array(pose.rotation, object)
        self.rotation, self.axle = R, R[:, 1]
        if ground is None:
            stance = _Stance.on(UP, pose.p[2], self.axle)
        else:
            stance = _Stance.on_ground(tyre, np.array(pose.p, object), self.axle, ground)
        super().__init__(**vars(stance))
        v, w = R @ twist.v, R @ twist.w
        self.spin = w @ self.axle
        here = v + np.cross(w - self.spin * self.axle, self.down)
        self.speed = here @ self.ahead
        self.slide = (self.speed - self.spin * tyre.rolling_radius_used, here @ self.left)
        self.camber = np.arcsin(np.clip(-(self.axle @ self.normal), -1.0, 1.0))
        deflection: Any = tyre.radius - self.radius
        spring = tyre.stiffness * deflection - tyre.damping * (v @ self.normal) / self.cosine
        self.load = np.where(deflection > 0, np.maximum(spring, 0.0), 0.0)


class Tyre(Force):
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
    road: str = "plane"  # the plane z = 0 of a; or ground, what is fixed to the world
    patch: tuple[float, float] = (0.1, 0.1)  # [m], length and width of the contact on the ground
    positive: ClassVar[tuple[str, ...]] = (
        "radius",
        "relaxation_longitudinal",
        "relaxation_lateral",
        "patch",
    )
    not_negative = (
        "stiffness",
        "damping",
        "rolling_radius",
        "carcass_damping",
        "rolling_resistance",
    )

    def __post_init__(self) -> None:
        check_choice(self, "road", ROADS)

    @property
    def reads_ground(self) -> bool:
        """Whether its methods receive the ground."""
        return self.road == "ground"

    @property
    def rolling_radius_used(self) -> float:
        """Radius R_e [m] by which the wheel rolls freely."""
        return self.rolling_radius or self.radius

    def state_rate(
        self, pose: Pose, twist: Twist, ground: Ground | None, longitudinal: Any, lateral: Any
    ) -> Any:
        contact = _Contact(self, pose, twist, ground)
        return self._rates(contact, longitudinal, lateral)

    def _rates(self, contact: _Contact, longitudinal: Any, lateral: Any) -> tuple[Any, Any]:
        # off the road a tyre springs back
        speed = np.where(contact.load > 0, np.abs(contact.speed), RELEASE)
        slide = [np.where(contact.load > 0, x, 0.0) for x in contact.slide]
        return (
            -slide[0] - speed * longitudinal / self.relaxation_longitudinal,
            -slide[1] - speed * lateral / self.relaxation_lateral,
        )

    def wrench(
        self, pose: Pose, twist: Twist, ground: Ground | None, longitudinal: Any, lateral: Any
    ) -> Wrench:
        contact = _Contact(self, pose, twist, ground)
        rates = self._rates(contact, longitudinal, lateral)
        slow = self.carcass_damping / (1 + contact.speed * contact.speed)
        kappa = (longitudinal + slow * rates[0]) / self.relaxation_longitudinal
        tangent = (lateral + slow * rates[1]) / self.relaxation_lateral
        along, across, moment = self.forces(contact.load, kappa, tangent, contact.camber)
        push = along * contact.ahead + across * contact.left
        push = push + contact.load * contact.normal
        spin = contact.spin / np.sqrt(contact.spin * contact.spin + STANDSTILL)
        resistance = self.rolling_resistance * contact.load * self.radius * spin
        torque = np.cross(contact.down, push) - resistance * contact.axle
        torque = torque + moment * contact.normal
        R = contact.rotation
        return Wrench(force=R.T @ push, torque=R.T @ torque)

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, ...]:
        """Return F_x, F_y [N] and M_z [N·m] at a load [N], slips κ and tan α, and camber γ [rad]."""
        raise NotImplementedError


@force("brush_tyre")
class BrushTyre(Tyre):
    """Brush tyre: elastic bristles under a parabolic pressure, which slide from the rear of the contact on.

        σ = (κ, tan α)/(1 + κ),  x = min(2 c a² |σ|/(3 μ F_z), 1)
        F = μ F_z (3x − 3x² + x³) along σ,  M_z = −F_y a (1 − x)³/(3 − 3x + x²)     [Pacejka 2006, section 3.2]

    Frame b is the wheel, which turns about its y. Slip and cornering stiffness are 2 c a².
    """

    bristle_stiffness: float  # [N/m²], c, per length of the contact
    half_length: float  # [m], a, of the contact
    friction: float  # [1], μ
    positive = (*Tyre.positive, "bristle_stiffness", "half_length", "friction")

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, ...]:  # noqa: ARG002
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
    y = slope / (shape * np.where(peak == 0, 1.0, peak)) * slip
    return peak * np.sin(shape * np.arctan(y - curvature * (y - np.arctan(y))))


@force("pacejka_tyre")
class PacejkaTyre(Tyre):
    """Tyre of Pacejka's Magic Formula with the coefficients of 1994, a₀ … a₁₇ lateral and b₀ … b₁₃ longitudinal.

    F = D sin(C atan(B x − E (B x − atan B x))) + V, with F_z in kN, α and γ in degrees, κ in percent:

        lateral       C = a₀, D = F_z (a₁ F_z + a₂)(1 − a₁₅ γ²), B C D = a₃ sin(2 atan(F_z/a₄))(1 − a₅ |γ|)
                      x = α + a₈ F_z + a₉ + a₁₀ γ, E = (a₆ F_z + a₇)(1 − (a₁₆ γ + a₁₇) sign x)
                      V = a₁₁ F_z + a₁₂ + (a₁₃ F_z + a₁₄) γ F_z
        longitudinal  C = b₀, D = F_z (b₁ F_z + b₂), B C D = (b₃ F_z² + b₄ F_z) exp(−b₅ F_z)
                      x = κ + b₉ F_z + b₁₀, E = (b₆ F_z² + b₇ F_z + b₈)(1 − b₁₃ sign x), V = b₁₁ F_z + b₁₂

        aligning      C = c₀, D = F_z (c₁ F_z + c₂)(1 − c₁₈ γ²), B C D = (c₃ F_z² + c₄ F_z)(1 − c₆ |γ|) exp(−c₅ F_z)
                      x = α + c₁₁ F_z + c₁₂ + c₁₃ γ, V = c₁₄ F_z + c₁₅ + (c₁₆ F_z² + c₁₇ F_z) γ
                      E = (c₇ F_z² + c₈ F_z + c₉)(1 − (c₁₉ γ + c₂₀) sign x)/(1 − c₁₀ |γ|)

    [Bakker, Pacejka and Lidner 1989]. Both slips at once are scaled back to the ellipse of the peaks D unless
    `combined = false`. The aligning moment [N·m] about the normal is that of the side slip; there is none by default.
    Frame b is the wheel, which turns about its y.
    """

    lateral: tuple[float, ...]  # a₀ … a₁₇
    longitudinal: tuple[float, ...]  # b₀ … b₁₃
    aligning: tuple[float, ...] = ()  # c₀ … c₂₀
    combined: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, count in (("lateral", 18), ("longitudinal", 14), ("aligning", 21)):
            given = len(getattr(self, name))
            if given != count and (given or name != "aligning"):
                problem = f"must have {count} coefficients, got {given}"
                raise PysimError(name, f"{problem}; write 0 for those that are unknown")

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, ...]:
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
        moment = self._moment(z, degrees, camber * (180 / np.pi)) if self.aligning else 0.0
        return tuple(np.where(is_loaded, x, 0.0) for x in (along, across, moment))

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

    def _moment(self, z: Any, degrees: Any, camber: Any) -> Any:
        """Return M_z [N·m] at a load z [kN], side slip and camber [°]."""
        c, lean = self.aligning, np.abs(camber)
        x = degrees + c[11] * z + c[12] + c[13] * camber
        peak = z * (c[1] * z + c[2]) * (1 - c[18] * camber * camber)
        slope = (c[3] * z * z + c[4] * z) * (1 - c[6] * lean) * np.exp(-c[5] * z)
        curvature = (c[7] * z * z + c[8] * z + c[9]) * (1 - (c[19] * camber + c[20]) * np.sign(x))
        shift = c[14] * z + c[15] + (c[16] * z * z + c[17] * z) * camber
        return magic_formula(x, c[0], peak, slope, curvature / (1 - c[10] * lean)) + shift
