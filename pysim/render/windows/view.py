"""Interactive view of a trajectory: play and pause, a time slider, keys.

    ← →     one frame back or on   home end   first, last frame    l   play again and again
    t       trails on or off       g          other runs           s   save a still
    v       print the view         w          write the view into the scene

and those of `playback`. A click on a body shows its name, its place and the coordinates of its joint; a click beside it
ends that.

`Viewer` implements the keys and the mouse without a clock; `view` provides a window and a timer.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError
from pysim.mechanism.model import Model
from pysim.render.camera import framing_camera
from pysim.render.drawable import motion_of, to_trajectory
from pysim.render.meshes import OF_WINDOWS
from pysim.render.options import OF_PICTURES, render_options
from pysim.render.player import Player
from pysim.render.windows.controls import Slider
from pysim.render.windows.interactive import MARGIN, check_display, open_plotter
from pysim.render.windows.picking import state_of_body
from pysim.render.windows.playback import BAR, PlaybackWindow
from pysim.render.windows.posing import pose
from pysim.scene.toml.key_edit import write_keys
from pysim.worlds.loading import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pysim.render.drawable import Drawable
    from pysim.render.options import RenderOptions
    from pysim.render.plots.plot_strip import PlotStrip
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory


class Viewer(PlaybackWindow):
    """Player with controls, whose time advances while it plays."""

    help = """space  play or pause     arrows  step     + -  speed     l  again and again
1 3 7 5  front, right, top, corner     o  parallel     r  whole motion     c  follow
f  frames     x  joint axes     m  centres of mass     i  inertias     k  forces
j  springs and pins     g  other runs     t  trails
s  save a picture     v  print the view     w  write it into the scene
h  hide this     Escape  close"""

    def __init__(
        self,
        plotter: Plotter,
        trajectory: Trajectory,
        options: RenderOptions,
        others: Sequence[Trajectory] = (),
        scene: Path | None = None,
    ) -> None:
        player = Player(plotter, trajectory, options, others=others, left_out=OF_WINDOWS)
        self.repeats = False
        super().__init__(plotter, player, options.speed)
        self.trajectory, self.options, self.scene = trajectory, options, scene
        self.begin, self.end = float(trajectory.t[0]), float(trajectory.t[-1])
        ends = (self.begin, max(self.end, self.begin + 1e-9))
        self.slider = Slider(plotter, ends, self.begin, self.player.show)
        self.controls.append(self.slider)
        if self.player.strip is not None:
            self.controls.append(_CurveControl(self.player.strip, self.seek))
        self.keys |= {
            "Right": lambda: self.step(1),
            "Left": lambda: self.step(-1),
            "Home": lambda: self.seek(self.begin),
            "End": lambda: self.seek(self.end),
            "t": self.player.toggle_trails,
            "l": self.toggle_repeat,
            "s": self.save_still,
            "g": self._toggle_ghosts,
            "v": lambda: sys.stdout.write(view_table(self.view())),
            "w": self._write_view,
        }
        self.layout(*plotter.window_size)

    @property
    def time(self) -> float:
        """Simulated time [s] on show."""
        return self.player.time

    def seek(self, time: float) -> None:
        """Show `time` [s]."""
        self.player.show(time)
        self.slider.set(self.player.time)
        self.describe()
        self.changed()

    def description(self, body: int) -> str:
        run, time = self.trajectory, self.time
        row = int(np.clip(np.searchsorted(run.t, time + 1e-9, side="right") - 1, 0, len(run) - 1))
        place = run.poses_at(time)[0, body, :3] if body >= 0 else np.zeros(3)
        return state_of_body(run.header, body, place, run.q[row], run.v[row])

    def view(self) -> dict[str, Any]:
        """Return the present view as keys of a scene's `[render]` table."""
        orbit = self.player.orbit
        found: dict[str, Any] = {
            "azimuth": round(float(np.degrees(orbit.azimuth)), 1),
            "elevation": round(float(np.degrees(orbit.elevation)), 1),
            "focus": tuple(float(f"{x:.4g}") for x in orbit.focus),
        }
        looking = replace(self.options, **{**found, "zoom": 1.0})
        whole = framing_camera(self.player.extent.points, self.player.stage, looking)
        zoom = float(np.linalg.norm(whole.position - whole.focus)) / orbit.distance
        return found | {"zoom": float(f"{zoom:.4g}")}

    def _write_view(self) -> None:
        """Write the present view into the scene, and say so below the name."""
        if self.scene is None:
            text = "no scene to write into: open with --scene FILE"
        else:
            try:
                write_keys(self.scene, "render", self.view())
                text = f"view written into {self.scene}"
            except PysimError as error:
                text = str(error)
        if self.player.captions is not None:
            self.player.captions.note.write(text)

    def toggle(self) -> None:
        """Play, from the start again if at the end; or pause."""
        if not self.playing and self.time >= self.end:
            self.seek(self.begin)
        super().toggle()

    def toggle_repeat(self) -> None:
        """Play again and again, or once."""
        self.repeats = not self.repeats
        self._write_rate()

    def advance(self, seconds: float) -> None:
        """Advance by `seconds` of wall time; stop at the end, or begin again."""
        if not self.playing or self._pressed is not None:
            return
        self.seek(self.time + seconds * self.speed)
        if self.time >= self.end:
            if self.repeats and self.end > self.begin:
                self.seek(self.begin)
            else:
                self._set_playing(playing=False)

    def step(self, frames: int) -> None:
        """Pause and move by whole frames of the movie."""
        self._set_playing(playing=False)
        self.seek(self.time + frames * self.options.speed / self.options.fps)

    def save_still(self) -> Path:
        """Save the displayed picture beside the trajectory, or in the working directory, named after its time."""
        source = Path(self.trajectory.source)
        path = source.with_name(f"{source.stem}_{self.time:.3f}s.png")
        self.plotter.screenshot(path)
        return path

    def rate(self) -> str:
        return f"{super().rate()}  ↻" if self.repeats else super().rate()

    def layout(self, width: int, height: int) -> None:
        super().layout(width, height)
        if self.player.strip is not None:
            self.player.strip.place(width, height)
        width = self.player.pane_size(width, height)[0]
        self.slider.place(MARGIN + 60, width - MARGIN - 90, BAR / 2)

    def _toggle_ghosts(self) -> None:
        for ghost in self.player.ghosts:
            ghost.toggle()


