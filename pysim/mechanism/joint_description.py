"""Description of a joint's motion for the engine: a built-in shape, or a plugin's traced program."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim._engine import Column, MotionDescription, Op, Shape
from pysim.errors import JointError
from pysim.joints import find_joint
from pysim.joints.callback import CallbackJoint
from pysim.joints.coordinate_ranges import limits_of
from pysim.joints.invariants import check_at_load
from pysim.joints.loop_joints import find_loop_type, joint_of_loop_type
from pysim.joints.lowering import lower
from pysim.joints.motion_derivatives import force_derivative, motion_derivatives
from pysim.joints.trace import trace
from pysim.plugins.fields import build
from pysim.tracing.tape import PIECEWISE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim.elements.tracing import TracedForce
    from pysim.joints.plugin import Joint
    from pysim.joints.trace import Traced
    from pysim.scene.spec import JointSpec, LoopSpec

UNIT_TWISTS = (Column.vx, Column.vy, Column.vz, Column.wx, Column.wy, Column.wz)
_PIECES = {Op[name] for name in PIECEWISE - {"unknown"}}  # instructions


@dataclass(frozen=True)
class Motion:
    """Motion of a joint after a fixed displacement `at` (4, 4), and the plugin if Python computes the motion."""

    description: MotionDescription
    at: NDArray[np.float64]
    callback: CallbackJoint | None = None


Key = tuple[type, bytes]  # a plugin's class and its fields


@dataclass(frozen=True)
class TraceCache:
    """Cache of a file's plugins: those of one class and equal fields are traced and checked once."""

    traced: dict[Key, Traced] = field(default_factory=dict)
    motions: dict[Key, Motion] = field(default_factory=dict)
    forces: dict[Key, TracedForce] = field(default_factory=dict)
    # checked cases: with limits, start, and whether the joint follows another
    lawful: set[tuple[Key, bytes]] = field(default_factory=set)


def describe_motion(joint: JointSpec, cache: TraceCache | None = None) -> Motion:
    """Return the engine's description of a joint's motion.

    Raises:
        JointError: a plugin's keys or placement are invalid, or its motion violates an invariant of joints.
    """
    kind = find_joint(joint.type).plugin
    if kind is None:
        return shape_motion(joint.type, joint)
    plugin = build(kind, joint.parameters, joint.where)
    what = f"joint {joint.name!r} of type {joint.type!r}"
    follows = joint.mimic is not None
    given = _Given(joint, what, _limits(joint, plugin), joint.start_q, follows)
    return _checked(plugin, given, cache or TraceCache())


def describe_loop_motion(loop: LoopSpec, cache: TraceCache | None = None) -> Motion:
    """Return the engine's description of the joint that closes a loop.

    Raises:
        JointError: as in `describe_motion`.
    """
    name = joint_of_loop_type(find_loop_type(loop.type))
    kind = find_joint(name).plugin
    if kind is None:
        return shape_motion(name, loop)
    plugin = build(kind, loop.parameters, loop.where)
    what = f"loop {loop.name!r} of type {loop.type!r}"
    start = plugin.neutral() if loop.start_q is None else loop.start_q
    return _checked(plugin, _Given(loop, what, limits_of(plugin), start), cache or TraceCache())


def shape_motion(shape: str, joint: JointSpec | LoopSpec) -> Motion:
    """Return the motion of a built-in shape."""
    pitch = float(joint.parameters.get("pitch", 0.0))
    return Motion(MotionDescription(Shape[shape], joint.axis, pitch), np.eye(4))


@dataclass(frozen=True)
class _Given:
    """Joint or loop of a plugin's type, with its limits and start."""

    spec: JointSpec | LoopSpec
    what: str
    limits: Mapping[str, tuple[float, float]]
    start: NDArray[np.float64]
    follows: bool = False

    @property
    def where(self) -> str:
        return f"{self.spec.where}: {self.what}"


