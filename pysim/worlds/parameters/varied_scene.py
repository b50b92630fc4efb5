"""Numbers of the engine that differ between worlds, and the scenes of such worlds.

The file is long because the class has a method for each kind of part that has numbers.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.contact.laws import NUMBERS
from pysim.contact.pair_laws import LawsOfWorlds, root_bodies
from pysim.errors import ModelError, PysimWarning, SceneError, SimulationError
from pysim.inertia.parameters import centers, central_inertia
from pysim.mechanism.model_numbers import Changed, ModelNumbers
from pysim.scene.spec import with_fields
from pysim.typing import Array
from pysim.worlds.loading import compile_scene
from pysim.worlds.parameters.element_fields import OF_MECHANISM, ElementFields, with_elements
from pysim.worlds.parameters.parameter_paths import ParameterPaths
from pysim.worlds.parameters.read_numbers import ReadNumbers
from pysim.worlds.parameters.varied_numbers import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import ContactsSpec, SceneSpec
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameters.parameter import Parameter

_LAW = [k for k, name in enumerate(NUMBERS) if name != "exponent"]  # worlds share that


class VariedScene:
    """A scene whose worlds have numbers of their own.

    Args:
        scene: of all worlds.
        is_convex: whether steps solve contacts.
    """

    def __init__(self, scene: Scene, is_convex: bool) -> None:
        self._scene, self._is_convex = scene, is_convex
        self._fields: ElementFields | None = None
        self._model = scene.model
        self.reach = 0.0  # [m] by which centres of mass of roots may be farther from their joints

    @cached_property
    def numbers(self) -> ModelNumbers:
        """Numbers of the model, and of contacts of convex steps."""
        contacts = self._scene.contacts if self._is_convex else None
        return ModelNumbers(self._model, None if contacts is None else contacts.engine)

    def open(self, fields: list[Parameter]) -> Model | None:
        """Return a model whose programs have numbers of their own for fields of elements; None if there is one.

        Raises:
            SimulationError: a field changes what worlds share, their start, or nothing at all.
        """
        read = dict.fromkeys(own for field in fields for own in self._read.of(field))
        if self._fields is not None and read.keys() <= set(self._fields.parameters):
            return None
        self._fields = ElementFields(self._scene, list(read))
        self._model = self._fields.scene.model
        for name in ("numbers", "_law_places"):
            self.__dict__.pop(name, None)
        return self._model

    def has_opened(self, field: Parameter) -> bool:
        """Return whether the scene has been compiled so that programs follow from a number."""
        if self._fields is None:
            return False
        return self._fields.parameters_include(self._read.of(field))

    def is_computed(self, parameter: Parameter) -> bool:
        """Return whether Python computes with a number for elements: scenes are compiled anew for it."""
        if self._fields is None or not self._fields.computed:
            return False
        return not self._fields.computed.isdisjoint(self._read.of(parameter))

    def is_compiled(self, parameter: Parameter) -> bool:
        """Return whether a scene is compiled for each value of a parameter."""
        return parameter.of_whole_scene or self.is_computed(parameter)

    def is_read(self, parameter: Parameter) -> bool:
        """Return whether programs of elements have constants that follow from a parameter."""
        return bool(self._read.of(parameter))

    def changed(
        self,
        parameters: Mapping[str, Parameter],
        values: Mapping[str, Array],
        written: set[str],
        count: int,
        opened: Iterable[str] = (),
    ) -> list[Changed]:
        """Return the engine's numbers that follow from the parameters that were written.

        Args:
            parameters: by name.
            values: of all parameters that worlds have, (k, size).
            written: names of those that were written.
            count: k.
            opened: names of those from which constants of programs follow that were not there before.
        """
        changes: list[Changed] = []
        if any(self.is_compiled(parameters[name]) for name in written):
            return self._of_scenes(parameters, values, count)
        kinds = {parameters[name].kind for name in written}
        theta: dict[int, Array] = {}
        ratios: dict[int, Array] = {}
        if kinds & {"body", "gravity", "materials", "contact"}:
            theta, ratios = self._theta(parameters, values, count)
        if "body" in kinds:
            touched = {
                self.numbers.carrier(parameters[name].part)
                for name in written
                if parameters[name].kind == "body"
            }
            changed = self.numbers.inertias(sorted(touched), theta, ratios, count)
            changes += changed
            self._note_reach(sorted(touched), changed[0].values.reshape(count, -1, 10))
        gravity = values.get("gravity")
        if "gravity" in kinds:
            assert gravity is not None
            changes += self.numbers.gravity(gravity)
        changes += [
            change
            for name in written
            if parameters[name].kind == "joint" and parameters[name].field != "armature"
            for change in self._joint(parameters[name], values[name])
        ]
        for at in {parameters[name].part for name in written if parameters[name].kind == "rod"}:
            changes += self._rod(at, parameters, values, count)
        changes += self._elements_and_armatures(parameters, values, written.union(opened))
        if self._is_convex and kinds & {"body", "gravity", "materials", "contact"}:
            changes += self._laws(parameters, values, theta, count)
        return changes

    def _of_scenes(
        self, parameters: Mapping[str, Parameter], values: Mapping[str, Array], count: int
    ) -> list[Changed]:
        """Return the numbers in which scenes differ that are compiled for their values."""
        names = [name for name in values if self.is_compiled(parameters[name])]
        where = f"parameters: {', '.join(names)}"
        if any(values[name].dtype == object for name in names):
            problem = "the scene is read again for each value"
            raise SimulationError(where, f"{problem}; leave it out")
        scenes = [
            self.compiled_open({parameters[name]: x[k] for name, x in values.items()})
            for k in range(count)
        ]
        found = [numbers_of(scene) for scene in scenes]
        first = scenes[0].model
        if any(own.shared != found[0].shared for own in found) or any(
            first.structure_difference(scene.model) for scene in scenes
        ):
            problem = "values nearby change what worlds share"
            raise SimulationError(where, f"{problem}; leave it out, or compare scenes")
        rows = np.array([own.numbers for own in found])
        differs = (rows != rows[0]) & ~(
            np.isnan(rows) & np.isnan(rows[0])
        )  # NaN is a number of some
        places = np.flatnonzero(differs.any(axis=0))
        return [Changed(places, rows[:, places])]

    @cached_property
    def _read(self) -> ReadNumbers:
        return ReadNumbers(self._scene)

    def _values_of_mechanism(
        self, parameters: Mapping[str, Parameter], values: Mapping[str, Array], count: int
    ) -> dict[str, Array]:
        """Return the values (k, size) of numbers of the mechanism that programs of elements read."""
        opened = () if self._fields is None else self._fields.parameters
        wanted = [own for own in opened if own.kind == OF_MECHANISM]
        if not wanted:
            return {}
        theta, _ = self._theta(parameters, values, count)
        forces = self._forces_of_joints(parameters, values, count)
        return self._read.values(wanted, values.get("gravity"), theta, forces, count)

    def _forces_of_joints(
        self, parameters: Mapping[str, Parameter], values: Mapping[str, Array], count: int
    ) -> dict[tuple[int, str], Array]:
        """Return the numbers (k, size) of passive forces that worlds have, by joint and field."""
        found = {
            (p.part, p.field): values[p.name] for p in parameters.values() if p.kind == "joint"
        }
        index = {joint.name: k for k, joint in enumerate(self._scene.model.joints)}
        for at in {p.part for p in parameters.values() if p.kind == "rod"}:
            for name, field, numbers in self._hinges(at, parameters, values, count):
                found[index[name], field] = numbers
        return found

    # ---------------------------------------------------------------------------------------------------- bodies

    def _theta(
        self, parameters: Mapping[str, Parameter], values: Mapping[str, Array], count: int
    ) -> tuple[dict[int, Array], dict[int, Array]]:
        """Return θ (k, 10) of the bodies that have numbers of their own, and ratios (k,) of those that are scaled.

        Both are by number in the specification.
        """
        written: dict[int, dict[str, Array]] = {}
        mass: dict[int, Array] = {}
        for name, numbers in values.items():
            parameter = parameters[name]
            if parameter.kind == "body":
                if parameter.field == "mass":
                    mass[parameter.part] = numbers
                elif _differ(numbers, parameter.start):
                    written.setdefault(parameter.part, {})[parameter.field] = numbers
        bodies = self._scene.spec.model.bodies
        scaled = [
            k for k in mass if k not in written and bodies[k].name not in self._given_inertias
        ]
        for k in mass.keys() - set(scaled):
            if _differ(mass[k], bodies[k].theta[0]):
                written.setdefault(k, {})["mass"] = mass[k]
        found = {k: self._theta_of(k, numbers, count) for k, numbers in written.items()}
        if not scaled:
            return found, {}
        start = np.array([bodies[k].theta for k in scaled])
        masses = np.concatenate([mass[k] for k in scaled], axis=1).T
        ratio = masses / start[:, :1]
        theta = start[:, None] * ratio[:, :, None]
        theta[..., 0] = masses
        found.update(zip(scaled, theta, strict=True))
        return found, dict(zip(scaled, ratio, strict=True))

    def _theta_of(self, k: int, written: Mapping[str, Array], count: int) -> Array:
        """Return θ (k, 10) of a body from its mass, centre of mass and inertia about that."""
        theta = self._scene.spec.model.bodies[k].theta
        ratio = np.ones((count, 1))
        if "mass" in written:
            ratio = written["mass"] / theta[0]
        scales = (
            "inertia" not in written
            and self._scene.spec.model.bodies[k].name not in self._given_inertias
        )
        mass = written["mass"][:, 0] if "mass" in written else np.full(count, theta[0])
        com = written["com"] if "com" in written else np.tile(centers(theta), (count, 1))
        tensor = np.tile(central_inertia(theta), (count, 1, 1))
        if "inertia" in written:
            xx, yy, zz, xy, yz, xz = written["inertia"].T
            rows = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1)
            tensor = rows.reshape(count, 3, 3)
        elif scales:
            tensor = tensor * ratio[:, :, None]
        square = com[:, 0] * com[:, 0] + com[:, 1] * com[:, 1] + com[:, 2] * com[:, 2]
        shift = square[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
        about = tensor + mass[:, None, None] * shift
        theta_of_worlds = np.empty_like(about, shape=(count, 10))
        theta_of_worlds[:, 0], theta_of_worlds[:, 1:4] = mass, mass[:, None] * com
        for n, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
            theta_of_worlds[:, 4 + n] = about[:, i, j]
        return theta_of_worlds

    @cached_property
    def _given_inertias(self) -> frozenset[str]:
        """Names of the scene's own bodies whose tables give an inertia, which a mass does not scale."""
        from pysim.scene.toml.reader import tables_of  # noqa: PLC0415, pydantic takes long to import

        spec = self._scene.spec
        try:
            tables = tables_of(spec).get("body", []) if spec.text else []
        except SceneError:  # a file that it includes is gone
            return frozenset()
        return frozenset(str(table["name"]) for table in tables if "inertia" in table)

    def _note_reach(self, carriers: Sequence[int], inertias: Array) -> None:
        """Note how far centres of mass of roots can be from their joints, by which motions are bounded.

        Args:
            carriers: moving bodies.
            inertias: their numbers (k, carriers, 10), m and mc first.
        """
        for n, carrier in enumerate(carriers):
            if carrier not in self._roots:
                continue
            reach = row_norms(inertias[:, n, 1:4] / inertias[:, n, :1]) - self._roots[carrier]
            self.reach = np.maximum(self.reach, reach.max(initial=0.0))

    @cached_property
    def _roots(self) -> dict[int, float]:
        """Roots that have mass, with the distances of their centres of mass from their joints [m]."""
        model = self._scene.model
        starts = {k: body.theta for k, body in enumerate(model.bodies) if model.parents[k] < 0}
        return {k: float(np.linalg.norm(x[1:4] / x[0])) for k, x in starts.items() if x[0] > 0}

    # ----------------------------------------------------------------------------------------------------- joints

    def _joint(self, parameter: Parameter, values: Array) -> list[Changed]:
        if parameter.field == "rest":
            return self.numbers.rest(parameter.part, values)
        return self.numbers.passive(parameter.part, parameter.field, values)

    def _elements_and_armatures(
        self, parameters: Mapping[str, Parameter], values: Mapping[str, Array], written: set[str]
    ) -> list[Changed]:
        """Return the numbers of elements, and the armatures of joints, to which rotors of motors may add."""
        elements = {own.name for name in written for own in self._read.of(parameters[name])}
        armatures = {
            name: self.numbers.armature(own.part, values[name] - own.start)[0]
            for name, own in parameters.items()
            if own.kind == "joint" and own.field == "armature" and name in values
        }
        changes = [own for name, own in armatures.items() if name in written]
        if self._fields is None:
            return changes
        for own in changes:
            elements |= self._fields.fields_at(own.places)
        if not elements:
            return changes
        count = len(next(iter(values.values())))
        follow = self._values_of_mechanism(parameters, values, count)
        of_elements = self._fields.changed({**values, **follow}, sorted(elements))
        for found in of_elements:  # rotors that follow from fields of motors
            for name, own in armatures.items():
                change = values[name] - parameters[name].start
                for column, place in enumerate(own.places.tolist()):
                    found.values[:, found.places == place] += change[:, column : column + 1]
            changes = [without(own, found.places) for own in changes]
        return changes + of_elements

    def _rod(
        self, at: int, parameters: Mapping[str, Parameter], values: Mapping[str, Array], count: int
    ) -> list[Changed]:
        """Return the springs and dampers of the hinges of a rod."""
        index = {joint.name: k for k, joint in enumerate(self._scene.model.joints)}
        return [
            change
            for name, field, numbers in self._hinges(at, parameters, values, count)
            for change in self.numbers.passive(index[name], field, numbers)
        ]

    def _hinges(
        self, at: int, parameters: Mapping[str, Parameter], values: Mapping[str, Array], count: int
    ) -> Iterator[tuple[str, str, Array]]:
        """Yield joints of a rod with a field and its numbers (k, nv) that follow from EI, GJ and damping."""
        rod = self._scene.spec.model.rods[at]
        fields = {
            p.field: values[p.name] for p in parameters.values() if p.kind == "rod" and p.part == at
        }
        tau = fields.get("damping", np.full((count, 1), rod.damping))
        if rod.EI is None or rod.GJ is None:
            joints = {joint.name: joint for joint in self._scene.model.joints}
            for name in rod.hinges:
                yield name, "damping", tau * joints[name].stiffness
            return
        EI = fields.get("EI", np.tile(rod.EI, (count, 1)))
        GJ = fields.get("GJ", np.full((count, 1), rod.GJ))
        for k, name in enumerate(rod.hinges):
            K = rod.spring(k, EI, GJ)
            yield name, "stiffness", K
            yield name, "damping", tau * K

    # --------------------------------------------------------------------------------------------------- contacts

    def _laws(
        self,
        parameters: Mapping[str, Parameter],
        values: Mapping[str, Array],
        theta: Mapping[int, Array],
        count: int,
    ) -> list[Changed]:
        """Return the laws of all pairs of shapes."""
        scene = self._scene
        contacts, spec = scene.contacts, scene.spec.model.contacts
        if contacts is None or spec is None or not contacts.shapes:
            return []
        surfaces = {
            parameters[name]: numbers[:, 0]
            for name, numbers in values.items()
            if parameters[name].kind in ("materials", "contact")
        }
        gravity = values.get("gravity")
        size = self._gravity if gravity is None else row_norms(gravity)
        laws = self._laws_of_worlds.numbers(
            with_surfaces(spec, surfaces),
            frozenset(parameter.name for parameter in surfaces),
            self._masses(theta),
            np.broadcast_to(size, count, subok=True),
        )
        numbers = laws[self._laws_of_worlds.group_of[:, None], _LAW]
        return [Changed(self._law_places, numbers.reshape(-1, count).T)]

    @cached_property
    def _gravity(self) -> np.floating[Any]:
        """Size of the gravity of the scene [m/s²]."""
        return np.linalg.norm(self._scene.model.gravity)

    @cached_property
    def _law_places(self) -> NDArray[np.intp]:
        table = self.numbers.table("laws")
        places = table.place + table.size * np.arange(table.records)[:, None] + np.arange(len(_LAW))
        return places.ravel()

    @cached_property
    def _laws_of_worlds(self) -> LawsOfWorlds:
        assert self._scene.contacts is not None
        return LawsOfWorlds(self._scene.model, self._scene.contacts)

    def _masses(self, theta: Mapping[int, Array]) -> list[Any]:
        """Return, for every moving body, the mass of its mechanism, a number or one for each world (k,)."""
        root, start = self._mechanisms
        bodies = self._scene.spec.model.bodies
        parts: dict[int, list[int]] = {}  # that differ, by root
        for k in sorted(theta):
            parts.setdefault(root[self.numbers.carrier(k)], []).append(k)
        total: list[Any] = list(start)
        for r, own in parts.items():
            change = np.stack([theta[k][:, 0] for k in own])
            change -= np.array([bodies[k].theta[0] for k in own])[:, None]
            total[r] = start[r] + change.sum(axis=0)
        return [total[r] for r in root]

    @cached_property
    def _mechanisms(self) -> tuple[list[int], list[float]]:
        """The root of every moving body, and the mass of the mechanism of every root."""
        root = root_bodies(self._scene.model)
        total = [0.0] * len(root)
        for body, r in zip(self._scene.model.bodies, root, strict=True):
            total[r] += float(body.theta[0])
        return root, total

    # ------------------------------------------------------------------------------------------ scenes of worlds

    def compiled(self, values: Mapping[Parameter, Array]) -> Scene:
        """Return the scene of a world with these values (size,)."""
        changed = {p: value for p, value in values.items() if (value != p.start).any()}
        if not changed:
            return self._scene
        elements = {p: x.tolist() for p, x in changed.items() if p.kind == "element"}
        return compile_scene(with_elements(self._spec_with(changed), elements))

    def compiled_open(self, values: Mapping[Parameter, Array]) -> Scene:
        """Return the scene of a world with these values (size,), whose programs have the numbers of all worlds.

        Raises:
            SimulationError: it cannot be compiled.
        """
        if self._fields is None:
            return self.compiled(values)
        changed = {p: value for p, value in values.items() if (value != p.start).any()}
        return self._fields.compiled(self._spec_with(changed), values)

    def _spec_with(self, values: Mapping[Parameter, Array]) -> SceneSpec:
        """Return the specification with values (size,), which is read again for lengths of rods."""
        lengths = {p.name: float(x[0]) for p, x in values.items() if p.of_whole_scene}
        if not lengths:
            return self._spec(values)
        again = self._read_again(lengths)
        paths = ParameterPaths(again._scene)  # noqa: SLF001, of this class
        own = {paths.find(p.name): x for p, x in values.items() if p.name not in lengths}
        return again._spec(own)  # noqa: SLF001

    def _read_again(self, values: Mapping[str, float]) -> VariedScene:
        """Return the scene with other numbers in its tables, by the paths of their keys."""
        from pysim.scene.toml.reader import read_again  # noqa: PLC0415, pydantic takes long to import

        spec, names = self._scene.spec, ", ".join(values)
        try:
            with warnings.catch_warnings():  # which loading has given
                warnings.simplefilter("ignore", PysimWarning)
                if not self._is_as_read:
                    problem = (
                        "the scene was changed after it was read, and is read again for each value"
                    )
                    remedy = "pass the change to load_scene as overrides"
                    raise SimulationError(f"parameters: {names}", f"{problem}; {remedy}")
                read = read_again(spec, values)
                scene = compile_scene(replace(read, settings=self._scene.settings))
        except (SceneError, ModelError) as error:
            raise SimulationError(f"parameters: {names}", str(error)) from error
        return VariedScene(scene, self._is_convex)

    @cached_property
    def _is_as_read(self) -> bool:
        """Whether the scene has the numbers of its file."""
        from pysim.scene.toml.reader import read_again  # noqa: PLC0415, likewise

        read = replace(read_again(self._scene.spec, {}), settings=self._scene.settings)
        again, own = numbers_of(compile_scene(read)), numbers_of(self._scene)
        return again.shared == own.shared and np.array_equal(again.numbers, own.numbers)

    def _spec(self, values: Mapping[Parameter, Array]) -> SceneSpec:
        """Return the specification with values (size,) of what is no field of an element."""
        spec, model = self._scene.spec, self._scene.spec.model
        parameters = {p.name: p for p in values}
        rows = {p.name: value[None] for p, value in values.items()}
        bodies, joints = list(model.bodies), list(model.joints)
        for k, theta in self._theta(parameters, rows, 1)[0].items():
            bodies[k] = with_fields(bodies[k], theta=theta[0])
        index = {joint.name: k for k, joint in enumerate(joints)}
        for p, value in values.items():
            if p.kind == "joint":
                k = index[self._scene.model.joints[p.part].name]
                joints[k] = with_fields(joints[k], **{p.field: value.copy()})
        rods = list(model.rods)
        for at in {p.part for p in values if p.kind == "rod"}:
            fields = {
                p.field: value.tolist()
                for p, value in values.items()
                if p.kind == "rod" and p.part == at
            }
            fields = {key: tuple(x) if key == "EI" else x[0] for key, x in fields.items()}
            rods[at] = replace(rods[at], **fields)
            for name, field, numbers in self._hinges(at, parameters, rows, 1):
                joints[index[name]] = with_fields(joints[index[name]], **{field: numbers[0].copy()})
        contacts = model.contacts
        surfaces = {p: float(value[0]) for p, value in values.items() if p.fields}
        if contacts is not None and surfaces:
            contacts = with_surfaces(contacts, surfaces)
        gravity = next((value for p, value in values.items() if p.kind == "gravity"), model.gravity)
        changed = with_fields(
            model,
            bodies=tuple(bodies),
            joints=tuple(joints),
            rods=tuple(rods),
            contacts=contacts,
            gravity=gravity,
        )
        return with_fields(spec, model=changed)


