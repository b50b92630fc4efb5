"""Closed mechanisms: a tree of random joints whose last body is tied where it happens to be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.inertia import theta_from_com
from pysim.joints import find_joint
from pysim.joints.loop_joints import ENGINE_KIND
from pysim.joints.trace import trace
from pysim.plugins.fields import build
from pysim.scene.spec import BodySpec, LoopSpec, ModelSpec
from tests.oracles.mechanisms import make_joint, random_pose, random_tree
from tests.oracles.spatial import inverse, pose
from tests.oracles.tree import SIZES, Tree, joint_pose

if TYPE_CHECKING:
    import numpy.typing as npt

Z = (0.0, 0.0, 1.0)


def bar(name: str, length: float, mass: float = 1.0) -> BodySpec:
    """A uniform thin bar along x from its frame's origin."""
    small, across = 1e-4, mass * length**2 / 12
    theta = theta_from_com(mass, [length / 2, 0, 0], np.diag([small, across, across]))
    return BodySpec(name, theta)


def shifted(x: float) -> npt.NDArray[np.float64]:
    """A frame `x` along x [m]."""
    return np.asarray(pose(np.eye(3), np.array([x, 0, 0])))


def four_bar(
    lengths: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0), crank: float = 1.0
) -> ModelSpec:
    """Crank, coupler and rocker in the xy plane on a ground of the first length; gravity along −y."""
    ground, a, b, c = lengths
    # the coupler's end, from two circles
    tip = a * np.array([np.cos(crank), np.sin(crank)])
    reach = np.array([ground, 0]) - tip
    d = np.linalg.norm(reach)
    turn = np.arctan2(reach[1], reach[0]) + np.arccos((b**2 + d**2 - c**2) / (2 * b * d))
    end = tip + b * np.array([np.cos(turn), np.sin(turn)])
    rocker = np.arctan2(end[1], end[0] - ground)
    joints = (
        make_joint("crank", "revolute", "world", "a", start_q=np.array([crank])),
        make_joint("knee", "revolute", "a", "b", shifted(a), start_q=np.array([turn - crank])),
        make_joint("rocker", "revolute", "world", "c", shifted(ground), start_q=np.array([rocker])),
    )
    loop = LoopSpec("close", "revolute", "b", "c", shifted(b), shifted(c))
    bodies = (bar("a", a), bar("b", b), bar("c", c))
    return ModelSpec("four-bar", np.array([0, -9.81, 0]), bodies, joints, (), "test", (loop,))


def many_four_bars(count: int) -> ModelSpec:
    """Upright posts of 1 m and 1 kg in a row, joined by couplers as long and heavy, thrown to the right at 1 m/s."""
    theta = theta_from_com(1.0, [0.5, 0, 0], np.diag([0.0, 1 / 12, 1 / 12]))
    up, v = np.array([np.pi / 2]), np.array([-1.0])
    bodies, joints, loops = [], [], []
    for k in range(count + 1):
        bodies.append(BodySpec(f"post{k}", theta))
        place = {"start_q": up, "start_v": v}
        joints.append(
            make_joint(f"pivot{k}", "revolute", "world", f"post{k}", shifted(float(k)), **place)
        )
        if k < count:
            bodies.append(BodySpec(f"coupler{k}", theta))
            place = {"start_q": -up, "start_v": -v}
            elbow = make_joint(
                f"elbow{k}", "revolute", f"post{k}", f"coupler{k}", shifted(1.0), **place
            )
            joints.append(elbow)
            end = LoopSpec(
                f"hinge{k}", "revolute", f"coupler{k}", f"post{k + 1}", shifted(1.0), shifted(1.0)
            )
            loops.append(end)
    gravity = np.array([0, -9.81, 0])
    return ModelSpec("posts", gravity, tuple(bodies), tuple(joints), loops=tuple(loops))


def closed_tree(
    rng: np.random.Generator, loop_type: str, kinds: tuple[str, ...], **changes: Any
) -> tuple[ModelSpec, npt.NDArray[np.float64]]:
    """A random tree and a configuration at which a loop from its second to its last body is closed."""
    return closed(random_tree(rng, kinds), rng, loop_type, **changes)


def closed(
    spec: ModelSpec, rng: np.random.Generator, loop_type: str, **changes: Any
) -> tuple[ModelSpec, npt.NDArray[np.float64]]:
    """A tree and a configuration at which a loop from its second to its last body is closed."""
    tree = Tree(spec)
    q = tree.integrate(_neutral(tree), rng.normal(size=tree.own_nv))
    names = [link.joint.child for link in tree.links]
    loop = LoopSpec("loop", loop_type, names[1], names[-1], random_pose(rng), np.eye(4), **changes)
    X = tree.poses(q)
    at_b = inverse(X[-1]) @ X[1] @ loop.at_a @ closed_pose(loop, rng)
    return replace(spec, loops=(replace(loop, at_b=at_b),)), q


def _neutral(tree: Tree) -> npt.NDArray[np.float64]:
    q = np.zeros(tree.own_nq)
    for link in tree.links:
        if link.joint.type in ("ball", "free") and link.own_q is not None:
            q[link.own_q.stop - 1] = 1
    return q


def _plugin(name: str) -> Any:
    return find_joint(name).plugin


def closed_pose(loop: LoopSpec, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Some X_AB that the loop allows, by its definition."""
    if loop.type == "weld":
        return np.eye(4)
    if loop.type in SIZES:
        nq, nv = SIZES[loop.type]
        q = rng.uniform(-1, 1, nq)
        if nq > nv:
            q[-4:] /= np.linalg.norm(q[-4:])
        joint = make_joint("x", loop.type, "world", "x", axis=loop.axis, parameters=loop.parameters)
        return np.asarray(joint_pose(joint, q))
    if loop.type not in ENGINE_KIND:
        plugin = build(_plugin(loop.type), loop.parameters, "test")
        q = plugin.neutral() + 0.3 * rng.normal(size=plugin.coordinates.nq)
        for part, at, _ in plugin.coordinates.offsets():
            if part.group != "real":
                end = at + part.nq
                q[end - 4 : end] /= np.linalg.norm(q[end - 4 : end])
        return np.asarray(trace(plugin).evaluate(q.tolist(), [0.0] * plugin.coordinates.nv)[0])
    X = random_pose(rng)
    axis = np.asarray(loop.axis)
    if loop.type == "point_on_plane":
        X[:3, 3] -= axis * (axis @ X[:3, 3])
    elif loop.type == "point_on_line":
        X[:3, 3] = axis * (axis @ X[:3, 3])
    elif loop.type == "wheel_on_plane":
        height = loop.radius * np.linalg.norm(np.cross(axis, X[:3, 2]))
        X[:3, 3] += axis * (height - axis @ X[:3, 3])
    else:
        X[:3, 3] *= loop.length / np.linalg.norm(X[:3, 3])
    return X
