"""Derivatives of the rows of closed loops and couplings with respect to the motion of their bodies.

    X_AB ← X_AB e^[ξ]     Wᵀ ξ = 0     Wᵀ (dV_AB − dV_J) = 0     Wᵀ (dA_AB − dA_J) = 0

V_AB is the twist of B relative to A, in B; V_J = S φ̇ and A_J = S φ̈ + c are those of the joint that closes the loop,
whose φ follows X_AB. Their derivatives by φ come from differential dynamics of that joint alone, so a loop may be
closed by any joint, including a traced plugin; rows of points in a plane, on a line or at a distance are differentiated
analytically. All directions are differentiated at once, one column each. The derivatives are exact if the loops are
closed and their velocities and accelerations satisfy the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim._engine import JointDescription, LoopKind
from pysim.joints.relation import find_relation, relation_derivatives
from pysim.spatial import Ad, ad, inverse
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim._engine import MotionDescription
    from pysim.loops.constraints import Constraints
    from pysim.mechanism.model import Model


class Motion(NamedTuple):
    """Poses, twists and rates of their components, of every body in its own frame, and of the world as last row."""

    X: Array  # (bodies + 1, 4, 4)
    V: Array  # (bodies + 1, 6)
    A: Array  # (bodies + 1, 6), gravity left out


class Change(NamedTuple):
    """Change of a motion along some directions: X ← X e^[ξ], dV, dA (bodies + 1, 6, directions)."""

    xi: Array
    V: Array
    A: Array


class Relative(NamedTuple):
    """X_AB, V_AB and A_AB of one loop, or their changes ξ, dV_AB, dA_AB (6, directions)."""

    X: Array
    V: Array
    A: Array


@dataclass(frozen=True)
class Loop:
    """Loop of a model: its bodies, the frames A and B on them, and its rows."""

    a: int
    b: int
    at_a: Array  # (4, 4)
    at_b: Array
    W: Array  # unit wrenches of its rows, in B (rows, 6)
    phi: Array  # coordinates of the joint that closes it
    joint: _engine.Model | None  # model of that joint alone; None for point constraints
    distance: bool

    def rows(self, motion: Motion, change: Change) -> tuple[Array, Array, Array]:
        """Return the changes of g, ġ and g̈, each (rows, directions)."""
        at, moved = self._relative(motion, change)
        held = self._points(at, moved) if self.joint is None else self._joint(self.joint, at, moved)
        return self.W @ moved.X, *held

    def _relative(self, motion: Motion, change: Change) -> tuple[Relative, Relative]:
        """Return V_AB = V_B − X_BA V_A, A_AB = A_B − X_BA A_A − V_B × V_AB and their changes, X_BA ← e^[−ξ] X_BA."""
        X_AB = inverse(motion.X[self.a] @ self.at_a) @ motion.X[self.b] @ self.at_b
        of_a, of_b = Ad(inverse(X_AB)) @ Ad(inverse(self.at_a)), Ad(inverse(self.at_b))
        V_A, V_B = of_a @ motion.V[self.a], of_b @ motion.V[self.b]
        A_A, A_B = of_a @ motion.A[self.a], of_b @ motion.A[self.b]
        V = V_B - V_A
        xi = of_b @ change.xi[self.b] - of_a @ change.xi[self.a]
        dV_B = of_b @ change.V[self.b]
        dV = dV_B - of_a @ change.V[self.a] - ad(V_A) @ xi
        dA = of_b @ change.A[self.b] - of_a @ change.A[self.a] - ad(A_A) @ xi
        dA += ad(V) @ dV_B - ad(V_B) @ dV
        return Relative(X_AB, V, A_B - A_A - ad(V_B) @ V), Relative(xi, dV, dA)

    def _joint(self, joint: _engine.Model, at: Relative, moved: Relative) -> tuple[Array, Array]:
        """Return Wᵀ (dV_AB − dV_J) and Wᵀ (dA_AB − dA_J), with dφ = S⁺ ξ and dφ̇ = S⁺ (dV_AB − ∂V_J/∂φ dφ)."""
        n = joint.nv
        if n == 0:
            return self.W @ moved.V, self.W @ moved.A
        still = np.zeros(n)
        S = _slopes(joint, self.phi, still, still)[0][:, 1]
        back = np.linalg.pinv(S)
        rate = back @ at.V
        bias = _slopes(joint, self.phi, rate, still)[1][:, 1] @ rate / 2  # c is quadratic in φ̇
        V_J, A_J = _slopes(joint, self.phi, rate, back @ (at.A - bias))
        d_phi = back @ moved.X
        dV = moved.V - V_J[:, 0] @ d_phi
        return self.W @ dV, self.W @ (moved.A - A_J[:, 0] @ d_phi - A_J[:, 1] @ (back @ dV))

    def _points(self, at: Relative, moved: Relative) -> tuple[Array, Array]:
        """Return Wᵀ dṗ and Wᵀ dp̈ of the origin p of B, in the axes of B: ṗ = R v, p̈ = R (v̇ + ω × v), dR = R [turn].

        A distance keeps p·ṗ = 0 and p·p̈ + ṗ·ṗ = 0, whose n = p/|p| turns: dp·ṗ and dp·p̈ + 2 ṗ·dṗ are added.
        """
        n, (v, w) = self.W[:, :3], (at.V[:3], at.V[3:])
        step, turn = moved.X[:3], moved.X[3:]
        dv, dw = moved.V[:3], moved.V[3:]
        pdd = at.A[:3] + np.cross(w, v)
        d_pd = dv - np.cross(v, turn, axisb=0, axisc=0)
        d_pdd = moved.A[:3] + np.cross(w, dv, axisb=0, axisc=0)
        d_pdd -= np.cross(v, dw, axisb=0, axisc=0) + np.cross(pdd, turn, axisb=0, axisc=0)
        rows = n @ d_pd, n @ d_pdd
        if not self.distance:
            return rows
        reach = np.linalg.norm(at.X[:3, 3])
        return rows[0] + v @ step / reach, rows[1] + (pdd @ step + 2 * v @ d_pd) / reach


def _slopes(joint: _engine.Model, phi: Array, rate: Array, rates: Array) -> tuple[Array, Array]:
    """Return ∂V_J (6, 2, nv) by φ and φ̇, ∂A_J (6, 2, nv) alike; ∂V_J/∂φ̇ is S."""
    P, Q = _engine.differential_dynamics(joint, phi, rate, rates)[:2]
    V, A = (x[0, :, 6 : 6 + 2 * joint.nv].reshape(6, 2, joint.nv) for x in (P, Q))
    return V, A


def _alone(motion: MotionDescription) -> _engine.Model:
    """Return a model of one massless joint with this motion."""
    return _engine.Model([JointDescription("joint", motion)], np.zeros((1, 10)), np.zeros(3))


def loops_of(model: Model, at: Constraints) -> list[Loop]:
    """Return the loops of a model at the configuration of its constraints `at`, one state."""
    loops: list[Loop] = []
    row = coordinate = 0
    for loop, rows in zip(model.connections.loops, model.loop_rows, strict=True):
        alone = _alone(loop.motion)
        joint = alone if loop.kind is LoopKind.joint else None
        W = at.wrenches[row : row + rows]
        phi = at.loop_q[coordinate : coordinate + alone.nq]
        distance = loop.kind is LoopKind.distance
        loops.append(Loop(loop.a, loop.b, loop.at_a, loop.at_b, W, phi, joint, distance))
        row, coordinate = row + rows, coordinate + alone.nq
    return loops


@dataclass(frozen=True)
class Coupling:
    """Coupling g = Σ c q − offset − f(x), with the second and third derivatives of f at a configuration."""

    inputs: NDArray[np.intp]  # of v
    second: Array  # f″ (inputs, inputs)
    third: Array  # f‴ (inputs, inputs, inputs)

    def rows(self, v: Array, a: Array, dq: Array, dv: Array) -> tuple[Array, Array, Array]:
        """Return the changes of g, ġ and g̈ (directions,) with dq and dv (nv, directions), without J dq, J dv, J dv̇."""
        v, a, dq, dv = (x[self.inputs] for x in (v, a, dq, dv))
        once = v @ self.second
        by_q = a @ self.second + v @ (v @ self.third)
        return np.zeros(dq.shape[1]), -once @ dq, -by_q @ dq - 2 * once @ dv


def couplings_of(model: Model, q: Array) -> list[Coupling]:
    """Return the couplings of a model at q (nq,)."""
    couplings = []
    for spec, coupling in zip(model.spec.couplings, model.connections.couplings, strict=True):
        inputs = coupling.inputs
        at = np.array([x.v for x in inputs], np.intp)
        n = len(inputs)
        second, third = np.zeros((n, n)), np.zeros((n, n, n))
        if spec.function is not None and inputs:
            x = q[[x.q for x in inputs]]
            _, second, third = relation_derivatives(find_relation(spec.function), x)
        couplings.append(Coupling(at, second, third))
    return couplings
