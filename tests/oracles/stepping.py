"""Two explicit schemes on a dense tree, written from their definitions.

Runge-Kutta-Munthe-Kaas: with q(t) = q₀ ⊕ ξ(t), the classical scheme of order 4 on (ξ, v), where
v = J_r(ξ) ξ̇ and J_r(ξ) = Σ (−ad ξ)ⁿ / (n + 1)! joint by joint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
    """v₁ = v + h a(t, q, v), q₁ = q ⊕ h v₁."""
    v1 = v + h * tree.aba(q, v, force(t, q, v))
    return tree.integrate(q, h * v1), v1


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
