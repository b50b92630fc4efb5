"""Shells inside out or inside each other, and faces that cross.

Oracles: cubes and balls put together, whose volumes are known; every pair of faces of a small soup, in rational
arithmetic.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from pysim import _engine, inertia
from pysim.errors import PysimError, PysimWarning
from tests.inertia.test_mesh import CUBE, FACES

Array = np.ndarray


def together(*parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """One mesh of several."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    faces = [part[1] + start for part, start in zip(parts, starts, strict=False)]
    return np.vstack([vertices for vertices, _ in parts]), np.vstack(faces)


def cube(
    size: float, at: float | list[float] = 0.0, *, inwards: bool = False
) -> tuple[Array, Array]:
    """A cube about a point."""
    return (CUBE - 0.5) * size + np.asarray(at), FACES[:, ::-1] if inwards else FACES


def ell() -> tuple[Array, Array]:
    """A prism over an L of three unit squares."""
    outline = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], float)
    vertices = np.vstack([np.c_[outline, np.zeros(6)], np.c_[outline, np.ones(6)]])
    fan = np.array([(0, k, k + 1) for k in range(1, 5)])
    sides = [
        ((k, l, l + 6), (k, l + 6, k + 6))
        for k, l in zip(range(6), (1, 2, 3, 4, 5, 0), strict=True)
    ]
    return vertices, np.vstack([fan[:, ::-1], fan + 6, np.array(sides).reshape(-1, 3)])


def test_a_shell_that_faces_inwards_beside_another_is_rejected_by_count_and_face() -> None:
    mesh = together(cube(2), cube(1, 5, inwards=True), cube(1, -5, inwards=True))
    text = (
        "part.stl: 2 of 3 shells are inside out without being a cavity of another; the first begins with face 12; "
        "reverse its faces, or pass repair=True"
    )
    for function in (inertia.mesh_inertia, inertia.mesh_inertia_derivatives):
        with pytest.raises(PysimError, match=f"^{re.escape(text)}$"):
            function(*mesh, 1.0, name="part.stl")


def test_a_shell_that_faces_inwards_within_the_extent_of_another_but_outside_it_is_rejected() -> (
    None
):
    notch = cube(0.5, [1.5, 1.5, 0.5], inwards=True)
    with pytest.raises(
        PysimError, match=r"^mesh: 1 of 2 shells is inside out without being a cavity"
    ):
        inertia.mesh_inertia(*together(ell(), notch), 1.0)


def test_a_cavity_with_a_solid_in_it_is_accepted() -> None:
    mesh = together(cube(3), cube(2, inwards=True), cube(1))
    theta = inertia.mesh_inertia(*mesh, 2.0)
    sizes = ((3, 1), (2, -1), (1, 1))
    expected = sum(sign * inertia.Inertia.box(a, a, a, density=2.0).theta for a, sign in sizes)
    np.testing.assert_allclose(theta, expected, rtol=1e-14, atol=1e-13)


def test_a_cavity_in_a_cavity_is_inside_out() -> None:
    mesh = together(cube(3), cube(2, inwards=True), cube(1, inwards=True))
    with pytest.raises(PysimError, match=r"^mesh: 1 of 3 shells is inside out"):
        inertia.mesh_inertia(*mesh, 1.0)


def test_a_solid_inside_a_solid_is_reported_as_counted_twice() -> None:
    text = (
        r"^mesh: 1 of 2 shells is inside another, and the common volume is counted twice; the first begins "
        r"with face 12; reverse its faces if it is a cavity$"
    )
    with pytest.warns(PysimWarning, match=text):
        theta = inertia.mesh_inertia(*together(cube(3), cube(1)), 1.0)
    assert theta[0] == pytest.approx(28)


@pytest.mark.parametrize("outward", [False, True], ids=["turned", "right"])
def test_repair_turns_a_body_with_a_cavity_as_a_whole(*, outward: bool) -> None:
    vertices, faces = together(cube(3), cube(1, inwards=True))
    if outward:
        theta = inertia.mesh_inertia(vertices, faces, 1.0, repair=True)
    else:
        with pytest.warns(PysimWarning, match="^mesh: every triangle faces inwards; reversed"):
            theta = inertia.mesh_inertia(vertices, faces[:, ::-1], 1.0, repair=True)
    assert theta[0] == pytest.approx(26)


