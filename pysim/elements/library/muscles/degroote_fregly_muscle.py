"""Hill muscle of De Groote, Kinney, Rao and Fregly 2016, whose curves are smooth formulas.

    f_l = Σ_k b1 exp(−½ (x − b2)²/(b3 + b4 x)²),  x = 1 + (l − 1)/width                  active
    f_p = (exp(k (l − 1)/ε₀) − c)/(exp(k) − c),  c = exp(k (0.2 − 1)/ε₀)                  passive, 0 at l = 0.2
    f_v = d1 asinh(d2 v + d3) + d4                                                        velocity
    f_T = c1 (exp(k_T (l_T − c2)) − 1),  k_T = log((1 + c3)/c1)/(1 + ε_T − c2)            tendon
    a′  = ((f + ½)/(τ_a z) + (½ − f) z/τ_d) (u − a),  f = ½ tanh(b (u − a)),  z = ½ + 1.5 a

with the constants of OpenSim 4, which pass f_l and f_v through 1 more closely than those of the paper.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysim.elements.channels import real
from pysim.elements.force import force
from pysim.elements.library.muscles.muscle import ElasticMuscle, Muscle
from pysim.tracing.implicit_equation import solve

_BUMPS = (  # b1, b2, b3, b4 of f_l
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
_PASSIVE, _SHORTEST = 4.0, 0.2  # k, and the length at which f_p is 0
_D1, _D2, _D3, _D4 = -0.3211346127989808, -8.149, -0.374, 0.8825327733249912
_C1, _C2, _C3 = 0.2, 1.0, 0.2
LARGEST_SPEED = 1e6  # [v_max], of a damped fibre


class _DeGrooteFreglyFibre(Muscle):
    """The curves of a fibre, with the parameters and the defaults of OpenSim 4."""

    deactivation_time: float = 0.06  # [s], τ_d
    initial_activation: float = 0.5  # [1], with which the fibre is in equilibrium at the start
    activation_smoothing: float = 0.1  # [1], b, of the change from τ_d to τ_a
    active_width: float = 1.0  # [1], width of f_l
    passive_strain: float = 0.6  # [1], ε₀, at f_p = 1
    passive_share: float = 1.0  # [1], by which f_p is multiplied: 0 leaves it out
    damping: float = 0.0  # [1], β, of the fibre: force per F_max at v_max
    positive: ClassVar[tuple[str, ...]] = (*Muscle.positive, "active_width", "passive_strain")
    not_negative: ClassVar[tuple[str, ...]] = (
        *Muscle.not_negative,
        "activation_smoothing",
        "passive_share",
        "damping",
    )

    def activation_rate(self, activation: Any) -> Any:
        u = np.clip(self.excitation, self.minimum_activation, 1.0)
        half = 0.5 * np.tanh(self.activation_smoothing * (u - activation))
        z = 0.5 + 1.5 * activation
        rising = (half + 0.5) / (self.activation_time * z)
        return (rising + (0.5 - half) * z / self.deactivation_time) * (u - activation)

    def active_force(self, fibre: Any) -> Any:
        x = (fibre - 1) / self.active_width + 1
        total: Any = 0.0
        for b1, b2, b3, b4 in _BUMPS:
            share: Any = (x - b2) / (b3 + b4 * x)
            total = total + b1 * np.exp(-0.5 * share * share)
        return total

    def passive_force(self, fibre: Any) -> Any:
        """Return f_p of a length l/l_o."""
        rate = _PASSIVE / self.passive_strain
        least = np.exp(rate * (_SHORTEST - 1))
        curve = (np.exp(rate * (fibre - 1)) - least) / (np.exp(_PASSIVE) - least)
        return self.passive_share * curve

    def velocity_force(self, velocity: Any) -> Any:
        t = _D2 * velocity + _D3
        size: Any = np.abs(t)
        # without the difference of two large numbers that t + √(t² + 1) is for t < 0
        logarithm = np.log(size + np.sqrt(t * t + 1))
        return _D1 * np.where(t < 0, -logarithm, logarithm) + _D4

    def isometric_force(self, activation: Any, fibre: Any) -> Any:
        """Return the force of a fibre at rest, of its length l/l_o."""
        return activation * self.active_force(fibre) + self.passive_force(fibre)


@force("degroote_fregly_muscle")
class DeGrooteFreglyMuscle(_DeGrooteFreglyFibre, ElasticMuscle):
    """Muscle along a path with an elastic tendon, the smooth curves of De Groote and others 2016, excited by a signal.

        F_max (a f_l(l) f_v(v) + f_p(l) + β v) cos φ = F_max f_T(L_T/L_s),  v = l′/(l_o v_max)

    is solved for v: at once without damping, by Newton's method with it. The curves and the activation have no
    corners, which suits optimal control. A slack tendon pushes with up to a fifth of F_max, as in OpenSim; with
    activation it is never slack at rest.
    """

    tendon_strain: float = 0.049  # [1], ε_T, of f_T at F_max
    positive: ClassVar[tuple[str, ...]] = (*_DeGrooteFreglyFibre.positive, "tendon_strain")

    def tendon_force(self, strain: Any) -> Any:
        rate = np.log((1 + _C3) / _C1) / (1 + self.tendon_strain - _C2)
        return _C1 * np.exp(rate * (1 + strain - _C2)) - _C3

    def fibre_velocity(self, activation: Any, fibre: Any, cosine: Any, pull: Any) -> Any:
        active = activation * self.active_force(fibre)
        wanted = pull / cosine - self.passive_force(fibre)
        undamped: Any = (np.sinh((wanted / active - _D4) / _D1) - _D3) / _D2
        if self.damping == 0:
            return self.max_contraction_velocity * undamped
        # the damping slows the fibre down: v lies between 0 and the velocity without it
        undamped = np.clip(undamped, -LARGEST_SPEED, LARGEST_SPEED)
        v = solve(
            lambda v: active * self.velocity_force(v) + self.damping * v - wanted,
            np.clip(undamped, -1.0, 1.0),
            np.minimum(undamped, 0.0) - 1.0,
            np.maximum(undamped, 0.0) + 1.0,
        )
        return self.max_contraction_velocity * v


@force("rigid_degroote_fregly_muscle")
class RigidDeGrooteFreglyMuscle(_DeGrooteFreglyFibre):
    """Muscle along a path with an inextensible tendon and the fibre of `degroote_fregly_muscle`.

        T = F_max (a f_l(l) f_v(v) + f_p(l) + β v) cos φ,  l = √((L − L_s)² + h²),  v = L′ cos φ/(l_o v_max)

    As in OpenSim it may push where it shortens faster than v_max; a path that is shorter than the tendon carries none.
    """

    states = real("activation")  # [1], a

    def initial(self) -> Any:
        return self.initial_activation

    def state_rate(self, activation: Any) -> Any:
        return self.activation_rate(activation)

    def tension(self, length: Any, rate: Any, activation: Any) -> Any:
        along = np.maximum(length - self.tendon_slack_length, 0.0)
        fibre = np.sqrt(along * along + self.thickness * self.thickness + 1e-30)
        cosine, relative = along / fibre, fibre / self.optimal_fibre_length
        v = rate * cosine / (self.optimal_fibre_length * self.max_contraction_velocity)
        active = self.used_activation(activation) * self.active_force(relative)
        own = active * self.velocity_force(v) + self.passive_force(relative) + self.damping * v
        pull = self.max_isometric_force * own * cosine
        return np.where(length > self.tendon_slack_length, pull, 0.0)
