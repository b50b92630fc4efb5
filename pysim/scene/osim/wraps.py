"""Surfaces that the paths of an OpenSim model wrap over, and the parts of paths that they are between.

OpenSim lets a surface act on any part of a path; in pysim an obstacle is between two points. The part is the one that
touches the surface in configurations within the ranges of the coordinates. A torus is a ring through which paths pass:
outer_radius is that of the circle in its tube, and inner_radius that of the tube. A cylinder is not touched where both
points of contact are beyond its ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import did_you_mean
from pysim.scene.osim.frames import GROUND, OFFSET_FRAMES
from pysim.scene.osim.values import (
    members,
    name_of,
    number,
    offset_pose,
    positive,
    rows,
    shown,
    text,
    truth,
)
from pysim.scene.spec import PathPart
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.osim.frames import Frames
    from pysim.scene.urdf.xml import Element

LEAST_SQUARE = 1e-30  # square of a length
LENGTH = 1.0  # [m] of a cylinder that names none, as in OpenSim
Vector = tuple[float, float, float]
Truths = np.ndarray[Any, np.dtype[np.bool_]]  # (n,)
_SIDES: dict[str, Vector] = {
    "all": (0.0, 0.0, 0.0),
    "": (0.0, 0.0, 0.0),
    "x": (1.0, 0.0, 0.0),
    "+x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "+z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}


@dataclass(frozen=True)
class Surface:
    """Cylinder or torus about z of its frame, sphere or ellipsoid; `kind` is empty of one that is not read."""

    name: str
    body: str
    at: Array  # (4, 4) in the body
    kind: str
    radii: Vector  # [m], in its axes; of the circle and the tube of a torus
    side: Vector
    element: Element
    length: float = math.inf  # [m] of a cylinder

    @property
    def is_one_sided(self) -> bool:
        """Whether paths stay on a side of it."""
        return any(self.side)

    def touches(self, a: Array, b: Array) -> Truths:
        """Return whether paths between points (n, 3) of the surface's frame touch it."""
        meets = self.distance(a, b) < 0
        if self.kind == "torus":
            return self._are_pulled_in(a, b) | meets
        crosses = np.zeros(len(a), bool)
        if self.is_one_sided:
            crosses = self._cross_far_ray(self._scaled(a), self._scaled(b))
        touches = self._are_outside(a, b) & (meets | crosses)
        return touches & self._are_between_ends(a, b, crosses)

    def passes_far_side(self, a: Array, b: Array) -> Truths:
        """Return whether straight lines from a to b (n, 3) pass through the surface on the side to avoid."""
        if not self.is_one_sided:
            return np.zeros(len(a), bool)
        crosses = self._cross_far_ray(self._scaled(a), self._scaled(b))
        return self._are_outside(a, b) & (self.distance(a, b) < 0) & crosses

    def part(self, *, is_sided: bool) -> PathPart:
        """Return the obstacle of a path, which may keep to the surface's side."""
        side = self.side if is_sided else _SIDES["all"]
        if self.kind == "ellipsoid":
            return PathPart(self.body, self.at, self.kind, side=side, semi_axes=self.radii)
        if self.kind == "torus":
            return PathPart(self.body, self.at, self.kind, self.radii[0], tube=self.radii[1])
        return PathPart(self.body, self.at, self.kind, self.radii[0], side, length=self.length)

    def nearest(self, a: Array, b: Array) -> Array:
        """Return the shares of straight lines between points of the surface's frame at which they are nearest."""
        u, w = (p if self.kind == "torus" else self._scaled(p) for p in (a, b))
        d = w - u
        return np.clip(-_dot(u, d) / np.maximum(_dot(d, d), LEAST_SQUARE), 0.0, 1.0)

    def _are_outside(self, a: Array, b: Array) -> Truths:
        """Return whether both ends are outside of the surface."""
        ends = [np.linalg.norm(self._scaled(p), axis=-1) for p in (a, b)]
        return np.asarray(np.minimum(*ends) > 1)

    def _are_pulled_in(self, a: Array, b: Array) -> Truths:
        """Return whether straight lines cross the plane of a ring outside of it."""
        crosses = a[:, 2] * b[:, 2] < 0
        rise = np.where(crosses, b[:, 2] - a[:, 2], 1.0)
        place = a - (a[:, 2] / rise)[:, None] * (b - a)
        return np.asarray(crosses & (np.hypot(place[:, 0], place[:, 1]) > self.radii[0]))

    def _are_between_ends(self, a: Array, b: Array, is_longer: Truths) -> Truths:
        """Return whether paths over a cylinder, on the longer way or not, meet or leave it between its ends."""
        if not math.isfinite(self.length):
            return np.ones(len(a), bool)
        r = self.radii[0]
        before, after = (np.sqrt(np.maximum(_dot(p, p) - r * r, 0.0)) for p in (a[:, :2], b[:, :2]))
        angle = np.arctan2(abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]), _dot(a[:, :2], b[:, :2]))
        angle = np.where(is_longer, 2 * np.pi - angle, angle)
        arc = r * np.maximum(angle - np.arctan2(before, r) - np.arctan2(after, r), 0.0)
        slope = (b[:, 2] - a[:, 2]) / np.maximum(before + arc + after, LEAST_SQUARE)
        heights = np.minimum(abs(a[:, 2] + slope * before), abs(b[:, 2] - slope * after))
        return np.asarray(heights <= self.length / 2)

    def _scaled(self, point: Array) -> Array:
        """Return points in units of the radii, across the axis of a cylinder."""
        scaled = point / self.radii
        return np.asarray(scaled * [1, 1, 0] if self.kind == "cylinder" else scaled)

    def _cross_far_ray(self, a: Array, b: Array) -> Truths:
        """Return whether straight lines between scaled points cross the ray opposite to the side."""
        side = np.array(self.side) / self.radii
        normal = side / np.linalg.norm(side)
        first, last = (p - (p @ normal)[:, None] * normal for p in (a, b))
        over = last - first
        t = -_dot(first, over) / np.maximum(_dot(over, over), LEAST_SQUARE)
        return np.asarray((_dot(first, last) < 0) & ((a + t[:, None] * (b - a)) @ normal < 0))

    def distance(self, a: Array, b: Array) -> Array:
        """Return the distances [m] between straight lines and the surface, negative inside; scaled of an ellipsoid."""
        if self.kind == "torus":
            line = a[:, None] + np.linspace(0, 1, 41)[:, None] * (b - a)[:, None]
            off = np.hypot(np.hypot(line[..., 0], line[..., 1]) - self.radii[0], line[..., 2])
            return np.asarray(off.min(axis=1) - self.radii[1])
        u, w = self._scaled(a), self._scaled(b)
        nearest = u + self.nearest(a, b)[:, None] * (w - u)
        return np.asarray((np.linalg.norm(nearest, axis=-1) - 1) * min(self.radii))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def surfaces_of(model: Element, frames: Frames) -> dict[str, Surface]:
    """Return the surfaces of all bodies by name."""
    found: dict[str, Surface] = {}
    for path, holder in _holders(model):
        for element in members(holder, "WrapObjectSet"):
            body, X = (WORLD, np.eye(4)) if path is None else frames.place(path, "", holder)
            surface = _surface(element, body, X)
            found.setdefault(surface.name, surface)
    return found


