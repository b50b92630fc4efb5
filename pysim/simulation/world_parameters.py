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
from pysim.errors import SimulationError
from pysim.simulation.parameter_paths import ParameterPaths
from pysim.simulation.probed_numbers import check_field
from pysim.simulation.varied_scene import VariedScene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from pysim.simulation.loading import Scene
    from pysim.simulation.parameter_paths import Parameter
    from pysim.simulation.world_records import WorldRecords

    Array = NDArray[np.float64]


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
        self._values: dict[str, Array] = {}  # (n, size) by the parameter's name
        self._seen: dict[str, Array] = {}
        self._known: dict[str, Parameter] = {}
        self._places = np.zeros(0, np.int64)
        self._numbers = np.zeros((records.count, 0))

    def __getitem__(self, path: str) -> Array:
        values = self._array(path)
        parameter = self._known[self._paths.find(path).name]
        shown = values if parameter.is_list else values[:, 0]
        return (
            shown[0, ...]
            if self._one and parameter.is_list
            else shown.reshape(())
            if self._one
            else shown
        )

    def __setitem__(self, path: str, value: ArrayLike) -> None:
        self[path][...] = value

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
        if name not in self._values:
            self._known[name] = parameter
            self._values[name] = np.tile(parameter.start, (self._records.count, 1))
            self._seen[name] = self._values[name].copy()
        return self._values[name]

    # -------------------------------------------------------------------------------------------------- changes

    def accept(self) -> None:
        """Take over what was written.

        Raises:
            SimulationError: a number that its key does not allow.
        """
        written = [
            name
            for name in self._values
            if not np.array_equal(self._values[name], self._seen[name])
        ]
        if written:
            self._accept(written)

    def _accept(self, written: list[str]) -> None:
        rows = np.zeros(self._records.count, bool)
        for name in written:
            rows |= (self._values[name] != self._seen[name]).any(axis=1)
        worlds = np.flatnonzero(rows)
        for name in written:
            self._check(self._known[name], worlds)
        if any(self._known[name].kind == "element" for name in written) and self._probe():
            written = list(self._values)
            worlds = np.arange(self._records.count)
        values = {name: own[worlds] for name, own in self._values.items()}
        for places, numbers in self._scene.changed(self._known, values, set(written), len(worlds)):
            columns = self._columns(places)
            self._numbers[np.ix_(worlds, columns)] = numbers
        self._records.engine.set_varied(
            self._places,
            self._numbers,
            self._scene.has_joint_forces(self._places),
            self._scene.reach,
        )
        for name in written:
            self._seen[name][worlds] = self._values[name][worlds]
        new = worlds[(self._records.steps[worlds] == 0) & (self._records.t[worlds] == 0)]
        if len(new):
            self._records.begin_signals(new.astype(np.int32))

    def _probe(self) -> bool:
        """Let fields of elements be numbers of programs; return whether all numbers have other places from now on."""
        fields = [own for own in self._known.values() if own.kind == "element"]
        try:
            model = self._scene.probe(fields)
        except SimulationError:
            for own in fields:
                if not self._scene.has_probed(own):
                    self._values[own.name][:] = own.start
                    self._seen[own.name][:] = own.start
                    del self._known[own.name], self._values[own.name], self._seen[own.name]
            raise
        if model is None:
            return False
        self._records.set_model(model)
        self._places = np.zeros(0, np.int64)
        self._numbers = np.zeros((self._records.count, 0))
        return True

    def engine_numbers(self, k: int) -> Array:
        """Return all numbers of the engine in a world."""
        self.accept()
        found = self._scene.numbers.values.copy()
        found[self._places] = self._numbers[k]
        return found

    def _check(self, parameter: Parameter, worlds: NDArray[np.intp]) -> None:
        values = self._values[parameter.name][worlds]
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
        rows = {int(row) for row in (*values.argmin(axis=0), *values.argmax(axis=0))}
        for row in sorted(rows):
            problem = check_field(self._records.scene.spec, parameter, values[row])
            if problem:
                return row, problem
        return None

    def _columns(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns of places, for which there is room from now on."""
        missing = np.setdiff1d(places, self._places)
        if len(missing):
            known = np.union1d(self._places, missing).astype(np.int64)
            numbers = np.tile(self._scene.numbers.values[known], (self._records.count, 1))
            numbers[:, np.searchsorted(known, self._places)] = self._numbers
            self._places, self._numbers = known, numbers
        return np.searchsorted(self._places, places)

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

    def load(self, saved: bytes, worlds: NDArray[np.int32]) -> None:
        """Give worlds the numbers that `save` returned; all others are the scene's."""
        for name, values in self._values.items():
            values[worlds] = self._known[name].start
        if saved:
            length = int.from_bytes(saved[:8], "little")
            sizes = json.loads(saved[8 : 8 + length])
            numbers = np.frombuffer(saved, float, offset=8 + length).reshape(len(worlds), -1)
            at = 0
            for name, size in sizes.items():
                self._array(name)[worlds] = numbers[:, at : at + size]
                at += size
        self.accept()
