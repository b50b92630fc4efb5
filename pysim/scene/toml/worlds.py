"""Specifications of the worlds of one scene file.

A world whose overrides differ from those of the first world in numbers alone shares everything with it that these
numbers do not affect: its other tables are neither copied nor checked again. A world that differs in anything else, in
a number of another table, or in which a problem is found, is read in full.
"""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from pydantic import ValidationError

from pysim.errors import PysimError
from pysim.scene.attachment import Parts, on_bodies
from pysim.scene.spec import with_fields
from pysim.scene.stop_defaults import with_stops
from pysim.scene.toml.bodies import BodyReader
from pysim.scene.toml.constraint_tables import Coupling, Force, Loop
from pysim.scene.toml.constraints import ConstraintReader
from pysim.scene.toml.events import mark_released
from pysim.scene.toml.expressions import ExpressionError
from pysim.scene.toml.forces import ForceReader
from pysim.scene.toml.includes import read_with_includes
from pysim.scene.toml.joints import JointReader
from pysim.scene.toml.overrides import apply_overrides
from pysim.scene.toml.plausibility import is_plausible
from pysim.scene.toml.plugin_keys import PARAMETERS
from pysim.scene.toml.problems import Problems
from pysim.scene.toml.quantities import TABLE as EXPRESSIONS, Expressions
from pysim.scene.toml.reader import Reading, read_actuator, read_tables
from pysim.scene.toml.source import Source
from pysim.scene.toml.table_cache import TableCache
from pysim.scene.toml.tables import Actuator, Body, Joint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.scene.spec import BodySpec, JointSpec, SceneSpec
    from pysim.scene.toml.keys import Table
    from pysim.scene.toml.reader import ReadScene
    from pysim.scene.toml.source import Step, Steps

    Array = NDArray[np.float64]
    Number = float | int
    Numbers = Number | list[Any]

