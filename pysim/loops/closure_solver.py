"""Solver for closed configurations: damped Gauss-Newton descent in the norm of the mass matrix.

    δ = −L⁻ᵀ Aᵀ (A Aᵀ + μ)⁻¹ g,   A = J L⁻ᵀ,  M = L Lᵀ        q ← q ⊕ s δ,  0 < s ≤ 1

With μ = 0 this is Gauss-Newton in the norm of M, which takes the smallest steps that close the loops; if it gains
little, the best of several damping values is taken [Levenberg 1944]. Steps are short, so the branch nearest to the
start is found. At collinear links ½|g|² may have a saddle. It is left in both directions along the vector of the most
negative curvature, and the nearer of two closed configurations is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import crba
from pysim.loops.constraints import (
    DEPENDENT,
    Constraints,
    RowClasses,
    classify_rows,
    constraints,
)
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

CLOSED = 1e-12  # [m, rad] residual at which a loop is closed
REQUIRED = _engine.CLOSURE_TOLERANCE  # [m, rad] largest residual of an accepted configuration
# the same of rows that repeat others in a file's digits, which no configuration closes
REQUIRED_OF_REDUNDANT = _engine.REDUNDANT_CLOSURE_TOLERANCE
PARALLEL_ANGLE = 1e-4  # [rad] between a row and those before it: nearly the same
_ROUNDING = 16 * float(np.finfo(float).eps)
_TRIES = 200
_LONGEST_STEP = 0.3  # [m or rad] largest step of a coordinate
_REQUIRED_RATIO = 0.7  # fraction of the residual: damping is tried if more remains
_DAMPINGS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)  # μ relative to the largest σ²
_LEAST_GAIN = 1e-3  # of the residual, in _PATIENCE steps; with less it stands still
_PATIENCE = 10
_MOST_SLIDES = 60
_SHORTEST_SLIDE = 1e-9  # [m or rad] of a slide that is not worth it
_MOST_SADDLES = 4  # that are left one after the other
_SADDLE_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)  # [m or rad] from a saddle
_DIFFERENCE = 1e-5  # [m or rad] of slopes of the gradient
_NEGATIVE_CURVATURE = 1e-4  # curvature below −this times the largest leads down


@dataclass(frozen=True)
class ClosureIterate:
    """Configuration that the solver has reached, and its constraints."""

    model: Model
    q: Array
    at: Constraints

    @property
    def classes(self) -> RowClasses:
        """Redundant rows, and tolerances of g (rows,) [m or rad], by the engine."""
        return classify_rows(self.model, self.q, loop_q=self.at.loop_q)

    @property
    def allowed(self) -> Array:
        """Tolerance on g (rows,) [m or rad]; where rows are redundant, least squares share the gap among all rows."""
        classes = self.classes
        if self.largest > REQUIRED_OF_REDUNDANT or not classes.redundant.any():
            return classes.tolerance
        return np.maximum(classes.tolerance, REQUIRED_OF_REDUNDANT)

    @property
    def closed(self) -> bool:
        """Whether every row is within its tolerance."""
        return self.largest <= REQUIRED or bool((np.abs(self.at.residual) <= self.allowed).all())

    @property
    def size(self) -> float:
        """|g|."""
        return float(np.linalg.norm(self.at.residual))

    @property
    def largest(self) -> float:
        """Largest entry of g [m or rad]."""
        return float(np.abs(self.at.residual).max(initial=0.0))


@dataclass(frozen=True)
class Independence:
    """Rows of J L⁻ᵀ are divided by `length` (rows, 1); singular values below `least` of the largest are 0 then.

    `aside` is the largest of those: how far [rad] rows that count as redundant are from being so.
    """

    length: Array | float = 1.0
    least: float = DEPENDENT
    aside: float = 0.0


def close(
    model: Model, q: Array, loop_q: ArrayLike | None, free: NDArray[np.intp]
) -> ClosureIterate:
    """Return the nearest closed configuration found by moving velocities `free`, or else the least open one."""
    best = here = descend(model, q, loop_q, free)
    for _ in range(_MOST_SADDLES if len(free) else 0):
        if best.closed:
            break
        ways = [
            descend(model, way, here.at.loop_q, free)
            for way in _descent_directions(model, here, free)
        ]
        if not ways:
            break
        here = min(ways, key=lambda way: (_open(way), _distance(model, q, way.q)))
        best = min(best, here, key=lambda way: way.size)
    return best


def nearest(
    model: Model, start: Array, iterate: ClosureIterate, free: NDArray[np.intp]
) -> ClosureIterate:
    """Slide a closed configuration along its loops' motions towards the start, in the norm of M.

    t = L⁻ᵀ N Nᵀ Lᵀ (start ⊖ q), N the null space of A, vanishes at the least distance.
    """
    if np.array_equal(iterate.q, start):
        return iterate
    M = crba(model, start)
    for _ in range(_MOST_SLIDES):
        A, L = reduced(iterate.at.jacobian, M, free)
        _, s, Vt = np.linalg.svd(A)
        N = Vt[(s > DEPENDENT * s.max(initial=0.0)).sum() :]
        left = L.T @ model.difference(iterate.q, start)[free]
        step = np.zeros(model.nv)
        step[free] = np.linalg.solve(L.T, N.T @ (N @ left))
        if np.abs(step).max(initial=0.0) < _SHORTEST_SLIDE:
            break
        step *= min(1.0, _LONGEST_STEP / np.abs(step).max())
        nearer = _slide_to_start(model, start, iterate, step, free)
        if nearer is None:
            break
        iterate = nearer
    return iterate


def _slide_to_start(
    model: Model, start: Array, found: ClosureIterate, step: Array, free: NDArray[np.intp]
) -> ClosureIterate | None:
    """Return a closed iterate nearer to the start, at a step halved until it is found; None if there is none."""
    for scale in 0.5 ** np.arange(6):
        q = model.integrate(found.q, scale * step)
        there = descend(model, q, found.at.loop_q, free)
        moved = np.abs(model.difference(found.q, there.q)).max()
        nearer = _distance(model, start, there.q) < _distance(model, start, found.q)
        if there.closed and nearer and moved < 2 * np.abs(step).max():
            return there
    return None


def descend(
    model: Model,
    q: Array,
    loop_q: ArrayLike | None,
    free: NDArray[np.intp],
    closed: float = CLOSED,
    independent: Independence | None = None,
) -> ClosureIterate:
    """Take short steps until no more than `closed` [m, rad] is left, or until nothing is gained any more.

    Directions in which rows depend on each other are not followed; which those are is judged by `independent`.
    """
    here = ClosureIterate(model, q, constraints(model, q, loop_q=loop_q))
    history = [here.size]
    for _ in range(_TRIES):
        if here.largest <= closed or not len(free):
            break
        if len(history) > _PATIENCE and history[-1] > (1 - _LEAST_GAIN) * history[-1 - _PATIENCE]:
            break
        last, here = here, _stepped(model, here, free, independent or Independence())
        if here is last:
            break
        history.append(here.size)
    return here


def rounding_of(J: Array, x: Array) -> Array:
    """Return the bound of the rounding error of each row of J y, for J (rows, nv) and |y| up to max |x|."""
    size = max(1.0, float(np.abs(x).max(initial=0.0)))
    return np.asarray(_ROUNDING * size * np.abs(J).sum(axis=1))


def reduced(J: Array, M: Array, free: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return (J L⁻ᵀ, L) for the free velocities."""
    L = np.asarray(np.linalg.cholesky(M[np.ix_(free, free)]), float)
    return np.asarray(np.linalg.solve(L, J[:, free].T).T), L


