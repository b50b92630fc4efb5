"""First-order Sobol indices of given samples: the share of a variance that one parameter explains alone.

    S = Var(E[y | x]) / Var(y)        x in bins of equal counts        [Plischke, Borgonovo and Smith 2013]

The estimate from n samples in b bins is too large by about (b − 1)/(n − 1) of what is left, which is subtracted:

    S = 1 − (1 − R) (n − 1)/(n − b),   R = Σ n_k (ȳ_k − ȳ)² / Σ (y − ȳ)²

It needs no sampling plan of its own, unlike estimates of indices of higher order. Parameters must be independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

LEAST_WORLDS = 20  # worlds, with fewer nothing is estimated
_MOST_BINS = 40
_SAMPLES_A_BIN = 5  # in wider bins the result changes too much for its mean to stand for it


def first_order_indices(parameters: Mapping[str, Array], y: Array) -> dict[str, float]:
    """Return the first-order Sobol index of every parameter.

    Args:
        parameters: samples (worlds,) of each parameter.
        y: a result (worlds,).

    Returns:
        Indices, about 0 to 1; NaN for fewer than 20 worlds, or if y is the same in all.
    """
    return {name: first_order_index(x, y) for name, x in parameters.items()}


def first_order_index(x: Array, y: Array) -> float:
    """Return the first-order Sobol index of a parameter's samples x (worlds,) for a result y (worlds,)."""
    n, whole = len(y), float(((y - y.mean()) ** 2).sum())
    if n < LEAST_WORLDS or whole <= n * (1e-12 * np.abs(y).max()) ** 2:
        return float("nan")
    bins = _bins(x)
    counts = np.bincount(bins)
    counts, means = counts[counts > 0], np.bincount(bins, y)[counts > 0] / counts[counts > 0]
    explained = float((counts * (means - y.mean()) ** 2).sum()) / whole
    return 1 - (1 - explained) * (n - 1) / max(n - len(counts), 1)


def _bins(x: Array) -> NDArray[np.intp]:
    """Return the bin of every sample: one for each value if there are few, otherwise of equal counts."""
    values, place = np.unique(x, return_inverse=True)
    wanted = min(_MOST_BINS, max(2, len(x) // _SAMPLES_A_BIN))
    if len(values) <= wanted:
        return np.asarray(place)
    rank = np.empty(len(x), int)
    rank[np.argsort(x, kind="stable")] = np.arange(len(x))
    return rank * wanted // len(x)
