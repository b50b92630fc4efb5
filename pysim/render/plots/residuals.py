"""Plots of an identification: measured and predicted torques, and their residuals, for each coordinate.

On the left, the torque over time, measured and predicted by the identified model; on the right, the distribution of the
residual over its estimated deviation, beside the normal distribution. Structure on the left was not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.identify import predicted_torque
from pysim.render.plots.figure_file import put_figure
from pysim.typing import Array

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pysim.identify import Identification, Samples

_MOST_POINTS = 4000  # of one line
_EDGE = 4.0  # standard deviations that are shown


def plot_residuals(
    identification: Identification, samples: Samples, path: str | PathLike[str]
) -> None:
    """Plot measured and predicted torques [N or N·m] and their residuals into a file.

    Raises:
        PysimError: the file's suffix is not a picture format.
    """
    put_figure(path, lambda figure: draw_residuals(identification, samples, figure))


def draw_residuals(found: Identification, samples: Samples, figure: Figure) -> None:
    """Fill a figure, with one row for each coordinate."""
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
