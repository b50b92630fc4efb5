"""Parametrisations of a body's ten numbers.

Oracles: Pinocchio's LogCholeskyParameters, SciPy's expm and logm, complex steps, and clouds of points, whose sums are
the definitions. The printed formulas that are wrong (FORMULAS.md, A5) are shown to be wrong beside the right ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pysim import inertia
from pysim.errors import PysimError

Array = np.ndarray


def cloud_theta(rng: np.random.Generator, count: int = 6, at: float = 1.0) -> Array:
    """θ of random points: Σ m, Σ m p, Σ m (p·p 1 − p pᵀ)."""
    masses, points = rng.uniform(0.1, 2, count), rng.normal(size=(count, 3)) + at
    I = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    return inertia.theta_from_origin(masses.sum(), masses @ points, I)


@pytest.fixture
def theta(rng: np.random.Generator) -> Array:
    return np.array([[cloud_theta(rng) for _ in range(4)] for _ in range(3)])


@pytest.fixture
def solid() -> Array:
    """A link of a robot arm: 2.7 kg, 4 cm off its frame."""
    return inertia.theta_from_com(2.7, [0.01, -0.04, 0.02], np.diag([0.012, 0.009, 0.004]))


def central_difference(f, x: Array, h: float = 1e-6) -> Array:
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    return np.stack(columns, axis=-1)


def test_pseudo_inertia_and_back_is_the_identity_on_any_ten_numbers(
    rng: np.random.Generator,
) -> None:
    numbers = rng.normal(size=(4, 3, 10))
    back = inertia.from_pseudo_inertia(inertia.pseudo_inertia(numbers))
    np.testing.assert_allclose(back, numbers, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("into", "outof"),
    [
        (inertia.log_cholesky, inertia.from_log_cholesky),
        (inertia.eigen, inertia.from_eigen),
        (inertia.matrix_logarithm, inertia.from_matrix_logarithm),
    ],
    ids=["log-Cholesky", "eigen", "matrix logarithm"],
)
def test_parameters_there_and_back_are_the_same_body(into, outof, theta: Array) -> None:
    parameters = into(theta)
    assert parameters.shape == theta.shape
    np.testing.assert_allclose(outof(parameters), theta, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(into(theta[1, 2]), parameters[1, 2])


# Log-Cholesky ------------------------------------------------------------------------------------


def test_log_cholesky_and_its_jacobian_are_pinocchios(rng: np.random.Generator) -> None:
    pin = pytest.importorskip("pinocchio")
    for phi in rng.normal(0, 0.7, (20, 10)):
        theirs = pin.LogCholeskyParameters(phi)
        expected = theirs.toDynamicParameters()
        np.testing.assert_allclose(inertia.from_log_cholesky(phi), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            inertia.log_cholesky_jacobian(phi), theirs.calculateJacobian(), rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(inertia.log_cholesky(expected), phi, rtol=1e-8, atol=1e-8)


def test_the_determinant_of_the_log_cholesky_jacobian_is_the_closed_form(
    rng: np.random.Generator,
) -> None:
    phi = rng.normal(0, 0.5, (50, 10))
    closed = inertia.log_cholesky_determinant(phi)
    found = np.linalg.det(inertia.log_cholesky_jacobian(phi))
    np.testing.assert_allclose(found, closed, rtol=1e-10)


def test_log_cholesky_names_mass_centre_and_second_moments(solid: Array) -> None:
    phi = inertia.log_cholesky(solid)
    assert np.exp(2 * phi[0]) == pytest.approx(2.7, rel=1e-14)
    np.testing.assert_allclose(phi[7:], [0.01, -0.04, 0.02], rtol=1e-12)
    _, d1, d2, d3, s12, s23, s13 = phi[:7]
    U = np.exp(phi[0]) * np.array(
        [[np.exp(d1), s12, s13], [0, np.exp(d2), s23], [0, 0, np.exp(d3)]]
    )
    I_C = inertia.central_inertia(solid)
    np.testing.assert_allclose(U @ U.T, 0.5 * np.trace(I_C) * np.eye(3) - I_C, atol=1e-14)


def test_any_ten_numbers_are_a_body_in_log_cholesky(rng: np.random.Generator) -> None:
    theta = inertia.from_log_cholesky(rng.normal(0, 1.5, (500, 10)))
    assert inertia.is_physical(theta).all()


# Eigen -------------------------------------------------------------------------------------------


def random_psi(rng: np.random.Generator) -> Array:
    return np.r_[rng.uniform(0.1, 5), rng.normal(size=6), rng.uniform(0.01, 2, 3)]


def test_eigen_parameters_are_about_the_centre_of_mass_so_every_one_is_a_body(
    rng: np.random.Generator,
) -> None:
    psi = np.array([random_psi(rng) for _ in range(500)])
    J = inertia.pseudo_inertia(inertia.from_eigen(psi))
    assert (np.linalg.eigvalsh(J)[:, 0] > 0).all()


def test_eigen_parameters_about_the_frame_origin_would_be_no_body(rng: np.random.Generator) -> None:
    printed = inertia.theta_from_origin(1, [10, 0, 0], np.eye(3))  # R = 1, D = 1: triangle holds
    assert np.linalg.eigvalsh(inertia.pseudo_inertia(printed))[0] == pytest.approx(-9.25, abs=0.01)
    corrected = inertia.from_eigen([1, 10, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5])
    assert inertia.is_physical(corrected)
    np.testing.assert_allclose(inertia.central_inertia(corrected), np.eye(3), atol=1e-13)


def test_the_eigen_jacobian_is_the_difference_quotient(rng: np.random.Generator) -> None:
    for psi in (random_psi(rng) for _ in range(5)):
        expected = central_difference(inertia.from_eigen, psi)
        np.testing.assert_allclose(inertia.eigen_jacobian(psi), expected, rtol=1e-6, atol=1e-6)


def test_the_eigen_jacobian_is_singular_where_two_second_moments_coincide() -> None:
    psi = np.array([1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.5, 0.5, 0.9])
    apart = psi + 0.2 * np.eye(10)[8]
    assert abs(np.linalg.det(inertia.eigen_jacobian(psi))) < 1e-12
    assert abs(np.linalg.det(inertia.eigen_jacobian(apart))) > 1e-3


# Matrix logarithm --------------------------------------------------------------------------------


def vech(T: Array) -> Array:
    return np.array([T[i, j] for j in range(4) for i in range(j + 1)])


def test_the_matrix_logarithm_is_scipys(solid: Array) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    expected = vech(linalg.logm(inertia.pseudo_inertia(solid)))
    np.testing.assert_allclose(inertia.matrix_logarithm(solid), expected, rtol=1e-11, atol=1e-11)


def test_the_power_series_of_the_logarithm_diverges_for_a_real_link(solid: Array) -> None:
    term = E = np.eye(4) - inertia.pseudo_inertia(solid)
    for _ in range(500):
        term = term @ E
    assert np.abs(term).max() > 1e100  # 1.7⁵⁰⁰: no series of these converges


def test_the_matrix_logarithm_jacobian_is_scipys_frechet_derivative(solid: Array) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    gamma = inertia.matrix_logarithm(solid)
    T = np.zeros((4, 4))
    places = [(i, j) for j in range(4) for i in range(j + 1)]
    for k, (i, j) in enumerate(places):
        T[i, j] = T[j, i] = gamma[k]
    found = inertia.matrix_logarithm_jacobian(gamma)
    for k, (i, j) in enumerate(places):
        E = np.zeros((4, 4))
        E[i, j] = E[j, i] = 1
        expected = inertia.from_pseudo_inertia(linalg.expm_frechet(T, E, compute_expm=False))
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-10, atol=1e-12)


def test_the_matrix_logarithm_jacobian_holds_where_eigenvalues_coincide() -> None:
    found = inertia.matrix_logarithm_jacobian(np.zeros(10))  # J = 1: four equal eigenvalues
    E = inertia.from_pseudo_inertia(np.eye(4))
    np.testing.assert_allclose(found[:, [0, 2, 5, 9]].sum(axis=1), E, atol=1e-15)


# Distance ----------------------------------------------------------------------------------------


def test_the_distance_is_the_root_sum_of_squares_of_generalised_eigenvalues(theta: Array) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    a, b = theta[0, 0], theta[1, 1]
    values = linalg.eigh(inertia.pseudo_inertia(a), inertia.pseudo_inertia(b), eigvals_only=True)
    expected = np.sqrt((np.log(values) ** 2).sum())
    assert inertia.riemannian_distance(a, b) == pytest.approx(expected, rel=1e-10)
    assert inertia.riemannian_distance(b, a) == pytest.approx(expected, rel=1e-10)
    assert inertia.riemannian_distance(a, a) == pytest.approx(0, abs=1e-7)


def test_the_distance_is_the_same_in_every_frame_and_unit(
    theta: Array, rng: np.random.Generator
) -> None:
    a, b = theta[0, 0], theta[1, 1]
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Q * np.linalg.det(Q), rng.normal(size=3)
    expected = inertia.riemannian_distance(a, b)
    moved = inertia.riemannian_distance(inertia.move_theta(a, X), inertia.move_theta(b, X))
    assert moved == pytest.approx(expected, rel=1e-9)
    gram_millimetre = 1e3 * np.array([1, 1e3, 1e3, 1e3, *[1e6] * 6])
    scaled = inertia.riemannian_distance(a * gram_millimetre, b * gram_millimetre)
    assert scaled == pytest.approx(expected, rel=1e-6)


def test_the_distance_of_a_mass_scaled_by_e_is_two() -> None:
    """Four eigenvalues e: √(4 · 1²)."""
    body = inertia.theta_from_com(1, [0, 0, 0], np.diag([1, 1, 1]))
    assert inertia.riemannian_distance(math.e * body, body) == pytest.approx(2, rel=1e-12)


def test_the_difference_in_log_cholesky_is_the_riemannian_one_and_its_derivative_the_quotient(
    solid: Array, rng: np.random.Generator
) -> None:
    phi = inertia.log_cholesky(solid) + rng.normal(0, 0.2, 10)
    r, dr = inertia.log_cholesky_difference(phi, solid)
    expected = inertia.riemannian_difference(inertia.from_log_cholesky(phi), solid)
    np.testing.assert_allclose(r, expected, rtol=1e-8, atol=1e-8)
    quotient = central_difference(lambda x: inertia.log_cholesky_difference(x, solid)[0], phi)
    np.testing.assert_allclose(dr, quotient, rtol=1e-6, atol=1e-6)


def test_the_difference_in_log_cholesky_holds_for_bodies_thinner_than_rounding(
    solid: Array,
) -> None:
    thin = inertia.log_cholesky(solid) - 30 * np.eye(10)[1]
    r, dr = inertia.log_cholesky_difference(thin, solid)
    assert np.linalg.norm(r) == pytest.approx(60, rel=0.01)  # one eigenvalue e⁻⁶⁰
    assert np.isfinite(dr).all()


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize(
    "into",
    [
        inertia.from_log_cholesky,
        inertia.log_cholesky_jacobian,
        lambda phi: inertia.log_cholesky_difference(
            phi, inertia.theta_from_com(1, [0, 0, 0], np.eye(3))
        ),
    ],
)
def test_parameters_whose_body_overflows_are_rejected(
    into: Callable[[Array], Array], k: int
) -> None:
    """LAPACK does not return from a matrix with an infinite entry."""
    expected = "phi: describes a body whose numbers overflow; take parameters nearer to 0"
    with pytest.raises(PysimError, match=f"^{expected}$"):
        into(1e3 * np.eye(10)[k])


@pytest.mark.parametrize("into", [inertia.from_matrix_logarithm, inertia.matrix_logarithm_jacobian])
def test_logarithms_whose_body_overflows_are_rejected(into: Callable[[Array], Array]) -> None:
    expected = "gamma: describes a body whose numbers overflow; take parameters nearer to 0"
    with pytest.raises(PysimError, match=f"^{expected}$"):
        into(1e3 * np.eye(10)[0])


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("into", [inertia.log_cholesky, inertia.matrix_logarithm])
def test_a_plate_has_no_logarithm_and_is_named(into, solid: Array) -> None:
    plate = inertia.theta_from_com(1, [0, 0, 0], np.diag([1, 2, 3]))
    text = (
        r"theta\[1\]: the pseudo-inertia must be positive definite, .*, as of a rod, plate or point or an "
        r"inconsistent inertia; use nearest_physical\(theta, margin=1e-6\)"
    )
    with pytest.raises(PysimError, match=text):
        into(np.array([solid, plate]))
    assert np.isfinite(into(inertia.nearest_physical(plate, margin=1e-6))).all()


def test_a_mass_that_is_not_positive_is_named(solid: Array) -> None:
    with pytest.raises(PysimError, match=r"^theta: the mass must be positive \[kg\], got -2.7$"):
        inertia.eigen(-solid)
    with pytest.raises(PysimError, match=r"^psi: must be finite, got nan at \[0, 0\]$"):
        inertia.from_eigen([[np.nan] * 10])


def test_theta_takes_the_upper_triangle_column_by_column_not_row_by_row() -> None:
    """The half-vectorisation that is usually meant, row by row, would swap Ixz and Iyy."""
    I = np.array([[1.0, 2, 4], [2, 3, 5], [4, 5, 6]])
    theta = inertia.theta_from_origin(1, [0, 0, 0], I)
    np.testing.assert_array_equal(theta[4:], [I[i, j] for j in range(3) for i in range(j + 1)])
    row_by_row = [I[i, j] for i in range(3) for j in range(i, 3)]
    assert not np.array_equal(theta[4:], row_by_row)
    np.testing.assert_array_equal(inertia.rotational_inertia(theta), I)


def test_a_plate_is_physical_within_the_tolerance_though_its_pseudo_inertia_is_singular() -> None:
    plate = inertia.theta_from_com(1, [0, 0, 0], np.diag([1, 2, 3]))
    assert np.linalg.eigvalsh(inertia.pseudo_inertia(plate))[0] == 0
    assert inertia.is_physical(plate)
    beyond = inertia.theta_from_com(1, [0, 0, 0], np.diag([1, 2, 3.001]))
    assert not inertia.is_physical(beyond)
    assert inertia.is_physical(beyond, tolerance=1e-3)
