"""Interactive view of a trajectory: play and pause, a time slider, keys.

    space   play or pause          ← →   one frame back or on       home end   first, last frame
    + −     faster, slower         t     trails on or off           r          the whole motion
    c       follow or stay         s     save a still               q          close

`Viewer` implements the keys without a clock; `view` provides a window and a timer.
"""

from __future__ import annotations

import time as clock
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError
from pysim.render import colors
from pysim.render.options import render_options
from pysim.render.player import Player
from pysim.render.window import has_display

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

TICK = 20  # [ms] between two looks at the clock
FASTEST, SLOWEST = 64.0, 1 / 64


class Viewer:
    """Player with controls, whose time advances while it plays."""

    def __init__(self, plotter: Plotter, trajectory: Trajectory, options: RenderOptions) -> None:
        self.plotter, self.trajectory, self.options = plotter, trajectory, options
        self.player = Player(plotter, trajectory, options)
        self.playing = False
        self.speed = options.speed
        self.begin, self.end = float(trajectory.t[0]), float(trajectory.t[-1])
        self._add_slider()
        self._add_button()
        self._bind_keys()

    @property
    def time(self) -> float:
        """Simulated time [s] on show."""
        return self.player.time

    def seek(self, time: float) -> None:
        """Show `time` [s]."""
        self.player.show(time)
        self.slider.GetRepresentation().SetValue(self.player.time)

    def toggle(self) -> None:
        """Play, from the start again if at the end; or pause."""
        self._set_playing(playing=not self.playing)

    def advance(self, seconds: float) -> None:
        """Advance by `seconds` of wall time; stop at the end."""
        if not self.playing:
            return
        self.seek(self.time + seconds * self.speed)
        if self.time >= self.end:
            self._set_playing(playing=False)

    def step(self, frames: int) -> None:
        """Pause and move by whole frames of the movie."""
        self._set_playing(playing=False)
        self.seek(self.time + frames * self.options.speed / self.options.fps)

    def change_speed(self, factor: float) -> None:
        """Play faster or slower."""
        self.speed = float(np.clip(self.speed * factor, SLOWEST, FASTEST))

    def press(self, key: str) -> None:
        """Handle a key, and draw."""
        self._keys[key]()
        self.plotter.render()

    def save_still(self) -> Path:
        """Save what is on show beside the trajectory, or here, under the time's name."""
        source = Path(self.trajectory.source)
        path = source.with_name(f"{source.stem}_{self.time:.3f}s.png")
        self.plotter.screenshot(path)
        return path

    def show(self) -> None:
        """Open the window and play until it is closed."""
        last = clock.monotonic()

        def tick(_step: int) -> None:
            nonlocal last
            now = clock.monotonic()
            elapsed, last = now - last, now
            if self.playing:
                self.advance(elapsed)
                self.plotter.render()

        self.plotter.add_timer_event(max_steps=10**9, duration=TICK, callback=tick)
        self.plotter.show(title=f"pysim: {self.trajectory.header.name or self.trajectory.source}")

    def _set_playing(self, *, playing: bool) -> None:
        if playing and self.time >= self.end:
            self.seek(self.begin)
        self.playing = playing
        self._button.GetRepresentation().SetState(int(playing))

    def _add_slider(self) -> None:
        span = [self.begin, max(self.end, self.begin + 1e-9)]
        self.slider = self.plotter.add_slider_widget(
            self.player.show,
            span,
            value=self.begin,
            pointa=(0.3, 0.06),
            pointb=(0.8, 0.06),
            color=colors.TEXT,
            interaction_event="always",
            slider_width=0.022,
            tube_width=0.004,
        )
        look = self.slider.GetRepresentation()
        look.SetEndCapLength(0.0)
        look.SetSliderLength(0.012)
        look.ShowSliderLabelOff()  # the time is in the corner
        look.GetSliderProperty().SetColor(colors.rgb(colors.PALETTE[0]))
        look.GetSelectedProperty().SetColor(colors.rgb(colors.PALETTE[1]))

    def _add_button(self) -> None:
        height = self.plotter.window_size[1]
        size = max(24, round(0.045 * height))
        place = (0.235 * self.plotter.window_size[0], 0.06 * height - size / 2)
        self._button = self.plotter.add_checkbox_button_widget(
            lambda state: self._set_playing(playing=bool(state)),
            value=False,
            position=place,
            size=size,
        )
        look = self._button.GetRepresentation()
        for state, playing in enumerate((False, True)):
            look.SetButtonTexture(state, _icon(playing=playing))

    def _bind_keys(self) -> None:
        self._keys: dict[str, Callable[[], object]] = {
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
            "r": self.player.reset_camera,
            "s": self.save_still,
        }
        self.plotter.reset_key_events()
        for key in self._keys:
            self.plotter.clear_events_for_key(key, raise_on_missing=False)
            self.plotter.add_key_event(key, partial(self.press, key))


def view(trajectory: Trajectory, **options: Any) -> None:  # noqa: ANN401, see RenderOptions
    """Open a window that plays the trajectory; options are those of `RenderOptions`."""
    if not has_display():
        problem = "there is no display to open a window on; draw with --still or --movie instead"
        raise PysimError("view", problem)
    import pyvista as pv

    chosen = render_options(trajectory, **{**options, "supersample": 1})
    plotter: Plotter = pv.Plotter(window_size=list(chosen.size), lighting="none")
    plotter.enable_anti_aliasing("msaa")
    viewer = Viewer(plotter, trajectory, chosen)
    viewer.toggle()
    viewer.show()


def _icon(*, playing: bool) -> Any:  # noqa: ANN401, VTK has no types
    """A triangle to play, two bars to pause."""
    import pyvista as pv

    n = 96
    y, x = (np.mgrid[:n, :n] + 0.5) / n
    inside = np.hypot(x - 0.5, y - 0.5) < 0.48
    bars = (abs(abs(x - 0.5) - 0.11) < 0.055) & (abs(y - 0.5) < 0.2)
    triangle = (x > 0.39) & (abs(y - 0.5) < 0.62 * (0.73 - x))
    image = np.zeros((n, n, 4), np.uint8)
    image[inside] = (*(int(255 * part) for part in colors.rgb(colors.PALETTE[0])), 255)
    image[bars if playing else triangle] = 255
    picture = pv.ImageData(dimensions=(n, n, 1))
    picture.point_data["rgba"] = image.reshape(-1, 4)
    picture.set_active_scalars("rgba")
    return picture
