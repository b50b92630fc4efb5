"""Plan of the fittings: springs, dampers, rods, ropes, pins, guides and supports, from a trajectory's connections.

What acts along a line is drawn along it and coloured by its force: red if it pulls, blue if it pushes, the strongest
force of the run in full colour. A muscle is a tube coloured by its activation, from steel to red. A joint's own spring
has no place in the scene; it is drawn from an anchor beyond the motion. Pins and supports are sized by the bodies that
they join; those of imported robots, whose meshes have them, are left out unless `joints` is set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors
from pysim.render.extent import LEVEL
from pysim.render.fittings import fitting_shapes as shapes
from pysim.render.fittings.rope_path import RopePoint, rope_places, rope_points
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.render.options import RenderOptions
    from pysim.trajectory import Trajectory

    Points = list[RopePoint]

SAMPLES = 100  # instants at which lengths are measured
THINNEST, THICKEST = 0.006, 0.035  # of the mechanism's size: thickness of a joint
ALONG_PATH = ("path_spring", "rope", "muscle")  # ends of types
ACTIVATION = ".activation"  # end of the signal of a muscle
TURNING = ("revolute", "cylindrical", "helical")
BALLS = ("ball", "universal", "constant_velocity")


@dataclass(frozen=True)
class Line:
    """Spring, damper, rod or rope through points of bodies."""

    kind: str  # coil, damper, rod or rope
    points: Points
    length: float  # natural or mean [m]
    radius: float  # [m]
    stiffness: float = 0.0  # [N/m]
    rest: float = 0.0  # [m] length without force
    strongest: float = 0.0  # [N] of the run
    slack: bool = False  # whether it never pushes
    name: str = ""  # of its recorded tension, or of the activation of a muscle


@dataclass(frozen=True)
class Fixed:
    """Mesh that moves with one body."""

    body: int
    pose: Array  # (4, 4) in the body
    kind: str
    sizes: tuple[float, ...]
    color: str = shapes.STEEL


@dataclass
class Plan:
    """Everything to be drawn, and the points of the world that belong in the picture."""

    lines: list[Line] = field(default_factory=list)
    fixed: list[Fixed] = field(default_factory=list)
    reach: list[Array] = field(default_factory=list)  # (3,) [m]


class Planner:
    """Choice of places and sizes, before anything is drawn."""

    def __init__(
        self, trajectory: Trajectory, hulls: Mapping[int, Array], up: Array, options: RenderOptions
    ) -> None:
        count = len(trajectory)
        picked = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).astype(int))
        moving = pose_matrices(trajectory.poses[picked])
        world = np.tile(np.eye(4), (len(picked), 1, 1, 1))
        self._poses = np.concatenate([moving, world], axis=1)  # index −1 is the world
        self._hulls, self._up = hulls, up
        self._trajectory, self._options = trajectory, options
        spans = [float(np.ptp(points, axis=0).max()) for body, points in hulls.items() if body >= 0]
        origins = moving[..., :3, 3].reshape(-1, 3)
        travel = float(np.ptp(origins, axis=0).max()) if len(origins) else 0.0
        self._size = max([*spans, min(travel, 12 * max(spans, default=travel)), 1e-6])
        self.plan = Plan()

    def make(self) -> Plan:
        """Return the plan of everything."""
        shown = self._options.joints
        imported = self._trajectory.header.imported
        draw_joints = not imported if shown is None else shown
        for entry in self._trajectory.header.connections:
            if entry["role"] in {"spring", "force", "actuator"}:
                if "points" in entry and self._options.fittings:
                    self._line(entry)
            elif entry["role"] == "loop" and entry["type"] == "distance":
                if self._options.fittings:
                    self._rod(entry)
            elif entry["role"] == "ground":
                self._ground(entry)
            elif entry["role"] in {"loop", "joint"} and "rod" not in entry:
                if draw_joints:
                    self._joint(entry)
                if "stiffness" in entry and self._options.fittings and not imported:
                    self._joint_springs(entry)
        return self.plan

    # ------------------------------------------------------------------ lines

    def _ground(self, entry: Mapping[str, Any]) -> None:
        """Draw a ground that is not the floor as a plate below the motion."""
        normal = np.array(entry["normal"], float)
        if normal @ self._up > LEVEL:
            return
        origins = self._poses[:, :-1, :3, 3].reshape(-1, 3)
        middle = origins.mean(axis=0) if len(origins) else np.zeros(3)
        width = 1.2 * self._size + 2 * float(np.abs(origins - middle).max(initial=0.0))
        pose = np.eye(4)
        pose[:3, :3] = shapes.frame_along(normal)
        pose[:3, 3] = middle - (normal @ middle - float(entry["offset"])) * normal
        self._add_fixed(-1, pose, "plate", (width, 0.01 * width), colors.WORLD)

    def _rod(self, entry: Mapping[str, Any]) -> None:
        """Draw the rod of a distance between the origins of two frames."""
        points = [RopePoint(int(body), np.array(pose, float)) for body, pose in entry["frames"]]
        self._add_line("rod", points, entry)

    def _line(self, entry: Mapping[str, Any]) -> None:
        points = rope_points(entry)
        if entry["type"] == "spring":
            if entry["stiffness"]:
                self._add_line("coil", points, entry)
            if entry["damping"]:
                self._add_line("damper", points, entry)
        elif entry["type"] == "path_spring" and len(points) == 2:
            self._add_line("coil", points, entry)
        elif entry["role"] == "actuator" or entry["type"].endswith(ALONG_PATH) or len(points) > 2:
            self._add_line("rope", points, entry)
        elif entry["type"] == "bushing":
            end = points[1]
            self._add_fixed(end.body, end.pose, "ball", (1.4 * self._thickness(points),))

    def _add_line(self, kind: str, points: Points, entry: Mapping[str, Any]) -> None:
        lengths = np.array([rope_places(points, poses, {})[1] for poses in self._poses])
        stiffness, rest_length = float(entry.get("stiffness", 0)), float(entry.get("length", 0))
        loads = stiffness * (lengths - rest_length)
        natural = rest_length if rest_length > 0 and kind != "rope" else float(lengths.mean())
        natural = max(natural, 1e-3 * self._size)
        radius = {
            "coil": min(0.09 * natural, 0.05 * self._size),
            "damper": min(0.05 * natural, 0.028 * self._size),
            "rod": 0.010 * self._size,
            "rope": 0.006 * self._size,
        }[kind]
        name = f"{entry.get('name', '')}.tension"
        if name in self._trajectory.header.force_names:
            loads = self._trajectory.element_forces[
                :, self._trajectory.header.force_names.index(name)
            ]
        strongest = float(np.abs(loads).max(initial=0.0))
        activation = f"{entry.get('name', '')}{ACTIVATION}"
        if activation in self._trajectory.header.signal_names:
            name, strongest = activation, 1.0
            radius = 0.009 * self._size
        slack = entry["type"] == "rope"
        self.plan.lines.append(
            Line(kind, points, natural, radius, stiffness, rest_length, strongest, slack, name)
        )
        for point in points:
            if point.kind == "sphere":
                self._add_fixed(point.body, point.pose, "ball", (point.radius,))
            elif point.kind == "ellipsoid":
                scaled = point.pose @ np.diag([*point.semi_axes, 1.0])
                self._add_fixed(point.body, scaled, "ball", (1.0,))
            elif point.kind == "cylinder":
                half = max(self._reach_along(point, points), 0.2 * point.radius)
                half = min(half, point.length / 2)
                self._add_fixed(point.body, point.pose, "pulley", (point.radius, half))
            if point.body < 0:
                around = np.concatenate([np.eye(3), -np.eye(3)]) * point.reach
                self.plan.reach += list(point.pose[:3, 3] + around)

    def _reach_along(self, cylinder: RopePoint, points: Points) -> float:
        """Return how far from the middle of a cylinder, along its axis, the points beside it lie on average."""
        k = next(j for j, point in enumerate(points) if point is cylinder)
        reach = 0.0
        for poses in self._poses:
            frame = cylinder.place(poses, {})
            beside = [points[j].place(poses, {})[:3, 3] for j in (k - 1, k + 1)]
            reach = max(reach, abs(float((np.mean(beside, axis=0) - frame[:3, 3]) @ frame[:3, 2])))
        return 1.3 * reach

    # ----------------------------------------------------------------- joints

    def _joint(self, entry: Mapping[str, Any]) -> None:
        (a, at_a), (b, at_b) = ((int(body), np.array(pose)) for body, pose in entry["frames"])
        axis, kind = np.array(entry["axis"], float), entry["type"]
        bodies = [body for body in (a, b) if body >= 0]
        if any(self._is_mesh(body) for body in bodies) and self._options.joints is not True:
            return
        thickness = self._thickness([RopePoint(a, at_a), RopePoint(b, at_b)])
        along = at_a.copy()
        along[:3, :3] = at_a[:3, :3] @ shapes.frame_along(axis)
        if kind in TURNING:
            low, high = self._span(a, along, b, at_b, axis, thickness)
            self._add_fixed(a, along, "pin", (0.5 * thickness, low, high))
        elif kind in BALLS:
            self._add_fixed(a, at_a, "ball", (0.75 * thickness,), shapes.DARK)
        if kind in {"prismatic", "cylindrical"} and a < 0 and "stiffness" not in entry:
            self._guide(along, b, at_b, thickness)
        if a < 0 and kind in (*TURNING, *BALLS):
            self._support(along, b, at_b, thickness, kind in TURNING)

    def _joint_springs(self, entry: Mapping[str, Any]) -> None:
        """Draw the springs of a joint that slides: along its axis, or along the three axes of its frame."""
        (a, at_a), (b, at_b) = ((int(body), np.array(pose)) for body, pose in entry["frames"])
        directions = {"prismatic": np.array([entry["axis"]], float), "translation": np.eye(3)}
        if entry["type"] not in directions:
            return
        rest = np.atleast_1d(entry.get("rest", np.zeros(len(entry["stiffness"]))))
        place = self._relative(a, at_a, b, at_b)  # (n, 3) in frame A
        for k, direction in enumerate(directions[entry["type"]]):
            if not entry["stiffness"][k]:
                continue
            travel = np.abs(place @ direction - rest[k]).max()
            half = 0.5 * self._extent(b, at_b, direction)
            length = max(1.3 * travel + half, 0.1 * self._size)
            middle = at_a[:3, 3] + rest[k] * (at_a[:3, :3] @ direction)
            side, gap = self._side_of_anchor(a, at_a[:3, :3] @ direction, middle)
            length = max(length, gap)
            reach = length * (at_a[:3, :3] @ direction)
            if a < 0 and (middle + side * reach) @ self._up < self._floor():
                side = -side
            anchor = middle + side * reach
            end = at_b.copy()
            end[:3, 3] += self._nearest_end(b, at_b, direction, side) * (at_b[:3, :3] @ direction)
            own = {"stiffness": entry["stiffness"][k], "length": length, "type": "spring"}
            self._add_line("coil", [RopePoint(a, placed(anchor)), RopePoint(b, end)], own)
            pose = np.eye(4)
            pose[:3, :3] = shapes.frame_along(-side * (at_a[:3, :3] @ direction))
            pose[:3, 3] = anchor
            if a < 0:
                width = 3.2 * self.plan.lines[-1].radius
                self._add_fixed(a, pose, "plate", (width, 0.12 * width), colors.WORLD)

    def _side_of_anchor(self, a: int, direction: Array, middle: Array) -> tuple[float, float]:
        """Return on which side along a direction of body A a joint's spring is anchored, and how far the body is there.

        It is the side of the body's shapes, as a wheel's strut is anchored at the car above it; if the place is among
        them, or in the world, the lower side.
        """
        if a in self._hulls and a >= 0:
            heights = (self._hulls[a] - middle) @ direction
            low, high = float(heights.min()), float(heights.max())
            if low > 0 or high < 0:
                return (1.0, low) if low > 0 else (-1.0, -high)
        upward = self._poses[0, a, :3, :3] @ direction @ self._up
        return (-1.0, 0.0) if upward >= -1e-9 else (1.0, 0.0)

    def _guide(self, along: Array, b: int, at_b: Array, thickness: float) -> None:
        """Draw the line along which a body slides in the world."""
        travel = self._relative(-1, along, b, at_b)[:, 2]
        half = 0.5 * self._extent(b, at_b, np.array([0.0, 0.0, 1.0])) + 2 * thickness
        size = (0.2 * thickness, float(travel.min() - half), float(travel.max() + half))
        self._add_fixed(-1, along, "pin", size, colors.WORLD)
        self.plan.reach += [along[:3, 3] + end * along[:3, 2] for end in size[1:]]

    def _support(self, along: Array, b: int, at_b: Array, thickness: float, turning: bool) -> None:
        """Draw a pedestal at a joint on the world, on the side away from the body."""
        pivot, axis = along[:3, 3], along[:3, 2]
        if self._is_in_world(pivot, thickness):
            return
        hull = self._hulls.get(b)
        above = True
        if hull is not None:
            centre = hull.mean(axis=0)
            heights = self._path(b, centre) @ self._up - pivot @ self._up
            above = bool(heights.mean() > -0.35 * np.abs(heights).max(initial=1e-12))
        down = -self._up if above else self._up
        pose = np.eye(4)
        pose[:3, 3] = pivot
        if turning and abs(axis @ self._up) > 0.9:
            pose[:3, :3] = shapes.frame_along(-down)
            pose[:3, 3] += 1.2 * thickness * down
            self._add_fixed(-1, pose, "plate", (4.5 * thickness, 0.8 * thickness), colors.WORLD)
            return
        depth = axis - self._up * (axis @ self._up)
        if np.linalg.norm(depth) < 1e-6 or not turning:
            depth = shapes.frame_along(self._up)[:, 1]
        y = depth / np.linalg.norm(depth)
        pose[:3, :3] = np.column_stack([np.cross(y, -down), y, -down])
        low, high = self._span(-1, along, b, at_b, np.array([0.0, 0.0, 1.0]), thickness)
        shift = 0.5 * (low + high)
        depth_of = 0.6 * (high - low) if turning else 1.6 * thickness
        pose[:3, 3] += shift * axis if turning else 0.0
        self._add_fixed(
            -1, pose, "pedestal", (3.2 * thickness, 3.4 * thickness, depth_of), colors.WORLD
        )
        self.plan.reach.append(pivot + 4 * thickness * down)

    def _add_fixed(
        self, body: int, pose: Array, kind: str, sizes: tuple[float, ...], color: str = shapes.STEEL
    ) -> None:
        self.plan.fixed.append(Fixed(body, pose, kind, sizes, color))
        if body < 0:
            self.plan.reach.append(pose[:3, 3])

    # ------------------------------------------------------------------ sizes

    def _path(self, body: int, point: Array) -> Array:
        """Return the positions (n, 3) of a point of a body at the sampled instants."""
        poses = self._poses[:, body]
        return np.asarray(poses[:, :3, :3] @ point + poses[:, :3, 3])

    def _relative(self, a: int, at_a: Array, b: int, at_b: Array) -> Array:
        """Return the positions (n, 3) of frame B's origin in frame A."""
        in_world = self._path(b, at_b[:3, 3])
        frames = self._poses[:, a] @ at_a
        offset = in_world - frames[:, :3, 3]
        return np.asarray(np.einsum("nji,nj->ni", frames[:, :3, :3], offset))

    def _thickness(self, points: Points) -> float:
        """Return the thickness of the thinnest body, within shares of the mechanism's size."""
        found = [
            float(np.ptp(self._hulls[point.body], axis=0).min())
            for point in points
            if point.body >= 0 and point.body in self._hulls
        ]
        lower, upper = THINNEST * self._size, THICKEST * self._size
        return float(np.clip(min(found, default=0.5 * (lower + upper)), lower, upper))

    def _extent(self, body: int, at: Array, direction: Array) -> float:
        """Return the extent [m] of a body's shapes along a direction of a frame on it."""
        if body not in self._hulls:
            return 0.0
        return float(np.ptp(self._hulls[body] @ (at[:3, :3] @ direction)))

    def _nearest_end(self, body: int, at: Array, direction: Array, side: float) -> float:
        """Return where along a direction a spring from one side meets a body.

        It is the origin of the body's frame, 0, if that is in the body, and otherwise the end on that side.
        """
        if body not in self._hulls:
            return 0.0
        heights = (self._hulls[body] - at[:3, 3]) @ (at[:3, :3] @ direction)
        low, high = float(heights.min()), float(heights.max())
        return 0.0 if low <= 0.0 <= high else (high if side > 0 else low)

    def _floor(self) -> float:
        """Return the height of the scene's ground [m], −∞ if it has none."""
        grounds = (e for e in self._trajectory.header.connections if e["role"] == "ground")
        level = [float(e["offset"]) for e in grounds if np.dot(e["normal"], self._up) > LEVEL]
        return max(level, default=-np.inf)

    def _span(
        self, a: int, along: Array, b: int, at_b: Array, axis: Array, thickness: float
    ) -> tuple[float, float]:
        """Return the ends of a pin along its axis: it passes through both bodies."""
        ends = [-0.5 * thickness, 0.5 * thickness]
        most = 3.0 * thickness
        for body, at, direction in ((a, along, np.array([0.0, 0.0, 1.0])), (b, at_b, axis)):
            if body < 0 or body not in self._hulls:
                continue
            heights = (self._hulls[body] - at[:3, 3]) @ (at[:3, :3] @ direction)
            ends += [max(float(heights.min()), -most), min(float(heights.max()), most)]
        edge = 0.25 * thickness
        return min(ends) - edge, max(ends) + edge

    def _is_in_world(self, point: Array, margin: float) -> bool:
        """Return whether a point [m] is at a shape of the world, which then supports it."""
        if -1 not in self._hulls:
            return False
        low, high = self._hulls[-1].min(axis=0) - margin, self._hulls[-1].max(axis=0) + margin
        return bool(((low <= point) & (point <= high)).all())

    def _is_mesh(self, body: int) -> bool:
        return any(
            entry["body"] == body and entry["kind"] == "mesh" for entry in self._trajectory.visuals
        )


def placed(point: Array) -> Array:
    """Return a pose (4, 4) at a point (3,) [m], with the axes of its frame."""
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose
