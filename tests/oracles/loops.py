"""Loops and their forces from definitions: dense Jacobians by a complex step, KKT by least squares.

g(q) = 0       written from the relative pose of each joint type, no Lie algebra
[M Jᵀ; J 0] [v̇; −λ] = [τ − h; −J̇ v]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.oracles.spatial import inverse
from tests.oracles.tree import STEP, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.scene.spec import LoopSpec, ModelSpec

    Array = NDArray[Any]


def frame_to_axis(axis: Sequence[float]) -> Array:
    """Return right-handed axes (3, 3) whose z is `axis`."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def off_diagonal(R: Array, pairs: Sequence[tuple[int, int]]) -> list[Any]:
    return [R[i, j] for i, j in pairs]


def joint_residual(loop: LoopSpec, X: Array) -> list[Any]:
    """Independent equations that vanish where X_AB is a pose of the joint (near one).

    A wheel's second and third say how far its material point that touches now has moved along the plane.
    """
    T = frame_to_axis(loop.axis)
    R, p = T.T @ X[:3, :3] @ T, T.T @ X[:3, 3]
    tilt = [R[0, 2], R[1, 2]]
    skew = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    match loop.type:
        case "weld":
            return [*p, *skew]
        case "revolute":
            return [*p, *tilt]
        case "prismatic":
            return [p[0], p[1], *skew]
        case "helical":
            turn = np.arctan(R[1, 0] / R[0, 0])  # |angle| < π/2 in the tests
            return [p[0], p[1], p[2] - loop.parameters["pitch"] * turn, *tilt]
        case "cylindrical":
            return [p[0], p[1], *tilt]
        case "universal":
            return [*X[:3, 3], X[0, 1]]
        case "ball":
            return [*p]
        case "planar":
            return [X[2, 3], X[0, 2], X[1, 2]]
        case "translation":
            return skew
        case "point_on_plane":
            return [p[2]]
        case "point_on_line":
            return [p[0], p[1]]
        case "distance":
            return [(p @ p - loop.length**2) / (2 * loop.length)]
        case "wheel_on_plane":
            normal = X[:3, :3].T @ T[:, 2]
            lowest = -np.array([normal[0], normal[1], 0])
            rise = np.sqrt(lowest @ lowest)
            touching = T.T @ (X @ np.append(loop.radius * (lowest / rise).real, 1))[:3]
            return [p[2] - loop.radius * rise, *(touching - touching.real)[:2]]
    raise ValueError(loop.type)


class Loops:
    """The loops of a mechanism."""

    def __init__(self, spec: ModelSpec) -> None:
        self.tree = Tree(spec)
        self.loops = spec.loops
        self.bodies = {link.joint.child: k for k, link in enumerate(self.tree.links)}

    def relative(self, loop: LoopSpec, q: Array) -> Array:
        X = [*self.tree.poses(q), np.eye(4)]
        X_WA = X[self.bodies.get(loop.a, -1)] @ loop.at_a
        return inverse(X_WA) @ X[self.bodies.get(loop.b, -1)] @ loop.at_b

    def residual(self, q: Array) -> Array:
        return np.array(
            [g for loop in self.loops for g in joint_residual(loop, self.relative(loop, q))]
        )

    def jacobian(self, q: Array) -> Array:
        steps = 1j * STEP * np.eye(self.tree.own_nv)
        return np.array([self.residual(self.tree.integrate(q, d)).imag / STEP for d in steps]).T

    def bias(self, q: Array, v: Array, h: float = 1e-5) -> Array:
        """J̇ v by a central difference of J along v."""
        ahead, behind = (self.jacobian(self.tree.integrate(q, s * h * v)) for s in (1, -1))
        return np.asarray((ahead - behind) @ v / (2 * h))

    def acceleration(
        self, q: Array, v: Array, tau: Array, f_ext: Array | None = None
    ) -> tuple[Array, Array]:
        """v̇ and the generalised constraint forces Jᵀλ, by least squares over the whole KKT system."""
        M, J = self.tree.mass_matrix(q), self.jacobian(q)
        h = self.tree.rnea(q, v, 0 * v, f_ext)
        n, m = len(M), len(J)
        kkt = np.block([[M, -J.T], [J, np.zeros((m, m))]])
        right = np.concatenate([tau - h, -self.bias(q, v)])
        x = np.linalg.lstsq(kkt, right, rcond=1e-11)[0]
        return x[:n], J.T @ x[n:]
