"""The convex problem of a step with contacts, dense and slow, from the definitions in docs/theory/contact.md.

    minimise over v    ½ |v − v*|²_A + Σ P_i(J_i v + b_i)

P_i are potentials of contact points, stops, dry friction and bounded servos: functions of a velocity u that return
P(u), ∇P(u), ∇²P(u), where −∇P is the impulse. SciPy minimises their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from pysim.contact.laws import PairLaw
from pysim.typing import Array

Potential = Callable[[Array], tuple[float, Array, Array]]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class Term:
    """A potential of the velocity J v + b."""

    J: Array
    b: Array
    potential: Potential

    def load(self, v: Array) -> Array:
        """Return −Jᵀ γ (nv,) at a velocity."""
        load: Array = self.J.T @ self.potential(self.J @ v + self.b)[1]
        return load


def minimise(A: Array, free: Array, terms: Sequence[Term]) -> Array:
    """Return v, found in x = Lᵀ (v − v*) with A = L Lᵀ."""
    to_v = np.linalg.inv(np.linalg.cholesky(A)).T
    scaled = [(term.J @ to_v, term.J @ free + term.b, term.potential) for term in terms]

    def evaluate(x: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = float(x @ x) / 2, x.copy(), np.eye(len(x))
        for J, b, potential in scaled:
            P, slope, curvature = potential(J @ x + b)
            value += P
            gradient += J.T @ slope
            hessian += J.T @ curvature @ J
        return value, gradient, hessian

    x = scipy_minimize(
        lambda x: evaluate(x)[:2],
        np.zeros(len(free)),
        jac=True,
        hess=lambda x: evaluate(x)[2],
        method="trust-exact",
        options={"gtol": 1e-12},
    ).x
    for _ in range(5):  # the gradient is known to more digits than differences of the cost
        _, gradient, hessian = evaluate(x)
        corrected = x - np.linalg.solve(hessian, gradient)
        if np.linalg.norm(evaluate(corrected)[1]) >= np.linalg.norm(gradient):
            break
        x = corrected
    v: Array = free + to_v @ x
    return v


def normal_spring(law: PairLaw, h: float, x: float) -> Potential:
    """Return the potential of the impulse h K (x − h v)₊^m (1 − d v)₊ at a penetration x at the start."""
    K, m, d = law.stiffness, law.exponent, law.dissipation
    end = x / h if d == 0 else min(x / h, 1 / d)  # velocity at which the impulse ends

    def integral(depth: float) -> float:
        """Return ∫ K y^m (1 − d (x − y)/h) dy from 0 to a depth."""
        share: float = (1 - d * x / h) / (m + 1) + d * depth / h / (m + 2)
        return K * depth ** (m + 1) * share

    def potential(u: Array) -> tuple[float, Array, Array]:
        v = u[0]
        if v >= end:
            return 0.0, np.zeros(1), np.zeros((1, 1))
        depth, rest = x - h * v, 1 - d * v
        impulse = h * K * depth**m * rest
        slope = h * K * (m * h * depth ** (m - 1) * rest + d * depth**m)
        low = x - h * end
        if d * x <= h:  # the impulse ends with the overlap
            value = integral(depth)
        else:  # by quadrature, since the integrals cancel deep in a surface
            y = h * (end - v) * (NODES + 1) / 2  # from where the damper ends the impulse
            value = h * (end - v) / 2 * float(WEIGHTS @ (K * (low + y) ** m * d * y / h))
        return value, np.array([-impulse]), np.array([[slope]])

    return potential


def friction(y_0: Array, slope: float, radius: float) -> Potential:
    """Return the potential of the impulse −P(y_0 + slope u), P onto the ball of the radius [Huber 1964]."""

    def potential(u: Array) -> tuple[float, Array, Array]:
        y = y_0 + slope * u
        size, one = float(np.linalg.norm(y)), np.eye(len(y))
        if size <= radius:
            return float(y @ y) / (2 * slope), y, slope * one
        t = y / size
        across = radius * slope / size * (one - np.outer(t, t))
        return (radius * size - radius**2 / 2) / slope, radius * t, across

    return potential


def stop(k: float, c: float, h: float, x: float) -> Potential:
    """Return the potential of the impulse −(h k (x + h v) + c y)₊, y the part of h v that is beyond the limit."""
    slope = h * k + c

    def potential(u: Array) -> tuple[float, Array, Array]:
        push = max(k * x + c / h * min(x, 0.0) + slope * u[0], 0.0)
        return h * push**2 / (2 * slope), np.array([h * push]), np.array([[h * slope * (push > 0)]])

    return potential


def bounded_spring(
    a: float, c: float, bound: float, seen: tuple[float, float], h: float
) -> Potential:
    """Return the potential of the impulse h (clip(a − c v, ±bound) − (a* − c* v)), with a*, c* that v* has seen."""
    a_seen, c_seen = seen

    def potential(u: Array) -> tuple[float, Array, Array]:
        v, spring = u[0], a - c * u[0]
        force, beyond = np.clip(spring, -bound, bound), abs(spring) - bound
        integral = force**2 / 2 + bound * max(beyond, 0.0)  # of the force over the spring's
        value = h * (integral / c + a_seen * v - c_seen * v**2 / 2)
        slope = h * (c * (beyond <= 0) - c_seen)
        return value, np.array([h * (a_seen - c_seen * v - force)]), np.array([[slope]])

    return potential
