"""Marks of a web page beside the bodies: frames of bodies, contact points, and forces as arrows.

All are hidden until their button of the page shows them, unless the scene's `[render]` table does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.force_arrows import CONTACT, ForceArrows
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim.render.options import RenderOptions
    from pysim.trajectory import Trajectory

AXIS, WIDTH, POINT = 0.08, 0.006, 0.02  # of the size of the motion
ROUNDING = 1e-4  # of the size: positions of marks are multiples of it, which compress well


class Marks:
    """Marks of one run in viser's scene."""

    def __init__(
        self,
        server: Any,  # noqa: ANN401, viser loads when first used
        run: Trajectory,
        options: RenderOptions,
        root: str,
        nodes: Mapping[int, str],
        size: float,
    ) -> None:
        scene = server.scene
        self._run, self._size = run, size
        self.axes = {body: f"{node}/axes" for body, node in nodes.items()}
        for name in self.axes.values():
            scene.add_frame(
                name, axes_length=AXIS * size, axes_radius=WIDTH * size / 2, visible=False
            )
        self.shown = {
            "Frames": bool(options.frames),
            "Contacts": options.forces,
            "Forces": options.forces,
        }
        self._points = self._arrows = self._forces = None
        if len(run.contacts):
            self._points = scene.add_point_cloud(
                f"{root}/contacts",
                np.zeros((0, 3)),
                tuple(bytes.fromhex(CONTACT[1:])),
                point_size=POINT * size,
                point_shape="circle",
                precision="float32",
                visible=False,
            )
        forces = ForceArrows(run)
        if forces.strong > 0:
            self._forces = forces
            self._arrows = scene.add_arrows(
                f"{root}/forces",
                np.zeros((0, 2, 3)),
                np.zeros((0, 3), np.uint8),
                shaft_radius=WIDTH * size,
                head_radius=3 * WIDTH * size,
                head_length=7 * WIDTH * size,
                visible=False,
            )

    @property
    def groups(self) -> dict[str, list[str]]:
        """Nodes of each kind of marks that the run has."""
        found = {"Frames": list(self.axes.values())}
        if self._points is not None:
            found["Contacts"] = [self._points.name]
        if self._arrows is not None:
            found["Forces"] = [self._arrows.name]
        return found

    def show(self, time: float, poses: Array) -> None:
        """Move the marks to a `time` [s] of the run, at which its bodies have `poses` (nbodies, 7)."""
        if self._forces is None:
            return
        row = self._forces.row_at(time)
        if self._points is not None:
            points = self._run.contacts.of_row(row).point
            self._points.points = self._rounded(points.reshape(-1, 3))
        matrices = np.concatenate([pose_matrices(poses), np.eye(4)[None]])
        drawn = [
            (point, point + self._forces.arrow(force, self._size), color)
            for point, force, color in self._forces.at(time, matrices)
            if np.linalg.norm(force) > 1e-6 * self._forces.strong
        ]
        ends = np.array([[start, end] for start, end, _ in drawn]).reshape(-1, 2, 3)
        own = [np.frombuffer(bytes.fromhex(color[1:]), np.uint8) for _, _, color in drawn]
        self._arrows.points = self._rounded(ends)  # type: ignore[union-attr]
        self._arrows.colors = np.array(own, np.uint8).reshape(-1, 3)  # type: ignore[union-attr]

    def _rounded(self, points: Array) -> NDArray[np.float32]:
        grain = ROUNDING * self._size
        return np.asarray(np.round(points / grain) * grain, np.float32)
