"""Muscle of MuJoCo: a fibre with a rigid tendon, whose curves are pieces of parabolas.

    p = −F₀ (a f_l(l) f_v(v) + f_p(l))                   force of the actuator; a muscle only pulls
    l = r₀ + (L − L₀₀)/L_o,  v = L′/(L_o v_max)          L_o = (L₀₁ − L₀₀)/(r₁ − r₀)
    a′ = (u − a)/τ                                       [MuJoCo 2026]

L is gear times the length of the path, or Σ gear_k q_k; it runs from L₀₀ to L₀₁ (`length_range`) while the fibre runs
from r₀ to r₁ (`fibre_range`) of its optimal length L_o.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Actuator, actuator
from pysim.elements.channels import real, signal
from pysim.elements.force_range import Range, check_range, clipped
from pysim.elements.library.affine_actuators import held_within, length_of, spread
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping

Pair = tuple[float, float]


@actuator("mujoco_muscle")
class MujocoMuscle(Actuator):
    """Muscle of MuJoCo on joints or along a path, whose command is its excitation u from 0 to 1.

        p = −F₀ (a f_l(l) f_v(v) + f_p(l)),  l = r₀ + (L − L₀₀)/L_o,  v = L′/(L_o v_max),  L_o = (L₀₁ − L₀₀)/(r₁ − r₀)
        f_l = 0 at l_min and at l_max, 1 at 1, of four parabolas that join smoothly in the middle
        f_v = (v + 1)² for −1 ≤ v ≤ 0, f_max − (y − v)²/y for 0 ≤ v ≤ y = f_max − 1;  0 before, f_max beyond
        f_p = f_pmax x²/2 for 0 ≤ x ≤ 1, f_pmax (x − 1/2) beyond,  x = (l − 1)/(b − 1),  b = (1 + l_max)/2
        a′ = (u − a)/τ,  τ = τ_a (0.5 + 1.5 a) for u > a, else τ_d/(0.5 + 1.5 a)

    With a `smoothing` s, τ goes from one to the other for u − a from −s/2 to s/2 [MuJoCo 2026]. The activation
    follows Millard, Uchida, Seth and Delp 2013. On an imported muscle, `length_range` and `peak_force` are those of
    MuJoCo's compiler.
    """

    inputs = signal("command", unit="1")
    states = real("activation")  # [1], a
    peak_force: float  # [N], F₀, of the active fibre
    length_range: Pair  # [m or rad], L₀₀ and L₀₁, of gear times the length
    fibre_range: Pair = (0.75, 1.05)  # [1], r₀ and r₁, in optimal lengths
    shortest_fibre: float = 0.5  # [1], l_min, at which the active force vanishes
    longest_fibre: float = 1.6  # [1], l_max, at which the active force vanishes
    max_contraction_velocity: float = 1.5  # [1/s], v_max, in optimal lengths
    passive_force: float = 1.3  # [1], f_pmax, twice the passive force over F₀ halfway to longest
    lengthening_force: float = 1.2  # [1], f_max, times F₀ at fast lengthening
    activation_time: float = 0.01  # [s], τ_a
    deactivation_time: float = 0.04  # [s], τ_d
    smoothing: float = 0.0  # [1], s, of the change from one time to the other
    gear: tuple[float, ...] = (1.0,)  # [1 or m/rad], for each coordinate
    command_range: Range = ()
    activation_range: Range = ()
    force_range: Range = ()  # [N or N·m], of p
    initial_activation: float = 0.0
    positive = ("max_contraction_velocity", "activation_time", "deactivation_time")
    not_negative = ("peak_force", "passive_force", "smoothing")

    def __post_init__(self) -> None:
        for name in ("command_range", "activation_range", "force_range"):
            check_range(name, getattr(self, name))
        for name in ("length_range", "fibre_range"):
            first, last = getattr(self, name)
            if not first < last:
                problem = f"must be the shortest and the longest, got {[first, last]}"
                raise PysimError(name, f"{problem}; give two numbers in this order")
        if not self.shortest_fibre < 1 < self.longest_fibre:
            given = [self.shortest_fibre, self.longest_fibre]
            problem = f"1, the optimal length, must be between shortest and longest, got {given}"
            raise PysimError("shortest_fibre", f"{problem}; change one of them")
        if not self.lengthening_force > 1:
            problem = f"must be more than 1, got {self.lengthening_force:g}"
            raise PysimError("lengthening_force", f"{problem}; change it")

    @property
    def optimal_length(self) -> float:
        """Optimal length L_o of the fibre, in the unit of `length_range`."""
        (shortest, longest), (first, last) = self.length_range, self.fibre_range
        return (longest - shortest) / (last - first)

    # ------------------------------------------------------------------------------ curves

    def active_force(self, fibre: Any) -> Any:
        """Return f_l of a length l."""
        first, last = self.shortest_fibre, self.longest_fibre
        rise, fall = 0.5 * (first + 1), 0.5 * (1 + last)
        toe = 0.5 * ((fibre - first) / (rise - first)) ** 2
        shoulder = 1 - 0.5 * ((1 - fibre) / (1 - rise)) ** 2
        far_shoulder = 1 - 0.5 * ((fibre - 1) / (fall - 1)) ** 2
        far_toe = 0.5 * ((last - fibre) / (last - fall)) ** 2
        rising = np.where(fibre <= rise, toe, shoulder)
        falling = np.where(fibre <= fall, far_shoulder, far_toe)
        inside = (fibre >= first) & (fibre <= last)
        return np.where(inside, np.where(fibre <= 1, rising, falling), 0.0)

    def velocity_force(self, velocity: Any) -> Any:
        """Return f_v of a velocity v."""
        most = self.lengthening_force
        shortening, lengthening = np.clip(velocity, -1.0, 0.0), np.clip(velocity, 0.0, most - 1)
        stretched = most - (most - 1 - lengthening) ** 2 / (most - 1)
        return np.where(velocity <= 0, (shortening + 1) ** 2, stretched)

    def passive_curve(self, fibre: Any) -> Any:
        """Return f_p of a length l."""
        x = np.maximum(fibre - 1, 0.0) / (0.5 * (1 + self.longest_fibre) - 1)
        return self.passive_force * np.where(x <= 1, 0.5 * x * x, x - 0.5)

    # ------------------------------------------------------------------------------ activation

    def start(self) -> Mapping[str, Any]:
        return {"activation": self.initial_activation}

    def state_rate(self, command: Any, activation: Any) -> Any:
        u = np.clip(clipped(command, self.command_range), 0.0, 1.0)
        scale = 0.5 + 1.5 * np.clip(activation, 0.0, 1.0)
        rising, falling = self.activation_time * scale, self.deactivation_time / scale
        wanted = u - activation
        if self.smoothing > 0:
            x = np.clip(wanted / self.smoothing + 0.5, 0.0, 1.0)
            share = x**3 * (3 * x * (2 * x - 5) + 10)
        else:
            share = np.where(wanted > 0, 1.0, 0.0)
        rate = wanted / (falling + (rising - falling) * share)
        return held_within(rate, activation, self.activation_range)

    # ------------------------------------------------------------------------------ force

    def _force(self, activation: Any, length: Any, rate: Any) -> Any:
        optimal = self.optimal_length
        fibre = self.fibre_range[0] + (length - self.length_range[0]) / optimal
        velocity = rate / (optimal * self.max_contraction_velocity)
        active = activation * self.active_force(fibre) * self.velocity_force(velocity)
        return clipped(-self.peak_force * (active + self.passive_curve(fibre)), self.force_range)

    def force(self, activation: Any, q: Any, v: Any) -> Any:
        length, rate = length_of(self.gear, q), length_of(self.gear, v)
        return spread(self.gear, self._force(activation, length, rate))

    def tension(self, activation: Any, length: Any, rate: Any) -> Any:
        (gear,) = self.gear
        return -gear * self._force(activation, gear * length, gear * rate)
