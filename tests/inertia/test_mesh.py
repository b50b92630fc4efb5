"""Integrals over meshes and their derivatives: rational arithmetic, boxes, trimesh, central differences.

The dense form of Kwon's (15)-(34) is written out below in his order [m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz]; where a
printed sum is wrong, it is asserted to differ.
"""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import inertia, spatial
from pysim.errors import PysimError, PysimWarning

Array = np.ndarray
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def blob(rng: np.random.Generator, subdivisions: int = 1) -> tuple[Array, Array]:
    """A bent ball away from the origin."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions)
    bent = ball.vertices @ np.diag([1, 0.7, 1.4]) + 0.03 * rng.normal(size=ball.vertices.shape)
    return bent + np.array([0.5, -0.3, 0.8]), np.array(ball.faces)


def exact_theta(vertices: Array, faces: Array) -> Array:
    """θ of unit density in rational arithmetic, rounded once."""
    points = [[Fraction(float(x)) for x in v] for v in vertices]
    V: Fraction = Fraction(0)
    first: list[Fraction] = [Fraction(0)] * 3
    C = [[Fraction(0)] * 3 for _ in range(3)]
    for face in faces:
        a, b, c = (points[k] for k in face)
        cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]
        det = sum((x * y for x, y in zip(a, cross, strict=True)), Fraction(0))
        s = [a[i] + b[i] + c[i] for i in range(3)]
        V += det / 6
        for i in range(3):
            first[i] += det * s[i] / 24
            for j in range(3):
                C[i][j] += det * (s[i] * s[j] + a[i] * a[j] + b[i] * b[j] + c[i] * c[j]) / 120
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = C
    return np.array([float(x) for x in (V, *first, yy + zz, -xy, zz + xx, -xz, -yz, xx + yy)])


def differences(function, x: Array, h: float = 1e-6) -> Array:
    """Central differences along every number of x, in x's shape after the function's."""
    columns = []
    for k in range(x.size):
        step: Array = np.zeros(x.size)
        step[k] = h
        step = step.reshape(x.shape)
        columns.append((function(x + step) - function(x - step)) / (2 * h))
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("subdivisions", [0, 1])  # 20 and 80 faces: a block left over, and none
def test_the_integrals_are_those_of_rational_arithmetic(
    subdivisions: int, rng: np.random.Generator
) -> None:
    vertices, faces = blob(rng, subdivisions)
    theta = inertia.mesh_inertia(vertices, faces, 1.0)
    np.testing.assert_allclose(
        theta, exact_theta(vertices, faces), rtol=0, atol=2e-15 * theta.max()
    )


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_mesh_a_million_metres_away_loses_only_the_rounding_of_its_vertices(
    kind: type, rng: np.random.Generator
) -> None:
    vertices, faces = blob(rng)
    far: Array = (vertices * (1 if kind is np.float64 else 1e3) + 1e6).astype(kind)
    theta = inertia.mesh_inertia(far, faces, 1.0)
    np.testing.assert_allclose(theta, exact_theta(far, faces), rtol=4e-16)
    near = inertia.mesh_inertia(far.astype(float) - 1e6, faces, 1.0)
    assert theta[0] == pytest.approx(near[0], rel=1e-15)
    naive = np.einsum("ij,ij->i", far[faces[:, 0]], np.cross(far[faces[:, 1]], far[faces[:, 2]]))
    assert abs(naive.sum() / 6 / theta[0] - 1) > 1e-9  # what is lost without a translation


@pytest.mark.usefixtures("isa")
def test_a_box_of_triangles_is_a_box() -> None:
    theta = inertia.mesh_inertia(CUBE * [0.2, 0.5, 1.1], FACES, 700.0)
    expected = inertia.Inertia.box(0.2, 0.5, 1.1, density=700.0).translated([0.1, 0.25, 0.55])
    np.testing.assert_allclose(theta, expected.theta, rtol=1e-14)
    made = inertia.Inertia.from_mesh(CUBE * [0.2, 0.5, 1.1], FACES, 700.0)
    np.testing.assert_array_equal(made.theta, theta)


def test_the_integrals_are_those_of_trimesh(rng: np.random.Generator) -> None:
    import trimesh

    vertices, faces = blob(rng, 3)
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    mesh.density = 7.0
    expected = inertia.theta_from_com(mesh.mass, mesh.center_mass, mesh.moment_inertia)
    theta = inertia.mesh_inertia(vertices, faces, 7.0, crossings=False)  # a rough ball does
    np.testing.assert_allclose(theta, expected, rtol=1e-11, atol=1e-10)


def test_sums_have_the_same_bits_on_avx2_and_avx512(rng: np.random.Generator) -> None:
    vertices, faces = blob(rng, 2)
    runs = []
    for isa in [name for name in pysim.available_isas() if name != "baseline"]:
        pysim.use_isa(isa)
        J = inertia.mesh_inertia_derivatives(vertices, faces[:-3], 3.0, check=False)
        theta = inertia.mesh_inertia(vertices, faces[:-3], 3.0, check=False)
        sheet = inertia.mesh_inertia_derivatives(vertices, faces, 3.0, shell=0.1)
        gradient = inertia.mesh_inertia_gradient(vertices, faces[:-3], 3.0, J[:, 0, 0], check=False)
        runs.append(np.r_[J.ravel(), theta, sheet.ravel(), gradient.ravel()])
    pysim.use_isa("auto")
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])


@pytest.mark.usefixtures("isa")
def test_derivatives_are_those_of_differences(rng: np.random.Generator) -> None:
    vertices, faces = blob(rng)
    J = inertia.mesh_inertia_derivatives(vertices, faces, 2.3)
    assert J.shape == (10, len(vertices), 3)
    expected = differences(lambda v: inertia.mesh_inertia(v, faces, 2.3), vertices)
    np.testing.assert_allclose(J, expected, rtol=0, atol=1e-8)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("faces", [20, 17], ids=["closed", "open"])
def test_derivatives_of_a_sheet_are_those_of_differences(
    faces: int, rng: np.random.Generator
) -> None:
    vertices, triangles = blob(rng, 0)
    sheet = triangles[:faces]
    J = inertia.mesh_inertia_derivatives(vertices, sheet, 800.0, shell=0.01)
    expected = differences(lambda v: inertia.mesh_inertia(v, sheet, 800.0, shell=0.01), vertices)
    np.testing.assert_allclose(J, expected, rtol=0, atol=1e-8 * abs(expected).max())


def test_a_face_of_a_sheet_without_area_has_no_slope() -> None:
    J = inertia.mesh_inertia_derivatives(CUBE, [[0, 0, 1], [0, 1, 3]], 1.0, shell=1.0)
    expected = inertia.mesh_inertia_derivatives(CUBE, [[0, 1, 3]], 1.0, shell=1.0)
    np.testing.assert_array_equal(J, expected)


def test_derivatives_of_a_hull_are_those_of_differences_and_zero_inside(
    rng: np.random.Generator,
) -> None:
    vertices, faces = blob(rng, 1)
    vertices[::3] = vertices.mean(axis=0) + 0.5 * (vertices[::3] - vertices.mean(axis=0))
    J = inertia.mesh_inertia_derivatives(vertices, faces, 2.3, convex=True)
    expected = differences(lambda v: inertia.mesh_inertia(v, faces, 2.3, convex=True), vertices)
    np.testing.assert_allclose(J, expected, rtol=0, atol=1e-8 * abs(expected).max())
    assert (J[:, ::3] == 0).all()


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("way", [{}, {"convex": True}, {"shell": 0.01}], ids=str)
def test_the_gradient_is_the_transpose_of_the_derivatives(
    way: dict[str, Any], rng: np.random.Generator
) -> None:
    vertices, faces = blob(rng)
    weights = rng.normal(size=10)
    expected = np.tensordot(
        weights, inertia.mesh_inertia_derivatives(vertices, faces, 2.3, **way), 1
    )
    gradient = inertia.mesh_inertia_gradient(vertices, faces, 2.3, weights, **way)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-14 * abs(expected).max())


def test_a_gradient_needs_ten_weights() -> None:
    with pytest.raises(PysimError, match=r"^weights: must have shape \(10,\), got \(9,\)$"):
        inertia.mesh_inertia_gradient(CUBE, FACES, 1.0, np.ones(9))
    with pytest.raises(PysimError, match=r"^weights: must have shape \(10,\), got \(2, 10\)$"):
        inertia.mesh_inertia_gradient(CUBE, FACES, 1.0, np.ones((2, 10)))


def test_a_mesh_is_not_repaired_and_differentiated_at_once() -> None:
    text = "^mesh: cannot be repaired and differentiated at once, because repair changes its vertices; fix it first$"
    with pytest.raises(PysimError, match=text):
        inertia.mesh_inertia_derivatives(CUBE, FACES, 1.0, repair=True)


@pytest.mark.usefixtures("isa")
def test_derivatives_know_that_everything_may_move_together(rng: np.random.Generator) -> None:
    vertices, faces = blob(rng, 2)
    theta = inertia.mesh_inertia(vertices, faces, 2.3)
    J = inertia.mesh_inertia_derivatives(vertices, faces, 2.3)
    np.testing.assert_allclose(J[0].sum(axis=0), np.zeros(3), atol=1e-13)  # Σ dm/dv = 0
    np.testing.assert_allclose(
        J[1:4].sum(axis=1), theta[0] * np.eye(3), atol=1e-12
    )  # Σ dh/dv = m 1
    dv = np.concatenate([np.tile(np.eye(3), (len(vertices), 1, 1)), -skews(vertices)], axis=2)
    rigid = np.einsum("anj,njk->ak", J, dv)  # vertices moved by v + ω × p
    np.testing.assert_allclose(rigid, inertia.moved_derivative(theta), atol=1e-12)


def test_derivative_of_the_mass_is_the_sum_of_cross_products(rng: np.random.Generator) -> None:
    """dm/dv_i = μ/6 Σ v_j × v_k over the faces around i."""
    vertices, faces = blob(rng)
    expected = np.zeros_like(vertices)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        swept = np.cross(vertices[faces[:, j]], vertices[faces[:, k]])
        np.add.at(expected, faces[:, i], 2.3 / 6 * swept)
    J = inertia.mesh_inertia_derivatives(vertices, faces, 2.3)
    np.testing.assert_allclose(J[0], expected, atol=1e-13)


@pytest.mark.parametrize("way", [{}, {"convex": True}, {"shell": 0.01}], ids=str)
def test_derivative_by_density_is_theta_of_unit_density(
    way: dict[str, Any], rng: np.random.Generator
) -> None:
    vertices, faces = blob(rng)
    d = inertia.mesh_inertia_density_derivative(vertices, faces, **way)
    h = [inertia.mesh_inertia(vertices, faces, mu, **way) for mu in (2.0, 5.0)]
    np.testing.assert_allclose(d, (h[1] - h[0]) / 3, rtol=1e-12, atol=1e-13)


def skews(a: Array) -> Array:
    return np.array([spatial.skew(row) for row in a])


# Kwon's formulas, slot by slot --------------------------------------------------------------------


def kwon_slot(v: Array, i: int, mu: float) -> Array:
    """What a face v (3, 3) adds to the slot of its corner i: rows (10, 3), (18), (21), (24) and (28)."""
    j, k = (i + 1) % 3, (i + 2) % 3
    n, det = np.cross(v[1] - v[0], v[2] - v[0]), np.linalg.det(v.T)
    pairs = [(a, b) for a in range(3) for b in range(a, 3)]
    g = sum(v[a] * v[b] for a, b in pairs)
    rv = sum(r_of(v[a]) @ v[b] for a, b in pairs)
    s = v.sum(axis=0)
    dn, ddet, dg = spatial.skew(v[k] - v[j]), v[j] @ spatial.skew(v[k]), np.diag(s + v[i])
    rows = np.empty((10, 3))
    rows[0] = mu / 18 * (n + s @ dn)
    rows[1:4] = mu / 24 * (n[:, None] * dg + g[:, None] * dn)
    rows[4:7] = mu / 60 * (np.ones((3, 3)) - np.eye(3)) @ (np.outer(g, ddet) + det * dg)
    rows[7:] = -mu / 120 * (np.outer(rv, ddet) + det * r_of(v[i] + s))
    return rows


def r_of(v: Array) -> Array:
    x, y, z = v
    return np.array([[y, x, 0], [z, 0, x], [0, z, y]])


def test_each_slot_is_added_once_and_the_printed_sums_are_not_the_derivative(
    rng: np.random.Generator,
) -> None:
    vertices, faces = blob(rng, 0)
    once, printed = np.zeros((10, *vertices.shape)), np.zeros((10, *vertices.shape))
    for face in faces:
        slots = [kwon_slot(vertices[face], i, 2.3) for i in range(3)]
        for i in range(3):
            once[:, face[i]] += slots[i]
            printed[:, face[i]] += sum(slots)
    J = inertia.theta_to_kwon(
        np.moveaxis(inertia.mesh_inertia_derivatives(vertices, faces, 2.3), 0, -1)
    )
    J = np.moveaxis(J, -1, 0)
    np.testing.assert_allclose(J, once, atol=1e-12)
    np.testing.assert_allclose(printed[0], J[0], atol=1e-12)  # (18) agrees where the fan is closed
    assert abs(printed[4:7] - J[4:7]).max() > 0.05  # (23)
    assert abs(printed[7:] - J[7:]).max() > 0.05  # (27)


def test_moving_a_body_changes_theta_at_the_stated_rate(rng: np.random.Generator) -> None:
    vertices, faces = blob(rng)
    theta = inertia.mesh_inertia(vertices, faces, 2.3)
    X = spatial.exp(rng.normal(size=6))
    now = inertia.move_theta(theta, X)

    def moved(eta: Array) -> Array:
        return inertia.move_theta(theta, spatial.exp(eta) @ X)  # [δη] = δX X⁻¹

    np.testing.assert_allclose(
        inertia.moved_derivative(now), differences(moved, np.zeros(6)), atol=1e-7
    )
    both = inertia.moved_derivative(np.stack([theta, now]))
    np.testing.assert_array_equal(both[1], inertia.moved_derivative(now))


def test_vertices_of_a_placed_mesh_act_through_the_moving_matrix(rng: np.random.Generator) -> None:
    vertices, faces = blob(rng, 0)
    X = spatial.exp(rng.normal(size=6))
    J = inertia.mesh_inertia_derivatives(vertices, faces, 2.3)
    chain = np.einsum("ab,bnk->ank", inertia.moving_matrix(X), J)

    def placed(v: Array) -> Array:
        return inertia.move_theta(inertia.mesh_inertia(v, faces, 2.3), X)

    np.testing.assert_allclose(chain, differences(placed, vertices), atol=1e-8)


# Bad input ----------------------------------------------------------------------------------------


def refusal(vertices: Array, faces: Array, density: float = 1.0) -> str:
    with pytest.raises(PysimError) as caught:
        inertia.mesh_inertia(vertices, faces, density, name="part.stl")
    return str(caught.value)


def with_nan() -> Array:
    vertices = CUBE.copy()
    vertices[3, 1] = np.nan
    return vertices


def with_face(face: list[int], at: int = 5) -> Array:
    faces = FACES.copy()
    faces[at] = face
    return faces


REFUSALS = {
    "part.stl: vertex 3 is (0, nan, 1), not finite; fix it": (with_nan(), FACES),
    "part.stl: 1 face with invalid vertex indices, the first is face 5: it names vertex 8 of 8; "
    "count vertices from 0": (
        CUBE,
        with_face([0, 8, 1]),
    ),
    "part.stl: 1 face with invalid vertex indices, the first is face 5: it names vertex -1 of 8; "
    "count vertices from 0": (
        CUBE,
        with_face([0, -1, 1]),
    ),
    "part.stl: has 3 faces; a closed surface has at least 4": (CUBE, FACES[:3]),
    "part.stl: is not watertight: 3 edges are without a triangle on each side, the first is of face 0": (
        CUBE,
        np.delete(FACES, 5, axis=0),
    ),
    "part.stl: is wound inconsistently: 3 edges are traversed in one direction by both triangles, "
    "the first is of face 0; pass repair=True to reverse the minority of the faces": (
        CUBE,
        with_face([0, 3, 1], 0),
    ),
    "part.stl: has 1 duplicate face, the first is face 12; remove it, or pass repair=True": (
        CUBE,
        np.vstack([FACES, FACES[4]]),
    ),
    "part.stl: is inside out: its 12 faces run clockwise seen from outside, the volume is -1 [m³]": (
        CUBE,
        FACES[:, ::-1],
    ),
    "part.stl: encloses no volume, 0 [m³]; for a sheet, pass shell=thickness [m]": (
        CUBE * [1, 1, 0],
        FACES,
    ),
    "part.stl: vertices must have shape (n, 3) [m], got (8, 2)": (CUBE[:, :2], FACES),
    "part.stl: faces must have shape (m, 3), got (12, 2)": (CUBE, FACES[:, :2]),
    "part.stl: faces must be whole numbers, got dtype float64": (CUBE, FACES + 0.5),
    "part.stl: vertex 1 at (0, 0, 1e+140) [m] is so far away that moments of inertia overflow; scale the mesh to": (
        CUBE * 1e140,
        FACES,
    ),
    "part.stl: has no vertices": (np.empty((0, 3)), np.empty((0, 3), int)),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_a_surface_that_encloses_no_solid_is_rejected(text: str) -> None:
    assert refusal(*REFUSALS[text]).startswith(text)


@pytest.mark.parametrize("density", [-1.0, np.nan, np.inf])
def test_a_density_below_zero_is_rejected(density: float) -> None:
    text = f"density: must be a number not below 0 [kg/m³], got {density!r}"
    assert refusal(CUBE, FACES, density) == text


def test_faces_without_area_are_reported_and_add_nothing() -> None:
    faces = np.vstack([FACES, [0, 0, 1]])
    with pytest.warns(PysimWarning, match=r"^mesh: has 1 face without area, the first is face 12$"):
        theta = inertia.mesh_inertia(CUBE, faces, 1.0)
    np.testing.assert_array_equal(theta, inertia.mesh_inertia(CUBE, FACES, 1.0))


def test_triangles_that_share_places_but_no_vertices_are_a_solid() -> None:
    soup = CUBE[FACES].reshape(-1, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = inertia.mesh_inertia(soup, np.arange(36).reshape(-1, 3), 1.0)
    np.testing.assert_array_equal(theta, inertia.mesh_inertia(CUBE, FACES, 1.0))


def test_derivatives_reject_the_same_surfaces_as_the_integral() -> None:
    with pytest.raises(PysimError, match=re.escape("mesh: is not watertight: 3 edges")):
        inertia.mesh_inertia_derivatives(CUBE, FACES[:-1], 1.0)


# Repair, hulls and sheets ------------------------------------------------------------------------


def repaired(vertices: Array, faces: Array) -> tuple[Array, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        theta = inertia.mesh_inertia(vertices, faces, 1.0, repair=True)
    return theta, [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("faces", "text"),
    [
        (FACES[:-1], "mesh: 1 triangle is added to close holes, the first is face 11"),
        (FACES[:-2], "mesh: 2 triangles are added to close holes, the first is face 10"),
        (FACES[:, ::-1], "mesh: every triangle faces inwards; reversed for the volume"),
        (
            with_face([0, 3, 1], 0),
            "mesh: 1 triangle is wound opposite to the other 11; reversed for the volume",
        ),
        (np.vstack([FACES, FACES[4]]), "mesh: 1 duplicate triangle is ignored"),
    ],
)
def test_a_repair_is_reported(faces: Array, text: str) -> None:
    theta, texts = repaired(CUBE, faces)
    assert texts == [text]
    np.testing.assert_allclose(theta, inertia.mesh_inertia(CUBE, FACES, 1.0), rtol=1e-14)


def test_repair_leaves_a_sound_mesh_alone_and_rejects_a_large_hole() -> None:
    assert repaired(CUBE, FACES)[1] == []
    import trimesh

    ball = trimesh.creation.icosphere(2)
    low = ball.faces[(ball.triangles_center[:, 2] < 0.5)]
    with pytest.raises(PysimError, match=r"^mesh: is not watertight: "):
        inertia.mesh_inertia(ball.vertices, low, 1.0, repair=True)


def test_the_hull_of_a_dented_cube_is_the_cube() -> None:
    vertices = np.vstack([CUBE, [0.5, 0.5, 0.7]])
    theta = inertia.mesh_inertia(vertices, FACES[:-3], 3.0, convex=True)
    np.testing.assert_allclose(theta, inertia.mesh_inertia(CUBE, FACES, 3.0), rtol=1e-14)


def test_a_flat_mesh_has_no_hull() -> None:
    with pytest.raises(
        PysimError, match=r"^mesh: has no convex hull: its vertices lie in a plane$"
    ):
        inertia.mesh_inertia(CUBE * [1, 1, 0], FACES, 1.0, convex=True)


@pytest.mark.usefixtures("isa")
def test_a_sheet_is_the_difference_of_two_near_solids() -> None:
    sheet = inertia.mesh_inertia(CUBE - 0.5, FACES, 800.0, shell=1e-4)
    outer, inner = (inertia.Inertia.box(s, s, s, density=800.0) for s in (1.0001, 0.9999))
    np.testing.assert_allclose(sheet, outer.theta - inner.theta, rtol=1e-6, atol=1e-12)


def test_a_sheet_may_be_open_and_wound_anyhow() -> None:
    plate = inertia.mesh_inertia(CUBE, FACES[:2, ::-1], 800.0, shell=1e-3)
    np.testing.assert_allclose(plate[:4], [0.8, 0, 0.4, 0.4], rtol=1e-14)
    assert inertia.is_physical(plate)


@pytest.mark.parametrize("thickness", [0.0, -1.0, np.nan])
def test_a_sheet_needs_a_thickness(thickness: float) -> None:
    text = f"^shell: must be a positive thickness \\[m\\], got {thickness!r}$"
    with pytest.raises(PysimError, match=text):
        inertia.mesh_inertia(CUBE, FACES, 1.0, shell=thickness)


def test_ways_to_weigh_a_mesh_exclude_each_other() -> None:
    with pytest.raises(PysimError, match=r"^mesh: repair, convex and shell are alternatives"):
        inertia.mesh_inertia(CUBE, FACES, 1.0, convex=True, shell=0.1)
