"""Controls of a window: buttons and sliders, drawn over the picture and moved by the mouse.

A control is placed by `place`, in pixels from the lower left corner. It takes the mouse while a press inside it lasts,
so that a drag which leaves it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pysim.render import colors
from pysim.render.overlay import BARS, SQUARE, TRIANGLE, Outline, Text, circle

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.render.pyvista_types import Plotter

REACH = 12.0  # [pixel] from a slider's line within which it is pressed
BLUE, AMBER = colors.PALETTE[:2]


class Control(Protocol):
    """Part of a window that the mouse can press."""

    def contains(self, x: float, y: float) -> bool:
        """Return whether a pixel belongs to it."""
        ...

    def press(self, x: float, y: float) -> None:
        """Handle a press at a pixel."""
        ...

    def drag(self, x: float, y: float) -> None:
        """Handle a motion of the mouse after a press."""
        ...

    def release(self) -> None:
        """Handle the end of a press."""
        ...


class PlayButton:
    """Round button with a triangle, or with two bars while it plays."""

    def __init__(self, plotter: Plotter, on_press: Callable[[], object]) -> None:
        self._on_press = on_press
        self._disc = Outline(plotter, circle(), color=BLUE)
        self._play = Outline(plotter, TRIANGLE, color="#ffffff")
        self._pause = [Outline(plotter, bar, color="#ffffff") for bar in BARS]
        self._at, self._radius = (0.0, 0.0), 1.0
        self.set_playing(playing=False)

    def place(self, x: float, y: float, radius: float) -> None:
        """Centre it at a pixel."""
        self._at, self._radius = (x, y), radius
        self._disc.place(x, y, radius)
        for part in (self._play, *self._pause):
            part.place(x, y, 0.8 * radius)

    def set_playing(self, *, playing: bool) -> None:
        """Show the bars or the triangle."""
        self._play.show(visible=not playing)
        for bar in self._pause:
            bar.show(visible=playing)

    def contains(self, x: float, y: float) -> bool:
        return bool(np.hypot(x - self._at[0], y - self._at[1]) <= self._radius)

    def press(self, _x: float, _y: float) -> None:
        self._on_press()

    def drag(self, x: float, y: float) -> None:
        """Ignore motions."""

    def release(self) -> None:
        """Ignore the release."""


class Slider:
    """Line with a knob; a press anywhere on it moves the knob there, and a drag takes it along."""

    def __init__(
        self,
        plotter: Plotter,
        ends: tuple[float, float],
        value: float,
        on_change: Callable[[float], object],
    ) -> None:
        self.ends, self.value = ends, value
        self._on_change = on_change
        self._line = Outline(plotter, SQUARE, opacity=0.35)
        self._past = Outline(plotter, SQUARE, color=BLUE)
        self._knob = Outline(plotter, circle(), color=BLUE)
        self._begin, self._end, self._y, self.radius = 0.0, 1.0, 0.0, 7.0
        self._visible = True

    def place(self, begin: float, end: float, y: float, radius: float = 7.0) -> None:
        """Put it between two pixels of a row."""
        self._begin, self._end = begin, max(end, begin + 1.0)
        self._y, self.radius = y, radius
        self._line.place(self._begin, y - 1.5, self._end - self._begin, 3)
        self.set(self.value)

    def set(self, value: float) -> None:
        """Show a value."""
        self.value = float(np.clip(value, *self.ends))
        low, high = self.ends
        share = (self.value - low) / (high - low) if high > low else 0.0
        at = self._begin + share * (self._end - self._begin)
        self._past.place(self._begin, self._y - 1.5, at - self._begin, 3)
        self._knob.place(at, self._y, self.radius)

    def show(self, *, visible: bool) -> None:
        """Show or hide the slider; a hidden slider cannot be pressed."""
        self._visible = visible
        for part in (self._line, self._past, self._knob):
            part.show(visible=visible)

    def contains(self, x: float, y: float) -> bool:
        inside = self._begin - REACH <= x <= self._end + REACH
        return self._visible and inside and abs(y - self._y) <= REACH

    def press(self, x: float, y: float) -> None:
        self._knob.paint(AMBER)
        self.drag(x, y)

    def drag(self, x: float, _y: float) -> None:
        share = float(np.clip((x - self._begin) / (self._end - self._begin), 0, 1))
        self.set(self.ends[0] + share * (self.ends[1] - self.ends[0]))
        self._on_change(self.value)

    def release(self) -> None:
        self._knob.paint(BLUE)


class Switch:
    """Word that a press turns on or off."""

    def __init__(
        self, plotter: Plotter, word: str, on_press: Callable[[], bool], *, state: bool = False
    ) -> None:
        self._on_press = on_press
        self._back = Outline(plotter, SQUARE, color="#ffffff", opacity=0.7)
        self._text = Text(plotter, word, align="center")
        self._box = (0.0, 0.0, 1.0, 1.0)
        self._paint(state=state)

    def place(self, x: float, y: float, width: float, height: float, size: float) -> None:
        """Put it into a rectangle."""
        self._box = (x, y, width, height)
        self._back.place(x, y, width, height)
        self._text.place(x + width / 2, y + 0.5 * (height - 0.72 * size), size)

    def contains(self, x: float, y: float) -> bool:
        left, bottom, width, height = self._box
        return left <= x <= left + width and bottom <= y <= bottom + height

    def press(self, _x: float, _y: float) -> None:
        self._paint(state=self._on_press())

    def drag(self, x: float, y: float) -> None:
        """Ignore motions."""

    def release(self) -> None:
        """Ignore the release."""

    def _paint(self, *, state: bool) -> None:
        self._back.paint(AMBER if state else "#ffffff")
