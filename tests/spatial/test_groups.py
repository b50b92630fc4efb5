"""SO(3) and SE(3) against power series of dense matrices, summed in long double.

exp X = Σ Xⁿ/n! and J_l = Σ adⁿ/(n+1)! need no case for small angles; angles stay below 5, where 60 terms suffice.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pysim import spatial

GROUPS = [3, 6]  # numbers in a vector of SO(3), of SE(3)
ANGLES = [
    *(0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-3),
    *(0.0099, 0.0101, 0.1, 0.316, 0.317, 0.5),  # both sides of every series' threshold
    *(1, 2, 3, 3.1, np.pi - 1e-4, np.pi - 1e-8, np.pi - 1e-12, 3.141592653589793),
]
TIGHT = 4e-15


def vectors(n: int, angles: list[float], rng: np.random.Generator) -> np.ndarray:
    """Vectors (k, n) with these angles, about a random axis each, and a moderate linear part."""
    axes = rng.normal(size=(len(angles), 3))
    w = np.array(angles)[:, None] * axes / np.linalg.norm(axes, axis=1, keepdims=True)
    return np.hstack([rng.normal(size=(len(angles), n - 3)), w])


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def hat(x):
    """The matrix whose exponential is the group's element."""
    if len(x) == 3:
        return skew(x)
    return np.vstack([np.hstack([skew(x[3:]), x[:3, None]]), np.zeros((1, 4))])


def dense_ad(x):
    if len(x) == 3:
        return skew(x)
    return np.block([[skew(x[3:]), skew(x[:3])], [np.zeros((3, 3)), skew(x[3:])]])


def series(A, first: int):
    """Σ Aⁿ/(n + first)!, times first!."""
    A = A.astype(np.longdouble)
    term = np.eye(len(A), dtype=np.longdouble)
    total = term.copy()
    for n in range(1, 60):
        term = term @ A / (n + first)
        total += term
    return total.astype(np.float64)


def every(function, x):
    return np.array([function(row) for row in x])


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", GROUPS)
def test_exp_is_the_power_series(n: int, rng: np.random.Generator) -> None:
    x = vectors(n, [*ANGLES, 4.0, 5.0], rng)
    np.testing.assert_allclose(
        spatial.exp(x), every(lambda row: series(hat(row), 0), x), rtol=0, atol=TIGHT
    )


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", GROUPS)
def test_log_undoes_exp_up_to_a_half_turn(n: int, rng: np.random.Generator) -> None:
    x = vectors(n, ANGLES, rng)
    np.testing.assert_allclose(spatial.log(spatial.exp(x)), x, rtol=0, atol=TIGHT)


@pytest.mark.parametrize("n", GROUPS)
def test_log_keeps_the_relative_size_of_small_angles(n: int, rng: np.random.Generator) -> None:
    x = vectors(n, [1e-9, 1e-30, 1e-100], rng)
    back = spatial.log(spatial.exp(x))
    np.testing.assert_allclose(back[:, -3:], x[:, -3:], rtol=1e-14)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", GROUPS)
def test_exp_undoes_log_beyond_a_half_turn(n: int, rng: np.random.Generator) -> None:
    X = spatial.exp(vectors(n, [3.2, 4.0, 5.0, 6.0, 6.28, 20.0, 1e6], rng))
    x = spatial.log(X)
    assert (np.linalg.norm(x[:, -3:], axis=1) <= np.pi + 1e-15).all()
    np.testing.assert_allclose(spatial.exp(x), X, rtol=0, atol=TIGHT)


@pytest.mark.parametrize("n", GROUPS)
def test_hat_is_the_matrix_and_vee_undoes_it(n: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 5, n)) * 10 ** rng.uniform(-20, 20, (4, 5, 1))
    A = spatial.hat(x)
    np.testing.assert_array_equal(A[2, 3], hat(x[2, 3]))
    np.testing.assert_array_equal(spatial.vee(A), x)
    np.testing.assert_array_equal(spatial.vee(spatial.hat(np.zeros(n))), np.zeros(n))


def test_a_half_turn_about_any_axis_has_a_logarithm() -> None:
    axes = np.array([a for a in itertools.product([-1.0, 0, 1], repeat=3) if any(a)])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    R = 2 * axes[:, :, None] * axes[:, None, :] - np.eye(3)
    phi = spatial.log(R)
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), np.pi, rtol=1e-15)
    np.testing.assert_allclose(spatial.exp(phi), R, rtol=0, atol=TIGHT)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", GROUPS)
