"""Compression of equations by QR: a recording of any length becomes one small R for each coordinate and fold.

    [W y] = Q [R z]  ⇒  ‖W p − y‖ = ‖R p − z‖ for every p        (chunk by chunk, R of the last below the next)

After this nothing depends on the number of samples. Triangles of several folds stack, and so do those of several
coordinates, each divided by its noise σ_j: weights change without reading the data again. A coordinate's triangle
holds only the unknowns that can move it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pysim.identify.samples import Samples
    from pysim.identify.unknowns import Unknowns

CHUNK = 2048  # samples a triangle takes in at once


@dataclass(frozen=True)
class Triangles:
    """For every fold and equation [R z] (k, active unknowns + 1), and how many rows it stands for.

    `alike` numbers the equations that have one noise, the components of a vector: alone, one with few rows could be
    fitted exactly and then weigh more than all others. Empty: each has its own.
    """

    size: int
    active: tuple[NDArray[np.intp], ...]
    folds: tuple[tuple[Array, ...], ...]
    rows: tuple[int, ...]  # of each fold, one equation
    alike: tuple[int, ...] = ()
    # of each equation, what a projection leaves of it; all of it where empty
    shares: tuple[float, ...] = ()

    @property
    def share(self) -> Array:
        """Fraction of every equation (equations,) that a projection leaves, at most 1."""
        return np.array(self.shares) if self.shares else np.ones(self.equations)

    @property
    def equations(self) -> int:
        """Number of equations an instant gives."""
        return len(self.active)

    def count(self, folds: Iterable[int] | None = None) -> int:
        """Return the number of instants in some folds."""
        return sum(self.rows[k] for k in self._chosen(folds))

    def weighted(self, sigma: Array, folds: Iterable[int] | None = None) -> tuple[Array, Array]:
        """Return R (k, size) and z (k,) of all equations together, each divided by its noise."""
        stacked = []
        for k in self._chosen(folds):
            for triangle, active, s in zip(self.folds[k], self.active, sigma, strict=True):
                wide = np.zeros((len(triangle), self.size + 1))
                wide[:, active] = triangle[:, :-1] / s
                wide[:, -1] = triangle[:, -1] / s
                stacked.append(wide)
        R = reduce_rows(None, np.concatenate(stacked))
        return R[:, :-1], R[:, -1]

    def squares(self, p: Array, folds: Iterable[int] | None = None) -> Array:
        """Return Σ (W p − y)² of every equation over some folds."""
        total = np.zeros(self.equations)
        for k in self._chosen(folds):
            for j, (triangle, active) in enumerate(zip(self.folds[k], self.active, strict=True)):
                residual = triangle[:, :-1] @ p[active] - triangle[:, -1]
                total[j] += residual @ residual
        return total

    def shared(self, noise: Array) -> Array:
        """Return the root mean square of the noise over equations that are alike (equations,)."""
        if not self.alike:
            return noise
        total = np.bincount(self.alike, noise**2) / np.bincount(self.alike)
        return np.asarray(np.sqrt(total)[list(self.alike)])

    def _chosen(self, folds: Iterable[int] | None) -> Iterable[int]:
        return range(len(self.folds)) if folds is None else folds


def compress_torques(unknowns: Unknowns, samples: Samples, folds: int) -> Triangles:
    """Return the triangles of the equations of motion, one a coordinate, over consecutive folds."""
    edges = np.linspace(0, len(samples), folds + 1).astype(int)
    compressed = []
    for start, end in pairwise(edges):
        triangles: list[Array | None] = [None] * unknowns.model.nv
        for at in range(start, end, CHUNK):
            part = samples.part(slice(at, min(at + CHUNK, end)))
            inertial, columns, left = unknowns.equations(part)
            for j, active in enumerate(unknowns.active):
                own = active[active < 10 * unknowns.blocks]
                rows = [inertial[:, j, own], *(c[:, j, None] for c in columns.values())]
                triangles[j] = reduce_rows(
                    triangles[j], np.concatenate([*rows, left[:, j, None]], axis=1)
                )
        compressed.append(tuple(t for t in triangles if t is not None))
    return Triangles(
        unknowns.size, unknowns.active, tuple(compressed), tuple(int(n) for n in np.diff(edges))
    )


def reduce_rows(triangle: Array | None, rows: Array) -> Array:
    """Return the triangle R of a QR factorisation of rows [W y], below those of an earlier triangle if given."""
    stacked = rows if triangle is None else np.concatenate([triangle, rows])
    return np.asarray(np.linalg.qr(stacked, mode="r"))


def one_thread() -> AbstractContextManager[object]:
    """Keep linear algebra to one thread: on matrices this small threads wait for each other longer than they work."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415, loads when first used

    limits: AbstractContextManager[object] = threadpool_limits(1, "blas")
    return limits
