"""Reader of a scene's joints: the keys of each type, and the count of numbers in each."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.restitution import dissipation_of
from pysim.errors import JointError, PysimWarning
from pysim.joints import find_joint
from pysim.joints.coordinate_ranges import limits_of
from pysim.plugins.fields import fields_of
from pysim.scene.mimic import leading
from pysim.scene.spec import PER_COORDINATE, Mimic, MotionSpec, with_fields
from pysim.scene.toml.plugin_keys import PARAMETERS, check_parameters
from pysim.scene.toml.records.keys import SHORTEST_AXIS
from pysim.scene.toml.records.tables import Passive
from pysim.scene.urdf.joints import plain_joint
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pysim.joints import JointType
    from pysim.scene.spec import JointSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.keys import Configuration
    from pysim.scene.toml.records.tables import Joint, Limits, Motion
    from pysim.scene.toml.source import Steps

_ALWAYS = {"name", "type", "parent", "child", "at"}
_PER_COORDINATE = [name for name in PER_COORDINATE if name in Passive.model_fields]
COMPLETED_KEYS = frozenset({*Passive.model_fields, "start"})  # see `JointReader.completed`


@dataclass
class JointReader:
    """Reader of joint tables, which reports to `problems`."""

    problems: Problems

    def read(self, table: Joint, path: Steps) -> JointSpec | None:
        """Return the specification of the table at `path`, None if its type is unknown."""
        try:
            kind = find_joint(table.type)
        except JointError as error:
            problem = error.problem if error.where == "joint" else str(error)
            self.problems.add((*path, "type"), problem)
            return None
        self._refuse_keys(table, kind, path)
        joint = self.completed(self.plain(table, path), table, path)
        if table.mimic is not None and kind.nq == 1:
            joint = with_fields(joint, mimic=Mimic(**table.mimic.spec_fields(Mimic)))
        return joint

    def plain(self, table: Joint, path: Steps) -> JointSpec:
        """Return the joint of a table without its passive forces and start."""
        kind, where = find_joint(table.type), self.problems.source.where(path)
        joint = plain_joint(
            table.name, table.type, table.parent, table.child, table.at.matrix, where
        )
        joint = with_fields(joint, axis=unit_axis(table.axis, (*path, "axis"), self.problems))
        if kind.plugin is not None:
            own = check_parameters(kind.name, table.parameters, path, self.problems)
            return _as_its_author_starts(with_fields(joint, parameters=own), kind)
        if "pitch" in (key.name for key in kind.keys):
            if table.pitch is None:
                problem = "is missing; give the travel along the axis per radian [m/rad]"
                self.problems.add((*path, "pitch"), problem)
            else:
                return with_fields(joint, parameters={"pitch": table.pitch})
        return joint

    def completed(self, joint: JointSpec, table: Joint, path: Steps) -> JointSpec:
        """Return the joint with a table's passive forces and start, which no other of its fields depends on."""
        joint = self.with_passive(joint, table, path)
        if table.start is None:
            return joint
        kind = find_joint(joint.type)
        q = self.q(table.start, kind, (*path, "start"))
        joint = with_fields(joint, start_q=q, given_start=given_start(table.start))
        return self.with_v(joint, table.start.v, (*path, "start", "v"))

    def _refuse_keys(self, table: Joint, kind: JointType, path: Steps) -> None:
        """Reject keys that the type does not have."""
        own = {key.name for key in kind.keys} | ({PARAMETERS} if kind.plugin is not None else set())
        for name in [name for name in type(table).model_fields if name in table.model_fields_set]:
            if name in _ALWAYS | own:
                continue
            if name in {"axis", "pitch", PARAMETERS} or kind.nv == 0:
                problem = f"a {kind.name} joint has no {name}; remove it"
                if name == "axis" and kind.nv:
                    problem = f"a {kind.name} joint has no axis; turn the joint frame with at"
                self.problems.add((*path, name), problem, of_key=True)
            elif name == "mimic" and kind.nq != 1:
                problem = (
                    f"a {kind.name} joint cannot follow another; only joints of one coordinate can"
                )
                self.problems.add((*path, name), problem, of_key=True)
            elif name == "start" and table.mimic is not None:
                problem = f"follows joint {table.mimic.joint!r}; give the start to that joint"
                self.problems.add((*path, name), problem, of_key=True)

    def with_passive(self, joint: JointSpec, table: Passive, path: Steps) -> JointSpec:
        """Return the joint with the table's armature, springs, friction and limits."""
        kind = find_joint(joint.type)
        changes: dict[str, Any] = {}
        if table.friction is not None:
            changes["friction_width"] = np.full(kind.nv, np.nan)  # chosen again
        for name in _PER_COORDINATE:
            given = getattr(table, name)
            if given is not None and kind.nv:
                changes[name] = self.spread(given, kind, (*path, name))
        for name in ("effort_limit", "velocity_limit", "velocity_band", "enforce_limits"):
            if getattr(table, name) is not None:
                changes[name] = getattr(table, name)
        if table.rest is not None and kind.nv:
            changes["rest"] = self.q(table.rest, kind, (*path, "rest"))
        if table.motion and kind.nv:
            changes["motions"] = self._motions(table.motion, kind, (*path, "motion"))
        if table.limits is not None and kind.nv:
            changes |= self._limits(joint, table.limits, kind, (*path, "limits"))
        changed = with_fields(joint, **changes)
        self._refuse_parts(changed, table, path)
        return changed

    def _motions(
        self, tables: Sequence[Motion], kind: JointType, path: Steps
    ) -> tuple[MotionSpec, ...]:
        """Return the prescribed motions of a joint's coordinates."""
        plain = [kind.q_names[at] for at in kind.real_coordinates[0]]
        motions: dict[str, MotionSpec] = {}
        for table in tables:
            name = table.coordinate
            if name is None and kind.nq == 1:
                name = plain[0]
            if not plain:
                problem = f"a {kind.name} joint has no coordinate that a signal can give"
                remedy = "build it from joints that turn about one axis or move along one"
                self.problems.add(path, f"{problem}; {remedy}", of_key=True)
            elif name is None:
                problem = f"a {kind.name} joint has several coordinates"
                example = f'{{ coordinate = "{plain[0]}", signal = "{table.signal}" }}'
                self.problems.add(path, f"{problem}; name one of them, as in {example}")
            elif name not in plain:
                problem = f"a {kind.name} joint has no coordinate {name!r} that a signal can give"
                self.problems.add(path, f"{problem}; choose among {', '.join(plain)}")
            elif name in motions:
                problem = f"the coordinate {name!r} has two motions; keep one of them"
                self.problems.add(path, problem)
            else:
                motions[name] = MotionSpec(table.signal, None if kind.nq == 1 else name)
        return tuple(motions.values())

    def _refuse_parts(self, joint: JointSpec, table: Passive, path: Steps) -> None:
        """Reject what says how a force is where there is none: it would be dropped."""
        for name, whole in (("rest", "stiffness"), ("friction_width", "friction")):
            alone = getattr(table, name) is not None and getattr(table, whole) is None
            if alone and not np.any(getattr(joint, whole)):
                problem = f"has no effect without {whole}; give {whole}, or leave {name} out"
                self.problems.add((*path, name), problem, of_key=True)

    def spread(self, given: list[float], kind: JointType, path: Steps) -> Array:
        """Return a number for every coordinate of v."""
        if len(given) == 1:
            return np.array(given * kind.nv)
        if len(given) != kind.nv:
            what = "1 number" if kind.nv == 1 else f"1 or {kind.nv} numbers"
            problem = f"must have {what} for a {kind.name} joint, got {len(given)}"
            self.problems.add(path, problem)
            return np.zeros(kind.nv)
        return np.array(given)

    def _limits(
        self, joint: JointSpec, limits: Limits, kind: JointType, path: Steps
    ) -> dict[str, Any]:
        """Apply limits; bounds that the table leaves out are those of the joint's author or of the URDF."""
        if not kind.is_real:
            problem = f"a {kind.name} joint has no limits; its coordinates are not angles"
            self.problems.add(path, problem, of_key=True)
            return {}
        lower, upper = joint.lower, joint.upper
        if limits.lower:
            lower = self.spread(limits.lower, kind, (*path, "lower"))
        if limits.upper:
            upper = self.spread(limits.upper, kind, (*path, "upper"))
        given = limits.lower or limits.upper
        if not given and not np.isfinite([lower, upper]).any():
            problem = "has no bound; give lower or upper, or leave limits out"
            self.problems.add(path, problem, of_key=True)
        for name, unit, low, high in zip(kind.q_names, kind.q_units, lower, upper, strict=True):
            if not low < high:
                of = f" of {name}" if kind.nv > 1 else ""
                problem = f"lower{of} {low:g} must be below upper {high:g} [{unit}]"
                self.problems.add(path, problem)
        unsaid = np.full(kind.nv, np.nan)
        changes: dict[str, Any] = {"lower": lower, "upper": upper}
        changes |= {"stop_stiffness": unsaid, "stop_damping": unsaid}
        if limits.stiffness is not None:
            changes["stop_stiffness"] = self.spread(limits.stiffness, kind, (*path, "stiffness"))
        if limits.damping is not None:
            changes["stop_damping"] = self.spread(limits.damping, kind, (*path, "damping"))
        changes["stop_dissipation"] = self._dissipation(limits, kind, path)
        return changes

    def _dissipation(self, limits: Limits, kind: JointType, path: Steps) -> Array:
        """Return the dissipations of the stops, -1 for those with a damper."""
        given = [
            n for n in ("damping", "dissipation", "restitution") if getattr(limits, n) is not None
        ]
        if len(given) > 1:
            problem = f"has {given[0]} and {given[1]}; give one of the two"
            self.problems.add((*path, given[1]), problem)
        none = np.full(kind.nv, -1.0)
        if limits.dissipation is not None:
            return np.asarray(self.spread(limits.dissipation, kind, (*path, "dissipation")), float)
        if limits.restitution is None:
            return none
        if limits.restitution.value == 0:
            problem = "value 0 is that of a damper; give damping in place of restitution"
            self.problems.add((*path, "restitution"), problem)
            return none
        d = dissipation_of(limits.restitution.value, limits.restitution.at)
        return np.full(kind.nv, d)

    def with_v(self, joint: JointSpec, given: list[float] | None, path: Steps) -> JointSpec:
        """Return the joint with its start velocity."""
        if given is None:
            return joint
        kind = find_joint(joint.type)
        if len(given) != kind.nv:
            self.problems.add(path, _expected(kind, kind.v_names, kind.v_units, len(given)))
            return joint
        return with_fields(joint, start_v=np.array(given))

    def q(self, table: Configuration, kind: JointType, path: Steps) -> Array:
        """Return the coordinates of a table."""
        quaternion = table.quaternion
        if table.q is not None:
            if table.xyz is not None or quaternion is not None:
                self.problems.add(path, "has q and a pose; give one of the two")
                return np.array(table.q)
            return self._coordinates(table.q, kind, (*path, "q"))
        q = np.array(kind.neutral)
        if len(kind.quaternions) == 1:
            at = kind.quaternions[0]
            q[at : at + 4] = quaternion or (0.0, 0.0, 0.0, 1.0)
        elif quaternion is not None:
            self.problems.add(path, f"a {kind.name} joint takes q, not a rotation")
        if table.xyz is not None and kind.name in {"free", "translation"}:
            q[:3] = table.xyz
        elif table.xyz is not None:
            self.problems.add((*path, "xyz"), f"a {kind.name} joint takes no xyz", of_key=True)
        return q

    def _coordinates(self, given: list[float], kind: JointType, path: Steps) -> Array:
        q = np.array(given)
        if len(given) != kind.nq:
            problem = _expected(kind, kind.q_names, kind.q_units, len(given)) + _as_pose(
                given, kind
            )
            self.problems.add(path, problem)
            return q
        for at in kind.quaternions:
            norm = float(np.linalg.norm(q[at : at + 4]))
            if abs(norm - 1) > 1e-6:
                problem = f"its quaternion (x, y, z, w) must have norm 1, got {norm:.7g}"
                self.problems.add(path, problem)
            else:
                q[at : at + 4] /= norm
                if q[at] in (1.0, -1.0):
                    self._warn_of_order(kind, at, path)
        return q

    def _warn_of_order(self, kind: JointType, at: int, path: Steps) -> None:
        """Warn of a quaternion that is half a turn, and no turn in the order of other programs."""
        place = self.problems.source.where(path)
        meant = "write 0, 0, 0, 1"
        if len(kind.quaternions) == 1:
            key = (
                "{ xyz = [x, y, z], quat_wxyz = [1, 0, 0, 0] }"
                if at
                else "{ quat_wxyz = [1, 0, 0, 0] }"
            )
            meant = f"write {key}, or quat_xyzw in it for the half turn"
        text = (
            f"the quaternion (x, y, z, w) = (1, 0, 0, 0) is half a turn about x; if it begins with w, as in MuJoCo,"
            f" {meant}"
        )
        warnings.warn(f"{place}: {text}", PysimWarning, stacklevel=2)


