"""`Worlds.parameters`: numbers of the scene in which worlds differ, as live arrays by the paths of their keys.

    worlds.parameters["body.rod.mass"][:] = rng.uniform(0.8, 1.2, len(worlds))
    worlds.parameters["model.go1.joint.FR_hip.damping"][fallen] *= 1.1

What is written counts from the next call on. Only what follows from the numbers of the worlds that were written is
computed again, for all of them at once; the engine stores by world only the numbers that some world was given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import ModelError, SimulationError
from pysim.typing import Array
from pysim.worlds.argument_checks import assign
from pysim.worlds.parameter_paths import ParameterPaths
from pysim.worlds.probed_numbers import check_field
from pysim.worlds.varied_scene import VariedScene

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.worlds.loading import Scene
    from pysim.worlds.parameter_paths import Parameter
    from pysim.worlds.world_records import WorldRecords


_ROWS = 64  # of a block


class _Block:
    """Memory of the numbers of several parameters, in which what was written is found at once."""

    def __init__(self, rows: int, count: int) -> None:
        self._now, self._seen = np.zeros((2, rows, count))
        self._differs = np.zeros((rows, count), bool)
        self._names: list[str] = []  # of every row in use
        self._low, self._high = np.zeros((2, rows, 1))  # bounds of what was found to be valid

    def has_room(self, size: int) -> bool:
        """Return whether a parameter of `size` numbers fits."""
        return len(self._names) + size <= len(self._now)

    def add(self, name: str, start: Array) -> tuple[slice, Array, Array]:
        """Return the rows of a parameter, its values (n, size), and those that were taken over."""
        rows = slice(len(self._names), len(self._names) + len(start))
        self._now[rows] = self._seen[rows] = start[:, None]
        self._names += [name] * len(start)
        return rows, self._now[rows].T, self._seen[rows].T

    def written_worlds(self) -> NDArray[np.bool_]:
        """Return the worlds (n,) that were written."""
        used = len(self._names)
        differs = np.not_equal(self._now[:used], self._seen[:used], out=self._differs[:used])
        return np.asarray(differs.any(axis=0))

    def written_names(self, worlds: NDArray[np.intp]) -> list[str]:
        """Return the names of the parameters that were written in worlds."""
        rows = self._differs[: len(self._names), worlds].any(axis=1)
        return list(dict.fromkeys(self._names[k] for k in np.flatnonzero(rows).tolist()))

    def of(self, worlds: NDArray[np.intp]) -> Array:
        """Return the numbers (rows, k) of worlds."""
        return self._now[: len(self._names), worlds]

    def see(self, worlds: NDArray[np.intp], numbers: Array) -> None:
        """Take over numbers (rows, k) of worlds."""
        self._seen[: len(numbers), worlds] = numbers

    def allow(self, rows: slice, low: Array, high: Array) -> None:
        """Set the bounds (size,) of what is valid without a check."""
        self._low[rows, 0], self._high[rows, 0] = low, high

    def are_allowed(self, numbers: Array) -> bool:
        """Return whether numbers (rows, k) are within their bounds."""
        used = len(numbers)
        inside = (numbers >= self._low[:used]) & (numbers <= self._high[:used])
        return bool(inside.all())


def check_alike(scenes: Sequence[Scene]) -> None:
    """Reject scenes whose structure or settings differ from those of the first one.

    Raises:
        ModelError: a model differs in structure.
        SimulationError: a setting differs.
    """
    first = scenes[0]
    for k, scene in enumerate(scenes[1:], 1):
        if difference := first.model.structure_difference(scene.model):
            problem = f"differs from scene[0] in structure: {difference}"
            raise ModelError(f"scene[{k}]", f"{problem}; give it Worlds of its own")
        for name in (
            "integrator",
            "step",
            "parameters",
            "slip_speed",
            "contact_law",
            "on_failure",
        ):
            own, other = getattr(scene.settings, name), getattr(first.settings, name)
            if own != other:
                problem = f"{name} is {own}, but {other} in scene[0]"
                raise SimulationError(f"scene[{k}]", f"{problem}; give it Worlds of its own")


class WorldParameters(Mapping[str, Any]):
    """Numbers of worlds by the path of their key, (n,) or (n, size), live; one world's have no axis of worlds.

    Args:
        records: of the worlds.
        one: whether there is one world, without an axis.
    """

    def __init__(self, records: WorldRecords, one: bool) -> None:
        self._records, self._one = records, one
        self._paths = ParameterPaths(records.scene)
        self._scene = VariedScene(records.scene, records.is_convex)
        self._blocks: list[_Block] = []
        self._values: dict[str, Array] = {}  # (n, size) by the parameter's name, in rows of blocks
        self._seen: dict[str, Array] = {}
        self._shown: dict[str, Array] = {}  # as users see them, by path
        self._rows: dict[str, tuple[_Block, slice]] = {}  # their places
        self._known: dict[str, Parameter] = {}
        self._elements: set[str] = set()  # whose fields no program has as its numbers yet
        self._rejected: set[str] = set()  # fields that Python computes with
        self._allowed: dict[str, tuple[Array, Array]] = {}  # ranges of fields that were checked
        self._places = np.zeros(0, np.int64)
        self._column_of = np.zeros(0, np.int64)  # of every number of the engine, −1 for none
        self._numbers = np.zeros((records.count, 0))
        self._given: tuple[Array | None, float] = (
            None,
            0.0,
        )  # numbers and reach that the engine has

    def __getitem__(self, path: object) -> Array:
        if not isinstance(path, str):
            problem = f"must be the path of a number, got {type(path).__name__}"
            raise SimulationError("parameters", f"{problem}; see list(worlds.parameters)")
        if path not in self._shown:
            values = self._array(path)
            parameter = self._known[self._paths.find(path).name]
            shown = values if parameter.is_list else values[:, 0]
            self._shown[path] = shown[0, ...] if self._one else shown
        return self._shown[path]

    def __setitem__(self, path: str, value: ArrayLike) -> None:
        assign(self[path], value, f"parameters: {path}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    @property
    def are_varied(self) -> bool:
        """Whether worlds may differ in some number."""
        return bool(self._values)

    def _array(self, path: str) -> Array:
        """Return the values (n, size) of a parameter, of all worlds."""
        parameter = self._paths.find(path)
        name = parameter.name
        if self._records.python is not None:
            scheme = self._records.scene.settings.integrator
            problem = (
                f"steps of {scheme!r} run in Python, with the numbers of one scene in all worlds"
            )
            remedy = "run one scene a world in pysim.rollout"
            raise SimulationError(f"parameters: {name!r}", f"{problem}; {remedy}")
        if name not in self._values:
            self._known[name] = parameter
            size = len(parameter.start)
            if not self._blocks or not self._blocks[-1].has_room(size):
                self._blocks.append(_Block(max(_ROWS, size), self._records.count))
            block = self._blocks[-1]
            rows, self._values[name], self._seen[name] = block.add(name, parameter.start)
            self._rows[name] = block, rows
            if parameter.kind == "element":
                self._elements.add(name)
            else:
                block.allow(rows, *parameter.bounds)
        return self._values[name]

    def adopt(self, scenes: Sequence[Scene]) -> None:
        """Take over the numbers of scenes, one for each world.

        Raises:
            SimulationError: a scene differs from the first one in other numbers.
        """
        first = self._records.scene
        for path in self._paths:
            parameter = self._paths.find(path)
            part = self._paths.part(first, parameter)
            if all(self._paths.part(scene, parameter) is part for scene in scenes):
                continue
            starts = [ParameterPaths(scene).find(parameter.name).start for scene in scenes]
            if any((start != parameter.start).any() for start in starts):
                self._array(path)[:] = starts
        self.accept()
        for k, scene in enumerate(scenes):
            self._check_adopted(k, scene)

    def _check_adopted(self, k: int, scene: Scene) -> None:
        """Reject a scene that differs in a number that is no parameter."""
        contacts = scene.contacts.engine if self._records.is_convex and scene.contacts else None
        wanted, tables = _engine.model_numbers(scene.model, contacts)
        found = self.engine_numbers(k)
        if len(wanted) != len(found):  # programs have constants of their own for fields of elements
            last = next(place for name, place, _ in tables if name in ("constants", "closure"))
            wanted, found = wanted[:last], found[:last]
        differs = ~np.isclose(wanted, found, rtol=1e-9, atol=1e-15)
        drive, other = self._records.scene.actuation, scene.actuation
        same_drive = np.array_equal(drive.offset, other.offset)
        same_drive &= np.array_equal(drive.amplitude, other.amplitude)
        if not differs.any() and same_drive:
            return
        at = int(np.flatnonzero(differs)[0]) if differs.any() else -1
        name = [name for name, place, _ in tables if place <= at]
        what = f"a number of its {name[-1].replace('_', ' ')}" if name else "its actuators"
        problem = f"differs from scene[0] in {what}, which is no parameter of worlds"
        raise SimulationError(f"scene[{k}]", f"{problem}; run it in pysim.rollout")

    # -------------------------------------------------------------------------------------------------- changes

    def accept(self) -> None:
        """Take over what was written.

        Raises:
            SimulationError: a number that its key does not allow.
        """
        if not self._blocks:
            return
        changed = self._blocks[0].written_worlds()
        for block in self._blocks[1:]:
            changed |= block.written_worlds()
        worlds = np.flatnonzero(changed)
        if len(worlds):
            written = [name for block in self._blocks for name in block.written_names(worlds)]
            self._accept(written, worlds)

    def _accept(self, written: list[str], worlds: NDArray[np.intp]) -> None:
        parts = [block.of(worlds) for block in self._blocks]
        if not all(map(_Block.are_allowed, self._blocks, parts)):
            for name in written:
                self._check(self._known[name], self._values[name][worlds], worlds)
        self._rejected.difference_update(written)
        if not self._elements.isdisjoint(written) and self._probe():
            written = list(self._values)
            worlds = np.arange(self._records.count)
            parts = [block.of(worlds) for block in self._blocks]
        written = [name for name in written if name not in self._rejected]
        own_part = dict(zip(self._blocks, parts, strict=True))
        values = {name: own_part[block][rows].T for name, (block, rows) in self._rows.items()}
        found = self._scene.changed(self._known, values, set(written), len(worlds))
        if found:
            columns = self._columns(np.concatenate([own.places for own in found]))
            numbers = np.concatenate([own.values for own in found], axis=1)
            self._numbers[worlds[:, None], columns] = numbers
        given = (self._numbers, self._scene.reach)
        if (
            given[0] is not self._given[0] or given[1] != self._given[1]
        ):  # the engine reads it in every call
            forces = self._scene.has_joint_forces(self._places)
            self._records.engine.set_varied(self._places, self._numbers, forces, self._scene.reach)
            self._given = given
        for block, part in own_part.items():
            block.see(worlds, part)
        if self._records.is_adaptive:  # not from the start of a step before what was written
            self._records.engine.parts["jumped"][worlds] = 1
        new = worlds[(self._records.steps[worlds] == 0) & (self._records.t[worlds] == 0)]
        if len(new):
            self._records.begin_signals(new.astype(np.int32))

    def _probe(self) -> bool:
        """Let fields of elements be numbers of programs; return whether all numbers have other places from now on."""
        fields = [
            own
            for own in self._known.values()
            if own.kind == "element" and own.name not in self._rejected
        ]
        try:
            model = self._scene.probe(fields)
        except SimulationError:
            for own in fields:
                if not self._scene.has_probed(own):
                    self._values[own.name][:] = self._seen[own.name][:] = own.start
                    self._rejected.add(own.name)
            raise
        self._elements.difference_update(own.name for own in fields)
        if model is None:
            return False
        self._records.set_model(model)
        self._places = np.zeros(0, np.int64)
        self._column_of = np.zeros(0, np.int64)
        self._numbers = np.zeros((self._records.count, 0))
        return True

    def engine_numbers(self, k: int) -> Array:
        """Return all numbers of the engine in a world."""
        self.accept()
        found = self._scene.numbers.values.copy()
        found[self._places] = self._numbers[k]
        return found

    def _check(self, parameter: Parameter, values: Array, worlds: NDArray[np.intp]) -> None:
        """Reject values (k, size) of worlds, which then keep those before."""
        wrong = parameter.invalid(values)
        if wrong is None and parameter.kind == "element":
            wrong = self._invalid_element(parameter, values)
        if wrong is None:
            return
        row, problem = wrong
        world = int(worlds[row])
        given = values[row].tolist() if parameter.is_list else float(values[row, 0])
        self._values[parameter.name][worlds] = self._seen[parameter.name][worlds]
        raise SimulationError(
            f"parameters: {parameter.name}", f"is {given} in world {world}; {problem}"
        )

    def _invalid_element(self, parameter: Parameter, values: Array) -> tuple[int, str] | None:
        """Return the first extreme of values (k, size) that an element does not allow, with the reason."""
        low, high = self._allowed.get(parameter.name, (parameter.start, parameter.start))
        least, most = values.min(axis=0), values.max(axis=0)
        if (least >= low).all() and (most <= high).all():
            return None
        rows = {int(row) for row in (*values.argmin(axis=0), *values.argmax(axis=0))}
        for row in sorted(rows):
            problem = check_field(self._records.scene.spec, parameter, values[row])
            if problem:
                return row, problem
        self._allowed[parameter.name] = np.minimum(low, least), np.maximum(high, most)
        block, rows_of_block = self._rows[parameter.name]
        block.allow(rows_of_block, *self._allowed[parameter.name])
        return None

    def _columns(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns of places, for which there is room from now on."""
        if not len(self._column_of):
            self._column_of = np.full(len(self._scene.numbers.values), -1)
        columns = self._column_of[places]
        if columns.min() >= 0:
            return columns
        known = np.union1d(self._places, places).astype(np.int64)
        numbers = np.tile(self._scene.numbers.values[known], (self._records.count, 1))
        numbers[:, np.searchsorted(known, self._places)] = self._numbers
        self._places, self._numbers = known, numbers
        self._column_of[known] = np.arange(len(known))
        return self._column_of[places]

    @contextmanager
    def scene_with_numbers(self, worlds: NDArray[np.int32]) -> Iterator[Scene]:
        """Return a context with a scene whose model has the numbers of worlds, in states with a row for each."""
        self.accept()
        if not len(self._places):
            yield self._records.scene
            return
        scene, numbers = self._scene.own, self._numbers[worlds]
        forces = self._scene.has_joint_forces(self._places)
        _engine.vary_states(scene.model, self._places, numbers, forces)
        try:
            yield scene
        finally:
            _engine.vary_states(scene.model, None, numbers, forces)

    # ---------------------------------------------------------------------------------------------------- records

    def scene_of(self, k: int) -> Scene:
        """Return the scene of a world, with its numbers."""
        self.accept()
        own = {name: values[k] for name, values in self._values.items()}
        return self._scene.compiled({self._known[name]: value for name, value in own.items()})

    def save(self, worlds: NDArray[np.int32]) -> bytes:
        """Return the numbers of worlds; nothing if no world was given any."""
        self.accept()
        names = [
            name for name in self._values if (self._values[name] != self._known[name].start).any()
        ]
        if not names:
            return b""
        header = json.dumps({name: self._values[name].shape[1] for name in names}).encode()
        numbers = np.hstack([self._values[name][worlds] for name in names])
        return len(header).to_bytes(8, "little") + header + numbers.tobytes()

    def check(self, saved: bytes, count: int) -> None:
        """Reject what `save` did not return of `count` worlds, or of a scene that has other parameters.

        Raises:
            SimulationError: a parameter is unknown here, or of another size; or the bytes are something else.
        """
        sizes, numbers = _saved_numbers(saved)
        for name, size in sizes.items():
            own = len(self._paths.find(name).start)
            if own != size:
                raise SimulationError(f"saved: {name}", f"has {size} numbers, and {own} here")
        if numbers.size != count * sum(sizes.values()) or np.isnan(numbers).any():
            raise _no_parameters()

    def load(self, saved: bytes, worlds: NDArray[np.int32]) -> None:
        """Give worlds the numbers that `save` returned and `check` allowed; all others are the scene's.

        Raises:
            SimulationError: a number that its key does not allow.
        """
        sizes, numbers = _saved_numbers(saved)
        for name, values in self._values.items():
            values[worlds] = self._known[name].start
        rows, at = numbers.reshape(len(worlds), sum(sizes.values())), 0
        for name, size in sizes.items():
            self._array(name)[worlds] = rows[:, at : at + size]
            at += size
        self.accept()


def _no_parameters() -> SimulationError:
    problem = "holds parameters of other worlds; load what Worlds.save returned"
    return SimulationError("saved", problem)


def _saved_numbers(saved: bytes) -> tuple[dict[str, int], Array]:
    """Return how many numbers a world has of each parameter in what `WorldParameters.save` returned, and all of them.

    Raises:
        SimulationError: the bytes are something else.
    """
    if not saved:
        return {}, np.zeros(0)
    end = 8 + int.from_bytes(saved[:8], "little")
    try:
        sizes = dict(json.loads(saved[8:end]))
        if not all(type(name) is str and type(size) is int for name, size in sizes.items()):
            raise _no_parameters()
        return sizes, np.frombuffer(saved, float, offset=end)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise _no_parameters() from None
