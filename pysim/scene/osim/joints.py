"""Joints of an OpenSim model as joints of the tree.

A joint with one coordinate has the name of the coordinate, as in OpenSim's files of motions. Joints with several become
chains of such joints where they can, over massless bodies "CHILD/COORDINATE". A ball or free joint keeps its name and
holds a quaternion, unless something names one of its coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import closest, did_you_mean
from pysim.scene.osim.axes import IDENTITY, Axis, Link, chain_of
from pysim.scene.osim.frames import GROUND, socket
from pysim.scene.osim.functions import function_in
from pysim.scene.osim.values import (
    members,
    name_of,
    number,
    numbers,
    offset_pose,
    rotation_xyz,
    text,
    truth,
    words,
)
from pysim.scene.spec import BodySpec, JointSpec
from pysim.scene.tree import WORLD
from pysim.scene.urdf.joints import plain_joint
from pysim.spatial.rotations import quaternion_from_rotation
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.scene.osim.frames import Frames
    from pysim.scene.urdf.xml import Element

X, Y, Z = np.eye(3)
# coordinates of each class in order: whether it turns, and its axis
_CLASSES: dict[str, tuple[tuple[bool, Array], ...]] = {
    "PinJoint": ((True, Z),),
    "SliderJoint": ((False, X),),
    "UniversalJoint": ((True, X), (True, Y)),
    "GimbalJoint": ((True, X), (True, Y), (True, Z)),
    "BallJoint": ((True, X), (True, Y), (True, Z)),
    "PlanarJoint": ((True, Z), (False, X), (False, Y)),
    "FreeJoint": ((True, X), (True, Y), (True, Z), (False, X), (False, Y), (False, Z)),
    "WeldJoint": (),
}
_GROUPS = {"BallJoint": "ball", "FreeJoint": "free"}
CLASSES = (*_CLASSES, "CustomJoint")


@dataclass(frozen=True)
class Coordinate:
    """Coordinate of a joint: its numbers in the file, and the place where it is in pysim."""

    name: str
    element: Element | None
    turns: bool = True
    start: float = 0.0  # [m or rad]
    speed: float = 0.0  # [m/s or rad/s]
    range: tuple[float, float] | None = None  # [m or rad], for drawing only
    is_locked: bool = False
    place: str = ""  # joint, or "joint.coordinate"; "" if a quaternion holds it


@dataclass
class JointItem:
    """Joint of a file: its class, ends, and axes."""

    name: str
    element: Element
    parent: str
    child: str
    X_parent: Array
    X_child: Array
    coordinates: list[Coordinate] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Class in OpenSim."""
        return self.element.tag


def joint_items(model: Element, frames: Frames) -> list[JointItem]:
    """Return the joints of a model, of files since version 4.0 and before.

    Raises:
        SceneError: a joint is of a class that is not read, or its numbers are invalid.
    """
    items = [*_items_in_set(model, frames), *_items_in_bodies(model)]
    for item in items:
        _read_coordinates(item)
        _read_axes(item)
    return items


def _items_in_set(model: Element, frames: Frames) -> Iterator[JointItem]:
    for element in members(model, "JointSet"):
        name = name_of(element)
        context = f"/jointset/{name}"
        parent, X_parent = frames.place(socket(element, "parent_frame"), context, element)
        child, X_child = frames.place(socket(element, "child_frame"), context, element)
        yield _checked(JointItem(name, element, parent, child, X_parent, X_child))


def _items_in_bodies(model: Element) -> Iterator[JointItem]:
    """Yield the joints of a file before version 4.0, which lie in the bodies that they move."""
    bodies = {name_of(body): body for body in members(model, "BodySet")}
    for name, body in bodies.items():
        holder = body.child("Joint")
        if holder is None or name == GROUND:
            continue
        for element in holder.children:
            parent = text(element, "parent_body")
            if parent not in bodies and parent != GROUND:
                element.fail(f"there is no body {parent!r}{did_you_mean(parent, bodies)}")
            if truth(element, "reverse", default=False):
                element.fail(
                    "<reverse> true is not read; swap parent and child, and set it to false"
                )
            X_parent = offset_pose(element, "location_in_parent", "orientation_in_parent")
            X_child = offset_pose(element, "location", "orientation")
            parent = WORLD if parent == GROUND else parent
            label = element.attributes.get("name", "").strip() or f"{name}_joint"
            yield _checked(JointItem(label, element, parent, name, X_parent, X_child))


def _checked(item: JointItem) -> JointItem:
    if item.kind not in CLASSES:
        likely = closest(item.kind, CLASSES, 0.8)
        remedy = "make it a CustomJoint, or write a joint plugin"
        if likely is not None:
            remedy = f"did you mean {likely!r}?"
        item.element.fail(f"joint {item.name!r}: the class {item.kind} is not read; {remedy}")
    if item.child == WORLD:
        item.element.fail(f"joint {item.name!r} moves the ground; swap its parent and child")
    if item.child == item.parent:
        item.element.fail(
            f"joint {item.name!r} joins {item.child!r} to itself; name another parent"
        )
    return item


