"""Constraints of an OpenSim model: locked and coupled coordinates, and loops between bodies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import JointError, did_you_mean
from pysim.joints.coordinate_functions import relation_name
from pysim.scene.mimic import leading
from pysim.scene.osim.frames import socket
from pysim.scene.osim.functions import constant_of, function_in, line_of, scaled
from pysim.scene.osim.values import (
    members,
    name_of,
    number,
    numbers,
    offset_pose,
    text,
    truth,
    words,
)
from pysim.scene.spec import CouplingSpec, LoopSpec, Mimic
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.osim.frames import Frames
    from pysim.scene.osim.joints import Coordinate
    from pysim.scene.spec import JointSpec
    from pysim.scene.urdf.xml import Element

LOCK = "/lock"  # end of the name of the coupling that holds a locked coordinate
_KINDS = {
    "WeldConstraint": "weld",
    "PointConstraint": "ball",
    "ConstantDistanceConstraint": "distance",
    "PointOnLineConstraint": "point_on_line",
}


def is_enforced(element: Element) -> bool:
    """Return whether a constraint or force acts, by the properties of any version."""
    if truth(element, "isDisabled", default=False):
        return False
    return truth(element, "isEnforced", default=True) and truth(
        element, "appliesForce", default=True
    )


def dependents_of(model: Element) -> set[str]:
    """Return the names of coordinates that constraints name."""
    found: set[str] = set()
    for element in members(model, "ConstraintSet"):
        if element.tag == "CoordinateCouplerConstraint":
            found.update(words(element, "independent_coordinate_names"))
            found.add(text(element, "dependent_coordinate_name"))
    return found


@dataclass
class ConstraintReader:
    """Reader of constraints, which reports those that it leaves out."""

    frames: Frames
    coordinates: Mapping[str, Coordinate]
    omissions: Omissions
    mimic: bool = True
    followers: dict[str, Mimic] = field(default_factory=dict)  # by joint
    couplings: list[CouplingSpec] = field(default_factory=list)
    loops: list[LoopSpec] = field(default_factory=list)

    def read(self, model: Element) -> None:
        """Read the constraints of a model, and its locked coordinates."""
        for element in members(model, "ConstraintSet"):
            name = name_of(element)
            if not is_enforced(element):
                reason = "is not read: it is not enforced"
                self.omissions.note("constraints", f"constraint {name!r}", element.where, reason)
            elif element.tag == "CoordinateCouplerConstraint":
                self._coupler(element, name)
            elif element.tag in _KINDS:
                self.loops.append(self._loop(element, name))
            else:
                reason = f"is left out: a {element.tag} is not read"
                self.omissions.add("constraints", f"constraint {name!r}", element.where, reason)
        for c in self.coordinates.values():
            if c.is_locked and c.place not in self.followers:
                where = "" if c.element is None else c.element.where
                lock = CouplingSpec(f"{c.name}{LOCK}", {c.place: 1.0}, c.start, where=where)
                self.couplings.append(lock)

    def with_followers(self, joints: tuple[JointSpec, ...]) -> tuple[JointSpec, ...]:
        """Return the joints with those that follow others, each led by the head of its chain."""
        led = [replace(j, mimic=self.followers.get(j.name, j.mimic)) for j in joints]
        by_name = {joint.name: joint for joint in led}
        found = []
        for joint in led:
            try:
                found.append(replace(joint, mimic=leading(joint, by_name)))
            except JointError as error:
                problem = f"joint {joint.name!r}: {error.problem}"
                raise type(error)(joint.where, problem) from None
        return tuple(found)

    def place(self, name: str, element: Element) -> str:
        """Return the place of a coordinate with this name."""
        if name not in self.coordinates:
            known = did_you_mean(name, self.coordinates)
            element.fail(f"there is no coordinate {name!r}{known}")
        return self.coordinates[name].place

    def _coupler(self, element: Element, name: str) -> None:
        """Read q_dep = scale · f(q_ind): a joint that follows another if f is a line, else a coupling."""
        inputs = words(element, "independent_coordinate_names")
        dependent = text(element, "dependent_coordinate_name")
        if len(inputs) != 1:
            problem = f"constraint {name!r} has {len(inputs)} independent coordinates"
            element.fail(f"{problem}; name one in <independent_coordinate_names>")
        function = function_in(element.required("coupled_coordinates_function"))
        if function is None:
            element.fail(f"constraint {name!r} has no function; write one")
        function = scaled(function, number(element, "scale_factor", 1.0))
        leader, follower = self.place(inputs[0], element), self.place(dependent, element)
        if leader == follower:
            element.fail(
                f"constraint {name!r} couples {dependent!r} to itself; name another coordinate"
            )
        constant, line = constant_of(function), line_of(function)
        if constant is not None:
            self.couplings.append(
                CouplingSpec(name, {follower: 1.0}, constant, where=element.where)
            )
        elif line is None:
            relation = relation_name(function)
            terms = {follower: 1.0}
            self.couplings.append(
                CouplingSpec(name, terms, 0.0, relation, (leader,), where=element.where)
            )
        elif self.mimic and "." not in leader + follower and follower not in self.followers:
            self.followers[follower] = Mimic(leader, *line)
        else:
            terms = {follower: 1.0, leader: -line[0]}
            self.couplings.append(CouplingSpec(name, terms, line[1], where=element.where))

    def _loop(self, element: Element, name: str) -> LoopSpec:
        kind = _KINDS[element.tag]
        ends = _ENDS[element.tag]
        axis, length = (0.0, 0.0, 1.0), 0.0
        (a, at_a), (b, at_b) = (self._end(element, *end) for end in ends)
        if kind == "distance":
            length = number(element, "constant_distance")
        if kind == "point_on_line":
            direction = np.array(numbers(element, "line_direction_vec", 3, (0.0, 0.0, 1.0)))
            size = float(np.linalg.norm(direction))
            if not size > 0:
                element.fail(f"the line of constraint {name!r} has no direction; give one")
            x, y, z = map(float, at_a[:3, :3] @ direction / size)
            at_a = at_a.copy()
            at_a[:3, :3] = np.eye(3)
            axis = (x, y, z)
        return LoopSpec(name, kind, a, b, at_a, at_b, axis, length, where=element.where)

    def _end(
        self, element: Element, sockets: tuple[str, ...], location: str, orientation: str
    ) -> tuple[str, Array]:
        """Return the body and pose of one end of a constraint, of files of any version."""
        reference = next((found for name in sockets if (found := socket(element, name))), "")
        reference = reference or next(
            (found for name in sockets if (found := text(element, name))), ""
        )
        context = f"/constraintset/{name_of(element)}"
        body, X = self.frames.place(reference, context, element)
        return body, X @ offset_pose(element, location, orientation)


_BODY_1 = (("body_1", "frame1"), "location_body_1", "orientation_body_1")
_BODY_2 = (("body_2", "frame2"), "location_body_2", "orientation_body_2")
_ENDS = {
    "WeldConstraint": (
        (("frame1", "body_1"), "location_body_1", "orientation_body_1"),
        (("frame2", "body_2"), "location_body_2", "orientation_body_2"),
    ),
    "PointConstraint": (_BODY_1, _BODY_2),
    "ConstantDistanceConstraint": (_BODY_1, _BODY_2),
    "PointOnLineConstraint": (
        (("line_body",), "point_on_line", ""),
        (("follower_body",), "point_on_follower", ""),
    ),
}
