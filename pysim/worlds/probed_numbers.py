"""Numbers of programs that follow from fields of elements: gains, time constants, stiffnesses.

A field is a constant of traced programs, perhaps folded with others. The scene is compiled again with values that no
other field has, so that each gets constants of its own, and twice more with all of them changed by factors that
differ. A constant y that is multiplied by f_i^n is

    y = y₀ (x_i / x_i0)^n        n = ±1, ±2

of the one field x_i. What follows from fields in another way is found out by changing one field at a time, and is

    y = y₀ + b (x_i − x_i0)

or else the field is rejected: Python computes with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim import _engine
from pysim.elements.block import find_block
from pysim.elements.force import find_force
from pysim.errors import PysimError, SimulationError
from pysim.mechanism.model_numbers import Changed
from pysim.plugins.fields import build
from pysim.scene.spec import BlockSpec, ForceSpec, with_fields
from pysim.typing import Array
from pysim.worlds.loading import compile_scene

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.scene.spec import SceneSpec
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameter_paths import Parameter

ELEMENTS = ("signal", "sensor", "controller", "actuator", "force")
_POWERS = (1, -1, 2, -2)
_SAME = 1e-13  # relative difference of numbers that are equal
_GOLDEN = 0.6180339887498949


class _Law(NamedTuple):
    """Numbers at places that follow from a field x: start + slope x, or start (x / at)^power with another power."""

    places: NDArray[np.intp]
    start: Array
    power: int  # 0 and 1 are straight lines
    slope: Array
    at: float


class ProbedNumbers:
    """Numbers of a scene's programs by the fields of its elements that worlds may have of their own.

    Args:
        scene: of all worlds.
        parameters: fields of elements that worlds have.

    Raises:
        SimulationError: Python computes with a field, or branches on it.
    """

    def __init__(self, scene: Scene, parameters: Sequence[Parameter]) -> None:
        self.parameters = tuple(parameters)
        self._scene = scene
        self._first = {p.name: _distinct(p.start, n) for n, p in enumerate(parameters)}
        self.scene = self._compiled(self._first)
        self._numbers = self._numbers_of(self.scene)
        self._laws: dict[tuple[str, int], list[_Law]] = {}
        self._straight: dict[tuple[str, ...], tuple[Any, Array, Array, Any]] = {}
        self._find()

    def changed(self, fields: Mapping[str, Array]) -> list[Changed]:
        """Return the numbers that follow from the values (k, size) of fields."""
        keys = [(name, i) for name, own in fields.items() for i in range(own.shape[1])]
        x = np.concatenate([own.T for own in fields.values()]).T
        found = [
            Changed(law.places, law.start * (x[:, n : n + 1] / law.at) ** law.power)
            for n, key in enumerate(keys)
            for law in self._laws[key]
            if law.power not in (0, 1)
        ]
        names = tuple(fields)
        if names not in self._straight:
            self._straight = {names: self._straight_laws(keys)}  # in general, of every draw
        places, start, slope, field = self._straight[names]
        if len(places):
            found.append(Changed(places, start + slope * x[:, field]))
        return found

    def _straight_laws(self, keys: Sequence[tuple[str, int]]) -> tuple[Any, Array, Array, Any]:
        """Return places, start, slope and number of the field of what follows from fields by straight lines."""
        laws = [(n, law) for n, key in enumerate(keys) for law in self._laws[key]]
        laws = [(n, law) for n, law in laws if law.power in (0, 1)]
        if not laws:
            return np.zeros(0, int), np.zeros(0), np.zeros(0), np.zeros(0, int)
        return (
            np.concatenate([law.places for _, law in laws]),
            np.concatenate([law.start for _, law in laws]),
            np.concatenate([law.slope for _, law in laws]),
            np.repeat([n for n, _ in laws], [len(law.places) for _, law in laws]),
        )

    # ------------------------------------------------------------------------------------------------------ laws

    def _find(self) -> None:
        keys = [(p, i) for p in self.parameters for i in range(len(p.start))]
        self._laws = {(p.name, i): [] for p, i in keys}
        if self._scene.signals is not None and self._starts() != self._starts_of(self.scene):
            self._reject_start(keys)
        factors = [1 + 0.1 * ((n + 1) * _GOLDEN % 1) + 0.05 for n in range(len(keys))]
        others = [1 / (1 + 0.13 * ((n + 1) * _GOLDEN**2 % 1) + 0.04) for n in range(len(keys))]
        ratios = [self._ratios(keys, own) for own in (factors, others)]
        left = np.flatnonzero((np.abs(ratios[0] - 1) > _SAME) | (np.abs(ratios[1] - 1) > _SAME))
        for power in _POWERS:
            for n, (parameter, i) in enumerate(keys):
                is_own = _same(ratios[0][left], factors[n] ** power)
                is_own &= _same(ratios[1][left], others[n] ** power)
                if is_own.any():
                    self._add(parameter, i, left[is_own], power)
                    left = left[~is_own]
        if len(left):
            self._find_affine(keys, left)
        for parameter, i in keys:
            if not self._laws[parameter.name, i]:
                problem = (
                    "changes no number that steps read in a way that worlds could have of their own"
                )
                raise SimulationError(
                    f"parameters: {parameter.name}",
                    f"{problem}; load scenes with pysim.load_scenes",
                )

    def _find_affine(self, keys: list[tuple[Parameter, int]], left: NDArray[np.intp]) -> None:
        """Find numbers that are affine in one field."""
        owner = np.full(len(self._numbers), -1)
        for n, (parameter, i) in enumerate(keys):
            x0 = self._first[parameter.name][i]
            # of infinite limits, which are not among those left
            with np.errstate(invalid="ignore"):
                moved = [
                    self._one_changed(parameter, i, x0 * f) - self._numbers for f in (1.5, 0.75)
                ]
            some = left[(moved[0][left] != 0) | (moved[1][left] != 0)]
            if not len(some):
                continue
            slope = moved[0][some] / (0.5 * x0)
            size = np.abs(self._numbers[some]) + np.abs(moved[0][some])
            is_affine = np.abs(moved[1][some] + 0.25 * x0 * slope) <= 1e-12 * size
            if not is_affine.all() or (owner[some] >= 0).any():
                problem = "Python computes with it, or with several fields together, before the run"
                raise SimulationError(
                    f"parameters: {parameter.name}",
                    f"{problem}; load scenes with pysim.load_scenes",
                )
            owner[some] = n
            start = self._numbers[some] - slope * x0
            self._laws[parameter.name, i].append(_Law(some, start, 0, slope, float(x0)))

    def _add(self, parameter: Parameter, i: int, places: NDArray[np.intp], power: int) -> None:
        at = float(self._first[parameter.name][i])
        numbers = self._numbers[places]
        start, slope = numbers, np.zeros(len(places))
        if power == 1:  # a number that is the field, or its negative, is that to the bit
            slope = np.where(np.abs(numbers) == abs(at), np.sign(numbers * at), numbers / at)
            start = np.zeros(len(places))
        law = _Law(places, start, power, slope, at)
        self._laws[parameter.name, i].append(law)

    def _ratios(self, keys: list[tuple[Parameter, int]], factors: list[float]) -> Array:
        values = {name: own.copy() for name, own in self._first.items()}
        for (parameter, i), factor in zip(keys, factors, strict=True):
            values[parameter.name][i] *= factor
        found = self._numbers_of(self._compiled(values))
        return np.divide(
            found, self._numbers, out=np.ones_like(found), where=found != self._numbers
        )

    def _one_changed(self, parameter: Parameter, i: int, value: float) -> Array:
        values = {name: own.copy() for name, own in self._first.items()}
        values[parameter.name][i] = value
        return self._numbers_of(self._compiled(values))

    def _compiled(self, values: Mapping[str, Array]) -> Scene:
        known = {p.name: p for p in self.parameters}
        spec = with_elements(self._scene.spec, {known[name]: own for name, own in values.items()})
        try:
            scene = compile_scene(spec)
        except PysimError as error:
            names = ", ".join(values)
            raise SimulationError(
                f"parameters: {names}", f"{error.problem}; load scenes with pysim.load_scenes"
            ) from error
        if scene.model.signal_numbers != self._scene.model.signal_numbers:
            self._reject_structure()
        return scene

    def _numbers_of(self, scene: Scene) -> Array:
        numbers, _, _ = _engine.model_numbers(scene.model, None)
        if "_numbers" in self.__dict__ and (
            len(numbers) != len(self._numbers) or self.scene.model.structure_difference(scene.model)
        ):
            self._reject_structure()
        return np.asarray(numbers)

    def _reject_structure(self) -> None:
        names = ", ".join(p.name for p in self.parameters)
        problem = "Python branches on it"
        raise SimulationError(
            f"parameters: {names}", f"{problem}; load scenes with pysim.load_scenes"
        )

    def _starts(self) -> tuple[float, ...]:
        return self._starts_of(self._scene)

    @staticmethod
    def _starts_of(scene: Scene) -> tuple[float, ...]:
        return () if scene.signals is None else scene.signals.start

    def _reject_start(self, keys: list[tuple[Parameter, int]]) -> None:
        for parameter, _ in keys:
            values = {p.name: p.start for p in self.parameters}
            values[parameter.name] = self._first[parameter.name]
            if self._starts_of(self._compiled(values)) != self._starts():
                problem = "is the start of a state or an input, and no number of steps"
                raise SimulationError(
                    f"parameters: {parameter.name}",
                    f"{problem}; write worlds.inputs, or load scenes",
                )


def _distinct(start: Array, n: int) -> Array:
    """Return values that no other field has, near those of a field."""
    own = start.copy()
    for i in range(len(own)):
        share = 1 + 1e-3 * ((17 * n + i + 1) * _GOLDEN % 1)
        own[i] = own[i] * share if own[i] != 0 else 1e-3 * share
    return own


def _same(x: Array, y: float) -> NDArray[np.bool_]:
    return np.abs(x - y) <= _SAME * abs(y)


# ------------------------------------------------------------------------------------------------ fields of elements


def element_field(spec: SceneSpec, kind: str, name: str, key: str) -> tuple[Array, bool] | None:
    """Return the numbers of an element's field, and whether it is a list; None if it has no such numbers."""
    element = find_element(spec, kind, name)
    if element is None:
        return None
    if key in element.parameters:
        value: Any = element.parameters[key]
    else:
        value = getattr(_plugin(element), "__dataclass_fields__", {}).get(key)
        value = getattr(value, "default", None)
    if isinstance(value, (list, tuple)):
        if not value or not all(type(x) in (int, float) for x in value):
            return None
        return np.array(value, float), True
    return (np.array([value], float), False) if type(value) in (int, float) else None


