"""Plots beside the scene, with a line at the present time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors
from pysim.render.overlay import SQUARE, Outline
from pysim.render.panes import PAPER, STRIP, Canvas
from pysim.render.plots.plot import draw, panels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

HEIGHT = 720.0  # [pixel] of a picture whose plots have 100 dots an inch


class PlotStrip:
    """Curves of runs at the right of a picture; drawn once for each size."""

    def __init__(
        self, plotter: Plotter, runs: Sequence[Trajectory], patterns: Sequence[str]
    ) -> None:
        from vtkmodules.vtkRenderingCore import (  # noqa: PLC0415, heavy
            vtkActor2D,
            vtkImageMapper,
        )

        self._runs = runs
        self._panels, self._title = panels_of(runs, patterns)
        canvas = Canvas(plotter, (1.0 - STRIP, 0.0, 1.0, 1.0))
        canvas.renderer.SetBackground(PAPER)
        self._mapper: Any = vtkImageMapper()
        self._mapper.SetColorWindow(255.0)
        self._mapper.SetColorLevel(127.5)
        actor = vtkActor2D()
        actor.SetMapper(self._mapper)
        canvas.renderer.AddViewProp(actor)
        self._lines = [Outline(canvas, SQUARE, color=colors.AXES[0]) for _ in self._panels]
        self._boxes: list[tuple[float, float, float, float]] = []  # [pixel]
        self._ends = (0.0, 1.0)  # [s]
        self._left, self._time, self._width = 0.0, float(runs[0].t[0]), 1.0
        self.place(*plotter.window_size)

    def place(self, width: int, height: int) -> None:
        """Draw the curves for a picture of this size [pixel]."""
        import pyvista as pv
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self._left = round((1.0 - STRIP) * width)
        size, dots = (max(width - self._left, 64), max(height, 64)), 100.0 * height / HEIGHT
        figure = Figure(layout="constrained", dpi=dots)
        canvas: Any = FigureCanvasAgg(figure)
        draw(self._runs, self._panels, self._title, figure)
        figure.set_size_inches(size[0] / dots, size[1] / dots)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3]
        image = pv.ImageData(dimensions=(pixels.shape[1], pixels.shape[0], 1))
        image.point_data["rgb"] = np.ascontiguousarray(pixels).reshape(-1, 3)
        image.point_data.active_scalars_name = "rgb"
        self._mapper.SetInputData(image)
        axes: list[Axes] = figure.axes
        extents = [axis.get_window_extent() for axis in axes]
        self._boxes = [(box.x0, box.y0, box.x1, box.y1) for box in extents]
        low, high = axes[0].get_xlim()
        self._ends, self._width = (float(low), float(high)), max(1.0, 1.5 * height / HEIGHT)
        self.show(self._time)

    def show(self, time: float) -> None:
        """Move the line to `time` [s]."""
        self._time = time
        low, high = self._ends
        share = float(np.clip((time - low) / max(high - low, 1e-300), 0, 1))
        for line, (left, bottom, right, top) in zip(self._lines, self._boxes, strict=True):
            line.place(left + share * (right - left), bottom, self._width, top - bottom)

    def contains(self, x: float, y: float) -> bool:
        """Return whether a pixel of the picture lies in a plot."""
        return any(
            left <= x - self._left <= right and bottom <= y <= top
            for left, bottom, right, top in self._boxes
        )

    def time_at(self, x: float) -> float:
        """Return the time [s] at a column of the picture."""
        left, _, right, _ = self._boxes[0]
        share = np.clip((x - self._left - left) / (right - left), 0, 1)
        return float(self._ends[0] + share * (self._ends[1] - self._ends[0]))
