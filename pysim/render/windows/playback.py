"""Window of a motion: a button to play and pause, the speed, marks to switch on, and a picked body.

    space   play or pause      + −   faster, slower        c   follow or stay      h   keys
    f       frames             x     joint axes            m   centres of mass
    i       inertia ellipsoids k     forces                j   springs and pins

`PlaybackWindow` is what windows of recorded runs (view.py) and of present ones (live.py) have in common.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim.render.overlay import Text
from pysim.render.windows.controls import PlayButton
from pysim.render.windows.interactive import MARGIN, InteractiveWindow
from pysim.render.windows.picking import body_at

if TYPE_CHECKING:
    from pysim.render.player import Player
    from pysim.render.pyvista_types import Plotter

FASTEST, SLOWEST = 64.0, 1 / 64
BAR = 56.0  # [pixel] height of the controls below the picture
MARKS = {"f": "frames", "x": "axes", "m": "centres", "i": "inertias", "k": "forces"}
PLAIN, PICKED = (0.36, 0.82), (0.75, 0.5)  # ambient and diffuse light of a body


class PlaybackWindow(InteractiveWindow):
    """Window whose time advances while it plays; a subclass has the time."""

    def __init__(self, plotter: Plotter, player: Player, speed: float) -> None:
        super().__init__(plotter, player)
        self.playing, self.speed = False, speed
        self.picked: int | None = None
        self._button = PlayButton(plotter, self.toggle)
        self._rate = Text(plotter, align="right")
        self.controls.append(self._button)
        self.keys |= {
            "space": self.toggle,
            "plus": lambda: self.change_speed(2),
            "equal": lambda: self.change_speed(2),
            "minus": lambda: self.change_speed(0.5),
            "c": self.player.toggle_follow,
            "j": self._toggle_fittings,
        }
        self.keys |= {key: partial(self._toggle_marks, kind) for key, kind in MARKS.items()}
        self._write_rate()

    def toggle(self) -> None:
        """Play or pause."""
        self._set_playing(playing=not self.playing)

    def change_speed(self, factor: float) -> None:
        """Play faster or slower."""
        self.speed = float(np.clip(self.speed * factor, SLOWEST, FASTEST))
        self._write_rate()

    def click(self, x: float, y: float) -> None:
        """Pick the body at a pixel, or none."""
        found = body_at(self.player, x, y)
        self.pick(None if found is None else found[0])

    def pick(self, body: int | None) -> None:
        """Highlight a body (-1: the world) and describe it; None: no body."""
        self._light(PLAIN)
        self.picked = body
        self._light(PICKED)
        self.describe()

    def describe(self) -> None:
        """Write the state of the picked body below the name."""
        if self.player.captions is not None:
            text = "" if self.picked is None else self.description(self.picked)
            self.player.captions.note.write(text)

    def description(self, body: int) -> str:
        """Return the state of a body."""
        raise NotImplementedError

    def rate(self) -> str:
        """Return what is shown of the speed."""
        return f"{self.speed:.3g} ×" if self.speed >= 1 else f"1/{1 / self.speed:.3g} ×"

    def layout(self, width: int, height: int) -> None:
        super().layout(width, height)
        width, y = self.player.pane_size(width, height)[0], BAR / 2
        self._button.place(MARGIN + 16, y, 16)
        self._rate.place(width - MARGIN, y - 6, 18)
        if self.player.captions is not None:
            self.player.captions.place(width, height, below=BAR)

    def _set_playing(self, *, playing: bool) -> None:
        self.playing = playing
        self._button.set_playing(playing=playing)
        self.changed()

    def _write_rate(self) -> None:
        self._rate.write(self.rate())

    def _light(self, light: tuple[float, float]) -> None:
        if self.picked is not None:
            for actor in self.player.actors_of(self.picked):
                actor.prop.ambient, actor.prop.diffuse = light

    def _toggle_marks(self, kind: str) -> None:
        self.player.annotations.toggle(kind)
        self.player.refresh()

    def _toggle_fittings(self) -> None:
        for actor in self.player.fittings.actors:
            actor.SetVisibility(not actor.GetVisibility())
