"""Hydraulic and pneumatic cylinders, whose valves are opened by a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Actuator, actuator
from pysim.elements.channels import real, signal
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping

Pair = tuple[float, float]
REFERENCE_PRESSURE = 1e5  # [Pa], R T₀ ρ₀ of the reference atmosphere of ISO 6358
REFERENCE_TEMPERATURE = 293.15  # [K], T₀


def _check_ratio(ratio: float) -> None:
    if not 0 <= ratio < 1:
        raise PysimError("critical_ratio", f"must be from 0 to less than 1, got {ratio:g}")


@actuator("hydraulic_cylinder")
class HydraulicCylinder(Actuator):
    """Double-acting hydraulic cylinder on a prismatic joint; the command u opens its four-way valve.

        f = A₁ p₁ − A₂ p₂
        p₁′ = β/(V₁ + A₁ x) (q₁ − A₁ v − q_l),  p₂′ = β/(V₂ − A₂ x) (q₂ + A₂ v + q_l),  q_l = leakage (p₁ − p₂)
        u ≥ 0:  q₁ = K u s(p_s − p₁),  q₂ = −K u s(p₂ − p_t);   u < 0:  q₁ = K u s(p₁ − p_t),  q₂ = −K u s(p_s − p₂)

    with s(Δ) = sign(Δ) √|Δ|, rounded within `laminar_pressure` of 0 [Merritt 1967, chapters 5 and 6]. The oil's
    stiffness β A²/V makes it stiff: explicit steps must resolve it.
    """

    inputs = signal("command", unit="1")
    states = real("pressures", size=2)  # [Pa]
    areas: Pair  # [m²], A₁, A₂
    volumes: Pair  # [m³], V₁, V₂, at x = 0
    valve: float  # [m³/(s·√Pa)], K
    supply: float  # [Pa], p_s
    tank: float = 101325.0  # [Pa], p_t
    bulk_modulus: float = 1.4e9  # [Pa], β
    leakage: float = 0.0  # [m³/(s·Pa)], from chamber 1 to chamber 2
    initial_pressures: Pair = (101325.0, 101325.0)  # [Pa], at the start
    laminar_pressure: float = 10.0  # [Pa], drop below which the flow is laminar
    positive = ("areas", "volumes", "valve", "bulk_modulus", "laminar_pressure")
    not_negative = ("leakage", "supply", "tank", "initial_pressures")

    def start(self) -> Mapping[str, Any]:
        return {"pressures": self.initial_pressures}

    def _flow(self, drop: Any) -> Any:
        """Return the flow through the open valve per opening."""
        square = drop * drop + self.laminar_pressure**2
        return self.valve * drop / np.sqrt(np.sqrt(square))

    def state_rate(self, command: Any, q: Any, v: Any, pressures: Any) -> Any:
        p1, p2 = pressures
        (A1, A2), (V1, V2) = self.areas, self.volumes
        opens = command >= 0
        into = np.where(opens, self._flow(self.supply - p1), self._flow(p1 - self.tank))
        out = np.where(opens, self._flow(p2 - self.tank), self._flow(self.supply - p2))
        leak = self.leakage * (p1 - p2)
        first = self.bulk_modulus / (V1 + A1 * q) * (command * into - A1 * v - leak)
        second = self.bulk_modulus / (V2 - A2 * q) * (A2 * v - command * out + leak)
        return [first, second]

    def force(self, pressures: Any) -> Any:
        return self.areas[0] * pressures[0] - self.areas[1] * pressures[1]


@actuator("pneumatic_cylinder")
class PneumaticCylinder(Actuator):
    """Double-acting pneumatic cylinder on a prismatic joint; the command u, from −1 to 1, opens its valve.

        f = A₁ p₁ − A₂ p₂ − (A₁ − A₂) p_a
        p₁′ = n/(V₁ + A₁ x) (R T m₁ − A₁ p₁ v),  p₂′ = n/(V₂ − A₂ x) (R T m₂ + A₂ p₂ v)

    with polytropic gas of exponent n. u > 0 connects chamber 1 to the supply and chamber 2 to the ambient, u < 0 the
    other way round; the mass flow from pressure p to p̄ is m = |u| C ρ₀ √(T₀/T) p ψ(p̄/p), ψ = 1 up to the critical
    ratio b and √(1 − ((p̄/p − b)/(1 − b))²) above [ISO 6358 2013], linear where p̄/p is above `laminar_ratio`.
    """

    inputs = signal("command", unit="1")
    states = real("pressures", size=2)  # [Pa]
    areas: Pair  # [m²], A₁, A₂
    volumes: Pair  # [m³], V₁, V₂, at x = 0
    supply: float  # [Pa], absolute
    conductance: float  # [m³/(s·Pa)], C, of the valve at u = 1
    critical_ratio: float = 0.3  # [1], b
    ambient: float = 101325.0  # [Pa], p_a
    temperature: float = 293.15  # [K], T
    exponent: float = 1.2  # [1], n: 1 isothermal, 1.4 adiabatic
    initial_pressures: Pair = (101325.0, 101325.0)  # [Pa], at the start
    laminar_ratio: float = 0.995  # [1], of pressures, above which the flow is laminar
    positive = ("areas", "volumes", "supply", "ambient", "temperature", "initial_pressures")
    not_negative = ("conductance",)

    def __post_init__(self) -> None:
        _check_ratio(self.critical_ratio)
        if not self.critical_ratio < self.laminar_ratio < 1:
            problem = f"must be between critical_ratio and 1, got {self.laminar_ratio:g}"
            raise PysimError("laminar_ratio", f"{problem}; give a ratio between them")

    def start(self) -> Mapping[str, Any]:
        return {"pressures": self.initial_pressures}

    def _flow(self, before: Any, after: Any) -> Any:
        """Return C p ψ through the open valve between two pressures [Pa·m³/(s·Pa)], positive towards `after`."""
        high, low = np.maximum(before, after), np.minimum(before, after)
        b, r, limit = self.critical_ratio, low / high, self.laminar_ratio
        choked = np.clip((r - b) / (1 - b), 0.0, (limit - b) / (1 - b))
        at_limit = float(np.sqrt(1 - ((limit - b) / (1 - b)) ** 2))
        share = np.where(r > limit, at_limit * (1 - r) / (1 - limit), np.sqrt(1 - choked * choked))
        return np.where(before > after, 1.0, -1.0) * self.conductance * high * share

    def state_rate(self, command: Any, q: Any, v: Any, pressures: Any) -> Any:
        p1, p2 = pressures
        (A1, A2), (V1, V2) = self.areas, self.volumes
        gas: Any = REFERENCE_PRESSURE * np.sqrt(self.temperature / REFERENCE_TEMPERATURE)
        opening, extends = np.abs(command), command > 0
        into1 = np.where(extends, self._flow(self.supply, p1), self._flow(self.ambient, p1))
        into2 = np.where(extends, self._flow(self.ambient, p2), self._flow(self.supply, p2))
        first = self.exponent / (V1 + A1 * q) * (gas * opening * into1 - A1 * p1 * v)
        second = self.exponent / (V2 - A2 * q) * (gas * opening * into2 + A2 * p2 * v)
        return [first, second]

    def force(self, pressures: Any) -> Any:
        (A1, A2), (p1, p2) = self.areas, pressures
        return A1 * p1 - A2 * p2 - (A1 - A2) * self.ambient
