"""Axes of a frame: three thin arrows, red, green and blue for x, y and z."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.render import colors
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

NEARER = -2e6  # steps of the depth buffer


class Triad:
    """Arrows of one length [m] that move with a frame or a body."""

    def __init__(self, plotter: Plotter, trajectory: Trajectory, name: str, length: float) -> None:
        import pyvista as pv

        self._body, self._pose = trajectory.carrier_of(name)
        self._actors = [
            plotter.add_mesh(
                pv.Arrow(
                    direction=direction,
                    scale=length,
                    shaft_radius=0.022,
                    tip_radius=0.06,
                    tip_length=0.22,
                    shaft_resolution=24,
                    tip_resolution=32,
                ),
                color=color,
                ambient=0.45,
                diffuse=0.65,
            )
            for direction, color in zip(np.eye(3), colors.AXES, strict=True)
        ]

        for actor in self._actors:  # drawn through whatever body they sit in
            mapper = actor.mapper
            mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(0, NEARER)

    def set_visible(self, *, visible: bool) -> None:
        """Show the arrows or hide them."""
        for actor in self._actors:
            actor.SetVisibility(visible)

    def show(self, matrices: Array) -> None:
        """Move with the body; `matrices` (nbodies + 1, 4, 4) ends with the world's."""
        for actor in self._actors:
            actor.user_matrix = matrices[self._body] @ self._pose
