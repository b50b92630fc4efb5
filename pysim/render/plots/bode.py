"""Bode plot: magnitude and phase of a frequency response, a curve for each output and a column for each input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.render.plots.figure_file import put_figure

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

    from pysim.analysis.frequency_response import FrequencyResponse


def bode(response: FrequencyResponse, path: str | PathLike[str] | None = None) -> None:
    """Draw magnitudes and phases over the frequency into `path`, or show them in a window (None).

    Args:
        response: what `LinearSystem.frequency_response` returns.
        path: picture to write, .png, .pdf, .svg, .jpg or .webp.

    Raises:
        PysimError: the file cannot be written, or there is no display.
    """
    put_figure(path, lambda figure: draw(response, figure), function="bode")


def draw(response: FrequencyResponse, figure: Figure) -> None:
    """Fill a figure with magnitudes above phases."""
    columns = len(response.inputs)
    figure.set_size_inches(1.5 + 5.5 * columns, 6.0)
    axes = figure.subplots(2, columns, sharex=True, squeeze=False)
    for at, name in enumerate(response.inputs):
        size, angle = axes[:, at]
        for row, output in enumerate(response.outputs):
            size.loglog(response.omega, response.magnitude[:, row, at], label=output)
            angle.semilogx(response.omega, np.degrees(response.phase[:, row, at]))
        size.set_title(f"from {name}")
        size.legend()
        angle.set_xlabel("frequency [rad/s]")
        for panel in (size, angle):
            panel.grid(visible=True, which="both", alpha=0.3)
    axes[0, 0].set_ylabel("magnitude, output over input")
    axes[1, 0].set_ylabel("phase [°]")