def _stepped(
    model: Model, here: ClosureIterate, free: NDArray[np.intp], independent: Independence
) -> ClosureIterate:
    """Return the next iterate, by Gauss-Newton or, if that gains little, with the best damping."""
    A, L = reduced(here.at.jacobian, crba(model, here.q), free)
    U, s, Vt = np.linalg.svd(A / independent.length, full_matrices=False)
    left = U.T @ (here.at.residual / np.ravel(independent.length))
    size = s.max(initial=0.0)
    kept = s > independent.least * size
    shares = [np.divide(1, s, out=np.zeros_like(s), where=kept)]
    shares += [s / (s**2 + damping * size**2 + 1e-300) for damping in _DAMPINGS]
    found = here
    for share in shares:
        step = np.zeros(model.nv)
        step[free] = -np.linalg.solve(L.T, Vt.T @ (share * left))
        step *= min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-300))
        found = min(found, _searched(model, here, step), key=lambda way: way.size)
        if found.size <= _REQUIRED_RATIO * here.size:
            break
    return found


def _searched(model: Model, here: ClosureIterate, step: Array) -> ClosureIterate:
    """Return the iterate along a step, which is halved until the residual decreases."""
    for scale in 0.5 ** np.arange(12):
        q = model.integrate(here.q, scale * step)
        there = ClosureIterate(model, q, constraints(model, q, loop_q=here.at.loop_q))
        if there.size < here.size:
            return there
    return here


def _descent_directions(model: Model, here: ClosureIterate, free: NDArray[np.intp]) -> list[Array]:
    """Return less open configurations on both sides along the most negative curvature of ½|g|² in the norm of M."""
    moves, curvature = _curvature(model, here, free)
    values, vectors = np.linalg.eigh(curvature)
    if values[0] >= -_NEGATIVE_CURVATURE * np.abs(values).max():
        return []
    way = moves @ vectors[:, 0]
    way /= np.abs(way).max()
    ways = []
    for sign in (1, -1):
        steps = sign * np.outer(_SADDLE_STEPS, way)
        q = np.array([model.integrate(here.q, step) for step in steps])
        sizes = np.linalg.norm(_rows(model, q, here).residual, axis=1)
        if sizes.min() < here.size:
            ways.append(q[sizes.argmin()])
    return ways


def _curvature(model: Model, here: ClosureIterate, free: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return motions (nv, free) of unit length in the norm of M, and the slopes (free, free) of Jᵀ g along them."""
    _, L = reduced(here.at.jacobian, crba(model, here.q), free)
    moves = np.zeros((model.nv, len(free)))
    moves[free] = np.linalg.inv(L).T
    small = _DIFFERENCE / np.abs(moves).max(axis=0)
    ends = [model.integrate(here.q, sign * way) for sign in (1, -1) for way in (small * moves).T]
    there = _rows(model, np.array(ends), here)
    slopes = np.einsum("sij,si,jk->sk", there.jacobian, there.residual, moves)
    n = len(free)
    H = (slopes[:n] - slopes[n:]) / (2 * small[:, None])
    return moves, (H + H.T) / 2


def _rows(model: Model, q: Array, here: ClosureIterate) -> Constraints:
    """Return the constraints at several configurations around `here`."""
    sought = np.tile(here.at.loop_q, (len(q), 1))
    return constraints(model, q, loop_q=sought)


def _open(way: ClosureIterate) -> float:
    """Return 0 for a closed configuration, so that the distance decides."""
    return 0.0 if way.closed else way.size


def _distance(model: Model, start: Array, q: Array) -> float:
    """Return the distance of q from the start, in the norm of M there."""
    moved = model.difference(start, q)
    return float(moved @ crba(model, start) @ moved)
