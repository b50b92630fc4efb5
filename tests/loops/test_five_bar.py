"""Kwon's spherical five-bar: the torque of its motors and its derivatives, equations 11 to 14 (E3.8-E3.10).

Oracles: sixth-order differences of the projected torque of the dense tree; the printed forms of (14) fail.
"""

from __future__ import annotations

import numpy as np
import pytest

from pysim.spatial import exp
from tests.dynamics.test_kwon import Mechanism
from tests.oracles.differences import along
from tests.oracles.spatial import rotation, skew

ACTIVE, PASSIVE = (1, 4), (2, 3, 5)  # joint 5 closes the loop: e1 e2 e3 = e4 e5
CHAINS = {1: (), 2: (1,), 3: (1, 2), 4: (), 5: (4,)}  # joints before each


class FiveBar:
    """Axes w_i through the origin, M_i = 1; λ = (η_1 … η_5 of rotation, θ, θ̇, θ̈), 30 numbers."""

    def __init__(self, rng):
        self.w = {i: w / np.linalg.norm(w) for i, w in enumerate(rng.normal(size=(5, 3)), 1)}
        self.state = rng.normal(size=(3, 5))
        self.tree = Mechanism(rng, (0, 1, 2, 0), at_one=True)
        self.tree.kinds = ("revolute",) * 4
        self.tree.Y = [np.eye(4), *(turn_to(self.w[i]) for i in (1, 2, 3, 4))]
        self.tree.W = [np.zeros(6)] * 5
        self.tree.state = np.hstack([np.zeros((3, 1)), self.state[:, :4]])

    def axes(self, step):
        """w'_i, the axes turned by the joints before them."""
        w = {i: exp(step[3 * i - 3 : 3 * i]) @ self.w[i] for i in self.w}
        theta = self.state[0] + step[15:20]
        turned = {}
        for i, before in CHAINS.items():
            turned[i] = w[i]
            for k in reversed(before):
                turned[i] = rotation(w[k], theta[k - 1]) @ turned[i]
        return turned

    def closure(self, step):
        """g_a, g_p and J_p = −g_p⁻¹ g_a, equation 12."""
        x = self.axes(step)
        g_a, g_p = np.stack([x[1], -x[4]], axis=1), np.stack([x[2], x[3], -x[5]], axis=1)
        return g_a, g_p, -np.linalg.solve(g_p, g_a)

    def tree_torque(self, step):
        """τ of joints 1 to 5 of the tree, joint 5 cut."""
        eta = np.zeros((4, 6))
        eta[:, :3] = step[:12].reshape(4, 3)
        state = self.tree.state + np.hstack([np.zeros((3, 1)), step[15:].reshape(3, 5)[:, :4]])
        tree = self.tree.kwon(eta=eta, state=state)
        F = tree.dynamics()[3]
        return np.array([*(tree.A[i] @ F[i] for i in tree.links), 0.0])

    def torque(self, step):
        """τ_pr = τ_a + J_pᵀ τ_p, equation 13."""
        tau = self.tree_torque(step)
        return tau[take(ACTIVE)] + self.closure(step)[2].T @ tau[take(PASSIVE)]

    def tree_slopes(self):
        """∂τ/∂λ (5, 30) of the tree, by pysim."""
        S = self.tree.pysim()[3]
        slopes = np.zeros((5, 30))
        for i in range(4):
            slopes[:4, 3 * i : 3 * i + 3] = S[:, 6 * i : 6 * i + 3]
            for block in range(3):
                slopes[:4, 15 + 5 * block + i] = S[:, 24 + 4 * block + i]
        return slopes

    def axis_slopes(self, i):
        """∂w'_i/∂λ (3, 30) in closed form, E3.10."""
        x, slopes, before = self.axes(np.zeros(30)), np.zeros((3, 30)), np.eye(3)
        for k in (*CHAINS[i], i):
            turn = rotation(self.w[k], self.state[0, k - 1])
            own = before @ (np.eye(3) - turn) if k != i else before
            slopes[:, 3 * k - 3 : 3 * k] = -skew(x[i]) @ own
            if k != i:
                slopes[:, 14 + k] = np.cross(x[k], x[i])
            before = before @ turn
        return slopes


def take(joints):
    return [i - 1 for i in joints]


def turn_to(w):
    """A frame whose z is w."""
    x = np.cross(w, [0.3, 0.5, -0.7])
    x /= np.linalg.norm(x)
    X = np.eye(4)
    X[:3, :3] = np.stack([x, np.cross(w, x), w], axis=1)
    return X


def projected(bar, sign_4, last_row):
    """Equation 14 with the sign of G_a's second row, and with its last row of G_p or none."""
    g_a, g_p, J_p = bar.closure(np.zeros(30))
    tau = bar.tree_torque(np.zeros(30))
    multiplier = np.linalg.solve(g_p.T, tau[take(PASSIVE)])
    D = {i: multiplier @ bar.axis_slopes(i) for i in CHAINS}
    G_a = np.stack([D[1], sign_4 * D[4]])
    G_p = np.stack([D[2], D[3], -D[5] if last_row else 0 * D[5]])
    S = bar.tree_slopes()
    projection = np.hstack([np.eye(2), J_p.T])
    return -G_a + g_a.T @ np.linalg.solve(g_p.T, G_p) + projection @ S[take(ACTIVE + PASSIVE)]


@pytest.mark.parametrize("i", CHAINS)
def test_the_turned_axes_have_their_closed_slopes(i, rng):
    bar = FiveBar(rng)
    slopes = along(lambda step: bar.axes(step)[i], 30)
    np.testing.assert_allclose(bar.axis_slopes(i), slopes, atol=1e-10)


def test_the_mended_equation_14_is_the_derivative_and_the_printed_ones_are_not(rng):
    bar = FiveBar(rng)
    right = along(bar.torque, 30)
    scale = np.abs(right).max()
    np.testing.assert_allclose(projected(bar, -1, last_row=True), right, atol=1e-9 * scale)
    for sign, last_row in ((1, False), (-1, False), (1, True)):
        assert np.abs(projected(bar, sign, last_row=last_row) - right).max() > 0.01 * scale
