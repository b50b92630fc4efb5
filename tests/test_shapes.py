"""Primitives of uniform density. The oracle integrates elliptic slices along z by quadrature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from pysim.inertia import center_of_mass, theta_from_origin
from pysim.shapes import SIZES, Geometry, Shape, primitive_theta, primitive_volume

Slice = Callable[[float], tuple[float, float]]  # semi-axes [m] at height z [m]


def sliced(low: float, high: float, axes: Slice, breaks: tuple[float, ...] = ()) -> np.ndarray:
    """θ at density 1: area πab, ∫x² = πa³b/4, ∫y² = πab³/4 of an ellipse."""

    def integral(i: int, j: int, k: int) -> float:
        def f(z: float) -> float:
            a, b = axes(z)
            return np.pi * a**i * b**j * z**k

        return quad(f, low, high, points=breaks or None, epsabs=1e-13, epsrel=1e-12)[0]

    mass, mz, z2 = integral(1, 1, 0), integral(1, 1, 1), integral(1, 1, 2)
    x2, y2 = integral(3, 1, 0) / 4, integral(1, 3, 0) / 4
    return theta_from_origin(mass, [0, 0, mz], np.diag([y2 + z2, z2 + x2, x2 + y2]))


def round_slice(radius: Callable[[float], float]) -> Slice:
    return lambda z: (radius(z), radius(z))


def capsule_radius(z: float) -> float:
    over = max(abs(z) - 0.35, 0.0)
    return np.sqrt(max(0.2**2 - over**2, 0.0))


def ellipsoid_axes(z: float) -> tuple[float, float]:
    s = np.sqrt(max(1 - (z / 0.9) ** 2, 0.0))
    return 0.3 * s, 0.5 * s


SOLIDS = {
    "sphere": (
        (0.4,),
        sliced(-0.4, 0.4, round_slice(lambda z: np.sqrt(max(0.16 - z * z, 0.0)))),
    ),
    "cylinder": ((0.2, 0.7), sliced(-0.35, 0.35, round_slice(lambda _: 0.2))),
    "capsule": (
        (0.2, 0.7),
        sliced(-0.55, 0.55, round_slice(capsule_radius), (-0.35, 0.35)),
    ),
    "cone": ((0.2, 0.7), sliced(-0.35, 0.35, round_slice(lambda z: 0.2 * (0.5 - z / 0.7)))),
    "ellipsoid": ((0.3, 0.5, 0.9), sliced(-0.9, 0.9, ellipsoid_axes)),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_primitive_has_the_inertia_of_its_slices(kind: str) -> None:
    size, expected = SOLIDS[kind]
    theta = primitive_theta(Shape(kind, size), 800)
    np.testing.assert_allclose(theta, 800 * expected, rtol=1e-9, atol=1e-10)
    assert primitive_volume(Shape(kind, size)) == pytest.approx(expected[0], rel=1e-9)


def test_a_box_has_the_inertia_of_three_thin_rods() -> None:
    x, y, z = 0.2, 0.5, 1.1
    theta = primitive_theta(Shape("box", (x, y, z)), 1 / (x * y * z))
    rods = np.array([x, y, z]) ** 2 / 12
    np.testing.assert_allclose(theta[[0, 4, 6, 9]], [1, *(rods.sum() - rods)], rtol=1e-14)
    np.testing.assert_array_equal(theta[[1, 2, 3, 5, 7, 8]], np.zeros(6))


def test_a_cone_stands_on_its_base_with_its_origin_halfway_up() -> None:
    theta = primitive_theta(Shape("cone", (0.2, 0.8)), 1000)
    np.testing.assert_allclose(center_of_mass(theta), [0, 0, -0.2], atol=1e-15)


def test_a_capsule_without_length_is_a_ball() -> None:
    capsule = primitive_theta(Shape("capsule", (0.3, 1e-12)), 500)
    ball = primitive_theta(Shape("sphere", (0.3,)), 500)
    np.testing.assert_allclose(capsule, ball, rtol=1e-10, atol=1e-10)


def test_every_primitive_lists_its_sizes() -> None:
    for kind, sizes in SIZES.items():
        if kind != "mesh":
            assert primitive_theta(Shape(kind, (1.0,) * len(sizes)), 1)[0] > 0


def test_a_mesh_is_not_a_primitive() -> None:
    with pytest.raises(ValueError, match=r"^no primitive is called 'mesh'$"):
        primitive_volume(Shape("mesh"))


def test_a_geometry_moves_with_the_frame_it_is_welded_to() -> None:
    up, along = np.eye(4), np.eye(4)
    up[2, 3], along[0, 3] = 1, 2
    moved = Geometry(Shape("sphere", (0.1,)), along).moved(up)
    np.testing.assert_array_equal(moved.pose[:3, 3], [2, 0, 1])
