"""Actuation of closed mechanisms: the motion and the torques of active coordinates, with passive ones following.

    J_a v_a + J_p v_p = 0      v_p = G v_a,   G = −J_p⁺ J_a,   v = E v_a        [Kwon, eq. 12]
    τ̂ = τ_a + Gᵀ τ_p = Eᵀ τ                                                     [Kwon, eq. 13]

τ is the torque of the tree without loops; τ̂ is the torque of the active joints if the passive ones are unactuated. This
holds for any loops and couplings whose passive coordinates follow from the active ones. After J. Kwon, Differential
Dynamics and Mesh-Based Inertia, section 3, which treats one five-bar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import crba, rnea
from pysim.errors import ModelError, UnknownModelNameError, did_you_mean
from pysim.loops.constraints import DEPENDENT, Constraints, constraints, kind_of_constraint
from pysim.loops.torque_derivatives import TorqueDerivatives, one_row, torque_derivatives
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model


_LOOP_TOLERANCE = 1e-6  # [m, rad] of a loop


@dataclass(frozen=True)
class ActuationMap:
    """Linear map from active to all velocities of a closed mechanism at one configuration."""

    model: Model
    q: Array  # (nq,)
    active: NDArray[np.intp]  # coordinates of v
    passive: NDArray[np.intp]
    J_p: Array  # ∂v_p/∂v_a (passive, active)
    E: Array  # ∂v/∂v_a (nv, active)
    constraints: Constraints

    def velocity(self, v_a: ArrayLike) -> Array:
        """Return v (nv,) of the active velocities v_a (active,)."""
        return np.asarray(self.E @ one_row(v_a, "v_a", len(self.active)))

    def acceleration(self, v_a: ArrayLike, a_a: ArrayLike) -> Array:
        """Return v̇ (nv,) of the active velocities and accelerations (active,): v̇ = E v̇_a + Ė v_a."""
        a = self.E @ one_row(a_a, "a_a", len(self.active))
        bias = constraints(self.model, self.q, self.velocity(v_a)).bias
        columns = self.constraints.jacobian[:, self.passive]
        a[self.passive] -= np.linalg.pinv(columns, DEPENDENT) @ bias
        return np.asarray(a)

    def equivalent_torque(self, v: ArrayLike, a: ArrayLike) -> Array:
        """Return τ̂ (active,) [N or N·m] that moves the mechanism with v and v̇ (nv,), gravity included."""
        return np.asarray(self.E.T @ rnea(self.model, self.q, v, a))

    def torque_by_velocity(self, v: ArrayLike) -> Array:
        """Return ∂τ̂/∂v (active, nv); the tree's torque is quadratic in v, so differences are exact."""
        v = one_row(v, "v", self.model.nv, "coordinate")
        size = max(1.0, float(np.abs(v).max(initial=0.0)))
        step = size * np.eye(self.model.nv)
        q = np.broadcast_to(self.q, (self.model.nv, self.model.nq))
        none = np.zeros_like(step)
        ahead, behind = rnea(self.model, q, v + step, none), rnea(self.model, q, v - step, none)
        return np.asarray(self.E.T @ (ahead - behind).T / (2 * size))

    def torque_by_acceleration(self) -> Array:
        """Return ∂τ̂/∂v̇ (active, nv) = Eᵀ M."""
        return np.asarray(self.E.T @ crba(self.model, self.q))

    def torque_derivatives(self, v_a: ArrayLike, a_a: ArrayLike) -> TorqueDerivatives:
        """Return the derivatives of τ̂ by the active coordinates, velocities and accelerations, and by joint axes.

        The loops stay closed: passive coordinates, velocities and accelerations follow. Without this dependence, the
        derivatives of the tree are `Eᵀ rnea_derivatives(…)` and `Eᵀ twist_derivatives(…)`.

        Args:
            v_a: velocities of the active coordinates (active,).
            a_a: their accelerations (active,) [m/s² or rad/s²].

        Raises:
            PysimError: an argument has a wrong shape or NaN or infinite entries.
        """
        return torque_derivatives(self, v_a, a_a)


def actuation_map(model: Model, q: ArrayLike, active: str | Sequence[str]) -> ActuationMap:
    """Return the map from the coordinates `active` to all at q (nq,), at which the loops must be closed.

    Args:
        model: mechanism with loops or couplings.
        q: configuration (nq,).
        active: names among `model.velocity_names`, as many as the mechanism has degrees of freedom.

    Raises:
        ModelError: a loop or coupling is open at q, a coordinate is unknown, or the others do not follow from these.
    """
    _engine.check_model(model)
    q = np.asarray(q, float)
    names = list(model.velocity_names)
    active = [active] if isinstance(active, str) else active
    for name in active:
        if name not in names:
            problem = f"no such coordinate{did_you_mean(name, names)}"
            raise UnknownModelNameError(f"active {name!r}", problem)
    own = np.array([names.index(name) for name in active], np.intp)
    rest = np.setdiff1d(np.arange(model.nv), own)
    at = constraints(model, q)
    _refuse_open(model, at)
    _check(model, at.jacobian, own, rest)
    G = -np.linalg.pinv(at.jacobian[:, rest], DEPENDENT) @ at.jacobian[:, own]
    E = np.zeros((model.nv, len(own)))
    E[own, np.arange(len(own))] = 1
    E[rest] = G
    return ActuationMap(model, q, own, rest, G, E, at)


def _refuse_open(model: Model, at: Constraints) -> None:
    """Reject a configuration with an open loop, at which J_p has no meaning."""
    left = np.abs(at.residual)
    if left.max(initial=0.0) <= _LOOP_TOLERANCE:
        return
    row = int(left.argmax())
    name = model.row_names[row]
    open_by = f"{kind_of_constraint(model, name)} {name!r} is open by {left[row]:.3g} [m, rad] here"
    raise ModelError("q", f"{open_by}; give what `assemble` returns")


def _check(model: Model, J: Array, active: NDArray[np.intp], passive: NDArray[np.intp]) -> None:
    """Reject active coordinates that do not determine the others, or that are dependent."""
    rank, follow = (int(np.linalg.matrix_rank(x, DEPENDENT)) for x in (J, J[:, passive]))
    degrees = model.nv - rank
    if len(active) != degrees or follow < len(passive):
        names = ", ".join(model.velocity_names[k] for k in active)
        many = "s" * (degrees != 1)
        problem = (
            f"{names or 'no coordinate'} cannot determine the motion of the mechanism, which has {degrees} "
            f"degree{many} of freedom here; name {degrees} independent coordinate{many} from which the others follow "
            "at this configuration"
        )
        raise ModelError("active", problem)
