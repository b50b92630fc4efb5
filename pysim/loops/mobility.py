"""How many ways a closed mechanism can move, and which of its rows say nothing new.

    mobility = nv − rank J − stuck        redundant = rows − rank J

The rank is that of J L⁻ᵀ with M = L Lᵀ and rows of unit length, so it hangs neither on units nor on masses of very
different size. Ways are counted by velocities: a rolling disk has three, though it can come to more places. Where a
small motion raises the rank, the configuration is singular: for an instant the mechanism can move in more ways than it
can go. Motions that no configuration around lets go on, as of an arch of two bars in one line, are stuck. Where rows
depend on each other both are told by configurations around this one that are reached with the loops closed; rows
that do not, or a mechanism that cannot move even for an instant, need no look around.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba
from pysim.loops.closure_solver import ClosureIterate
from pysim.loops.constraints import constraints
from pysim.loops.singular_branches import followed, neighbours
from pysim.mechanism.constraint_compiler import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]

SMALLEST_ANGLE = 1e-6  # [rad] between a row and those before it; as the engine's rank, sin² = 1e-12
_NOTHING = 1e-11  # a row this much shorter than the longest moves nothing
_VANISHED = 1e-5  # one this much shorter than beside, too: it is about 1e-7 rad from vanishing
_BESIDE = 0.02  # [m or rad]


@dataclass(frozen=True)
class Mobility:
    """Freedoms and redundant rows at a configuration; where it is singular, those around it, of the highest rank."""

    degrees: int  # nv − rank − stuck, at configurations around this one
    rows: int  # that loops and couplings ask for
    rank: int  # at configurations around this one
    rank_here: int
    redundant: Mapping[str, int] = field(default_factory=dict)  # rows by loop or coupling
    stuck: int = 0  # motions that the rows allow for an instant, and nothing follows

    @property
    def singular(self) -> bool:
        """True where the mechanism can move in more ways for an instant than it can go."""
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
            text += f", {self.stuck} motion{'s' * (self.stuck != 1)} for an instant that cannot be followed"
        return text


def mobility(model: Model, q: ArrayLike, loop_q: ArrayLike | None = None) -> Mobility:
    """Return freedoms, rank and redundant rows at one assembled configuration q (nq,).

    Where ways on from a singular position differ in rank, one of the highest that is found is told.

    Args:
        model: a mechanism, with loops and couplings or without.
        q: a configuration at which they are closed (nq,).
        loop_q: where the loops' joints are sought first (loop_nq,).
    """
    q = np.asarray(q, float)
    here = ClosureIterate(q, constraints(model, q, loop_q=loop_q))
    rows, length = _scaled(model, q, here.at.jacobian)
    rank = rank_here = _rank(rows)
    stuck = 0
    if rank_here < min(rows.shape):
        around, rows = _around(model, here, rows, length)
        rank = _rank(rows)
        stuck = model.nv - rank - followed(model, around, _null_space(model, around.q, rows))
    idle = {
        loop.name: rows_of(loop) - kept
        for loop, kept in zip(model.spec.loops, model.loop_rows, strict=True)
    }
    redundant = _redundant(model, rows, idle)
    asked = model.rows + sum(idle.values())
    return Mobility(model.nv - rank - stuck, asked, rank, rank_here, redundant, stuck)


def _around(
    model: Model, here: ClosureIterate, rows: Array, length: Array
) -> tuple[ClosureIterate, Array]:
    """A configuration around this one, closed and of the highest rank that is found, and its scaled rows.

    `rows` are this one's, divided by `length`.
    """
    found, most = (here, rows), -1
    U, s, _ = np.linalg.svd(rows)
    Z = U[:, (s > SMALLEST_ANGLE).sum() :] / length
    for there in neighbours(model, here, _null_space(model, here.q, rows), Z):
        beside, _ = _scaled(model, there.q, there.at.jacobian)
        rank = _rank(beside)
        if rank > most:
            found, most = (there, beside), rank
        if most == min(rows.shape):
            break
    return found


def independence(model: Model, q: ArrayLike, rank: int) -> Array:
    """Return how independent the rows of J are at n configurations q (n, nq): 0 where one is singular.

    The `rank`-th singular value of J L⁻ᵀ over its largest value among all configurations; 1 where `rank` is 0.
    """
    q = np.asarray(q, float)
    if rank == 0:
        return np.ones(len(q))
    J = constraints(model, q).jacobian
    A = np.swapaxes(np.linalg.solve(np.linalg.cholesky(crba(model, q)), np.swapaxes(J, 1, 2)), 1, 2)
    length = np.linalg.norm(A, axis=2, keepdims=True).max(axis=0)
    moves = length > _NOTHING * length.max(initial=0.0)
    rows = np.divide(A, length, out=np.zeros_like(A), where=moves)
    values: Array = np.linalg.svd(rows, compute_uv=False)[:, rank - 1]
    return np.asarray(values / values.max())


def scaled_rows(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Array:
    """J L⁻ᵀ (rows, nv) at one configuration, every row of unit length; zero where it moves nothing here."""
    return _scaled(model, q, constraints(model, q, loop_q=loop_q).jacobian)[0]


def _scaled(model: Model, q: Array, J: Array) -> tuple[Array, Array]:
    """`scaled_rows`, and what they were divided by (rows, 1): the lengths of those around for rows that are zero."""
    L = np.linalg.cholesky(crba(model, q))
    A = np.linalg.solve(L, J.T).T
    rng = np.random.default_rng(0)
    aside = np.array([model.integrate(q, _BESIDE * rng.uniform(-1, 1, model.nv)) for _ in range(3)])
    beside = np.nan_to_num(constraints(model, aside).jacobian) @ np.linalg.inv(L).T
    length = np.linalg.norm(A, axis=1, keepdims=True)
    most = np.maximum(length, np.linalg.norm(beside, axis=2).max(axis=0, initial=0.0)[:, None])
    moves = (length > _VANISHED * most) & (length > _NOTHING * most.max(initial=0.0))
    divisor = np.where(moves, length, np.where(most > 0, most, 1.0))
    return np.where(length >= divisor, A / divisor, 0.0), divisor


def allowed_motions(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Array:
    """Return independent motions N (nv, n) with J N = 0 at one configuration, the largest entry 1 [m or rad]."""
    if not model.rows:
        return np.eye(model.nv)
    N = _null_space(model, q, scaled_rows(model, q, loop_q))
    return np.asarray(N / np.abs(N).max(axis=0))


def _null_space(model: Model, q: Array, rows: Array) -> Array:
    """Motions (nv, n) that rows J L⁻ᵀ allow, of unit length in the norm of M and at right angles."""
    _, s, Vt = np.linalg.svd(rows)
    free = Vt[(s > SMALLEST_ANGLE).sum() :]
    return np.asarray(np.linalg.solve(np.linalg.cholesky(crba(model, q)).T, free.T))


def _rank(rows: Array) -> int:
    if not rows.size:
        return 0
    return int((np.linalg.svd(rows, compute_uv=False) > SMALLEST_ANGLE).sum())


def _redundant(model: Model, rows: Array, idle: Mapping[str, int]) -> dict[str, int]:
    """How many rows of each loop the loops before it and its own other rows already say, or nothing can break."""
    names = model.row_names
    found: dict[str, int] = {}
    done, rank = 0, 0
    for name in (*model.loop_names, *model.coupling_names):
        done += names.count(name)
        new = _rank(rows[:done])
        extra = names.count(name) - (new - rank) + idle.get(name, 0)
        if extra:
            found[name] = extra
        rank = new
    return found
