"""Hill muscle of Thelen 2003, whose curves are formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pysim.elements.force import force
from pysim.elements.library.muscles.muscle import ElasticMuscle
from pysim.errors import PysimError

_CUBE = math.exp(3)
# with which the tendon's slope is continuous; 0.609 in the paper
TOE = 99 * _CUBE / (166 * _CUBE - 67)
SLOPE = 0.67 / (1 - TOE)  # 1.712 in the paper
TOE_FORCE = 0.33  # at the end of the toe


@force("thelen_muscle")
class ThelenMuscle(ElasticMuscle):
    """Muscle along a path with an elastic tendon, the curves of Thelen 2003 and the activation of a signal.

        f_l = exp(−(l − 1)²/γ)                                       active, l in optimal lengths
        f_p = (exp(k (l − 1)/ε₀) − 1)/(exp(k) − 1) for l > 1         passive
        f_T = 0.33 (exp(3 ε/ε_t) − 1)/(e³ − 1) up to ε_t = toe ε_T, then linear with the slope `slope`/ε_T
        l′ = (0.25 + 0.75 a) v_max (F − a f_l)/b,  F = f_T/cos φ − f_p
        b = a f_l + F/A_f for F ≤ a f_l, else (2 + 2/A_f)(a f_l F_len − F)/(F_len − 1)
        a′ = (u − a)/τ,  τ = τ_a (0.5 + 1.5 a) for u > a, else τ_d/(0.5 + 1.5 a);  thickness l sin φ constant

    Defaults are those of young adults in the paper, with the toe's constants unrounded. Shortening faster than v_max
    and lengthening beyond a share `lengthening_limit` of F_len are continued linearly, as in OpenSim.
    """

    active_shape: float = 0.45  # [1], γ
    passive_shape: float = 5.0  # [1], k
    passive_strain: float = 0.6  # [1], ε₀, at f_p = 1
    tendon_strain: float = 0.04  # [1], ε_T, at f_T = 1
    velocity_shape: float = 0.25  # [1], A_f
    lengthening_force: float = 1.4  # [1], F_len
    lengthening_limit: float = 0.95  # of F_len, above which the force is linear in the velocity
    toe: float = TOE  # [1]
    slope: float = SLOPE  # [1]
    positive = (
        *ElasticMuscle.positive,
        "active_shape",
        "passive_shape",
        "passive_strain",
        "tendon_strain",
        "velocity_shape",
        "toe",
        "slope",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lengthening_force > 1:
            problem = f"must be more than 1, got {self.lengthening_force:g}"
            raise PysimError("lengthening_force", f"{problem}; change it")
        if not 1 < self.lengthening_limit * self.lengthening_force < self.lengthening_force:
            problem = f"must be less than 1, and more than 1/{self.lengthening_force:g}"
            got = f"got {self.lengthening_limit:g}"
            raise PysimError("lengthening_limit", f"{problem}, {got}; change it")

    def active_force(self, fibre: Any) -> Any:
        """Return f_l of a length l/l_o."""
        return np.exp(-((fibre - 1) ** 2) / self.active_shape)

    def passive_force(self, fibre: Any) -> Any:
        """Return f_p of a length l/l_o."""
        beyond = np.maximum(fibre - 1, 0.0) / self.passive_strain
        return (np.exp(self.passive_shape * beyond) - 1) / math.expm1(self.passive_shape)

    def tendon_force(self, strain: Any) -> Any:
        end = self.toe * self.tendon_strain
        bent = np.clip(strain, 0.0, end)
        straight = np.maximum(strain - end, 0.0)
        toe = TOE_FORCE * (np.exp(3 * bent / end) - 1) / math.expm1(3)
        return toe + self.slope / self.tendon_strain * straight

    def isometric_force(self, activation: Any, fibre: Any) -> Any:
        return activation * self.active_force(fibre) + self.passive_force(fibre)

    def fibre_velocity(self, activation: Any, fibre: Any, cosine: Any, pull: Any) -> Any:
        own = activation * self.active_force(fibre)
        force = pull / cosine - self.passive_force(fibre)
        return self.velocity(force, activation, own)

    def velocity_force(self, velocity: Any) -> Any:
        shape, longest = self.velocity_shape, self.lengthening_force
        held = np.clip(velocity, -1.0, 0.0)
        shortening = (1 + held) / (1 - held / shape) + np.minimum(velocity + 1, 0.0) / (
            1 + 1 / shape
        )
        ratio = (longest - 1) / (2 + 2 / shape)
        end = self.lengthening_limit * longest
        last = ratio * (end - 1) / (longest - end)
        bent = np.clip(velocity, 0.0, last)
        slope = ratio * (longest - 1) / (longest - end) ** 2
        lengthening = (ratio + longest * bent) / (ratio + bent) + np.maximum(
            velocity - last, 0.0
        ) / slope
        return np.where(velocity < 0, shortening, lengthening)

    def velocity(self, force: Any, activation: Any, isometric: Any) -> Any:
        """Return l′ [l_o/s] at an active force; at rest it is `isometric`."""
        shape, longest = self.velocity_shape, self.lengthening_force
        fast = (0.25 + 0.75 * activation) * self.max_contraction_velocity
        # shortening: f/(1 + f/A) of f = F/(a f_l) − 1 …, from F = 0 on with the slope there
        F = force / isometric
        held = np.clip(F, 0.0, 1.0)
        shortening = (held - 1) / (1 + held / shape) + np.minimum(F, 0.0) * (1 + 1 / shape)
        ratio = (longest - 1) / (2 + 2 / shape)
        end = self.lengthening_limit * longest
        bent = np.clip(F, 1.0, end)
        slope = ratio * (longest - 1) / (longest - end) ** 2
        lengthening = ratio * (bent - 1) / (longest - bent) + slope * np.maximum(F - end, 0.0)
        return fast * np.where(F < 1, shortening, lengthening)
