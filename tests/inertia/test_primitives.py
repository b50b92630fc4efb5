"""Primitive solids against trimesh's fine meshes of them, hollow ones against the difference and thin limits."""

from __future__ import annotations

import numpy as np
import pytest

from pysim.errors import PysimError
from pysim.inertia import Inertia, is_physical, mesh_inertia
from pysim.shapes import Shape, primitive_theta

Array = np.ndarray
SIZES = {
    "box": (0.2, 0.5, 1.1),
    "sphere": (0.4,),
    "cylinder": (0.3, 0.8),
    "capsule": (0.3, 0.8),
    "cone": (0.3, 0.8),
    "ellipsoid": (0.3, 0.5, 0.7),
}


def made(kind: str, *sizes: float, **matter: float) -> Inertia:
    built: Inertia = getattr(Inertia, kind)(*sizes, **matter)
    return built


def fine_mesh(kind: str) -> tuple[Array, Array]:
    import trimesh

    match kind:
        case "box":
            mesh = trimesh.creation.box(SIZES["box"])
        case "sphere" | "ellipsoid":
            mesh = trimesh.creation.icosphere(5)
            mesh.apply_scale(SIZES[kind] * (3 if kind == "sphere" else 1))
        case "cylinder":
            mesh = trimesh.creation.cylinder(0.3, 0.8, sections=400)
        case "capsule":
            mesh = trimesh.creation.capsule(0.8, 0.3, count=[200, 200])
            mesh.apply_translation(-mesh.bounds.mean(axis=0))
        case _:
            mesh = trimesh.creation.cone(0.3, 0.8, sections=400)
            mesh.apply_translation([0, 0, -0.4])
    return mesh.vertices, mesh.faces


@pytest.mark.parametrize("kind", SIZES)
def test_a_primitive_weighs_what_a_fine_mesh_of_it_weighs(kind: str) -> None:
    theta = made(kind, *SIZES[kind], density=700.0).theta
    expected = mesh_inertia(*fine_mesh(kind), 700.0)
    np.testing.assert_allclose(theta, expected, rtol=2e-3, atol=2e-3 * theta.max())


@pytest.mark.parametrize("kind", SIZES)
def test_shapes_of_scenes_weigh_the_same(kind: str) -> None:
    theta = primitive_theta(Shape(kind, SIZES[kind]), 700.0)
    built = made(kind, *SIZES[kind], density=700.0)
    np.testing.assert_allclose(theta, built.theta, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kind", SIZES)
def test_a_thick_wall_leaves_little_to_the_cavity(kind: str) -> None:
    """The cavity shrinks to a point where walls meet: cone and box meet first at the inscribed ball."""
    radius = {"box": 0.1, "cone": 0.3 * 0.8 / (0.3 + np.hypot(0.3, 0.8)), "sphere": 0.4}.get(
        kind, 0.3
    )
    hollow = made(kind, *SIZES[kind], density=700.0, thickness=radius * (1 - 1e-6))
    solid = made(kind, *SIZES[kind], density=700.0)
    np.testing.assert_allclose(hollow.record, solid.record, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize(
    "kind", [kind for kind in SIZES if kind != "ellipsoid"]
)  # whose wall is uneven
def test_a_thin_wall_weighs_its_area(kind: str) -> None:
    import trimesh

    thickness = 1e-6
    vertices, faces = fine_mesh(kind)
    area = trimesh.Trimesh(vertices, faces, process=False).area
    hollow = made(kind, *SIZES[kind], density=700.0, thickness=thickness)
    assert hollow.mass == pytest.approx(700 * area * thickness, rel=2e-3)
    sheet = mesh_inertia(vertices, faces, 700.0, shell=thickness)
    np.testing.assert_allclose(hollow.theta, sheet, rtol=4e-3, atol=4e-3 * sheet.max())
    assert is_physical(hollow.theta)


def test_a_hollow_sphere_is_the_textbook_s() -> None:
    body = Inertia.sphere(0.5, mass=2.0, thickness=0.1)
    expected = 0.4 * 2.0 * (0.5**5 - 0.4**5) / (0.5**3 - 0.4**3)
    np.testing.assert_allclose(body.record[4:7], expected, rtol=1e-14)


def test_a_tube_is_the_textbook_s() -> None:
    body = Inertia.tube(0.5, 2.0, mass=3.0, thickness=0.1)
    squares = 0.5**2 + 0.4**2
    across = 3.0 / 12 * (3 * squares + 4.0)
    np.testing.assert_allclose(body.record[4:7], [across, across, 1.5 * squares], rtol=1e-14)


def test_sizes_may_be_arrays_that_broadcast() -> None:
    bodies = Inertia.box(np.array([0.1, 0.2]), 0.3, np.array([[0.4], [0.5], [0.6]]), mass=2.0)
    assert bodies.shape == (3, 2)
    np.testing.assert_array_equal(bodies[2, 1].record, Inertia.box(0.2, 0.3, 0.6, mass=2.0).record)


@pytest.mark.parametrize(
    ("matter", "text"),
    [
        ({}, "mass: needs one of density [kg/m³] and mass [kg], got none"),
        ({"mass": 1, "density": 1}, "mass: needs one of density [kg/m³] and mass [kg], got both"),
        ({"mass": -1}, "mass: must be positive [kg], got -1"),
        (
            {"mass": 1, "thickness": 1},
            "thickness: leaves no cavity: it is 2 times the largest possible; leave it out for a solid",
        ),
    ],
)
def test_invalid_densities_and_masses_are_rejected(matter: dict[str, float], text: str) -> None:
    with pytest.raises(PysimError) as caught:
        Inertia.sphere(0.5, **matter)
    assert str(caught.value) == text
