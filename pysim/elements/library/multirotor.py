"""Attitude and position control of multirotors: speeds of the rotors that drive a hull to a place."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Controller, controller
from pysim.elements.channels import signal
from pysim.elements.rows import array_of_rows
from pysim.errors import PysimError
from pysim.spatial.rotations import quaternion_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@controller("multirotor")
class Multirotor(Controller):
    """Control of a multirotor, whose rotors are along z of its hull, to a place by its attitude.

    With the attitude error of [Lee, Leok and McClamroch 2010]:

        f = m (k_p (target − p) − k_v v − g),  z_d = f/|f|,  T = f · z
        τ = I (−k_R e − k_ω ω) + ω × I ω,  e = ½ (R_dᵀ R − Rᵀ R_d)^∨

    R_d turns z to z_d and x towards the `heading`. Rotor k pushes with `thrust` ω_k² at `rotors`[k] and drags with
    `torque` ω_k² against its rotation, whose sense about z is `spins`[k]. The squares ω_k² give T and τ with the least
    sum of squares; where one would be negative, all rotors push more, so that torques come first. Outputs are the ω_k,
    without the sign of their sense: a `propeller` that turns against z has a negative `torque`.
    """

    inputs = (
        signal("target", unit="m", size=3)
        * signal("position", unit="m", size=3)
        * signal("orientation", size=4)
        * signal("velocity", unit="m/s", size=3)
        * signal("rate", unit="rad/s", size=3)
    )
    outputs = signal("speed", unit="rad/s", size="n")
    mass: float  # [kg], m
    inertia: tuple[float, float, float]  # [kg·m²], I, about the axes of the hull
    rotors: tuple[tuple[float, ...], ...]  # [m], x and y of each
    spins: tuple[float, ...]  # sense of each, 1 about z or −1
    thrust: float  # [N/(rad/s)²]
    torque: float  # [N·m/(rad/s)²]
    position_gains: tuple[float, float] = (2.0, 2.5)  # [1/s², 1/s], k_p, k_v
    attitude_gains: tuple[float, float] = (60.0, 14.0)  # [1/s², 1/s], k_R, k_ω
    heading: float = 0.0  # [rad], of x about the vertical
    positive = ("mass", "inertia", "thrust", "torque")
    resisting = ("position_gains", "attitude_gains")

    def __post_init__(self) -> None:
        places = array_of_rows("rotors", self.rotors, 2, "x and y")
        if len(self.spins) != len(places):
            problem = (
                f"must have one number for each rotor, got {len(self.spins)} for {len(places)}"
            )
            raise PysimError("spins", f"{problem}; write 1 or -1 for each")
        if np.linalg.matrix_rank(self._mixer) < 4:
            problem = "do not produce a thrust and three torques independently"
            raise PysimError("rotors", f"{problem}; take four or more, of both senses")

    @cached_property
    def _mixer(self) -> NDArray[np.float64]:
        """Thrust and torques (4, n) per square of each rotor's speed."""
        x, y = np.array(self.rotors, float).T
        spins = -self.torque * np.array(self.spins, float)
        return np.array([np.full(len(x), self.thrust), self.thrust * y, -self.thrust * x, spins])

    def sizes(self) -> Mapping[str, int]:
        return {"n": len(self.rotors)}

    def output(self, inputs: Any, gravity: Any) -> Any:
        R, rate = np.array(quaternion_entries(inputs.orientation)), inputs.rate
        kp, kv = self.position_gains
        wanted = kp * (inputs.target - inputs.position) - kv * inputs.velocity - gravity
        force = self.mass * wanted
        upward: Any = np.sqrt(force @ force)
        Rd = _axes(force / np.where(upward > 0, upward, 1.0), self.heading)
        both = Rd.T @ R
        error = 0.5 * np.array(
            [both[2, 1] - both[1, 2], both[0, 2] - both[2, 0], both[1, 0] - both[0, 1]]
        )
        inertia = np.array(self.inertia)
        kR, kw = self.attitude_gains
        torque = inertia * (-kR * error - kw * rate) + np.cross(rate, inertia * rate)
        inverse = np.linalg.pinv(self._mixer)
        squares = inverse @ np.array([force @ R[:, 2], *torque])
        # torques come first: thrust is added until no square is negative
        lift = inverse[:, 0]
        if (lift > 0).all():
            missing: Any = 0.0
            for square, share in zip(squares, lift, strict=True):
                missing = np.maximum(missing, -square / share)
            squares = squares + missing * lift
        # without a slope at rest: the root of a small number above 0
        return [np.sqrt(np.maximum(x, 1e-6)) for x in squares]


def _axes(z: Any, heading: float) -> Any:
    """Return the rotation whose z is this direction, with x towards a heading."""
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    across = np.cross(z, ahead)
    y = across / np.sqrt(across @ across)
    return np.array([np.cross(y, z), y, z]).T
