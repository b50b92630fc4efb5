"""Reader of force tables: forces between points and frames, along paths and on coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pysim.elements.force import SPRING, find_force, method_of
from pysim.errors import PysimError
from pysim.plugins.fields import fields_of
from pysim.scene.spec import ForceSpec, PathPart
from pysim.scene.toml.paths import check_parts, read_part
from pysim.scene.toml.plausibility import warn_of_gains
from pysim.scene.toml.plugin_keys import built_plugin, find_file, values_of
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pysim.scene.toml.constraints import ConstraintReader
    from pysim.scene.toml.records.constraint_tables import Force
    from pysim.scene.toml.source import Steps

_OF_FRAMES = ("a", "b", "at_a", "at_b")
_FITTING = {"frames": _OF_FRAMES, "path": ("path", "multiplicity"), "coordinates": ("coordinates",)}
_EXAMPLE = {
    "path": 'path = [{ body = "world", point = [0, 0, 1] }, { body = "…" }]',
    "coordinates": 'coordinates = ["…"]',
}


@dataclass
class ForceReader:
    """Reader of force tables; names and bodies are checked as those of loops are."""

    ties: ConstraintReader
    package_dirs: Sequence[Path] = ()  # in which the scene may name files of data

    def forces(self, tables: Sequence[Force]) -> tuple[ForceSpec, ...]:
        """Return the specifications of the force tables."""
        read = [self._force(table, ("force", k)) for k, table in enumerate(tables)]
        return tuple(force for force in read if force is not None)

    def _force(self, table: Force, path: Steps) -> ForceSpec | None:
        ties = self.ties
        try:
            plugin = find_force(table.type)
        except PysimError as error:
            ties.problems.add((*path, "type"), error.problem)
            return None
        ties.take_name(table.name, path)
        acts = "frames" if plugin.between_points else method_of(plugin).acts
        self._refuse_keys(table, acts, path)
        if acts == "frames":
            ties.check_bodies(table, path)
        elif not getattr(table, acts):
            problem = f"is missing; a {table.type} acts on it: {_EXAMPLE[acts]}"
            ties.problems.add((*path, acts), problem)
        self._check_path(table, path)
        if plugin.between_points:
            ends = ((table.a, table.at_a.xyz), (table.b, table.at_b.xyz))
            return ForceSpec(
                name=table.name,
                type=table.type,
                path=tuple(PathPart(ties.body(own), ties.point(own, at)) for own, at in ends),
                parameters=self._parameters(table, path),
                where=ties.problems.source.where(path),
            )
        return ForceSpec(
            name=table.name,
            type=table.type,
            a=ties.body(table.a),
            b=ties.body(table.b),
            at_a=ties.pose(table.a) @ table.at_a.matrix,
            at_b=ties.pose(table.b) @ table.at_b.matrix,
            path=tuple(
                read_part(p, ties.body(p.body), ties.pose(p.body), table.multiplicity)
                for p in table.path
            ),
            coordinates=tuple(table.coordinates),
            parameters=self._parameters(table, path),
            where=ties.problems.source.where(path),
        )

    def _refuse_keys(self, table: Force, acts: str, path: Steps) -> None:
        for others in (keys for kind, keys in _FITTING.items() if kind != acts):
            for name in [name for name in others if name in table.model_fields_set]:
                problem = f"a {table.type} has no {name}; remove it"
                self.ties.problems.add((*path, name), problem, of_key=True)

    def _check_path(self, table: Force, path: Steps) -> None:
        check_parts(table.path, path, self.ties.problems)
        bodies = {self.ties.body(point.body) for point in table.path}
        moves = any(point.moves for point in table.path)
        if len(table.path) > 1 and len(bodies) == 1 and not moves:
            body = next(iter(bodies))
            what = "the world" if body == WORLD else f"body {body!r}"
            problem = f"has {what} alone on its path; name two bodies that move apart"
            self.ties.problems.add(path, problem)

    def _parameters(self, table: Force, path: Steps) -> Mapping[str, Any]:
        """Return the plugin's keys with their types checked."""
        plugin: Any = find_force(table.type)
        given = dict(table.parameters)
        if table.type == SPRING:
            given = {name: getattr(table, name) for name in fields_of(plugin)}
        elif not find_file(given, path, self.ties.problems, self.package_dirs):
            return {}  # the plugin's checks might read it
        force = built_plugin(plugin, given, path, self.ties.problems, table.parameters)
        if force is None:
            return {}
        warn_of_gains(force, path, self.ties.problems)
        return values_of(force)