def find_element(spec: SceneSpec, kind: str, name: str) -> BlockSpec | ForceSpec | None:
    """Return an element of a scene by its table and name; None if there is none."""
    if kind == "force":
        return next((own for own in spec.model.forces if own.name == name), None)
    return next((own for own in spec.blocks if (own.kind, own.name) == (kind, name)), None)


def element_names(spec: SceneSpec, kind: str) -> dict[str, int]:
    """Return the names of the elements of a table, with their numbers."""
    if kind == "force":
        elements: Any = spec.model.forces
    else:
        elements = tuple(own for own in spec.blocks if own.kind == kind)
    return {own.name: k for k, own in enumerate(elements)}


def element_keys(spec: SceneSpec, kind: str, name: str) -> tuple[str, ...]:
    """Return the keys that a scene gives of an element."""
    element = find_element(spec, kind, name)
    return () if element is None else tuple(element.parameters)


def _plugin(element: BlockSpec | ForceSpec) -> Any:  # noqa: ANN401, a class of an author
    if isinstance(element, ForceSpec):
        return find_force(element.type)
    return find_block(element.kind, element.type)


def check_field(spec: SceneSpec, parameter: Parameter, value: Array) -> str:
    """Return why an element does not allow a value (size,) of a field, with the remedy; empty if it does."""
    kind, name = parameter.part
    element = find_element(spec, kind, name)
    assert element is not None
    given = tuple(value.tolist()) if parameter.is_list else float(value[0])
    try:
        build(_plugin(element), {**element.parameters, parameter.field: given}, name)
    except PysimError as error:
        return error.problem
    return ""


def with_elements(spec: SceneSpec, values: Mapping[Parameter, Array]) -> SceneSpec:
    """Return a scene with other values (size,) of fields of its elements."""
    blocks, forces = list(spec.blocks), list(spec.model.forces)
    for parameter, value in values.items():
        kind, name = parameter.part
        given = tuple(value.tolist()) if parameter.is_list else float(value[0])
        elements: list[Any] = forces if kind == "force" else blocks
        for k, own in enumerate(elements):
            if own.name == name and (elements is forces or own.kind == kind):
                elements[k] = replace(own, parameters={**own.parameters, parameter.field: given})
    model = with_fields(spec.model, forces=tuple(forces))
    return with_fields(spec, blocks=tuple(blocks), model=model)
