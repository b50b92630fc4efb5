"""Loops of a scene: which keys a type takes, and between which bodies it may stand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pysim.errors import JointError, did_you_mean
from pysim.joints import find_joint
from pysim.joints.closing import closing_joint, closing_types, find_closing
from pysim.joints.plugin import fields_of
from pysim.scene.keys import SHORTEST_AXIS
from pysim.scene.plugins import check_parameters
from pysim.scene.spec import LoopSpec
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from pysim.joints import JointType
    from pysim.scene.loop_tables import Loop
    from pysim.scene.source import Steps
    from pysim.scene.toml_joints import JointReader
    from pysim.scene.wording import Problems

_ALWAYS = {"name", "type", "a", "b", "at_a", "at_b", "parameters"}


@dataclass
class LoopReader:
    """Turns loop tables into specifications; what is wrong goes to `problems`."""

    problems: Problems
    joints: JointReader
    bodies: Collection[str]
    taken: Collection[str]  # names of joints

    def read_all(self, tables: list[Loop]) -> tuple[LoopSpec, ...]:
        """Return what the tables say."""
        seen: dict[str, Steps] = {}
        specs = []
        for k, table in enumerate(tables):
            path: Steps = ("loop", k)
            if table.name in seen or table.name in self.taken:
                first = self.problems.source.where(seen[table.name]) if table.name in seen else ""
                by = f"by {first}" if first else "by a joint"
                self.problems.add((*path, "name"), f"{table.name!r} is taken {by}; rename one")
            seen.setdefault(table.name, path)
            spec = self._read(table, path)
            if spec is not None:
                specs.append(spec)
        return tuple(specs)

    def _read(self, table: Loop, path: Steps) -> LoopSpec | None:
        try:
            kind = find_closing(table.type)
        except JointError:
            problem = f"unknown loop type {table.type!r}"
            hint = did_you_mean(table.type, closing_types())
            self.problems.add((*path, "type"), problem + hint)
            return None
        self._check_bodies(table, path)
        self._refuse_keys(table, kind, path)
        return LoopSpec(
            name=table.name,
            type=kind.name,
            a=table.a,
            b=table.b,
            at_a=table.at_a.matrix,
            at_b=table.at_b.matrix,
            axis=self._axis(table, path),
            length=table.length or 0.0,
            parameters=self._parameters(table, kind, path),
            start_q=self._start(table, kind, path),
            where=self.problems.source.where(path),
        )

    def _check_bodies(self, table: Loop, path: Steps) -> None:
        for role, name in (("a", table.a), ("b", table.b)):
            if name != WORLD and name not in self.bodies:
                known = sorted({WORLD, *self.bodies})
                problem = f"unknown body {name!r}{did_you_mean(name, known)}"
                self.problems.add((*path, role), problem)
        if table.a == table.b:
            what = "the world" if table.a == WORLD else f"body {table.a!r}"
            self.problems.add(path, f"has {what} on both sides; name two bodies that move apart")

    def _refuse_keys(self, table: Loop, kind: JointType, path: Steps) -> None:
        own = {key.name for key in kind.keys}
        if find_joint(closing_joint(kind)).nv == 6:
            problem = f"a {kind.name} joint holds nothing; remove the loop or take another type"
            self.problems.add((*path, "type"), problem)
        if kind.plugin is None and kind.nq:
            own.add("start")
        for name in [name for name in type(table).model_fields if name in table.model_fields_set]:
            if name not in _ALWAYS | own and not (name == "start" and kind.plugin is not None):
                problem = f"a {kind.name} loop has no {name}; remove it"
                if name == "axis" and kind.nv:
                    problem = f"a {kind.name} loop has no axis; turn the frames with at_a and at_b"
                self.problems.add((*path, name), problem, of_key=True)
        for key in kind.keys:
            if key.name in {"pitch", "length"} and getattr(table, key.name, 0.0) is None:
                problem = f"is missing; add it: {key.doc} [{key.unit}]"
                self.problems.add((*path, key.name), problem)

    def _axis(self, table: Loop, path: Steps) -> tuple[float, float, float]:
        if table.axis is None:
            return 0.0, 0.0, 1.0
        length = math.hypot(*table.axis)
        if length < SHORTEST_AXIS:
            problem = f"has no direction, got {table.axis}; give it a length, as in [0, 0, 1]"
            self.problems.add((*path, "axis"), problem)
            return 0.0, 0.0, 1.0
        x, y, z = (value / length for value in table.axis)
        return x, y, z

    def _parameters(self, table: Loop, kind: JointType, path: Steps) -> dict[str, Any]:
        if kind.plugin is not None:
            return check_parameters(kind.name, table.parameters, path, self.problems)
        return {} if table.pitch is None else {"pitch": table.pitch}

    def _start(self, table: Loop, kind: JointType, path: Steps) -> NDArray[Any] | None:
        """Where the joint's coordinates begin: the table's word, the plugin's, or None for neutral."""
        if table.start is not None:
            return self.joints.q(table.start, kind, (*path, "start"))
        plugin = kind.plugin
        keys = self._parameters(table, kind, path)
        if plugin is None or set(keys) != set(fields_of(plugin)):
            return None
        return plugin(**keys).neutral()
