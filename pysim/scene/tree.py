"""Checks that bodies and joints form a tree rooted in the world, and that its mass matrix is not singular.

Every body is the child of exactly one joint, and every moving joint moves some inertia.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pysim.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim.scene.spec import BodySpec, FrameSpec, JointSpec, ModelSpec

WORLD = "world"


def check_tree(spec: ModelSpec) -> None:
    """Reject a mechanism that is not a tree, or whose mass matrix would be singular.

    Raises:
        ModelError: it is; the error names the joint, body or frame and its place in the file.
    """
    check_connections(spec)
    _check_massless(spec)


def check_connections(spec: ModelSpec) -> None:
    """Reject a mechanism that is not a tree rooted in the world; massless bodies are allowed.

    Raises:
        ModelError: a name is unknown or used twice, a body has two parents or none, or there is a cycle.
    """
    _check_names(spec)
    hangs_on = _parent_joints(spec.joints)
    reached = set(order_from_world(spec.joints))
    for body in spec.bodies:
        if body.name not in reached:
            _refuse_unreached(body, hangs_on)
    known = {body.name: body for body in spec.bodies} | {WORLD: None}
    for frame in spec.frames:
        if frame.body not in known:
            problem = f"frame {frame.name!r} is on an unknown body {frame.body!r}"
            raise ModelError(frame.where, problem + did_you_mean(frame.body, known))


def order_from_world(joints: Iterable[JointSpec]) -> list[str]:
    """Return the bodies connected to the world, a parent before its children."""
    children: dict[str, list[str]] = defaultdict(list)
    for joint in joints:
        children[joint.parent].append(joint.child)
    order = list(children[WORLD])
    for name in order:  # grows during the iteration
        order += children[name]
    return order


def _check_names(spec: ModelSpec) -> None:
    _refuse_repeated("body", spec.bodies)
    _refuse_repeated("joint", spec.joints)
    bodies = {body.name for body in spec.bodies}
    placed: tuple[BodySpec | FrameSpec, ...] = (*spec.bodies, *spec.frames)
    _refuse_repeated("frame", placed)
    for item in placed:
        if item.name == WORLD:
            raise ModelError(
                item.where, f"the name {WORLD!r} is taken by the world; choose another"
            )
    for joint in spec.joints:
        _check_joint_names(joint, bodies)
    joints = {joint.name for joint in spec.joints}
    for joint in spec.joints:
        if joint.mimic is not None and joint.mimic.joint not in joints:
            problem = f"joint {joint.name!r} follows an unknown joint {joint.mimic.joint!r}"
            raise ModelError(joint.where, problem + did_you_mean(joint.mimic.joint, joints))


def _refuse_repeated(what: str, items: Sequence[BodySpec | JointSpec | FrameSpec]) -> None:
    first: dict[str, str] = {}
    for item in items:
        if item.name in first:
            problem = (
                f"{what} {item.name!r} is defined twice, first at {first[item.name]}; rename one"
            )
            raise ModelError(item.where, problem)
        first[item.name] = item.where


def _check_joint_names(joint: JointSpec, bodies: set[str]) -> None:
    if joint.child == WORLD:
        problem = f"joint {joint.name!r} has the world as its child; swap parent and child"
        raise ModelError(joint.where, problem)
    for role, name in (("parent", joint.parent), ("child", joint.child)):
        if name not in bodies and (role, name) != ("parent", WORLD):
            known = [WORLD, *bodies] if role == "parent" else bodies
            problem = f"joint {joint.name!r} has an unknown {role} {name!r}"
            raise ModelError(joint.where, problem + did_you_mean(name, sorted(known)))
    if joint.parent == joint.child:
        problem = f"joint {joint.name!r} joins body {joint.child!r} to itself; name another parent"
        raise ModelError(joint.where, problem)


def _parent_joints(joints: Sequence[JointSpec]) -> dict[str, JointSpec]:
    """Return the parent joint of each body."""
    hangs_on: dict[str, JointSpec] = {}
    for joint in joints:
        other = hangs_on.setdefault(joint.child, joint)
        if other is not joint:
            problem = (
                f"body {joint.child!r} is the child of joint {joint.name!r} and of {other.name!r} at "
                f"{other.where}; a body has one parent in a tree, remove one joint"
            )
            raise ModelError(joint.where, problem)
    return hangs_on


def _refuse_unreached(body: BodySpec, hangs_on: Mapping[str, JointSpec]) -> None:
    """Report a cycle or a missing joint, found by following parents from a body not connected to the world."""
    path = [body.name]
    while (joint := hangs_on.get(path[-1])) is not None:
        if joint.parent in path:
            loop = [*path[path.index(joint.parent) :], joint.parent]
            problem = (
                f"the joints make a cycle, {' → '.join(map(repr, reversed(loop)))}; "
                "a tree needs one body joined to the world"
            )
            raise ModelError(joint.where, problem)
        path.append(joint.parent)
    top = path[-1]
    below = f" (and {body.name!r} below it)" if top != body.name else ""
    problem = (
        f"body {top!r}{below} is not connected to the world; "
        f"give it a joint whose child is {top!r}, or remove it"
    )
    raise ModelError(body.where, problem)


def _check_massless(spec: ModelSpec) -> None:
    """Reject a joint that moves nothing."""
    for joint in massless_joints(spec):
        problem = (
            f"joint {joint.name!r} moves only massless bodies, {joint.child!r} and what it carries; a "
            f"massless leaf makes M singular; give {joint.child!r} a mass, the joint an armature, "
            "or make the joint fixed"
        )
        raise ModelError(joint.where, problem)


def check_followers(spec: ModelSpec) -> None:
    """Reject a follower that moves nothing, for schemes in which it is a joint of its own that a row holds."""
    followers = [(joint, joint.mimic) for joint in spec.joints if joint.mimic is not None]
    moved = _moved_joints(spec) if followers else set()
    for joint, mimic in followers:
        if joint.name in moved or joint.armature.all():
            continue
        problem = (
            f"joint {joint.name!r} follows {mimic.joint!r} and moves only massless bodies, "
            f'which integrator = "convex" cannot step; give {joint.child!r} a mass, the joint an armature, '
            'or take integrator = "rk4"'
        )
        raise ModelError(joint.where, problem)


def massless_joints(spec: ModelSpec) -> list[JointSpec]:
    """Return the joints that move nothing: no mass or inertia among their descendants, and no armature.

    The inertia of followers counts for the joint that leads them; followers are not returned.
    """
    moved = _moved_joints(spec)
    moved |= {j.mimic.joint for j in spec.joints if j.mimic is not None and j.name in moved}
    return [
        joint
        for joint in spec.joints
        if joint.type != "fixed" and joint.mimic is None and joint.name not in moved
        if not joint.armature.all()
    ]


def _moved_joints(spec: ModelSpec) -> set[str]:
    """Return the joints that carry a body with a mass or an inertia."""
    massive = {body.name for body in spec.bodies if body.theta.any()}
    hangs_on = {joint.child: joint for joint in spec.joints}
    for name in reversed(order_from_world(spec.joints)):
        if name in massive:
            massive.add(hangs_on[name].parent)
    return {joint.name for joint in spec.joints if joint.child in massive}
