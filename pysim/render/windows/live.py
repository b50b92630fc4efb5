"""Window that shows a scene while it runs; a body can be pulled by the mouse.

    drag a body with the left button   pull it by a spring      drag beside it   orbit

and the keys of `playback`. The run keeps step with the clock, times the speed; if it is slower, the speed that it
reaches is shown. Closing the window ends the run.
"""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.render.annotations import through
from pysim.render.fittings import fitting_shapes as shapes
from pysim.render.fittings.fitting_plan import placed
from pysim.render.meshes import OF_WINDOWS
from pysim.render.options import OF_PICTURES, render_options
from pysim.render.player import Player
from pysim.render.windows.interactive import open_plotter
from pysim.render.windows.mouse_spring import MouseSpring
from pysim.render.windows.picking import body_at, point_on_plane, state_of_body
from pysim.render.windows.playback import PlaybackWindow
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.simulation.live import LiveRun

BUDGET = 0.02  # [s] of wall time between two pictures that the run may take
PULL = "#d6336c"
ZOOM = 0.85  # leaves room for the motion
MEMORY = 0.9  # share of the measured speed that remains after a picture


class LiveViewer(PlaybackWindow):
    """Window of a run that its `advance` takes forward."""

    help = """drag a body  pull it     drag beside it  turn     wheel  zoom
space  run or pause     + -  speed     h  hide this     Escape  end the run
1 3 7 5  front, right, top, corner     o  parallel     r  start     c  follow
f  frames     x  joint axes     m  centres of mass     i  inertias     j  springs and pins"""

    def __init__(self, plotter: Plotter, run: LiveRun, options: RenderOptions) -> None:
        self.simulation = run
        player = Player(plotter, run.preview, options, left_out=OF_WINDOWS)
        super().__init__(plotter, player, options.speed)
        self._until = 0.0  # [s] simulated time that the clock has reached
        self._reached = options.speed  # speed, measured
        self._spring: MouseSpring | None = None
        self._rod = shapes.add(plotter, shapes.rod(0.004 * self.player.extent.size), PULL)
        self._end = shapes.add(plotter, shapes.ball(0.009 * self.player.extent.size), PULL)
        for actor in (self._rod, self._end):
            through(actor)
            actor.SetVisibility(False)
            actor.SetPickable(False)
        self.layout(*plotter.window_size)
        self._show()

    def advance(self, seconds: float) -> None:
        """Advance by `seconds` of wall time, as far as the run keeps step."""
        if not self.playing:
            return
        self._until += seconds * self.speed
        begin, first, run = clock.perf_counter(), self.simulation.t, self.simulation
        while run.t < self._until and clock.perf_counter() - begin < BUDGET:
            if not run.advance():
                self._set_playing(playing=False)
                break
        self._until = min(self._until, run.t)  # a run that is slower than the clock is not chased
        self._measure((run.t - first) / max(seconds, 1e-9))
        self._show()

    def press(self, button: str, x: float, y: float, *, shift: bool = False) -> None:
        super().press(button, x, y, shift=shift)
        if self._dragging != "turn" or button != "Left" or self.simulation.done:
            return
        found = body_at(self.player, x, y)
        if found is not None and found[0] >= 0:
            self._dragging = "pull"
            run = self.simulation
            self._spring = MouseSpring(run.scene.model, run.q, *found)
            run.force = self._spring
            self._show()

    def release(self) -> None:
        if self._spring is not None:
            self._spring = self.simulation.force = None
            self._dragging = "turn"  # a press without a motion picks
            self._show()
        super().release()

    def description(self, body: int) -> str:
        run = self.simulation
        place = self._poses()[body, :3, 3]
        return state_of_body(self.player.trajectory.header, body, place, run.q, run.v)

    def rate(self) -> str:
        slow = self.playing and self._reached < 0.95 * self.speed
        return f"{self._reached:.2g} of {super().rate()}" if slow else super().rate()

    def _drag(self, dx: float, dy: float) -> None:
        if self._spring is None:
            super()._drag(dx, dy)
            return
        self._spring.target = point_on_plane(self.player, *self._last, self._spring.point)
        self._show()

    def _measure(self, speed: float) -> None:
        self._reached = MEMORY * self._reached + (1 - MEMORY) * speed
        self._write_rate()

    def _poses(self) -> Array:
        run = self.simulation
        poses = np.asarray(forward_kinematics(run.scene.model, run.q))
        return np.concatenate([poses, np.eye(4)[None]])

    def _show(self) -> None:
        self.player.values = self.player.coordinates(self.simulation.q)
        self.player.pose(self._poses())
        run, spring = self.simulation, self._spring
        if self.player.captions is not None:
            end = "    end of the run" if run.done else ""
            self.player.captions.write(f"t = {run.t:.2f} s{end}")
        for actor in (self._rod, self._end):
            actor.SetVisibility(spring is not None)
        if spring is not None:
            self._rod.user_matrix = shapes.between(spring.point, spring.target)
            self._end.user_matrix = placed(spring.target)
        self.describe()
        self.changed()


def watch(run: LiveRun, **options: Any) -> None:  # noqa: ANN401, see RenderOptions
    """Open a window on a run, entered already, until it is closed; options are those of `RenderOptions`.

    Raises:
        SimulationError: the run cannot continue.
    """
    wishes = {"zoom": ZOOM, **options, **OF_PICTURES, "trails": (), "plots": ()}
    chosen = render_options(run.preview, **wishes)
    plotter = open_plotter(chosen.size)
    viewer = LiveViewer(plotter, run, chosen)
    viewer.toggle()
    viewer.run(f"pysim: {run.scene.spec.name}")
