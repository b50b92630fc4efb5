"""Paths of muscles, springs and ligaments: fixed, conditional and moving points, and the surfaces that they wrap over.

Conditional points side by side are read as strands that count within a range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.osim.frames import socket
from pysim.scene.osim.functions import constant_of, function_in
from pysim.scene.osim.kinematics import Kinematics, configurations
from pysim.scene.osim.values import (
    members,
    name_of,
    numbers,
    text,
)
from pysim.scene.spec import MOST_OBSTACLES, PathPart, PointMove
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.osim.constraints import ConstraintReader
    from pysim.scene.osim.frames import Frames
    from pysim.scene.osim.joints import Coordinate, JointItem
    from pysim.scene.osim.wraps import Surface
    from pysim.scene.urdf.xml import Element

MARGIN = 1e-5  # [rad or m] of the range of a conditional point
SAMPLES = 30  # configurations in which surfaces are tried
CONDITIONAL = {"ConditionalPathPoint", "MuscleViaPoint"}
MOVING = {"MovingPathPoint", "MovingMusclePoint"}
FIXED = {"PathPoint", "MusclePoint"}


class UnreadError(Exception):
    """A part of a path that is not read, with the reason."""


@dataclass(frozen=True)
class Node:
    """Point of a path, with the body and point (3,) in it at which surfaces see it."""

    part: PathPart
    body: str
    point: Array


@dataclass
class PathReader:
    """Reader of paths, which reports the surfaces that it leaves out."""

    frames: Frames
    constraints: ConstraintReader
    items: Sequence[JointItem]
    surfaces: Mapping[str, Surface]
    omissions: Omissions
    _poses: dict[str, Array] = field(default_factory=dict)  # (configurations, 4, 4)

    @property
    def coordinates(self) -> Mapping[str, Coordinate]:
        """Coordinates of the model by name."""
        return self.constraints.coordinates

    def read(self, owner: Element) -> tuple[PathPart, ...]:
        """Return the path of a muscle, spring or ligament.

        Raises:
            UnreadError: it has a part that is not read.
        """
        name = name_of(owner)
        path = owner.child("GeometryPath") or owner.child("path")
        if path is not None and path.tag == "path":
            path = next((c for c in path.children if c.tag.endswith("Path")), None)
        holder = owner if path is None else path  # before version 2.0 the owner holds the points
        if path is not None and path.tag != "GeometryPath":
            raise UnreadError(f"its path is a {path.tag}")
        points = next(
            (
                found
                for tag in ("PathPointSet", "MusclePointSet")
                if (found := list(members(holder, tag)))
            ),
            [],
        )
        if len(points) < 2:
            raise UnreadError(f"its path has {len(points)} points")
        nodes = [self._node(point, name) for point in points]
        return _parts(nodes, self._obstacles(holder, nodes, name))

    # -------------------------------------------------------------------------------- points

    def _node(self, point: Element, owner: str) -> Node:
        label = point.attributes.get("name", "").strip() or "point"
        reference = socket(point, "parent_frame") or text(point, "body")
        body, X = self.frames.place(reference, f"/forceset/{owner}/geometrypath/{label}", point)
        at = X[:3, :3] @ np.array(numbers(point, "location", 3, (0.0, 0.0, 0.0))) + X[:3, 3]
        if point.tag in FIXED:
            return Node(PathPart(body, at), body, at)
        if point.tag in CONDITIONAL:
            return Node(self._conditional(point, body, at), body, at)
        if point.tag in MOVING:
            return self._moving(point, body, X)
        raise UnreadError(f"its point {label!r} is a {point.tag}")

    def _conditional(self, point: Element, body: str, at: Array) -> PathPart:
        low, high = numbers(point, "range", 2, (-math.inf, math.inf))
        name = _basename(socket(point, "coordinate") or text(point, "coordinate"))
        if not name:
            return PathPart(body, at)
        if low > high:
            point.required("range").fail(f"<range> is from {low:g} to {high:g}; swap them")
        place = self._place(name, point)
        above, below = low - MARGIN, high + MARGIN
        mimic = self.constraints.followers.get(place)
        if mimic is not None:  # q = r q_leader + o
            if mimic.ratio == 0:
                raise UnreadError(f"a point depends on {name!r}, which does not move")
            ends = sorted(((end - mimic.offset) / mimic.ratio) for end in (above, below))
            place, (above, below) = mimic.joint, ends
        return PathPart(body, at, "conditional", coordinate=place, above=above, below=below)

    def _place(self, name: str, point: Element) -> str:
        place = self.constraints.place(name, point)
        if not place:
            raise UnreadError(f"a point depends on {name!r}, an angle of a ball or free joint")
        return place

    def _moving(self, point: Element, body: str, X: Array) -> Node:
        """Return a point that functions of coordinates move along the axes of its frame."""
        moves, shift = [], np.zeros(3)
        for k, key in enumerate("xyz"):
            holder = point.child(f"{key}_location")
            function = None if holder is None else function_in(holder)
            if function is None:
                continue
            name = _basename(socket(point, f"{key}_coordinate") or text(point, f"{key}_coordinate"))
            value = constant_of(function)
            if value is not None or not name:
                shift[k] = value or 0.0
                continue
            bounds = self.coordinates[name].range if name in self.coordinates else None
            if bounds is not None and all(map(math.isfinite, bounds)):
                function = {**function, "range": list(bounds)}
            axis = (float(k == 0), float(k == 1), float(k == 2))
            moves.append(PointMove(self._place(name, point), axis, function))
        at = np.eye(4)
        at[:3, :3], at[:3, 3] = X[:3, :3], X[:3, :3] @ shift + X[:3, 3]
        part = PathPart(body, at, moves=tuple(moves))
        start = {c.place: c.start for c in self.coordinates.values()}
        return Node(part, body, part.place(start))

    # ------------------------------------------------------------------------------ surfaces

    def _obstacles(self, path: Element, nodes: list[Node], owner: str) -> dict[int, list[PathPart]]:
        """Return the obstacles after points, by number, in the order in which the path meets them."""
        obstacles: dict[int, list[tuple[Element, Surface]]] = {}
        wraps = [w for tag in ("PathWrapSet", "MuscleWrapSet") for w in members(path, tag)]
        for wrap in wraps:
            surface = self._surface(wrap, owner)
            if surface is None:
                continue
            first, last = _range(wrap, len(nodes))
            segments = [
                k
                for k in range(first, last)
                if all(nodes[n].part.kind == "point" for n in (k, k + 1))
            ]
            chosen = self._touched(surface, nodes, segments)
            chosen = chosen[:1] if surface.is_one_sided else chosen
            free = [k for k in chosen if len(obstacles.get(k, ())) < MOST_OBSTACLES]
            if chosen and not free:
                reason = f"lies between the same points as {MOST_OBSTACLES} others"
                self._leave(wrap, surface, owner, reason)
            for k in free:
                obstacles.setdefault(k, []).append((wrap, surface))
        return {k: self._parts_of(own, nodes, k, owner) for k, own in obstacles.items()}

    def _parts_of(
        self, wraps: Sequence[tuple[Element, Surface]], nodes: list[Node], segment: int, owner: str
    ) -> list[PathPart]:
        """Return the obstacles of a segment, in the mean order in which straight lines pass them.

        The longer way over a ball is no minimum of the length, and not solved beside other obstacles: the path takes
        the shorter one there. Without the ball it would run through the bone.
        """

        def place(wrap: tuple[Element, Surface]) -> float:
            return float(wrap[1].nearest(*self._sampled(wrap[1], nodes, segment)).sum())

        parts = []
        for wrap, surface in sorted(wraps, key=place) if len(wraps) > 1 else wraps:
            is_sided = self._takes_sides(surface, nodes, segment)
            if is_sided and len(wraps) > 1 and surface.kind != "cylinder":
                item = f"surface {surface.name!r} of {owner!r}"
                reason = (
                    "its quadrant cannot be kept beside another surface between the same points"
                )
                self.omissions.add(
                    "surfaces", item, wrap.where, f"is wrapped on its shorter side: {reason}"
                )
                is_sided = False
            parts.append(surface.part(is_sided=is_sided))
        return parts

    def _surface(self, wrap: Element, owner: str) -> Surface | None:
        name = _basename(text(wrap, "wrap_object"))
        if name not in self.surfaces:
            wrap.fail(
                f"{owner!r} wraps over {name!r}, and there is no such surface; add it to a body"
            )
        surface = self.surfaces[name]
        if surface.kind == "inactive":
            return None
        if not surface.kind:
            reason = f"a {surface.element.tag} is not read, and the path runs straight there"
            self._leave(wrap, surface, owner, reason)
            return None
        return surface

    def _leave(self, wrap: Element, surface: Surface, owner: str, reason: str) -> None:
        item = f"surface {surface.name!r} of {owner!r}"
        self.omissions.add("surfaces", item, wrap.where, f"is left out: {reason}")

    def _touched(self, surface: Surface, nodes: list[Node], segments: list[int]) -> list[int]:
        """Return the segments that touch a surface, most often first; the nearest if none does."""
        counts, nearest = {}, {}
        for k in segments:
            a, b = self._sampled(surface, nodes, k)
            counts[k] = int(surface.touches(a, b).sum())
            nearest[k] = float(np.abs(surface.distance(a, b)).min())
        touched = sorted((k for k in segments if counts[k]), key=lambda k: -counts[k])
        return touched or sorted(segments, key=lambda k: nearest[k])[:1]

    def _takes_sides(self, surface: Surface, nodes: list[Node], segment: int) -> bool:
        """Return whether a segment keeps to the side of a surface.

        Around a cylinder it always does. Over a sphere or an ellipsoid OpenSim goes the longer way only while the
        straight line meets the surface; where no configuration has that, the side never counts.
        """
        if surface.kind == "cylinder":
            return surface.is_one_sided
        if surface.kind == "torus":
            return False
        return bool(surface.passes_far_side(*self._sampled(surface, nodes, segment)).any())

    def _sampled(self, surface: Surface, nodes: list[Node], segment: int) -> tuple[Array, Array]:
        """Return the ends (n, 3) of a segment in a surface's frame, at configurations within the ranges."""
        if not self._poses:
            states = configurations(self.coordinates, self.constraints.followers, SAMPLES)
            self._poses |= Kinematics(self.items).poses(states)
        X = self._poses.get(surface.body, np.eye(4)) @ surface.at
        into = np.asarray(np.linalg.inv(X), float)
        ends = [_transformed(into, _placed(self._poses, nodes[n])) for n in (segment, segment + 1)]
        a, b = (np.broadcast_to(end, (1 + SAMPLES, 3)) for end in ends)
        return a, b