def given_start(table: Configuration) -> frozenset[str]:
    """Return which of "q" and "v" a start gives."""
    given = {"v"} if getattr(table, "v", None) is not None else set()
    return frozenset(given | ({"q"} if table.model_fields_set - {"v"} else set()))


def _as_pose(given: list[float], kind: JointType) -> str:
    """Return the pose that 3 or 6 numbers of a free joint were probably meant to be, as its author writes it."""
    if kind.name != "free" or len(given) not in (3, 6):
        return ""
    numbers = [f"{number:g}" for number in given]
    turned = f", rpy = [{', '.join(numbers[3:])}]" if len(given) == 6 else ""
    return f"; write {{ xyz = [{', '.join(numbers[:3])}]{turned} }}"


def _as_its_author_starts(joint: JointSpec, kind: JointType) -> JointSpec:
    """Return a plugin's `start` and `limits`, which the scene's keys replace."""
    if kind.plugin is None or set(joint.parameters) != set(fields_of(kind.plugin)):
        return joint
    plugin = kind.plugin(**joint.parameters)
    lower, upper = joint.lower.copy(), joint.upper.copy()
    limits = limits_of(plugin)
    for part, _, at in plugin.coordinates.offsets():
        if part.name in limits:
            lower[at], upper[at] = limits[part.name]
    return with_fields(joint, start_q=plugin.neutral(), lower=lower, upper=upper)


