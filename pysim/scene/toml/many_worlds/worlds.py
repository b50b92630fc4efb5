"""Specifications of the worlds of one scene file.

A world whose overrides differ from those of the first world in numbers alone shares everything with it that these
numbers do not affect: its other tables are neither copied nor checked again. A world that differs in anything else, in
a number of another table, or in which a problem is found, is read in full.
"""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from pysim.errors import PysimError
from pysim.inertia import is_physical
from pysim.scene.attachment import Parts, on_bodies
from pysim.scene.drive_loads import drive_loads, same_loads
from pysim.scene.spec import with_fields
from pysim.scene.stop_defaults import with_stops
from pysim.scene.stop_forces import has_dissipation
from pysim.scene.toml.bodies import MASS_KEYS, spreads_mass
from pysim.scene.toml.contacts import ContactReader
from pysim.scene.toml.events import mark_released, read_events
from pysim.scene.toml.expressions import ExpressionError
from pysim.scene.toml.forces import ForceReader
from pysim.scene.toml.includes import read_with_includes
from pysim.scene.toml.joints import COMPLETED_KEYS
from pysim.scene.toml.many_worlds.table_cache import TableCache
from pysim.scene.toml.many_worlds.world_numbers import GRAVITY, UnlikeWorldError, WorldNumbers
from pysim.scene.toml.many_worlds.world_readers import WorldReaders
from pysim.scene.toml.many_worlds.world_tables import TABLES, WorldTables
from pysim.scene.toml.number_texts import Expressions
from pysim.scene.toml.overrides import apply_overrides
from pysim.scene.toml.plausibility import is_plausible
from pysim.scene.toml.reader import Reading, read_actuators, read_blocks, read_tables
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from pysim.scene.spec import (
        BodySpec,
        ContactsSpec,
        JointSpec,
        ModelSpec,
        SceneSpec,
    )
    from pysim.scene.toml.many_worlds.world_numbers import Numbers
    from pysim.scene.toml.many_worlds.world_tables import ChangedTable
    from pysim.scene.toml.reader import ReadScene
    from pysim.scene.toml.records.tables import Scene
    from pysim.scene.toml.source import Steps

_CHECKED_TOGETHER = 256  # worlds
_OF_CONTACTS = ("materials", "ground", "contact")
_OF_BLOCKS = ("signal", "sensor", "controller")
# Parts of a specification that depend on nothing but the tables above, or on none of their numbers. A scene with
# another part is read in full.
_OF_MODEL = {
    "name", "gravity", "bodies", "joints", "frames", "where", "loops", "couplings", "forces", "contacts",
    "keyframes", "steps",
}  # fmt: skip
_OF_SCENE = {
    "name", "model", "actuators", "settings", "render", "text", "path", "overrides", "events", "hold", "blocks",
}  # fmt: skip


