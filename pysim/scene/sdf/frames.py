"""Named frames of SDF models: links, frames, joints and nested models, and their poses in the world.

A pose is relative to the frame it names. Without one, that of a link, frame or nested model is relative to the model
(of an attached frame, to what it is attached to), and that of a joint to its child.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.poses import relative_pose
from pysim.scene.sdf.values import pose_reference, raw_pose, text, truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.scene.urdf.xml import Element

    Array = NDArray[np.float64]

WORLD = "world"
OWN_FRAME = ("", "__model__")
TOP = (WORLD, "__root__")


@dataclass
class Scope:
    """Model, or the world: its element, the scope around it, and the named elements in it."""

    name: str  # of its bodies' prefix, "" if they have none
    element: Element
    version: tuple[int, int]
    outer: Scope | None = None
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)
    frames: dict[str, Element] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    poses: dict[str, Array] = field(default_factory=dict)
    visiting: list[str] = field(default_factory=list)

    def label(self, name: str) -> str:
        """Return the name of a link, joint or frame in the whole mechanism."""
        return f"{self.name}::{name}" if self.name else name

    @property
    def is_static(self) -> bool:
        """Whether the model, or one around it, is fixed to the world."""
        own = self.element.tag == "model" and truth(self.element, "static")
        return own or (self.outer is not None and self.outer.is_static)

    def own_pose(self) -> Array:
        """Return the pose (4, 4) of the model in the world."""
        if self.outer is None or self.element.tag == "world":
            return np.eye(4) if self.element.tag == "world" else raw_pose(self.element)
        if "" in self.poses:
            return self.poses[""]
        reference = pose_reference(self.element)
        X = self.outer.pose(reference, self.element) @ raw_pose(self.element)
        placed = self.element.attributes.get("placement_frame")
        if placed:
            self.poses[""] = np.eye(4)  # in which the poses of its frames are found
            visiting, self.visiting = self.visiting, []
            offset = self.pose(placed, self.element)
            self.visiting = visiting
            self.poses.clear()
            X = X @ relative_pose(offset, np.eye(4))
        self.poses[""] = X
        return X

    def pose(self, name: str, user: Element) -> Array:
        """Return the pose (4, 4) in the world of a frame that an element names."""
        if name in OWN_FRAME:
            return self.own_pose()
        if name in TOP and name not in self.links:
            return np.eye(4)
        first, _, rest = name.partition("::")
        if rest:
            return self._model(first, user).pose(rest, user)
        if name in self.models:
            return self.models[name].own_pose()
        if name not in self.poses:
            self.poses[name] = self._pose_of(name, user)
        return self.poses[name]

    def _pose_of(self, name: str, user: Element) -> Array:
        if name in self.visiting:
            chain = " → ".join([*self.visiting, name])
            user.fail(f"the poses of frames are relative to each other in a cycle: {chain}")
        element = self._element(name, user)
        self.visiting.append(name)
        try:
            return self.pose(self._default(name, element), element) @ raw_pose(element)
        finally:
            self.visiting.pop()

    def _default(self, name: str, element: Element) -> str:
        """Return the frame to which the pose of an element is relative."""
        reference = pose_reference(element)
        if reference:
            return reference
        if name in self.frames:
            return element.attributes.get("attached_to", "")
        return text(element, "child") if name in self.joints else ""

    def _element(self, name: str, user: Element) -> Element:
        elements = self.links | self.frames | self.joints
        if name not in elements:
            known = [*elements, *self.models]
            user.fail(f"there is no link, frame or joint {name!r}{did_you_mean(name, known)}")
        return elements[name]

    def _model(self, name: str, user: Element) -> Scope:
        if name not in self.models:
            problem = f"there is no nested model {name!r}{did_you_mean(name, self.models)}"
            user.fail(problem)
        return self.models[name]

    def body(self, name: str, user: Element) -> tuple[str, Scope | None, str]:
        """Return the link that a frame is attached to: its label, scope and name; the scope is None for the world."""
        first, _, rest = name.partition("::")
        if rest:
            return self._model(first, user).body(rest, user)
        if name in self.links:
            return self.label(name), self, name
        if name in TOP:
            return WORLD, None, WORLD
        if name in self.models or name == "__model__":
            scope = self.models.get(name, self)
            if not scope.links:
                user.fail(f"model {name!r} has no link to attach to; name a link")
            canonical = scope.element.attributes.get("canonical_link") or next(iter(scope.links))
            return scope.body(canonical, user)
        element = self._element(name, user)
        if name in self.joints:
            return self.body(text(element, "child"), user)
        if name in self.visiting:
            user.fail(f"frame {name!r} is attached to itself; name a link")
        self.visiting.append(name)
        try:
            return self.body(element.attributes.get("attached_to") or "__model__", user)
        finally:
            self.visiting.pop()
