"""Pairs of shapes that overlap a little: in any pose, and with faces, sides, edges or rims that are nearly parallel."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pysim import _engine
from pysim.contact import distances
from pysim.scene.poses import rotation
from pysim.shapes import Shape
from pysim.typing import Array
from pysim.worlds.contact_report import FORCE, NORMAL, PENETRATION, POINT
from tests.contact.scenes import free, world

SIZE = 0.1  # [m] about that of every shape
PRIMITIVES = {
    "sphere": ("{ sphere = { radius = 0.05 } }", Shape("sphere", (0.05,))),
    "capsule": ("{ capsule = { radius = 0.03, length = 0.08 } }", Shape("capsule", (0.03, 0.08))),
    "box": ("{ box = [0.12, 0.08, 0.1] }", Shape("box", (0.12, 0.08, 0.1))),
    "cylinder": (
        "{ cylinder = { radius = 0.05, length = 0.09 } }",
        Shape("cylinder", (0.05, 0.09)),
    ),
    "ellipsoid": ("{ ellipsoid = [0.04, 0.05, 0.07] }", Shape("ellipsoid", (0.04, 0.05, 0.07))),
    "cone": ("{ cone = { radius = 0.06, length = 0.1 } }", Shape("cone", (0.06, 0.1))),
}
MESHES = ("tetrahedron", "icosphere", "prism")
KINDS = [*PRIMITIVES, *MESHES]


def hull(name: str):
    """The triangles of a mesh of this name [m], about its centre."""
    import trimesh

    if name == "tetrahedron":
        points = 0.05 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    elif name == "icosphere":
        points = np.array(trimesh.creation.icosphere(subdivisions=1, radius=0.05).vertices)
    else:
        angles = np.arange(6) * np.pi / 3
        corners = 0.05 * np.column_stack([np.cos(angles), np.sin(angles)])
        points = np.vstack([np.column_stack([corners, np.full(6, z)]) for z in (-0.04, 0.04)])
    return trimesh.convex.convex_hull(points)


def shape_of(kind: str, folder: Path) -> tuple[str, Shape]:
    """A shape as scenes name it, and as distances take it."""
    if kind in PRIMITIVES:
        return PRIMITIVES[kind]
    path = folder / f"{kind}.ply"
    if not path.exists():
        hull(kind).export(path)
    return f'{{ mesh = "{kind}.ply" }}', Shape("mesh", (), path)


def directions(kind: str) -> Array:
    """Directions (n, 3) in the frame of a shape, along which it shows a face, a side or an edge."""
    axes = np.vstack([np.eye(3), -np.eye(3)])
    if kind in MESHES:
        mesh = hull(kind)
        edges = mesh.face_normals[mesh.face_adjacency].sum(axis=1)
        return np.vstack([mesh.face_normals, edges])
    if kind == "box":
        return np.vstack([axes, [a + b for a in axes for b in axes if abs(a @ b) < 0.5]])
    if kind == "cone":
        return np.array([[0, 0, -1], [0.1, 0, 0.06], [0, -0.1, 0.06], [1, 0, -0.5]], float)
    return axes


def any_rotation(rng: np.random.Generator) -> Array:
    return rotation(rng.normal(size=4))


def frame(z: Array) -> Array:
    """A rotation whose third column is along z."""
    z = z / np.linalg.norm(z)
    x = np.cross([0, 1, 0] if abs(z[1]) < 0.8 else [1, 0, 0], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def small_turn(rng: np.random.Generator, angle: float) -> Array:
    axis = rng.normal(size=3)
    axis *= np.sin(0.5 * angle) / np.linalg.norm(axis)
    return rotation([*axis, np.cos(0.5 * angle)])


def pair_poses(rng: np.random.Generator, a: str, b: str, number: int) -> tuple[Array, Array]:
    """Poses (n, 4, 4) of two kinds about the origin, in three families of equal number.

    The first is turned at random; in the second a face, a side or an edge of one faces one of the other, with a random
    angle about their normal; in the third that angle is a multiple of 45°, too. Both lean by up to 0.1, also by 1e-14.
    """
    X_A, X_B = np.tile(np.eye(4), (2, number, 1, 1))
    faces_a, faces_b = directions(a), directions(b)
    for k in range(number):
        world_axes = any_rotation(rng)
        X_B[k, :3, 3] = rng.uniform(-0.6, 0.6, 3) * SIZE
        if k % 3 == 0:
            X_A[k, :3, :3], X_B[k, :3, :3] = world_axes, any_rotation(rng)
            continue
        yaw = rng.uniform(0, 2 * np.pi) if k % 3 == 1 else np.pi / 4 * rng.integers(8)
        turned = rotation([0, 0, np.sin(0.5 * yaw), np.cos(0.5 * yaw)])
        lean = small_turn(rng, 10.0 ** rng.uniform(-16, -1))
        R_A = frame(faces_a[rng.integers(len(faces_a))]).T
        R_B = np.diag([1.0, -1.0, -1.0]) @ frame(faces_b[rng.integers(len(faces_b))]).T
        X_A[k, :3, :3], X_B[k, :3, :3] = world_axes @ R_A, world_axes @ lean @ turned @ R_B
        aside = rng.uniform(-0.5, 0.5, 3) * SIZE * (rng.random() < 0.8)
        X_B[k, :3, 3] = world_axes @ [aside[0], aside[1], 1.2 * SIZE]
    return X_A, X_B


def near_poses(
    rng: np.random.Generator, a: str, b: str, number: int, folder: Path
) -> tuple[Array, Array]:
    """Poses of two kinds that overlap by 1e-6 to 1e-2 of their size."""
    X_A, X_B = pair_poses(rng, a, b, number)
    depth = SIZE * 10.0 ** rng.uniform(-6, -2, number)
    shape_a, shape_b = shape_of(a, folder)[1], shape_of(b, folder)[1]
    for _ in range(6):
        found = distances(shape_a, X_A, shape_b, X_B)
        X_B[:, :3, 3] -= (found.distance + depth)[:, None] * found.normal
    good = abs(distances(shape_a, X_A, shape_b, X_B).distance + depth) < 0.1 * depth
    return X_A[good], X_B[good]


def overlapping_poses(
    rng: np.random.Generator, shapes: list[Shape], number: int
) -> tuple[Array, Array]:
    """Return poses (n, 4, 4) of two shapes that overlap by up to 3 mm, with their centres apart."""
    X_A, X_B = np.tile(np.eye(4), (2, number, 1, 1))
    for k in range(number):
        X_A[k, :3, :3], X_B[k, :3, :3] = any_rotation(rng), any_rotation(rng)
        X_B[k, :3, 3] = 0.3 * any_rotation(rng)[0] + rng.uniform(-0.05, 0.05, 3)
    found = distances(shapes[0], X_A, shapes[1], X_B)
    X_B[:, :3, 3] -= (found.distance + rng.uniform(0, 3e-3, number))[:, None] * found.normal
    return X_A, X_B


def quaternion(R: Array) -> Array:
    """Unit quaternions (n, 4) of rotations (n, 3, 3)."""
    from scipy.spatial.transform import Rotation

    q: Array = Rotation.from_matrix(R).as_quat()
    return q


def moved(rng: np.random.Generator, X: Array, by: float) -> Array:
    """Poses that are moved and turned by so much [m, rad], each in a random direction."""
    out = X.copy()
    step = rng.normal(size=(len(X), 3))
    out[:, :3, 3] += by * step / np.linalg.norm(step, axis=1, keepdims=True)
    for k in range(len(X)):
        w = rng.normal(size=3)
        w *= by / SIZE / np.linalg.norm(w)
        out[k, :3, :3] = X[k, :3, :3] + np.cross(w, X[k, :3, :3], axisb=0, axisc=0)
    return out


class PairPoints:
    """Contact points of a pair of free bodies in any poses."""

    def __init__(self, folder: Path, a: str, b: str) -> None:
        bodies = free("a", shape_of(a, folder)[0], 1.0, "{ xyz = [0, 0, 0] }")
        bodies += free("b", shape_of(b, folder)[0], 1.0, "{ xyz = [0, 0, 1] }")
        surface = "friction = 0\nstiffness = 1e5\ndissipation = 0"
        self.scene = world(folder, bodies, surface=surface, run='integrator = "rk4"')

    def __call__(self, X_A: Array, X_B: Array) -> list[Array]:
        """Points of each pose (m, 7): position [m], normal, depth [m], by the places of points in the pair."""
        q = np.hstack([
            x for X in (X_A, X_B) for x in (X[:, :3, 3], quaternion(X[:, :3, :3]))
        ])  # fmt: skip
        smooth = self.scene.smooth_contacts
        assert smooth is not None
        report = _engine.contact_points(smooth, q, np.zeros((len(q), 12)))
        rows = np.concatenate(
            [report[..., POINT], report[..., NORMAL], report[..., PENETRATION, None]], axis=-1
        )
        touching = (report[..., FORCE] != 0).any(axis=-1)
        return [rows[k, touching[k]] for k in range(len(q))]
