"""Ten inertial numbers. The oracle is a cloud of points, whose sums are the definitions.

Conversions are held to the permutations of FORMULAS.md, section 0; a solid's integrals to a box and to trimesh.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pysim import inertia

Array = np.ndarray


def theta_of_points(masses: Array, points: Array) -> Array:
    """θ from the definitions: Σ m, Σ m p, Σ m (p·p 1 − p pᵀ)."""
    I = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    return inertia.theta_from_origin(masses.sum(), masses @ points, I)


@pytest.fixture
def cloud(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.uniform(0.1, 2, 7), rng.normal(size=(7, 3))


def random_pose(rng: np.random.Generator) -> Array:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    X = np.eye(4)
    X[:3, :3] = Q * np.linalg.det(Q)
    X[:3, 3] = rng.normal(size=3)
    return X


def test_theta_is_mass_first_moment_and_the_tensor_row_by_row() -> None:
    I = np.array([[1, 2, 4], [2, 3, 5], [4, 5, 6]])
    theta = inertia.theta_from_origin(7, [8, 9, 10], I)
    np.testing.assert_array_equal(theta, [7, 8, 9, 10, 1, 2, 3, 4, 5, 6])


def test_theta_from_com_adds_what_the_offset_adds(cloud: tuple[Array, Array]) -> None:
    masses, points = cloud
    mass, com = masses.sum(), masses @ points / masses.sum()
    about_com = inertia.rotational_inertia(theta_of_points(masses, points - com))

    theta = inertia.theta_from_com(mass, com, about_com)

    np.testing.assert_allclose(theta, theta_of_points(masses, points), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(inertia.center_of_mass(theta), com, rtol=1e-13)
    np.testing.assert_allclose(inertia.central_inertia(theta), about_com, rtol=1e-12, atol=1e-13)


def test_moving_a_body_moves_its_points(
    cloud: tuple[Array, Array], rng: np.random.Generator
) -> None:
    masses, points = cloud
    X = random_pose(rng)
    moved = inertia.move_theta(theta_of_points(masses, points), X)
    expected = theta_of_points(masses, points @ X[:3, :3].T + X[:3, 3])
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-13)


def test_moving_there_and_back_changes_nothing(
    cloud: tuple[Array, Array], rng: np.random.Generator
) -> None:
    theta, X = theta_of_points(*cloud), random_pose(rng)
    back = inertia.move_theta(inertia.move_theta(theta, X), np.linalg.inv(X))
    np.testing.assert_allclose(back, theta, rtol=1e-12, atol=1e-13)


def test_bodies_welded_together_add_their_theta(cloud: tuple[Array, Array]) -> None:
    masses, points = cloud
    parts = theta_of_points(masses[:3], points[:3]) + theta_of_points(masses[3:], points[3:])
    np.testing.assert_allclose(parts, theta_of_points(masses, points), rtol=1e-13, atol=1e-14)


def test_a_massless_body_has_its_centre_at_its_origin() -> None:
    np.testing.assert_array_equal(inertia.center_of_mass(np.zeros(10)), np.zeros(3))


def test_orders_are_permutations_of_each_other() -> None:
    theta = np.array(["m", "x", "y", "z", "xx", "xy", "yy", "xz", "yz", "zz"])
    index = dict(zip(theta, np.arange(10.0), strict=True))

    def named(values: Array) -> list[str]:
        return [str(theta[int(k)]) for k in values]

    numbers = np.array([index[name] for name in theta])
    packed = ["m", "x", "y", "z", "xx", "yy", "zz", "xy", "yz", "xz"]
    kwon = ["m", "x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz"]
    assert named(inertia.theta_to_packed(numbers)) == packed
    assert named(inertia.theta_to_kwon(numbers)) == kwon


def test_conversions_undo_each_other_on_batches(rng: np.random.Generator) -> None:
    theta = rng.normal(size=(4, 3, 10))
    packed, kwon = inertia.theta_to_packed(theta), inertia.theta_to_kwon(theta)
    np.testing.assert_array_equal(inertia.packed_to_theta(packed), theta)
    np.testing.assert_array_equal(inertia.kwon_to_theta(kwon), theta)


def test_pseudo_inertia_is_the_sum_of_outer_products_in_homogeneous_coordinates(
    cloud: tuple[Array, Array],
) -> None:
    masses, points = cloud
    p = np.column_stack([points, np.ones(len(points))])
    J = inertia.pseudo_inertia(theta_of_points(masses, points))
    np.testing.assert_allclose(J, (masses[:, None] * p).T @ p, rtol=1e-12, atol=1e-13)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_every_cloud_of_points_is_physical(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    theta = theta_of_points(rng.uniform(0.01, 100, count), rng.normal(size=(count, 3)))
    assert inertia.unphysical_reason(theta) is None
    assert inertia.is_physical(theta)


def test_a_batch_is_judged_row_by_row() -> None:
    good = inertia.theta_from_com(1, [0, 0, 1], np.eye(3))
    bad = inertia.theta_from_com(1, [0, 0, 1], np.diag([1, 1, 3]))
    judged = inertia.is_physical(np.array([[good, bad], [bad, good]]))
    np.testing.assert_array_equal(judged, [[True, False], [False, True]])


@pytest.mark.parametrize(
    ("theta", "reason"),
    [
        (
            inertia.theta_from_com(1, [0, 0, 0], np.diag([1, 1, 2.5])),
            (
                "Ixx + Iyy < Izz by 20 %, against the triangle inequality of the principal moments "
                "1, 1, 2.5 [kg·m²]"
            ),
        ),
        (
            inertia.theta_from_com(1, [0, 0, 0], np.diag([-1, 1, 1])),
            "the principal moment -1 [kg·m²] is negative",
        ),
        (inertia.theta_from_com(-2, [0, 0, 0], np.eye(3)), "the mass is negative, -2 [kg]"),
        (
            inertia.theta_from_origin(0, [0, 0, 0], np.eye(3)),
            "the mass is zero but the inertia is not",
        ),
        (np.array([np.nan, *[0.0] * 9]), "a number is not finite"),
    ],
    ids=["triangle", "negative moment", "negative mass", "massless", "nan"],
)
def test_the_reason_of_an_inconsistency_is_reported(theta: Array, reason: str) -> None:
    assert inertia.unphysical_reason(theta) == reason


def test_a_point_far_from_the_origin_is_physical(rng: np.random.Generator) -> None:
    for _ in range(300):  # about the centre of mass rounding alone is left, of either sign
        theta = inertia.theta_from_com(
            rng.uniform(0.1, 9), 9 * rng.normal(size=3), np.zeros((3, 3))
        )
        assert inertia.unphysical_reason(theta) is None


def test_dust_among_the_zeros_of_a_point_is_physical() -> None:
    dust = np.array([[0, 0, 2.4e-35], [0, 0, 0], [2.4e-35, 0, 0]])
    assert inertia.unphysical_reason(inertia.theta_from_com(1.3, [0, 0, 0], dust)) is None


def test_a_flat_plate_is_physical() -> None:
    assert (
        inertia.unphysical_reason(inertia.theta_from_com(1, [1, 2, 3], np.diag([1, 2, 3]))) is None
    )


BOX_FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def corners(size: Array) -> Array:
    unit = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    return (unit - 0.5) * size


def test_the_integrals_over_a_box_of_triangles_are_those_of_a_box() -> None:
    x, y, z = size = np.array([0.2, 0.5, 1.1])
    theta = inertia.mesh_inertia(corners(size), BOX_FACES, 700)
    mass = 700 * x * y * z
    moments = mass / 12 * np.array([y * y + z * z, z * z + x * x, x * x + y * y])
    expected = inertia.theta_from_com(mass, np.zeros(3), np.diag(moments))
    np.testing.assert_allclose(theta, expected, rtol=1e-13, atol=1e-14)


def test_the_integrals_move_with_the_mesh(rng: np.random.Generator) -> None:
    vertices, X = corners(np.array([0.2, 0.5, 1.1])), random_pose(rng)
    moved = inertia.mesh_inertia(vertices @ X[:3, :3].T + X[:3, 3], BOX_FACES, 700)
    expected = inertia.move_theta(inertia.mesh_inertia(vertices, BOX_FACES, 700), X)
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-12)


def test_a_small_solid_far_away_keeps_its_digits() -> None:
    far = inertia.mesh_inertia(corners(np.full(3, 0.01)) + 100, BOX_FACES, 1000)
    about_com = 1e-3 * 0.01**2 / 6
    np.testing.assert_allclose(far[0], 1e-3, rtol=1e-9)
    assert far[4] - 2e4 * far[0] == pytest.approx(about_com, abs=1e-12)


def test_the_integrals_over_a_bent_solid_are_those_of_trimesh() -> None:
    import trimesh

    mesh = trimesh.creation.torus(0.3, 0.1, 24, 12)
    mesh.apply_translation([0.1, 0.2, 0.3])
    mesh.density = 400
    expected = inertia.theta_from_com(mesh.mass, mesh.center_mass, mesh.moment_inertia)
    theta = inertia.mesh_inertia(mesh.vertices, mesh.faces, 400)
    np.testing.assert_allclose(theta, expected, rtol=1e-9, atol=1e-9)
