"""How many ways a closed mechanism can move, and which of its rows say nothing new.

    mobility = nv − rank J        redundant = rows − rank J

The rank is that of J L⁻ᵀ with M = L Lᵀ and rows of unit length, so it hangs neither on units nor on masses of very
different size. Ways are counted by velocities: a rolling disk has three, though it can come to more places. Where a
small motion raises the rank, the configuration is singular: for an instant the mechanism can move in more ways than it
can go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba
from pysim.loops.constraints import constraints, project
from pysim.ties import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from pysim.model import Model

    Array = NDArray[np.float64]

SMALLEST_ANGLE = 1e-6  # [rad] between a row and those before it; as the engine's rank, sin² = 1e-12
_NOTHING = 1e-11  # a row this much shorter than the longest moves nothing
_AWAY = 0.02  # [m or rad] how far the configuration is moved to tell a singular one


@dataclass(frozen=True)
class Mobility:
    """Freedoms and redundant rows at a configuration."""

    degrees: int  # nv − rank, at configurations around this one
    rows: int  # that loops and couplings ask for
    rank: int  # at configurations around this one
    rank_here: int
    redundant: Mapping[str, int] = field(default_factory=dict)  # rows by loop or coupling

    @property
    def singular(self) -> bool:
        """True where the mechanism can move in more ways for an instant than it can go."""
        return self.rank_here < self.rank

    def __str__(self) -> str:
        degrees = f"{self.degrees} degree{'s' * (self.degrees != 1)} of freedom"
        text = f"{degrees}; {self.rows} rows of rank {self.rank}"
        if self.redundant:
            named = [f"{n} of {k!r}" for k, n in self.redundant.items()]
            more = f" and {len(named) - 4} more" if len(named) > 4 else ""
            text += ", redundant: " + ", ".join(named[:4]) + more
        if self.singular:
            text += f"; singular here, the rank drops to {self.rank_here}"
        return text


def mobility(model: Model, q: ArrayLike, loop_q: ArrayLike | None = None) -> Mobility:
    """Return freedoms, rank and redundant rows at one assembled configuration q (nq,)."""
    q = np.asarray(q, float)
    here = scaled_rows(model, q, loop_q)
    rank_here, around = _rank(here), [_rank(here)]
    rows, motions = here, _motions(model, q, here)
    for rng in map(np.random.default_rng, range(3)):
        moved = _moved(model, q, motions, loop_q, rng)
        if moved is not None:
            around.append(_rank(moved))
            rows = moved if around[-1] == max(around) else rows
    rank = max(around)
    idle = {
        loop.name: rows_of(loop) - kept
        for loop, kept in zip(model.spec.loops, model.loop_rows, strict=True)
    }
    redundant = _redundant(model, rows, idle)
    return Mobility(model.nv - rank, model.rows + sum(idle.values()), rank, rank_here, redundant)


def independence(model: Model, q: ArrayLike, rank: int) -> Array:
    """Return how independent the rows of J are at n configurations q (n, nq): 0 where one is singular.

    The `rank`-th singular value of J L⁻ᵀ over its largest value among all configurations.
    """
    q = np.asarray(q, float)
    J = constraints(model, q).jacobian
    A = np.swapaxes(np.linalg.solve(np.linalg.cholesky(crba(model, q)), np.swapaxes(J, 1, 2)), 1, 2)
    length = np.linalg.norm(A, axis=2, keepdims=True).max(axis=0)
    moves = length > _NOTHING * length.max(initial=0.0)
    rows = np.divide(A, length, out=np.zeros_like(A), where=moves)
    values: Array = np.linalg.svd(rows, compute_uv=False)[:, rank - 1]
    return np.asarray(values / values.max())


def scaled_rows(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Array:
    """J L⁻ᵀ (rows, nv) at one configuration, every row of unit length; zero where it moves nothing."""
    J = constraints(model, q, loop_q=loop_q).jacobian
    A: Array = np.linalg.solve(np.linalg.cholesky(crba(model, q)), J.T).T
    length = np.linalg.norm(A, axis=1, keepdims=True)
    moves = length > _NOTHING * length.max(initial=0.0)
    return np.asarray(np.divide(A, length, out=np.zeros_like(A), where=moves))


def allowed_motions(model: Model, q: Array, loop_q: ArrayLike | None = None) -> Array:
    """Return independent motions N (nv, n) with J N = 0 at one configuration, the largest entry 1 [m or rad]."""
    if not model.rows:
        return np.eye(model.nv)
    return _motions(model, q, scaled_rows(model, q, loop_q))


def _motions(model: Model, q: Array, rows: Array) -> Array:
    """What rows J L⁻ᵀ allow."""
    _, s, Vt = np.linalg.svd(rows)
    free = Vt[(s > SMALLEST_ANGLE).sum() :]
    N = np.linalg.solve(np.linalg.cholesky(crba(model, q)).T, free.T)
    return np.asarray(N / np.abs(N).max(axis=0))


def _rank(rows: Array) -> int:
    if not rows.size:
        return 0
    return int((np.linalg.svd(rows, compute_uv=False) > SMALLEST_ANGLE).sum())


def _moved(
    model: Model, q: Array, motions: Array, loop_q: ArrayLike | None, rng: np.random.Generator
) -> Array | None:
    """Rows a little further along a random motion of those that the rows allow; None if there is none."""
    if not motions.size:
        return None
    step = motions @ rng.standard_normal(motions.shape[1])
    step *= _AWAY / np.abs(step).max()
    there = project(model, model.integrate(q, step), np.zeros(model.nv), loop_q=loop_q)
    if not there.residual < 1e-9:
        return None
    return scaled_rows(model, there.q, there.loop_q)


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
