"""Path of a rope through points and over obstacles, as points of the world to be drawn.

    γ   angle between a and b about the axis, in the plane of the path
    α = acos(r/ρ_a), β = acos(r/ρ_b)        φ = γ − α − β        the path touches if φ > 0

a and b are the points beside an obstacle, in its frame, and ρ their distances from its axis or centre [Garner and Pandy
2000, obstacle set]. The engine computes the same path in cpp/elements/wrapping.hpp, and that through the inside of a
sphere or cylinder, which bends at one point of the surface, in cpp/elements/inside_wrapping.hpp. Over an ellipsoid the
path along the section through its centre is drawn, as short as moving its points on the surface makes it; through a
torus, one over the cylinder that touches its tube. Several obstacles are wrapped in turn between the arcs beside them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.joints.coordinate_functions import displacement
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


ARC = 12  # straight pieces of an arc
BISECTIONS = 52
SWEEPS, OVER_RELAXATION = 60, 1.7  # of the points of an arc on an ellipsoid
TURNS = 20  # of wrapping over each of several obstacles
INLINE = 1e-12  # square of the sine of an angle between a line and one through the centre


@dataclass(frozen=True)
class RopePoint:
    """Point of a path on a body (-1: the world), or an obstacle or condition there."""

    body: int
    pose: Array  # (4, 4) in the body; the axis of a cylinder is its z
    kind: str = "point"  # point, conditional, sphere, cylinder, ellipsoid or torus
    radius: float = 0.0  # [m] of a sphere or cylinder, or of the circle in the tube of a torus
    side: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in its axes; 0 for the shorter side
    coordinate: str = ""  # of a conditional point
    ends: tuple[float, float] = (-np.inf, np.inf)  # of its range
    inside: bool = False  # whether the path passes through the inside of the obstacle
    strands: float = 1.0  # from the point before, 0 for none
    semi_axes: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m] of an ellipsoid
    tube: float = 0.0  # [m] radius of the tube of a torus
    length: float = np.inf  # [m] of a cylinder, beyond which it is not touched
    moves: tuple[Mapping[str, Any], ...] = ()  # of a point, as in the trajectory's connections

    @property
    def is_obstacle(self) -> bool:
        return self.kind in {"sphere", "cylinder", "ellipsoid", "torus"}

    @property
    def reach(self) -> float:
        """Largest radius [m]."""
        return max(self.radius + self.tube, *self.semi_axes)

    @property
    def coordinates(self) -> set[str]:
        """Coordinates that it depends on."""
        return {self.coordinate, *(move["coordinate"] for move in self.moves)} - {""}

    def place(self, matrices: Array, values: Mapping[str, float]) -> Array:
        """Return its frame (4, 4) in the world at these coordinates, 0 where one is not known.

        `matrices` (bodies + 1, 4, 4) has the world last.
        """
        pose = self.pose
        if self.moves:
            pose = pose.copy()
            pose[:3, 3] += displacement(
                (m["axis"], m["function"], _x(m, values)) for m in self.moves
            )
        return np.asarray(matrices[self.body] @ pose)

    def counts(self, values: Mapping[str, float]) -> bool:
        """Return whether the path passes through it at these coordinates; one that is not known counts."""
        value = values.get(f"q.{self.coordinate}") if self.coordinate else None
        return value is None or self.ends[0] <= value <= self.ends[1]


def _x(move: Mapping[str, Any], values: Mapping[str, float]) -> float:
    """Return the argument of the function of a move."""
    ratio, offset = move.get("line", (1.0, 0.0))
    return float(ratio * values.get(f"q.{move['coordinate']}", 0.0) + offset)


def rope_points(entry: Mapping[str, Any]) -> list[RopePoint]:
    """Return the points of a force or spring of a trajectory's connections."""
    points = entry["points"]
    parts = entry.get("parts") or [None] * len(points)
    strands = entry.get("strands") or [1.0] * len(points)
    rope = []
    for (body, point), part, count in zip(points, parts, strands, strict=True):
        pose = np.eye(4)
        pose[:3, 3] = point
        moves = tuple(part.get("moves", ())) if part else ()
        if part is None or part["kind"] == "point":
            rope.append(RopePoint(int(body), pose, strands=count, moves=moves))
        elif part["kind"] == "conditional":
            above, below = part["ends"]
            ends = -np.inf if above is None else above, np.inf if below is None else below
            name = part["coordinate"]
            rope.append(
                RopePoint(int(body), pose, "conditional", coordinate=name, ends=ends, moves=moves)
            )
        else:
            own = np.array(part["pose"], float)
            x, y, z = part["side"]
            a, b, c = part.get("semi_axes", (0.0, 0.0, 0.0))
            rope.append(
                RopePoint(
                    int(body),
                    own,
                    part["kind"],
                    part.get("radius", 0.0),
                    (x, y, z),
                    inside=part.get("inside", False),
                    semi_axes=(a, b, c),
                    tube=part.get("tube", 0.0),
                    length=part.get("length", np.inf),
                )
            )
    return rope


