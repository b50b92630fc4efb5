"""Newton's method near a singular configuration, split into the range and the null space of the rows there.

    A = J L⁻ᵀ = U S Vᵀ at the singular configuration,  M = L Lᵀ        U = [R Z],  V = [W N],  rank A = columns of R

    ⎡ Rᵀ A W   Rᵀ A N ⎤ ⎡ a ⎤     ⎡ Rᵀ g ⎤
    ⎢                 ⎥ ⎢   ⎥ = − ⎢      ⎥      at q        q ← q ⊕ L⁻ᵀ (W a + N b)
    ⎣ Zᵀ A W   Zᵀ A N ⎦ ⎣ b ⎦     ⎣ Zᵀ g ⎦

Rᵀ A W stays regular nearby, so a is eliminated; b is the least solution of the equations that are left, one for each
redundant row. This is the reduction of Lyapunov and Schmidt [Golubitsky and Schaeffer 1985, section I.3]. All rows are
decomposed once, not in every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba
from pysim.loops.closure_solver import ClosureIterate, Independence
from pysim.loops.constraints import constraints
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model

# [m, rad] residual at which a vanished row is distinguished from one that constrains
_CLOSED_RESIDUAL = 1e-14
_MOST_STEPS = 60
_PATIENCE_STEPS = 3
# of residuals after and before that many steps; at a root of any multiplicity one step reaches 0.4
_REQUIRED_RATIO = 0.5
_HALVINGS = 4
# length of a displacement relative to the intended one, below which it has fallen back to the start
_FALLEN_BACK_SHARE = 0.15
_LEAST_SLOPE = 1e-8  # [rad] slope of redundant rows that is followed
_ANGLE_FACTOR = 4.0  # times the angle of rows that are redundant only to the digits of a file


class NullSpaceSolver:
    """Solver for closed configurations around a singular one."""

    def __init__(self, model: Model, at: ClosureIterate, independent: Independence) -> None:
        self._model, self._at = model, at
        self._least = max(_LEAST_SLOPE, _ANGLE_FACTOR * independent.aside)
        self._scale = np.ravel(independent.length)
        L = np.linalg.cholesky(crba(model, at.q))
        self._root = L.T
        U, s, Vt = np.linalg.svd(self._scaled(np.linalg.solve(L, at.at.jacobian.T).T))
        self._rank = int((s > independent.least * s.max(initial=0.0)).sum())
        self._rows = U.T
        self._motions = np.linalg.solve(L.T, Vt.T)

    def close(self, step: Array) -> ClosureIterate:
        """Return the configuration reached from q ⊕ `step` (nv,); it is closed if a solution is near.

        An iterate that falls back to the singular configuration is returned open.
        """
        here = self._iterate(self._model.integrate(self._at.q, step))
        sizes, near = [here.size], _FALLEN_BACK_SHARE * self._length(step)
        for _ in range(_MOST_STEPS):
            slow = (
                len(sizes) > _PATIENCE_STEPS
                and sizes[-1] > _REQUIRED_RATIO * sizes[-1 - _PATIENCE_STEPS]
            )
            moved = self._length(self._model.difference(self._at.q, here.q))
            if here.largest <= _CLOSED_RESIDUAL or slow or moved < near:
                break
            last, here = here, self._next(here)
            if here is last:
                break
            sizes.append(here.size)
        return here

    def _next(self, here: ClosureIterate) -> ClosureIterate:
        """Return the next iterate, or `here` where nothing is gained."""
        step = self._step(here)
        for scale in 0.5 ** np.arange(_HALVINGS):
            there = self._iterate(self._model.integrate(here.q, scale * step))
            if there.size < here.size:
                return there
        return here

    def _step(self, here: ClosureIterate) -> Array:
        r = self._rank
        A = self._rows @ self._scaled(here.at.jacobian) @ self._motions
        g = self._rows @ self._scaled(here.at.residual)
        X = np.linalg.solve(A[:r, :r], np.column_stack([A[:r, r:], g[:r]]))
        left = np.column_stack([A[r:, r:], g[r:]]) - A[r:, :r] @ X
        b = -np.linalg.pinv(left[:, :-1], self._cut(left[:, :-1])) @ left[:, -1]
        return np.asarray(self._motions @ np.concatenate([-X[:, -1] - X[:, :-1] @ b, b]))

    def _length(self, displacement: Array) -> float:
        """Return the length of a displacement (nv,) in the norm of M."""
        return float(np.linalg.norm(self._root @ displacement))

    def _cut(self, slopes: Array) -> float:
        """Return the cut of singular values relative to the largest of `slopes`; rows are of unit length."""
        return self._least / max(float(np.linalg.norm(slopes)), self._least)

    def _scaled(self, rows: Array) -> Array:
        return np.asarray((rows.T / self._scale).T)

    def _iterate(self, q: Array) -> ClosureIterate:
        return ClosureIterate(
            self._model, q, constraints(self._model, q, loop_q=self._at.at.loop_q)
        )
