"""Hill muscles: activation, pennation, and the series of fibre and elastic tendon.

Base classes of muscles along a path; a subclass gives the curves.

T = F_max f_T(L_T/L_s)    tension of the path, L_T = L − l cos φ
l sin φ = h               the thickness of the fibres is constant, h = l_o sin φ_o [Zajac 1989]
a′ = (u − a)/τ            τ = τ_a (0.5 + 1.5 a) for u > a, else τ_d/(0.5 + 1.5 a)     [Thelen 2003, after Winters]
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pysim.elements.channels import Signal, real
from pysim.elements.force import Force
from pysim.errors import PysimError
from pysim.tracing.expression import record, symbolic
from pysim.tracing.implicit_equation import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

EXCITATION = Signal["1"]
LEAST_COSINE = 0.1  # of the pennation: fibres do not stand steeper
LONGEST_FIBRE = 4.0  # fibre, in optimal lengths, at the start


class Muscle(Force):
    """Base class of muscles along a path, excited by a signal.

    A subclass gives the curves of its fibre and its tendon, normalised by F_max, l_o and L_s.
    """

    _: KW_ONLY
    excitation: EXCITATION  # type: ignore[valid-type]  # u, from 0 to 1
    max_isometric_force: float  # [N], F_max
    optimal_fibre_length: float  # [m], l_o
    tendon_slack_length: float  # [m], L_s
    pennation_angle: float = 0.0  # [rad], φ_o, at the optimal length
    max_contraction_velocity: float = 10.0  # [1/s], v_max, in optimal lengths
    activation_time: float = 0.015  # [s], τ_a
    deactivation_time: float = 0.05  # [s], τ_d
    minimum_activation: float = 0.01  # [1], with which the fibre always acts
    initial_activation: float = 0.05  # [1], with which the fibre is in equilibrium at the start
    positive: ClassVar[tuple[str, ...]] = (
        "max_isometric_force",
        "optimal_fibre_length",
        "tendon_slack_length",
        "max_contraction_velocity",
        "activation_time",
        "deactivation_time",
        "minimum_activation",
    )
    not_negative: ClassVar[tuple[str, ...]] = ("pennation_angle", "initial_activation")

    def __post_init__(self) -> None:
        if not self.pennation_angle < math.acos(LEAST_COSINE):
            problem = f"must be less than {math.acos(LEAST_COSINE):.4g} rad"
            raise PysimError(
                "pennation_angle", f"{problem}, got {self.pennation_angle:g}; change it"
            )

    # ------------------------------------------------------------------------------ activation

    def used_activation(self, activation: Any) -> Any:
        """Return the activation that acts, from `minimum_activation` to 1."""
        return np.clip(activation, self.minimum_activation, 1.0)

    def activation_rate(self, activation: Any) -> Any:
        """Return a′ [1/s]."""
        u = np.clip(self.excitation, self.minimum_activation, 1.0)
        scale = 0.5 + 1.5 * self.used_activation(activation)
        rising = self.activation_time * scale
        return (u - activation) / np.where(u > activation, rising, self.deactivation_time / scale)

    # ------------------------------------------------------------------------------ pennation

    @property
    def thickness(self) -> float:
        """Thickness h of the fibres [m]."""
        sine: float = record("sin", self.pennation_angle)
        return self.optimal_fibre_length * sine

    @property
    def least_fibre_length(self) -> float:
        """Length [m] at which the fibres are as steep as they may be; they get no shorter."""
        return self.thickness / math.sqrt(1 - LEAST_COSINE**2)

    def cosine(self, fibre: Any) -> Any:
        """Return cos φ of a fibre's length [m]."""
        if symbolic(self.pennation_angle) is None and self.pennation_angle == 0:
            return 1.0
        sine: Any = self.thickness / np.maximum(fibre, self.least_fibre_length)
        return np.sqrt(1 - sine * sine)

    # ------------------------------------------------------------------------------ full activation

    def active_force(self, fibre: Any) -> Any:
        """Return f_l of a length l/l_o."""
        raise NotImplementedError

    def velocity_force(self, velocity: Any) -> Any:
        """Return f_v at full activation of a velocity l′/(l_o v_max)."""
        raise NotImplementedError

    def full_force(self, length: Any, rate: Any) -> Any:
        """Return the tension [N] at full activation over an inextensible tendon, without passive force.

        T = F_max f_l(l) f_v(v) cos φ,  l = √((L − L_s)² + h²),  v = L′ cos φ/(l_o v_max); none at the least length.
        """
        along = np.maximum(length - self.tendon_slack_length, 0.0)
        fibre = np.sqrt(along * along + self.thickness * self.thickness)
        cosine, relative = self.cosine(fibre), fibre / self.optimal_fibre_length
        v = rate * cosine / (self.optimal_fibre_length * self.max_contraction_velocity)
        active = self.active_force(relative) * self.velocity_force(v)
        pull = self.max_isometric_force * active * cosine
        return np.where(fibre > self.least_fibre_length, pull, 0.0)


class ElasticMuscle(Muscle):
    """Base class of muscles with an elastic tendon: the length of the fibre is a state.

    It starts in equilibrium with `initial_activation` and the path's length.
    """

    states = real("activation") * real("fibre_length")  # [1], a; [m], l

    def tendon_force(self, strain: Any) -> Any:
        """Return f_T of a strain L_T/L_s − 1."""
        raise NotImplementedError

    def isometric_force(self, activation: Any, fibre: Any) -> Any:
        """Return the force of a fibre at rest, of its length l/l_o."""
        raise NotImplementedError

    def fibre_velocity(self, activation: Any, fibre: Any, cosine: Any, pull: Any) -> Any:
        """Return l′ in [l_o/s] at a length l/l_o, while the tendon pulls with f_T along the path."""
        raise NotImplementedError

    def _pull(self, length: Any, fibre: Any) -> Any:
        tendon = length - fibre * self.cosine(fibre)
        return self.tendon_force(tendon / self.tendon_slack_length - 1)

    def tension(self, length: Any, fibre_length: Any) -> Any:
        return self.max_isometric_force * self._pull(length, fibre_length)

    def state_rate(self, length: Any, activation: Any, fibre_length: Any) -> Sequence[Any]:
        least = self.least_fibre_length
        velocity = self.optimal_fibre_length * self.fibre_velocity(
            self.used_activation(activation),
            fibre_length / self.optimal_fibre_length,
            self.cosine(fibre_length),
            self._pull(length, fibre_length),
        )
        stops = (fibre_length <= least) & (velocity < 0)
        return self.activation_rate(activation), np.where(stops, 0.0, velocity)

    def initial(self, length: Any) -> Sequence[Any]:
        activation = np.maximum(self.initial_activation, self.minimum_activation)
        least, most = self.least_fibre_length, LONGEST_FIBRE * self.optimal_fibre_length

        def surplus(fibre: Any) -> Any:
            own = self.isometric_force(activation, fibre / self.optimal_fibre_length)
            return own * self.cosine(fibre) - self._pull(length, fibre)

        # the fibre's projection if the tendon is slack
        slack: Any = length - self.tendon_slack_length
        longest = np.sqrt(np.maximum(slack, least) ** 2 + self.thickness * self.thickness)
        found = solve(surplus, np.minimum(longest, self.optimal_fibre_length), least, most)
        # a path that is too short leaves the tendon slack; one that is too long pulls the fibre as far as it goes
        longest = np.where(surplus(most) <= 0, most, found)
        return self.initial_activation, np.where(surplus(least) >= 0, least, longest)
