"""Paths of the numbers in which worlds of a scene may differ: `body.rod.mass`, `model.go1.joint.FR_hip.damping`.

Names are those of the scene file's keys; parts of an attached model have the path `model.NAME.…`, or the short
one where the name of the part is unique.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SceneError, SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.inertia.parameters import centers, central_inertia
from pysim.integrators import find_integrator
from pysim.scene.spec import PER_COORDINATE, SurfaceSpec
from pysim.scene.toml.overrides import path_words
from pysim.typing import Array
from pysim.worlds.parameters.element_fields import (
    ELEMENTS,
    element_field,
    element_keys,
    element_names,
    find_element,
)
from pysim.worlds.parameters.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.spec import JointSpec, RodSpec
    from pysim.worlds.loading import Scene

_OTHER_KEYS = {"static_friction", "dynamic_friction", "young", "poisson", "restitution", "where"}
_SURFACE = {  # keys of a surface: fields of its specification
    "friction": ("static_friction", "dynamic_friction"),
    "friction.static": ("static_friction",),
    "friction.dynamic": ("dynamic_friction",),
    "stiffness.linear": ("stiffness",),
    "restitution.value": ("restitution",),
    **{field.name: (field.name,) for field in fields(SurfaceSpec) if field.name not in _OTHER_KEYS},
}
_BODY = ("mass", "com", "inertia")
_COMPONENTS = {"com": ("0", "1", "2"), "inertia": ("xx", "yy", "zz", "xy", "yz", "xz")}
_KINDS = ("body", "joint", "rod", "materials", "contact", "gravity", *ELEMENTS)
_ROD = ("EI", "GJ", "damping", "length")
_OF_JOINT = {*PER_COORDINATE, "rest"} - {"stop_dissipation"}  # numbers of the engine


@cache
def _joint_keys() -> dict[str, tuple[str, float]]:
    """Return the keys of a joint in which worlds may differ: field of its specification, least value."""
    from pysim.scene.toml.records.tables import Passive  # noqa: PLC0415, pydantic takes long to import

    return {
        key: (field, least) for key, field, least in Passive.number_keys() if field in _OF_JOINT
    }


@cache
def _least_of_surface() -> dict[str, float]:
    """Return the least number of each field of a surface."""
    from pysim.scene.toml.records.contact_tables import Surface  # noqa: PLC0415, likewise

    return {field: max(least, 0.0) for _, field, least in Surface.number_keys()}


class ParameterPaths:
    """Parameters of a scene by their paths."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        spec = scene.spec.model
        self._bodies = {body.name: k for k, body in enumerate(spec.bodies)}
        self._joints = {joint.name: k for k, joint in enumerate(scene.model.joints)}
        self._armatures = {joint.name: joint.armature for joint in spec.joints}
        self._rods = {rod.name: k for k, rod in enumerate(spec.rods)}
        self._materials = {} if spec.contacts is None else dict(spec.contacts.materials)
        self._solves_contacts = find_integrator(scene.settings.integrator).contacts
        self._parameters_by_path: dict[str, Parameter] = {}

    def __iter__(self) -> Iterator[str]:
        yield "gravity"
        for name, k in self._bodies.items():
            has_mass = self._scene.spec.model.bodies[k].theta[0] > 0
            if has_mass and self._scene.model.frames[name][0] >= 0:
                yield from (_path("body", name, key) for key in _BODY)
        for name, k in self._joints.items():
            for key, (field, _) in _joint_keys().items():
                numbers = self._joint_numbers(k, field)
                if key != "rest" and np.isfinite(numbers).all() and numbers.any():
                    yield _path("joint", name, key)
        for name, k in self._rods.items():
            for key in _ROD:
                if _rod_number(self._scene.spec.model.rods[k], key) is not None:
                    yield _path("rod", name, key)
        for kind in ("controller", "actuator", "force"):
            for name in element_names(self._scene.spec, kind):
                for key in element_keys(self._scene.spec, kind, name):
                    found = element_field(self._scene.spec, kind, name, key)
                    if found is not None and np.isfinite(found[0]).all():
                        yield _path(kind, name, key)
        for name, surface in self._materials.items() if self._solves_contacts else ():
            for key, own in _SURFACE.items():
                if "." not in key and getattr(surface, own[0]) is not None:
                    yield _path("materials", name, key)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, path: str) -> Parameter:
        """Return the parameter of a path.

        Raises:
            SimulationError: there is none, or worlds cannot differ in it.
        """
        if path not in self._parameters_by_path:
            self._parameters_by_path[path] = self._parameter(path)
        return self._parameters_by_path[path]

    @staticmethod
    def part(scene: Scene, parameter: Parameter) -> object:
        """Return what holds a parameter in a scene; the same object has the same numbers."""
        spec, at = scene.spec.model, parameter.part
        if parameter.kind == "body":
            return spec.bodies[at]
        if parameter.kind == "joint":
            return scene.model.joints[at]
        if parameter.kind == "rod":
            return spec.rods[at]
        if parameter.kind == "element":
            return find_element(scene.spec, *at)
        if parameter.kind == "gravity" or spec.contacts is None:
            return spec.gravity
        return (
            spec.contacts.materials[at]
            if parameter.kind == "materials"
            else spec.contacts.pairs[at]
        )

    def _parameter(self, path: str) -> Parameter:
        where = f"parameters: {path}"
        try:
            words = path_words(path)
        except SceneError as error:
            raise SimulationError(where, error.problem) from None
        prefix = ""
        if words[0] == "model" and len(words) > 3:
            prefix, words = f"{words[1]}/", words[2:]
        kind, part = words[0], words[1:]
        if kind == "gravity" and len(part) <= 1:
            return self._gravity(path, part)
        if kind == "body" and len(part) >= 2:
            name = self._named(where, self._bodies, prefix, part[0])
            return self._body(where, name, part[1:])
        if kind == "joint" and len(part) >= 2:
            name = self._named(where, self._joints, prefix, part[0])
            return self._joint(where, name, part[1:])
        if kind == "rod" and len(part) >= 2:
            name = self._named(where, self._rods, prefix, part[0])
            return self._rod(where, name, part[1:])
        if kind in ("materials", "contact") and len(part) >= 2:
            return self._surface(where, kind, prefix, part)
        if kind in ELEMENTS and len(part) >= 2:
            return self._element(where, kind, prefix, part)
        if kind in ("simulation", "output", "render"):
            problem = "is the same in all worlds, which are stepped together"
            raise SimulationError(where, f"{problem}; load another scene for another value")
        remedy = did_you_mean(kind, _KINDS) if kind not in _KINDS else ""
        problem = "is not a number in which worlds can differ"
        kinds = ", ".join(_KINDS)
        raise SimulationError(
            where,
            f"{problem}{remedy or f'; they are those of {kinds}'}; for others load scenes with pysim.load_scenes",
        )

    def _named(self, where: str, names: dict[str, int], prefix: str, word: str) -> str:
        """Return the full name of a part."""
        for name in (prefix + word, word):
            if name in names:
                return name
        ends = [name for name in names if name.endswith(f"/{word}") and name.startswith(prefix)]
        if len(ends) == 1:
            return ends[0]
        if ends:
            problem = f"{word!r} is the name of {', '.join(map(repr, ends))}"
            raise SimulationError(where, f"{problem}; write model.NAME before it")
        hint = did_you_mean(word, names) or "; see list(worlds.parameters)"
        raise UnknownSimulationNameError(where, f"nothing is named {word!r}{hint}")

    def _gravity(self, path: str, components: list[str]) -> Parameter:
        start = np.array(self._scene.model.gravity, float)
        if not components:
            return Parameter("gravity", "gravity", None, "gravity", start, is_list=True)
        if components[0] not in ("0", "1", "2"):
            raise SimulationError(
                f"parameters: {path}", "gravity has three components; write gravity[2]"
            )
        raise SimulationError(
            f"parameters: {path}",
            f'is a component; write worlds.parameters["gravity"][:, {components[0]}]',
        )

    def _body(self, where: str, name: str, keys: list[str]) -> Parameter:
        k = self._bodies[name]
        if self._scene.model.frames[name][0] < 0:
            raise SimulationError(
                where, f"body {name!r} does not move; its mass has no effect, leave it out"
            )
        theta = self._scene.spec.model.bodies[k].theta
        key = ".".join(keys)
        if key == "mass":
            if theta[0] <= 0:
                problem = f"body {name!r} has no mass in the scene, whose inertia could be scaled"
                raise SimulationError(where, f"{problem}; give it a small one there")
            tiny = np.nextafter(0, 1)
            return Parameter(
                _path("body", name, key), "body", k, key, theta[:1].copy(), False, tiny
            )
        if key == "com":
            return Parameter(_path("body", name, key), "body", k, key, centers(theta), True)
        if key == "inertia":
            I = central_inertia(theta)  # noqa: E741
            start = np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2]])
            return Parameter(_path("body", name, key), "body", k, key, start, True)
        if keys[0] in _COMPONENTS:
            order = _COMPONENTS[keys[0]]
            at = order.index(keys[1]) if keys[1] in order else 0
            whole = _path("body", name, keys[0])
            raise SimulationError(
                where, f'is a component; write worlds.parameters["{whole}"][:, {at}]'
            )
        problem = f"{key!r} is not a number in which worlds can differ"
        raise SimulationError(where, f"{problem}; those of a body are mass, com and inertia")

    def _joint(self, where: str, name: str, keys: list[str]) -> Parameter:
        k, key = self._joints[name], ".".join(keys)
        known = _joint_keys()
        if key not in known:
            problem = f"{key!r} is not a number in which worlds can differ"
            remedy = did_you_mean(key, known) or f"; those of a joint are {', '.join(known)}"
            raise SimulationError(where, f"{problem}{remedy}")
        field, least = known[key]
        joint = self._scene.model.joints[k]
        start = self._joint_numbers(k, field)
        return Parameter(
            _path("joint", name, key),
            "joint",
            k,
            field,
            start,
            len(start) > 1,
            least,
            fixed_zero=self._fixed_zero(joint, field),
        )

    def _joint_numbers(self, k: int, field: str) -> Array:
        """Return the numbers (size,) of a joint, whose armature is that of the scene, without rotors of motors."""
        joint = self._scene.model.joints[k]
        numbers = self._armatures[joint.name] if field == "armature" else getattr(joint, field)
        return np.array(numbers, float)

    def _rod(self, where: str, name: str, keys: list[str]) -> Parameter:
        k, key = self._rods[name], ".".join(keys).removeprefix("section.")
        if key not in _ROD:
            problem = f"{key!r} is not a number in which worlds can differ"
            raise SimulationError(where, f"{problem}; those of a rod are {', '.join(_ROD)}")
        value = _rod_number(self._scene.spec.model.rods[k], key)
        if value is None:
            problem = "varies along the rod, and is not one number"
            if key == "length":
                problem = "follows from the points of the rod's path"
            raise SimulationError(where, f"{problem}; load scenes with pysim.load_scenes")
        start = np.atleast_1d(np.array(value, float))
        least = np.nextafter(0, 1) if key == "length" else 0.0
        return Parameter(_path("rod", name, key), "rod", k, key, start, len(start) > 1, least)

    def _fixed_zero(self, joint: JointSpec, field: str) -> str:
        """Return the remedy where a number of a joint decides on the structure of steps."""
        if field == "armature":
            return "both the scene decides whether a joint has armature; give a small one there, or 1e-12 here"
        if field in ("lower", "upper"):
            return "the scene decides whether a joint has a limit; give it a distant one there"
        if field == "friction":
            return "both the scene decides whether a joint has friction; give a small one there, or 1e-12 here"
        is_free = len(joint.start_v) == 6
        if field in ("damping", "stiffness") and is_free:
            return "the scene decides whether a free body is damped; give a small number there"
        return ""

    def _element(self, where: str, kind: str, prefix: str, rest: list[str]) -> Parameter:
        spec = self._scene.spec
        name = self._named(where, element_names(spec, kind), prefix, rest[0])
        key = ".".join(rest[1:])
        found = element_field(spec, kind, name, key)
        if found is None:
            problem = f"{key!r} of {kind} {name!r} is not a number in which worlds can differ"
            raise SimulationError(where, f"{problem}; load scenes with pysim.load_scenes")
        start, is_list = found
        if not np.isfinite(start).all():
            raise SimulationError(where, "the scene sets no bound there; give a finite one in it")
        return Parameter(_path(kind, name, key), "element", (kind, name), key, start, is_list)

    def _surface(self, where: str, kind: str, prefix: str, keys: list[str]) -> Parameter:
        contacts = self._scene.spec.model.contacts
        if contacts is None or self._scene.contacts is None:
            raise SimulationError(where, "the scene has no contacts; leave it out")
        if not self._solves_contacts:
            scheme = self._scene.settings.integrator
            problem = f"surfaces are the same in all worlds under {scheme!r}"
            raise SimulationError(where, f'{problem}; take integrator = "convex"')
        part: Any
        if kind == "materials":
            full = prefix + keys[0] if prefix + keys[0] in self._materials else keys[0]
            if full not in self._materials:
                raise SimulationError(
                    where,
                    f"there is no material {keys[0]!r}{did_you_mean(keys[0], self._materials)}",
                )
            surface, part, name = self._materials[full], full, _path("materials", full, "")[:-1]
        else:
            if not keys[0].isdigit() or int(keys[0]) >= len(contacts.pairs):
                count = len(contacts.pairs)
                raise SimulationError(
                    where, f"must be one of the {count} tables [[contact]], as contact[0]"
                )
            part = int(keys[0])
            surface, name = contacts.pairs[part].surface, f"contact[{part}]"
        key = ".".join(keys[1:])
        if key not in _SURFACE:
            problem = f"{key!r} is not a number in which worlds can differ"
            raise SimulationError(where, f"{problem}; those of a surface are {', '.join(_SURFACE)}")
        number = _SURFACE[key]
        start = _surface_number(surface, number[0])
        if start is None:
            problem = f"the scene gives no {key}, and has another law without it"
            raise SimulationError(where, f"{problem}; write it there, too")
        least = _least_of_surface()[number[0]]
        zero = ""
        if number[0] in ("rolling", "spinning") and start == 0:
            zero = "the scene decides whether surfaces resist rolling; give a small length there"
        return Parameter(
            f"{name}.{key}", kind, part, number[0], np.array([start]), False, least, number, zero
        )


def _rod_number(rod: RodSpec, key: str) -> Any:  # noqa: ANN401, one number or two
    """Return what worlds may have of their own of a rod; None if it is not one number of its table."""
    return None if key == "length" and rod.has_path else getattr(rod, key)


def _surface_number(surface: SurfaceSpec, field: str) -> float | None:
    value: Any = getattr(surface, field)
    if field == "restitution" and value is not None:
        return float(value[0])
    return None if value is None else float(value)


def _path(kind: str, name: str, key: str) -> str:
    """Return the path of a key of a named part."""
    model, _, own = name.rpartition("/")
    if model and "/" not in model:
        return f"model.{_quoted(model)}.{kind}.{_quoted(own)}.{key}"
    return f"{kind}.{_quoted(name)}.{key}"


def _quoted(word: str) -> str:
    return f'"{word}"' if not word.replace("_", "").replace("-", "").isalnum() else word
