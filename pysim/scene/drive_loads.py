"""Largest forces with which drives push joints against their limits, from a scene's specification.

The force of a drive is computed at the limit, at rest, for its lowest and its highest command. Of a command that is a
source of signals these are the extremes of the run. Otherwise the range of the drive's forces bounds it; without one, a
servo of positions is commanded one range of the joint beyond the limit, and one of velocities at the joint's velocity
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import find_block
from pysim.elements.library.sources import Input, Table
from pysim.joints import find_joint
from pysim.plugins.fields import build
from pysim.scene.path_loads import PassedJoints
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet

    from numpy.typing import NDArray

    from pysim.scene.spec import ActuatorSpec, BlockSpec, JointSpec

SATURATING_COMMAND = 1e15  # command that reaches the end of any range of forces
BOUNDED_SHARE = 1e-3  # share of SATURATING_COMMAND, below which a force is the end of a range
INSTANTS = 257  # of a run, at which a command is computed
SLOPE_SPEED = 1e-6  # [m/s or rad/s] for the slope of a force by the velocity
_READ = {"command", "q", "v", "t"}  # arguments of drives whose forces are computed here


@dataclass(frozen=True)
class DriveLoad:
    """Load of the drives of a joint at its limits, for each coordinate (nv,)."""

    force: Array  # [N or N·m] largest, beyond the limits
    known: Array  # [N or N·m] part of it, of drives whose commands are known
    damping: Array  # [N·s/m or N·m·s/rad] with which the drives resist there
    drives: tuple[str, ...]  # names


def drive_loads(
    joints: Iterable[JointSpec],
    actuators: Sequence[ActuatorSpec],
    blocks: Sequence[BlockSpec],
    duration: float,
) -> dict[str, DriveLoad]:
    """Return the loads of the joints with limits that drives push against, by name.

    Args:
        joints: of the scene.
        actuators: prescribed forces.
        blocks: signals and drives; others are not looked at.
        duration: of the run [s].
    """
    joints = tuple(joints)
    sums = {joint.name: _Sum(joint) for joint in joints if is_bounded(joint).any()}
    for drive in actuators:
        if drive.joint in sums:
            force = abs(drive.offset) + abs(drive.amplitude)
            sums[drive.joint].add(drive.name, drive.coordinate, force, 0.0, is_known=True)
    sources = {block.name: block for block in blocks if block.kind == "signal"}
    for block in blocks:
        places = [_coordinate_of(name, sums) for name in block.coordinates]
        if block.kind == "actuator" and any(places):
            servo = _Drive(block, places, sums, sources, duration)
            for place, force, resisting in zip(places, *servo.load(), strict=True):
                if place is not None:
                    own, known = sums[place[0]], servo.commands is not None
                    own.add(block.name, place[1], force, resisting, is_known=known)
    along = [b for b in blocks if b.kind == "actuator" and b.points] if sums else []
    passed = PassedJoints(joints) if along else None
    for block in along:
        assert passed is not None
        rope = _Drive(block, [None], sums, sources, duration)
        tension = rope.tension()
        for joint in passed.passed(block.points) if np.isfinite(tension) else ():
            if joint.name in sums and len(joint.lower) == 1:
                force, known = passed.load(joint, block.points, tension), rope.commands is not None
                sums[joint.name].add(block.name, 0, force, 0.0, is_known=known)
    loads = {name: load.bounded() for name, load in sums.items() if load.drives}
    return {name: load for name, load in loads.items() if load.force.any()}


def same_loads(a: Mapping[str, DriveLoad], b: Mapping[str, DriveLoad]) -> bool:
    """Return whether two sets of loads are equal."""
    return a.keys() == b.keys() and all(
        np.array_equal(a[name].force, b[name].force)
        and np.array_equal(a[name].damping, b[name].damping)
        for name in a
    )


def is_bounded(joint: JointSpec) -> NDArray[np.bool_]:
    """Return which coordinates of a joint have a limit (nv,)."""
    return np.isfinite(joint.lower) | np.isfinite(joint.upper)


class _Sum:
    """Sum of the loads of a joint."""

    def __init__(self, joint: JointSpec) -> None:
        self.joint = joint
        self.drives: dict[str, None] = {}
        self.force, self.known, self.damping = np.zeros((3, len(joint.lower)))

    def add(
        self, drive: str, coordinate: int, force: float, damping: float, *, is_known: bool
    ) -> None:
        """Add a drive's force and damping on a coordinate, and whether its commands are known."""
        self.drives[drive] = None
        self.force[coordinate] += force
        self.known[coordinate] += force if is_known else 0.0
        self.damping[coordinate] += damping

    def bounded(self) -> DriveLoad:
        """Return the load within the effort limit of the joint, and without what nothing bounds."""
        effort = self.joint.effort_limit if self.joint.enforce_limits else None
        force, known, damping = self.force, self.known, self.damping
        if effort:  # a drive at its limit does not resist
            damping, force = np.where(force > effort, 0.0, damping), np.minimum(force, effort)
            known = np.minimum(known, effort)
        force = np.where(np.isfinite(force), force, 0.0)
        return DriveLoad(force, known, damping, tuple(self.drives))


