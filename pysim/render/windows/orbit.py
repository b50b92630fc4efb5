"""Camera that orbits a focal point and keeps the vertical upright: turn, pan, zoom, presets, parallel projection.

The direction from the focal point to the camera has an azimuth from the stage's x axis and an elevation above its
ground; the distance is measured along it. The elevation stays below the vertical, so that the camera never rolls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.render.camera import VIEW_ANGLE, Camera, direction_of
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.pyvista_types import Plotter

STEEPEST = np.radians(89.0)  # elevation
HALF_VIEW = float(np.tan(np.radians(VIEW_ANGLE) / 2))
NEAREST, FARTHEST = 1e-3, 1e3  # of the first distance
PRESETS: dict[str, tuple[float, float]] = {  # azimuth, elevation [deg]
    "front": (0.0, 0.0),
    "back": (180.0, 0.0),
    "left": (90.0, 0.0),
    "right": (-90.0, 0.0),
    "top": (-90.0, 90.0),
    "corner": (40.0, 25.0),
}


class Orbit:
    """Camera by its focal point [m], azimuth and elevation [rad] and distance [m]."""

    def __init__(self, camera: Camera, stage: Array) -> None:
        self.stage = stage
        self.parallel = False
        self.reset(camera)

    def reset(self, camera: Camera) -> None:
        """Take the place of another camera."""
        towards = self.stage.T @ (camera.position - camera.focus)
        self.distance = float(np.linalg.norm(towards))
        self.azimuth = float(np.arctan2(towards[1], towards[0]))
        self.elevation = float(np.arcsin(np.clip(towards[2] / self.distance, -1, 1)))
        self.focus = np.array(camera.focus, float)
        self._first = self.distance

    def turn(self, azimuth: float, elevation: float) -> None:
        """Orbit by two angles [rad]."""
        self.azimuth = float(np.remainder(self.azimuth + azimuth + np.pi, 2 * np.pi) - np.pi)
        self.elevation = float(np.clip(self.elevation + elevation, -STEEPEST, STEEPEST))

    def pan(self, right: float, up: float) -> None:
        """Move the focal point along the picture, in fractions of its height."""
        towards = self.towards
        across = np.cross(self.stage[:, 2], towards)
        across /= np.linalg.norm(across)
        height = 2 * HALF_VIEW * self.distance
        self.focus = self.focus + height * (right * across + up * np.cross(towards, across))

    def zoom(self, factor: float) -> None:
        """Divide the distance by a factor."""
        ends = NEAREST * self._first, FARTHEST * self._first
        self.distance = float(np.clip(self.distance / factor, *ends))

    def look_from(self, preset: str) -> None:
        """Take a direction of `PRESETS`, at the same distance."""
        azimuth, elevation = np.radians(PRESETS[preset])
        self.azimuth = float(azimuth)
        self.elevation = float(np.clip(elevation, -STEEPEST, STEEPEST))

    @property
    def towards(self) -> Array:
        """Unit vector (3,) from the focal point to the camera, in the world."""
        return direction_of(self.stage, self.azimuth, self.elevation)

    def aim(self, plotter: Plotter, shift: Array) -> None:
        """Place the plotter's camera, moved by `shift` (3,) [m]."""
        focus, view = self.focus + shift, plotter.camera
        view.position = tuple(focus + self.distance * self.towards)
        view.focal_point = tuple(focus)
        view.up = tuple(self.stage[:, 2])
        view.view_angle = VIEW_ANGLE
        view.parallel_scale = self.distance * HALF_VIEW
        view.parallel_projection = self.parallel
        plotter.reset_camera_clipping_range()
