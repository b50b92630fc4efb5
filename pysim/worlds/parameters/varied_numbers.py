"""Numbers of the engine in which worlds of a scene differ: the one table of lists of scenes, sweeps and parameters.

The engine lists all numbers of a model and its contacts in one order (cpp/tree/model_copy.hpp). Those in which at least
one world differs have a column here, with a row for each world; a pack reads its rows, and shares all other numbers.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim.errors import ModelError, SimulationError
from pysim.integrators import find_integrator
from pysim.typing import Array
from pysim.worlds.python_stepping import runs_in_python

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene


_PLACEMENT = 12  # numbers at the begin of the record of a body
# settings by which all worlds of a call are stepped
_OF_STEPS = ("integrator", "step", "parameters", "rtol", "atol", "on_failure")


class SceneNumbers(NamedTuple):
    """Numbers of a scene in which worlds that are stepped together may differ, and what they share."""

    numbers: Array  # in the engine's order
    tables: tuple[tuple[str, int, int], ...]  # name, place of the first number, records
    shared: dict[str, object]  # by what it is, with values that can be compared and hashed


def numbers_of(scene: Scene) -> SceneNumbers:
    """Return the numbers of a scene, and what worlds share that are stepped with it."""
    is_convex = find_integrator(scene.settings.integrator).contacts
    contacts = None if scene.contacts is None else scene.contacts.engine
    numbers, tables, structure = _engine.model_numbers(scene.model, contacts)
    of_contacts = next((place for name, place, _ in tables if name == "laws"), len(numbers))
    drive, signals = scene.actuation, scene.signals
    arrays = (drive.offset, drive.amplitude, drive.frequency, drive.phase)
    shared: dict[str, object] = {
        "the tables of its numbers": tuple(tables),
        "its prescribed forces": b"".join(x.tobytes() for x in arrays),
        "its shapes that touch, or their places": structure,
        "its events": tuple(map(repr, scene.spec.events)),
    }
    if scene.contacts is not None and len(scene.contacts.shapes):
        place, records = next(
            (place, records) for name, place, records in tables if name == "bodies"
        )
        end = next(place for name, place, _ in tables if name == "plane_bodies")
        bodies = np.asarray(numbers[place:end]).reshape(records, -1)
        shared["the places of its joints"] = bodies[:, :_PLACEMENT].tobytes()
    if not is_convex:
        shared["its surfaces"] = numbers[of_contacts:].tobytes()
        shared["its slip_speed"] = scene.settings.slip_speed
        numbers = numbers[:of_contacts]
    if signals is not None:
        shared["the periods of its blocks"] = tuple(signals.periods)
        shared["its random numbers"] = repr(signals.noise)
    if runs_in_python(scene) or (signals is not None and signals.callbacks):
        shared["what it computes in Python"] = id(scene)
    return SceneNumbers(np.asarray(numbers), tuple(tables), shared)


def digest_of(scene: Scene) -> float:
    """Return a whole number by which scenes with other numbers differ."""
    numbers = numbers_of(scene).numbers
    return float(int.from_bytes(hashlib.blake2b(numbers.tobytes(), digest_size=6).digest()))


def check_alike(scenes: Sequence[Scene], settings: Sequence[str], remedy: str) -> None:
    """Reject scenes whose structure, steps or further `settings` differ from those of the first one.

    Raises:
        ModelError: a model differs in structure.
        SimulationError: a setting differs.
    """
    first = scenes[0]
    for k, scene in enumerate(scenes[1:], 1):
        if difference := first.model.structure_difference(scene.model):
            problem = f"differs from scene[0] in structure: {difference}"
            raise ModelError(f"scene[{k}]", f"{problem}; {remedy}")
        for name in (*_OF_STEPS, *settings):
            value, other = getattr(scene.settings, name), getattr(first.settings, name)
            if value != other:
                problem = f"{name} is {value}, but {other} in scene[0]"
                raise SimulationError(f"scene[{k}]", f"{problem}; {remedy}")


def alike(scenes: Sequence[Scene]) -> list[tuple[NDArray[np.intp], list[SceneNumbers]]]:
    """Return which scenes can be stepped together, the first one's first, with their numbers.

    The scenes have the same structure and settings.
    """
    groups: dict[tuple[object, ...], tuple[list[int], list[SceneNumbers]]] = {}
    for k, numbers in enumerate(map(numbers_of, scenes)):
        key = (*numbers.shared.keys(), *numbers.shared.values())
        worlds, together = groups.setdefault(key, ([], []))
        worlds.append(k)
        together.append(numbers)
    return [(np.array(worlds), together) for worlds, together in groups.values()]


def numbers_together(scenes: Sequence[Scene]) -> list[SceneNumbers]:
    """Return the numbers of scenes that are all stepped together.

    Raises:
        SimulationError: two of them cannot be.
    """
    (_, numbers), *apart = alike(scenes)
    if not apart:
        return numbers
    worlds, others = apart[0]
    for name, value in others[0].shared.items():
        if numbers[0].shared.get(name) != value:
            break
    problem = f"differs from scene[0] in {name}, which worlds that are stepped together share"
    raise SimulationError(f"scene[{worlds[0]}]", f"{problem}; run it in pysim.rollout")


@dataclass
class VariedNumbers:
    """Numbers in which worlds differ: `values` (worlds, places) at places in the engine's order.

    Args:
        scene: whose numbers all worlds have that are not in the table.
        count: of worlds.
        is_convex: whether steps solve contacts.
    """

    scene: Scene
    count: int
    is_convex: bool

    def __post_init__(self) -> None:
        self.clear(self.scene)

    def clear(self, scene: Scene) -> None:
        """Let all worlds have the numbers of a scene."""
        self.scene = scene
        self.places = np.zeros(0, np.int64)
        self.values = np.zeros((self.count, 0))
        self.reach = 0.0  # [m] by which centres of mass of roots may be farther from their joints
        self._column_of = np.zeros(0, np.int64)  # of every number, −1 for none
        self._lent: tuple[Array | None, float] = None, 0.0  # values and reach that the engine has
        for name in ("_listed", "_varied_scene"):
            self.__dict__.pop(name, None)

    @cached_property
    def _listed(self) -> tuple[Array, dict[str, int]]:
        """All numbers of the scene, and the places at which their tables begin."""
        contacts = self.scene.contacts
        engine = contacts.engine if self.is_convex and contacts is not None else None
        numbers, tables, _ = _engine.model_numbers(self.scene.model, engine)
        return np.asarray(numbers), {name: place for name, place, _ in reversed(tables)}

    @cached_property
    def _varied_scene(self) -> Scene:
        """The scene with a model of its own, whose numbers may be those of states."""
        return replace(self.scene, model=self.scene.model.replaced())

    @property
    def joint_forces(self) -> bool:
        """Whether forces of joints are among the numbers."""
        at = self._listed[1]
        begin, end = at["passive"], at["mimic_q"]
        return bool(((self.places >= begin) & (self.places < end)).any())

    def set(self, worlds: NDArray[np.intp], places: NDArray[np.intp], numbers: Array) -> None:
        """Give worlds numbers (k, places)."""
        if len(places):
            self.widen(places)
            self.values[worlds[:, None], self._column_of[places]] = numbers

    def set_scenes(self, found: Sequence[SceneNumbers], scenes: Sequence[Scene]) -> None:
        """Give every world the numbers of its scene."""
        numbers = np.array([own.numbers for own in found])
        places = np.flatnonzero((numbers != self._listed[0]).any(axis=0))
        self.set(np.arange(self.count), places, numbers[:, places])
        self.note_reach(scenes)

    def note_reach(self, scenes: Sequence[Scene]) -> None:
        """Note how far centres of mass of roots are from their joints, which bounds the motion of their shapes."""
        if not self.is_convex:
            return
        own = _distances(self.scene)
        for scene in scenes:
            self.reach = max(self.reach, float((_distances(scene) - own).max(initial=0.0)))

    def lend(self, engine: _engine.Worlds | _engine.FloatWorlds) -> None:
        """Let the engine step by the numbers, which it reads in every call."""
        lent = (self.values, self.reach)
        if lent[0] is self._lent[0] and lent[1] == self._lent[1]:
            return
        engine.set_varied(self.places, self.values, self.joint_forces, self.reach)
        self._lent = lent

    def of(self, k: int) -> Array:
        """Return all numbers of the engine in a world."""
        found = self._listed[0].copy()
        found[self.places] = self.values[k]
        return found

    @contextmanager
    def scene_of_states(self, worlds: NDArray[np.int32]) -> Iterator[Scene]:
        """Return a context with a scene whose model has the numbers of worlds, in states with a row for each."""
        if not len(self.places):
            yield self.scene
            return
        scene, numbers, forces = self._varied_scene, self.values[worlds], self.joint_forces
        _engine.vary_states(scene.model, self.places, numbers, forces)
        try:
            yield scene
        finally:
            _engine.vary_states(scene.model, None, numbers, forces)

    def widen(self, places: NDArray[np.intp]) -> None:
        """Have columns for places; those that are new hold the numbers of the scene."""
        start = self._listed[0]
        if not len(self._column_of):
            self._column_of = np.full(len(start), -1)
        if self._column_of[places].min(initial=0) >= 0:
            return
        known = np.union1d(self.places, places).astype(np.int64)
        numbers = np.tile(start[known], (self.count, 1))
        numbers[:, np.searchsorted(known, self.places)] = self.values
        self.places, self.values = known, numbers
        self._column_of[known] = np.arange(len(known))


def _distances(scene: Scene) -> Array:
    """Return the distances of the centres of mass of roots from their joints [m], 0 of those without mass."""
    model = scene.model
    roots = [body.theta for body, up in zip(model.bodies, model.parents, strict=True) if up < 0]
    return np.array([np.linalg.norm(x[1:4] / x[0]) if x[0] > 0 else 0.0 for x in roots])
