"""Square roots of inertias: F Fᵀ against the matrix itself, on bodies, plates, rods and points turned at random."""

from __future__ import annotations

import numpy as np
import pytest

from pysim import spatial
from pysim.errors import PysimError
from pysim.inertia import Inertia

Array = np.ndarray
RANKS = {
    "body": ([0.3, 0.5, 0.6], 3),
    "plate": ([0.3, 0.5, 0.8], 3),
    "rod": ([0.0, 0.5, 0.5], 2),
    "point": ([0.0, 0.0, 0.0], 0),
}


def turned(moments: list[float], X: Array, dtype: type = np.float64) -> Inertia:
    n = len(X)
    central = Inertia.from_com(np.full(n, 1.7), np.zeros((n, 3)), np.diag(moments))
    return Inertia(central.transformed(X).record, dtype)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize("reach", [0.0, 1.0, 30.0])  # how far off the centre of mass lies [m]
def test_the_square_root_has_the_rank_and_the_square(
    name: str, reach: float, rng: np.random.Generator
) -> None:
    moments, rank = RANKS[name]
    X = spatial.exp(rng.normal(size=(500, 6)))
    X[:, :3, 3] *= reach
    bodies = turned(moments, X)
    root = bodies.factor()
    F = root.matrix
    assert np.isfinite(F).all()
    np.testing.assert_array_equal(root.rank, rank)
    scale = abs(bodies.matrix).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(F @ np.swapaxes(F, 1, 2) / scale, bodies.matrix / scale, atol=1e-14)


@pytest.mark.parametrize("name", RANKS)
def test_single_precision_finds_the_same_ranks(name: str, rng: np.random.Generator) -> None:
    moments, rank = RANKS[name]
    X = spatial.exp(rng.normal(size=(200, 6)))
    X[:, :3, 3] *= 0.1
    root = turned(moments, X, np.float32).factor()
    assert root.lower.dtype == np.float32
    assert np.isfinite(root.matrix).all()
    np.testing.assert_array_equal(root.rank, rank)


def test_a_matrix_of_rank_one_has_one_column(rng: np.random.Generator) -> None:
    """Physically inconsistent, but required by the page: f = col_j √(tr I / |col_j|²)."""
    a = rng.normal(size=3)
    root = Inertia.from_com(1, np.zeros(3), np.outer(a, a)).factor()
    assert root.rank == 1
    f = root.matrix[3:, 3]
    np.testing.assert_allclose(np.outer(f, f), np.outer(a, a), rtol=1e-14)
    column = np.outer(a, a)[:, root.pivots[0]]
    printed = column * np.sqrt(a @ a / (column @ column))
    np.testing.assert_allclose(f, printed, rtol=1e-14)
    assert root.pivots[0] == abs(a).argmax()


def test_pivots_order_the_moments_that_are_left() -> None:
    root = Inertia([1, 0, 0, 0, 0.2, 0.4, 0.3, 0, 0, 0]).factor()
    np.testing.assert_array_equal(root.pivots, [1, 2, 0])
    np.testing.assert_allclose(np.diag(root.lower) ** 2, [0.4, 0.3, 0.2])


def test_rank_does_not_depend_on_the_unit_of_length() -> None:
    """with an absolute threshold of 1e-9 diag(1e-5, 2e-5, 2.5e-5) counts as rank 1."""
    for scale in (1e-20, 1e-5, 1.0, 1e12):
        body = Inertia(np.r_[1.0, 0, 0, 0, scale * np.array([1, 2, 2.5]), 0, 0, 0])
        assert body.factor().rank == 3


def test_the_naive_last_radicand_is_often_negative(rng: np.random.Generator) -> None:
    """without clamping, the square root of what rounding leaves is NaN for rods."""
    X = spatial.exp(rng.normal(size=(500, 6)))
    I = X[:, :3, :3] @ np.diag([0.0, 0.5, 0.5]) @ np.swapaxes(X[:, :3, :3], 1, 2)
    xx, xy, xz = I[:, 0, 0], I[:, 0, 1], I[:, 0, 2]
    l21, l31 = xy / np.sqrt(xx), xz / np.sqrt(xx)
    l22 = np.sqrt(I[:, 1, 1] - l21**2)
    last = I[:, 2, 2] - l31**2 - ((I[:, 1, 2] - l31 * l21) / l22) ** 2
    assert (last < 0).sum() > 50
    assert np.isfinite(turned([0.0, 0.5, 0.5], X).factor().matrix).all()


def test_a_larger_tolerance_drops_small_moments() -> None:
    body = Inertia([1, 0, 0, 0, 1e-4, 1, 1, 0, 0, 0])
    assert body.factor().rank == 3
    assert body.factor(tolerance=1e-3).rank == 2


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([-1, 0, 0, 0, 1, 1, 1, 0, 0, 0], "the mass is negative"),
        ([0, 1, 0, 0, 1, 1, 1, 0, 0, 0], "the mass is zero but the first moment is not"),
        ([1, 0, 0, 0, -1, 1, 1, 0, 0, 0], "a moment about the centre of mass is negative"),
        ([1, 2, 0, 0, 1, 1, 1, 0, 0, 0], "a moment about the centre of mass is negative"),
        ([1, 0, 0, 0, 1, 1, 1, 2, 0, 0], "a moment about the centre of mass is negative"),
    ],
)
def test_an_inertia_without_a_square_root_is_rejected(record: list[float], problem: str) -> None:
    with pytest.raises(
        PysimError, match=f"^inertia: has no square root at \\[1\\]: {problem}; got"
    ):
        Inertia(np.array([[1.0, 0, 0, 0, 1, 1, 1, 0, 0, 0], record])).factor()


def test_a_wrong_tolerance_is_rejected() -> None:
    with pytest.raises(PysimError, match=r"^tolerance: must lie between 0 and 1, got -1"):
        Inertia.zeros().factor(tolerance=-1)
