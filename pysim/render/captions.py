"""Captions of a picture: the scene's name above, the time and the grid's spacing below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.render.overlay import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.render.pyvista_types import Plotter

LETTERS = 0.0310  # size of the letters in heights of the picture
LEGIBLE = 0.6  # of the size of letters in a picture with one view
EDGE = 0.028  # distance from the edges, likewise


def letters(width: float, height: float, picture: Sequence[float] = (0.0, 0.0)) -> float:
    """Return the size [pixel] of letters in a view of a picture; those of small views remain legible."""
    lengths = (min(high, 0.75 * wide) for wide, high in ((width, height), picture))
    own, whole = lengths
    return LETTERS * max(own, LEGIBLE * whole)


class Captions:
    """Texts that keep their corners when the picture changes its size."""

    def __init__(
        self,
        plotter: Plotter,
        name: str,
        spacing: float | None,
        legend: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._name = Text(plotter, name)
        self._legend = [Text(plotter, label, color=color) for label, color in legend]
        self.note = Text(plotter)  # below the name
        self._scale = Text(plotter, "" if spacing is None else f"grid {spacing:g} m", align="right")
        self._scale.opacity(0.7)
        self._clock = Text(plotter)
        self.place(*plotter.window_size)

    def write(self, clock: str) -> None:
        """Show the time."""
        self._clock.write(clock)

    def place(
        self, width: float, height: float, below: float = 0.0, picture: Sequence[float] = (0.0, 0.0)
    ) -> None:
        """Put the texts into the corners of a view, the lower ones `below` pixels higher; `picture` has its size."""
        size = letters(width, height, picture)
        edge = EDGE / LETTERS * size
        self._name.place(edge, height - edge - size, size)
        for k, label in enumerate([*self._legend, self.note]):
            label.place(edge, height - edge - (2.5 + 1.2 * k) * size, 0.8 * size)
        self._scale.place(width - edge, below + edge, size)
        self._clock.place(edge, below + edge, size)
