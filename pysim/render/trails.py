"""Trails: the past path of a point as a line that grows with time and fades with age."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.pyvista_types import Mesh, Plotter
    from pysim.trajectory import Trajectory

MOST_POINTS = 4000
LEAST_OPACITY = 0.12  # opacity of the oldest end


def centres(trajectory: Trajectory, name: str, corners: dict[int, Array]) -> tuple[int, Array]:
    """Return the points that a trail of `name` follows: a frame's origin, or the centre of a body's shapes."""
    header = trajectory.header
    if name in header.body_names:
        body = header.body_names.index(name)
        if body in corners and name not in header.frame_names:
            return body, corners[body].mean(axis=0)
    body, pose = trajectory.carrier_of(name)
    return body, pose[:3, 3]


class Trail:
    """One line in the world; its points are fixed, only their colours and the last one change."""

    def __init__(
        self,
        plotter: Plotter,
        trajectory: Trajectory,
        body: int,
        point: Array,
        color: tuple[float, float, float],
        length: float | None,
    ) -> None:
        import pyvista as pv

        stride = -(-len(trajectory) // MOST_POINTS)
        self._t = trajectory.t[::stride]
        self._body, self._point, self._length = body, point, length
        self.path = trajectory.carried_point(body, point, slice(None, None, stride))
        points = np.concatenate([self.path, self.path[-1:]])
        self._line: Mesh = pv.PolyData(points, lines=np.r_[len(points), np.arange(len(points))])
        self._rgba = np.zeros((len(points), 4), np.uint8)
        self._rgba[:, :3] = np.round(255 * np.array(color))
        self._line.point_data["rgba"] = self._rgba
        width = 3.0 * plotter.window_size[1] / 1440 + 1.0
        self.actor = plotter.add_mesh(
            self._line,
            scalars="rgba",
            rgb=True,
            lighting=False,
            line_width=width,
            copy_mesh=False,
        )

    def show(self, time: float, matrices: Array) -> None:
        """Draw the path up to `time` [s]; the last point is the body's present position."""
        past = int(np.searchsorted(self._t, time, side="right"))
        now = matrices[self._body, :3, :3] @ self._point + matrices[self._body, :3, 3]
        self._line.points[past:] = now  # future points are collapsed into one
        self._line.points[:past] = self.path[:past]
        begin = self._t[0] if self._length is None else time - self._length
        span = max(time - begin, 1e-12)
        age = np.clip((self._t[:past] - begin) / span, 0, 1)
        alpha = np.where(self._t[:past] < begin, 0.0, LEAST_OPACITY + (1 - LEAST_OPACITY) * age)
        self._rgba[:, 3] = 255
        self._rgba[:past, 3] = np.round(255 * alpha)
        self._line.point_data["rgba"] = self._rgba
        self._line.Modified()