# ---------------------------------------------------------------------------------- coordinates


def _read_coordinates(item: JointItem) -> None:
    holder = item.element.child("coordinates")
    coordinates = [] if holder is None else [c for c in holder.children if c.tag == "Coordinate"]
    coordinates = coordinates or list(members(item.element, "CoordinateSet"))
    if item.kind != "CustomJoint":
        axes = _CLASSES[item.kind]
        if len(coordinates) > len(axes):
            problem = f"joint {item.name!r} is a {item.kind} and has {len(axes)} coordinates"
            coordinates[len(axes)].fail(f"{problem}, got {len(coordinates)}; remove this one")
        for k, (turns, _) in enumerate(axes):
            element = coordinates[k] if k < len(coordinates) else None
            item.coordinates.append(_coordinate(element, f"{item.name}_coord_{k}", turns=turns))
    else:
        item.coordinates += [
            _coordinate(element, name_of(element), turns=True) for element in coordinates
        ]
    names = [c.name for c in item.coordinates]
    for k, name in enumerate(names):
        if name in names[:k]:
            item.element.fail(f"joint {item.name!r} has two coordinates {name!r}; rename one")


def _coordinate(element: Element | None, name: str, *, turns: bool) -> Coordinate:
    if element is None:
        return Coordinate(name, None, turns)
    name = element.attributes.get("name", "").strip() or name
    bounds: tuple[float, float] | None = None
    if element.child("range") is not None:
        low, high = numbers(element, "range", 2, (-np.inf, np.inf))
        if low > high:
            problem = f"the range of coordinate {name!r} is from {low:g} to {high:g}"
            element.required("range").fail(f"{problem}; swap them")
        bounds = low, high
    return Coordinate(
        name,
        element,
        turns,
        number(element, "default_value", 0.0),
        number(element, "default_speed_value", 0.0),
        bounds,
        truth(element, "locked", default=False),
    )


# ----------------------------------------------------------------------------------------- axes


def _read_axes(item: JointItem) -> None:
    if item.kind != "CustomJoint":
        pairs = zip(_CLASSES[item.kind], item.coordinates, strict=True)
        item.axes = [Axis(axis, IDENTITY, c.name, turns) for (turns, axis), c in pairs]
        return
    transform = item.element.required("SpatialTransform")
    elements = _transform_axes(transform)
    item.axes = [_axis(item, element, turns=k < 3) for k, element in enumerate(elements)]
    turning = {a.coordinate for a in item.axes if a.turns}
    for k, coordinate in enumerate(item.coordinates):
        moved = [a for a in item.axes if a.coordinate == coordinate.name and a.constant is None]
        if not moved:
            problem = f"coordinate {coordinate.name!r} of joint {item.name!r} moves no axis"
            item.element.fail(f"{problem}; give one of its axes a function of it, or remove it")
        item.coordinates[k] = replace(coordinate, turns=coordinate.name in turning)


def _transform_axes(transform: Element) -> list[Element]:
    """Return the six axes of a transform in order: three of rotation, then three of translation."""
    found = transform.all("TransformAxis") or list(members(transform, "TransformAxisSet"))
    order = [f"{kind}{k}" for kind in ("rotation", "translation") for k in (1, 2, 3)]
    named = {element.attributes.get("name", ""): element for element in found}
    if set(order) <= set(named) and len(found) == 6:
        return [named[name] for name in order]
    if len(found) != 6:
        problem = f"<{transform.tag}> needs six <TransformAxis>, got {len(found)}"
        transform.fail(f"{problem}; write rotation1 to rotation3 and translation1 to translation3")
    return found


def _axis(item: JointItem, element: Element, *, turns: bool) -> Axis:
    label = f"joint {item.name!r}: {element.attributes.get('name', 'axis')}"
    direction = np.array(numbers(element, "axis", 3, (1.0, 0.0, 0.0)))
    length = np.linalg.norm(direction)
    if not length > 0:
        element.fail(f"{label} has no direction; give an <axis>, as '0 0 1'")
    names = words(element, "coordinates")
    if len(names) > 1:
        problem = f"{label} depends on {len(names)} coordinates, {', '.join(names)}"
        element.fail(f"{problem}; write a function of one, or a joint plugin")
    known = [c.name for c in item.coordinates]
    if names and names[0] not in known:
        problem = f"{label} depends on {names[0]!r}, which is no coordinate of the joint"
        element.fail(f"{problem}{did_you_mean(names[0], known)}")
    function = function_in(element)
    if function is None:
        function = IDENTITY if names else {"constant": 0.0}
    return Axis(direction / length, function, names[0] if names else "", turns)


# ------------------------------------------------------------------------------- joints of pysim


