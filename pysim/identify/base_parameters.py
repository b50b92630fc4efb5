"""Base parameters: the identifiable linear combinations of the unknowns, and their names.

    W P = Q [R1 R2; 0 0]      W p = W P1 (p1 + K p2),  K = R1⁻¹ R2

by QR with column pivoting [Gautier 1991]. W contains the equations of many random states of the mechanism, closed and
projected if there are loops or couplings, and not those of the recording. Parameters that are left out are therefore
not identifiable by any motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.identify.closed_mechanisms import (
    AllowedMotions,
    compress_closed,
    has_constraints,
    random_closed_samples,
)
from pysim.identify.regression import compress_torques, one_thread, reduce_rows
from pysim.identify.samples import make_samples
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.identify.unknowns import Unknowns

# of the largest pivot; random states leave a gap of many orders of magnitude
_RANK_TOLERANCE = 1e-9
_LENGTH_DIVISOR = 10.0  # by which the least length falls until there are enough columns
_LEAST_FACTOR = 1e-6  # smaller factors are rounding


@dataclass(frozen=True)
class BaseParameters:
    """β = B p, the identifiable combinations (rank, size) of the unknowns; `independent` are the chosen p1."""

    matrix: Array
    independent: NDArray[np.intp]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.independent)


def base_parameters(
    unknowns: Unknowns, *, seed: int = 0, near: AllowedMotions | None = None
) -> BaseParameters:
    """Return the base parameters of a mechanism's unknowns.

    Args:
        unknowns: what is to be identified.
        seed: of the random states.
        near: closed configurations to begin at where there are loops; the model's start by default.

    Raises:
        ModelError: loops or couplings cannot be closed near the model's start.
    """
    model, rng = unknowns.model, np.random.default_rng(seed)
    count = max(50, 4 * unknowns.size // model.nv)
    if has_constraints(model):
        return _closed_base(unknowns, rng, near)
    q = np.array([model.random_configuration(rng) for _ in range(count)])
    v, a = rng.standard_normal((2, count, model.nv))
    samples = make_samples(model, np.arange(count), q, np.zeros((count, model.nv)), v, a)
    with one_thread():
        R, _ = compress_torques(unknowns, samples, 1).weighted(np.ones(model.nv))
        return _combinations(R, unknowns.names, _preferred(unknowns))


def _closed_base(
    unknowns: Unknowns, rng: np.random.Generator, near: AllowedMotions | None
) -> BaseParameters:
    model = unknowns.model
    count = max(100, unknowns.size)
    samples, motions = random_closed_samples(model, count, rng, near)
    with one_thread():
        triangles = compress_closed(unknowns, samples, 1, motions, np.ones(model.nv))
        R, _ = triangles.weighted(np.ones(model.nv))
        return _combinations(R, unknowns.names, _preferred(unknowns))


def _preferred(unknowns: Unknowns) -> NDArray[np.intp]:
    """Order columns from the root outwards, moments first, so that shared parameters are named after the parent."""
    within = [6, 4, 9, 5, 7, 8, 1, 2, 3, 0]  # Iyy, Ixx, Izz, products, mc, m
    bodies = [10 * block + k for block in range(unknowns.blocks) for k in within]
    return np.array([*bodies, *range(10 * unknowns.blocks, unknowns.size)], np.intp)


def _combinations(R: Array, names: tuple[str, ...], preferred: NDArray[np.intp]) -> BaseParameters:
    from scipy.linalg import qr, solve_triangular  # noqa: PLC0415, loads when first used

    scale = column_scale(R)
    pivots = np.abs(np.diag(qr(R / scale, mode="r", pivoting=True)[0]))
    rank = int((pivots > _RANK_TOLERANCE * pivots[0]).sum()) if len(pivots) else 0
    chosen = _first_independent(R / scale, preferred, rank)
    rest = np.setdiff1d(np.arange(R.shape[1]), chosen)
    triangle = reduce_rows(None, R[:, [*chosen, *rest]] / scale[[*chosen, *rest]])
    K = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    matrix = np.zeros((rank, R.shape[1]))
    matrix[np.arange(rank), chosen] = 1.0
    seen = np.isfinite(scale[rest])
    matrix[:, rest[seen]] = K[:, seen] * scale[rest[seen]] / scale[chosen, None]
    matrix[np.abs(matrix) < _LEAST_FACTOR] = 0.0
    return BaseParameters(
        matrix, chosen, tuple(_name(row, k, names) for row, k in zip(matrix, chosen, strict=True))
    )


def _first_independent(W: Array, preferred: NDArray[np.intp], rank: int) -> NDArray[np.intp]:
    """Return the first `rank` linearly independent columns, in a preferred order.

    Gram and Schmidt, twice for the digits: a plain QR would spend a direction on every dependent column. Columns that
    differ little count as dependent unless the rank needs them.
    """
    least = np.sqrt(_RANK_TOLERANCE)
    chosen = _independent(W, preferred, rank, least)
    while len(chosen) < rank and least > _RANK_TOLERANCE:
        least /= _LENGTH_DIVISOR
        chosen = _independent(W, preferred, rank, least)
    return np.sort(np.array(chosen, np.intp))


def _independent(W: Array, preferred: NDArray[np.intp], rank: int, least: float) -> list[int]:
    """Select columns of unit length whose remainder after those already selected keeps at least a given length."""
    Q = np.zeros((len(W), rank))
    chosen: list[int] = []
    for k in preferred:
        if len(chosen) == rank:
            break
        own = Q[:, : len(chosen)]
        rest = W[:, k] - own @ (own.T @ W[:, k])
        rest -= own @ (own.T @ rest)
        length = np.linalg.norm(rest)
        if length > least:
            Q[:, len(chosen)] = rest / length
            chosen.append(int(k))
    return chosen


def _name(row: Array, own: int, names: tuple[str, ...]) -> str:
    """Return a combination as text, the unknown that names it first: "a.Izz + b.Iyy − 0.333 b.mcz"."""
    text = names[own]
    for k in np.flatnonzero(row):
        if k != own:
            factor = abs(row[k])
            shown = "" if abs(factor - 1) < _LEAST_FACTOR else f"{factor:.3g} "
            text += f" {'−' if row[k] < 0 else '+'} {shown}{names[k]}"
    return text


def column_scale(W: Array) -> Array:
    """Return the lengths of the columns; infinite for those that are rounding, which become zero."""
    length = np.sqrt((W * W).sum(axis=0))
    return np.where(length > _RANK_TOLERANCE * length.max(initial=0.0), length, np.inf)


def identifiable_part(base: BaseParameters, R: Array) -> tuple[Array, int]:
    """Return the data's columns for β (k, rank), and the number of identifiable ones."""
    W = R[:, base.independent]
    scale = column_scale(W)
    values = np.linalg.svd(W / scale, compute_uv=False)
    return W, int((values > len(R) * np.finfo(float).eps * values[0]).sum())