def read_toml_worlds(
    path: Path,
    worlds: Iterable[Mapping[str, object]],
    *,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> Iterator[SceneSpec]:
    """Yield the specification of a scene file for every world, each with its own overrides.

    The file is read once, and tables that are equal in two worlds are read once.

    Raises:
        SceneError, ModelError: as in `read_toml`.
    """
    reading = Reading(tuple(map(Path, package_dirs)), allow_code)
    source = read_with_includes(path, reading.folders)
    fresh = pickle.dumps(source.values)  # unpickling is faster than copy.deepcopy
    table_cache = TableCache()

    def read(overrides: Mapping[str, object]) -> ReadScene:
        own = replace(source, values=pickle.loads(fresh))
        return read_tables(own, path, overrides, table_cache, reading)

    remaining = iter(worlds)
    for overrides in islice(remaining, 1):
        first = _FirstWorld(read(overrides), fresh)
        yield first.read.spec
    while some := list(islice(remaining, _CHECKED_TOGETHER)):
        for overrides, spec in zip(some, first.changed(some), strict=True):
            yield read(overrides).spec if spec is None else spec


class _FirstWorld:
    """Reading of the first world, from which others are made by changing numbers."""

    def __init__(self, read: ReadScene, fresh: bytes) -> None:
        self.read = read
        self._fresh = fresh  # values of the file
        self._readers = WorldReaders(read)
        self._numbers = WorldNumbers(read, TABLES, self._expressions)
        self._tables = WorldTables(read)
        self._plain_joints: dict[int, JointSpec] = {}

    def changed(self, worlds: Sequence[Mapping[str, object]]) -> list[SceneSpec | None]:
        """Return the specifications of some worlds; None for one that has to be read in full."""
        specs = [self._changed(overrides) for overrides in worlds]
        theta: list[Array] = []
        numbers: list[int] = []
        for k, spec in enumerate(specs):
            if spec is not None:
                pairs = zip(spec.model.bodies, self.read.bare.bodies, strict=True)
                own = [body.theta for body, other in pairs if body is not other]
                theta += own
                numbers += [k] * len(own)
        for at in np.flatnonzero(~is_physical(np.reshape(theta, (-1, 10)))).tolist():
            specs[numbers[at]] = None
        return specs

    def _changed(self, overrides: Mapping[str, object]) -> SceneSpec | None:
        """Return the specification of a world whose bodies are left to be checked."""
        if not self._is_supported:
            return None
        try:
            return self._spec(overrides, self._numbers.changed(overrides))
        except (UnlikeWorldError, PysimError, ExpressionError, ValidationError):
            return None

    @cached_property
    def _is_supported(self) -> bool:
        spec = self.read.spec
        others = [
            getattr(part, item.name)
            for part, known in ((spec, _OF_SCENE), (spec.model, _OF_MODEL))
            for item in fields(part)
            if item.name not in known
        ]
        rebounds = any(map(has_dissipation, self.read.bare.joints))  # whose stops are forces
        tables = self.read.tables  # keyframes of files of models depend on no number
        return not (any(others) or rebounds or tables.keyframes or tables.keyframe)

    def _expressions(self) -> Expressions:
        values = pickle.loads(self._fresh)
        apply_overrides(values, self.read.spec.overrides)
        return Expressions(values, self._readers.problems)

    def _spec(self, overrides: Mapping[str, object], numbers: Mapping[Steps, Numbers]) -> SceneSpec:
        tables = self._tables.changed(numbers)
        bare, spec, scene = self.read.bare, self.read.spec, self._scene(tables)
        bodies, joints = list(bare.bodies), list(bare.joints)
        for k, table in tables["body"].items():
            bodies[k] = self._body(k, table)
        for k, table in tables["joint"].items():
            joints[k] = self._joint(k, table)
        model = with_fields(
            spec.model,
            bodies=tuple(bodies),
            joints=self._with_stops(joints, bodies),
            **self._connections(scene, tables),
        )
        for place, given in numbers.items():
            if place[0] == GRAVITY:
                model = with_fields(model, gravity=_gravity(model.gravity, place, given))
        if any(tables[name] for name in _OF_CONTACTS):
            model = with_fields(model, contacts=self._contacts(scene, model))
        parts_of_spec: dict[str, Any] = {"model": model}
        parts, problems = self.read.parts, self._readers.problems
        if tables["actuator"]:
            parts_of_spec["actuators"] = read_actuators(scene, model, parts, problems)
        if any(tables[name] for name in _OF_BLOCKS) or any(
            table.type is not None for table, _ in tables["actuator"].values()
        ):
            parts_of_spec["blocks"] = read_blocks(
                scene, model, parts, self.read.package_dirs, problems
            )
        if {"actuators", "blocks"} & parts_of_spec.keys():
            parts_of_spec["model"] = self._with_loads(model, joints, bodies, parts_of_spec)
        if tables["joint"] and any(isinstance(table.at, str) for table in scene.event):
            parts_of_spec["events"] = read_events(scene, model, problems)
        return with_fields(spec, **parts_of_spec, overrides=dict(overrides))

    def _scene(self, tables: Mapping[str, Mapping[Any, ChangedTable]]) -> Scene:
        """Return the tables of a world."""
        own = self.read.tables
        changed = {
            name: _all_tables(getattr(own, name), others)
            for name, others in tables.items()
            if others
        }
        return own.model_copy(update=changed)

    def _contacts(self, scene: Scene, model: ModelSpec) -> ContactsSpec:
        brought = self.read.parts.contacts
        contacts = ContactReader(scene, self._readers.problems, brought).read(model.bodies)
        if model.contacts is None or contacts is None:
            raise UnlikeWorldError  # the scheme of the run, or nothing, has contacts
        return contacts

    def _body(self, k: int, changed: ChangedTable) -> BodySpec:
        """Return a body; only θ is computed if nothing else of it is affected."""
        table, keys = changed
        path, reader = ("body", k), self._readers.bodies
        if keys <= MASS_KEYS and spreads_mass(table) == spreads_mass(self.read.tables.body[k]):
            return with_fields(self.read.bare.bodies[k], theta=reader.theta(table, path))
        body = reader.read(table, path)
        if bool(body.collisions) != bool(self.read.bare.bodies[k].collisions):
            raise UnlikeWorldError  # the scheme of the run has no contacts
        return body

    def _joint(self, k: int, changed: ChangedTable) -> JointSpec:
        """Return a joint; only its forces, limits and start are read if nothing else of it is affected."""
        table, keys = changed
        path, reader, first = ("joint", k), self._readers.joints, self.read.bare.joints[k]
        if keys <= COMPLETED_KEYS:
            if k not in self._plain_joints:
                plain = reader.plain(self.read.tables.joint[k], path)
                place = {"parent": first.parent, "child": first.child, "at": first.at}
                own = with_fields(plain, **place, axis=first.axis, mimic=first.mimic)
                self._plain_joints[k] = own
            return reader.completed(self._plain_joints[k], table, path)
        joint = reader.read(table, path)
        if joint is None or joint.mimic is not None:
            raise UnlikeWorldError  # the joints that it follows are searched when all joints are known
        (placed,) = on_bodies(Parts(joints=(joint,)), self.read.frames).joints
        return placed

    def _with_stops(
        self, joints: Sequence[JointSpec], bodies: Sequence[BodySpec]
    ) -> tuple[JointSpec, ...]:
        """Choose the default stops of the joints that are affected; others keep those of the first world."""
        bare, chosen = self.read.bare, self.read.spec.model.joints
        moved = any(a.at is not b.at for a, b in zip(joints, bare.joints, strict=True))
        massive = any(a.theta is not b.theta for a, b in zip(bodies, bare.bodies, strict=True))
        known = {
            id(own): done
            for own, other, done in zip(joints, bare.joints, chosen, strict=True)
            if own is other
        }
        demand = self.read.demand
        return with_stops(joints, bodies, known, inertias_changed=moved or massive, demand=demand)

    def _with_loads(
        self,
        model: ModelSpec,
        joints: Sequence[JointSpec],
        bodies: Sequence[BodySpec],
        own: Mapping[str, Any],
    ) -> ModelSpec:
        """Return the model with default stops for the drives of a world, if they differ from the first one's."""
        spec, demand = self.read.spec, self.read.demand
        assert demand is not None  # of a scene that is not attached
        actuators, blocks = own.get("actuators", spec.actuators), own.get("blocks", spec.blocks)
        loads = drive_loads(joints, actuators, blocks, spec.settings.duration)
        if same_loads(loads, demand.loads):
            return model
        return with_fields(
            model, joints=with_stops(joints, bodies, demand=demand.with_loads(loads))
        )

    def _connections(
        self, scene: Scene, tables: Mapping[str, Mapping[Any, ChangedTable]]
    ) -> dict[str, Any]:
        """Return the loops, couplings and forces whose numbers differ; those of the scene's models follow its own."""
        bare = self.read.bare
        connections: dict[str, Any] = {}

        def with_own(name: str, read: tuple[Any, ...]) -> None:
            connections[name] = read + getattr(bare, name)[len(read) :]

        if tables["loop"]:
            with_own("loops", self._readers.constraints.loops(scene.loop))
        if tables["coupling"]:
            with_own("couplings", self._readers.constraints.couplings(scene.coupling))
        if tables["force"]:
            reader = ForceReader(self._readers.constraints, self._readers.read.package_dirs)
            with_own("forces", reader.forces(scene.force))
            connections["forces"] = mark_released(connections["forces"], self.read.spec.events)
        return connections


def _gravity(gravity: Array, place: Steps, numbers: Numbers) -> Array:
    """Return the gravity with another component, or with other numbers."""
    if not is_plausible(place, numbers):
        raise UnlikeWorldError
    changed = gravity.copy()
    changed[int(place[1]) if len(place) > 1 else slice(None)] = numbers
    return changed


def _all_tables(
    tables: list[Any] | dict[str, Any], others: Mapping[Any, ChangedTable]
) -> list[Any] | dict[str, Any]:
    if isinstance(tables, dict):
        return tables | {name: table for name, (table, _) in others.items()}
    return [others[k].table if k in others else table for k, table in enumerate(tables)]
