"""Linear-quadratic regulator: gains of a state feedback that minimises a quadratic cost.

    u = −K x        minimises ∫ (xᵀQx + uᵀRu + 2 xᵀNu) dt, or the sum over samples
    K = R⁻¹ (Bᵀ S + Nᵀ)                         continuous
    K = (R + Bᵀ S B)⁻¹ (Bᵀ S A + Nᵀ)            sampled

S solves the Riccati equation, by SciPy [Anderson and Moore 1990].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.analysis.linear_system import LinearSystem
from pysim.errors import PysimError
from pysim.spatial.arrays import real_numbers
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Regulator", "lqr"]

_SYMMETRIC = 1e-9  # of the largest entry
_SEMIDEFINITE = 1e-10  # of the largest eigenvalue: below zero by rounding


@dataclass(frozen=True)
class Regulator:
    """Gains of a linear-quadratic regulator."""

    K: Array  # (inputs, states): u = −K x
    S: Array  # (states, states): the cost from x on is xᵀ S x
    poles: NDArray[np.complex128]  # of the closed loop: s [1/s], or z of a sampled system

    @property
    def gain(self) -> list[list[float]]:
        """K as the key `gain` of a `state_feedback` controller takes it."""
        rows: list[list[float]] = self.K.tolist()
        return rows


def lqr(
    system: LinearSystem | tuple[ArrayLike, ArrayLike],
    Q: ArrayLike,
    R: ArrayLike,
    N: ArrayLike | None = None,
    *,
    sampled: bool | None = None,
    states: Sequence[str] | None = None,
) -> Regulator:
    """Return the gains K of u = −K x that minimise the cost of xᵀ Q x + uᵀ R u + 2 xᵀ N u.

    Args:
        system: what `pysim.linearize` returns, or A (n, n) and B (n, m).
        Q: cost of the states: (n, n), its diagonal (n,), or one number; positive semidefinite.
        R: cost of the inputs: (m, m), its diagonal (m,), or one number; positive definite.
        N: cost of products (n, m); none by default.
        sampled: whether A and B map a sample to the next; as the system is by default, False for matrices.
        states: names of the system's states to which Q and the gain apply, all by default; those left out must not act
            on them (`LinearSystem.reduced`).

    Raises:
        PysimError: a matrix has a wrong shape, is not symmetric or not (semi)definite, or no feedback stabilises the
            system.

    >>> A, B = [[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]]  # a mass that a force pushes
    >>> pysim.lqr((A, B), Q=[1.0, 0.0], R=1.0).K.round(4).tolist()
    [[1.0, 1.4142]]
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are  # noqa: PLC0415, 0.1 s

    if isinstance(system, LinearSystem):
        system.warn_off_equilibrium("lqr")
        system = system if states is None else system.reduced(states)
        A, B = system.A, system.B
        sampled = system.period is not None if sampled is None else sampled
    elif states is not None:
        raise PysimError("states", "are those of a system of pysim.linearize; leave them out")
    else:
        A, B = _matrices(system)
    n, m = len(A), B.shape[1]
    if A.shape != (n, n) or B.shape[0] != n or not (np.isfinite(A).all() and np.isfinite(B).all()):
        problem = f"A and B must be finite (n, n) and (n, m), got {A.shape} and {B.shape}"
        raise PysimError("lqr", problem)
    if m == 0:
        problem = (
            'the system has no input; add a [[signal]] with type = "input" that an actuator follows'
        )
        raise PysimError("lqr", problem)
    cost = _cost(Q, n, "Q", definite=False)
    effort = _cost(R, m, "R", definite=True)
    cross = None if N is None else real_numbers(N, "N")
    if cross is not None and cross.shape != (n, m):
        raise PysimError("N", f"must have shape ({n}, {m}), got {cross.shape}")
    solve = solve_discrete_are if sampled else solve_continuous_are
    try:
        S = np.asarray(solve(A, B, cost, effort, s=cross))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise PysimError("lqr", _unstable(A, B, sampled=bool(sampled))) from error
    product = B.T @ S @ A if sampled else B.T @ S
    if cross is not None:
        product = product + cross.T
    K = np.linalg.solve(effort + B.T @ S @ B if sampled else effort, product)
    poles = np.linalg.eigvals(A - B @ K).astype(complex)
    stable = np.abs(poles) < 1 if sampled else poles.real < 0
    if not stable.all():
        raise PysimError("lqr", _unstable(A, B, sampled=bool(sampled)))
    return Regulator(K, S, poles)


def _matrices(system: object) -> tuple[Array, Array]:
    """Return A and B of a pair."""
    if not isinstance(system, tuple | list) or len(system) != 2:
        kind = type(system).__name__
        raise PysimError(
            "system", f"must be what pysim.linearize returns, or (A, B), got {kind}; give A and B"
        )
    A, B = (
        np.atleast_2d(real_numbers(x, name)) for name, x in zip(("A", "B"), system, strict=True)
    )
    return A, B


def _cost(given: ArrayLike, size: int, name: str, *, definite: bool) -> Array:
    """Return a symmetric matrix (size, size) from a number, a diagonal or a matrix."""
    array = real_numbers(given, name)
    matrix = np.diag(np.broadcast_to(array, (size,))) if array.shape in {(), (size,)} else array
    if matrix.shape != (size, size):
        problem = f"must be a number, {size} numbers or ({size}, {size}), got {array.shape}"
        raise PysimError(name, problem)
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        where = f" at {at}" if at else ""
        problem = f"must be finite, got {array[tuple(at)]}{where}; give finite costs"
        raise PysimError(name, problem)
    largest = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > _SYMMETRIC * largest:
        raise PysimError(name, "must be symmetric; take (M + Mᵀ)/2")
    values = np.linalg.eigvalsh(matrix)
    least = float(values.min(initial=np.inf))
    if definite and not least > 0:
        problem = f"must be positive definite: every input needs a cost; its least eigenvalue is {least:g}"
        raise PysimError(name, problem)
    if least < -_SEMIDEFINITE * largest:
        problem = f"must be positive semidefinite; its least eigenvalue is {least:g}"
        raise PysimError(name, problem)
    return np.asarray((matrix + matrix.T) / 2)


def _unstable(A: Array, B: Array, *, sampled: bool) -> str:
    """Return why there is no regulator: a mode that the inputs do not move, or that has no cost."""
    n = len(A)
    values = np.linalg.eigvals(A)
    for s in values:
        if abs(s) < 1 if sampled else s.real < 0:
            continue
        pencil = np.hstack([A - s * np.eye(n), B])
        least = np.linalg.svd(pencil, compute_uv=False)[-1]
        if least < 1e-9 * max(1.0, float(np.abs(A).max())):
            return f"the inputs do not move the mode at {s:.4g}, which does not decay; add an input that does"
    problem = "no feedback that minimises the cost stabilises the system"
    return f"{problem}; give a cost in Q to every mode that does not decay"