def test_jacobians_are_the_power_series(n: int, rng: np.random.Generator) -> None:
    x = vectors(n, [*ANGLES, 4.0, 5.0], rng)
    left = every(lambda row: series(dense_ad(row), 1), x)
    right = every(lambda row: series(dense_ad(-row), 1), x)
    for computed, dense in (
        (spatial.left_jacobian(x), left),
        (spatial.right_jacobian(x), right),
        (spatial.left_jacobian_inverse(x), np.linalg.inv(left)),
        (spatial.right_jacobian_inverse(x), np.linalg.inv(right)),
    ):
        np.testing.assert_allclose(computed, dense, rtol=0, atol=2e-14)


@pytest.mark.parametrize("n", GROUPS)
def test_jacobians_times_their_inverses_are_one(n: int, rng: np.random.Generator) -> None:
    x = vectors(n, ANGLES, rng)
    for J, inverse in (
        (spatial.left_jacobian(x), spatial.left_jacobian_inverse(x)),
        (spatial.right_jacobian(x), spatial.right_jacobian_inverse(x)),
    ):
        np.testing.assert_allclose(J @ inverse, np.broadcast_to(np.eye(n), J.shape), atol=1e-14)


@pytest.mark.parametrize("n", GROUPS)
@pytest.mark.parametrize("angle", [0.0, 1e-3, 1.0, 3.0])
def test_right_jacobian_is_the_derivative_of_exp(
    n: int, angle: float, rng: np.random.Generator
) -> None:
    x, h = vectors(n, [angle], rng)[0], 1e-5
    forward, backward = (spatial.exp(x + s * h * np.eye(n)) for s in (1, -1))
    difference = spatial.log(spatial.compose(spatial.inverse(backward), forward)) / (2 * h)
    np.testing.assert_allclose(difference.T, spatial.right_jacobian(x), atol=1e-9)


@pytest.mark.parametrize("n", GROUPS)
def test_left_jacobian_is_the_right_one_moved_by_the_adjoint(
    n: int, rng: np.random.Generator
) -> None:
    x = vectors(n, ANGLES, rng)
    moved = spatial.Ad(spatial.exp(x)) @ spatial.right_jacobian(x)
    np.testing.assert_allclose(moved, spatial.left_jacobian(x), atol=1e-14)


@pytest.mark.parametrize("n", GROUPS)
def test_adjoint_of_exp_is_the_exponential_of_ad(n: int, rng: np.random.Generator) -> None:
    x = vectors(n, [0.1, 1.0, 3.0], rng)
    np.testing.assert_allclose(spatial.ad(x), every(dense_ad, x), atol=0)
    dense = every(lambda row: series(dense_ad(row), 0), x)
    np.testing.assert_allclose(spatial.Ad(spatial.exp(x)), dense, atol=1e-14)
    dual = every(lambda row: series(-dense_ad(row).T, 0), x)
    np.testing.assert_allclose(spatial.Ad_star(spatial.exp(x)), dual, atol=1e-14)
    np.testing.assert_array_equal(spatial.ad_star(x), -np.swapaxes(spatial.ad(x), -1, -2))


@pytest.mark.parametrize("n", GROUPS)
def test_laws_of_a_group(n: int, rng: np.random.Generator) -> None:
    A, B, C = (spatial.exp(rng.normal(size=(4, n))) for _ in range(3))
    one = np.broadcast_to(np.eye(A.shape[-1]), A.shape)
    compose, inverse = spatial.compose, spatial.inverse
    np.testing.assert_allclose(compose(compose(A, B), C), compose(A, compose(B, C)), atol=1e-14)
    np.testing.assert_allclose(compose(A, inverse(A)), one, atol=1e-14)
    np.testing.assert_allclose(inverse(compose(A, B)), compose(inverse(B), inverse(A)), atol=1e-14)
    np.testing.assert_allclose(spatial.Ad(compose(A, B)), spatial.Ad(A) @ spatial.Ad(B), atol=1e-14)
    transposed = np.swapaxes(spatial.Ad(A), -1, -2)
    np.testing.assert_allclose(spatial.Ad_star(inverse(A)), transposed, atol=1e-14)


