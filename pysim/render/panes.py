"""Panes of a picture: further views of the same actors, and a strip of plots."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

from pysim.errors import TrajectoryError, did_you_mean
from pysim.render import colors
from pysim.render.camera import framing_camera
from pysim.render.captions import letters
from pysim.render.overlay import Text
from pysim.render.windows.orbit import PRESETS, Orbit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter

    Array = NDArray[Any]
    Rectangle = tuple[float, float, float, float]

STRIP = 0.4  # share of the width that plots take


class Canvas:
    """Renderer in the form in which overlays are given a plotter."""

    def __init__(self, plotter: Plotter, rectangle: Rectangle) -> None:
        from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLRenderer  # noqa: PLC0415, heavy

        self.renderer: Any = vtkOpenGLRenderer()
        self.renderer.SetViewport(*rectangle)
        self.renderer.SetUseOIT(False)
        plotter.render_window.AddRenderer(self.renderer)


def rectangles(options: RenderOptions) -> list[Rectangle]:
    """Return the views of a picture, each left, bottom, right and top in 0…1; the first is the main one."""
    count = 1 + len(options.views)
    rows = ceil(count / ceil(sqrt(count)))
    width = 1.0 - STRIP if options.plots else 1.0
    found: list[Rectangle] = []
    # the rows above have fewer views than those below where they differ, and fill the width
    for row in range(rows):
        columns = count // rows + (row >= rows - count % rows)
        bottom, top = 1 - (row + 1) / rows, 1 - row / rows
        ends = [width * k / columns for k in range(columns + 1)]
        found += [(left, bottom, right, top) for left, right in pairwise(ends)]
    return found


def pane_size(rectangle: Rectangle, width: float, height: float) -> tuple[int, int]:
    """Return the size [pixel] of a rectangle in a picture."""
    left, bottom, right, top = rectangle
    return round((right - left) * width), round((top - bottom) * height)


class SideViews:
    """Views from fixed directions, beside the main one."""

    def __init__(
        self, plotter: Plotter, points: Array, stage: Array, options: RenderOptions
    ) -> None:
        self._main = plotter.renderer
        self._views = []
        width, height = plotter.window_size
        for name, rectangle in zip(options.views, rectangles(options)[1:], strict=True):
            if name not in PRESETS:
                problem = f"unknown view{did_you_mean(name, list(PRESETS))}"
                raise TrajectoryError(f"render: views: {name!r}", problem)
            canvas = Canvas(plotter, rectangle)
            size = pane_size(rectangle, width, height)
            azimuth, elevation = PRESETS[name]
            chosen = replace(
                options,
                size=size,
                supersample=1,
                azimuth=azimuth,
                elevation=min(elevation, 89.0),
                focus=None,
            )
            orbit = Orbit(framing_camera(points, stage, chosen), stage)
            renderer = canvas.renderer
            renderer.SetBackground(self._main.GetBackground())
            renderer.SetBackground2(self._main.GetBackground2())
            renderer.SetGradientBackground(self._main.GetGradientBackground())
            renderer.SetBackgroundAlpha(self._main.GetBackgroundAlpha())
            for light in self._main.GetLights():
                renderer.AddLight(light)
            if options.label:
                high = letters(*size, (width, height))
                Text(canvas, name).place(0.9 * high, size[1] - 1.9 * high, high)
            self._views.append((renderer, orbit))

    def share(self) -> None:
        """Show the actors of the main view in the others."""
        for prop in self._main.GetViewProps():
            if prop.IsA("vtkProp3D"):
                for renderer, _ in self._views:
                    renderer.AddViewProp(prop)

    def aim(self, shift: Array) -> None:
        """Place the cameras, moved by `shift` (3,) [m]."""
        for renderer, orbit in self._views:
            camera = renderer.GetActiveCamera()
            focus = orbit.focus + shift
            camera.SetFocalPoint(*focus)
            camera.SetPosition(*(focus + orbit.distance * orbit.towards))
            camera.SetViewUp(*orbit.stage[:, 2])
            camera.SetViewAngle(self._main.GetActiveCamera().GetViewAngle())
            renderer.ResetCameraClippingRange()


def make_transparent(plotter: Plotter) -> None:
    """Leave out the background, so that a picture has it transparent."""
    plotter.render_window.SetAlphaBitPlanes(1)
    plotter.set_background("#000000")
    plotter.renderer.SetGradientBackground(False)
    plotter.renderer.SetBackgroundAlpha(0.0)


PAPER = colors.rgb("#ffffff")
