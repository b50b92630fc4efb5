"""Two explicit schemes on a dense tree, written from their definitions.

Runge-Kutta-Munthe-Kaas: with q(t) = q₀ ⊕ ξ(t), the classical scheme of order 4 on (ξ, v), where
v = J_r(ξ) ξ̇ and J_r(ξ) = Σ (−ad ξ)ⁿ / (n + 1)! joint by joint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from tests.oracles.spatial import skew, spatial_cross

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tests.oracles.tree import Tree

    Array = NDArray[Any]
    Force = Callable[[float, Array, Array], Array]  # τ(t, q, v)


def right_jacobian(ad: Array) -> Array:
    """Σ (−ad)ⁿ / (n + 1)!, exact to rounding for the steps of the tests."""
    term, total = np.eye(len(ad)), np.eye(len(ad))
    for n in range(1, 40):
        term = -term @ ad / (n + 1)
        total = total + term
    return total


def rates(tree: Tree, xi: Array, v: Array) -> Array:
    """Return ξ̇ of every joint for the velocity v."""
    rate = np.array(v)
    for link in tree.links:
        if link.own_v is not None and link.joint.type in ("ball", "free"):
            own = xi[link.own_v]
            ad = skew(own) if link.joint.type == "ball" else spatial_cross(own)
            rate[link.own_v] = np.linalg.solve(right_jacobian(ad), v[link.own_v])
    return rate


def semi_implicit(
    tree: Tree, q: Array, v: Array, force: Force, t: float, h: float
) -> tuple[Array, Array]:
    """v₁ = v + h a(t, q, v), q₁ = q ⊕ h v₁; of free joints about the centre of mass, in the frame of the joint."""
    a = tree.aba(q, v, force(t, q, v))
    v1 = v + h * a
    q1 = tree.integrate(q, h * v1)
    for link in tree.links:
        if link.own_v is None or link.own_q is None or link.joint.type != "free":
            continue
        c = tree.centre(link)
        (p, R), (_, R1) = (pose(x[link.own_q]) for x in (q, q1))
        linear, omega = v[link.own_v][:3], v[link.own_v][3:]
        # position, velocity and acceleration of the centre of mass in the joint's frame
        x = p + R @ c
        rate = R @ (linear + np.cross(omega, c))
        own = a[link.own_v]
        bend = own[:3] + np.cross(own[3:], c) + np.cross(omega, linear + np.cross(omega, c))
        rate1 = rate + h * R @ bend
        x1 = x + h * rate1
        q1[link.own_q][:3] = x1 - R1 @ c
        v1[link.own_v][:3] = R1.T @ rate1 - np.cross(v1[link.own_v][3:], c)
    return q1, v1


def pose(q: Array) -> tuple[Array, Array]:
    """Return position and rotation of a free joint."""
    return q[:3], Rotation.from_quat(q[3:]).as_matrix()


def rk4(tree: Tree, q: Array, v: Array, force: Force, t: float, h: float) -> tuple[Array, Array]:
    """The classical tableau on (ξ, v)."""

    def slope(node: float, xi: Array, u: Array) -> tuple[Array, Array]:
        moved = tree.integrate(q, xi)
        return rates(tree, xi, u), tree.aba(moved, u, force(t + node * h, moved, u))

    k1, a1 = slope(0, 0 * v, v)
    k2, a2 = slope(0.5, h / 2 * k1, v + h / 2 * a1)
    k3, a3 = slope(0.5, h / 2 * k2, v + h / 2 * a2)
    k4, a4 = slope(1, h * k3, v + h * a3)
    xi = h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return tree.integrate(q, xi), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