_LARGEST_INTEGER = 2**63  # beyond the integers that TOML allows
_TABLES: dict[str, type[Table]] = {
    "body": Body,
    "joint": Joint,
    "actuator": Actuator,
    "loop": Loop,
    "coupling": Coupling,
    "force": Force,
}
# Parts of a specification that depend on nothing but the tables above, or on none of their numbers. A scene with
# another part is read in full.
_OF_MODEL = {
    "name", "gravity", "bodies", "joints", "frames", "where", "loops", "couplings", "springs", "forces",
}  # fmt: skip
_OF_SCENE = {
    "name", "model", "actuators", "settings", "render", "text", "path", "overrides", "events", "hold",
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
    first: _FirstWorld | None = None
    for overrides in worlds:
        spec = first.changed(overrides) if first is not None else None
        if spec is None:
            own = replace(source, values=pickle.loads(fresh))
            read = read_tables(own, path, overrides, table_cache, reading)
            first = first or _FirstWorld(read, fresh)
            spec = read.spec
        yield spec


class _Unlike(Exception):  # noqa: N818, never seen by a caller
    """A world has to be read in full."""


@dataclass
class _NoProblems(Problems):
    """Problems of a world that must have none."""

    def add(
        self,
        path: Iterable[Step],  # noqa: ARG002
        problem: str,  # noqa: ARG002
        *,
        of_key: bool = False,  # noqa: ARG002
        offset: int | None = None,  # noqa: ARG002
    ) -> NoReturn:
        raise _Unlike


@dataclass(frozen=True)
class _LocatedSource(Source):
    """Source of worlds with the same overrides, in which a place has the same description in all of them."""

    _described: dict[tuple[Step, ...], str] = field(default_factory=dict, repr=False)

    def where(self, path: Iterable[Step], *, of_key: bool = False) -> str:
        steps = tuple(path)
        if of_key:
            return super().where(steps, of_key=of_key)
        if steps not in self._described:
            self._described[steps] = super().where(steps)
        return self._described[steps]


@dataclass(frozen=True)
class _Readers:
    """Readers of tables, which find no problem."""

    read: ReadScene

    @cached_property
    def problems(self) -> Problems:
        return _NoProblems(
            _LocatedSource(
                **{item.name: getattr(self.read.source, item.name) for item in fields(Source)}
            )
        )

    @cached_property
    def bodies(self) -> BodyReader:
        read = self.read
        return BodyReader(self.problems, read.package_dirs, read.tables.inertia)

    @cached_property
    def joints(self) -> JointReader:
        return JointReader(self.problems)

    @property
    def constraints(self) -> ConstraintReader:
        """A new reader, which has seen no name yet."""
        spec = self.read.spec.model
        return ConstraintReader(
            self.problems,
            self.joints,
            {body.name for body in spec.bodies},
            {joint.name for joint in spec.joints},
            {frame.name: frame for frame in spec.frames},
        )


@dataclass
class _FirstWorld:
    """Reading of the first world, from which others are made by changing numbers."""

    read: ReadScene
    fresh: bytes  # values of the file
    _places: dict[Steps, Steps | None] = field(default_factory=dict)

    def changed(self, overrides: Mapping[str, object]) -> SceneSpec | None:
        """Return the specification of a world; None for one that has to be read in full."""
        if not self._is_supported:
            return None
        try:
            return self._spec(overrides, self._numbers(overrides))
        except (_Unlike, PysimError, ExpressionError, ValidationError):
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
        return not any(others) and not any(joint.mimic for joint in spec.model.joints)

    @cached_property
    def _readers(self) -> _Readers:
        return _Readers(self.read)

    @cached_property
    def _paths(self) -> dict[str, Steps]:
        """Path of every override of a single value."""
        return {
            option.removeprefix("--set "): steps
            for steps, option in self.read.source.overridden.items()
        }

    @cached_property
    def _expressions(self) -> Expressions:
        values = pickle.loads(self.fresh)
        apply_overrides(values, self.read.spec.overrides)
        return Expressions(values, self._readers.problems)

    def _numbers(self, overrides: Mapping[str, object]) -> dict[Steps, Numbers]:
        """Return the numbers that differ from the first world, by their place in the tables."""
        first = self.read.spec.overrides
        if overrides.keys() != first.keys():
            raise _Unlike
        found: dict[Steps, Numbers] = {}
        parameters: dict[str, Number] = {}
        for key, value in overrides.items():
            if value is first[key]:
                continue
            numbers = _numbers_of(value)
            if isinstance(first[key], str) or key not in self._paths:
                raise _Unlike
            path = self._paths[key]
            if path[0] == EXPRESSIONS and len(path) == 2 and not isinstance(numbers, list):
                parameters[str(path[1])] = numbers
            else:
                found[self._place(path, numbers)] = numbers
        if parameters:
            found |= self._evaluated(parameters)
        return found

    def _evaluated(self, parameters: Mapping[str, Number]) -> dict[Steps, Numbers]:
        """Return the numbers that depend on expressions, with some of the `[parameters]` changed."""
        found: dict[Steps, Numbers] = {}
        for path, number in self._expressions.evaluate(parameters).items():
            if path[0] == EXPRESSIONS:
                if not is_plausible(path, number):
                    raise _Unlike
            elif path[0] in _TABLES:
                found[self._place(path, number)] = number
            elif repr(_at(self.read.values, path)) != repr(number):
                raise _Unlike
        return found

    def _place(self, path: Steps, numbers: Numbers) -> Steps:
        """Return the place of numbers of the file in the tables; keys of plugins are in tables of their own there."""
        if path not in self._places:
            nested = (*path[:2], PARAMETERS, *path[2:])
            places = [
                place
                for place in (path, nested)
                if place[0] == "gravity" or (place[0] in _TABLES and len(place) > 2)
                if _at(self.read.values, place) is not None
            ]
            self._places[path] = places[0] if len(places) == 1 else None
        place = self._places[path]
        if place is None or not _is_alike(_at(self.read.values, place), numbers):
            raise _Unlike
        return place

    def _spec(self, overrides: Mapping[str, object], numbers: Mapping[Steps, Numbers]) -> SceneSpec:
        tables = self._tables(numbers)
        bare, spec, readers = self.read.bare, self.read.spec, self._readers
        bodies, joints = list(bare.bodies), list(bare.joints)
        for k, table in tables["body"].items():
            bodies[k] = readers.bodies.read(table, ("body", k))
        for k, table in tables["joint"].items():
            joint = readers.joints.read(table, ("joint", k))
            if joint is None or joint.mimic is not None or joint.parent != joints[k].parent:
                raise _Unlike  # it follows another, or its frame is on another
            (joints[k],) = on_bodies(Parts(joints=(joint,)), {}).joints
        model = with_fields(
            spec.model,
            bodies=tuple(bodies),
            joints=self._with_stops(joints, bodies),
            **self._connections(tables),
        )
        for place, given in numbers.items():
            if place[0] == "gravity":
                model = with_fields(model, gravity=self._gravity(model.gravity, place, given))
        actuators = spec.actuators
        for k, table in tables["actuator"].items():
            actuator = read_actuator(table, ("actuator", k), model, readers.problems)
            actuators = (*actuators[:k], actuator, *actuators[k + 1 :])
        return with_fields(spec, model=model, actuators=actuators, overrides=dict(overrides))

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
        return with_stops(joints, bodies, known, inertias_changed=moved or massive)

    def _tables(self, numbers: Mapping[Steps, Numbers]) -> dict[str, dict[int, Any]]:
        """Return the tables with changed numbers by name and index."""
        cells: dict[tuple[str, int], list[tuple[Steps, Numbers]]] = defaultdict(list)
        for place, number in numbers.items():
            if place[0] in _TABLES:
                cells[str(place[0]), int(place[1])].append((place[2:], number))
        tables: dict[str, dict[int, Any]] = {name: {} for name in _TABLES}
        for (name, k), changes in cells.items():
            values = pickle.loads(self._pickled(name, k))
            for steps, number in changes:
                if not is_plausible(steps, number):
                    raise _Unlike
                _at(values, steps[:-1])[steps[-1]] = number
            tables[name][k] = _TABLES[name].model_validate(values)
        return tables

    def _pickled(self, name: str, k: int) -> bytes:
        if (name, k) not in self._item_bytes:
            self._item_bytes[name, k] = pickle.dumps(self.read.values[name][k])
        return self._item_bytes[name, k]

    @cached_property
    def _item_bytes(self) -> dict[tuple[str, int], bytes]:
        return {}

    def _connections(self, tables: Mapping[str, Mapping[int, Any]]) -> dict[str, Any]:
        """Return the loops, couplings and forces whose numbers differ; those of the scene's models follow its own."""
        bare, own = self.read.bare, self.read.tables
        found: dict[str, Any] = {}

        def with_own(name: str, read: tuple[Any, ...]) -> None:
            found[name] = read + getattr(bare, name)[len(read) :]

        if tables["loop"]:
            with_own("loops", self._readers.constraints.loops(_changed(own.loop, tables["loop"])))
        if tables["coupling"]:
            couplings = _changed(own.coupling, tables["coupling"])
            with_own("couplings", self._readers.constraints.couplings(couplings))
        if tables["force"]:
            forces, reader = (
                _changed(own.force, tables["force"]),
                ForceReader(self._readers.constraints),
            )
            with_own("springs", reader.springs(forces))
            with_own("forces", reader.forces(forces))
            found["forces"] = mark_released(found["forces"], self.read.spec.events)
        return found

    def _gravity(self, gravity: Array, place: Steps, numbers: Numbers) -> Array:
        if not is_plausible(place, numbers):
            raise _Unlike
        changed = gravity.copy()
        changed[int(place[1]) if len(place) > 1 else slice(None)] = numbers
        return changed


def _numbers_of(value: object) -> Numbers:
    """Return a finite number, or a list of them, as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) < _LARGEST_INTEGER:
        return value
    if isinstance(value, (list, tuple)):
        return [_numbers_of(item) for item in value]
    raise _Unlike


def _is_alike(value: object, other: object) -> bool:
    """Return whether two values are numbers, or lists of as many numbers."""
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_is_alike, value, other))
    return type(value) in (float, int) and type(other) in (float, int)


def _changed(tables: Sequence[Any], others: Mapping[int, Any]) -> list[Any]:
    return [others.get(k, table) for k, table in enumerate(tables)]


def _at(values: Any, steps: Steps) -> Any:  # noqa: ANN401, whatever TOML can hold
    """Return what is at a path, None if there is nothing."""
    for step in steps:
        if isinstance(values, dict):
            values = values.get(step)
        elif isinstance(values, list) and isinstance(step, int) and step < len(values):
            values = values[step]
        else:
            return None
    return values
