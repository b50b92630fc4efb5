"""Wrench at a fixed joint, whose links are one body of the engine, from one of the two parts that it connects.

    W_F = I a + ω × I ω − I g + Σ X W_J           of the part beyond the joint, with the moving joints J on it
    W_F = X W_B − (I a + ω × I ω − I g) − Σ X W_J of the part before it, with the joint B that moves the body

about the origin of F and in its axes. A part on which elements, loops or contacts act is not used: their
forces belong to the body as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim._engine import ElementKind, PortDescription
from pysim.elements.graph_types import RigidPart
from pysim.errors import ModelError
from pysim.inertia import move_theta
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysim.mechanism.model import Model
    from pysim.scene.spec import BlockSpec, JointSpec, SceneSpec


def rigid_part(
    model: Model, scene: SceneSpec, sensor: BlockSpec, add_port: Callable[[PortDescription], int]
) -> RigidPart:
    """Return the part by which a sensor measures the wrench at a fixed joint.

    Raises:
        ModelError: forces act on both parts.
    """
    joint = next(joint for joint in scene.model.joints if joint.name == sensor.joint)
    body, _ = model.frames[joint.child]
    beyond = _links_beyond(scene, joint)
    own = {name for name, (index, _) in model.frames.items() if index == body}
    links = {b.name for b in scene.model.bodies} & own
    loads = [(links & beyond, 1.0), (links - beyond, -1.0)]
    acting: list[str] = []
    for part, sign in loads:
        found = next(_acting_on(scene, part), None)
        if found is None and not (sign < 0 and body < 0):  # nothing carries the world
            return _part(model, scene, joint.child, part, sign, add_port)
        acting.append(found or "the world")
    problem = (
        f"sensor {sensor.name!r}: joint {joint.name!r} is fixed, its links are one body, and forces"
    )
    problem = f"{problem} act on both sides of it ({' and '.join(acting)})"
    raise ModelError(sensor.where, f"{problem}; measure at a joint that moves")


def _links_beyond(scene: SceneSpec, joint: JointSpec) -> set[str]:
    """Return the links that fixed joints connect to the child of a joint."""
    found, pending = set(), [joint.child]
    while pending:
        link = pending.pop()
        found.add(link)
        pending += [j.child for j in scene.model.joints if j.parent == link and j.type == "fixed"]
    return found


def _acting_on(scene: SceneSpec, part: set[str]) -> Iterator[str]:
    """Yield what acts on a part from outside of it."""
    model = scene.model
    body_of = {frame.name: frame.body for frame in model.frames}
    ends: list[tuple[str, tuple[str, ...]]]
    ends = [(f"loop {s.name!r}", (s.a, s.b)) for s in model.loops]
    for force in model.forces:
        if force.path:
            ends.append((f"force {force.name!r}", tuple(point.body for point in force.path)))
        elif not force.coordinates:
            ends.append((f"force {force.name!r}", (force.a, force.b)))
    for block in scene.blocks:
        if block.kind == "actuator" and block.points:
            ends.append((f"actuator {block.name!r}", tuple(p.body for p in block.points)))
    for label, names in ends:
        inside = [body_of.get(name, name) in part for name in names]
        if any(inside) and not all(inside):
            yield label
    if model.contacts is not None:
        for body in model.bodies:
            if body.name in part and body.collisions:
                yield f"contacts of {body.name!r}"


def _part(
    model: Model,
    scene: SceneSpec,
    link: str,
    part: set[str],
    sign: float,
    add_port: Callable[[PortDescription], int],
) -> RigidPart:
    body, place = model.frames[link]
    back: Array = np.asarray(np.linalg.inv(place), float)
    theta = np.zeros(10)
    links = []
    for spec in scene.model.bodies:
        if spec.name in part:
            pose = back @ model.frames[spec.name][1]
            links.append((spec.name, pose))
            theta = theta + move_theta(spec.theta, pose)
    names = list(model.joint_names)
    wrenches: list[tuple[float, int, int | None, Array]] = []
    for joint in scene.model.joints:
        if joint.parent in part and joint.name in names:
            index = names.index(joint.name)
            port = PortDescription(
                joint.name, ElementKind.frames, a=body, b=index, at_a=place, at_b=np.eye(4)
            )
            wrenches.append((sign, index, add_port(port), np.eye(4)))
    if sign < 0:
        wrenches.append((1.0, body, None, back))
    return RigidPart(sign, theta, tuple(links), body < 0, place[:3, :3], tuple(wrenches))
