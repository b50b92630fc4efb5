"""Flat items over a picture, placed in pixels from its lower left corner: texts and filled outlines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.render.pyvista_types import Plotter


def plain(text: str) -> str:
    """Return a text that VTK and matplotlib draw unchanged: their formulas begin with a dollar sign."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "�" for letter in text
    ).replace("$", "\\$")


class Text:
    """One line of text; `align` is its part that lies at its place: left, center or right."""

    def __init__(
        self, plotter: Plotter, text: str = "", *, color: str = colors.TEXT, align: str = "left"
    ) -> None:
        from vtkmodules.vtkRenderingCore import vtkTextActor  # noqa: PLC0415, heavy

        self.actor: Any = vtkTextActor()
        self.actor.SetTextScaleModeToNone()
        look = self.actor.GetTextProperty()
        look.SetFontFamilyToArial()
        look.SetColor(colors.rgb(color))
        look.SetJustification(("left", "center", "right").index(align))
        plotter.renderer.AddViewProp(self.actor)
        self.write(text)

    def write(self, text: str) -> None:
        """Change the text."""
        self.actor.SetInput(plain(text))

    def place(self, x: float, y: float, size: float) -> None:
        """Move the baseline to a pixel and set the size of the letters [pixel]."""
        self.actor.SetPosition(x, y)
        self.actor.GetTextProperty().SetFontSize(max(6, round(size)))

    def show(self, *, visible: bool) -> None:
        """Hide the text or show it."""
        self.actor.SetVisibility(visible)

    def opacity(self, value: float) -> None:
        """Fade the text."""
        self.actor.GetTextProperty().SetOpacity(value)


class Outline:
    """Filled polygon; its corners are given in a unit of its own and scaled where it is placed."""

    def __init__(
        self, plotter: Plotter, corners: ArrayLike, *, color: str = colors.TEXT, opacity: float = 1
    ) -> None:
        import pyvista as pv
        from vtkmodules.vtkRenderingCore import (  # noqa: PLC0415, heavy
            vtkActor2D,
            vtkPolyDataMapper2D,
        )

        self._corners = np.asarray(corners, float)
        count = len(self._corners)
        points = np.column_stack([self._corners, np.zeros(count)])
        self._polygon: Any = pv.PolyData(points, faces=np.r_[count, np.arange(count)])
        mapper = vtkPolyDataMapper2D()
        mapper.SetInputData(self._polygon)
        self.actor: Any = vtkActor2D()
        self.actor.SetMapper(mapper)
        self.actor.GetProperty().SetOpacity(opacity)
        self.paint(color)
        plotter.renderer.AddViewProp(self.actor)

    def paint(self, color: str) -> None:
        """Change the colour."""
        self.actor.GetProperty().SetColor(colors.rgb(color))

    def place(self, x: float, y: float, width: float, height: float | None = None) -> None:
        """Move the unit's origin to a pixel; one unit is `width` by `height` pixels."""
        scale = np.array([width, width if height is None else height])
        self._polygon.points[:, :2] = np.array([x, y]) + self._corners * scale
        self._polygon.Modified()

    def show(self, *, visible: bool) -> None:
        """Hide the polygon or show it."""
        self.actor.SetVisibility(visible)


def circle(corners: int = 40) -> Any:  # noqa: ANN401, corners of an outline
    """Return the corners (n, 2) of a circle with radius 1."""
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)])


SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
TRIANGLE = ((-0.32, -0.5), (0.58, 0.0), (-0.32, 0.5))
BARS = (
    ((-0.38, -0.45), (-0.12, -0.45), (-0.12, 0.45), (-0.38, 0.45)),
    ((0.12, -0.45), (0.38, -0.45), (0.38, 0.45), (0.12, 0.45)),
)
