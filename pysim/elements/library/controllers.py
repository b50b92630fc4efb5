"""Controllers that come with pysim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Controller, controller
from pysim.elements.channels import real, signal
from pysim.elements.gains import Gain, gain_of
from pysim.elements.rows import array_of_rows, symmetric_rows
from pysim.elements.units import FORCE_UNITS, check_tracking_units
from pysim.errors import PysimError
from pysim.tracing.symbolic_array import array_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@controller("pd")
class ProportionalDerivative(Controller):
    """Proportional-derivative control: kp (reference − q) − kd v, number by number."""

    inputs = (
        signal("reference", unit="", size="n")
        * signal("q", unit="", size="n")
        * signal("v", unit="", size="n")
    )
    outputs = signal("force", unit="", size="n")
    kp: Gain  # [N/m or N·m/rad]
    kd: Gain = 0.0  # [N·s/m or N·m·s/rad]
    resisting = ("kd",)

    def output(self, inputs: Any) -> Any:
        error = inputs.reference - inputs.q
        return gain_of("kp", self.kp, error) * error - gain_of("kd", self.kd, error) * inputs.v

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_tracking_units(inputs)
        return {"force": FORCE_UNITS.get(inputs["q"], "")}


@controller("pid")
class PID(Controller):
    """Proportional-integral-derivative control with a filtered derivative and anti-windup, number by number.

    u = kp e + ki I − kd D, D = N s/(s + N) q, e = reference − q; the output is u within ± limit, and
    I' = e + back_calculation (output − u) [Åström and Hägglund 1995, section 3.5].
    """

    inputs = signal("reference", unit="", size="n") * signal("q", unit="", size="n")
    outputs = signal("force", unit="", size="n")
    states = real("integral", size="n") * real("filtered", size="n")
    kp: Gain  # [N/m or N·m/rad]
    ki: Gain = 0.0  # [N/(m·s) or N·m/(rad·s)]
    kd: Gain = 0.0  # [N·s/m or N·m·s/rad]
    filter: Gain = 100.0  # [rad/s], N
    limit: Gain = math.inf  # [N or N·m]
    back_calculation: Gain = 0.0  # [m·s/N or rad·s/(N·m) per s]
    not_negative = ("filter", "limit", "back_calculation")
    resisting = ("kd",)

    def initial(self, inputs: Any) -> Any:
        return 0.0, inputs.q

    def _gain(self, name: str, inputs: Any) -> Any:
        return gain_of(name, getattr(self, name), inputs.q)

    def _force(self, inputs: Any, integral: Any, filtered: Any) -> Any:
        kp, ki, kd = (self._gain(name, inputs) for name in ("kp", "ki", "kd"))
        rate = self._gain("filter", inputs) * (inputs.q - filtered)
        return kp * (inputs.reference - inputs.q) + ki * integral - kd * rate

    def output(self, inputs: Any, integral: Any, filtered: Any) -> Any:
        force, limit = self._force(inputs, integral, filtered), self._gain("limit", inputs)
        if isinstance(limit, float) and math.isinf(limit):
            return force
        return np.clip(force, -limit, limit)

    def state_rate(self, inputs: Any, integral: Any, filtered: Any) -> Any:
        excess = self.output(inputs, integral, filtered) - self._force(inputs, integral, filtered)
        error = inputs.reference - inputs.q
        lag = self._gain("filter", inputs) * (inputs.q - filtered)
        return error + self._gain("back_calculation", inputs) * excess, lag

    def held_step(self, inputs: Any, integral: Any, filtered: Any, period: float) -> Any:
        """At the limit the integral decays with the rate ki · back_calculation; a long period must not overshoot."""
        rate, _ = self.state_rate(inputs, integral, filtered)
        share = np.exp(-period * self._gain("filter", inputs))
        decay: Any = self._gain("ki", inputs) * self._gain("back_calculation", inputs)
        limit = self._gain("limit", inputs)
        unlimited: Any = np.abs(self._force(inputs, integral, filtered)) <= limit
        fast = np.maximum(decay, 1e-12)
        overshoots = np.minimum(-np.expm1(-fast * period) / fast, period)
        step = np.where(unlimited, period, overshoots)
        return integral + step * rate, inputs.q + (filtered - inputs.q) * share

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_tracking_units(inputs)
        return {"force": FORCE_UNITS.get(inputs["q"], "")}


@controller("trajectory_follower")
class TrajectoryFollower(Controller):
    """Control along a trajectory: kp (reference − q) + kd (reference' − v) + inertia reference'' + damping reference'.

    The last two are a feed-forward.
    """

    inputs = (
        signal("reference", unit="", size="n")
        * signal("reference_rate", unit="", size="n")
        * signal("reference_acceleration", unit="", size="n")
        * signal("q", unit="", size="n")
        * signal("v", unit="", size="n")
    )
    outputs = signal("force", unit="", size="n")
    kp: Gain  # [N/m or N·m/rad]
    kd: Gain = 0.0  # [N·s/m or N·m·s/rad]
    inertia: Gain = 0.0  # [kg or kg·m²]
    damping: Gain = 0.0  # [N·s/m or N·m·s/rad]
    resisting = ("kd",)

    def output(self, inputs: Any) -> Any:
        q = inputs.q
        back = gain_of("kp", self.kp, q) * (inputs.reference - q)
        back = back + gain_of("kd", self.kd, q) * (inputs.reference_rate - inputs.v)
        ahead = gain_of("inertia", self.inertia, q) * inputs.reference_acceleration
        return back + ahead + gain_of("damping", self.damping, q) * inputs.reference_rate

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_tracking_units(inputs)
        return {"force": FORCE_UNITS.get(inputs["q"], "")}


@controller("gravity_compensation")
class GravityCompensation(Controller):
    """Forces that hold the mechanism against gravity, for all its velocities in their order."""

    outputs = signal("force", unit="", size="n")
    share: float = 1.0  # [1]

    def output(self, dynamics: Any) -> Any:
        return self.share * dynamics.gravity


@controller("computed_torque")
class ComputedTorque(Controller):
    """Inverse dynamics of reference'' + kd (reference' − v) + kp (reference − q) [Siciliano 2009, section 8.5.2].

    Signals are of all velocities of the mechanism, in their order; the error decays with kp and kd alone.
    """

    inputs = (
        signal("reference", unit="", size="n")
        * signal("reference_rate", unit="", size="n")
        * signal("reference_acceleration", unit="", size="n")
        * signal("q", unit="", size="n")
        * signal("v", unit="", size="n")
    )
    outputs = signal("force", unit="", size="n")
    kp: Gain  # [1/s²]
    kd: Gain  # [1/s]
    resisting = ("kd",)

    def output(self, inputs: Any, dynamics: Any) -> Any:
        error, rate = inputs.reference - inputs.q, inputs.reference_rate - inputs.v
        kp, kd = gain_of("kp", self.kp, error), gain_of("kd", self.kd, error)
        a = inputs.reference_acceleration + kd * rate + kp * error
        return dynamics.inverse(a)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_tracking_units(inputs)
        return {}


@controller("impedance")
class ImpedanceControl(Controller):
    """Impedance control: K (reference − q) − D v, with symmetric matrices K and D [Hogan 1985].

    Of joints it is a torque. Of the position of a frame it is a force there, which `constant_force` applies with
    `load = { signal = "NAME" }` as Jᵀ F; the force `impedance` does both at once, with the orientation. Gravity is
    compensated beside it.
    """

    inputs = (
        signal("reference", unit="", size="n")
        * signal("q", unit="", size="n")
        * signal("v", unit="", size="n")
    )
    outputs = signal("force", unit="", size="n")
    stiffness: tuple[tuple[float, ...], ...]  # [N/m or N·m/rad], K, row by row
    damping: tuple[tuple[float, ...], ...] = ()  # [N·s/m or N·m·s/rad], D, row by row; 0 by default

    def output(self, inputs: Any) -> Any:
        error, v = (np.atleast_1d(x) for x in (inputs.reference - inputs.q, inputs.v))
        force = symmetric_rows("stiffness", self.stiffness, len(error)) @ error
        if self.damping:
            force = force - symmetric_rows("damping", self.damping, len(error)) @ v
        return force[0] if len(force) == 1 else force

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_tracking_units(inputs)
        return {"force": FORCE_UNITS.get(inputs["q"], "")}


@controller("state_feedback")
class StateFeedback(Controller):
    """State feedback u = −K (x − target), x = (q, v)."""

    inputs = signal("q", unit="", size="n") * signal("v", unit="", size="n")
    outputs = signal("force", unit="", size="m")
    gain: tuple[tuple[float, ...], ...]  # K, row by row
    target: tuple[float, ...] = ()  # of q, then v; 0 by default

    def sizes(self) -> Mapping[str, int]:
        return {"m": len(self.gain)}

    def output(self, inputs: Any) -> Any:
        x = np.hstack([np.asarray(values, object) for values in (inputs.q, inputs.v)])
        count = len(x)
        if self.target:
            if len(self.target) != count:
                problem = f"has {len(self.target)} numbers, and q and v have {count}"
                raise PysimError("target", f"{problem}; give as many")
            x = x - array_of(self.target)
        force = -(array_of_rows("gain", self.gain, count, "one for each number of q and v") @ x)
        return force[0] if len(force) == 1 else force

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_tracking_units(inputs)
        return {}
