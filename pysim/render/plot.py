"""Plots of positions, velocities, constraint forces and energy over time, with units."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError, TrajectoryError
from pysim.render import colors
from pysim.render.output import replacing
from pysim.render.window import has_display

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from pysim.trajectory import Trajectory

    Array = NDArray[np.float64]

PLOTS = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp")
NAMED = 16  # number of lines that a legend can distinguish; more are drawn thin in one colour
MOST_POINTS = (
    4000  # points of one line; longer ones are subsampled to the extremes of each interval
)


def plot(trajectory: Trajectory, path: str | PathLike[str] | None = None) -> None:
    """Draw q, v, forces of loops and couplings, and energy over time into `path`, or show them in a window (None)."""
    if len(trajectory) == 0:
        problem = "has no rows to plot; the run stopped before its first"
        raise TrajectoryError(trajectory.source, problem)
    with replacing(path, PLOTS) as draft:
        if draft is None:
            _show(trajectory)
            return
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained", dpi=144)
        FigureCanvasAgg(figure)
        draw(trajectory, figure)
        figure.savefig(draft, facecolor="white")


def _show(trajectory: Trajectory) -> None:
    if not has_display():
        problem = "there is no display to show it on; give a file, such as -o plot.png"
        raise PysimError("plot", problem)
    from matplotlib import pyplot as plt

    draw(trajectory, plt.figure(layout="constrained"))
    plt.show()


def draw(trajectory: Trajectory, figure: Figure) -> None:
    """Fill a figure: one panel for each unit among q and v, those of the constraints, and one for energy."""
    names, units = trajectory.names, trajectory.units
    panels = [
        *_by_unit("position", trajectory.q, names["coordinates"], units["q"]),
        *_by_unit("velocity", trajectory.v, names["velocities"], units["v"]),
        *_of_constraints(trajectory),
    ]
    figure.set_size_inches(9.0, 2.3 * (len(panels) + 1))
    axes = np.atleast_1d(figure.subplots(len(panels) + 1, 1, sharex=True))
    for axis, (title, columns, labels) in zip(axes, panels, strict=False):
        _panel(axis, trajectory.t, columns, labels, title)
    kinds = [trajectory.kinetic, trajectory.potential, trajectory.elastic, trajectory.energy]
    labels = ["kinetic", "potential", "elastic", "total"]
    drawn = [k for k, kind in enumerate(kinds) if labels[k] != "elastic" or kind.any()]
    energies = np.stack([kinds[k] for k in drawn], axis=1)
    _panel(axes[-1], trajectory.t, energies, [labels[k] for k in drawn], "energy [J]")
    axes[-1].lines[-1].set(color=colors.TEXT, linewidth=2.0)
    _legend(axes[-1], energies.shape[1])
    axes[-1].set_xlabel("time [s]")
    title = trajectory.header.name or trajectory.source
    mark = "" if trajectory.complete else "  (incomplete)"
    axes[0].set_title(title + mark, loc="left", color=colors.TEXT, fontweight="bold")


def _by_unit(
    what: str, values: Array, names: Sequence[str], units: Sequence[str]
) -> list[tuple[str, Array, list[str]]]:
    """Title, columns and names of the lines that share a unit and so can share a panel."""
    panels = []
    for unit in dict.fromkeys(units):
        chosen = [k for k, other in enumerate(units) if other == unit]
        bracket = f" [{unit}]" if unit not in {"", "1"} else ", quaternion"
        panels.append((what + bracket, values[:, chosen], [names[k] for k in chosen]))
    return panels


def _of_constraints(trajectory: Trajectory) -> list[tuple[str, Array, list[str]]]:
    """Return the magnitude of every loop's force and moment, and of every coupling's force."""
    names, panels = trajectory.names, []
    if names["loops"]:
        loops = list(names["loops"])
        loads = trajectory.loop_loads
        for title, load in (("loop's force [N]", loads[..., 0]), ("moment [N·m]", loads[..., 1])):
            if load.any():
                panels.append((title, load, loops))
    if names["couplings"]:
        panels.append(("coupling [N, N·m]", trajectory.coupling_forces, list(names["couplings"])))
    return panels


def _panel(axis: Axes, t: Array, columns: Array, labels: Sequence[str], title: str) -> None:
    many = len(labels) > NAMED
    axis.set_prop_cycle(color=colors.PALETTE)
    for column, label in zip(columns.T, labels, strict=True):
        x, y = subsampled(t, column)
        dashes = "--" if len(axis.lines) >= len(colors.PALETTE) and not many else "-"
        width, alpha = (0.8, 0.6) if many else (1.4, 1.0)
        axis.plot(x, y, dashes, linewidth=width, alpha=alpha, label=label)
    axis.set_ylabel(title, color=colors.TEXT)
    axis.grid(visible=True, color="#e3e8ee", linewidth=0.8)
    axis.tick_params(colors=colors.TEXT, length=0)
    axis.margins(x=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.ticklabel_format(axis="y", useOffset=False)
    if many:
        note = f"{len(labels)} lines, {labels[0]} … {labels[-1]}"
        axis.text(1.01, 1.0, note, transform=axis.transAxes, va="top", fontsize=8, wrap=True)
    else:
        _legend(axis, len(labels))


def _legend(axis: Axes, lines: int) -> None:
    size = 8 if lines <= 8 else 6.5
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), frameon=False, fontsize=size)


def subsampled(t: Array, values: Array) -> tuple[Array, Array]:
    """Return at most `MOST_POINTS` points of a line, including the extremes of each interval."""
    if len(t) <= MOST_POINTS:
        return t, values
    edges = np.linspace(0, len(t), MOST_POINTS // 2 + 1).astype(int)
    stretches = [slice(first, last) for first, last in pairwise(edges)]
    ends = [[0, len(t) - 1]]
    low = [part.start + int(np.argmin(values[part])) for part in stretches]
    high = [part.start + int(np.argmax(values[part])) for part in stretches]
    kept = np.unique(np.concatenate([*ends, low, high]))
    return t[kept], values[kept]
