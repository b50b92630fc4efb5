"""Kwon's differential dynamics as dense matrices, in the note's order: twists [ω; v], wrenches [m; f].

Trees of joints with one coordinate, T_i = M_i e^{[A_i] θ_i}, any M_i, a wrench on every body; FORMULAS.md, A4.
Link 0 is the base; link i is moved by joint i, its parent comes before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.oracles.spatial import skew

Z, ONE = np.zeros((3, 3)), np.eye(6)
SWAP = np.block([[Z, np.eye(3)], [np.eye(3), Z]])  # [ω; v] and [v; ω]


def adjoint(T):
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, Z], [skew(p) @ R, R]])


def ad(V):
    return np.block([[skew(V[:3]), Z], [skew(V[3:]), skew(V[:3])]])


def ad_star(F):
    """ad*_F with ad_Aᵀ F = ad*_F A, equation 10."""
    return np.block([[skew(F[:3]), skew(F[3:])], [skew(F[3:]), Z]])


def exp(V):
    """e^{[V]} [Lynch, Park 2017, equation 3.88]."""
    angle, T = np.linalg.norm(V[:3]), np.eye(4)
    if angle < 1e-12:
        T[:3, 3] = V[3:]
        return T
    K, s, c = skew(V[:3] / angle), np.sin(angle), np.cos(angle)
    T[:3, :3] = np.eye(3) + s * K + (1 - c) * K @ K
    T[:3, 3] = (np.eye(3) + (1 - c) / angle * K + (1 - s / angle) * K @ K) @ V[3:]
    return T


@dataclass(frozen=True)
class Tree:
    """The mechanism at one state. Lists have an entry for the base, which is not used."""

    parent: list[int]
    A: list[np.ndarray]
    M: list[np.ndarray]
    G: list[np.ndarray]
    W: list[np.ndarray]
    base: np.ndarray  # V̇₀ = (0, −g)
    state: np.ndarray  # θ, θ̇, θ̈ (3, n + 1)
    misprints: frozenset[str] = field(default_factory=frozenset)

    @property
    def links(self):
        return range(1, len(self.parent))

    def children(self, i):
        return [j for j in self.links if self.parent[j] == i]

    def dynamics(self):
        """T, V, V̇, F by equations 1 to 5."""
        n, (th, thd, thdd) = len(self.parent), self.state
        T, V, Vd, F = ([None] * n for _ in range(4))
        V[0], Vd[0] = np.zeros(6), self.base
        for i in self.links:
            A, p = self.A[i], self.parent[i]
            T[i] = self.M[i] @ exp(A * th[i])
            X = adjoint(np.linalg.inv(T[i]))
            V[i] = A * thd[i] + X @ V[p]
            Vd[i] = A * thdd[i] + X @ Vd[p] + ad(V[i]) @ A * thd[i]
        for i in reversed(self.links):
            F[i] = self.G[i] @ Vd[i] - ad(V[i]).T @ self.G[i] @ V[i] - self.W[i]
            for j in self.children(i):
                F[i] = F[i] + adjoint(np.linalg.inv(T[j])).T @ F[j]
        return T, V, Vd, F

    def local(self, i, T):
        """Return Ad_i of joint i alone, or, as printed, of all joints up to it."""
        A, th = self.A, self.state[0]
        if "cumulative Ad" not in self.misprints:
            return adjoint(exp(A[i] * th[i]))
        product = np.eye(4)
        for k in range(1, i + 1):
            product = product @ exp(A[k] * th[k])
        return adjoint(product)

    def differential(self):
        """P, Q, R (n, 6, 9 n) and S (n, 9 n), columns (η, θ, θ̇, θ̈)."""
        n, (_, thd, thdd) = len(self.parent) - 1, self.state
        T, V, Vd, F = self.dynamics()
        P, Q, R = (np.zeros((n + 1, 6, 9 * n)) for _ in range(3))
        S = np.zeros((n, 9 * n))
        for i in self.links:
            A, p = self.A[i], self.parent[i]
            E, up = self.local(i, T), adjoint(np.linalg.inv(self.M[i]))
            X = (
                np.linalg.inv(E)
                if "cumulative Ad" in self.misprints
                else adjoint(np.linalg.inv(T[i]))
            )
            back, vp, ap = np.linalg.inv(E), up @ V[p], up @ Vd[p]
            eta, at = slice(6 * (i - 1), 6 * i), 6 * n + i - 1
            Pb, Qb = np.zeros((2, 6, 9 * n))
            Pb[:, eta] = back @ ad(vp) @ (ONE - E) - ad(A * thd[i])
            Qb[:, eta] = back @ ad(ap) @ (ONE - E) - ad(V[i]) @ ad(A * thd[i]) - ad(A * thdd[i])
            Pb[:, at], Qb[:, at] = back @ ad(vp) @ A, back @ ad(ap) @ A
            Pb[:, at + n], Qb[:, at + n] = A, ad(V[i]) @ A
            Qb[:, at + 2 * n] = A
            P[i] = X @ P[p] + Pb
            Q[i] = X @ Q[p] - ad(A * thd[i]) @ P[i] + Qb
        sign = -1 if "line 30" in self.misprints else 1
        for i in reversed(self.links):
            G = self.G[i]
            R[i] += -(ad(V[i]).T @ G + sign * ad_star(G @ V[i])) @ P[i] + G @ Q[i]
            S[i - 1] = self.A[i] @ R[i]
            if "no ad in S" not in self.misprints:
                S[i - 1, 6 * (i - 1) : 6 * i] -= F[i] @ ad(self.A[i])
            p, Xt = self.parent[i], adjoint(np.linalg.inv(T[i])).T
            back = np.linalg.inv(self.local(i, T))
            R[p] += Xt @ R[i]
            R[p][:, 6 * (i - 1) : 6 * i] -= Xt @ ad_star(F[i]) @ (back - ONE)
            R[p][:, 6 * n + i - 1] -= Xt @ ad_star(F[i]) @ self.A[i]
        return P[1:], Q[1:], R[1:], S
