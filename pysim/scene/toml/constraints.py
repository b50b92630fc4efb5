"""Reader of loops and couplings: the keys of each type, and the bodies and coordinates that it may name."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError, PysimError, PysimWarning, did_you_mean
from pysim.joints import find_joint
from pysim.joints.coordinate_ranges import limits_of
from pysim.joints.loop_joints import find_loop_type, joint_of_loop_type, loop_types
from pysim.joints.relation import arguments_of, find_relation
from pysim.plugins.fields import fields_of
from pysim.scene.spec import CouplingSpec, ForceSpec, LoopSpec
from pysim.scene.toml.gears import gear_ratios
from pysim.scene.toml.joints import unit_axis
from pysim.scene.toml.plugin_keys import PARAMETERS, check_parameters
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.joints import JointType
    from pysim.scene.spec import FrameSpec, JointSpec
    from pysim.scene.toml.joints import JointReader
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.constraint_tables import (
        Coupling,
        Force,
        FrameMotion,
        Loop,
    )
    from pysim.scene.toml.source import Steps

_ALWAYS = {"name", "type", "a", "b", "at_a", "at_b"}
_SPRING = ("stiffness", "damping")
# places of the directions of a joint's coordinates among those of a bushing: 0 for positions, 3 for rotations
_SPRUNG = {
    "ball": (3,),
    "revolute": (3,),
    "prismatic": (0,),
    "cylindrical": (0, 3),
    "translation": (0,),
}


@dataclass
class ConstraintReader:
    """Reader of loop and coupling tables, which reports to `problems`."""

    problems: Problems
    joints: JointReader
    joint_specs: Mapping[str, JointSpec]
    frames: Mapping[str, FrameSpec]
    springs: list[ForceSpec] = field(default_factory=list)  # of loops
    _places_of_names: dict[str, str] = field(default_factory=dict)

    def loops(self, tables: Sequence[Loop]) -> tuple[LoopSpec, ...]:
        """Return the specifications of the loop tables."""
        read = [self._loop(table, ("loop", k)) for k, table in enumerate(tables)]
        return tuple(loop for loop in read if loop is not None)

    def motions(self, tables: Sequence[FrameMotion]) -> tuple[LoopSpec, ...]:
        """Return the specifications of driven frames; signals are looked up when the scene is compiled."""
        return tuple(self._motion(table, ("motion", k)) for k, table in enumerate(tables))

    def _motion(self, table: FrameMotion, path: Steps) -> LoopSpec:
        name = table.name or f"motion of {table.frame}"
        self.take_name(name, path)
        return LoopSpec(
            name=name,
            type="weld" if table.rotation else "ball",
            a=self.body(table.relative_to),
            b=self.body(table.frame),
            at_a=self.pose(table.relative_to) @ table.relative_at.matrix,
            at_b=self.pose(table.frame) @ table.at.matrix,
            where=self.problems.source.where(path),
            position=tuple(table.signal),
            rotation=tuple(table.rotation),
        )

    def couplings(self, tables: Sequence[Coupling]) -> tuple[CouplingSpec, ...]:
        """Return the specifications of the coupling tables; coordinates are looked up when the model is compiled."""
        return tuple(self._coupling(table, ("coupling", k)) for k, table in enumerate(tables))

    def _coupling(self, table: Coupling, path: Steps) -> CouplingSpec:
        self.take_name(table.name, path)
        ratios = table.ratios
        if not table.teeth and (table.carrier is not None or table.module is not None):
            key = "carrier" if table.carrier is not None else "module"
            self.problems.add(
                (*path, key), "is a key of gears; add teeth = { planet = 18, sun = 24 }"
            )
        if table.teeth and (ratios or table.function is not None):
            problem = "are given together with ratios or a function; write two couplings"
            self.problems.add((*path, "teeth"), problem)
        elif table.teeth:
            try:
                ratios = ratios | gear_ratios(table, self.joint_specs)
            except PysimError as error:
                self.problems.add((*path, error.where), error.problem)
        if table.joint in {*table.ratios, *table.inputs}:
            self.problems.add(path, f"couples {table.joint!r} to itself; name another coordinate")
        holds = "offset" in table.model_fields_set  # the coordinate at that value
        if not (table.ratios or table.teeth) and table.function is None and not holds:
            problem = "couples nothing; give ratios, such as { pinion = -0.5 }, teeth, a function or an offset"
            self.problems.add(path, problem)
        if table.function is not None:
            self._check_function(table, path)
        return CouplingSpec(
            table.name,
            {table.joint: 1.0} | {name: -ratio for name, ratio in ratios.items()},
            table.offset,
            table.function,
            tuple(table.inputs),
            self.problems.source.where(path),
        )

    def _check_function(self, table: Coupling, path: Steps) -> None:
        try:
            names = arguments_of(find_relation(str(table.function)))
        except JointError as error:
            self.problems.add((*path, "function"), error.problem)
            return
        if len(names) != len(table.inputs):
            problem = (
                f"{table.function!r} takes {len(names)} coordinates ({', '.join(names)}), got "
                f"{len(table.inputs)}; name one input for each"
            )
            self.problems.add((*path, "inputs"), problem)

    def take_name(self, name: str, path: Steps) -> None:
        """Report a name that is taken."""
        if name in self._places_of_names or name in self.joint_specs:
            by = self._places_of_names.get(name, "a joint")
            self.problems.add((*path, "name"), f"{name!r} is taken by {by}; rename one")
        self._places_of_names.setdefault(name, self.problems.source.where(path))

    def _loop(self, table: Loop, path: Steps) -> LoopSpec | None:
        try:
            kind = find_loop_type(table.type)
        except JointError:
            problem = f"unknown loop type {table.type!r}"
            hint = did_you_mean(table.type, loop_types())
            self.problems.add((*path, "type"), problem + hint)
            return None
        self.take_name(table.name, path)
        if self._refuse_own_keys(kind, path):
            return None
        self.check_bodies(table, path)
        self._refuse_keys(table, kind, path)
        keys = self._parameters(table, kind, path)
        self._warn_of_what_is_left_out(kind, keys, path)
        loop = LoopSpec(
            name=table.name,
            type=kind.name,
            a=self.body(table.a),
            b=self.body(table.b),
            at_a=self.pose(table.a) @ table.at_a.matrix,
            at_b=self.pose(table.b) @ table.at_b.matrix,
            axis=unit_axis(table.axis, (*path, "axis"), self.problems),
            length=table.length or 0.0,
            radius=table.radius or 0.0,
            parameters=keys,
            start_q=self._start(table, kind, keys, path),
            where=self.problems.source.where(path),
        )
        self._add_spring(loop, table, kind, path)
        return loop

    def _add_spring(self, loop: LoopSpec, table: Loop, kind: JointType, path: Steps) -> None:
        """Add the spring and damper of a loop's joint, a bushing between its frames."""
        keys = [name for name in _SPRING if getattr(table, name) is not None]
        if not keys:
            return
        if kind.name not in _SPRUNG:
            problem = f"a {kind.name} loop has no {keys[0]}; remove it, or add a [[force]] of type bushing"
            self.problems.add((*path, keys[0]), problem, of_key=True)
            return
        directions = _directions(kind, np.array(loop.axis, float))
        matrices = {
            name: (
                (directions.T * self.joints.spread(getattr(table, name), kind, (*path, name)))
                @ directions
            ).tolist()
            for name in keys
        }
        parameters = {"stiffness": np.zeros((6, 6)).tolist()} | matrices
        self.springs.append(
            ForceSpec(
                f"{loop.name} spring",
                "bushing",
                loop.a,
                loop.b,
                loop.at_a,
                loop.at_b,
                parameters=parameters,
                where=loop.where,
            )
        )

    def _warn_of_what_is_left_out(self, kind: JointType, keys: dict[str, Any], path: Steps) -> None:
        """Warn of a plugin's force and limits, which have no effect in a loop."""
        parts = ["force"] if kind.has_force else []
        plugin = kind.plugin
        if plugin is not None and set(keys) == set(fields_of(plugin)) and limits_of(plugin(**keys)):
            parts.append("limits")
        for part in parts:
            verb = "act" if part == "limits" else "acts"
            text = (
                f"the {part} of a {kind.name} joint {verb} on a [[joint]] only; this loop constrains frame B to its "
                f"motion without the {part}"
            )
            place = self.problems.source.where(path)
            warnings.warn(f"{place}: {text}", PysimWarning, stacklevel=2)

    def check_bodies(self, table: Loop | Force, path: Steps) -> None:
        """Report bodies a and b that are the same."""
        if self.body(table.a) == self.body(table.b):
            body = self.body(table.a)
            what = "the world" if body == WORLD else f"body {body!r}"
            self.problems.add(path, f"has {what} on both sides; name two bodies that move apart")

    def body(self, name: str) -> str:
        """Return the body of a name: itself, or the body that carries the frame."""
        return self.frames[name].body if name in self.frames else name

    def pose(self, name: str) -> Array:
        """Return the pose (4, 4) of a frame in the body that carries it."""
        return self.frames[name].pose if name in self.frames else np.eye(4)

    def point(self, name: str, at: Sequence[float]) -> Array:
        """Return a point of a body or frame in the body (3,) [m]."""
        X = self.pose(name)
        return np.asarray(X[:3, :3] @ at + X[:3, 3])

    def _refuse_keys(self, table: Loop, kind: JointType, path: Steps) -> None:
        own = {key.name for key in kind.keys} | ({PARAMETERS} if kind.plugin is not None else set())
        if find_joint(joint_of_loop_type(kind)).nv == 6:
            problem = f"a {kind.name} joint constrains nothing; remove the loop or use another type"
            self.problems.add((*path, "type"), problem)
        if kind.plugin is None and kind.nq:
            own.add("start")
        for name in [name for name in type(table).model_fields if name in table.model_fields_set]:
            if name not in _ALWAYS.union(own, _SPRING) and not (
                name == "start" and kind.plugin is not None
            ):
                problem = f"a {kind.name} loop has no {name}; remove it"
                if name == "axis" and kind.nv:
                    problem = f"a {kind.name} loop has no axis; turn the frames with at_a and at_b"
                self.problems.add((*path, name), problem, of_key=True)
        for key in kind.keys if kind.plugin is None else ():
            if key.name in {"pitch", "length", "radius"} and getattr(table, key.name, 0.0) is None:
                problem = f"is missing; add it: {key.doc} [{key.unit}]"
                self.problems.add((*path, key.name), problem)

    def _refuse_own_keys(self, kind: JointType, path: Steps) -> bool:
        """Reject a plugin with fields that every loop has, whose keys say one thing or the other; True where it was."""
        clashing = sorted(_ALWAYS & set(fields_of(kind.plugin))) if kind.plugin else []
        names = " and ".join(map(repr, clashing))
        if len(clashing) == 1:
            problem = f"its plugin has a field {names}, which here is the loop's own key; rename the field"
        else:
            problem = f"its plugin has the fields {names}, which here are the loop's own keys; rename the fields"
        if clashing:
            self.problems.add((*path, "type"), f"{problem} to close loops")
        return bool(clashing)

    def _parameters(self, table: Loop, kind: JointType, path: Steps) -> dict[str, Any]:
        if kind.plugin is not None:
            return check_parameters(kind.name, table.parameters, path, self.problems)
        return {} if table.pitch is None else {"pitch": table.pitch}

    def _start(
        self, table: Loop, kind: JointType, keys: dict[str, Any], path: Steps
    ) -> NDArray[Any] | None:
        """Return the initial coordinates of the joint: those of the table or the plugin, None for neutral ones."""
        if table.start is not None:
            return self.joints.q(table.start, kind, (*path, "start"))
        plugin = kind.plugin
        if plugin is None or set(keys) != set(fields_of(plugin)):
            return None
        return plugin(**keys).neutral()


def _directions(kind: JointType, axis: Array) -> Array:
    """Return the directions (nv, 6) of a joint's coordinates among positions and rotations."""
    found = []
    for first in _SPRUNG[kind.name]:
        along = axis[None] if kind.name not in {"ball", "translation"} else np.eye(3)
        found.append(np.pad(along, ((0, 0), (first, 3 - first))))
    return np.concatenate(found)
