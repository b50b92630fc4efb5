"""Mobility of closed mechanisms: degrees of freedom, rank of the constraints, and redundant rows.

    mobility = nv − rank J − stuck        redundant = rows − rank J

The rank is that of J L⁻ᵀ with M = L Lᵀ and rows of unit length, so it depends neither on units nor on mass ratios.
At the configuration itself it is the rank by which the engine computes accelerations.
Degrees of freedom are counted for velocities: a rolling disk has three, although it can reach more configurations. A
configuration is singular if a small motion raises the rank: infinitesimally, the mechanism has more freedoms than it
has finite motions. Infinitesimal motions without a finite continuation, as in an arch of two collinear bars, are stuck.
If rows are dependent, both counts are taken at configurations around this one that are reached with the loops closed;
independent rows, or a mechanism without any infinitesimal motion, need no such search.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import crba
from pysim.loops.closure_solver import ClosureIterate, Independence
from pysim.loops.constraints import constraints, kinds_of_rows
from pysim.loops.singular_branches import followed, neighbours
from pysim.mechanism.constraint_compiler import rows_of
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from pysim.loops.constraints import Constraints
    from pysim.mechanism.model import Model

SMALLEST_ANGLE = _engine.SMALLEST_SINE  # [rad] between a row and the span of those before it
_REGULAR_SQUARE = 1e-8  # square of a singular value that no rounding hides
_ZERO_LENGTH = 1e-11  # relative length below which a row counts as zero
# relative to its length nearby: such a row is about 1e-7 rad from vanishing
_VANISHED_LENGTH = 1e-5
_NEARBY_DISTANCE = 0.02  # [m or rad]


@dataclass(frozen=True)
class Mobility:
    """Freedoms and redundant rows at a configuration; at a singular one, those nearby of the highest rank."""

    degrees: int  # nv − rank − stuck, at nearby configurations
    rows: int  # of loops and couplings
    rank: int  # at nearby configurations
    rank_here: int
    redundant: Mapping[str, int] = field(default_factory=dict)  # rows by loop or coupling
    stuck: int = 0  # infinitesimal motions without a finite continuation

    @property
    def singular(self) -> bool:
        """Whether there are more infinitesimal than finite motions."""
        return self.rank_here < self.rank or self.stuck > 0

    def __str__(self) -> str:
        degrees = f"{self.degrees} degree{'s' * (self.degrees != 1)} of freedom"
        text = f"{degrees}; {self.rows} row{'s' * (self.rows != 1)} of rank {self.rank}"
        if self.redundant:
            named = [f"{n} of {k!r}" for k, n in self.redundant.items()]
            more = f" and {len(named) - 4} more" if len(named) > 4 else ""
            text += ", redundant: " + ", ".join(named[:4]) + more
        if self.singular:
            text += "; singular here"
        if self.rank_here < self.rank:
            text += f", the rank drops to {self.rank_here}"
        if self.stuck:
            text += f", {self.stuck} infinitesimal motion{'s' * (self.stuck != 1)} that cannot be continued"
        return text


def mobility(model: Model, q: ArrayLike, loop_q: ArrayLike | None = None) -> Mobility:
    """Return freedoms, rank and redundant rows at one assembled configuration q (nq,).

    If the branches through a singular configuration differ in rank, the highest rank that is found is returned.

    Args:
        model: mechanism with or without loops and couplings.
        q: configuration with closed loops (nq,).
        loop_q: initial guess of the coordinates of the loops' joints (loop_nq,).
    """
    q = np.asarray(q, float)
    here = ClosureIterate(model, q, constraints(model, q, loop_q=loop_q))
    rows, length = rows_and_lengths(model, q, here.at)
    least = least_sine(here, rows)
    rank = rank_here = _rank(rows, least)
    stuck = 0
    if rank_here < min(rows.shape):
        sines = np.linalg.svd(rows, compute_uv=False)
        aside = float(sines[sines <= least].max(initial=0.0))
        independent = Independence(length, least, aside)
        around, rows = _around(model, here, rows, independent)
        rank = _rank(rows, least)
        motions = null_space(model, around.q, rows, least)
        stuck = model.nv - rank - followed(model, around, motions, independent)
    idle = {
        loop.name: rows_of(loop) - kept
        for loop, kept in zip(model.spec.loops, model.loop_rows, strict=True)
    }
    redundant = _redundant(model, rows, idle, least)
    asked = model.rows + sum(idle.values())
    return Mobility(model.nv - rank - stuck, asked, rank, rank_here, redundant, stuck)


def _around(
    model: Model, here: ClosureIterate, rows: Array, independent: Independence
) -> tuple[ClosureIterate, Array]:
    """Return a nearby closed configuration of the highest rank that is found, and its scaled rows.

    `rows` are this one's.
    """
    best, most = (here, rows), -1
    U, s, _ = np.linalg.svd(rows)
    Z = U[:, (s > independent.least).sum() :] / independent.length
    N = null_space(model, here.q, rows, independent.least)
    for there in neighbours(model, here, N, Z, independent):
        beside, _ = rows_and_lengths(model, there.q, there.at)
        rank = _rank(beside, independent.least)
        if rank > most:
            best, most = (there, beside), rank
        if most == min(rows.shape):
            break
    return best


def independence(model: Model, q: ArrayLike, rank: int) -> Array:
    """Return a measure (n,) of the independence of the rows of J at n configurations q (n, nq), 0 if singular.

    It is the `rank`-th singular value of J L⁻ᵀ over its largest value among all configurations; 1 if `rank` is 0.
    """
    q = np.asarray(q, float)
    if rank == 0:
        return np.ones(len(q))
    J = constraints(model, q).jacobian
    A = np.swapaxes(np.linalg.solve(np.linalg.cholesky(crba(model, q)), np.swapaxes(J, 1, 2)), 1, 2)
    length = np.linalg.norm(A, axis=2, keepdims=True).max(axis=0)
    moves = length > _ZERO_LENGTH * length.max(initial=0.0)
    rows = np.divide(A, length, out=np.zeros_like(A), where=moves)
    values: Array = np.linalg.svd(rows, compute_uv=False)[:, rank - 1]
    return np.asarray(values / values.max())


def scaled_rows(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Array:
    """Return J L⁻ᵀ (rows, nv) at one configuration, the longest of a loop's rows of one kind of unit length.

    A loop's rows that hold positions are of one kind, those that hold rotations of another, as in the engine: a row
    that moves a 1e-8th of what its neighbours move is redundant, and does not become a row by being divided by 1e-8.
    """
    return rows_and_lengths(model, q, constraints(model, q, loop_q=loop_q))[0]


def rows_and_lengths(model: Model, q: Array, at: Constraints) -> tuple[Array, Array]:
    """`scaled_rows`, and their divisors (rows, 1): of a kind that has vanished here, the lengths around."""
    L = np.linalg.cholesky(crba(model, q))
    A = np.linalg.solve(L, at.jacobian.T).T
    rng = np.random.default_rng(0)
    aside = np.array(
        [model.integrate(q, _NEARBY_DISTANCE * rng.uniform(-1, 1, model.nv)) for _ in range(3)]
    )
    beside = np.nan_to_num(constraints(model, aside).jacobian) @ np.linalg.inv(L).T
    length = np.linalg.norm(A, axis=1)
    most = np.maximum(length, np.linalg.norm(beside, axis=2).max(axis=0, initial=0.0))
    for kind in kinds_of_rows(model, at):
        length[kind], most[kind] = length[kind].max(), most[kind].max()
    moves = (length > _VANISHED_LENGTH * most) & (length > _ZERO_LENGTH * most.max(initial=0.0))
    divisor = np.where(moves, length, np.where(most > 0, most, 1.0))[:, None]
    return np.where(moves[:, None], A / divisor, 0.0), divisor


def allowed_motions(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Array:
    """Return independent motions N (nv, n) with J N = 0 at one configuration, the largest entry 1 [m or rad]."""
    if not model.rows:
        return np.eye(model.nv)
    here = ClosureIterate(model, q, constraints(model, q, loop_q=loop_q))
    rows, _ = rows_and_lengths(model, q, here.at)
    N = null_space(model, q, rows, least_sine(here, rows))
    return np.asarray(N / np.abs(N).max(axis=0))


def least_sine(here: ClosureIterate, rows: Array) -> float:
    """Return the limit up to which singular values of scaled rows count as zero, so that the engine's rank is left.

    The engine compares pivots with `SMALLEST_ANGLE`, which are up to ten times as large as the singular values.
    """
    if is_independent(rows):
        return SMALLEST_ANGLE
    sines = np.linalg.svd(rows, compute_uv=False)
    rank = min(len(sines), int((~here.classes.redundant).sum()))
    if (sines > SMALLEST_ANGLE).sum() < rank:
        return float(np.nextafter(sines[rank - 1], 0.0))
    return max(SMALLEST_ANGLE, float(sines[rank:].max(initial=0.0)))


def null_space(model: Model, q: Array, rows: Array, least: float = SMALLEST_ANGLE) -> Array:
    """Return the motions (nv, n) that rows J L⁻ᵀ allow, orthonormal in the norm of M."""
    _, s, Vt = np.linalg.svd(rows)
    free = Vt[(s > least).sum() :]
    return np.asarray(np.linalg.solve(np.linalg.cholesky(crba(model, q)).T, free.T))


def is_independent(rows: Array) -> bool:
    """Return whether unit rows (rows, nv) are surely independent: all singular values are above 1e-4.

    A Cholesky factor is ten times faster than singular values; False says nothing.
    """
    if not len(rows) or len(rows) > rows.shape[1]:
        return False
    try:
        np.linalg.cholesky(rows @ rows.T - _REGULAR_SQUARE * np.eye(len(rows)))
    except np.linalg.LinAlgError:
        return False
    return True


def _rank(rows: Array, least: float = SMALLEST_ANGLE) -> int:
    if not rows.size:
        return 0
    if is_independent(rows):
        return len(rows)
    return int((np.linalg.svd(rows, compute_uv=False) > least).sum())


def _redundant(model: Model, rows: Array, idle: Mapping[str, int], least: float) -> dict[str, int]:
    """Return the number of rows of each loop that depend on earlier loops and on its other rows, or are zero."""
    names = (*model.loop_names, *model.coupling_names)
    count = Counter(model.row_names)
    ends = np.cumsum([0, *(count[name] for name in names)]).tolist()
    extra = _dependent_rows(rows, ends, least)
    found = {name: n + idle.get(name, 0) for name, n in zip(names, extra, strict=True)}
    return {name: n for name, n in found.items() if n}


def _dependent_rows(rows: Array, ends: list[int], least: float = SMALLEST_ANGLE) -> list[int]:
    """Return how many rows of each group depend on those before it and on its other rows.

    Their sum never decreases from group to group: halves in which it does not change are skipped.
    """
    left = {0: 0, len(ends) - 1: ends[-1] - _rank(rows, least)}  # by number of groups

    def split(low: int, high: int) -> None:
        if high - low < 2 or left[low] == left[high]:
            left.update(dict.fromkeys(range(low + 1, high), left[low]))
            return
        middle = (low + high) // 2
        left[middle] = ends[middle] - _rank(rows[: ends[middle]], least)
        split(low, middle)
        split(middle, high)

    split(0, len(ends) - 1)
    return [left[k + 1] - left[k] for k in range(len(ends) - 1)]
