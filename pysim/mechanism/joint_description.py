"""How a joint of a specification moves, in the engine's words: a built-in shape or a traced program."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.joints import find_joint
from pysim.joints.callback import CallbackJoint
from pysim.joints.laws import check_at_load
from pysim.joints.loop_joints import closing_joint, find_closing
from pysim.joints.lowering import lower
from pysim.joints.motion_derivatives import force_slopes, motion_slopes
from pysim.joints.ranges import limits_of
from pysim.joints.trace import trace
from pysim.plugins.fields import build
from pysim.tracing.program import CODE
from pysim.tracing.tape import PIECEWISE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.joints.plugin import Joint
    from pysim.joints.trace import Traced
    from pysim.scene.spec import JointSpec, LoopSpec
    from pysim.tracing.program import Program

STORED = 6  # Column::stored in cpp/tree/model_view.hpp; 0 to 5 are the unit twists
_PIECES = {CODE[name] for name in PIECEWISE}  # instructions


@dataclass(frozen=True)
class Motion:
    """Keys of the engine's joint description, behind a fixed displacement `at` (4, 4)."""

    description: dict[str, Any]
    at: NDArray[np.float64]


Key = tuple[type, bytes]  # a plugin's class and its fields


@dataclass(frozen=True)
class Known:
    """What is known of the plugins of one file: those of one class and equal fields are traced and checked once."""

    traced: dict[Key, Traced] = field(default_factory=dict)
    motions: dict[Key, Motion] = field(default_factory=dict)
    lawful: set[tuple[Key, bytes]] = field(
        default_factory=set
    )  # with limits, start, and whether it follows


def motion_of(joint: JointSpec, known: Known | None = None) -> Motion:
    """What the engine needs to know of a joint's motion.

    Raises:
        JointError: a plugin's keys or placement are wrong, or its motion breaks a law of joints.
    """
    kind = find_joint(joint.type).plugin
    if kind is None:
        return shape_motion(joint.type, joint)
    plugin = build(kind, joint.parameters, joint.where)
    what = f"joint {joint.name!r} of type {joint.type!r}"
    follows = joint.mimic is not None
    given = _Given(joint, what, _limits(joint, plugin), joint.start_q, follows)
    return _checked(plugin, given, known or Known())


def closing_motion(loop: LoopSpec, known: Known | None = None) -> Motion:
    """What the engine needs to know of the joint that closes a loop.

    Raises:
        JointError: as of `motion_of`.
    """
    name = closing_joint(find_closing(loop.type))
    kind = find_joint(name).plugin
    if kind is None:
        return shape_motion(name, loop)
    plugin = build(kind, loop.parameters, loop.where)
    what = f"loop {loop.name!r} of type {loop.type!r}"
    start = plugin.neutral() if loop.start_q is None else loop.start_q
    return _checked(plugin, _Given(loop, what, limits_of(plugin), start), known or Known())


def shape_motion(shape: str, joint: JointSpec | LoopSpec) -> Motion:
    """The motion of a built-in shape."""
    return _shape(shape, joint.axis, float(joint.parameters.get("pitch", 0.0)), np.eye(4))


@dataclass(frozen=True)
class _Given:
    """A joint or loop of a plugin's type, and where it may be."""

    spec: JointSpec | LoopSpec
    what: str
    limits: Mapping[str, tuple[float, float]]
    start: NDArray[np.float64]
    follows: bool = False

    @property
    def where(self) -> str:
        return f"{self.spec.where}: {self.what}"


def _checked(plugin: Joint, given: _Given, known: Known) -> Motion:
    """A plugin's motion, once it keeps the laws of joints at its start."""
    try:
        return _lawful(plugin, given, known)
    except JointError as error:
        if error.where == given.where:
            raise
        name = given.what.split(" of type", maxsplit=1)[0]
        raise JointError(error.where, f"{error.problem} ({name} of {given.spec.where})") from error


