"""Interactive view of a trajectory: play and pause, a time slider, keys.

    space   play or pause          ← →   one frame back or on       home end   first, last frame
    + −     faster, slower         t     trails on or off           l          play again and again
    c       follow or stay         s     save a still               q  Escape  close

`Viewer` implements the keys and the mouse without a clock; `view` provides a window and a timer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.controls import PlayButton, Slider
from pysim.render.interactive import InteractiveWindow, check_display, open_plotter
from pysim.render.options import render_options
from pysim.render.overlay import Text
from pysim.render.player import Player

if TYPE_CHECKING:
    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

FASTEST, SLOWEST = 64.0, 1 / 64
BAR = 56.0  # [pixel] height of the controls below the picture
MARGIN = 28.0  # [pixel]


class Viewer(InteractiveWindow):
    """Player with controls, whose time advances while it plays."""

    def __init__(self, plotter: Plotter, trajectory: Trajectory, options: RenderOptions) -> None:
        super().__init__(plotter, Player(plotter, trajectory, options, in_motion=True))
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
        self.changed()

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
        """Save what is on show beside the trajectory, or here, under the time's name."""
        source = Path(self.trajectory.source)
        path = source.with_name(f"{source.stem}_{self.time:.3f}s.png")
        self.plotter.screenshot(path)
        return path

    def layout(self, width: int, height: int) -> None:
        y = BAR / 2
        self._button.place(MARGIN + 16, y, 16)
        self.slider.place(MARGIN + 60, width - MARGIN - 90, y)
        self._rate.place(width - MARGIN, y - 6, 18)
        if self.player.captions is not None:
            self.player.captions.place(width, height, below=BAR)

    def _write_rate(self) -> None:
        text = f"{self.speed:.3g} ×" if self.speed >= 1 else f"1/{1 / self.speed:.3g} ×"
        self._rate.write(f"{text}  ↻" if self.repeats else text)

    def _set_playing(self, *, playing: bool) -> None:
        if playing and self.time >= self.end:
            self.seek(self.begin)
        self.playing = playing
        self._button.set_playing(playing=playing)
        self.changed()


def view(trajectory: Trajectory, **options: Any) -> None:  # noqa: ANN401, see RenderOptions
    """Open a window that plays the trajectory; options are those of `RenderOptions`."""
    check_display()

    chosen = render_options(trajectory, **{**options, "supersample": 1})
    plotter = open_plotter(chosen.size)
    viewer = Viewer(plotter, trajectory, chosen)
    viewer.toggle()
    viewer.run(f"pysim: {trajectory.header.name or trajectory.source}")
