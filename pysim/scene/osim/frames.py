"""Frames of an OpenSim model: the ground, bodies, and offset frames on them, found by path or name.

Since version 4.0, sockets name frames by a path from the model, `/bodyset/femur_r`, by one from the element that has
the socket, `../../bodyset/femur_r`, or by a bare name. Files before 4.0 name bodies.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.osim.values import members, name_of, offset_pose
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.urdf.xml import Element

GROUND = "ground"
MOST_LEVELS = 50  # offset frames on each other
OFFSET_FRAMES = {"PhysicalOffsetFrame", "OffsetFrame_PhysicalFrame_"}


class Frames:
    """Frames of a model by path."""

    def __init__(self, model: Element) -> None:
        self.elements: dict[str, Element | None] = {f"/{GROUND}": None}
        self.bodies: dict[str, str] = {f"/{GROUND}": WORLD}  # by path
        ground = model.child("Ground")
        if ground is not None:
            self._add_components(f"/{GROUND}", ground)
        for body in members(model, "BodySet"):
            name = name_of(body)
            if name == GROUND:  # before version 4.0
                continue
            path = f"/bodyset/{name}"
            if path in self.bodies:
                body.fail(f"second body {name!r}; rename one")
            self.bodies[path], self.elements[path] = name, body
            self._add_components(path, body)
        for joint in members(model, "JointSet"):
            self._add_frames(f"/jointset/{name_of(joint)}", joint, "frames")
        for holder, prefix in (("ComponentSet", "/componentset"), ("components", "")):
            for item in members(model, holder):
                if item.tag in OFFSET_FRAMES:
                    self._add(f"{prefix}/{name_of(item)}", item)

    def _add_components(self, path: str, owner: Element) -> None:
        self._add_frames(path, owner, "components")

    def _add_frames(self, path: str, owner: Element, tag: str) -> None:
        holder = owner.child(tag)
        for item in [] if holder is None else holder.children:
            if item.tag in OFFSET_FRAMES:
                self._add(f"{path}/{name_of(item)}", item)

    def _add(self, path: str, element: Element) -> None:
        if path.count("/") > MOST_LEVELS:
            element.fail(f"offset frames lie within {MOST_LEVELS} others; remove some")
        self.elements[path] = element
        self._add_frames(path, element, "components")

    def place(self, reference: str, context: str, element: Element) -> tuple[str, Array]:
        """Return the body of a frame, and its pose (4, 4) in the body.

        Args:
            reference: path or name of the frame.
            context: path of the element that refers to it.
            element: that element, for errors.

        Raises:
            SceneError: there is no such frame, or it stands on itself.
        """
        path, X = self._path(reference, context, element), np.eye(4)
        passed = {path}
        while path not in self.bodies:
            frame = self.elements[path]
            assert frame is not None  # the ground is a body
            X = offset_pose(frame, "translation", "orientation") @ X
            path = self._path(socket(frame, "parent"), path, frame)
            if path in passed:
                element.fail(f"the frame {reference!r} stands on itself; give it a body")
            passed.add(path)
        return self.bodies[path], X

    def _path(self, reference: str, context: str, element: Element) -> str:
        if not reference:
            element.fail("names no frame; give the path of one, as /bodyset/NAME")
        if reference.startswith("/"):
            path = posixpath.normpath(reference)
            if path in self.elements:
                return path
        else:
            path = posixpath.normpath(posixpath.join(context or "/", reference))
            if path in self.elements:
                return path
        name = posixpath.basename(reference)
        same = [known for known in self.elements if posixpath.basename(known) == name]
        if len(same) > 1:
            places = " or ".join(same)
            element.fail(f"the frame {reference!r} may be {places}; write the path")
        if not same:
            known = {posixpath.basename(path) for path in self.elements}
            element.fail(f"there is no frame {reference!r}{did_you_mean(name, known)}")
        return same[0]


def socket(element: Element, name: str) -> str:
    """Return what a socket of an element names, "" if it has none."""
    child = element.child(f"socket_{name}")
    if child is not None:
        return child.content.strip()
    for holder in element.all("connectors"):
        for connector in holder.children:
            if connector.attributes.get("name") == name:
                found = connector.child("connectee_name")
                return "" if found is None else found.content.strip()
    return ""
