"""Random mechanisms of every joint shape, and small ones from textbooks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.inertia import theta_from_com
from pysim.scene.spec import BodySpec, ForceSpec, FrameSpec, JointSpec, Mimic, ModelSpec, PathPart
from tests.oracles.spatial import pose, quaternion_exp, quaternion_rotation
from tests.oracles.tree import SIZES

if TYPE_CHECKING:
    from collections.abc import Sequence

MOVING = tuple(kind for kind in SIZES if kind != "fixed")
GRAVITY = np.array([0.0, 0.0, -9.81])


def make_joint(
    name: str, kind: str, parent: str, child: str, at=None, axis=(0.0, 0.0, 1.0), **changes
) -> JointSpec:
    """A joint without passive forces, at rest where its coordinates are zero."""
    nq, nv = SIZES[kind]
    rest = np.zeros(nq)
    if nq > nv:
        rest[-1] = 1
    axis = np.asarray(axis, float)
    joint = JointSpec(
        name=name,
        type=kind,
        parent=parent,
        child=child,
        at=np.eye(4) if at is None else np.asarray(at, float),
        axis=tuple(axis / np.linalg.norm(axis)),
        armature=np.zeros(nv),
        damping=np.zeros(nv),
        stiffness=np.zeros(nv),
        rest=rest,
        friction=np.zeros(nv),
        friction_width=np.full(nv, 0.05),
        lower=np.full(nv, -np.inf),
        upper=np.full(nv, np.inf),
        stop_stiffness=np.zeros(nv),
        stop_damping=np.zeros(nv),
        start_q=rest.copy(),
        start_v=np.zeros(nv),
        where=f"test: joint {name}",
    )
    return replace(joint, **changes)


def random_pose(rng: np.random.Generator):
    return pose(quaternion_rotation(quaternion_exp(rng.normal(size=3))), rng.normal(size=3))


def random_theta(rng: np.random.Generator):
    """A physically consistent body: ten point masses."""
    points, masses = rng.normal(size=(10, 3)), rng.uniform(0.1, 0.3, size=10)
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)
    )
    return theta_from_com(masses.sum(), com, inertia)


def random_tree(
    rng: np.random.Generator,
    kinds: Sequence[str] = MOVING,
    *,
    passive: bool = False,
    mimic: bool = False,
    chain: bool = False,
) -> ModelSpec:
    """Return a random tree with one joint of each kind; passive forces and a mimic joint if requested."""
    names = ["world", *(f"body{k}" for k in range(len(kinds)))]
    joints = []
    for k, kind in enumerate(kinds):
        parent = names[k] if chain else names[rng.integers(0, k + 1)]
        changes: dict[str, object] = {"armature": rng.uniform(0.1, 0.5, SIZES[kind][1])}
        if kind == "helical":
            changes["parameters"] = {"pitch": 0.3}
        if passive:
            changes |= _random_passive(rng, kind)
        joints.append(
            make_joint(
                f"joint{k}",
                kind,
                parent,
                names[k + 1],
                random_pose(rng),
                rng.normal(size=3),
                **changes,
            )
        )
    if mimic:
        single = [k for k, kind in enumerate(kinds) if SIZES[kind] == (1, 1)]
        order = _depth_first(joints)
        first, second = sorted(single[:2], key=lambda k: order.index(joints[k].name))
        joints[second] = replace(joints[second], mimic=Mimic(joints[first].name, -1.7, 0.3))
    bodies = tuple(BodySpec(name, random_theta(rng), where=f"test: {name}") for name in names[1:])
    frames = (FrameSpec("tool", names[-1], random_pose(rng), "test: tool"),)
    return ModelSpec("random", GRAVITY, bodies, tuple(joints), frames, "test")


def _depth_first(joints: Sequence[JointSpec], body: str = "world") -> list[str]:
    names = []
    for joint in joints:
        if joint.parent == body:
            names += [joint.name, *_depth_first(joints, joint.child)]
    return names


def _random_passive(rng: np.random.Generator, kind: str) -> dict[str, object]:
    nq, nv = SIZES[kind]
    changes: dict[str, object] = {
        "damping": rng.uniform(0.1, 1, nv),
        "friction": rng.uniform(0.1, 1, nv),
    }
    if nq == nv:
        changes |= {
            "stiffness": rng.uniform(1, 5, nv),
            "rest": rng.normal(size=nq),
            "lower": np.full(nv, -0.4),
            "upper": np.full(nv, 0.5),
            "stop_stiffness": np.full(nv, 30.0),
            "stop_damping": np.full(nv, 2.0),
        }
    return changes


def one_body(kind: str, theta, *, gravity=GRAVITY, **changes) -> ModelSpec:
    """A single body on a joint to the world."""
    joint = make_joint("joint", kind, "world", "body", **changes)
    return ModelSpec("one body", np.asarray(gravity, float), (BodySpec("body", theta),), (joint,))


def shaken(spec: ModelSpec, name: str, **changes) -> ModelSpec:
    """The same mechanism with one joint changed."""
    joints = tuple(replace(j, **changes) if j.name == name else j for j in spec.joints)
    return replace(spec, joints=joints)


def spring(name: str, a: str, b: str, *numbers: Any) -> ForceSpec:
    """A spring between points of two bodies: at_a and at_b (3,) [m], stiffness, damping and length."""
    at_a, at_b, *given = numbers
    keys = dict(zip(("stiffness", "damping", "length"), map(float, given), strict=True))
    return ForceSpec(name, "spring", path=(PathPart(a, at_a), PathPart(b, at_b)), parameters=keys)
