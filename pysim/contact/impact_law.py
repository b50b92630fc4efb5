"""Impacts: instantaneous changes of velocity at contact points, with Newton's restitution and Coulomb's friction.

    c⁺ = c⁻ + G Λ            G = J M⁻¹ Jᵀ, the Delassus matrix of the points
    0 ≤ Λ_n  ⟂  c_n⁺ − e (−c_n⁻)₊ ≥ 0          [Moreau 1988]
    |Λ_t| ≤ μ Λ_n            Λ_t opposes c_t⁺ where the point slides

    c     velocity of the second body's point relative to the first one's surface: normal, two tangents [m/s]
    Λ     impulse on the second body, likewise [N·s]

Semismooth Newton steps on these conditions [Alart, Curnier 1991] start from projected Gauss-Seidel sweeps. Points of a
rigid body are often redundant; of all impulses that give the same velocities, those of equally compliant points are
taken, the limit of proximal steps.

With friction, Newton's restitution can add energy [Kane, Levinson 1985]. The restitution of such an impact is reduced
to the largest one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pysim.typing import Array

_SWEEPS = 20  # of Gauss-Seidel before Newton's method
_ITERATIONS = 60  # of Newton's method
_COMPLIANCES = tuple(10.0**-k for k in range(2, 13))  # of proximal steps, of G's largest entry
_ACCEPTED_MISS = 1e-4  # of the velocities, by which a solution may miss the conditions
_EXACT_RESIDUAL = 1e-13  # of the impulses, or of the velocities: residual of a solution
_GAIN = 1e-12  # of the energy involved: gain that rounding explains
_BISECTIONS = 50


@dataclass(frozen=True)
class Impact:
    """Impulses (points, 3) [N·s] of an impact, and the factor by which its restitution was reduced."""

    impulses: Array
    factor: float = 1.0


def solve_impact(G: Array, c: Array, restitution: Array, friction: Array) -> Impact | None:
    """Return the impulses of an impact, None if none are found.

    Args:
        G: Delassus matrix (3 points, 3 points) [1/kg].
        c: velocities before (points, 3) [m/s].
        restitution: coefficients (points,).
        friction: coefficients (points,).
    """
    full = _impulses(G, c, restitution, friction)
    if full is None or not _gains(G, c, full):
        return None if full is None else Impact(full)
    low, high = 0.0, 1.0
    best = _impulses(G, c, 0 * restitution, friction)
    for _ in range(_BISECTIONS):
        if best is None:
            return None
        middle = (low + high) / 2
        trial = _impulses(G, c, middle * restitution, friction)
        if trial is None or _gains(G, c, trial):
            high = middle
        else:
            low, best = middle, trial
    return None if best is None else Impact(best, low)


def _gains(G: Array, c: Array, impulses: Array) -> bool:
    """Return whether an impact adds energy, as seen from the surfaces."""
    x = impulses.ravel()
    change = x @ (c.ravel() + 0.5 * (G @ x))
    return bool(change > _GAIN * 0.5 * (x @ G @ x))


def _impulses(G: Array, c: Array, restitution: Array, friction: Array) -> Array | None:
    b = c.copy()
    b[:, 0] -= restitution * np.maximum(0.0, -c[:, 0])
    found = _ImpulseComplementarity(G, b.ravel(), friction).solve()
    return None if found is None else found.reshape(-1, 3)


@dataclass(frozen=True)
class _ImpulseComplementarity:
    """Conditions of an impact, as above, on the impulses x = Λ of points with y = G x + b."""

    G: Array
    b: Array
    friction: Array

    def solve(self) -> Array | None:
        """Return the solution, None if none is found.

        Proximal steps go on, with ever less compliance, while each at least halves the velocity by which the conditions
        are missed: velocities of redundant points contradict each other by rounding.
        """
        x = self._swept(_COMPLIANCES[0])
        center, solution, least = np.zeros_like(x), None, _ACCEPTED_MISS
        for share in _COMPLIANCES:
            found = self._newton(x, center, share)
            if found is None:
                return solution
            missed = share * self._size * float(np.abs(found - center).max())
            missed /= max(float(np.abs(self.b).max()), 1e-300)
            x = center = found
            if missed <= least:
                solution = found
            elif solution is not None:
                return solution
            least = min(least, 0.5 * missed)
            if missed <= _EXACT_RESIDUAL:
                return solution
        return solution

    @property
    def _size(self) -> float:
        return float(self.G.diagonal().max())

    def _swept(self, share: float) -> Array:
        """Return impulses after sweeps of projected Gauss-Seidel."""
        x = np.zeros(len(self.b))
        for _ in range(_SWEEPS):
            for k, mu in enumerate(self.friction):
                n, t = 3 * k, slice(3 * k + 1, 3 * k + 3)
                x[n] = max(0.0, x[n] - self._scale(n, n + 1, share) * (self.G[n] @ x + self.b[n]))
                moved = x[t] - self._scale(n + 1, n + 3, share) * (self.G[t] @ x + self.b[t])
                x[t] = _on_disk(moved, mu * x[n])
        return x

    def _scale(self, first: int, end: int, share: float) -> float:
        return 1.0 / (float(self.G.diagonal()[first:end].max()) + share * self._size)

    def _newton(self, x: Array, center: Array, share: float) -> Array | None:
        size = float(np.abs(self.b).max()) / self._size
        size = max(size, float(np.abs(x).max()), 1e-300)
        for _ in range(_ITERATIONS):
            F, slope = self._residual(x, center, share)
            if np.abs(F).max() <= _EXACT_RESIDUAL * size:
                return x
            try:
                x = x - np.linalg.solve(slope, F)
            except np.linalg.LinAlgError:
                return None
        return None

    def _residual(self, x: Array, center: Array, share: float) -> tuple[Array, Array]:
        """Return the residual of the conditions of a proximal step, and its generalised derivative."""
        compliance = share * self._size
        H = self.G + compliance * np.eye(len(x))
        y = self.G @ x + self.b + compliance * (x - center)
        F, slope = np.zeros(len(x)), np.zeros_like(H)
        for k, mu in enumerate(self.friction):
            n, t = 3 * k, slice(3 * k + 1, 3 * k + 3)
            scale = self._scale(n, n + 1, share)
            if x[n] - scale * y[n] > 0:
                F[n], slope[n] = scale * y[n], scale * H[n]
            else:
                F[n], slope[n, n] = x[n], 1.0
            scale = self._scale(n + 1, n + 3, share)
            z = x[t] - scale * y[t]
            radius, length = mu * max(x[n], 0.0), float(np.hypot(*z))
            if length <= radius:
                F[t], slope[t] = scale * y[t], scale * H[t]
                continue
            d = z / length
            F[t] = x[t] - radius * d
            slope[t] = radius / length * ((np.eye(2) - np.outer(d, d)) @ (scale * H[t]))
            slope[t, t] += np.eye(2) - radius / length * (np.eye(2) - np.outer(d, d))
            if x[n] > 0:
                slope[t, n] -= mu * d
        return F, slope


def _on_disk(z: Array, radius: float) -> Array:
    """Return the nearest point of a disk."""
    length = float(np.hypot(*z))
    return z if length <= radius else radius / length * z
