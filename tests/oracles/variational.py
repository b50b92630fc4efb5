"""Discrete Lagrangian of a dense tree, and its momenta by complex steps of both ends.

L_d(q₀, q₁) = Σ (m |Δc|² + φᵀ I_c φ) / 2h over the moving bodies, φ = log(R₀ᵀ R₁); welded links are one body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.oracles.spatial import adjoint, inverse, spatial_inertia

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.oracles.tree import Tree

    Array = NDArray[Any]

STEP = 1e-30


def log_rotation(R: Array) -> Array:
    """Return φ of a rotation by less than π/2."""
    u = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine = np.sqrt(u @ u)
    return u * (np.arcsin(sine) / sine) if abs(sine) > 1e-12 else u


class DiscreteTree:
    """Momenta of a step on one mechanism."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.first = [
            next(k for k, link in enumerate(tree.links) if link.moving == body)
            for body in range(tree.nbodies)
        ]
        X = tree.poses(neutral(tree))
        self.inertia = [np.zeros((6, 6)) for _ in self.first]
        for link, X_WL in zip(tree.links, X, strict=True):
            if link.moving >= 0:
                to_link = adjoint(inverse(X_WL) @ X[self.first[link.moving]])
                self.inertia[link.moving] += to_link.T @ spatial_inertia(link.theta) @ to_link

    def lagrangian(self, q0: Array, q1: Array, h: float) -> Any:
        total: Any = 0.0
        X0, X1 = self.tree.poses(q0), self.tree.poses(q1)
        for M, k in zip(self.inertia, self.first, strict=True):
            m, mc = M[0, 0], np.array([M[5, 1], M[3, 2], M[4, 0]])
            c = mc / m
            way = (X1[k][:3, :3] @ c + X1[k][:3, 3]) - (X0[k][:3, :3] @ c + X0[k][:3, 3])
            I = M[3:, 3:] - m * ((c @ c) * np.eye(3) - np.outer(c, c))
            phi = log_rotation(X0[k][:3, :3].T @ X1[k][:3, :3])
            total = total + (m * (way @ way) + phi @ I @ phi) / (2 * h)
        return total

    def momenta(self, q0: Array, q1: Array, rate: Array, h: float) -> tuple[Array, Array]:
        """−∂L_d/∂q₀ and ∂L_d/∂q₁, with rotors (armature) that rotate at `rate`."""
        rotors = self.tree.armature() @ rate
        start, end = np.zeros(len(rate)), np.zeros(len(rate))
        for i, e in enumerate(np.eye(len(rate))):
            moved0 = self.tree.integrate(q0, 1j * STEP * e)
            moved1 = self.tree.integrate(q1, 1j * STEP * e)
            start[i] = -self.lagrangian(moved0, q1, h).imag / STEP
            end[i] = self.lagrangian(q0, moved1, h).imag / STEP
        return start + rotors, end + rotors


def neutral(tree: Tree) -> Array:
    """Zeros and identity rotations."""
    q = np.zeros(tree.own_nq)
    for link in tree.links:
        if link.own_q is not None and link.joint.type in ("ball", "free"):
            q[link.own_q.stop - 1] = 1
    return q
