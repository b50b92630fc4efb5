"""Actuator network: a learned model of a drive, from the histories of its error and velocity to its torque."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import controller
from pysim.elements.channels import real, signal
from pysim.elements.library.networks.policy import NetworkFile
from pysim.elements.units import check_same_unit
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PERIODS = 1000  # of a history


@controller("actuator_network")
class ActuatorNetwork(NetworkFile):
    """Torques of drives by a network, the same for every joint [Hwangbo et al. 2019]; it needs a `period`.

        τ = torque_scale · network(position_scale · e(t − kT) …, velocity_scale · v(t − kT) …),   e = command − position

    with k of `history` in its order, first all errors and then all velocities. An actuator of type `force` applies τ.
    At the start the first error and velocity have always been there.
    """

    inputs = (
        signal("command", unit="", size="n")
        * signal("position", unit="", size="n")
        * signal("velocity", unit="", size="n")
    )
    outputs = signal("torque", unit="N·m", size="n")
    history: tuple[int, ...] = (0, 1, 2)  # periods before now of the inputs, k
    position_scale: float = 1.0  # [1/rad]
    velocity_scale: float = 1.0  # [s/rad]
    torque_scale: float = 1.0  # [N·m]
    limit: float = float("inf")  # [N·m], of the magnitude of a torque
    positive = ("limit",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.history or not all(0 <= k <= MOST_PERIODS for k in self.history):
            problem = f"must be periods from 0 to {MOST_PERIODS}, got {list(self.history)}"
            raise PysimError("history", f"{problem}; write [0, 1, 2]")
        wanted = 2 * len(self.history), 1
        if self.network_sizes() != wanted:
            n, m = self.network_sizes()
            problem = f"takes {n} numbers and gives {m}, and a history of {len(self.history)} needs"
            remedy = "give the history that it was trained with"
            raise PysimError(self.file, f"{problem} {wanted[0]} and 1; {remedy}")
        # the oldest first
        vars(self)["memory"] = real("past", size=f"{max(2 * self._longest, 1)}n")

    @property
    def _longest(self) -> int:
        """Periods of the history."""
        return max(self.history)

    def initial(self, inputs: Any) -> Any:
        now = self._now(inputs)
        return [*now.ravel()] * self._longest if self._longest else [*now[0]]

    def output(self, inputs: Any, past: Any) -> Any:
        frames = self._frames(inputs, past)
        torques = []
        for joint in range(frames.shape[2]):
            errors = [self.position_scale * frames[k, 0, joint] for k in self.history]
            velocities = [self.velocity_scale * frames[k, 1, joint] for k in self.history]
            torque = self.torque_scale * self.evaluated(np.array([*errors, *velocities]))[0]
            torques.append(np.clip(torque, -self.limit, self.limit))
        return torques

    def update(self, inputs: Any, past: Any) -> Any:
        now = self._now(inputs)
        if not self._longest:
            return [*now[0]]
        return [*np.atleast_1d(np.asarray(past, object))[now.size :], *now.ravel()]

    def _now(self, inputs: Any) -> Any:
        """Return the errors and velocities of all joints (2, n)."""
        command, position, velocity = (
            np.atleast_1d(np.asarray(x, object))
            for x in (inputs.command, inputs.position, inputs.velocity)
        )
        return np.array([command - position, velocity])

    def _frames(self, inputs: Any, past: Any) -> Any:
        """Return the errors and velocities (periods, 2, n) of this period and earlier ones, the newest first."""
        now = self._now(inputs)
        if not self._longest:
            return now[None]
        before = np.asarray(past, object).reshape(self._longest, *now.shape)
        return np.concatenate([now[None], before[::-1]])

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        check_same_unit("position", inputs["position"], inputs["command"])
        return {"torque": "N·m"}
