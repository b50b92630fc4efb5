"""`Worlds.parameters`: numbers of the scene in which worlds differ, as live arrays by the paths of their keys.

    worlds.parameters["body.rod.mass"][:] = rng.uniform(0.8, 1.2, len(worlds))
    worlds.parameters["model.go1.joint.FR_hip.damping"][fallen] *= 1.1

What is written counts from the next call on. Only what follows from the numbers of the worlds that were written is
computed again, for all of them at once; the engine stores by world only the numbers that some world was given.
The file is long because the class has all that can be done with parameters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.typing import Array
from pysim.worlds.argument_checks import assign
from pysim.worlds.parameters.element_fields import check_field
from pysim.worlds.parameters.number_program import number_program
from pysim.worlds.parameters.number_slopes import NumberSlopes, number_slopes
from pysim.worlds.parameters.parameter_block import ParameterBlock
from pysim.worlds.parameters.parameter_paths import ParameterPaths
from pysim.worlds.parameters.varied_numbers import digest_of, numbers_of
from pysim.worlds.parameters.varied_scene import VariedScene

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model_numbers import ModelNumbers
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameters.number_program import NumberProgram
    from pysim.worlds.parameters.parameter import Parameter
    from pysim.worlds.world_records import WorldRecords


_ROWS_OF_BLOCK = 64  # of a block
_SCENE = ""  # in place of the name of a parameter, for the digest of the scene of a list


class WorldParameters(Mapping[str, Any]):
    """Numbers of worlds by the path of their key, (n,) or (n, size), live; one world's have no axis of worlds.

    Args:
        records: of the worlds.
        is_single: whether there is one world, without an axis.
    """

    def __init__(self, records: WorldRecords, is_single: bool) -> None:
        self._records, self._is_single = records, is_single
        self._paths = ParameterPaths(records.scene)
        self._scene = VariedScene(records.scene, records.is_convex)
        self._blocks: list[ParameterBlock] = []
        self._values: dict[str, Array] = {}  # (n, size) by the parameter's name, in rows of blocks
        self._seen: dict[str, Array] = {}
        self._shown: dict[str, Array] = {}  # as users see them, by path
        self._rows: dict[str, tuple[ParameterBlock, slice]] = {}  # their places
        self._known: dict[str, Parameter] = {}
        self._unopened: set[str] = set()  # that programs of elements have as constants so far
        self._rejected: set[str] = set()  # fields that Python computes with
        self._moved: NDArray[np.intp] = np.zeros(0, int)
        self._allowed: dict[str, tuple[Array, Array]] = {}  # ranges of fields that were checked

    def __getitem__(self, path: object) -> Array:
        if not isinstance(path, str):
            problem = f"must be the path of a number, got {type(path).__name__}"
            raise SimulationError("parameters", f"{problem}; see list(worlds.parameters)")
        if path not in self._shown:
            values = self._array(path)
            parameter = self._known[self._paths.find(path).name]
            shown = values if parameter.is_list else values[:, 0]
            self._shown[path] = shown[0, ...] if self._is_single else shown
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
        return bool(self._values) or self._records.scenes is not None

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
                self._blocks.append(ParameterBlock(max(_ROWS_OF_BLOCK, size), self._records.count))
            block = self._blocks[-1]
            rows, self._values[name], self._seen[name] = block.add(name, self._starts(parameter))
            self._rows[name] = block, rows
            if self._records.scenes is None and self._scene.is_read(parameter):
                self._unopened.add(name)
            if parameter.kind != "element":
                block.allow(rows, *parameter.bounds)
        return self._values[name]

    @property
    def are_lengths(self) -> bool:
        """Whether worlds differ in lengths of rods."""
        return any(parameter.of_whole_scene for parameter in self._known.values())

    def _starts(self, parameter: Parameter) -> Array:
        """Return the values of a parameter that were not written: (size,) of all worlds, or (n, size)."""
        scenes = self._records.scenes
        if scenes is None:
            return parameter.start
        return np.array([ParameterPaths(own).find(parameter.name).start for own in scenes])

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
            records = self._records
            is_new = (records.steps[worlds] == 0) & (records.t[worlds] == 0)
            for part in (records.q, records.v):  # what was written may be impossible
                is_new &= np.isfinite(part[worlds]).all(axis=1)
            new = worlds[is_new].astype(np.int32)
            before = records.blocks.at_start(new, lambda k: self._scene_of(k, self._seen))
            self._accept(written, worlds)
            records.blocks.follow(new, before)

    def take_moved(self) -> NDArray[np.intp]:
        """Return the worlds whose lengths were written, and forget them."""
        moved, self._moved = self._moved, np.zeros(0, int)
        return moved

    def _accept(self, written: list[str], worlds: NDArray[np.intp]) -> None:
        parts = [block.of(worlds) for block in self._blocks]
        if not all(map(ParameterBlock.are_allowed, self._blocks, parts)):
            for name in written:
                self._check(self._known[name], self._values[name][worlds], worlds)
        self._rejected.difference_update(written)
        if not self._unopened.isdisjoint(written) and self._open_numbers():
            written = [name for name in written if self._known[name].kind != "element"]
        self._follow(written, worlds)

    @property
    def _opened(self) -> list[str]:
        """Names of the parameters from which constants of programs follow that differ from those of the scene."""
        return [
            name
            for name, own in self._known.items()
            if own.kind == "element"
            or (self._scene.is_read(own) and (self._values[name] != own.start).any())
        ]

    def _follow(
        self, written: Sequence[str], worlds: NDArray[np.intp], opened: Sequence[str] = ()
    ) -> None:
        """Let the engine's numbers of worlds follow from parameters that were written.

        Args:
            written: their names.
            worlds: the worlds.
            opened: parameters from which constants of programs follow that were not there before.
        """
        parts = [block.of(worlds) for block in self._blocks]
        written = [name for name in written if name not in self._rejected]
        opened = [name for name in opened if name not in self._rejected]
        own_part = dict(zip(self._blocks, parts, strict=True))
        varied = self._records.varied
        is_compiled = self._are_compiled([*written, *opened], worlds)
        self._compile(worlds[is_compiled])
        not_compiled = worlds[~is_compiled]
        if len(not_compiled):
            values = {
                name: own_part[block][rows][:, ~is_compiled].T
                for name, (block, rows) in self._rows.items()
            }
            follow, programs = (
                {name for name in names if not self._scene.is_compiled(self._known[name])}
                for names in (written, opened)
            )
            found = self._scene.changed(self._known, values, follow, len(not_compiled), programs)
            if found:
                places = np.concatenate([own.places for own in found])
                varied.set(
                    not_compiled, places, np.concatenate([own.values for own in found], axis=1)
                )
            varied.reach = max(varied.reach, self._scene.reach)
        varied.lend(self._records.engine)
        for block, part in own_part.items():
            block.note_numbers(worlds, part)
        if self._records.is_adaptive:  # not from the start of a step before what was written
            self._records.engine.parts["jumped"][worlds] = 1

    def _are_compiled(self, written: Sequence[str], worlds: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which worlds get their numbers from scenes that are compiled for them."""
        found = np.full(len(worlds), self._records.scenes is not None)
        for own in filter(self._scene.is_compiled, self._known.values()):
            values = self._values[own.name][worlds]
            if own.name in written:
                found |= (values != self._seen[own.name][worlds]).any(axis=1)
            found |= (values != own.start).any(axis=1)
        return found

    def _compile(self, worlds: NDArray[np.intp]) -> None:
        """Let worlds have the numbers of their scenes, which are compiled with their parameters.

        Raises:
            SimulationError: a number changes what worlds share.
        """
        varied = self._records.varied
        for k in worlds.tolist():
            before = varied.of(k)
            try:
                if self._records.scenes is None:
                    values = {self._known[name]: x[k] for name, x in self._values.items()}
                    scene = self._scene.compiled_open(values)
                else:
                    scene = self._scene_of(k)
            except SimulationError as error:
                self._take_back(k)
                raise SimulationError(error.where, f"{error.problem}, in world {k}") from error
            found = numbers_of(scene)
            difference = self._records.scene.model.structure_difference(scene.model)
            if difference or len(found.numbers) != len(before) or found.shared != self._shared:
                self._reject_structure(k, difference)
            places = np.flatnonzero(found.numbers != before)
            varied.set(np.array([k]), places, found.numbers[None, places])
            varied.note_reach([scene])
        if self.are_lengths:
            self._moved = np.union1d(self._moved, worlds)

    @cached_property
    def _shared(self) -> dict[str, object]:
        """Properties of the compiled scene that all worlds share."""
        return numbers_of(self._records.scene).shared

    def _reject_structure(self, k: int, difference: str) -> None:
        """Reject parameters of a world, which then has those before."""
        self._take_back(k)
        problem = f"the numbers of world {k} change what worlds share"
        if difference:
            problem = f"{problem} ({difference})"
        raise SimulationError("parameters", f"{problem}; load scenes with pysim.load_scenes")

    def _take_back(self, k: int) -> None:
        """Let the parameters of a world be those before."""
        for name, values in self._values.items():
            values[k] = self._seen[name][k]

    def _open_numbers(self) -> bool:
        """Let numbers of programs follow from parameters; return whether they have other constants from now on."""
        fields = [
            field
            for field in self._known.values()
            if self._scene.is_read(field) and field.name not in self._rejected
        ]
        before, varied = self._scene.numbers, self._records.varied
        places, values, reach = varied.places, varied.values, varied.reach
        try:
            model = self._scene.open(fields)
        except SimulationError:
            for field in fields:
                if not self._scene.has_opened(field):
                    self._values[field.name][:] = self._seen[field.name][:] = field.start
                    self._rejected.add(field.name)
            raise
        self._unopened.difference_update(field.name for field in fields)
        if model is None:
            return False
        self._records.set_model(model)
        places = before.places_in(self._scene.numbers, places)
        are_others = places >= 0  # than constants of programs
        worlds = np.arange(self._records.count)
        varied.set(worlds, places[are_others], values[:, are_others])
        varied.reach = reach
        self._follow((), worlds, self._opened)
        return True

    def open(self, paths: Sequence[str]) -> list[Parameter]:
        """Return parameters; fields of elements are numbers of programs from now on.

        Raises:
            SimulationError: there is no such number, or it changes more than numbers of steps.
        """
        for path in paths:
            self._array(path)
        self.accept()
        if self._unopened:
            self._rejected -= self._unopened
            self._open_numbers()
        return [self._known[self._paths.find(path).name] for path in paths]

    def differ_in(self, places: NDArray[np.intp]) -> None:
        """Let worlds differ in numbers at places of the engine from now on."""
        self._records.varied.widen(places)
        self._records.varied.lend(self._records.engine)

    def slopes(self, paths: Sequence[str], part: float) -> dict[str, NumberSlopes]:
        """Return the derivatives of the engine's numbers by parameters.

        Args:
            paths: of the parameters.
            part: step of the differences, relative to a parameter.
        """
        chosen = {path: self._paths.find(path) for path in paths}
        known = {**self._known, **{own.name: own for own in chosen.values()}}
        values = {name: own if self._differ(own) else own[:1] for name, own in self._values.items()}
        for own in chosen.values():
            values.setdefault(own.name, own.start[None])
        found = number_slopes(self._scene, known, values, list(chosen.values()), part)
        return dict(zip(chosen, found, strict=True))

    @staticmethod
    def _differ(values: Array) -> bool:
        return bool((values != values[:1]).any())

    @property
    def numbers(self) -> ModelNumbers:
        """Places of the engine's numbers."""
        return self._scene.numbers

    def program(self, paths: Sequence[str]) -> tuple[list[Parameter], NumberProgram]:
        """Return parameters with the program of the engine's numbers that follow from them.

        Raises:
            SimulationError: there is no such number, or Python computes with it.
        """
        parameters = self.open(paths)
        return parameters, number_program(self._scene, parameters)

    def engine_numbers(self, k: int) -> Array:
        """Return all numbers of the engine in a world."""
        self.accept()
        return self._records.varied.of(k)

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

    # ---------------------------------------------------------------------------------------------------- records

    def scene_of(self, k: int) -> Scene:
        """Return the scene of a world, with its numbers."""
        self.accept()
        return self._scene_of(k)

    def _scene_of(self, k: int, of_worlds: Mapping[str, Array] | None = None) -> Scene:
        """Return the scene of a world, with its numbers of those of all worlds, which are present ones by default."""
        values = self._values if of_worlds is None else of_worlds
        own, scene, paths = self._records.scenes, self._scene, self._paths
        if own is not None:
            scene, paths = VariedScene(own[k], self._records.is_convex), ParameterPaths(own[k])
        return scene.compiled({paths.find(name): x[k] for name, x in values.items()})

    def save(self, worlds: NDArray[np.int32]) -> bytes:
        """Return the numbers of worlds; nothing if no world was given any."""
        self.accept()
        starts = {name: self._starts(self._known[name]) for name in self._values}
        names = [name for name, own in self._values.items() if (own != starts[name]).any()]
        columns = {name: self._values[name][worlds] for name in names}
        if self._records.scenes is not None:
            columns[_SCENE] = self._scene_digests[worlds]
        if not columns:
            return b""
        header = json.dumps({name: own.shape[1] for name, own in columns.items()}).encode()
        numbers = np.hstack([*columns.values()])
        return len(header).to_bytes(8, "little") + header + numbers.tobytes()

    def check(self, saved: bytes, worlds: NDArray[np.int32]) -> None:
        """Reject what `save` did not return of as many worlds, or of a scene that has other parameters.

        Raises:
            SimulationError: a parameter is unknown here, or of another size; worlds are of other scenes of a list; or
                the bytes are something else.
        """
        sizes, numbers = _saved_numbers(saved)
        for name, size in sizes.items():
            own = 1 if name == _SCENE else len(self._paths.find(name).start)
            if own != size:
                raise SimulationError(f"saved: {name}", f"has {size} numbers, and {own} here")
        if numbers.size != len(worlds) * sum(sizes.values()) or np.isnan(numbers).any():
            raise _no_parameters()
        if (_SCENE in sizes) != (self._records.scenes is not None):
            raise _no_parameters()
        if _SCENE in sizes:
            differs = numbers.reshape(len(worlds), -1)[:, -1] != self._scene_digests[worlds, 0]
            if differs.any():
                world = int(worlds[differs.argmax()])
                problem = f"is of other scenes of a list than world {world} here"
                raise SimulationError("saved", f"{problem}; load it into worlds of the same ones")

    def load(self, saved: bytes, worlds: NDArray[np.int32]) -> None:
        """Give worlds the numbers that `save` returned and `check` allowed; all others are the scene's.

        Raises:
            SimulationError: a number that its key does not allow.
        """
        sizes, numbers = _saved_numbers(saved)
        for name, values in self._values.items():
            starts = self._starts(self._known[name])
            values[worlds] = starts if starts.ndim == 1 else starts[worlds]
        rows, at = numbers.reshape(len(worlds), sum(sizes.values())), 0
        for name, size in sizes.items():
            if name != _SCENE:
                self._array(name)[worlds] = rows[:, at : at + size]
            at += size
        self.accept()

    @cached_property
    def _scene_digests(self) -> Array:
        """Whole numbers (n, 1) by which the numbers of the scenes of a list differ."""
        return np.array([[digest_of(own)] for own in self._records.scenes or ()])


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