def test_shells_are_numbered_by_their_first_faces() -> None:
    _, faces = together(cube(1), cube(1), cube(1))
    order = np.random.default_rng(0).permutation(len(faces))
    count, of_face = _engine.label_shells(np.ascontiguousarray(faces[order]), 24)
    assert count == 3
    _, first = np.unique(order // 12, return_index=True)
    expected = np.argsort(np.argsort(first))[order // 12]
    np.testing.assert_array_equal(of_face, expected)


# Crossings ----------------------------------------------------------------------------------------


def exact_crossings(corners: Array) -> list[tuple[int, int]]:
    """Pairs of triangles (n, 3, 3) in general position, with an edge of one passing through the other."""
    points = [[[Fraction(float(x)) for x in p] for p in face] for face in corners]

    def side(a: Any, b: Any, c: Any, d: Any) -> int:
        u, v, w = ([x - y for x, y in zip(p, d, strict=True)] for p in (a, b, c))
        det = sum(u[i] * (v[i - 2] * w[i - 1] - v[i - 1] * w[i - 2]) for i in range(3))
        return (det > 0) - (det < 0)

    def pierces(one: Any, other: Any) -> bool:
        a, b, c = other
        for p, q in ((one[0], one[1]), (one[1], one[2]), (one[2], one[0])):
            if side(a, b, c, p) * side(a, b, c, q) < 0:
                turns = {side(p, q, a, b), side(p, q, b, c), side(p, q, c, a)}
                if turns in ({1}, {-1}):
                    return True
        return False

    pairs = combinations(range(len(points)), 2)
    return [
        (i, j) for i, j in pairs if pierces(points[i], points[j]) or pierces(points[j], points[i])
    ]


def test_crossings_are_those_of_every_pair_in_rational_arithmetic() -> None:
    rng = np.random.default_rng(3)
    middles = rng.uniform(-1, 1, (40, 1, 3))
    corners = middles + rng.normal(0, 0.5, (40, 3, 3))
    expected = exact_crossings(corners)
    assert 20 < len(expected) < 300
    found = _engine.find_crossings(corners.reshape(-1, 3), np.arange(120).reshape(-1, 3))
    assert (found.count, found.first, found.second) == (len(expected), *expected[0])


def test_two_solids_through_each_other_are_reported_with_the_first_pair() -> None:
    import trimesh

    ball = trimesh.creation.icosphere(2)
    part = np.array(ball.vertices), np.array(ball.faces)
    mesh = together(part, (part[0] + [0.31, 0.42, 0.57], part[1]))
    text = (
        r"^mesh: (\d+) pairs of faces intersect, the first are faces (\d+) and (\d+); volume that is enclosed twice "
        r"is counted twice$"
    )
    with pytest.warns(PysimWarning, match=text) as caught:
        theta = inertia.mesh_inertia(*mesh, 1.0)
    assert theta[0] == pytest.approx(2 * ball.volume)
    match = re.match(text, str(caught[0].message))
    assert match is not None
    count, first, second = (int(x) for x in match.groups())
    assert count > 20
    assert first < 320 <= second
    pair = mesh[0][mesh[1]][[first, second]]
    assert exact_crossings(pair) == [(0, 1)]


def test_edges_that_meet_exactly_count_as_crossings() -> None:
    vertices, faces = together(cube(1), cube(1, 0.5))  # edges through the diagonals of faces
    found = _engine.find_crossings(vertices, faces)
    assert found.count >= 6
    assert found.first >= 0


@pytest.mark.parametrize(
    "at",
    [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0.3, 0.2], [1, 0.5, 0.5], [1, 1, 0.5], [1.5, 0, 0]],
    ids=str,
)
def test_solids_that_only_touch_do_not_cross(at: list[float]) -> None:
    vertices, faces = together(cube(1), cube(1, at))
    found = _engine.find_crossings(vertices, faces)
    assert (found.count, found.first, found.second) == (0, -1, -1)


def test_neighbours_of_a_curved_surface_do_not_cross() -> None:
    import trimesh

    for mesh in (trimesh.creation.torus(0.5, 0.2, 60, 40), trimesh.creation.icosphere(3)):
        vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
        assert _engine.find_crossings(vertices, faces).count == 0
        soup = vertices[faces].reshape(-1, 3)
        assert _engine.find_crossings(soup, np.arange(len(soup)).reshape(-1, 3)).count == 0


def test_large_meshes_are_looked_at_for_crossings_only_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pysim.inertia import mesh

    monkeypatch.setattr(mesh, "MOST_CHECKED_FACES", 20)
    parts = together(cube(1), cube(1, 0.5))
    inertia.mesh_inertia(*parts, 1.0)  # a warning would fail
    with pytest.warns(PysimWarning, match="pairs of faces intersect"):
        inertia.mesh_inertia(*parts, 1.0, crossings=True)
