"""Tyres of property files: the Magic Formula of MF-Tyre 5.2, also called PAC2002."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import force
from pysim.elements.library.sources import check_choice
from pysim.elements.library.tyres.tyre import Tyre
from pysim.elements.library.tyres.tyre_property_file import read_tyre_property_file
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping

POSITIVE = ("FNOMIN", "UNLOADED_RADIUS", "VERTICAL_STIFFNESS")
SIDES = ("left", "right")
RELAXATION = (0.1, 0.3)  # [m], along and across, of a file without them
NEEDED = (
    "FNOMIN",
    "UNLOADED_RADIUS",
    "VERTICAL_STIFFNESS",
    "PCX1",
    "PDX1",
    "PKX1",
    "PCY1",
    "PDY1",
    "PKY1",
    "PKY2",
)


@force("magic_formula_tyre")
class MagicFormulaTyre(Tyre):
    """Tyre of a property file (.tir) of the Magic Formula 5.2, with both slips at once and the aligning moment.

        F_x = G_xα (D sin(C atan(B x − E (B x − atan B x))) + S_V),  F_y = G_yκ (the same) + S_Vyκ
        M_z = −t F_y + M_zr + s F_x

    If `side` differs from that of the measurement (TYRESIDE; left if missing), the tyre is mirrored: F_y(α, γ) becomes
    −F_y(−α, −γ), and M_z likewise.

    Coefficients depend on load and camber [Pacejka 2006, equations 4.E1 to 4.E78, without turn slip]. The file gives
    radii, vertical stiffness and damping, relaxation lengths at the nominal load, and rolling resistance, where their
    keys are 0 or left out. Overturning moments are left out. Frame b is the wheel, which turns about its y.
    """

    file: str  # property file of MF-Tyre 5.2 or PAC2002, in SI units
    _: KW_ONLY
    radius: float = 0.0  # [m], R, of the unloaded wheel
    stiffness: float = 0.0  # [N/m], vertical
    relaxation_longitudinal: float = 0.0  # [m], σ_x
    relaxation_lateral: float = 0.0  # [m], σ_y
    side: str = "as measured"  # or "left" or "right", where the tyre is

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "side", ("as measured", *SIDES))
        properties = read_tyre_property_file(self.file)
        p = _Coefficients(properties.numbers, self.file)
        vars(self)["coefficients"] = p
        is_mirrored = properties.side in SIDES and self.side not in ("as measured", properties.side)
        vars(self)["sign"] = -1.0 if is_mirrored else 1.0
        radius = self.radius or p.UNLOADED_RADIUS
        stiffness = self.stiffness or p.VERTICAL_STIFFNESS
        numbers = {
            "radius": radius,
            "stiffness": stiffness,
            "damping": self.damping or p.VERTICAL_DAMPING,
            "rolling_radius": self.rolling_radius or _rolling_radius(p, radius, stiffness),
            "rolling_resistance": self.rolling_resistance or p.QSY1,
            "relaxation_longitudinal": self.relaxation_longitudinal
            or p.PTX1 * p.UNLOADED_RADIUS * p.LSGKP
            or RELAXATION[0],
            "relaxation_lateral": self.relaxation_lateral
            or p.PTY1 * np.sin(2 * np.arctan(1 / (p.PTY2 or 1.0))) * p.UNLOADED_RADIUS * p.LSGAL
            or RELAXATION[1],
        }
        vars(self).update({name: float(value) for name, value in numbers.items()})

    def forces(self, load: Any, kappa: Any, tangent: Any, camber: Any) -> tuple[Any, ...]:
        p: _Coefficients = vars(self)["coefficients"]
        is_loaded = load > 0
        z = np.where(is_loaded, load, p.FNOMIN)  # so that nothing is divided by 0
        # in a file, α < 0 pushes to the left, and a wheel with γ > 0 leans to the right
        sign: float = vars(self)["sign"]
        alpha, lean = -sign * np.arctan(tangent), -sign * camber
        slip = _Slip(z, z / (p.FNOMIN * p.LFZO) - 1, kappa, alpha, lean)
        along, stiffness_along = _along(p, slip)
        across = _Across(p, slip)
        pushed = across.pure * _weight_across(p, slip)
        shift = _shift_across(p, slip, across.friction)
        along = along * _weight_along(p, slip)
        moment = _moment(p, slip, across, pushed, stiffness_along)
        arm = (
            p.SSZ1
            + p.SSZ2 * (pushed + shift) / p.FNOMIN
            + (p.SSZ3 + p.SSZ4 * slip.excess) * slip.camber
        )
        moment = moment + arm * p.UNLOADED_RADIUS * p.LS * along
        loads = along, sign * (pushed + shift), sign * moment
        return tuple(np.where(is_loaded, x, 0.0) for x in loads)


class _Coefficients:
    """Numbers of a file as attributes; factors λ that it does not have are 1, coefficients 0."""

    def __init__(self, numbers: Mapping[str, float], file: str) -> None:
        for name in NEEDED:
            if not numbers.get(name):
                given = "is 0" if name in numbers else "is missing"
                raise PysimError("file", f"{file!r}: {name} {given}; give a complete property file")
        for name in POSITIVE:
            if numbers[name] < 0:
                problem = f"{name} must be positive, got {numbers[name]:g}"
                raise PysimError("file", f"{file!r}: {problem}; correct the file")
        self._numbers = numbers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._numbers.get(name, 1.0 if name.startswith("L") else 0.0)


class _Slip:
    """State of the contact, as of a file: load F_z [N], df_z = F_z/F_z0 − 1, slips κ and α [rad], camber γ [rad]."""

    def __init__(self, load: Any, excess: Any, kappa: Any, alpha: Any, camber: Any) -> None:
        self.load, self.excess, self.kappa = load, excess, kappa
        self.alpha, self.camber = alpha, camber


def _rolling_radius(p: _Coefficients, radius: float, stiffness: float) -> float:
    """Return R_e [m] at the nominal load."""
    depth = p.FNOMIN / stiffness
    if not p.DREFF and not p.FREFF:
        return radius
    return float(radius - depth * (p.DREFF * np.arctan(p.BREFF) + p.FREFF))


def _sine(x: Any, B: Any, C: Any, E: Any) -> Any:
    y = B * x
    return np.sin(C * np.arctan(y - E * (y - np.arctan(y))))


def _cosine(x: Any, B: Any, C: Any, E: Any) -> Any:
    y = B * x
    return np.cos(C * np.arctan(y - E * (y - np.arctan(y))))


def _along(p: _Coefficients, s: _Slip) -> tuple[Any, Any]:
    """Return F_x0 [N] and its slope K_xκ at 0 [N]."""
    lean = s.camber * p.LGAX
    x = s.kappa + (p.PHX1 + p.PHX2 * s.excess) * p.LHX
    friction = (p.PDX1 + p.PDX2 * s.excess) * (1 - p.PDX3 * lean * lean) * p.LMUX
    curvature = p.PEX1 + p.PEX2 * s.excess + p.PEX3 * s.excess * s.excess
    curvature = np.minimum(curvature * (1 - p.PEX4 * np.sign(x)) * p.LEX, 1.0)
    K = s.load * (p.PKX1 + p.PKX2 * s.excess) * np.exp(p.PKX3 * s.excess) * p.LKX
    C, D = p.PCX1 * p.LCX, friction * s.load
    shift = s.load * (p.PVX1 + p.PVX2 * s.excess) * p.LVX * p.LMUX
    return D * _sine(x, K / (C * D), C, curvature) + shift, K


class _Across:
    """F_y0 [N] of side slip alone, and what the aligning moment needs of it."""

    def __init__(self, p: _Coefficients, s: _Slip) -> None:
        lean = s.camber * p.LGAY
        nominal = p.FNOMIN * p.LFZO
        self.friction = (p.PDY1 + p.PDY2 * s.excess) * (1 - p.PDY3 * lean * lean) * p.LMUY
        self.K = (
            p.PKY1
            * nominal
            * np.sin(2 * np.arctan(s.load / (p.PKY2 * nominal)))
            * (1 - p.PKY3 * np.abs(lean))
            * p.LKY
        )
        self.shift_of_slip = (p.PHY1 + p.PHY2 * s.excess) * p.LHY + p.PHY3 * lean
        x = s.alpha + self.shift_of_slip
        curvature = (p.PEY1 + p.PEY2 * s.excess) * p.LEY
        curvature = np.minimum(curvature * (1 - (p.PEY3 + p.PEY4 * lean) * np.sign(x)), 1.0)
        C, D = p.PCY1 * p.LCY, self.friction * s.load
        self.BC = self.K / D
        self.shift = (
            s.load
            * ((p.PVY1 + p.PVY2 * s.excess) * p.LVY + (p.PVY3 + p.PVY4 * s.excess) * lean)
            * p.LMUY
        )
        self.pure = D * _sine(x, self.BC / C, C, curvature) + self.shift


def _weight_along(p: _Coefficients, s: _Slip) -> Any:
    """Return G_xα, 1 without coefficients of combined slip."""
    if not p.RCX1:
        return 1.0
    B = p.RBX1 * np.cos(np.arctan(p.RBX2 * s.kappa)) * p.LXAL
    E = np.minimum(p.REX1 + p.REX2 * s.excess, 1.0)
    return _cosine(s.alpha + p.RHX1, B, p.RCX1, E) / _cosine(p.RHX1, B, p.RCX1, E)


def _weight_across(p: _Coefficients, s: _Slip) -> Any:
    """Return G_yκ, 1 without coefficients of combined slip."""
    if not p.RCY1:
        return 1.0
    B = p.RBY1 * np.cos(np.arctan(p.RBY2 * (s.alpha - p.RBY3))) * p.LYKA
    E = np.minimum(p.REY1 + p.REY2 * s.excess, 1.0)
    shift = p.RHY1 + p.RHY2 * s.excess
    return _cosine(s.kappa + shift, B, p.RCY1, E) / _cosine(shift, B, p.RCY1, E)


def _shift_across(p: _Coefficients, s: _Slip, friction: Any) -> Any:
    """Return S_Vyκ [N], the side force by κ."""
    peak = friction * s.load * (p.RVY1 + p.RVY2 * s.excess + p.RVY3 * s.camber)
    peak = peak * np.cos(np.arctan(p.RVY4 * s.alpha))
    return peak * np.sin(p.RVY5 * np.arctan(p.RVY6 * s.kappa)) * p.LVYKA


def _moment(p: _Coefficients, s: _Slip, across: _Across, pushed: Any, K_along: Any) -> Any:
    """Return −t F_y + M_zr [N·m], of both slips."""
    lean, size = s.camber * p.LGAZ, p.UNLOADED_RADIUS
    trail = s.alpha + p.QHZ1 + p.QHZ2 * s.excess + (p.QHZ3 + p.QHZ4 * s.excess) * lean
    residual_slip = s.alpha + across.shift_of_slip + across.shift / across.K
    by_kappa = (K_along / across.K) ** 2 * s.kappa * s.kappa
    trail, residual_slip = (
        np.arctan(np.sqrt(np.tan(x) ** 2 + by_kappa + 1e-30)) * np.sign(x)
        for x in (trail, residual_slip)
    )
    B = (p.QBZ1 + p.QBZ2 * s.excess + p.QBZ3 * s.excess * s.excess) * p.LKY / p.LMUY
    B = B * (1 + p.QBZ4 * lean + p.QBZ5 * np.abs(lean))
    D = s.load * (p.QDZ1 + p.QDZ2 * s.excess) * (1 + p.QDZ3 * lean + p.QDZ4 * lean * lean)
    D = D * size / p.FNOMIN * p.LTR
    E = p.QEZ1 + p.QEZ2 * s.excess + p.QEZ3 * s.excess * s.excess
    E = E * (1 + (p.QEZ4 + p.QEZ5 * lean) * (2 / np.pi) * np.arctan(B * p.QCZ1 * trail))
    cosine = np.cos(s.alpha)
    arm = D * _cosine(trail, B, p.QCZ1, np.minimum(E, 1.0)) * cosine
    B_rest = p.QBZ9 * p.LKY / p.LMUY + p.QBZ10 * across.BC
    D_rest = (p.QDZ6 + p.QDZ7 * s.excess) * p.LRES + (p.QDZ8 + p.QDZ9 * s.excess) * lean
    residual = s.load * D_rest * size * p.LMUY * np.cos(np.arctan(B_rest * residual_slip)) * cosine
    return -arm * pushed + residual
