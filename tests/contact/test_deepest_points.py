"""Of the contact points of two shapes one is as deep as the shapes are.

Oracle: the distance of the two shapes, `pysim.contact.distances`, in random poses that nearly touch.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.contact import distances
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

SHAPES = {
    "box": "box = [0.2, 0.3, 0.16]",
    "capsule": "capsule = { radius = 0.06, length = 0.2 }",
    "cone": "cone = { radius = 0.1, length = 0.2 }",
    "cylinder": "cylinder = { radius = 0.1, length = 0.2 }",
    "ellipsoid": "ellipsoid = [0.1, 0.14, 0.08]",
}
POSES = 2000
LEAST_DEPTH = 0.2  # share of the overlap by which a manifold of faces may be less deep


def two_bodies(folder: Path, *shapes: str) -> pysim.Scene:
    text = "gravity = [0, 0, 0]\n"
    for k, shape in enumerate(shapes):
        text += f'[[body]]\nname = "{k}"\ncollision = true\nshape = {{ {SHAPES[shape]}, density = 600 }}\n'
        text += f'[[joint]]\nname = "{k}"\ntype = "free"\nchild = "{k}"\nstart = {{ xyz = [{k}, 0, 0] }}\n'
    (folder / "two.toml").write_text(text + '[simulation]\nintegrator = "convex"\n', "utf-8")
    return pysim.load_scene(folder / "two.toml")


def turns(rng: np.random.Generator, n: int) -> Array:
    """Return random unit quaternions (n, 4), every fourth about a coordinate axis."""
    q = rng.normal(size=(n, 4))
    axis = rng.integers(0, 3, n)
    for k in range(0, n, 4):
        q[k, :3] *= np.arange(3) == axis[k]
    found: Array = q / np.linalg.norm(q, axis=1, keepdims=True)
    return found


@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(SHAPES, 2)))
def test_the_deepest_point_of_a_pair_is_as_deep_as_its_shapes(
    tmp_path: Path, rng: np.random.Generator, first: str, second: str
) -> None:
    scene = two_bodies(tmp_path, first, second)
    model = scene.model
    shapes = [body.geometries[0].shape for body in model.spec.bodies]
    q = np.zeros((POSES, model.nq))
    q[:, 3:7], q[:, 10:14] = turns(rng, POSES), turns(rng, POSES)
    way = rng.normal(size=(POSES, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    wanted = rng.uniform(-2e-3, 1e-3, POSES)
    q[:, 7:10] = 0.5 * way
    for _ in range(16):  # moved along the line of centres until they are that far apart
        poses = pysim.forward_kinematics(model, q)
        result = distances(shapes[0], poses[:, 0], shapes[1], poses[:, 1])
        q[:, 7:10] -= ((result.distance - wanted) * 0.9)[:, None] * way
    poses = pysim.forward_kinematics(model, q)
    result = distances(shapes[0], poses[:, 0], shapes[1], poses[:, 1])
    assert scene.contacts is not None
    report = _engine.contact_points(
        scene.contacts.engine, q, np.zeros((POSES, model.nv)), reach=0.05
    ).reshape(POSES, -1, 18)
    exists = np.abs(report[..., 12:15]).sum(axis=-1) > 0  # has a normal
    depth = np.where(exists, report[..., 6], -np.inf).max(axis=1)
    near = (np.abs(result.distance - wanted) < 1e-3) & (result.distance < 0)
    assert near.mean() > 0.3
    missing = -result.distance - depth
    allowed = np.maximum(LEAST_DEPTH * np.abs(result.distance), 1e-6)
    bad = np.flatnonzero((missing > allowed) & near)
    assert len(bad) == 0, [(int(k), result.distance[k], depth[k]) for k in bad[:6]]