def count_places(points: Sequence[RopePoint]) -> int:
    """Return the number of places that `rope_places` returns."""
    return sum(ARC + 1 if point.is_obstacle else 1 for point in points)


def gaps(points: Sequence[RopePoint]) -> list[int]:
    """Return the numbers of the places after which `rope_places` has no strand."""
    return [
        count_places(points[:k]) - 1 for k, point in enumerate(points) if k and point.strands == 0
    ]


def rope_places(
    points: Sequence[RopePoint], matrices: Array, values: Mapping[str, float]
) -> tuple[Array, float]:
    """Return the places (n, 3) [m] along a path at the poses of bodies, and its length [m].

    A point that does not count is on the straight line past it, so that n does not change.
    """
    frames = [point.place(matrices, values) for point in points]
    places: list[Array] = []
    length = 0.0
    for k, point in enumerate(points):
        if point.is_obstacle:
            if points[k - 1].is_obstacle:  # drawn with the first of them
                continue
            count = next(n for n, p in enumerate(points[k:]) if not p.is_obstacle)
            ends = places[-1][-1], frames[k + count][:3, 3]
            for arc, over in _chain(*ends, frames[k : k + count], points[k : k + count]):
                before = places[-1][-1]
                piece = float(np.linalg.norm(arc[0] - before)) + over
                length += points[k + count].strands * piece
                places.append(arc)
            continue
        place = frames[k][:3, 3]
        if not point.counts(values):
            place = 0.5 * (places[-1][-1] + frames[k + 1][:3, 3])
        if places:
            strands = point.strands if point.kind == "point" else points[k + 1].strands
            length += strands * float(np.linalg.norm(place - places[-1][-1]))
        places.append(place[None])
    return np.concatenate(places), length


def _chain(
    a: Array, b: Array, frames: Sequence[Array], obstacles: Sequence[RopePoint]
) -> list[tuple[Array, float]]:
    """Return the arcs of a path from a to b (3,) over obstacles, with their lengths."""
    arcs: list[tuple[Array, float] | None] = [None] * len(obstacles)
    for _ in range(1 if len(obstacles) == 1 else TURNS):
        for k, (frame, obstacle) in enumerate(zip(frames, obstacles, strict=True)):
            before, after = _touching(arcs[:k]), _touching(arcs[k + 1 :])
            start = before[-1][-1] if before else a
            end = after[0][0] if after else b
            arcs[k] = around(start, end, frame, obstacle)
    return [arc for arc in arcs if arc is not None]


def _touching(arcs: Sequence[tuple[Array, float] | None]) -> list[Array]:
    """Return the points of the arcs that have a length."""
    return [arc[0] for arc in arcs if arc is not None and len(np.unique(arc[0], axis=0)) > 1]


def around(a: Array, b: Array, frame: Array, obstacle: RopePoint) -> tuple[Array, float]:
    """Return points (ARC + 1, 3) and the length of the arc of a path from a to b (3,) over an obstacle at `frame`."""
    R, origin = frame[:3, :3], frame[:3, 3]
    start, end = R.T @ (a - origin), R.T @ (b - origin)
    if obstacle.inside:
        through = _through_cylinder if obstacle.kind == "cylinder" else _through_sphere
        bend = through(start, end, obstacle.radius)
        way = None if bend is None else (np.tile(bend, (ARC + 1, 1)), 0.0)
    elif obstacle.kind == "torus":
        way = _through_torus(start, end, obstacle.radius, obstacle.tube)
    elif obstacle.kind == "ellipsoid":
        way = _over_ellipsoid(start, end, np.array(obstacle.semi_axes), np.array(obstacle.side))
    elif obstacle.kind == "cylinder":
        way = _over_cylinder(start, end, obstacle.radius, np.array(obstacle.side))
        if way is not None and min(abs(way[0][[0, -1], 2])) > obstacle.length / 2:
            way = None
    else:
        way = _over_sphere(start, end, obstacle.radius, np.array(obstacle.side))
    if way is None:
        return np.tile(0.5 * (a + b), (ARC + 1, 1)), 0.0
    arc, length = way
    return arc @ R.T + origin, length


def _over_cylinder(a: Array, b: Array, r: float, side: Array) -> tuple[Array, float] | None:
    round_ = _around_circle(a[:2], b[:2], r, side[:2])
    if round_ is None:
        return None
    arc, angle, first, last = round_
    planar = first + r * angle + last
    heights = a[2] + (b[2] - a[2]) / planar * (first + r * angle * np.linspace(0, 1, ARC + 1))
    incline = float(np.hypot(planar, b[2] - a[2])) / planar
    return np.column_stack([arc, heights]), incline * r * angle


def _over_sphere(a: Array, b: Array, r: float, side: Array) -> tuple[Array, float] | None:
    x = a / max(float(np.linalg.norm(a)), 1e-300)
    y = b - (b @ x) * x
    if float(y @ y) <= INLINE * float(b @ b):  # every plane is as short
        y = side - (side @ x) * x
    if y @ y <= INLINE * max(float(side @ side), 1e-300):
        y = np.cross(x, np.eye(3)[np.argmin(np.abs(x))])
    plane = np.stack([x, y / np.linalg.norm(y)])
    round_ = _around_circle(plane @ a, plane @ b, r, plane @ side)
    if round_ is None:
        return None
    return round_[0] @ plane, r * round_[1]


