"""Named frames of SDF models: links, frames, joints and nested models, and their poses in the world.

A pose is relative to the frame it names. Without one, that of a link, frame or nested model is relative to the model
(of an attached frame, to what it is attached to), and that of a joint to its child.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.poses import relative_pose
from pysim.scene.sdf.values import pose_reference, raw_pose, text, truth
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.urdf.xml import Element

WORLD = "world"
WORLD_LINK = "world_link"  # body of a link called "world"
OWN_FRAME = ("", "__model__")
TOP = (WORLD, "__root__")
NEWEST_VERSION = (1, 12)
LAST_MODEL_FRAME = (1, 4)  # last version with axes in the model's frame
MOST_SHOWN_NAMES = 20  # names of a cycle in a message


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
    bodies: dict[str, tuple[str, Scope | None, str]] = field(default_factory=dict)
    visiting: dict[str, None] = field(default_factory=dict)  # whose poses are being found
    # frames and joints whose bodies are being found
    attaching: set[str] = field(default_factory=set)
    is_placing: bool = False

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
        if self.is_placing:
            problem = f"the pose of model {self.name!r} is relative to itself in a cycle"
            self.element.fail(f"{problem}; make one relative to the model around it")
        reference = pose_reference(self.element)
        self.is_placing = True
        try:
            X = self.outer.pose(reference, self.element) @ raw_pose(self.element)
        finally:
            self.is_placing = False
        placed = self.element.attributes.get("placement_frame")
        if placed:
            self.poses[""] = np.eye(4)  # in which the poses of its frames are found
            visiting, self.visiting = self.visiting, {}
            offset = self.pose(placed, self.element)
            self.visiting = visiting
            self.forget_poses()
            X = X @ relative_pose(offset, np.eye(4))
        self.poses[""] = X
        return X

    def forget_poses(self) -> None:
        """Forget the poses of the model's frames, and of the models in it."""
        self.poses.clear()
        for inner in self.models.values():
            inner.forget_poses()

    def pose(self, name: str, user: Element) -> Array:
        """Return the pose (4, 4) in the world of a frame that an element names."""
        chain: dict[str, Element] = {}  # each relative to the next
        while self._is_relative(name):
            if name in self.visiting or name in chain:
                names = " → ".join([*self.visiting, *chain, name][-MOST_SHOWN_NAMES:])
                user.fail(f"the poses of frames are relative to each other in a cycle: {names}")
            user = chain[name] = self._element(name, user)
            name = self._default(name, user)
        self.visiting |= dict.fromkeys(chain)
        try:
            X = self._base_pose(name, user)
        finally:
            for relative in chain:
                del self.visiting[relative]
        for relative, element in reversed(chain.items()):
            X = self.poses[relative] = X @ raw_pose(element)
        return X

    def _is_relative(self, name: str) -> bool:
        """Return whether a name is of a link, joint or frame here whose pose is not known yet."""
        if name in OWN_FRAME or (name in TOP and name not in self.links):
            return False
        return "::" not in name and name not in self.models and name not in self.poses

    def _base_pose(self, name: str, user: Element) -> Array:
        """Return the pose (4, 4) of the model, of the world, of one in a nested model, or of one that is known."""
        if name in OWN_FRAME:
            return self.own_pose()
        if name in TOP and name not in self.links:
            return np.eye(4)
        first, _, rest = name.partition("::")
        if rest:
            return self._model(first, user).pose(rest, user)
        return self.models[name].own_pose() if name in self.models else self.poses[name]

    def _default(self, name: str, element: Element) -> str:
        """Return the frame to which the pose of an element is relative."""
        reference = pose_reference(element)
        if reference:
            return reference
        if name in self.frames:
            return element.attributes.get("attached_to", "")
        return text(element, "child") if name in self.joints else ""

    def _element(self, name: str, user: Element) -> Element:
        named = (self.joints, self.frames, self.links)
        element = next((elements[name] for elements in named if name in elements), None)
        if element is None:
            known = [*self.links, *self.frames, *self.joints, *self.models]
            user.fail(f"there is no link, frame or joint {name!r}{did_you_mean(name, known)}")
        return element

    def _model(self, name: str, user: Element) -> Scope:
        if name not in self.models:
            problem = f"there is no nested model {name!r}{did_you_mean(name, self.models)}"
            user.fail(problem)
        return self.models[name]

    def body(self, name: str, user: Element) -> tuple[str, Scope | None, str]:
        """Return the link that a frame is attached to: its label, scope and name; the scope is None for the world."""
        chain: list[str] = []  # frames and joints, each attached to the next
        try:
            while (body := self.bodies.get(name) or self._own_body(name, user)) is None:
                if name in self.attaching:
                    user.fail(f"frame {name!r} is attached to itself; name a link")
                self.attaching.add(name)
                chain.append(name)
                element = self._element(name, user)
                joined = name in self.joints
                attached = element.attributes.get("attached_to") or "__model__"
                name = text(element, "child") if joined else attached
        finally:
            self.attaching.difference_update(chain)
        self.bodies |= dict.fromkeys(chain, body)
        return body

    def _own_body(self, name: str, user: Element) -> tuple[str, Scope | None, str] | None:
        """Return what `body` does for a name of another kind than a frame or joint of this model; else None."""
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
        return None


def version_of(sdf: Element) -> tuple[int, int]:
    """Return the version of the format in which an element is written."""
    given = sdf.attributes.get("version", "1.4")
    found = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*", given.strip())
    if found is None:
        sdf.fail(f"'version' of <sdf> must be a number such as 1.9, got {given!r}")
    version = int(found.group(1)), int(found.group(2))
    if version > NEWEST_VERSION:
        sdf.fail(f"version {given} of SDF is newer than 1.12; convert it with `gz sdf`")
    return version


def add_model(outer: Scope, element: Element, name: str, prefix: str) -> None:
    """Add the scope of a model, with those of the models in it, to the one around it."""
    if name in outer.models:
        element.fail(f"second model {name!r}; rename one")
    version = version_of(element) if "version" in element.attributes else outer.version
    scope = Scope(prefix, element, version, outer)
    outer.models[name] = scope
    groups = (("link", scope.links), ("joint", scope.joints), ("frame", scope.frames))
    for tag, named in groups:
        for child in element.all(tag):
            own = child.text("name")
            if any(own in other for _, other in groups):
                child.fail(f"second element {own!r} in the model; rename one")
            named[own] = child
    for child in element.all("model"):
        own = child.text("name")
        add_model(scope, child, own, scope.label(own))


def body_label(scope: Scope, name: str) -> str:
    """Return the name of the body of a link."""
    label = scope.label(name)
    return WORLD_LINK if label == WORLD else label
