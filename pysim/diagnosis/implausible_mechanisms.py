"""Warnings of mechanisms that can be built and are hardly meant: their likely mistake, and what to write.

A centre of mass far away from a body whose mass lies close together is one in millimetres; gravity along the normal of
the only ground has the wrong sign; a hinge that closes a loop of parallel hinges about another axis locks it; a command
of a hinge beyond a turn, such as 30, whose signal has no unit, is one in degrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import frame_placement
from pysim.inertia import rotational_inertia
from pysim.scene.toml.plausibility import ROUND_DEGREES
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.mechanism.model import Model
    from pysim.scene.spec import BodySpec, JointSpec, LoopSpec
    from pysim.worlds.loading import Scene

FAR_DISTANCE = 10.0  # [m]
FAR_FACTOR = 100.0  # of the radius of gyration, or of the lengths of the mechanism, from where a centre of mass is far
HINGE = "revolute"
PARALLEL = 1e-3  # sine of the angle between axes
APART = 0.5
SERVO = "position_servo"
UNITLESS = ("", "1")
VALUES = {
    "constant": ("value",),
    "step": ("before", "after"),
    "waypoints": ("values",),
    "table": ("values",),
}


def implausible_parts(scene: Scene) -> Iterator[str]:
    """Yield a warning for each part of a scene that is hardly meant."""
    spec = scene.spec.model
    longest = max((float(np.abs(joint.at[:3, 3]).max()) for joint in spec.joints), default=0.0)
    for body in spec.bodies:
        yield from _far_centre(body, longest)
    yield from _upward_gravity(scene)
    for loop in spec.loops:
        yield from _locked_loop(scene.model, scene.state.q, loop)
    yield from _commands_in_degrees(scene)


def _commands_in_degrees(scene: Scene) -> Iterator[str]:
    """Yield a warning of each source without a unit whose numbers are degrees, where a hinge follows them."""
    spec = scene.spec
    sources = {block.name: block for block in spec.blocks if block.kind == "signal"}
    types = {joint.name: joint.type for joint in spec.model.joints}
    reads = [
        (block.inputs[0], block.coordinates)
        for block in spec.blocks
        if block.type == SERVO and block.inputs
    ]
    for name, coordinates in reads:
        source = sources.get(name)
        hinges = [x for x in coordinates if types.get(x) == HINGE]
        if source is None or source.unit not in UNITLESS or not hinges:
            continue
        numbers = np.concatenate(
            [np.ravel(source.parameters.get(key, ())) for key in VALUES.get(source.type, ())]
            or [np.zeros(0)]
        )
        turns = [x for x in numbers.tolist() if abs(x) > 2 * np.pi and x % ROUND_DEGREES == 0]
        if turns:
            problem = f"signal {name!r} commands hinge {hinges[0]!r} to {turns[0]:g} [rad], beyond one full turn"
            remedy = (
                f'write {np.radians(turns[0]):.6g} if degrees were meant, and unit = "rad" if not'
            )
            yield f"{source.where}: {problem}; {remedy}"


def _far_centre(body: BodySpec, longest: float) -> Iterator[str]:
    """Yield a warning of a centre of mass that is far from a body's frame, if its mass lies close together."""
    mass = float(body.theta[0])
    if mass <= 0 or body.geometries or body.collisions:  # shapes may be anywhere
        return
    c = body.theta[1:4] / mass
    distance = float(np.linalg.norm(c))
    moment = float(np.trace(rotational_inertia(body.theta))) / 2 - mass * distance**2
    radius = float(np.sqrt(max(moment, 0.0) / mass))
    if distance < FAR_DISTANCE or distance < FAR_FACTOR * max(radius, longest):
        return
    text = f"{body.where}: body {body.name!r}: its centre of mass is {distance:g} m from its frame"
    within = f"and its mass lies within {radius:.2g} m of that"
    remedy = f"if millimetres were meant, write com = {_listed(c / 1000)}"
    yield f"{text}, {within}; {remedy}"


def _upward_gravity(scene: Scene) -> Iterator[str]:
    """Yield a warning of gravity that pulls away from every plane of the ground."""
    spec = scene.spec.model
    g, planes = spec.gravity, spec.grounds
    size = float(np.linalg.norm(g))
    towards = [float(np.dot(g, own.normal)) for own in planes if own.field is None]
    if size and towards and max(towards) > APART * size and min(towards) > -APART * size:
        n = next(own.normal for own in planes if own.field is None and np.dot(g, own.normal) > 0)
        problem = f"gravity {_listed(g)} [m/s²] pulls away from the ground, whose normal is"
        yield f"{scene.spec.path}: {problem} {_listed(n)}; write gravity = {_listed(-g)}"


def _locked_loop(model: Model, q: Array, loop: LoopSpec) -> Iterator[str]:
    """Yield a warning of a hinge that closes a loop of parallel hinges about an axis that is not parallel to them."""
    if loop.type != HINGE:
        return
    joints = [joint for joint in _around(model, loop) if joint.type != "fixed"]
    if len(joints) < 2 or any(joint.type != HINGE for joint in joints):
        return
    axes = [_rotation(model, q, own.child) @ np.array(own.axis) for own in joints]
    R = _rotation(model, q, loop.a) @ loop.at_a[:3, :3]
    n = axes[0]
    if any(_sine(n, axis) > PARALLEL for axis in axes) or _sine(n, R @ loop.axis) < APART:
        return
    problem = (
        f"loop {loop.name!r}: its axis {_listed(loop.axis)} is not parallel to those of the hinges around it, "
        "so that none of them can rotate"
    )
    yield f"{loop.where}: {problem}; write axis = {_listed(R.T @ n)}"


def _around(model: Model, loop: LoopSpec) -> list[JointSpec]:
    """Return the joints of the tree between the bodies of a loop."""
    above = {joint.child: joint for joint in model.spec.joints}
    paths: list[list[JointSpec]] = []
    for end in (loop.a, loop.b):
        path: list[JointSpec] = []
        name = end
        while name in above:
            path.append(above[name])
            name = above[name].parent
        paths.append(path)
    names = [{joint.name for joint in path} for path in paths]
    return [
        joint
        for path, others in zip(paths, reversed(names), strict=True)
        for joint in path
        if joint.name not in others
    ]


def _rotation(model: Model, q: Array, body: str) -> Array:
    """Return the orientation (3, 3) of a body in the world."""
    return np.eye(3) if body == WORLD else np.asarray(frame_placement(model, q, body))[:3, :3]


def _sine(a: Array, b: Array) -> float:
    return float(np.linalg.norm(np.cross(a, b)))


def _listed(numbers: Array | tuple[float, ...]) -> str:
    return f"[{', '.join(f'{x:.6g}' for x in np.round(numbers, 9) + 0.0)}]"