def _checked(plugin: Joint, given: _Given, cache: TraceCache) -> Motion:
    """Return a plugin's motion after checks of the invariants of joints."""
    try:
        return _lawful(plugin, given, cache)
    except JointError as error:
        if error.where == given.where:
            raise
        name = given.what.split(" of type", maxsplit=1)[0]
        raise JointError(error.where, f"{error.problem} ({name} of {given.spec.where})") from error


def _lawful(plugin: Joint, joint: _Given, cache: TraceCache) -> Motion:
    limits = dict(joint.limits)
    if isinstance(plugin, CallbackJoint):
        check_at_load(plugin, None, limits, joint.start, joint.where, follows=joint.follows)
        return _callback(plugin)
    key = (type(plugin), pickle.dumps(dict(joint.spec.parameters)))
    case = (key, pickle.dumps((limits, joint.start.tolist(), joint.follows)))
    if key not in cache.traced:
        cache.traced[key] = trace(plugin)
    traced = cache.traced[key]
    if case not in cache.lawful:
        check_at_load(plugin, traced, limits, joint.start, joint.where, follows=joint.follows)
        cache.lawful.add(case)
    if key not in cache.motions:
        cache.motions[key] = traced_motion(plugin, traced)
    return cache.motions[key]


def _limits(joint: JointSpec, plugin: Joint) -> dict[str, tuple[float, float]]:
    """Return the limits of a joint in its scene, by coordinate."""
    parts = plugin.coordinates.offsets()
    return {part.name: (joint.lower[at], joint.upper[at]) for part, _, at in parts}


def traced_motion(joint: Joint, traced: Traced | None = None) -> Motion:
    """Return a plugin's motion: the equivalent built-in shape if there is one, else its program."""
    if isinstance(joint, CallbackJoint):
        return _callback(joint)
    traced = trace(joint) if traced is None else traced
    force, by_state = traced.force_program(), force_derivative(traced)
    lowered = lower(traced)
    if lowered is not None:
        pitch = lowered.parameters.get("pitch", 0.0)
        shape = MotionDescription(
            Shape[lowered.shape], lowered.axis, pitch, force=force, force_derivative=by_state
        )
        return Motion(shape, lowered.at)
    description = MotionDescription(
        Shape.program,
        blocks=traced.coordinates.blocks(),
        columns=[_column(traced, k) for k in range(traced.coordinates.nv)],
        biased=any(not traced.tape.is_value(n, 0) for n in traced.bias),
        program=traced.program(),
        derivative=motion_derivatives(traced).program(traced),
        force=force,
        force_derivative=by_state,
    )
    return Motion(description, np.eye(4))


def runs_as(motion: MotionDescription) -> str:
    """Return a text that says how the engine runs a motion."""
    if motion.shape is Shape.callback:
        return "runs in Python for every evaluation"
    own = "" if motion.force is None else f", and a force of {len(motion.force)} instructions"
    if motion.program is None:
        return f"runs as the built-in {motion.shape.name}{own}"
    total, pose = len(motion.program), motion.program.pose_end
    split = f"{pose} for pose and subspace, {total - pose} for the bias"
    return f"runs as a program of {total} instructions, {split}{own}"


def moves_in_pieces(motion: MotionDescription) -> bool:
    """Return whether a joint's motion is piecewise, so that its properties may differ between pieces."""
    if motion.shape is Shape.callback:
        return True
    code = () if motion.program is None else motion.program.code
    return any(instruction[0] in _PIECES for instruction in code)


def _callback(joint: CallbackJoint) -> Motion:
    description = MotionDescription(
        Shape.callback,
        blocks=joint.coordinates.blocks(),
        columns=[Column.stored] * joint.coordinates.nv,
        biased=True,
    )
    return Motion(description, np.eye(4), joint)


def _column(traced: Traced, k: int) -> Column:
    """Return the unit twist that column k of S is, or `stored`."""
    nodes = traced.subspace[6 * k : 6 * k + 6]
    for axis, column in enumerate(UNIT_TWISTS):
        if all(traced.tape.is_value(n, float(i == axis)) for i, n in enumerate(nodes)):
            return column
    return Column.stored
