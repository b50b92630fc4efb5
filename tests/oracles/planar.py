"""Random planar mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.spec import BodySpec, LoopSpec, ModelSpec
from tests.oracles.mechanisms import GRAVITY, make_joint, random_theta
from tests.oracles.spatial import inverse, pose, quaternion_exp, quaternion_rotation, rotation
from tests.oracles.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

KINDS = ("revolute", "planar", "revolute", "prismatic", "revolute", "revolute", "prismatic")


def turned_to(rng: np.random.Generator, z: Array) -> Array:
    """A random rotation whose third column is z."""
    x = np.cross(z, rng.normal(size=3))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def body_frame(rng: np.random.Generator, kind: str, n: Array) -> tuple[Array, Array]:
    """Return a joint's pose in the world at q = 0 and its axis in the joint frame: ±n, or across n for a slide."""
    sense = rng.choice([-1.0, 1.0])
    if kind == "planar":
        return turned_to(rng, sense * n), np.array([0.0, 0.0, 1.0])
    R = quaternion_rotation(quaternion_exp(rng.normal(size=3)))
    axis = turned_to(rng, n)[:, 0] if kind == "prismatic" else sense * n
    return R, R.T @ axis


def planar_tree(
    rng: np.random.Generator,
    kinds: Sequence[str] = KINDS,
    *,
    normal: Array | None = None,
    chain: bool = False,
    roots: int = 1,
    parents: Sequence[int] | None = None,
    tilt: float = 0.0,
    armature: bool = True,
) -> ModelSpec:
    """Bodies on both sides of the plane of their tree, in frames of random orientation.

    `roots` trees, each in a plane of its own, or all across `normal`; the last joint's axis `tilt` rad out of it.
    `parents` [kinds] says on which body each hangs, −1 for the world; else one before it is drawn.
    """
    bodies, joints = [], []
    normals: list[Array] = []
    frames: list[Array] = []
    for k, kind in enumerate(kinds):
        parent = -1 if k < roots else k - 1 if chain else int(rng.integers(k))
        parent = parent if parents is None else parents[k]
        n = _normal(rng, normal) if parent < 0 else normals[parent]
        R, axis = body_frame(rng, kind, n)
        X = pose(R, rng.normal(size=3))
        if k == len(kinds) - 1:
            axis = rotation(np.cross(axis, [0.6, -0.48, 0.64]), tilt) @ axis
        at = X if parent < 0 else inverse(frames[parent]) @ X
        size = 3 if kind == "planar" else 1
        # rotors on some joints: the engine treats joints without a rotor as plain hinges
        rotors: dict[str, Any] = (
            {"armature": rng.uniform(0.1, 0.5, size)} if armature and k % 3 else {}
        )
        name = "world" if parent < 0 else f"body{parent}"
        joints.append(make_joint(f"joint{k}", kind, name, f"body{k}", at, axis, **rotors))
        bodies.append(BodySpec(f"body{k}", random_theta(rng), where=f"test: body{k}"))
        normals.append(n)
        frames.append(X)
    gravity = GRAVITY + rng.normal(size=3)
    return ModelSpec("planar", gravity, tuple(bodies), tuple(joints), (), "test")


def _normal(rng: np.random.Generator, normal: Array | None) -> Array:
    n = rng.normal(size=3) if normal is None else normal
    return np.asarray(n / np.linalg.norm(n))


def hinge_loop(
    rng: np.random.Generator, spec: ModelSpec, q: Array, a: str, b: str, normal: Array
) -> LoopSpec:
    """A loop with a hinge about ± the normal, at a random place, that is closed at q."""
    tree = Tree(spec)
    names = [link.joint.child for link in tree.links]
    X = dict(zip(names, tree.poses(q), strict=True)) | {"world": np.eye(4)}
    at_a = pose(quaternion_rotation(quaternion_exp(rng.normal(size=3))), rng.normal(size=3))
    axis = (X[a] @ at_a)[:3, :3].T @ (rng.choice([-1.0, 1.0]) * normal / np.linalg.norm(normal))
    turned = pose(rotation(axis, rng.uniform(-3, 3)), np.zeros(3))
    return LoopSpec(
        f"{a} to {b}", "revolute", a, b, at_a, inverse(X[b]) @ X[a] @ at_a @ turned, tuple(axis)
    )
