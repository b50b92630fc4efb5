"""Physical consistency of parameters, and the nearest consistent ones.

The oracle is a generic solver (SciPy's SLSQP over all bodies), the projection's variational inequality, and rigid
bodies whose numbers are known.
"""

from __future__ import annotations

import numpy as np
import pytest

from pysim import inertia
from pysim.errors import PysimError

Array = np.ndarray
BAD = np.diag([1.0, 1.0, 2.5])


def broken(rng: np.random.Generator) -> Array:
    """Parameters of no body: one second moment about the centre of mass is negative."""
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    L = np.r_[-rng.uniform(0.1, 0.5), rng.uniform(0.2, 2, 2)]
    sigma = Q @ np.diag(L) @ Q.T
    I_C = np.trace(sigma) * np.eye(3) - sigma
    return inertia.theta_from_com(rng.uniform(0.5, 3), rng.normal(size=3), I_C)


def central_pseudo_inertia(theta: Array, com: Array) -> Array:
    X = np.eye(4)
    X[:3, 3] = -com
    return X @ inertia.pseudo_inertia(theta) @ X.T


def test_the_margin_is_one_for_a_ball_zero_for_a_plate_and_negative_for_no_body() -> None:
    bodies = [np.eye(3), np.diag([1, 2, 3]), BAD]
    theta = np.array([inertia.theta_from_com(1, [0, 0, 1], I) for I in bodies])
    # Σ of the last: diag(1.25, 1.25, −0.25)
    np.testing.assert_allclose(inertia.physical_margin(theta), [1, 0, -0.2], atol=1e-12)
    assert inertia.physical_margin(-theta[0]) == -np.inf


def test_the_reason_names_the_axes_where_they_are_the_principal_ones() -> None:
    reason = inertia.unphysical_reason(inertia.theta_from_com(1, [1, 2, 3], BAD))
    assert reason == (
        "Ixx + Iyy < Izz by 20 %, against the triangle inequality of the principal moments 1, 1, 2.5 [kg·m²]"
    )
    reason = inertia.unphysical_reason(inertia.theta_from_com(1, [0, 0, 0], np.diag([3, 1, 1.5])))
    assert reason is not None
    assert reason.startswith("Iyy + Izz < Ixx by 16.7 %, ")


def test_nearest_keeps_mass_and_centre_and_is_a_plate(rng: np.random.Generator) -> None:
    theta = np.array([[broken(rng) for _ in range(4)] for _ in range(2)])
    near = inertia.nearest_physical(theta)
    assert not inertia.is_physical(theta).any()
    assert inertia.is_physical(near).all()
    np.testing.assert_array_equal(near[..., :4], theta[..., :4])
    np.testing.assert_allclose(inertia.physical_margin(near), 0, atol=1e-12)
    np.testing.assert_allclose(inertia.nearest_physical(near), near, rtol=1e-12, atol=1e-13)


def test_consistent_parameters_are_returned_unchanged() -> None:
    theta = inertia.theta_from_com(2, [1, 2, 3], np.diag([0.4, 0.5, 0.6]))
    np.testing.assert_array_equal(inertia.nearest_physical(theta), theta)
    np.testing.assert_array_equal(inertia.nearest_physical(np.zeros((2, 10))), np.zeros((2, 10)))


def test_no_body_is_closer_than_the_nearest(rng: np.random.Generator) -> None:
    """A projection P of J on a convex cone: ⟨J − P, Z − P⟩ ≤ 0 for every Z in it, whatever mass and centre."""
    for theta in (broken(rng) for _ in range(5)):
        com = theta[1:4] / theta[0]
        J = central_pseudo_inertia(theta, com)
        P = central_pseudo_inertia(inertia.nearest_physical(theta), com)
        others = inertia.pseudo_inertia(inertia.from_log_cholesky(rng.normal(size=(500, 10))))
        inner = ((J - P) * (others - P)).sum(axis=(1, 2))
        assert inner.max() <= 1e-12


def test_a_generic_solver_finds_the_same_nearest_body(rng: np.random.Generator) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    theta = broken(rng)
    com = theta[1:4] / theta[0]
    J = central_pseudo_inertia(theta, com)
    lower = np.tril_indices(4)

    def distance(x: Array) -> float:
        L = np.zeros((4, 4))
        L[lower] = x
        return float(((L @ L.T - J) ** 2).sum())

    starts = [rng.normal(size=10) for _ in range(4)]
    best = min(
        (optimize.minimize(distance, x, method="SLSQP", tol=1e-14) for x in starts),
        key=lambda found: found.fun,
    )
    P = central_pseudo_inertia(inertia.nearest_physical(theta), com)
    own = ((P - J) ** 2).sum()
    assert own == pytest.approx(best.fun, rel=1e-5)
    assert own <= best.fun * (1 + 1e-9)


def test_a_margin_makes_the_nearest_a_solid(rng: np.random.Generator) -> None:
    near = inertia.nearest_physical(broken(rng), margin=1e-3)
    assert inertia.physical_margin(near) == pytest.approx(1e-3, rel=1e-6)
    assert np.isfinite(inertia.log_cholesky(near)).all()


def test_a_mass_that_is_not_positive_has_no_nearest_body() -> None:
    theta = inertia.theta_from_com(-1, [0, 0, 0], np.eye(3))
    with pytest.raises(PysimError, match=r"^theta\[1\]: the mass must be positive \[kg\], got -1$"):
        inertia.nearest_physical(np.array([np.zeros(10), theta]))


def test_dust_of_a_point_mass_is_physical_but_a_millimetre_of_negative_moment_is_not() -> None:
    dust = inertia.theta_from_com(1.3, [0, 0, 0], np.diag([-1e-20, 2e-20, 5e-20]))
    real = inertia.theta_from_com(1e-6, [0, 0, 0], np.diag([-3.5e-8, 3.5e-8, 9e-8]))
    np.testing.assert_array_equal(inertia.is_physical([dust, real]), [True, False])