def view_table(view: Mapping[str, Any]) -> str:
    """Return a view as a `[render]` table."""
    lines = [f"{key} = {list(x) if isinstance(x, tuple) else x}" for key, x in view.items()]
    return "\n".join(["[render]", *lines, ""])


class _CurveControl:
    """Plots as a control: a press or a drag chooses the time."""

    def __init__(self, strip: PlotStrip, seek: Callable[[float], None]) -> None:
        self._strip, self._seek = strip, seek

    def contains(self, x: float, y: float) -> bool:
        return self._strip.contains(x, y)

    def press(self, x: float, _y: float) -> None:
        self._seek(self._strip.time_at(x))

    def drag(self, x: float, _y: float) -> None:
        self._seek(self._strip.time_at(x))

    def release(self) -> None:
        """Ignore the release."""


def view(
    trajectory: Drawable,
    *,
    others: Sequence[Trajectory] = (),
    scene: Path | None = None,
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Open a window that plays a trajectory, or poses a `Model` or a `Scene`; options are those of `RenderOptions`.

    The bodies of `others`, further runs, are drawn translucent, in a colour for each run. A key writes the view into
    the file of a `scene`.
    """
    check_display()
    if isinstance(trajectory, Scene):
        spec = trajectory.spec
        render = asdict(spec.render)
        pose(trajectory.model, trajectory.state, render=render, blocks=spec.blocks, **options)
        return
    if isinstance(trajectory, Model):
        pose(trajectory, **options)
        return
    trajectory = to_trajectory(trajectory, "view")
    others = [motion_of(run, "view: others") for run in others]
    chosen = render_options(trajectory, **{**options, **OF_PICTURES})
    plotter = open_plotter(chosen.size)
    viewer = Viewer(plotter, trajectory, chosen, others, scene)
    viewer.toggle()
    viewer.run(f"pysim: {trajectory.header.name or trajectory.source}")
