"""Ghosts: the bodies of other runs, translucent and in one colour for each run, beside those of the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.render import colors
from pysim.render.meshes import OF_MOVIES, body_meshes, decimated, merged
from pysim.render.tubes import TubeActor, tubes_of, with_world

if TYPE_CHECKING:
    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

OPACITY = 0.35
BEHIND = 2e4  # offset of depths
HUES = (3, 2, 5, 4, 6, 0)  # of the palette, for the second run and those after it


def ghost_color(number: int) -> str:
    """Return the colour of the ghost with a number, from 0."""
    return colors.PALETTE[HUES[number % len(HUES)]]


class Ghost:
    """Bodies of another run; before its start and after its end they rest."""

    def __init__(
        self, plotter: Plotter, trajectory: Trajectory, options: RenderOptions, number: int
    ) -> None:
        self._trajectory = trajectory
        self._actors = {}
        for body, meshes in body_meshes(trajectory, options).items():
            if body < 0:
                continue
            bare = decimated(merged(meshes), OF_MOVIES)
            bare.point_data.remove("rgba")
            actor = plotter.add_mesh(
                bare,
                color=ghost_color(number),
                opacity=OPACITY,
                smooth_shading=True,
                copy_mesh=False,
            )
            # where surfaces coincide, the first run is in front
            behind = (0.0, BEHIND * (number + 1))
            actor.mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(*behind)
            self._actors[body] = actor
        color = ghost_color(number)
        self._tubes = [
            TubeActor(plotter, tube, color=color, opacity=OPACITY)
            for tube in tubes_of(trajectory, options)
        ]

    def show(self, time: float) -> None:
        """Move to the poses at `time` [s]."""
        matrices = with_world(self._trajectory.poses_at(time)[0])
        for tube in self._tubes:
            tube.show(matrices)
        for body, actor in self._actors.items():
            actor.user_matrix = matrices[body]

    def toggle(self) -> None:
        """Hide the bodies, or show them again."""
        for actor in [*self._actors.values(), *(tube.actor for tube in self._tubes)]:
            actor.SetVisibility(not actor.GetVisibility())