def _placed(poses: Mapping[str, Array], node: Node) -> Array:
    """Return a node in the world."""
    return _transformed(poses.get(node.body, np.eye(4)), node.point)


def _transformed(X: Array, point: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", X[..., :3, :3], point) + X[..., :3, 3])


def _range(wrap: Element, count: int) -> tuple[int, int]:
    """Return the first and last point, from 0, between which a surface acts."""
    first, last = (int(x) for x in numbers(wrap, "range", 2, (-1.0, -1.0)))
    first = max(first, 1)
    last = count if last < 1 or last > count else last
    if first > last:
        wrap.fail(f"<range> is from point {first} to point {last}; swap them")
    return first - 1, last - 1


def _basename(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


# ------------------------------------------------------------------------------------ assembly


def _parts(
    nodes: Sequence[Node], obstacles: Mapping[int, Sequence[PathPart]]
) -> tuple[PathPart, ...]:
    """Return the parts of a path; conditional points that are not alone between two fixed ones become strands."""
    parts = [node.part for node in nodes]
    fixed = [k for k, part in enumerate(parts) if part.kind == "point"]
    in_order: list[PathPart] = []
    ends = [-1, *fixed, len(parts)]
    for before, after in pairwise(ends):
        run = parts[before + 1 : after]
        first = [parts[before]] if before >= 0 else []
        last = [parts[after]] if after < len(parts) else []
        if len(run) <= 1 and first and last:
            in_order += [*run, *obstacles.get(before, ()), *last]
        elif run:
            in_order += _strands([*first, *run, *last], [p for p in parts if p.kind == "point"])
            in_order += [replace(part, multiplicity=0.0) for part in last]
        else:
            in_order += [*obstacles.get(before, ()), *last]
    return (replace(in_order[0], multiplicity=1.0), *in_order[1:])


def _strands(parts: Sequence[PathPart], fixed: Sequence[PathPart]) -> list[PathPart]:
    """Return strands that are together as long as the path through the points that count, in every range.

    s |x y| of a strand from x to y within a range s is ½ (x-y-w − x-w) + ½ (y-x-w − y-w) of a third point w, where the
    point in the middle counts within the range and is passed by elsewhere.
    """
    coordinates = {part.coordinate for part in parts if part.kind == "conditional"}
    if len(coordinates) > 1:
        names = " and ".join(sorted(coordinates))
        raise UnreadError(f"points side by side depend on {names}")
    (coordinate,) = coordinates
    points = [_always(part) for part in parts]
    strands: list[PathPart] = []
    for (i, j), spans in _adjacent(parts).items():
        x, y = points[i], points[j]
        w = next(
            (p for p in (*fixed, *points) if p is not x and p is not y and _apart(p, x, y)), None
        )
        if w is None:
            raise UnreadError("its conditional points have no other point beside them")
        for low, high in spans:
            below = math.nextafter(high, -math.inf) if math.isfinite(high) else high
            for first, over in ((x, y), (y, x)):
                middle = replace(
                    over, kind="conditional", coordinate=coordinate, above=low, below=below
                )
                strands += [replace(first, multiplicity=0.0), middle, replace(w, multiplicity=0.5)]
                strands.append(replace(first, multiplicity=-0.5))
    return strands


def _adjacent(parts: Sequence[PathPart]) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """Return the ranges [low, high) of the coordinate in which two points follow each other, by their numbers."""
    conditional = [part for part in parts if part.kind == "conditional"]
    cuts = {part.above for part in conditional}
    cuts |= {math.nextafter(part.below, math.inf) for part in conditional}
    edges = [-math.inf, *sorted(cuts - {-math.inf, math.inf}), math.inf]
    ranges: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for low, high in pairwise(edges):
        counting = [
            k for k, p in enumerate(parts) if p.kind == "point" or p.above <= low <= p.below
        ]
        for pair in pairwise(counting):
            spans = ranges.setdefault(pair, [])
            if spans and spans[-1][1] == low:
                spans[-1] = (spans[-1][0], high)
            else:
                spans.append((low, high))
    return ranges


def _always(part: PathPart) -> PathPart:
    """Return a point of a path that always counts."""
    return replace(part, kind="point", coordinate="", above=-math.inf, below=math.inf)


def _apart(point: PathPart, *others: PathPart) -> bool:
    """Return whether a point is at no other point of the same body."""
    return all(
        point.body != other.body
        or point.moves != other.moves
        or float(np.linalg.norm(point.point - other.point)) > 1e-6
        for other in others
    )