def _coordinate_of(name: str, joints: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the name of a joint, if it is one of these, and the number of a coordinate."""
    if name in joints:
        return name, 0
    joint, _, coordinate = name.rpartition(".")
    names = find_joint(joints[joint].joint.type).v_names if joint in joints else ()
    return (joint, names.index(coordinate)) if coordinate in names else None


class _Drive:
    """Drive of joints: its largest forces at their limits."""

    def __init__(
        self,
        block: BlockSpec,
        places: Sequence[tuple[str, int] | None],
        joints: Mapping[str, _Sum],
        sources: Mapping[str, BlockSpec],
        duration: float,
    ) -> None:
        found = [None if place is None else (joints[place[0]].joint, place[1]) for place in places]
        self.n = len(places)
        self.lower = np.array([-np.inf if x is None else x[0].lower[x[1]] for x in found])
        self.upper = np.array([np.inf if x is None else x[0].upper[x[1]] for x in found])
        self.plugin: Any = None
        self.reads: list[str] = []
        self.commands: tuple[Array, Array] | None = None
        speeds = [np.inf if x is None else x[0].velocity_limit or np.inf for x in found]
        self.speed = np.array(speeds)
        self.block, self.sources, self.duration = block, sources, duration

    def load(self) -> tuple[Array, Array]:
        """Return its force [N or N·m], inf where nothing bounds it, and its damping, for each coordinate."""
        unknown = np.full(self.n, np.inf), np.zeros(self.n)
        try:
            if self._law("force", _READ) is None:
                return unknown
            with np.errstate(all="ignore"):
                return self._load()
        except Exception:  # noqa: BLE001, the author's code, which the compiler reports
            return unknown

    def tension(self) -> float:
        """Return the largest tension [N] of a drive along a path, inf where nothing bounds it."""
        try:
            law = self._law("tension", frozenset({"command", "t"}))
            if law is None:
                return np.inf
            ends = self.commands or (-SATURATING_COMMAND, SATURATING_COMMAND)
            with np.errstate(all="ignore"):
                found = [
                    law(
                        **{
                            x: float(np.ravel(end)[0]) if x == "command" else 0.0
                            for x in self.reads
                        }
                    )
                    for end in ends
                ]
            most = float(np.abs(np.array(found, float)).max())
        except Exception:  # noqa: BLE001, as in load
            return np.inf
        return most if most < BOUNDED_SHARE * SATURATING_COMMAND else np.inf

    def _law(self, method: str, known: AbstractSet[str]) -> Callable[..., Any] | None:
        """Build the plugin and return its method, with the commands noted; None if that reads more than is known."""
        block = self.block
        self.plugin = build(find_block("actuator", block.type), block.parameters, block.where)
        law: Callable[..., Any] = getattr(self.plugin, method)
        self.reads = list(inspect.signature(law).parameters)
        if not set(self.reads) <= known:
            return None
        self.commands = _commands(block, self.sources, self.duration)
        return law

    def _load(self) -> tuple[Array, Array]:
        is_known = self.commands is not None
        low, high = self.commands or (
            np.full(self.n, -SATURATING_COMMAND),
            np.full(self.n, SATURATING_COMMAND),
        )
        force, damping = np.zeros(self.n), np.full(self.n, np.inf)
        for limit, outward in ((self.upper, 1.0), (self.lower, -1.0)):
            q = np.where(np.isfinite(limit), limit, 0.0)
            for command in (low, high):
                pushed = self._force(command, q, 0.0)
                beyond = np.where(np.isfinite(limit), outward * pushed, 0.0)
                slope = (pushed - self._force(command, q, SLOPE_SPEED)) / SLOPE_SPEED
                damping = np.where(beyond > 0, np.minimum(damping, slope), damping)
                force = np.maximum(force, beyond)
        damping = np.where(np.isfinite(damping), np.maximum(damping, 0.0), 0.0)
        if is_known:
            return force, damping
        is_range = force < BOUNDED_SHARE * SATURATING_COMMAND
        return np.where(is_range, force, self._servo_force()), np.where(is_range, 0.0, damping)

    def _servo_force(self) -> Array:
        """Return its force as a servo without a range of forces, inf for a drive without one."""
        span = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, 1.0)
        command = span if "q" in self.reads else self.speed if "v" in self.reads else np.inf
        if not np.isfinite(command).all():
            return np.full(self.n, np.inf)
        zero = np.zeros(self.n)
        return np.abs(self._force(command, zero, 0.0) - self._force(zero, zero, 0.0))

    def _force(self, command: Array | float, q: Array, v: float) -> Array:
        """Return the force on each coordinate."""
        numbers = {"command": command, "q": q, "v": np.full(self.n, v), "t": np.zeros(self.n)}
        given = {key: numbers[key] for key in self.reads}
        if self.n == 1:
            given = {key: float(np.ravel(x)[0]) for key, x in given.items()}
        return np.broadcast_to(np.asarray(self.plugin.force(**given), float), self.n)


def _commands(
    block: BlockSpec, sources: Mapping[str, BlockSpec], duration: float
) -> tuple[Array, Array] | None:
    """Return the lowest and the highest command of a drive in a run, None if it is not that of a source."""
    if not block.inputs:
        return np.zeros(1), np.zeros(1)
    spec = sources.get(block.inputs[0])
    if spec is None:
        return None
    plugin: Any = build(find_block("signal", spec.type), spec.parameters, spec.where)
    reads = set(inspect.signature(plugin.output).parameters)
    if isinstance(plugin, Input) or not reads <= {"t"}:
        return None
    try:
        if isinstance(plugin, Table):
            rows = plugin.points()[1]
        else:
            instants = np.linspace(0.0, duration, INSTANTS if reads else 1).tolist()
            found = [plugin.output(**dict.fromkeys(reads, t)) for t in instants]
            rows = np.array([np.ravel(row) for row in found], float)
    except Exception:  # noqa: BLE001, as in _Drive.load
        return None
    return spec.scale * rows.min(axis=0), spec.scale * rows.max(axis=0)