class TreeBuilder:
    """Builder of the tree: bodies between the file's bodies, and joints."""

    def __init__(self, named: set[str], taken: set[str]) -> None:
        self.named = named  # coordinates that something of the file names
        self.taken = {*taken, WORLD}  # names of bodies
        self.labels: set[str] = set()  # of joints
        self.bodies: list[BodySpec] = []
        self.joints: list[JointSpec] = []

    def add(self, item: JointItem) -> None:
        """Add a joint as a chain of joints, and write the places of its coordinates into it."""
        group = _GROUPS.get(item.kind)
        if group is not None and not any(
            c.name in self.named or c.is_locked for c in item.coordinates
        ):
            self._add_group(item, group)
            return
        coordinates = {c.name: c for c in item.coordinates}
        links = chain_of(_translations_first(item.axes), list(coordinates))
        parent, at = item.parent, item.X_parent
        end = _inverse(item.X_child)
        if links[0].type == "fixed":
            where, label = item.element.where, self._label(item, links[0])
            at = at @ links[0].before @ end
            self.joints.append(plain_joint(label, "fixed", parent, item.child, at, where))
            return
        for k, link in enumerate(links):
            is_last = k == len(links) - 1
            offset = link.after @ end if is_last else link.after
            ends_at_child = is_last and np.array_equal(offset, np.eye(4))
            child = item.child if ends_at_child else self._between(item, link)
            label = self._label(item, link)
            self._joint(item, link, label, (parent, child, at @ link.before), coordinates)
            parent, at = child, np.eye(4)
            if is_last and not ends_at_child:
                fixed = self._unique(f"{item.name}/child", self.labels)
                where = item.element.where
                self.joints.append(plain_joint(fixed, "fixed", parent, item.child, offset, where))
        item.coordinates = list(coordinates.values())

    def _joint(
        self,
        item: JointItem,
        link: Link,
        label: str,
        ends: tuple[str, str, Array],
        coordinates: dict[str, Coordinate],
    ) -> None:
        parent, child, at = ends
        joint = plain_joint(label, link.type, parent, child, at, item.element.where)
        if link.coordinates:
            own = [coordinates[name] for name in link.coordinates]
            start = np.array([c.start for c in own])
            speeds = np.array([c.speed for c in own])
            joint = replace(
                joint, axis=link.axis, parameters=link.parameters, start_q=start, start_v=speeds
            )
            for k, c in enumerate(own):
                place = label if len(own) == 1 else f"{label}.q{k + 1}"
                coordinates[c.name] = replace(c, place=place)
        self.joints.append(joint)

    def _add_group(self, item: JointItem, kind: str) -> None:
        """Add a ball or free joint, which starts at the file's angles."""
        angles = [c.start for c in item.coordinates[:3]]
        R = rotation_xyz(*angles)
        q = quaternion_from_rotation(R)
        v = R.T @ np.array([c.speed for c in item.coordinates[:3]])
        if kind == "free":
            q = np.concatenate([[c.start for c in item.coordinates[3:]], q])
            v = np.concatenate([R.T @ np.array([c.speed for c in item.coordinates[3:]]), v])
        end = _inverse(item.X_child)
        exact = np.array_equal(end, np.eye(4))
        child = item.child if exact else self._unique(f"{item.child}/{item.name}", self.taken)
        where, label = item.element.where, self._unique(item.name, self.labels)
        joint = plain_joint(label, kind, item.parent, child, item.X_parent, where)
        self.joints.append(replace(joint, start_q=q, start_v=v))
        if not exact:
            self.bodies.append(BodySpec(child, np.zeros(10), (), where))
            fixed = self._unique(f"{item.name}/child", self.labels)
            self.joints.append(plain_joint(fixed, "fixed", child, item.child, end, where))

    def _between(self, item: JointItem, link: Link) -> str:
        """Return the name of a new massless body that a link moves."""
        own = link.coordinates[0] if len(link.coordinates) == 1 else item.name
        name = self._unique(f"{item.child}/{own}", self.taken)
        self.bodies.append(BodySpec(name, np.zeros(10), (), item.element.where))
        return name

    def _label(self, item: JointItem, link: Link) -> str:
        own = link.coordinates[0] if len(link.coordinates) == 1 else item.name
        return self._unique(own, self.labels)

    @staticmethod
    def _unique(name: str, taken: set[str]) -> str:
        """Return a name that is not taken: with a number if it is."""
        found, count = name, 1
        while found in taken:
            count += 1
            found = f"{name}_{count}"
        taken.add(found)
        return found


def _translations_first(axes: Sequence[Axis]) -> list[Axis]:
    return [a for a in axes if not a.turns] + [a for a in axes if a.turns]


def _inverse(pose: Array) -> Array:
    """Return the inverse of a pose; exactly the identity of the identity."""
    found = np.eye(4)
    if not np.array_equal(pose, np.eye(4)):
        found[:3, :3], found[:3, 3] = pose[:3, :3].T, -pose[:3, :3].T @ pose[:3, 3]
    return found
