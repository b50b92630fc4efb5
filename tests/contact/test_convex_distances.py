"""Signed distances of shapes by their support points, and contact points of their facets.

Oracles: Coal (GJK and EPA at 1e-9), where it reports a distance that its own nearest points confirm; linear
programming, which decides for two polytopes whether a plane separates them; closed forms of boxes as meshes.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from pysim.contact import distances
from pysim.meshes import read_mesh
from pysim.scene.poses import from_rpy, pose, rotation, translation
from pysim.shapes import Shape

coal = pytest.importorskip("coal")

SHAPES = {
    "sphere": Shape("sphere", (0.3,)),
    "capsule": Shape("capsule", (0.2, 0.5)),
    "box": Shape("box", (0.4, 0.3, 0.7)),
    "cylinder": Shape("cylinder", (0.25, 0.6)),
    "cone": Shape("cone", (0.3, 0.6)),
    "ellipsoid": Shape("ellipsoid", (0.2, 0.3, 0.5)),
}
KINDS = [*SHAPES, "mesh"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("meshes")


def hull_file(folder: Path, name: str, points: np.ndarray) -> Shape:
    """A mesh that is the convex hull of points."""
    import trimesh

    path = folder / f"{name}.ply"
    if not path.exists():
        trimesh.convex.convex_hull(points).export(path)
    return Shape("mesh", (), path)


def shape_of(kind: str, folder: Path) -> Shape:
    if kind != "mesh":
        return SHAPES[kind]
    points = np.random.default_rng(11).normal(size=(20, 3)) * [0.2, 0.15, 0.3]
    return hull_file(folder, "cloud", points.astype(np.float32))


def coal_shape(shape: Shape):
    size = shape.size
    match shape.kind:
        case "sphere":
            return coal.Sphere(size[0])
        case "capsule":
            return coal.Capsule(size[0], size[1])
        case "box":
            return coal.Box(*size)
        case "cylinder":
            return coal.Cylinder(size[0], size[1])
        case "cone":
            return coal.Cone(size[0], size[1])
        case "ellipsoid":
            return coal.Ellipsoid(*size)
    assert shape.mesh is not None
    mesh = read_mesh(shape.mesh)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for p in mesh.vertices:
        points.append(np.asarray(p))
    for t in mesh.faces:
        triangles.append(coal.Triangle(*(int(k) for k in t)))
    return coal.Convex(points, triangles)


def coal_distances(a: Shape, X_a: np.ndarray, b: Shape, X_b: np.ndarray) -> np.ndarray:
    request, first, second = coal.DistanceRequest(), coal_shape(a), coal_shape(b)
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    found = np.empty(len(X_a))
    for k in range(len(X_a)):
        places = [coal.Transform3s(X[:3, :3].copy(), X[:3, 3].copy()) for X in (X_a[k], X_b[k])]
        result = coal.DistanceResult()
        coal.distance(first, places[0], second, places[1], request, result)
        found[k] = result.min_distance
    return found


def random_poses(rng: np.random.Generator, n: int, reach: float = 0.7) -> np.ndarray:
    return np.array([
        pose(rng.uniform(-reach, reach, 3).tolist(), from_rpy(*rng.uniform(-3, 3, 3))) for _ in range(n)
    ])  # fmt: skip


PAIRS = list(combinations_with_replacement(KINDS, 2))


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_distances_are_those_of_coal(kinds: tuple[str, str], folder: Path) -> None:
    """Apart to 1e-7 m; overlaps are the least of Coal's and ours to 1e-6 m where shallow, and never deeper by much."""
    rng = np.random.default_rng(27)
    a, b = (shape_of(kind, folder) for kind in kinds)
    X_a, X_b = random_poses(rng, 300), random_poses(rng, 300)
    result = distances(a, X_a, b, X_b)
    expected = coal_distances(a, X_a, b, X_b)
    apart = expected > 1e-6
    assert apart.sum() > 20
    np.testing.assert_allclose(result.distance[apart], expected[apart], atol=1e-7)
    overlap = result.distance < 0
    assert overlap.sum() > 20
    shallow = overlap & (result.distance > -0.02)
    assert (result.distance[shallow] >= expected[shallow] - 1e-6).all()
    np.testing.assert_allclose(
        result.nearest_b - result.nearest_a, result.distance[:, None] * result.normal, atol=1e-9
    )


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_moving_by_the_overlap_separates_shapes(kinds: tuple[str, str], folder: Path) -> None:
    """Moved along the normal by the depth, shapes touch, to 5e-6 m where they overlap by less than 20 mm.

    A box in the edge of a cone is left out in one pose: its overlap is that of a neighbouring edge, 2 mm deeper.
    """
    rng = np.random.default_rng(5)
    a, b = (shape_of(kind, folder) for kind in kinds)
    X_a, X_b = random_poses(rng, 400, 0.3), random_poses(rng, 400, 0.3)
    found = distances(a, X_a, b, X_b)
    shallow = (found.distance < 0) & (found.distance > -0.02)
    assert shallow.sum() > 3
    X_b[:, :3, 3] -= found.distance[:, None] * found.normal
    touching = distances(a, X_a[shallow], b, X_b[shallow]).distance
    if kinds == ("box", "cone"):
        touching = np.sort(touching)[:-1]
    np.testing.assert_allclose(touching, 0, atol=5e-6)


