"""Interactive view of a trajectory: play and pause, a time slider, keys.

    space   play or pause          ← →   one frame back or on       home end   first, last frame
    + −     faster, slower         t     trails on or off           l          play again and again
    c       follow or stay         s     save a still               q  Escape  close
    f       frames                 x     joint axes                 m          centres of mass
    i       inertia ellipsoids     k     forces                     j          springs and pins
    g       other runs             v     print the view             h          these keys

A click on a body shows its name, its place and the coordinates of its joint; a click beside it ends that.

`Viewer` implements the keys and the mouse without a clock; `view` provides a window and a timer.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.camera import framing_camera
from pysim.render.controls import PlayButton, Slider
from pysim.render.interactive import InteractiveWindow, check_display, open_plotter
from pysim.render.meshes import OF_WINDOWS
from pysim.render.options import render_options
from pysim.render.overlay import SQUARE, Outline, Text
from pysim.render.player import Player

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

FASTEST, SLOWEST = 64.0, 1 / 64
BAR = 56.0  # [pixel] height of the controls below the picture
MARGIN = 28.0  # [pixel]
MARKS = {"f": "frames", "x": "axes", "m": "centres", "i": "inertias", "k": "forces"}
HELP = """space  play or pause     arrows  step     + -  speed     l  again and again
1 3 7 5  front, right, top, corner     o  parallel     r  whole motion     c  follow
f  frames     x  joint axes     m  centres of mass     i  inertias     k  forces
j  springs and pins     g  other runs     t  trails
s  save a picture     v  print the view     h  hide this     Escape  close"""


class Viewer(InteractiveWindow):
    """Player with controls, whose time advances while it plays."""

    def __init__(
        self,
        plotter: Plotter,
        trajectory: Trajectory,
        options: RenderOptions,
        others: Sequence[Trajectory] = (),
    ) -> None:
        super().__init__(
            plotter, Player(plotter, trajectory, options, others=others, left_out=OF_WINDOWS)
        )
        self.trajectory, self.options = trajectory, options
        self.playing = self.repeats = False
        self.speed = options.speed
        self.begin, self.end = float(trajectory.t[0]), float(trajectory.t[-1])
        self._button = PlayButton(plotter, self.toggle)
        ends = (self.begin, max(self.end, self.begin + 1e-9))
        self.slider = Slider(plotter, ends, self.begin, self.player.show)
        self._rate = Text(plotter, align="right")
        self._write_rate()
        self.controls += [self._button, self.slider]
        self.keys |= {
            "space": self.toggle,
            "Right": lambda: self.step(1),
            "Left": lambda: self.step(-1),
            "Home": lambda: self.seek(self.begin),
            "End": lambda: self.seek(self.end),
            "plus": lambda: self.change_speed(2),
            "equal": lambda: self.change_speed(2),
            "minus": lambda: self.change_speed(0.5),
            "t": self.player.toggle_trails,
            "c": self.player.toggle_follow,
            "l": self.toggle_repeat,
            "s": self.save_still,
            "j": self._toggle_fittings,
            "g": self._toggle_ghosts,
            "v": lambda: sys.stdout.write(self.view_table()),
            "h": self._toggle_help,
        }
        self.keys |= {key: partial(self._toggle_marks, kind) for key, kind in MARKS.items()}
        self.picked: int | None = None
        self._help_back = Outline(plotter, SQUARE, color="#ffffff", opacity=0.75)
        self._help_back.show(visible=False)
        self._help = Text(plotter)
        self._help_shown = False
        self.layout(*plotter.window_size)

    @property
    def time(self) -> float:
        """Simulated time [s] on show."""
        return self.player.time

    def seek(self, time: float) -> None:
        """Show `time` [s]."""
        self.player.show(time)
        self.slider.set(self.player.time)
        self._describe()
        self.changed()

    def click(self, x: float, y: float) -> None:
        """Pick the body at a pixel, or none."""
        from vtkmodules.vtkRenderingCore import vtkCellPicker  # noqa: PLC0415, heavy

        picker = vtkCellPicker()
        picker.SetTolerance(1e-3)
        picker.PickFromListOn()
        for actor in self.player.actors.values():
            picker.AddPickList(actor)
        picker.Pick(x, y, 0, self.plotter.renderer)
        found = picker.GetActor()
        self._highlight(on=False)
        self.picked = next((b for b, actor in self.player.actors.items() if actor is found), None)
        self._highlight(on=True)
        self._describe()

    def view_table(self) -> str:
        """Return the present view as a `[render]` table of a scene."""
        orbit = self.player.orbit
        found = {
            "azimuth": round(float(np.degrees(orbit.azimuth)), 1),
            "elevation": round(float(np.degrees(orbit.elevation)), 1),
            "focus": tuple(float(f"{x:.4g}") for x in orbit.focus),
        }
        looking = replace(self.options, **{**found, "zoom": 1.0})  # type: ignore[arg-type]
        whole = framing_camera(self.player.extent.points, self.player.stage, looking)
        zoom = float(np.linalg.norm(whole.position - whole.focus)) / orbit.distance
        lines = [f"{key} = {list(x) if isinstance(x, tuple) else x}" for key, x in found.items()]
        return "\n".join(["[render]", *lines, f"zoom = {zoom:.4g}", ""])

    def toggle(self) -> None:
        """Play, from the start again if at the end; or pause."""
        self._set_playing(playing=not self.playing)

    def toggle_repeat(self) -> None:
        """Play again and again, or once."""
        self.repeats = not self.repeats
        self._write_rate()

    def advance(self, seconds: float) -> None:
        """Advance by `seconds` of wall time; stop at the end, or begin again."""
        if not self.playing or self._pressed is self.slider:
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

    def change_speed(self, factor: float) -> None:
        """Play faster or slower."""
        self.speed = float(np.clip(self.speed * factor, SLOWEST, FASTEST))
        self._write_rate()

    def save_still(self) -> Path:
        """Save the displayed picture beside the trajectory, or in the working directory, named after its time."""
        source = Path(self.trajectory.source)
        path = source.with_name(f"{source.stem}_{self.time:.3f}s.png")
        self.plotter.screenshot(path)
        return path

    def layout(self, width: int, height: int) -> None:
        y = BAR / 2
        self._button.place(MARGIN + 16, y, 16)
        self.slider.place(MARGIN + 60, width - MARGIN - 90, y)
        self._rate.place(width - MARGIN, y - 6, 18)
        self._help_back.place(MARGIN - 12, 0.5 * height - 68, 560, 136)
        self._help.place(MARGIN, 0.5 * height - 54, 15)
        if self.player.captions is not None:
            self.player.captions.place(width, height, below=BAR)

    def _toggle_marks(self, kind: str) -> None:
        self.player.marks.toggle(kind)
        self.player.show(self.time)

    def _toggle_fittings(self) -> None:
        for actor in self.player.fittings.actors:
            actor.SetVisibility(not actor.GetVisibility())

    def _toggle_ghosts(self) -> None:
        for ghost in self.player.ghosts:
            ghost.toggle()

    def _toggle_help(self) -> None:
        self._help_shown = not self._help_shown
        self._help_back.show(visible=self._help_shown)
        self._help.write(HELP if self._help_shown else "")

    def _highlight(self, *, on: bool) -> None:
        if self.picked is not None:
            prop = self.player.actors[self.picked].prop
            prop.ambient, prop.diffuse = (0.75, 0.5) if on else (0.36, 0.82)

    def _describe(self) -> None:
        """Write the state of the picked body below the name."""
        if self.player.captions is not None:
            text = (
                ""
                if self.picked is None
                else state_of_body(self.trajectory, self.picked, self.time)
            )
            self.player.captions.note.write(text)

    def _write_rate(self) -> None:
        text = f"{self.speed:.3g} ×" if self.speed >= 1 else f"1/{1 / self.speed:.3g} ×"
        self._rate.write(f"{text}  ↻" if self.repeats else text)

    def _set_playing(self, *, playing: bool) -> None:
        if playing and self.time >= self.end:
            self.seek(self.begin)
        self.playing = playing
        self._button.set_playing(playing=playing)
        self.changed()


def state_of_body(run: Trajectory, body: int, time: float) -> str:
    """Return a body's name, place and speed, and the coordinates of the joint that moves it, at `time` [s]."""
    if body < 0:
        return "world"
    header = run.header
    row = int(np.clip(np.searchsorted(run.t, time + 1e-9, side="right") - 1, 0, len(run) - 1))
    x, y, z = run.poses_at(time)[0, body, :3]
    parts = [f"{header.body_names[body]}   x {x:.4g}  y {y:.4g}  z {z:.4g} m"]
    joint = header.joint_names[body] if body < len(header.joint_names) else ""
    for key, labels, units, columns in (
        ("q", header.coordinate_names, run.units["q"], run.q),
        ("v", header.velocity_names, run.units["v"], run.v),
    ):
        own = [k for k, label in enumerate(labels) if label.split(".")[0] == joint]
        parts += [
            f"{key}.{labels[k]} {columns[row, k]:.4g} {units[k]}".rstrip(" 1") for k in own[:3]
        ]
    return "   ".join(parts)


def view(
    trajectory: Trajectory,
    *,
    others: Sequence[Trajectory] = (),
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Open a window that plays the trajectory; options are those of `RenderOptions`.

    The bodies of `others`, further runs, are drawn translucent, in a colour for each run.
    """
    check_display()

    chosen = render_options(trajectory, **{**options, "supersample": 1})
    plotter = open_plotter(chosen.size)
    viewer = Viewer(plotter, trajectory, chosen, others)
    viewer.toggle()
    viewer.run(f"pysim: {trajectory.header.name or trajectory.source}")
