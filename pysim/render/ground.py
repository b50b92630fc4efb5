"""Ground of a picture: a disc that fades into the background, a grid with a round spacing, and flat shadows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.render import colors
from pysim.render.meshes import shadow_mesh
from pysim.render.scenery import SUN
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim.render.extent import Extent
    from pysim.render.pyvista_types import Actor, Mesh, Plotter

FADE = 0.35  # share of the ground's radius that is fully drawn
REACH = 2.4  # radius of the ground in sizes of the motion


class Ground:
    """Disc and grid, which follow the camera in steps of the grid, and the bodies' shadows."""

    def __init__(self, plotter: Plotter, extent: Extent, stage: Array) -> None:
        self.spacing = grid_spacing(1.6 * extent.size)
        self._stage, self._extent = stage, extent
        self._radius = REACH * extent.size
        self._actors = draw_ground(plotter, self._radius, self.spacing)
        self._shadows: dict[int, Actor] = {}
        self._deformed: list[Actor] = []  # shadows whose points move
        self._flat = shadow_matrix(self._place(extent.points[0]), 1e-4 * self._radius)
        self.move(0.5 * (extent.points.min(axis=0) + extent.points.max(axis=0)))

    @property
    def resting(self) -> list[Actor]:
        """Parts that no body moves; the lines of the grid are drawn over moving shadows."""
        return [self._actors[0], *(actor for body, actor in self._shadows.items() if body < 0)]

    def cast_shadows(
        self, plotter: Plotter, meshes: Mapping[int, Mesh], left_out: float = 0.0
    ) -> None:
        """Add a flat, dark copy of every body's mesh, with fewer triangles."""
        for body, mesh in meshes.items():
            bare = shadow_mesh(mesh, left_out)
            self._shadows[body] = plotter.add_mesh(
                bare, color=colors.SHADOW, lighting=False, copy_mesh=False
            )

    def add_shadow(self, actor: Actor) -> None:
        """Flatten a dark copy whose points are in the world."""
        self._deformed.append(actor)
        actor.user_matrix = self._flat

    def show(self, matrices: Array) -> None:
        """Move the shadows below the bodies at `matrices` (nbodies + 1, 4, 4)."""
        for body, actor in self._shadows.items():
            actor.user_matrix = self._flat @ matrices[body]

    def move(self, point: Array) -> None:
        """Centre the ground below a point (3,) [m], as near as the grid allows."""
        place = self._place(point)
        for actor in self._actors:
            actor.user_matrix = place

    def hides(self, points: Array) -> bool:
        """Return whether one of the points (…, 3) [m] is below the disc."""
        heights = points @ self._stage[:, 2]
        return bool(heights.size and heights.min() < self._height)

    @property
    def _height(self) -> float:
        """Height [m] of the disc, slightly below that of the ground."""
        return self._extent.ground - 2e-3 * self._extent.size

    def _place(self, point: Array) -> Array:
        across, strong = self._stage[:, :2], 5 * self.spacing
        place = np.eye(4)
        place[:3, :3] = self._stage
        place[:3, 3] = across @ (np.round(across.T @ point / strong) * strong)
        place[:3, 3] += self._stage[:, 2] * self._height
        return place


def grid_spacing(radius: float) -> float:
    """Return a round length [m], 1, 2 or 5 times a power of ten, about an eighth of `radius`."""
    ideal = radius / 8
    power = 10.0 ** np.floor(np.log10(ideal))
    return float(max(step * power for step in (1, 2, 5, 10) if step * power <= ideal * (1 + 1e-9)))


def draw_ground(plotter: Plotter, radius: float, spacing: float) -> list[Actor]:
    """Return a round ground that fades into the background, with lines every `spacing` [m].

    Its middle is a crossing of the strong lines; the caller places it, z up.
    """
    import pyvista as pv

    disc: Mesh = pv.Disc(inner=0, outer=radius, r_res=24, c_res=96)
    disc.point_data["rgba"] = _faded(disc.points, colors.GROUND, 255, radius)
    sheet = plotter.add_mesh(disc, scalars="rgba", rgb=True, lighting=False, pickable=False)
    actors = [sheet]
    scale = plotter.window_size[1] / 1440
    for every, strength in ((1, 72), (5, 120)):
        lines = _grid_lines(radius, spacing * every)
        lines.points[:, 2] = 2e-4 * radius
        lines.point_data["rgba"] = _faded(lines.points, colors.GRID, strength, radius)
        width = max(1.0, 1.6 * scale)
        look = {"scalars": "rgba", "rgb": True, "lighting": False, "line_width": width}
        actors.append(plotter.add_mesh(lines, **look))
    return actors


def shadow_matrix(to_world: Array, lift: float) -> Array:
    """Projects along the sun's rays onto the ground, `lift` [m] above it.

    x' = x − L (n·x − h)/(n·L); a trace of the height is kept, so that the matrix has an inverse.
    """
    n, L = to_world[:3, 2], to_world[:3, :3] @ SUN
    h = n @ to_world[:3, 3] + lift
    flat = np.eye(4)
    flat[:3, :3] -= (1 - 1e-5) * np.outer(L, n) / (n @ L)
    flat[:3, 3] = (1 - 1e-5) * L * h / (n @ L)
    return flat


def _faded(
    points: Array, color: tuple[int, int, int], alpha: int, radius: float
) -> NDArray[np.uint8]:
    """Return colours (n, 4) that vanish smoothly towards the rim."""
    distance = np.linalg.norm(points[:, :2], axis=1) / radius
    s = np.clip((1 - distance) / (1 - FADE), 0, 1)
    rgba = np.empty((len(points), 4), np.uint8)
    rgba[:, :3] = color
    rgba[:, 3] = np.round(alpha * s * s * (3 - 2 * s))
    return rgba


def _grid_lines(radius: float, spacing: float) -> Mesh:
    """Return lines along x and y inside the circle, cut into pieces so that their colour can fade."""
    import pyvista as pv

    count = int(radius / spacing)
    points: list[Array] = []
    lines: list[Array] = []
    for k in range(-count, count + 1):
        half = np.sqrt(max(radius**2 - (k * spacing) ** 2, 0.0))
        along = np.linspace(-half, half, 33)
        for order in (0, 1):
            piece = np.zeros((len(along), 3))
            piece[:, order], piece[:, 1 - order] = along, k * spacing
            start = sum(len(other) for other in points)
            lines.append(np.r_[len(along), start : start + len(along)])
            points.append(piece)
    return pv.PolyData(np.concatenate(points), lines=np.concatenate(lines))