def _expected(kind: JointType, names: tuple[str, ...], units: tuple[str, ...], got: int) -> str:
    coordinates = ", ".join(f"{n} [{u}]" for n, u in zip(names, units, strict=True))
    count = "1 number" if len(names) == 1 else f"{len(names) or 'no'} numbers"
    colon = f": {coordinates}" if names else ""
    return f"must have {count} for a {kind.name} joint{colon}; got {got}"


def resolve_mimics(
    joints: Iterable[JointSpec], paths: Mapping[str, Steps], problems: Problems
) -> list[JointSpec]:
    """Return the joints with chains of mimic joints resolved."""
    joints = list(joints)
    by_name = {joint.name: joint for joint in joints}
    return [_resolve_mimic(j, by_name, paths.get(j.name), problems) for j in joints]


def _resolve_mimic(
    joint: JointSpec, by_name: Mapping[str, JointSpec], path: Steps | None, problems: Problems
) -> JointSpec:
    if path is None:
        return joint
    try:
        return with_fields(joint, mimic=leading(joint, by_name))
    except JointError as error:
        problems.add((*path, "mimic", "joint"), error.problem)
        return with_fields(joint, mimic=None)


def unit_axis(
    axis: Sequence[float] | None, path: Steps, problems: Problems
) -> tuple[float, float, float]:
    """Return the direction of a table's axis, z by default; errors are collected in `problems`."""
    if axis is None:
        return 0.0, 0.0, 1.0
    length = math.hypot(*axis)
    if length < SHORTEST_AXIS:
        problem = f"has no direction, got {axis}; give it a length, as in [0, 0, 1]"
        problems.add(path, problem)
        return 0.0, 0.0, 1.0
    x, y, z = (value / length for value in axis)
    return x, y, z