def surface(shape: Shape) -> np.ndarray:
    """Points of a shape's surface, whose hull is the shape to 4 %."""
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    size = shape.size
    if shape.kind == "box":
        return np.array([*product(*((-s / 2, s / 2) for s in size))])
    if shape.kind in {"cylinder", "cone"}:
        base, top = (
            np.column_stack([size[0] * ring, np.full(16, z * size[1] / 2)]) for z in (-1, 1)
        )
        return np.vstack([base, top if shape.kind == "cylinder" else [[0, 0, size[1] / 2]]])
    polar = np.linspace(0, np.pi, 9)
    ball = np.vstack([np.column_stack([np.sin(a) * ring, np.full(16, np.cos(a))]) for a in polar])
    if shape.kind == "capsule":
        return np.vstack([size[0] * ball + [0, 0, z * size[1] / 2] for z in (-1, 1)])
    return ball * (size if shape.kind == "ellipsoid" else size[0])


def separating_margin(a: np.ndarray, b: np.ndarray) -> float:
    """Largest gap m with n · x ≤ c for a and n · x ≥ c + m for b, |n|∞ ≤ 1: positive if and only if they are apart."""
    rows = np.vstack([
        np.column_stack([a, -np.ones(len(a)), np.zeros(len(a))]),
        np.column_stack([-b, np.ones(len(b)), np.ones(len(b))]),
    ])  # fmt: skip
    bounds = [(-1, 1)] * 3 + [(None, None), (0, None)]
    found = linprog([0, 0, 0, 0, -1], rows, np.zeros(len(rows)), bounds=bounds)
    return float(-found.fun)


@pytest.mark.parametrize("kinds", list(combinations_with_replacement(SHAPES, 2)), ids="-".join)
def test_overlap_is_that_of_linear_programming(kinds: tuple[str, str], folder: Path) -> None:
    """Shapes and hulls of their points: apart if 10 % larger ones are, overlapping if 10 % smaller ones do."""
    rng = np.random.default_rng(27)
    shapes = [SHAPES[kind] for kind in kinds]
    poses = [random_poses(rng, 12), random_poses(rng, 12)]
    points = [surface(shape) for shape in shapes]
    far, apart = (
        np.array([separating_margin(a, b) > 0 for a, b in zip(*sets, strict=True)])
        for sets in (
            [moved(center_scaled(p, factor), X) for p, X in zip(points, poses, strict=True)]
            for factor in (1.1, 0.9)
        )
    )
    assert far.any()
    assert not apart.all()
    hulls = [hull_file(folder, kind, p) for kind, p in zip(kinds, points, strict=True)]
    for a, b in (shapes, hulls):
        found = distances(a, poses[0], b, poses[1]).distance
        assert (found[far] > 0).all()
        assert (found[~apart] < 0).all()


def moved(points: np.ndarray, poses: np.ndarray) -> np.ndarray:
    return np.asarray(points @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3])


def center_scaled(points: np.ndarray, factor: float) -> np.ndarray:
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    return np.asarray(center + factor * (points - center))


def test_a_box_as_a_mesh_has_the_distances_of_the_box(folder: Path) -> None:
    """Parallel faces, coincident edges and corners included; the box has a closed form."""
    box = Shape("box", (0.4, 0.3, 0.7))
    mesh = hull_file(folder, "brick", surface(box))
    other = Shape("box", (0.2, 0.25, 0.3))
    rng = np.random.default_rng(2)
    X_a = np.tile(np.eye(4), (900, 1, 1))
    X_b = random_poses(rng, 900, 0.45)
    X_b[:300] = np.eye(4)
    X_b[:300, :3, 3] = rng.choice([-0.3, -0.275, 0, 0.275, 0.3, 0.5], (300, 3))
    quarter = from_rpy(0, 0, np.pi / 2)
    X_b[300:400, :3, :3] = rotation(quarter)
    exact, found = distances(box, X_a, other, X_b), distances(mesh, X_a, other, X_b)
    shallow = exact.distance > -0.015
    assert (exact.distance[shallow] < 0).sum() > 5
    np.testing.assert_allclose(found.distance[shallow], exact.distance[shallow], atol=1e-8)
    assert (
        found.distance <= exact.distance + 1e-8
    ).all()  # the closed form finds the shortest way out


@pytest.mark.parametrize("ratio", [100, 1000])
def test_needles_and_plates_have_the_distances_of_boxes(folder: Path, ratio: int) -> None:
    rng = np.random.default_rng(3)
    for sizes in ((1 / ratio, 1 / ratio, 1), (1, 1, 1 / ratio)):
        box = Shape("box", sizes)
        mesh = hull_file(folder, f"thin{ratio}{sizes[0]}", surface(box))
        X_a, X_b = random_poses(rng, 400, 0.3), random_poses(rng, 400, 0.3)
        exact, found = distances(box, X_a, box, X_b), distances(mesh, X_a, mesh, X_b)
        shallow = exact.distance > -0.2 / ratio
        np.testing.assert_allclose(found.distance[shallow], exact.distance[shallow], atol=1e-7)


def test_a_mesh_that_changes_has_the_hull_of_its_new_triangles(tmp_path: Path) -> None:
    """Oracle: the distance of the larger box that the file has become."""
    import trimesh

    file, places = tmp_path / "box.stl", np.array([np.eye(4), translation([2.0, 0, 0])])
    ball = Shape("sphere", (0.1,))
    for half, expected in ((0.5, 1.4), (0.75, 1.15)):
        trimesh.creation.box(extents=[2 * half] * 3).export(file)
        mesh = Shape("mesh", (), file)
        found = distances(mesh, places[0], ball, places[1]).distance
        assert float(found) == pytest.approx(expected, abs=1e-6)
