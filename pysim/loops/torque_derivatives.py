"""Derivatives of the actuated torque of a closed mechanism with respect to its state and its joint axes.

    τ̂ = Eᵀ τ(q, v, v̇)        v = E v_a        J v̇ + J̇ v = 0        passive coordinates follow
    dτ̂ = Eᵀ (∂τ/∂λ dλ) + dEᵀ τ            λ = (η, q, v, v̇)

Every direction is propagated through the closure at three orders, with J_p the passive columns of J:

    dq_p = −J_p⁺ Wᵀ ξ        dv_p = −J_p⁺ dġ        dv̇_p = −J_p⁺ dg̈

where ξ, dġ and dg̈ are the effects on the loops of the changes of lower order, by differential dynamics of the bodies;
and J dE = −(dJ) E is dġ for velocities equal to the columns of E. No finite differences are used. After J. Kwon,
Differential Dynamics and Mesh-Based Inertia, equation 14, as corrected and extended: there only η and θ of one five-bar
change; here any loops and couplings stay closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import differential_dynamics, forward_kinematics, rnea
from pysim.errors import PysimError
from pysim.loops.constraints import DEPENDENT, constraints
from pysim.loops.row_derivatives import Change, Motion, couplings_of, loops_of
from pysim.mechanism.constraint_compiler import rows_of
from pysim.spatial import Ad, inverse
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.loops.actuation import ActuationMap
    from pysim.mechanism.model import Model

_ROW_TOLERANCE = 1e-8  # residual of rows that may remain open


@dataclass(frozen=True)
class TorqueDerivatives:
    """Derivatives of τ̂ (active,) [N or N·m]; passive coordinates follow the active ones with the loops closed.

    A column by η is NaN if moving that axis would lock the mechanism, as tilting a hinge of a planar linkage does.
    """

    torque: Array  # τ̂ (active,)
    q: Array  # (active, active), along q ⊕ dq
    v: Array  # (active, active)
    a: Array  # (active, active), Eᵀ M E
    eta: Array  # (active, 6·nbodies), columns as in `twist_derivatives`, at constant active coordinates
    E_q: Array  # ∂E/∂q_a (nv, active, active)
    E_eta: Array  # ∂E/∂η (nv, active, 6·nbodies)
    q_eta: Array  # ∂q/∂η (nv, 6·nbodies)


class _Closure:
    """Response of the loops and couplings of a mechanism to a change, in all directions at once."""

    def __init__(self, at: ActuationMap, d_eta: Array) -> None:
        self.at = at
        self.floating = _with_every_row(at.model).with_gravity(np.zeros(3))
        held = constraints(self.floating, at.q)
        self.loops = loops_of(self.floating, held)
        self.couplings = couplings_of(at.model, at.q)
        self.X = np.concatenate([forward_kinematics(at.model, at.q), np.eye(4)[None]])
        self.J_p = held.jacobian[:, at.passive]
        self.back = np.linalg.pinv(self.J_p, DEPENDENT)
        self.d_eta = d_eta
        self.by_eta = _displacements(at.model, self.X)

    def _motion(self, v: Array, a: Array) -> tuple[Motion, Array, Array]:
        """Return the motion of the bodies, and P and Q (bodies + 1, 6, columns); c in A = S v̇ + c is quadratic in v."""
        model = self.at.model
        P, Q = differential_dynamics(self.floating, self.at.q, v, a)[:2]
        P, Q = (np.concatenate([x, np.zeros((1, *x.shape[1:]))]) for x in (P, Q))
        by_v = slice(6 * model.nbodies + model.nv, 6 * model.nbodies + 2 * model.nv)
        return Motion(self.X, P[..., by_v] @ v, P[..., by_v] @ a + Q[..., by_v] @ v / 2), P, Q

    def follow(self, v: Array, a: Array, lead: Array, orders: Sequence[int] = (0, 1, 2)) -> Array:
        """Return (dq, dv, dv̇) (3, nv, directions) from `lead`, which keeps J dq, J dv and J dv̇ zero.

        A direction along which the loops cannot stay closed is NaN.
        """
        motion, P, Q = self._motion(v, a)
        total, stuck = lead.copy(), np.zeros(lead.shape[-1], bool)
        for order in orders:
            change = self._change(P, Q, total)
            rows = [loop.rows(motion, change)[order] for loop in self.loops]
            rows += [x.rows(v, a, total[0], total[1])[order][None] for x in self.couplings]
            opened = np.concatenate([np.zeros((0, total.shape[-1])), *rows])
            total[order, self.at.passive] -= self.back @ opened
            left = np.abs(opened - self.J_p @ (self.back @ opened)).max(axis=0, initial=0.0)
            size = np.fmax.reduce(np.abs(opened).ravel(), initial=1.0)
            stuck |= left > _ROW_TOLERANCE * size
        total[..., stuck] = np.nan
        return total

    def _change(self, P: Array, Q: Array, total: Array) -> Change:
        """Return ξ, dV and dA of the bodies for the parts of the change that are known so far."""
        size = 6 * self.at.model.nbodies
        by_q = P[..., size + self.at.model.nv : size + 2 * self.at.model.nv]
        along = np.concatenate([self.d_eta, *total])
        return Change(self.by_eta @ self.d_eta + by_q @ total[0], P @ along, Q @ along)


def torque_derivatives(at: ActuationMap, v_a: ArrayLike, a_a: ArrayLike) -> TorqueDerivatives:
    """Return the derivatives of `equivalent_torque` at active velocities v_a and accelerations a_a (active,).

    Raises:
        PysimError: v_a or a_a is not (active,) finite numbers, or there is a rolling wheel, whose position is not a
            function of the active coordinates.
    """
    model, n = at.model, len(at.active)
    for wheel in model.spec.wheels:
        problem = (
            f"the position of the wheel {wheel!r} depends on its path (nonholonomic); remove it"
        )
        raise PysimError("torque_derivatives", problem)
    v_a, a_a = one_row(v_a, "v_a", n), one_row(a_a, "a_a", n)
    size = 6 * model.nbodies
    d_eta = np.hstack([np.zeros((size, 3 * n)), np.eye(size)])
    closure = _Closure(at, d_eta)
    lead = np.zeros((3, model.nv, 3 * n + size))
    for order in range(3):
        lead[order, :, order * n : (order + 1) * n] = at.E
    v, a = at.velocity(v_a), at.acceleration(v_a, a_a)
    along = closure.follow(v, a, lead)
    turned = along * np.array([1.0, 0.0, 0.0])[:, None, None]  # of q alone
    dE = np.stack([closure.follow(E, 0 * E, turned, (1,))[1] for E in at.E.T], axis=1)
    tau = rnea(model, at.q, v, a)
    S = differential_dynamics(model, at.q, v, a).torque
    slopes = at.E.T @ S @ np.concatenate([d_eta, *along]) + np.einsum("iac,i->ac", dE, tau)
    by_q, by_v, by_a, by_eta = np.split(slopes, [n, 2 * n, 3 * n], axis=1)
    return TorqueDerivatives(
        at.E.T @ tau, by_q, by_v, by_a, by_eta, dE[..., :n], dE[..., 3 * n :], along[0][:, 3 * n :]
    )


def one_row(x: ArrayLike, name: str, n: int, each: str = "active coordinate") -> Array:
    """Return n finite numbers, one for each coordinate.

    Raises:
        PysimError: the argument has a wrong shape or NaN or infinite entries.
    """
    row = np.asarray(x, float)
    if row.shape != (n,):
        raise PysimError(name, f"must have shape ({n},), got {row.shape}; give one for each {each}")
    if not np.isfinite(row).all():
        raise PysimError(name, f"must be finite, got {row[~np.isfinite(row)][0]}")
    return row


def _with_every_row(model: Model) -> Model:
    """Return the model with its trivial rows restored, because moved axes may violate them."""
    loops = [
        description.replaced(independent=range(rows_of(loop)))
        for description, loop in zip(model.connections.loops, model.spec.loops, strict=True)
    ]
    return model.with_connections(replace(model.connections, loops=loops))


def _displacements(model: Model, X: Array) -> Array:
    """Return ∂ξ/∂η (bodies + 1, 6, 6·nbodies): joint frames displaced before the joint, and back after it."""
    moved = np.zeros((model.nbodies + 1, 6, 6 * model.nbodies))
    for b, parent in enumerate(model.parents):
        up = inverse(X[b])
        moved[b] = Ad(up @ X[parent]) @ moved[parent]
        moved[b, :, 6 * b : 6 * b + 6] = Ad(up @ X[parent] @ model.placements[b]) - np.eye(6)
    return moved
