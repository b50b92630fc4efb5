"""Specifications of the worlds of one scene file.

A world whose overrides differ from those of the first world in numbers alone shares everything with it that these
numbers do not affect: its other tables are neither copied nor checked again. A world that differs in anything else, in
a number of another table, or in which a problem is found, is read in full.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from pydantic import ValidationError

from pysim.errors import PysimError
from pysim.inertia import is_physical
from pysim.scene.attachment import Parts, on_bodies
from pysim.scene.drive_loads import drive_loads, same_loads
from pysim.scene.spec import with_fields
from pysim.scene.stop_defaults import Demand, with_stops
from pysim.scene.stop_forces import has_dissipation
from pysim.scene.toml.actuators import read_actuators
from pysim.scene.toml.bodies import MASS_KEYS, BodyReader, spreads_mass, theta_as_written
from pysim.scene.toml.constraints import ConstraintReader
from pysim.scene.toml.contacts import ContactReader
from pysim.scene.toml.events import mark_released, read_events
from pysim.scene.toml.expressions import ExpressionError
from pysim.scene.toml.forces import ForceReader
from pysim.scene.toml.includes import read_with_includes
from pysim.scene.toml.joints import COMPLETED_KEYS, JointReader
from pysim.scene.toml.keyframes import read_keyframes, started
from pysim.scene.toml.models import prefixes
from pysim.scene.toml.number_texts import Expressions
from pysim.scene.toml.overrides import apply_overrides
from pysim.scene.toml.plausibility import is_plausible
from pysim.scene.toml.problems import Problems
from pysim.scene.toml.reader import Reading, read_blocks, read_tables
from pysim.scene.toml.records.tables import TABLES_OF_SCENE
from pysim.scene.toml.table_cache import TableCache
from pysim.scene.toml.world_numbers import GRAVITY, UnlikeWorldError, WorldNumbers
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from os import PathLike

    from pysim.scene.spec import BlockSpec, BodySpec, JointSpec, ModelSpec, SceneSpec
    from pysim.scene.toml.reader import ReadScene
    from pysim.scene.toml.records.tables import Body, Scene
    from pysim.scene.toml.source import Step, Steps
    from pysim.scene.toml.world_numbers import Numbers

_CHECKED_TOGETHER = 256  # worlds
_OF_CONTACTS = ("materials", "contact")
_OF_BLOCKS = ("signal", "sensor", "controller")
_OF_SCENE_READERS = ("actuator", "force", *_OF_BLOCKS, *_OF_CONTACTS)  # which read all of a scene
TABLES = {name: TABLES_OF_SCENE[name] for name in ("body", "joint", "model", *_OF_SCENE_READERS)}
_OF_MODELS = {"body": MASS_KEYS, "joint": COMPLETED_KEYS}  # keys of the parts of models


def read_toml_worlds(
    path: Path,
    worlds: Iterable[Mapping[str, object]],
    *,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> Iterator[SceneSpec | PysimError]:
    """Yield the specification of a scene file for every world, each with its own overrides, or the error of a world.

    The file is read once, and tables that are equal in two worlds are read once.

    Raises:
        SceneError: the file cannot be read, or is not TOML.
    """
    reading = Reading(tuple(map(Path, package_dirs)), allow_code)
    source = read_with_includes(path, reading.folders)
    fresh = pickle.dumps(source.values)  # unpickling is faster than copy.deepcopy
    table_cache = TableCache()

    def read(overrides: Mapping[str, object]) -> ReadScene | PysimError:
        nonlocal table_cache
        copy, tables = replace(source, values=pickle.loads(fresh)), table_cache.copy()
        try:
            scene = read_tables(copy, path, overrides, tables, reading)
        except (
            PysimError
        ) as error:  # a table with an error is read again, as only its reader reports that
            return error
        table_cache = tables
        return scene

    remaining = iter(worlds)
    for overrides in remaining:
        scene = read(overrides)
        if isinstance(scene, PysimError):
            yield scene
            continue
        first = _FirstWorld(scene, fresh)
        yield scene.spec
        break
    while some := list(islice(remaining, _CHECKED_TOGETHER)):
        specs = [first.changed(overrides) for overrides in some]
        unphysical = first.unphysical(specs)
        for k, (overrides, spec) in enumerate(zip(some, specs, strict=True)):
            if spec is not None and k not in unphysical:
                yield spec
                continue
            scene = read(overrides)
            yield scene if isinstance(scene, PysimError) else scene.spec


class _NoProblems(Problems):
    """Collector of problems that raises `UnlikeWorldError` at the first: the world is then read in full."""

    def add(self, path: Iterable[Step], problem: str, **_: Any) -> NoReturn:  # noqa: ARG002, ANN401
        raise UnlikeWorldError


class _UncheckedBodies(BodyReader):
    """Reader of bodies whose physical consistency is left to be checked."""

    def _from_numbers(self, body: Body, path: Steps) -> Array:  # noqa: ARG002
        return theta_as_written(body)


class _ChangedTable(NamedTuple):
    """A table with other numbers than in the first world, and its keys in which they are."""

    table: Any
    keys: frozenset[str]


_Changes = dict[str, dict[Any, _ChangedTable]]  # by name, and by index or name in it


class _FirstWorld:
    """Reading of the first world, from which others are made by changing numbers.

    Args:
        read: the reading.
        fresh: values of the file, pickled.
    """

    def __init__(self, read: ReadScene, fresh: bytes) -> None:
        self.read = read
        self._fresh = fresh
        self._problems = _NoProblems(read.source)
        self._bodies = _UncheckedBodies(self._problems, read.package_dirs, read.tables.inertia)
        self._joints = JointReader(self._problems)
        self._numbers = WorldNumbers(read, TABLES, self._expressions)

    def unphysical(self, specs: Iterable[SceneSpec | None]) -> set[int]:
        """Return the indices of specifications with a body that is physically inconsistent."""
        theta: list[Array] = []
        worlds: list[int] = []
        for k, spec in enumerate(specs):
            if spec is not None:
                pairs = zip(spec.model.bodies, self.read.bare.bodies, strict=True)
                changed = [body.theta for body, first in pairs if body is not first]
                theta += changed
                worlds += [k] * len(changed)
        wrong = np.flatnonzero(~is_physical(np.reshape(theta, (-1, 10))))
        return {worlds[at] for at in wrong.tolist()}

    def changed(self, overrides: Mapping[str, object]) -> SceneSpec | None:
        """Return the specification of a world, whose bodies are left to be checked; None if it is read in full."""
        if self._has_stop_forces:
            return None
        try:
            numbers = self._numbers.changed(overrides)
            spec = self._spec(overrides, self._tables(numbers), numbers)
        except (UnlikeWorldError, PysimError, ExpressionError, ValidationError):
            return None
        return spec

    @cached_property
    def _has_stop_forces(self) -> bool:
        """Whether a joint's stops are compiled as forces, whose numbers follow from the joint's."""
        return any(map(has_dissipation, self.read.bare.joints))

    def _expressions(self) -> Expressions:
        values = pickle.loads(self._fresh)
        apply_overrides(values, self.read.spec.overrides)
        return Expressions(values, self._problems)

    def _tables(self, numbers: Mapping[Steps, Numbers]) -> _Changes:
        """Return the tables that have some of the numbers."""
        cells: dict[tuple[str, Step], list[tuple[Steps, Numbers]]] = defaultdict(list)
        for place, number in numbers.items():
            if place[0] in TABLES:
                cells[str(place[0]), place[1]].append((place[2:], number))
        tables: _Changes = {name: {} for name in TABLES}
        for (name, k), changes in cells.items():
            tables[name][k] = self._table(name, k, changes)
        return tables

    def _table(
        self, name: str, k: Step, changes: Collection[tuple[Steps, Numbers]]
    ) -> _ChangedTable:
        first = values = self.read.values[name][k]
        for steps, number in changes:
            if not is_plausible(steps, number, first.get("type")):
                raise UnlikeWorldError
            if name == "model" and (
                len(steps) < 3 or steps[2] not in _OF_MODELS.get(str(steps[0]), ())
            ):
                raise UnlikeWorldError
            values = _with_number(values, steps, number)
        keys = frozenset(str(steps[0]) for steps, _ in changes)
        return _ChangedTable(TABLES[name].model_validate(values), keys)

    def _spec(
        self, overrides: Mapping[str, object], tables: _Changes, numbers: Mapping[Steps, Numbers]
    ) -> SceneSpec:
        """Return the specification with other tables, and gravity."""
        spec, scene = self.read.spec, self._scene(tables)
        bodies, joints = list(self.read.bare.bodies), list(self.read.bare.joints)
        for k, changed in tables["body"].items():
            bodies[k] = self._body(k, changed)
        for k, changed in tables["joint"].items():
            joints[k] = self._joint(k, changed)
        for k, (table, _) in tables["model"].items():
            self._change_parts(k, table, bodies, joints)
        gravity = spec.model.gravity
        for place, value in numbers.items():
            if place[0] == GRAVITY:
                gravity = _gravity(gravity, place, value)
        demand = self.read.demand
        assert demand is not None  # of a scene that is not attached
        if gravity is not spec.model.gravity:
            if scene.rod:
                raise UnlikeWorldError  # they start as they hang
            demand = replace(demand, gravity=gravity)
        stopped = self._with_stops(joints, bodies, demand)
        model = with_fields(spec.model, gravity=gravity, bodies=tuple(bodies), joints=stopped)
        if tables["force"]:
            model = with_fields(model, forces=self._forces(scene))
        if any(tables[name] for name in _OF_CONTACTS):
            model = with_fields(model, contacts=self._contacts(scene, model))
        if scene.keyframes:
            at_start = with_fields(model, joints=tuple(joints))  # of their own tables
            keyframes = read_keyframes(scene, at_start, self.read.parts, self._problems)
            model = with_fields(model, keyframes=keyframes)
        parts: dict[str, Any] = {}
        if tables["actuator"]:
            parts["actuators"] = read_actuators(scene, model, self.read.parts, self._problems)
        if any(tables[name] for name in _OF_BLOCKS) or any(
            table.type is not None for table, _ in tables["actuator"].values()
        ):
            blocks = read_blocks(
                scene, model, self.read.parts, self.read.package_dirs, self._problems
            )
            parts["blocks"] = self._at_keyframe(model, blocks)[1]
        actuators = parts.get("actuators", spec.actuators)
        blocks = parts.get("blocks", spec.blocks)
        moves = any(a is not b for a, b in zip(joints, self.read.bare.joints, strict=True))
        if (actuators or blocks) and (moves or parts):
            loads = drive_loads(joints, actuators, blocks, spec.settings.duration)
            if not same_loads(loads, demand.loads):
                stopped = with_stops(joints, bodies, demand=demand.with_loads(loads))
                model = with_fields(model, joints=stopped)
        model = self._at_keyframe(model)[0]
        if moves and any(isinstance(e.at, str) for e in scene.event):
            parts["events"] = read_events(scene, model, self._problems)
        return with_fields(spec, model=model, **parts, overrides=dict(overrides))

    def _at_keyframe(
        self, model: ModelSpec, blocks: tuple[BlockSpec, ...] = ()
    ) -> tuple[ModelSpec, tuple[BlockSpec, ...]]:
        """Return a mechanism and blocks as they start."""
        name = self.read.tables.keyframe
        return (model, blocks) if name is None else started(model, blocks, name, self._problems)

    def _scene(self, tables: _Changes) -> Scene:
        """Return the tables of a world, with the bodies and joints of the first one."""
        scene = self.read.tables
        changes: dict[str, Any] = {}
        for name in _OF_SCENE_READERS:
            if tables[name]:
                changes[name] = getattr(scene, name).copy()
            for k, (table, _) in tables[name].items():
                changes[name][k] = table
        return scene.model_copy(update=changes) if changes else scene

    def _body(self, k: int, changed: _ChangedTable) -> BodySpec:
        """Return a body; only θ is computed if nothing else of it is affected."""
        (table, keys), first = changed, self.read.bare.bodies[k]
        if keys <= MASS_KEYS and spreads_mass(table) == spreads_mass(self.read.tables.body[k]):
            return with_fields(first, theta=self._bodies.theta(table, ("body", k)))
        body = self._bodies.read(table, ("body", k))
        if bool(body.collisions) != bool(first.collisions):
            raise UnlikeWorldError  # the scheme of the run has no contacts
        return body

    def _joint(self, k: int, changed: _ChangedTable) -> JointSpec:
        """Return a joint; only its forces, limits and start are read if nothing else of it is affected."""
        table, keys = changed
        if keys <= COMPLETED_KEYS:
            return self._joints.completed(self.read.bare.joints[k], table, ("joint", k))
        if any(coupling.teeth for coupling in self.read.tables.coupling):
            raise UnlikeWorldError  # its ratio follows from the axes, and its distance is checked
        joint = self._joints.read(table, ("joint", k))
        if joint is None or joint.mimic is not None:
            raise UnlikeWorldError  # the joints that it follows are searched when all joints are known
        (placed,) = on_bodies(Parts(joints=(joint,)), self.read.frames).joints
        return placed

    def _change_parts(
        self,
        k: int,
        table: Any,  # noqa: ANN401, of TOML
        bodies: list[BodySpec],
        joints: list[JointSpec],
    ) -> None:
        """Change the bodies and joints of a model, or of its copies, that its table has other numbers of."""
        first = self.read.tables.model[k]
        for prefix in prefixes(table):
            for name, look in table.body.items():
                if look != first.body[name]:
                    at = self._body_places[prefix + name]
                    bodies[at] = with_fields(bodies[at], theta=theta_as_written(look))
            for name, passive in table.joint.items():
                if passive != first.joint[name]:
                    at, path = self._joint_places[prefix + name], ("model", k, "joint", name)
                    joints[at] = self._joints.with_passive(joints[at], passive, path)

    @cached_property
    def _body_places(self) -> dict[str, int]:
        return {body.name: k for k, body in enumerate(self.read.bare.bodies)}

    @cached_property
    def _joint_places(self) -> dict[str, int]:
        return {joint.name: k for k, joint in enumerate(self.read.bare.joints)}

    def _with_stops(
        self, joints: list[JointSpec], bodies: list[BodySpec], demand: Demand
    ) -> tuple[JointSpec, ...]:
        """Choose the default stops of the joints that are affected; others keep those of the first world."""
        bare, chosen = self.read.bare, self.read.spec.model.joints
        changed = (
            demand is not self.read.demand
            or any(a.at is not b.at for a, b in zip(joints, bare.joints, strict=True))
            or any(a.theta is not b.theta for a, b in zip(bodies, bare.bodies, strict=True))
        )
        known = {
            id(joint): done
            for joint, first, done in zip(joints, bare.joints, chosen, strict=True)
            if joint is first
        }
        return with_stops(joints, bodies, known, demand_changed=changed, demand=demand)

    def _contacts(self, scene: Scene, model: ModelSpec) -> Any:  # noqa: ANN401
        """Return the contacts, which both worlds have or neither."""
        contacts = ContactReader(scene, self._problems, self.read.parts.contacts).read(model.bodies)
        if model.contacts is None or contacts is None:
            raise UnlikeWorldError  # the scheme of the run, or nothing, has contacts
        return contacts

    def _forces(self, scene: Scene) -> tuple[Any, ...]:
        """Return the forces; those of springs and models follow the scene's own."""
        bare = self.read.bare
        ties = ConstraintReader(
            self._problems,
            self._joints,
            {joint.name: joint for joint in bare.joints},
            {frame.name: frame for frame in bare.frames},
        )
        forces = ForceReader(ties, self.read.package_dirs).forces(scene.force)
        return mark_released(forces + bare.forces[len(forces) :], self.read.spec.events)


def _with_number(values: Any, steps: Steps, number: Numbers) -> Any:  # noqa: ANN401, nested tables and lists
    """Return values with another number at a path; what is not on the path is shared."""
    first, *rest = steps
    changed = values.copy()
    changed[first] = _with_number(values[first], tuple(rest), number) if rest else number
    return changed


def _gravity(gravity: Array, place: Steps, numbers: Numbers) -> Array:
    """Return the gravity with another component, or with other numbers."""
    if not is_plausible(place, numbers):
        raise UnlikeWorldError
    changed = gravity.copy()
    changed[int(place[1]) if len(place) > 1 else slice(None)] = numbers
    return changed
