"""A trajectory on the stage: everything is added once, then `show(time)` only moves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError
from pysim.render import colors
from pysim.render.camera import VIEW_ANGLE, Camera, framing_camera, upright
from pysim.render.meshes import body_meshes
from pysim.render.scenery import dress, grid_spacing, lay_ground, shadow_matrix
from pysim.render.trails import Trail, centres
from pysim.render.triads import Triad
from pysim.trajectory.interpolation import pose_matrices

if TYPE_CHECKING:
    import pyvista as pv
    from numpy.typing import NDArray

    from pysim.render.options import RenderOptions
    from pysim.trajectory import Trajectory

    Array = NDArray[np.float64]

DIRECTIONS = 96  # in which the extent of a body is measured
SAMPLES = 200  # instants at which the extent of the motion is measured
FOLLOW_BEYOND = 12.0  # sizes of the mechanism that its middle may travel before the camera follows


class Player:
    """Owns the actors of one trajectory in one plotter."""

    def __init__(
        self, plotter: pv.Plotter, trajectory: Trajectory, options: RenderOptions
    ) -> None:
        if len(trajectory) == 0:
            problem = "has no rows to draw; the run stopped before its first"
            raise TrajectoryError(trajectory.source, problem)
        self.plotter, self.trajectory, self.options = plotter, trajectory, options
        self.time = float(trajectory.t[0])
        self.stage = upright(trajectory.header.gravity)
        self.meshes = body_meshes(trajectory, options)
        self._hulls = {body: _hull(mesh) for body, mesh in self.meshes.items()}
        self._measure()
        self._build()
        self.show(self.time)

    def show(self, time: float) -> None:
        """Put everything where it is at `time` [s]."""
        self.time = float(np.clip(time, self.trajectory.t[0], self.trajectory.t[-1]))
        poses = self.trajectory.poses_at(self.time)[0]
        matrices = np.concatenate([pose_matrices(poses), np.eye(4)[None]])  # −1 is the world
        for body, actor in self._bodies.items():
            actor.user_matrix = matrices[body]
        for body, actor in self._shadows.items():
            actor.user_matrix = self._flat @ matrices[body]
        for triad in self._triads:
            triad.show(matrices)
        for trail in self._trails:
            trail.show(self.time, matrices)
        text = f"t = {self.time:.2f} s"
        if self.follows:
            middle = self._middle(matrices)
            self._aim(middle - self._start)
            self._move_ground(middle)
            text += f"    height {middle @ self.stage[:, 2]:.2f} m"
        if self._clock is not None:
            self._clock.SetInput(text)

    def toggle_trails(self) -> None:
        """Hide the trails, or show them again."""
        for trail in self._trails:
            trail.actor.SetVisibility(not trail.actor.GetVisibility())

    def toggle_follow(self) -> None:
        """Let the camera travel with the mechanism, or stay."""
        self.follows = not self.follows
        self.show(self.time)

    def reset_camera(self) -> None:
        """Stand where the whole motion is in the picture."""
        self._aim(np.zeros(3))
        self.show(self.time)

    def _measure(self) -> None:
        """Find the hull points of everything at sampled instants, in coordinates of the stage."""
        t = self.trajectory.t
        picked = np.unique(np.linspace(0, len(t) - 1, min(len(t), SAMPLES)).astype(int))
        matrices = pose_matrices(self.trajectory.poses[picked])
        still = np.tile(np.eye(4), (len(picked), 1, 1, 1))
        matrices = np.concatenate([matrices, still], axis=1)
        moving = [self._swept(matrices, body) for body in self._hulls if body >= 0]
        if not moving:
            carried = matrices[:, :-1, None, :3, 3]
            moving = [carried.reshape(len(picked), -1, 3)]
        if moving[0].shape[1] == 0:
            moving = [np.zeros((len(picked), 1, 3))]
        swept = np.concatenate(moving, axis=1)  # (instants, hull points, 3)
        middle = swept.mean(axis=1)
        self._start = middle[0]
        own = float(np.max(np.ptp(swept, axis=1)))
        travel = float(np.max(np.ptp(middle, axis=0)))
        heights = swept @ self.stage[:, 2]
        asked = self.options.follow
        self.follows = travel > FOLLOW_BEYOND * max(own, 1e-9) if asked is None else asked
        if self.follows:
            swept = swept - (middle - middle[0])[:, None]
        points = swept.reshape(-1, 3)
        self.size = max(float(np.max(np.ptp(points, axis=0))), 1e-6)
        if -1 in self._hulls and _extent(self._hulls[-1]) < 3 * self.size:
            points = np.concatenate([points, self._hulls[-1]])
            self.size = float(np.max(np.ptp(points, axis=0)))
        self._points = points
        self._ground_height = self._find_ground(heights)

    def _swept(self, matrices: Array, body: int) -> Array:
        pose = matrices[:, body]
        return np.asarray(pose[:, None, :3, 3] + self._hulls[body] @ pose[:, :3, :3].mT)

    def _find_ground(self, heights: Array) -> float:
        """Zero where things stand or hang a little above it; otherwise just below the lowest."""
        lowest = float(heights.min())
        if -0.02 * self.size <= lowest <= 0.8 * self.size:
            return min(0.0, lowest)
        return lowest - 0.06 * self.size

    def _build(self) -> None:
        center = 0.5 * (self._points.min(axis=0) + self._points.max(axis=0))
        dress(self.plotter, self.stage, center, self.size)
        self._bodies = {body: self._add(mesh) for body, mesh in self.meshes.items()}
        self._shadows: dict[int, pv.Actor] = {}
        self.spacing = grid_spacing(1.6 * self.size)
        self._ground: list[pv.Actor] = []
        if self.options.ground:
            self._lay_ground()
            self._move_ground(center)
        self._triads = self._make_triads()
        self._trails = [self._make_trail(name) for name in self.options.trails]
        self._clock = self._make_labels() if self.options.label else None
        self._camera = framing_camera(self._points, self.stage, self.options)
        self._aim(np.zeros(3))

    def _add(self, mesh: pv.PolyData) -> pv.Actor:
        look = {"ambient": 0.36, "diffuse": 0.82, "specular": 0.2, "specular_power": 28}
        return self.plotter.add_mesh(
            mesh, scalars="rgba", rgb=True, smooth_shading=True, copy_mesh=False, **look
        )

    def _lay_ground(self) -> None:
        radius = 2.4 * self.size
        self._ground = lay_ground(self.plotter, radius, self.spacing)
        up = self.stage[:, 2]
        on_ground = self._points - np.outer(self._points @ up - self._ground_height, up)
        if not self.follows:
            self._points = np.concatenate([self._points, on_ground])
        if self.options.shadows:
            flat = self._ground_at(self._points.mean(axis=0))
            self._flat = shadow_matrix(flat, 1e-4 * radius)
            dark = {"color": colors.SHADOW, "lighting": False, "copy_mesh": False}
            for body, mesh in self.meshes.items():
                bare = mesh.copy(deep=False)
                bare.clear_data()
                self._shadows[body] = self.plotter.add_mesh(bare, **dark)

    def _ground_at(self, point: Array) -> Array:
        """Place of the ground (4, 4) with its middle at the strong crossing nearest to a point."""
        across, strong = self.stage[:, :2], 5 * self.spacing
        to_world = np.eye(4)
        to_world[:3, :3] = self.stage
        to_world[:3, 3] = across @ (np.round(across.T @ point / strong) * strong)
        to_world[:3, 3] += self.stage[:, 2] * (self._ground_height - 2e-3 * self.size)
        return to_world

    def _move_ground(self, point: Array) -> None:
        place = self._ground_at(point)
        for actor in self._ground:
            actor.user_matrix = place

    def _make_triads(self) -> list[Triad]:
        names = self.options.frames
        if "*" in names:
            names = self.trajectory.header.body_names
        return [Triad(self.plotter, self.trajectory, name, 0.14 * self.size) for name in names]

    def _make_trail(self, name: str) -> Trail:
        body, point = centres(self.trajectory, name, self._hulls)
        color = colors.rgb(colors.PALETTE[self._trail_number(name)])
        return Trail(self.plotter, self.trajectory, body, point, color, self.options.trail_length)

    def _trail_number(self, name: str) -> int:
        return (3 + self.options.trails.index(name)) % len(colors.PALETTE)

    def _make_labels(self) -> Any:  # noqa: ANN401, VTK has no types
        height = self.plotter.window_size[1]
        edge, size = 0.028 * height, max(6, round(0.0155 * height))
        look = {"color": colors.TEXT, "font": "arial", "font_size": size}
        if self._ground:
            text = self.plotter.add_text(f"grid {self.spacing:g} m", position=(0, edge), **look)
            text.prop.justification_horizontal = "right"
            text.SetPosition(self.plotter.window_size[0] - edge, edge)
            text.prop.opacity = 0.7
        if self.trajectory.header.name:
            corner = (edge, height - edge - 1.6 * size)
            self.plotter.add_text(self.trajectory.header.name, position=corner, **look)
        return self.plotter.add_text("t = 0.00 s", position=(edge, edge), **look)

    def _middle(self, matrices: Array) -> Array:
        """Mean of the hull points of everything that moves."""
        swept = [self._swept(matrices[None], body)[0] for body in self._hulls if body >= 0]
        return np.asarray(np.concatenate(swept).mean(axis=0) if swept else self._start)

    def _aim(self, shift: Array) -> None:
        camera: Camera = self._camera
        view = self.plotter.camera
        view.position = tuple(camera.position + shift)
        view.focal_point = tuple(camera.focus + shift)
        view.up = tuple(camera.up)
        view.view_angle = VIEW_ANGLE
        self.plotter.reset_camera_clipping_range()


def _hull(mesh: pv.PolyData) -> Array:
    """The points (m, 3) [m] of a mesh that lie farthest in directions all around."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1 - 2 * k / DIRECTIONS, np.pi * (1 + np.sqrt(5)) * k  # a spiral over the sphere
    ring = np.sqrt(1 - z * z)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), z])
    points = np.asarray(mesh.points, float)
    return points[np.unique(np.argmax(points @ directions, axis=0))]


def _extent(points: Array) -> float:
    return float(np.max(np.ptp(points, axis=0)))
