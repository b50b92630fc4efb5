"""Conversions of rotations, against products of elementary rotations and SciPy where it is installed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pysim import spatial
from pysim.errors import PysimError

TIGHT = 2e-15


def about(axis: int, angle: float) -> np.ndarray:
    """The elementary rotation, by definition."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
    return R


def random_rotations(rng: np.random.Generator, count: int = 200) -> np.ndarray:
    """Uniform on SO(3), among them half turns and rotations near the identity."""
    q = rng.normal(size=(count, 4))
    q[: count // 4, 3] *= 1e-9
    q[count // 4 : count // 2, :3] *= 1e-9
    return spatial.rotation_from_quaternion(q / np.linalg.norm(q, axis=1, keepdims=True))


def test_rpy_turns_about_fixed_axes_x_then_y_then_z() -> None:
    R = spatial.rotation_from_rpy([0.3, -0.4, 2.0])
    np.testing.assert_allclose(R, about(2, 2.0) @ about(1, -0.4) @ about(0, 0.3), atol=TIGHT)


def test_quaternion_orders_are_what_their_names_say() -> None:
    half = 0.35
    np.testing.assert_allclose(
        spatial.rotation_from_quaternion([0, 0, np.sin(half), np.cos(half)]),
        about(2, 0.7),
        atol=TIGHT,
    )
    np.testing.assert_allclose(
        spatial.rotation_from_quaternion([np.cos(half), 0, 0, np.sin(half)], order="wxyz"),
        about(2, 0.7),
        atol=TIGHT,
    )
    np.testing.assert_allclose(
        spatial.quaternion_from_rotation(about(2, 0.7), order="wxyz"),
        [np.cos(half), 0, 0, np.sin(half)],
        atol=TIGHT,
    )


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
def test_quaternions_round_trip_with_w_not_negative(order: str, rng: np.random.Generator) -> None:
    R = random_rotations(rng)
    q = spatial.quaternion_from_rotation(R, order)
    assert (q[:, order.index("w")] >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=TIGHT)
    np.testing.assert_allclose(spatial.rotation_from_quaternion(q, order), R, atol=TIGHT)


@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
def test_a_product_of_quaternions_is_that_of_their_rotations(
    order: str, rng: np.random.Generator
) -> None:
    A, B = random_rotations(rng), random_rotations(rng)
    a, b = (spatial.quaternion_from_rotation(R, order) for R in (A, B))
    product = spatial.quaternion_multiply(a, b, order)
    np.testing.assert_allclose(
        spatial.rotation_from_quaternion(product, order), A @ B, atol=2 * TIGHT
    )
    np.testing.assert_array_equal(
        spatial.quaternion_multiply(a[0], b, order)[7],
        spatial.quaternion_multiply(a[0], b[7], order),
    )
    single = spatial.quaternion_multiply(a.astype(np.float32), b.astype(np.float32), order)
    assert single.dtype == np.float32


def test_i_times_j_is_k() -> None:
    i, j, k = np.eye(3, 4)
    np.testing.assert_array_equal(spatial.quaternion_multiply(i, j), k)
    np.testing.assert_array_equal(spatial.quaternion_multiply(j, i), -k)


def test_another_order_keeps_the_sign() -> None:
    q = [0.5, -0.5, 0.5, -0.5]
    np.testing.assert_array_equal(spatial.reordered_quaternion(q, "xyzw", "wxyz"), [-0.5, *q[:3]])
    np.testing.assert_array_equal(spatial.reordered_quaternion([-0.5, *q[:3]], "wxyz", "xyzw"), q)


def test_quaternions_are_scipys(rng: np.random.Generator) -> None:
    transform = pytest.importorskip("scipy.spatial.transform")
    R = random_rotations(rng)
    expected = transform.Rotation.from_matrix(R).as_quat(canonical=True)
    q = spatial.quaternion_from_rotation(R)
    np.testing.assert_allclose(abs((q * expected).sum(-1)), 1, atol=1e-14)


def test_rpy_round_trips_off_and_at_the_poles(rng: np.random.Generator) -> None:
    R = random_rotations(rng)
    rpy = spatial.rpy_from_rotation(R)
    assert (abs(rpy[:, 1]) <= np.pi / 2).all()
    np.testing.assert_allclose(spatial.rotation_from_rpy(rpy), R, atol=TIGHT)
    poles = np.array(list(itertools.product([0, 1, -2.5], [np.pi / 2, -np.pi / 2], [0, 0.5, 3])))
    R = spatial.rotation_from_rpy(poles)
    np.testing.assert_allclose(
        spatial.rotation_from_rpy(spatial.rpy_from_rotation(R)), R, atol=TIGHT
    )


def test_rpy_gives_the_angles_back(rng: np.random.Generator) -> None:
    rpy = rng.uniform([-3, -1.5, -3], [3, 1.5, 3], (100, 3))
    np.testing.assert_allclose(
        spatial.rpy_from_rotation(spatial.rotation_from_rpy(rpy)), rpy, atol=1e-13
    )


def test_axis_and_angle_round_trip(rng: np.random.Generator) -> None:
    R = random_rotations(rng)
    axis, angle = spatial.axis_angle_from_rotation(R)
    assert ((angle >= 0) & (angle <= np.pi + 1e-15)).all()
    np.testing.assert_allclose(spatial.rotation_from_axis_angle(axis, angle), R, atol=TIGHT)
    axis, angle = spatial.axis_angle_from_rotation(np.eye(3))
    assert (axis.tolist(), float(angle)) == ([0, 0, 1], 0)
    np.testing.assert_allclose(
        spatial.rotation_from_axis_angle([0, 1, 0], [0.1, 0.2])[1], about(1, 0.2), atol=TIGHT
    )


def test_the_record_is_the_rotation_by_columns_then_the_position(rng: np.random.Generator) -> None:
    R, p = about(0, 0.3), np.array([1.0, 2.0, 3.0])
    X = spatial.pose(R, p)
    np.testing.assert_array_equal(spatial.record_from_pose(X), [*R.T.ravel(), *p])
    many = spatial.exp(rng.normal(size=(3, 2, 6)))
    np.testing.assert_array_equal(spatial.pose_from_record(spatial.record_from_pose(many)), many)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: spatial.rotation_from_quaternion([0, 0, 0.1, 1]),
            "quaternion: (x, y, z, w) must have length 1, got 1.00498756",
        ),
        (
            lambda: spatial.rotation_from_quaternion([[1, 0, 0, 0], [0, 0, 0, 0]], "wxyz"),
            "quaternion: (w, x, y, z) must have length 1, got 0 at [1]",
        ),
        (
            lambda: spatial.quaternion_from_rotation(np.eye(3), "wxzy"),
            "order: unknown order 'wxzy'; did you mean 'wxyz'?",
        ),
        (
            lambda: spatial.quaternion_multiply([0, 0, 0, 1], [0, 0, 0, 2]),
            "b: (x, y, z, w) must have length 1, got 2",
        ),
        (
            lambda: spatial.reordered_quaternion([0, 0, 0, 1], "xyzw", "wxy"),
            "wanted: unknown order 'wxy'; did you mean 'wxyz'?",
        ),
        (
            lambda: spatial.rotation_from_axis_angle([1, 1, 0], 0.1),
            "axis: must have length 1, got 1.41421356",
        ),
        (
            lambda: spatial.rotation_from_rpy([0, 1]),
            "rpy: must have shape (…, 3) [rad], got (2,)",
        ),
        (
            lambda: spatial.rpy_from_rotation(np.zeros((3, 3))),
            "R: must be a rotation, RᵀR differs from 1 by 1",
        ),
        (
            lambda: spatial.pose(np.eye(3), [0, 0, np.nan]),
            "p: must be finite, got nan at [2]",
        ),
    ],
)
def test_wrong_arguments_are_named(call, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is compared below
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
def test_slerp_turns_about_one_axis_at_constant_speed(rng: np.random.Generator, order: str) -> None:
    """Oracle: R_a exp(s log(R_aᵀ R_b)), by matrices."""
    a, b = rng.normal(size=(2, 50, 4))
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    s = rng.uniform(-0.3, 1.3, size=50)
    R_a, R_b = (spatial.rotation_from_quaternion(x, order) for x in (a, b))
    turn = spatial.log(np.swapaxes(R_a, 1, 2) @ R_b)
    found = spatial.rotation_from_quaternion(spatial.slerp(a, b, s), order)
    np.testing.assert_allclose(found, R_a @ spatial.exp(s[:, None] * turn), atol=1e-13)


def test_slerp_of_one_pair_takes_many_fractions_and_equal_ends() -> None:
    a = np.array([0.0, 0.6, 0.0, 0.8])
    found = spatial.slerp(a, a, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(found, np.tile(a, (3, 1)), atol=1e-15)
    with pytest.raises(PysimError, match=r"^b: "):
        spatial.slerp(a, [0.0, 0.6, 0.0, 0.9], 0.5)