def _over_ellipsoid(a: Array, b: Array, radii: Array, side: Array) -> tuple[Array, float] | None:
    section = _over_sphere(a / radii, b / radii, 1.0, side / radii)
    if section is None:
        return None
    arc = section[0] * radii
    whole = np.concatenate([a[None], arc, b[None]])
    for first in (1, 2) * SWEEPS:  # every other point
        places = whole[first:-1:2]
        beside = 0.5 * (whole[first - 1 : -2 : 2] + whole[first + 1 :: 2])
        moved = places + OVER_RELAXATION * (beside - places)
        places[:] = moved / np.minimum(np.linalg.norm(moved / radii, axis=1), 1.0)[:, None]
    arc = whole[1:-1]
    return arc, float(np.linalg.norm(np.diff(arc, axis=0), axis=1).sum())


def _through_torus(a: Array, b: Array, R: float, r: float) -> tuple[Array, float] | None:
    line = a + np.linspace(0, 1, 201)[:, None] * (b - a)
    off = np.hypot(np.hypot(line[:, 0], line[:, 1]) - R, line[:, 2])
    x = line[np.argmin(off)]
    out = np.array([x[0], x[1], 0.0]) / max(float(np.hypot(x[0], x[1])), 1e-300)
    axes = np.stack([out, [0.0, 0.0, 1.0], [out[1], -out[0], 0.0]])  # of a cylinder along the tube
    over = _over_cylinder(axes @ (a - R * out), axes @ (b - R * out), r, np.array([-1.0, 0.0, 0.0]))
    return None if over is None else (over[0] @ axes + R * out, over[1])


def _around_circle(
    a: Array, b: Array, r: float, side: Array
) -> tuple[Array, float, float, float] | None:
    """Return the arc (ARC + 1, 2), its angle and the lengths before and after it; None if the path does not touch."""
    rho_a, rho_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if rho_a <= r or rho_b <= r:
        return None
    before, after = math.sqrt(rho_a**2 - r**2), math.sqrt(rho_b**2 - r**2)
    alpha, beta = math.atan2(before, r), math.atan2(after, r)
    crossed = a[0] * b[1] - a[1] * b[0]
    shorter = math.atan2(abs(crossed), a @ b)
    turn = -1.0 if crossed < 0 else 1.0
    gamma = shorter
    before_it = turn * (a[0] * side[1] - a[1] * side[0]) < 0
    # it would cross the ray opposite
    if before_it and turn * (side[0] * b[1] - side[1] * b[0]) < 0:
        gamma, turn = 2 * math.pi - shorter, -turn
    angle = gamma - alpha - beta
    if angle <= 0:
        return None
    first = np.arctan2(a[1], a[0]) + turn * alpha
    bearings = first + turn * angle * np.linspace(0, 1, ARC + 1)
    arc = r * np.column_stack([np.cos(bearings), np.sin(bearings)])
    return arc, angle, before, after


def _through_cylinder(a: Array, b: Array, r: float) -> Array | None:
    bend = _through_circle(a[:2], b[:2], r)
    if bend is None:
        return None
    before, after = float(np.linalg.norm(a[:2] - bend)), float(np.linalg.norm(b[:2] - bend))
    return np.array([*bend, a[2] + (b[2] - a[2]) * before / max(before + after, 1e-300)])


def _through_sphere(a: Array, b: Array, r: float) -> Array | None:
    x = a / max(float(np.linalg.norm(a)), 1e-300)
    y = b - (b @ x) * x
    if float(y @ y) <= INLINE * float(b @ b):
        y = np.cross(x, np.eye(3)[np.argmin(np.abs(x))])
    plane = np.stack([x, y / np.linalg.norm(y)])
    bend = _through_circle(plane @ a, plane @ b, r)
    return None if bend is None else bend @ plane


def _through_circle(a: Array, b: Array, r: float) -> Array | None:
    """Return the point (2,) where the shortest path through a circle bends; None where it is straight."""
    rho_a, rho_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if rho_a <= r or rho_b <= r:
        return None
    alpha, beta = math.acos(r / rho_a), math.acos(r / rho_b)
    crossed = a[0] * b[1] - a[1] * b[0]
    gamma = math.atan2(abs(crossed), a @ b)
    if gamma >= alpha + beta:
        return None
    lower, upper = max(0.0, gamma - beta), min(gamma, alpha)

    def slope(rho: float, angle: float) -> float:
        away = math.sqrt(rho * rho + r * r - 2 * rho * r * math.cos(angle))
        return rho * math.sin(angle) / away

    for _ in range(BISECTIONS):
        middle = 0.5 * (lower + upper)
        if slope(rho_a, middle) < slope(rho_b, gamma - middle):
            lower = middle
        else:
            upper = middle
    bearing = np.arctan2(a[1], a[0]) + (-lower if crossed < 0 else lower)
    return r * np.array([np.cos(bearing), np.sin(bearing)])
