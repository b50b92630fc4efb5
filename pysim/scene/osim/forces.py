"""Forces of an OpenSim model: muscles, ligaments, springs, bushings, limits of coordinates, coordinate actuators."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.osim import muscles
from pysim.scene.osim.constraints import is_enforced
from pysim.scene.osim.frames import socket
from pysim.scene.osim.functions import function_in
from pysim.scene.osim.muscles import muscle_keys
from pysim.scene.osim.paths import UnreadError
from pysim.scene.osim.values import members, number, numbers, offset_pose, positive, text
from pysim.scene.spec import BlockSpec, ForceSpec, PathPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.osim.frames import Frames
    from pysim.scene.osim.paths import PathReader
    from pysim.scene.urdf.xml import Element

EXCITATION = "/excitation"  # end of the name of the signal that a muscle follows
COMMAND = "/command"  # and of the one that an actuator follows


def coordinates_of_forces(model: Element) -> set[str]:
    """Return the names of coordinates that forces act on, or that points of their paths depend on."""
    found: set[str] = set()
    for element in members(model, "ForceSet"):
        found.update(_names_in(element))
    return found


def _names_in(element: Element) -> set[str]:
    found: set[str] = set()
    waiting = [element]
    while waiting:
        item = waiting.pop()
        if "coordinate" in item.tag.lower() and not item.children and item.content.strip():
            found.update(word.rpartition("/")[2] for word in item.content.split())
        waiting += item.children
    return found


@dataclass
class ForceReader:
    """Reader of forces, which reports those that it leaves out."""

    frames: Frames
    paths: PathReader
    omissions: Omissions
    forces: list[ForceSpec] = field(default_factory=list)
    blocks: list[BlockSpec] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)

    def read(self, model: Element) -> None:
        """Read the forces of a model."""
        readers: dict[str, Callable[[Element, str], ForceSpec]] = {
            **dict.fromkeys(muscles.CLASSES, self._muscle),
            "CoordinateLimitForce": self._limit,
            "BushingForce": self._bushing,
            "PathSpring": self._path_spring,
            "Ligament": self._ligament,
            "PointToPointSpring": self._point_spring,
            "SpringGeneralizedForce": self._coordinate_spring,
        }
        for element in members(model, "ForceSet"):
            name = self._unique(element.attributes.get("name", "").strip() or element.tag)
            if not is_enforced(element):
                self.omissions.note(
                    "forces", f"force {name!r}", element.where, "is not read: it does not apply"
                )
                continue
            try:
                if element.tag in {"CoordinateActuator", "GeneralizedForce"}:
                    self._actuator(element, name)
                elif element.tag in readers:
                    self.forces.append(readers[element.tag](element, name))
                else:
                    self._leave(element, name, f"a {element.tag} is not read")
            except UnreadError as reason:
                self._leave(element, name, str(reason))

    def _leave(self, element: Element, name: str, reason: str) -> None:
        kind = "muscles" if "Muscle" in element.tag else "forces"
        self.omissions.add(kind, f"{kind[:-1]} {name!r}", element.where, f"is left out: {reason}")

    def _unique(self, name: str) -> str:
        found, count = name, 1
        while found in self._taken:
            count += 1
            found = f"{name}_{count}"
        self._taken.add(found)
        return found

    def _muscle(self, element: Element, name: str) -> ForceSpec:
        kind, keys = muscle_keys(element)
        path = self.paths.read(element)
        source = f"{name}{EXCITATION}"
        self._constant(source, element)
        keys["excitation"] = source
        return ForceSpec(name, kind, path=path, parameters=keys, where=element.where)

    def _constant(self, name: str, element: Element) -> None:
        self.blocks.append(
            BlockSpec(
                "signal",
                name,
                "constant",
                parameters={"value": 0.0},
                where=element.where,
                command_of="",
            )
        )

    def _actuator(self, element: Element, name: str) -> None:
        place = self._coordinate(element)
        source = f"{name}{COMMAND}"
        self._constant(source, element)
        strength = number(element, "optimal_force", 1.0)
        self.blocks.append(
            BlockSpec(
                "actuator",
                name,
                "motor",
                inputs=(source,),
                coordinates=(place,),
                parameters={} if strength == 1 else {"gear": (strength,)},
                where=element.where,
            )
        )

    def _coordinate(self, element: Element) -> str:
        name = (text(element, "coordinate") or socket(element, "coordinate")).rpartition("/")[2]
        place = self.paths.constraints.place(name, element)
        mimic = self.paths.constraints.followers.get(place)
        if mimic is not None:
            raise UnreadError(f"its coordinate {name!r} follows {mimic.joint!r}")
        return place

    def _limit(self, element: Element, name: str) -> ForceSpec:
        """Return a limit; of angles, the file has degrees."""
        place = self._coordinate(element)
        label = (text(element, "coordinate") or socket(element, "coordinate")).rpartition("/")[2]
        turns = self.paths.coordinates[label].turns
        unit = math.radians(1.0) if turns else 1.0
        keys = {
            "lower": unit * number(element, "lower_limit", 0.0),
            "upper": unit * number(element, "upper_limit", 0.0),
            "lower_stiffness": number(element, "lower_stiffness", 1.0) / unit,
            "upper_stiffness": number(element, "upper_stiffness", 1.0) / unit,
            "transition": unit * positive(element, "transition", "°" if turns else "m", 0.1),
            "damping": number(element, "damping", 0.001) / unit,
        }
        if keys["lower"] > keys["upper"]:
            got = f"from {number(element, 'lower_limit'):g} to {number(element, 'upper_limit'):g}"
            element.fail(f"the limits of {name!r} are {got}; swap them")
        return self._on_coordinate(element, name, "coordinate_limit", place, keys)

    @staticmethod
    def _on_coordinate(
        element: Element, name: str, kind: str, place: str, keys: dict[str, Any]
    ) -> ForceSpec:
        return ForceSpec(name, kind, coordinates=(place,), parameters=keys, where=element.where)

    def _coordinate_spring(self, element: Element, name: str) -> ForceSpec:
        keys = {
            "stiffness": number(element, "stiffness", 0.0),
            "rest": number(element, "rest_length", 0.0),
            "damping": number(element, "viscosity", 0.0),
        }
        place = self._coordinate(element)
        return self._on_coordinate(element, name, "coordinate_spring", place, keys)

    def _bushing(self, element: Element, name: str) -> ForceSpec:
        context = f"/forceset/{name}"
        ends = []
        for k in ("1", "2"):
            reference = socket(element, f"frame{k}") or text(element, f"body_{k}")
            holder = element.child("frames")
            own = (
                {} if holder is None else {f.attributes.get("name", ""): f for f in holder.children}
            )
            if reference in own:
                parent = socket(own[reference], "parent")
                body, X = self.frames.place(parent, context, element)
                X = X @ offset_pose(own[reference], "translation", "orientation")
            else:
                body, X = self.frames.place(reference, context, element)
                X = X @ offset_pose(element, f"location_body_{k}", f"orientation_body_{k}")
            ends.append((body, X))
        (a, at_a), (b, at_b) = ends
        zero = (0.0, 0.0, 0.0)
        keys = {
            "angular_stiffness": numbers(element, "rotational_stiffness", 3, zero),
            "linear_stiffness": numbers(element, "translational_stiffness", 3, zero),
            "angular_damping": numbers(element, "rotational_damping", 3, zero),
            "linear_damping": numbers(element, "translational_damping", 3, zero),
        }
        return ForceSpec(
            name, "angle_bushing", a, b, at_a, at_b, parameters=keys, where=element.where
        )

    def _path_spring(self, element: Element, name: str) -> ForceSpec:
        keys = {
            "stiffness": number(element, "stiffness", 1.0),
            "rest_length": number(element, "resting_length", 0.0),
            "dissipation": number(element, "dissipation", 0.0),
        }
        path = self.paths.read(element)
        return ForceSpec(name, "stretch_spring", path=path, parameters=keys, where=element.where)

    def _ligament(self, element: Element, name: str) -> ForceSpec:
        holder = element.child("force_length_curve")
        function = None if holder is None else function_in(holder)
        if function is None or "spline" not in function:
            raise UnreadError("its force_length_curve is no spline")
        keys = {
            "rest_length": positive(element, "resting_length", "m"),
            "scale": number(element, "pcsa_force", 1.0),
            "lengths": tuple(function["spline"]["x"]),
            "forces": tuple(function["spline"]["y"]),
        }
        path = self.paths.read(element)
        return ForceSpec(name, "ligament", path=path, parameters=keys, where=element.where)

    def _point_spring(self, element: Element, name: str) -> ForceSpec:
        path = []
        for k in ("1", "2"):
            reference = socket(element, f"body{k}") or text(element, f"body{k}")
            body, X = self.frames.place(reference, f"/forceset/{name}", element)
            point = np.array(numbers(element, f"point{k}", 3, (0.0, 0.0, 0.0)))
            path.append(PathPart(body, X[:3, :3] @ point + X[:3, 3]))
        keys = {
            "stiffness": number(element, "stiffness", 1.0),
            "rest_length": number(element, "rest_length", 0.0),
        }
        return ForceSpec(
            name, "path_spring", path=tuple(path), parameters=keys, where=element.where
        )
