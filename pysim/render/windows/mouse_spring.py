"""Spring between a point of a body and the mouse: it pulls a mechanism that moves.

    F = k (x − p) − c ṗ        k = m ω²,  c = 2 m ω        τ = Jᵀ F

p is the body's point, x the mouse, m the mass that the mechanism has at the point: 3 / tr(J M⁻¹ Jᵀ).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import forward_kinematics, minverse
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model

FREQUENCY = 20.0  # [rad/s] ω, of the point alone
LIGHTEST = 1e-9  # [kg]


class MouseSpring:
    """Spring from a point of a body to `target` (3,) [m]; called with a state, it returns generalised forces."""

    def __init__(self, model: Model, q: Array, body: int, point: Array) -> None:
        self._model, self._body = model, body
        pose = np.asarray(forward_kinematics(model, q))[body]
        self._at = pose[:3, :3].T @ (point - pose[:3, 3])
        self.point = self.target = np.array(point, float)
        J = self._jacobian(q)
        mobility = float(np.trace(J @ np.asarray(minverse(model, q)) @ J.T))
        mass = min(3 / max(mobility, 1e-300), max(model.total_mass, LIGHTEST))
        self._stiffness, self._damping = mass * FREQUENCY**2, 2 * mass * FREQUENCY

    def __call__(self, _t: float, q: Array, v: Array) -> Array:
        pose = np.asarray(forward_kinematics(self._model, q))[self._body]
        self.point = pose[:3, :3] @ self._at + pose[:3, 3]
        J = self._jacobian(q)
        force = self._stiffness * (self.target - self.point) - self._damping * (J @ v)
        return np.asarray(J.T @ force)

    def _jacobian(self, q: Array) -> Array:
        place = [*np.eye(3).ravel().tolist(), *self._at.tolist()]
        J = _engine.jacobian(self._model, q, self._body, place, "aligned")
        return np.asarray(J)[:3]
