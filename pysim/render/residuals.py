"""Measured and explained torques of an identification, coordinate by coordinate, and what is left of them.

Left the torque over time, measured and as the identified model needs it; right the distribution of their difference
over its estimated noise, beside the normal one. What stands out on the left was not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.identify import predicted_torque
from pysim.render.output import replacing
from pysim.render.plot import PLOTS

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from pysim.identify import Identification, Samples

    Array = NDArray[np.float64]

_MOST_POINTS = 4000  # of one line
_EDGE = 4.0  # standard deviations that are shown


def plot_residuals(found: Identification, samples: Samples, path: str | PathLike[str]) -> None:
    """Draw measured and explained torques [N or N·m] and their differences into a file.

    Raises:
        PysimError: the file's ending names no kind of picture.
    """
    with replacing(path, PLOTS) as draft:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained", dpi=144)
        FigureCanvasAgg(figure)
        draw_residuals(found, samples, figure)
        figure.savefig(str(draft), facecolor="white")


def draw_residuals(found: Identification, samples: Samples, figure: Figure) -> None:
    """Fill a figure: a row a coordinate."""
    model = found.model
    explained = predicted_torque(model, samples)
    if "offset" in found.unknowns.resistances:
        explained = explained + found.resistance("offset")
    figure.set_size_inches(10.0, 1.8 * model.nv)
    axes = figure.subplots(model.nv, 2, width_ratios=(4, 1), squeeze=False)
    for j, (over_time, spread) in enumerate(axes):
        _over_time(over_time, samples.t, samples.tau[:, j], explained[:, j])
        over_time.set_title(model.velocity_names[j], loc="left", fontsize="medium")
        _spread(spread, samples.tau[:, j] - explained[:, j])
    axes[-1, 0].set_xlabel("time [s]")
    axes[-1, 1].set_xlabel("residual / its deviation")
    axes[0, 0].legend(loc="upper right", fontsize="small")


def _over_time(axis: Axes, t: Array, measured: Array, explained: Array) -> None:
    thin = slice(None, None, max(1, len(t) // _MOST_POINTS))
    axis.plot(t[thin], measured[thin], color="0.6", linewidth=0.8, label="measured")
    axis.plot(t[thin], explained[thin], color="C0", linewidth=1.0, label="explained")
    axis.plot(t[thin], (measured - explained)[thin], color="C3", linewidth=0.6, label="residual")
    axis.set_ylabel("[N or N·m]")


def _spread(axis: Axes, residual: Array) -> None:
    deviation = residual.std() or 1.0
    bins = np.linspace(-_EDGE, _EDGE, 41)
    axis.hist(residual / deviation, bins=bins.tolist(), density=True, color="0.8")
    axis.plot(bins, np.exp(-0.5 * bins**2) / np.sqrt(2 * np.pi), color="C3", linewidth=1.0)
    axis.set_yticks([])