def without(changed: Changed, places: NDArray[np.intp]) -> Changed:
    """Return numbers of worlds but those at places."""
    others = ~np.isin(changed.places, places)
    return Changed(changed.places[others], changed.values[:, others])


def row_norms(rows: Array) -> Array:
    """Return the lengths (k,) of rows (k, n), which may be symbolic."""
    lengths: Array = np.sqrt(np.add.reduce(rows * rows, axis=1))
    return lengths


def _differ(values: Array, start: Array) -> bool:
    """Return whether values may differ from those of the scene; symbolic ones may."""
    return values.dtype == object or bool((values != start).any())


def with_surfaces(spec: ContactsSpec, values: Mapping[Parameter, Any]) -> ContactsSpec:
    """Return contacts with other numbers of surfaces, which may be arrays."""
    materials, pairs = dict(spec.materials), list(spec.pairs)
    for parameter, value in _coarse_first(values):
        is_material = parameter.kind == "materials"
        surface = materials[parameter.part] if is_material else pairs[parameter.part].surface
        given = {
            field: _where_written(value, parameter, getattr(surface, field))
            for field in parameter.fields
        }
        if "restitution" in given:
            assert surface.restitution is not None
            given["restitution"] = (value, surface.restitution[1])
        changed = replace(surface, **given)
        if is_material:
            materials[parameter.part] = changed
        else:
            pairs[parameter.part] = replace(pairs[parameter.part], surface=changed)
    return replace(spec, materials=materials, pairs=tuple(pairs))


def _where_written(value: Any, parameter: Parameter, before: Any) -> Any:  # noqa: ANN401, numbers or arrays
    """Return a value (k,) where it was written, elsewhere the number before: `friction` starts as the static one."""
    # those of one scene are no arrays, and symbolic ones are of objects
    is_of_worlds = isinstance(value, np.ndarray) and value.dtype != object
    if not is_of_worlds or before is None or isinstance(before, tuple):
        return value
    return np.where(value == parameter.start[0], before, value)


def _coarse_first(values: Mapping[Parameter, Any]) -> Iterable[tuple[Parameter, Any]]:
    """Return parameters with values, `friction` before its parts `friction.static` and `friction.dynamic`."""
    return sorted(values.items(), key=lambda item: -len(item[0].fields))
