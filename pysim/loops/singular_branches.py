"""Branches of motion through singular configurations of closed mechanisms, found by following infinitesimal motions.

    J t = 0        Zᵀ J̇(t) t = 0 for every Z with Zᵀ J = 0        q' = close(q ⊕ s t)

The rows allow the infinitesimal motion t. If t extends to a finite motion, it also solves the second-order equations,
one for each self-stress Z of the rows [Connelly & Whiteley 1996, second-order rigidity]. At a bifurcation these select
the branches among the allowed motions; for an infinitesimally flexible but rigid structure they have no solution. They
only guide the search: a motion counts if a closed configuration is reached along it, at the intended distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba
from pysim.loops.closure_solver import CLOSED, rounding_of
from pysim.loops.constraints import constraints
from pysim.loops.null_space_solver import NullSpaceSolver
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.loops.closure_solver import ClosureIterate, Independence
    from pysim.mechanism.model import Model

_MOTION_LENGTHS = (0.02, 0.004, 0.1)  # [m or rad] of the fastest coordinate
# least distance of a neighbour relative to the intended one; the largest is its inverse
_LEAST_SHARE = 0.3
_SEEDS = 100  # number of starts of Newton's method for the second-order equations
_ITERATIONS = 20
_BRANCHES = 6  # number of their solutions that are followed
_LEAST_SINGULAR_VALUE = 1e-2  # of a singular value of B y, relative to the largest entry of B
_SAME_DIRECTION_COSINE = 0.99  # cosine between directions
# of fastest² [m or rad]²: below it, rows are dependent along whole branches
_LASTING_DEPENDENCE = 1e-6
_RANDOM_MOTIONS = 4  # number of allowed motions that are followed, and of random combinations
_DIFFERENCE = 1e-4  # [m or rad] of slopes of J
_OPENING_FACTOR = 4.0  # angles of redundant rows times the motion
_EXACT_ANGLE = 1e-12  # [rad] of redundant rows, below which they are so to rounding


def neighbours(
    model: Model, at: ClosureIterate, N: Array, Z: Array, independent: Independence
) -> Iterator[ClosureIterate]:
    """Yield closed configurations around a closed one, as many as are reached.

    Args:
        model: the mechanism.
        at: closed configuration.
        N: motions that the rows allow (nv, n), orthonormal in the norm of M.
        Z: self-stresses of the rows (rows, k), Zᵀ J = 0.
        independent: what counts as a row of its own.
    """
    rng = np.random.default_rng(0)
    n = N.shape[1]
    allowed = [
        N @ y for y in (*_branches(model, at, N, Z, rng), *rng.normal(size=(_RANDOM_MOTIONS, n)))
    ]
    solver = NullSpaceSolver(model, at, independent)
    for motion in (*allowed, *rng.normal(size=(_RANDOM_MOTIONS, model.nv))):
        for length in _MOTION_LENGTHS:
            step = length * motion / np.abs(motion).max()
            there = solver.close(step)
            moved = np.abs(model.difference(at.q, there.q)).max()
            if (
                _is_closed(at, there, length, independent)
                and _LEAST_SHARE * length < moved < length / _LEAST_SHARE
            ):
                yield there
                break


def followed(model: Model, at: ClosureIterate, N: Array, independent: Independence) -> int:
    """Return the number of motions N (nv, n), as of `neighbours`, that have a finite continuation from q.

    A motion without a continuation falls back onto others, so the rank of all reached displacements is returned.
    """
    M = crba(model, at.q)
    solver = NullSpaceSolver(model, at, independent)
    reached = np.zeros((N.shape[1], N.shape[1]))
    for k, motion in enumerate(N.T):
        for length in (sign * x for x in _MOTION_LENGTHS[:2] for sign in (1, -1)):
            s = length / np.abs(motion).max()
            there = solver.close(s * motion)
            came = model.difference(at.q, there.q) / s
            along = N.T @ M @ came
            aside = came - N @ along
            closed = _is_closed(at, there, abs(length), independent)
            if closed and aside @ M @ aside < 1 and np.linalg.norm(along) < 1 / _LEAST_SHARE:
                reached[k] = max(reached[k], along, key=np.linalg.norm)
            if np.linalg.norm(reached[k]) > 1 - _LEAST_SHARE:
                break
    return int((np.linalg.svd(reached, compute_uv=False) > _LEAST_SHARE).sum())


def _is_closed(
    at: ClosureIterate, there: ClosureIterate, length: float, independent: Independence
) -> bool:
    """Return whether no more is left than rounding, or than rows open that are redundant but for a small angle."""
    exact = at.largest <= CLOSED and independent.aside <= _EXACT_ANGLE
    opened = (
        _OPENING_FACTOR
        * independent.aside
        * length
        * float(np.abs(there.at.jacobian).max(initial=0.0))
    )
    left = np.maximum(CLOSED, rounding_of(there.at.jacobian, there.q)) if exact else there.allowed
    return bool((np.abs(there.at.residual) <= left + opened).all())


def _branches(
    model: Model, at: ClosureIterate, N: Array, Z: Array, rng: np.random.Generator
) -> Array:
    """Return directions y (m, n) for which B(y, y) = 0, B bilinear, by Newton's method on the sphere.

    Near the configuration in direction y, the rank is higher by that of B y; directions of highest rank come first.
    """
    B = _second_order(model, at, N, Z)
    y = rng.normal(size=(_SEEDS, N.shape[1]))
    for _ in range(_ITERATIONS if B.any() else 0):
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        slope = B @ y[:, None, :, None]
        left = slope[..., 0] @ y[..., None]
        slopes = np.concatenate([2 * slope[..., 0], y[:, None]], axis=1)
        y -= (np.linalg.pinv(slopes, 1e-6) @ np.pad(left, ((0, 0), (0, 1), (0, 0))))[..., 0]
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    slope = (B @ y[:, None, :, None])[..., 0]
    left = np.linalg.norm(slope @ y[..., None], axis=(1, 2))
    rises = (np.linalg.svd(slope, compute_uv=False) > _LEAST_SINGULAR_VALUE).sum(axis=1)
    found: list[Array] = []
    for k in np.lexsort((left, -rises)):
        if all(abs(y[k] @ other) < _SAME_DIRECTION_COSINE for other in found):
            found.append(y[k])
    return np.array(found[:_BRANCHES])


def _second_order(model: Model, at: ClosureIterate, N: Array, Z: Array) -> Array:
    """Return B (k, n, n) with B(y, y) = Zᵀ J̇(t) t, t = N y, scaled to 1, from differences of J along columns of N."""
    n = N.shape[1]
    B = np.zeros((n, n, Z.shape[1]))
    for i, motion in enumerate(N.T):
        step = _DIFFERENCE / np.abs(motion).max() * motion
        q = np.array([model.integrate(at.q, sign * step) for sign in (1, -1)])
        ahead, behind = constraints(model, q, loop_q=np.tile(at.at.loop_q, (2, 1))).jacobian
        B[i] = N.T @ ((ahead - behind).T @ Z) * (np.abs(motion).max() / (2 * _DIFFERENCE))
    B = np.moveaxis(B + np.swapaxes(B, 0, 1), 2, 0) / 2
    size, fastest = np.abs(B).max(initial=0.0), np.abs(N).max() ** 2
    return np.asarray(B / size if size > _LASTING_DEPENDENCE * fastest else 0 * B)