def test_actions_on_twists_wrenches_and_points(rng: np.random.Generator) -> None:
    X = spatial.exp(rng.normal(size=(5, 6)))
    V, F, p = (rng.normal(size=(5, n)) for n in (6, 6, 3))

    moved_V, moved_F = spatial.act_on_twist(X, V), spatial.act_on_wrench(X, F)

    np.testing.assert_allclose(moved_V, np.einsum("kij,kj->ki", spatial.Ad(X), V), atol=1e-14)
    np.testing.assert_allclose(moved_F, np.einsum("kij,kj->ki", spatial.Ad_star(X), F), atol=1e-14)
    np.testing.assert_allclose((moved_V * moved_F).sum(-1), (V * F).sum(-1), rtol=1e-12)  # power
    homogeneous = np.einsum("kij,kj->ki", X, np.hstack([p, np.ones((5, 1))]))
    np.testing.assert_allclose(spatial.act_on_point(X, p), homogeneous[:, :3], atol=1e-14)
    turned = np.einsum("kij,kj->ki", X[:, :3, :3], p)
    np.testing.assert_allclose(spatial.act_on_point(X[:, :3, :3], p), turned, atol=1e-14)


def test_leading_axes_are_batches_and_broadcast(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 5, 6))
    X = spatial.exp(x)
    assert X.shape == (2, 5, 4, 4)
    assert spatial.left_jacobian(x).shape == (2, 5, 6, 6)
    np.testing.assert_array_equal(X[1, 3], spatial.exp(x[1, 3]))
    np.testing.assert_array_equal(spatial.exp(x[:, ::2]), X[:, ::2])  # not contiguous
    assert spatial.exp(np.zeros((0, 3))).shape == (0, 3, 3)
    assert spatial.compose(X, X[0, 0]).shape == (2, 5, 4, 4)
    assert spatial.act_on_twist(X[:, :1], x).shape == (2, 5, 6)
    assert spatial.act_on_point(X[0], x[0, 0, :3]).shape == (5, 3)


def test_float32_stays_float32_and_anything_else_is_float64(rng: np.random.Generator) -> None:
    single = rng.normal(size=(3, 6)).astype(np.float32)
    X = spatial.exp(single)
    for result in (X, spatial.log(X), spatial.Ad(X), spatial.inverse(X), spatial.ad(single)):
        assert result.dtype == np.float32
    assert spatial.act_on_wrench(X, single).dtype == np.float32
    assert spatial.compose(X, X.astype(np.float64)).dtype == np.float64
    assert spatial.exp([0, 0, 1]).dtype == np.float64
    np.testing.assert_allclose(X, spatial.exp(single.astype(np.float64)), atol=2e-6)
    np.testing.assert_allclose(spatial.log(X), single, atol=4e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spatial.exp([1, 2]), "x: must have shape (…, 3) or (…, 6), got (2,)"),
        (
            lambda: spatial.exp([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]]),
            "x: must be finite, got nan at [1, 1]",
        ),
        (lambda: spatial.ad([0, 0, np.inf]), "x: must be finite, got inf at [2]"),
        (lambda: spatial.exp(["a", "b", "c"]), "x: must hold real numbers, got dtype <U1"),
        (lambda: spatial.exp([[1, 2], [3]]), "x: must be an array of numbers"),
        (
            lambda: spatial.log(1.01 * np.eye(3)),
            "X: must be a rotation, RᵀR differs from 1 by 0.0201",
        ),
        (lambda: spatial.log(-np.eye(3)), "X: must be a rotation, got a reflection"),
        (
            lambda: spatial.inverse(np.ones((4, 4))),
            "X: must have the last row (0, 0, 0, 1), got (1, 1, 1, 1)",
        ),
        (
            lambda: spatial.Ad(np.stack([np.eye(4), 2 * np.eye(4)])),
            "X: must have the last row (0, 0, 0, 1), got (0, 0, 0, 2) at [1]",
        ),
        (lambda: spatial.Ad(np.eye(2)), "X: must have shape (…, 3, 3) or (…, 4, 4), got (2, 2)"),
        (lambda: spatial.compose(np.eye(4), np.eye(3)), "B: must have shape (…, 4, 4), got (3, 3)"),
        (
            lambda: spatial.compose(np.tile(np.eye(3), (2, 1, 1)), np.tile(np.eye(3), (3, 1, 1))),
            "B: leading axes (3,) do not fit (2,) of A",
        ),
        (lambda: spatial.vee(np.eye(3)), "A: must be antisymmetric, A + Aᵀ reaches 2"),
        (lambda: spatial.vee(np.eye(4)[::-1]), "A: must be antisymmetric, A + Aᵀ reaches 2"),
        (
            lambda: spatial.vee(np.diag([0, 0, 0, 1])),
            "A: must have the last row (0, 0, 0, 0), got (0, 0, 0, 1)",
        ),
        (
            lambda: spatial.act_on_point(np.eye(4), [1, 2]),
            "p: must have shape (…, 3) [m], got (2,)",
        ),
    ],
)
def test_wrong_arguments_are_named(call, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is compared below
        call()
    assert str(caught.value) == message
