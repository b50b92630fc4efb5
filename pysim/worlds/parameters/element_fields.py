"""Numbers of programs in which worlds differ: gains, time constants and stiffnesses of elements.

Numbers of the mechanism that elements read are among them (read_numbers.py).
The scene is compiled with the fields as open numbers, by whose recipes the constants of its programs follow from them
in every world. With which fields that is all that follows is checked: the scene is compiled once more with other values
of them, and must have the numbers of the recipes to the bit. Other fields are those with which Python computes; the
scene of a world is compiled anew for these.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.elements.block import find_block
from pysim.elements.force import find_force
from pysim.errors import PysimError, SimulationError
from pysim.mechanism.model_numbers import Changed
from pysim.plugins.fields import build
from pysim.scene.spec import BlockSpec, ForceSpec, with_fields
from pysim.tracing.open_numbers import NONE, OpenNumber, OpenRows, Recipes
from pysim.typing import Array
from pysim.worlds.loading import compile_scene

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.scene.spec import SceneSpec
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameters.parameter import Parameter

ELEMENTS = ("signal", "sensor", "controller", "actuator", "force")
OF_MECHANISM = "mechanism"  # kind of numbers that follow from other parameters, which elements read
_CHECK_DISTANCE = 1e-3  # relative distance of the values with which recipes are checked
_GOLDEN = 0.6180339887498949


class _Compiled:
    """A scene that is compiled with open numbers.

    Args:
        scene: of all worlds.
        values: of the fields that are open (size,).
    """

    def __init__(self, scene: Scene, values: Mapping[Parameter, Array]) -> None:
        self.recipes = Recipes()
        fields, first = _opened(self.recipes, values)
        rows = {own.name: row.tolist() for own, row in values.items() if own.name in first}
        opened = OpenRows(self.recipes, first, rows) if first else None
        self.scene = compile_scene(with_elements(scene.spec, fields), opened=opened)
        self.numbers, tables, _ = _engine.model_numbers(self.scene.model, None)
        first = {name: place for name, place, _ in reversed(tables)}  # of the mechanism itself
        found = [
            (first[name] + k, recipe)
            for name, recipes in self.recipes.tables.items()
            for k, recipe in enumerate(recipes)
            if recipe != NONE
        ]
        self.places, self.of_places = np.array(found, int).reshape(-1, 2).T

    def follows_from(self, numbers: Array) -> Array:
        """Return the numbers (k, places) that follow from open numbers (k, fields)."""
        used, inverse = np.unique(self.of_places, return_inverse=True)
        return self.recipes.values(used.tolist(), numbers)[:, inverse]


def _opened(
    recipes: Recipes, values: Mapping[Parameter, Array]
) -> tuple[dict[Parameter, list[float]], dict[str, int]]:
    """Return open numbers of elements, and the number of the first one of every row of the mechanism."""
    fields: dict[Parameter, list[float]] = {}
    first: dict[str, int] = {}
    count = 0
    for own, row in values.items():
        if own.kind == OF_MECHANISM:
            first[own.name] = count
        else:
            numbers = enumerate(row.tolist(), count)
            fields[own] = [OpenNumber(x, recipes, number) for number, x in numbers]
        count += len(row)
    return fields, first


class ElementFields:
    """Numbers of a scene's programs by the fields of its elements, and by numbers of the mechanism that these read.

    Args:
        scene: of all worlds.
        parameters: fields of elements that worlds have, and numbers of the mechanism.

    Attributes:
        scene: whose programs have numbers of their own for the fields.
        parameters: the fields.
        computed: those with which Python computes.

    Raises:
        SimulationError: a field changes what worlds share, their start, or nothing at all.
    """

    def __init__(self, scene: Scene, parameters: Sequence[Parameter]) -> None:
        self._scene, self.parameters = scene, tuple(parameters)
        open_fields = self.parameters
        if not self._are_open(open_fields):
            open_fields = tuple(field for field in parameters if self._are_open([field]))
        self.computed = frozenset(self.parameters) - set(open_fields)
        for field in self.parameters:
            if field in self.computed and field.kind != OF_MECHANISM:
                self._check_computed(field)
        self._open = open_fields
        self._compiled = _Compiled(scene, {field: field.start for field in open_fields})
        self.scene = self._compiled.scene
        recipes, first = self._compiled.recipes, 0
        self.numbers = self._compiled.numbers
        self._written_by: dict[str, NDArray[np.bool_]] = {}  # places
        for field in open_fields:
            numbers = frozenset(range(first, first + len(field.start)))
            first += len(field.start)
            depends = [bool(recipes.fields(k) & numbers) for k in self._compiled.of_places.tolist()]
            self._written_by[field.name] = np.array(depends, bool)
            if field.kind != OF_MECHANISM and not any(depends):
                self._reject(field, "changes no number that steps read")

    def parameters_include(self, parameters: Sequence[Parameter]) -> bool:
        """Return whether all of some numbers are among the parameters."""
        return set(parameters) <= set(self.parameters)

    def fields_at(self, places: NDArray[np.intp]) -> set[str]:
        """Return the names of the fields from which numbers at places follow."""
        are_there = np.isin(self._compiled.places, places)
        return {name for name, own in self._written_by.items() if (own & are_there).any()}

    def changed(self, values: Mapping[str, Array], written: Sequence[str]) -> list[Changed]:
        """Return the numbers that follow from fields that were written.

        Args:
            values: of fields (k, size); others have those of the scene.
            written: names of fields.
        """
        follows = [self._written_by[name] for name in written if name in self._written_by]
        if not follows:
            return []
        count = len(next(iter(values.values())))
        rows = [values.get(own.name, np.tile(own.start, (count, 1))) for own in self._open]
        found = self._compiled.follows_from(np.concatenate(rows, axis=1))
        which = np.logical_or.reduce(follows)
        return [Changed(self._compiled.places[which], found[:, which])]

    def compiled(self, spec: SceneSpec, values: Mapping[Parameter, Array]) -> Scene:
        """Return a world's scene with values (size,) of fields, whose programs have the same places of numbers.

        Raises:
            SimulationError: a value cannot be compiled.
        """
        recipes = Recipes()
        fields, first = _opened(recipes, {own: values.get(own, own.start) for own in self._open})
        others = {own: x.tolist() for own, x in values.items() if own in self.computed}
        opened = OpenRows(recipes, first) if first else None
        try:
            return compile_scene(with_elements(spec, {**fields, **others}), opened=opened)
        except PysimError as error:
            names = ", ".join(own.name for own in others)
            raise SimulationError(f"parameters: {names}", error.problem) from error

    def _are_open(self, fields: Sequence[Parameter]) -> bool:
        """Return whether all that follows from fields are constants of programs, by their recipes."""
        for sign in (-1, 1):
            try:
                first = _Compiled(self._scene, {own: own.start for own in fields})
                others = {own: _other_values(own.start, k, sign) for k, own in enumerate(fields)}
                second = _Compiled(self._scene, others)
            except (PysimError, TypeError, ValueError):
                continue
            if first.scene.model.structure_difference(second.scene.model):
                return False
            wanted = first.numbers.copy()
            wanted[first.places] = first.follows_from(np.concatenate([*others.values()])[None])[0]
            return second.numbers.tobytes() == wanted.tobytes() and _starts_of(
                second.scene
            ) == _starts_of(self._scene)
        return False

    def _check_computed(self, field: Parameter) -> None:
        """Reject a field if the scene that is compiled with another value of it differs in more than numbers."""
        numbers, _, _ = _engine.model_numbers(self._scene.model, None)
        for other in _variations(field.start):
            try:
                scene = compile_scene(with_elements(self._scene.spec, {field: other.tolist()}))
            except PysimError as error:
                problem = error.problem
                continue
            if _starts_of(scene) != _starts_of(self._scene):
                problem = "is the start of a state or an input, and no number of steps"
                raise SimulationError(
                    f"parameters: {field.name}", f"{problem}; write worlds.inputs, or load scenes"
                )
            if self._scene.model.structure_difference(scene.model):
                self._reject(field, "changes what worlds share")
            if _engine.model_numbers(scene.model, None)[0].tobytes() == numbers.tobytes():
                self._reject(field, "changes no number that steps read")
            return
        self._reject(field, problem)

    @staticmethod
    def _reject(field: Parameter, problem: str) -> None:
        raise SimulationError(
            f"parameters: {field.name}", f"{problem}; load scenes with pysim.load_scenes"
        )


def _starts_of(scene: Scene) -> tuple[float, ...]:
    return () if scene.signals is None else scene.signals.start


def _variations(start: Array) -> Iterator[Array]:
    """Yield values near those of a field: all numbers changed, then each alone."""
    for sign in (-1, 1):
        yield _other_values(start, 0, sign)
    for k, sign in product(range(len(start)), (-1, 1)):
        yield np.where(np.arange(len(start)) == k, _other_values(start, 0, sign), start)


def _other_values(start: Array, k: int, sign: int) -> Array:
    """Return values near those of a field, by which its recipes are checked."""
    share = 1 + sign * _CHECK_DISTANCE * (1 + ((k + 1) * _GOLDEN % 1) + 0.1 * np.arange(len(start)))
    return np.where(start != 0, start * share, _CHECK_DISTANCE * share)


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


def with_elements(spec: SceneSpec, values: Mapping[Parameter, Sequence[float]]) -> SceneSpec:
    """Return a scene with other values of fields of its elements."""
    blocks, forces = list(spec.blocks), list(spec.model.forces)
    for parameter, value in values.items():
        kind, name = parameter.part
        given = tuple(value) if parameter.is_list else value[0]
        elements: list[Any] = forces if kind == "force" else blocks
        for k, own in enumerate(elements):
            if own.name == name and (elements is forces or own.kind == kind):
                elements[k] = replace(own, parameters={**own.parameters, parameter.field: given})
    model = with_fields(spec.model, forces=tuple(forces))
    return with_fields(spec, blocks=tuple(blocks), model=model)