def _holders(model: Element) -> Iterator[tuple[str | None, Element]]:
    """Yield the frames that may have surfaces, with their paths."""
    ground = model.child("Ground")
    if ground is not None:
        yield None, ground
    for body in members(model, "BodySet"):
        name = name_of(body)
        yield (None if name == GROUND else f"/bodyset/{name}"), body
        components = body.child("components")
        for frame in [] if components is None else components.children:
            if frame.tag in OFFSET_FRAMES:
                yield f"/bodyset/{name}/{name_of(frame)}", frame
    for joint in members(model, "JointSet"):
        holder = joint.child("frames")
        for frame in [] if holder is None else holder.children:
            if frame.tag in OFFSET_FRAMES:
                yield f"/jointset/{name_of(joint)}/{name_of(frame)}", frame


def _surface(element: Element, body: str, X: Array) -> Surface:
    at = X @ offset_pose(element, "translation", "xyz_body_rotation")
    kind, radii = _kind(element)
    if not truth(element, "active", default=True):
        kind = "inactive"
    quadrant = text(element, "quadrant").lower()
    if quadrant not in _SIDES:
        problem = f"unknown quadrant {quadrant!r}{did_you_mean(quadrant, [s for s in _SIDES if s])}"
        element.required("quadrant").fail(problem)
    side = _SIDES[quadrant]
    if kind == "torus" or (kind == "cylinder" and side[2]):
        side = _SIDES["all"]
    length = number(element, "length", LENGTH) if kind == "cylinder" else math.inf
    if length < 0:
        problem = f"<length> must not be negative [m], got {length:g}; give its size"
        element.required("length").fail(problem)
    if length == 0:
        kind = "inactive"
    return Surface(name_of(element), body, at, kind, radii, side, element, length)


def _kind(element: Element) -> tuple[str, Vector]:
    if element.tag == "WrapCylinder":
        return "cylinder", (positive(element, "radius", "m"),) * 3
    if element.tag in {"WrapSphere", "WrapSphereObst"}:
        return "sphere", (positive(element, "radius", "m"),) * 3
    if element.tag == "WrapEllipsoid":
        dimensions = element.required("dimensions")
        sizes = rows(dimensions)
        if len(sizes) != 3 or min(sizes) <= 0:
            problem = "<dimensions> must be three positive semi-axes [m]"
            dimensions.fail(f"{problem}, got {shown(dimensions)}; correct them")
        a, b, c = sizes
        return ("sphere" if a == b == c else "ellipsoid"), (a, b, c)
    if element.tag == "WrapTorus":
        circle, tube = (positive(element, tag, "m") for tag in ("outer_radius", "inner_radius"))
        if tube >= circle:
            problem = f"<inner_radius> {tube:g} is that of the tube, and not below <outer_radius>"
            element.fail(f"{problem} {circle:g} of the circle in it; correct them")
        return "torus", (circle, tube, tube)
    return "", (0.0, 0.0, 0.0)