def _lawful(plugin: Joint, given: _Given, known: Known) -> Motion:
    limits = dict(given.limits)
    if isinstance(plugin, CallbackJoint):
        check_at_load(plugin, None, limits, given.start, given.where, follows=given.follows)
        return _callback(plugin)
    key = (type(plugin), pickle.dumps(dict(given.spec.parameters)))
    case = (key, pickle.dumps((limits, given.start.tolist(), given.follows)))
    if key not in known.traced:
        known.traced[key] = trace(plugin)
    traced = known.traced[key]
    if case not in known.lawful:
        check_at_load(plugin, traced, limits, given.start, given.where, follows=given.follows)
        known.lawful.add(case)
    if key not in known.motions:
        known.motions[key] = traced_motion(plugin, traced)
    return known.motions[key]


def _limits(joint: JointSpec, plugin: Joint) -> dict[str, tuple[float, float]]:
    """The limits of a joint in its scene, by coordinate."""
    parts = plugin.coordinates.offsets()
    return {part.name: (joint.lower[at], joint.upper[at]) for part, _, at in parts}


def traced_motion(joint: Joint, traced: Traced | None = None) -> Motion:
    """A plugin's motion: the built-in shape it is in disguise, else its program."""
    if isinstance(joint, CallbackJoint):
        return _callback(joint)
    traced = trace(joint) if traced is None else traced
    lowered = lower(traced)
    if lowered is None:
        motion = _shape("program", (0, 0, 1), 0.0, np.eye(4))
        motion.description["program"] = _program(traced)
        motion.description["derivative"] = words(motion_slopes(traced).program(traced))
    else:
        pitch = lowered.parameters.get("pitch", 0.0)
        motion = _shape(lowered.shape, lowered.axis, pitch, lowered.at)
    force, slopes = traced.force_program(), force_slopes(traced)
    if force is not None and slopes is not None:
        motion.description["force"] = words(force)
        motion.description["force_derivative"] = words(slopes.program(traced))
    return motion


def runs_as(description: Mapping[str, Any]) -> str:
    """How the engine runs a joint of this description, in words."""
    shape = description["shape"]
    if shape == "callback":
        return "runs in Python for every evaluation"
    force = len(description["force"]["code"]) if "force" in description else 0
    own = f", and a force of {force} instructions" if force else ""
    if shape != "program":
        return f"runs as the built-in {shape}{own}"
    program = description["program"]
    total, pose = len(program["code"]), program["pose_end"]
    split = f"{pose} for pose and subspace, {total - pose} for the bias"
    return f"runs as a program of {total} instructions, {split}{own}"


def moves_in_pieces(description: Mapping[str, Any]) -> bool:
    """Whether a joint's formulas may change over somewhere: what holds here need not hold there."""
    if description["shape"] == "callback":
        return True
    program = description.get("program", {"code": ()})
    return any(instruction[0] in _PIECES for instruction in program["code"])


def _callback(joint: CallbackJoint) -> Motion:
    motion = _shape("callback", (0, 0, 1), 0.0, np.eye(4))
    motion.description["program"] = {
        "blocks": joint.coordinates.blocks(),
        "columns": [STORED] * joint.coordinates.nv,
        "biased": True,
    }
    motion.description["callback"] = joint
    return motion


def _shape(shape: str, axis: Sequence[float], pitch: float, at: NDArray[np.float64]) -> Motion:
    return Motion({"shape": shape, "axis": list(axis), "pitch": pitch}, at)


def _program(traced: Traced) -> dict[str, Any]:
    return words(traced.program()) | {
        "blocks": traced.coordinates.blocks(),
        "columns": [_column(traced, k) for k in range(traced.coordinates.nv)],
        "biased": any(not traced.tape.is_value(n, 0) for n in traced.bias),
    }


def words(program: Program) -> dict[str, Any]:
    """A program as the engine takes it."""
    return {
        "code": [list(instruction) for instruction in program.code],
        "pose_end": program.pose_end,
        "registers": program.registers,
        "constants": program.constants,
        "tables": program.tables,
        "outputs": program.outputs,
    }


def _column(traced: Traced, k: int) -> int:
    """The unit twist that column k of S is, or `stored`."""
    nodes = traced.subspace[6 * k : 6 * k + 6]
    for axis in range(6):
        if all(traced.tape.is_value(n, float(i == axis)) for i, n in enumerate(nodes)):
            return axis
    return STORED
