"""Figure of a sweep: fans of recorded signals, histograms, scatter plots and sensitivities of its results.

With a nominal run, such as one without tolerances, signals and quantities are drawn as deviations from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.render import colors
from pysim.render.plots.figure_file import put_figure
from pysim.render.plots.recorded_quantities import Quantity, quantities_of
from pysim.sweeps.results import load_results
from pysim.sweeps.sensitivity import first_order_indices
from pysim.sweeps.signal_statistics import STATISTICS, split_quantity, statistics
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pysim.sweeps.results import SweepResults
    from pysim.trajectory import Trajectory

FANS = ((5, 95), (25, 75))  # percentiles
MOST_PARAMETERS = 10  # in scatter plots, those with the largest index
COLUMNS = 5  # of scatter plots
MOST_POINTS = 3000  # of a scatter plot
_TIME_TOLERANCE = 1e-9  # [s], of outputs
_ENERGIES = {"kinetic": "energy.kinetic", "potential": "energy.potential", "energy": "energy.total"}


def plot_sweep(
    sweep: str | PathLike[str],
    path: str | PathLike[str] | None = None,
    quantities: Sequence[str] = (),
    nominal: Trajectory | None = None,
) -> None:
    """Draw the results of a sweep into `path`, or show them in a window (None).

    Args:
        sweep: dataset of the sweep, finished or not.
        path: picture to write (.png, .pdf, .svg).
        quantities: results to compare with the parameters, a signal (its value at the end) or SIGNAL.STATISTIC; by
            default the recorded signals.
        nominal: run of the scene with the same outputs, from which deviations are drawn, with their units.

    Raises:
        SimulationError: the file is not a sweep's, or has no such signal, or the run has other outputs.
    """
    results = load_results(sweep)
    base = None if nominal is None else NominalRun(nominal, results)
    names = list(quantities) or results.default_quantities()
    for name in names:
        results.quantity(name)
    put_figure(path, lambda figure: draw(results, names, figure, base), dpi=110)


class NominalRun:
    """Signals of a nominal run by the names of a sweep."""

    def __init__(self, run: Trajectory, results: SweepResults) -> None:
        if len(run) != len(results.t) or not np.allclose(
            run.t, results.t, rtol=0, atol=_TIME_TOLERANCE
        ):
            problem = f"has {len(run)} outputs, and the worlds of the sweep {len(results.t)}"
            raise SimulationError(
                run.source, f"{problem}; run the scene with the same output.every"
            )
        self._run, self._known, self._signals = run, quantities_of(run), results.signals

    def _quantity(self, signal: str) -> Quantity:
        name = _ENERGIES.get(signal, signal)
        found = self._known.get(name) or self._known.get(f"signals.{name}")
        if found is None:
            problem = f"does not record {signal!r}"
            raise SimulationError(self._run.source, f"{problem}; run the scene of the sweep")
        return found

    def unit(self, quantity: str) -> str:
        return self._quantity(split_quantity(quantity, self._signals, "the sweep")[0]).unit

    def values(self, signal: str) -> Array:
        """Return a signal at the outputs (times,)."""
        return self._quantity(signal).values()

    def quantity(self, name: str) -> float:
        """Return a statistic of a signal."""
        signal, statistic = split_quantity(name, self._signals, "the sweep")
        found = statistics(self.values(signal)[None])
        return float(found[0, STATISTICS.index(statistic)])


def draw(
    results: SweepResults, names: Sequence[str], figure: Figure, base: NominalRun | None = None
) -> None:
    """Fill a figure: a fan for each recorded signal; for each quantity a histogram, indices and scatter plots."""
    indices = {
        name: first_order_indices(results.parameters, results.quantity(name)) for name in names
    }
    shown = _most_important(indices, list(results.parameters))
    scatter_rows = -(-len(shown) // COLUMNS)
    heights = [2.6] * len(results.records) + [2.6, 2.0 * scatter_rows] * len(names)
    figure.set_size_inches(11.0, sum(heights) + 0.4)
    found = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)
    rows = iter(found[:, 0])
    for record in range(len(results.records)):
        _fan(next(rows).subplots(), results, record, base)
    for name in names:
        y, label = results.quantity(name), name
        if base is not None:
            y, label = y - base.quantity(name), _deviation(name, base)
        left, right = next(rows).subplots(1, 2)
        _histogram(left, label, y)
        _indices(right, indices[name])
        columns = min(len(shown), COLUMNS)
        axes = next(rows).subplots(scatter_rows, columns, sharey=True, squeeze=False)
        for axis, parameter in zip(axes.flat, shown, strict=False):
            _scatter(axis, results.parameters[parameter], y)
            axis.set_xlabel(parameter, fontsize=8, color=colors.TEXT)
        for axis in axes.flat[len(shown) :]:
            axis.set_axis_off()
        for axis in axes[:, 0]:
            axis.set_ylabel(label, fontsize=8, color=colors.TEXT)
    counts = f"{len(results.summary)} of {results.worlds} worlds"
    failed = f", {results.failures} ended early" if results.failures else ""
    figure.suptitle(f"{results.path.name}: {counts}{failed}", color=colors.TEXT, x=0.01, ha="left")


def _most_important(indices: dict[str, dict[str, float]], parameters: list[str]) -> list[str]:
    """Return the parameters with the largest index for some quantity, in their order."""
    if len(parameters) <= MOST_PARAMETERS:
        return parameters
    largest = {
        name: max(np.nan_to_num(own[name], nan=0.0) for own in indices.values())
        for name in parameters
    }
    chosen = sorted(parameters, key=lambda name: -largest[name])[:MOST_PARAMETERS]
    return [name for name in parameters if name in chosen]


def _deviation(name: str, base: NominalRun) -> str:
    """Return the label of a deviation, with its unit."""
    unit = base.unit(name)
    return f"Δ {name} [{unit}]" if unit else f"Δ {name}"


def _fan(axis: Axes, results: SweepResults, record: int, base: NominalRun | None) -> None:
    series, label = results.series[:, record], results.records[record]
    if base is not None:
        series, label = series - base.values(label), _deviation(label, base)
    for k, (low, high) in enumerate(FANS):
        lower, upper = np.nanpercentile(series, (low, high), axis=0)
        share = f"{low} to {high} %"
        alpha = 0.2 + 0.2 * k
        axis.fill_between(
            results.t, lower, upper, color=colors.PALETTE[0], alpha=alpha, lw=0, label=share
        )
    axis.plot(results.t, np.nanmedian(series, axis=0), color=colors.PALETTE[0], label="median")
    axis.set_ylabel(label, color=colors.TEXT)
    axis.set_xlabel("time [s]", color=colors.TEXT)
    axis.margins(x=0)
    axis.legend(loc="upper right", frameon=False, fontsize=8)
    _plain(axis)


def _histogram(axis: Axes, name: str, y: Array) -> None:
    axis.hist(y, bins=min(60, max(5, int(np.sqrt(len(y))))), color=colors.PALETTE[0], alpha=0.8)
    for level in np.percentile(y, (5, 50, 95)):
        axis.axvline(level, color=colors.TEXT, linewidth=0.8, linestyle="--")
    axis.set_xlabel(f"{name}  (5, 50 and 95 %)", color=colors.TEXT)
    axis.set_ylabel("worlds", color=colors.TEXT)
    _plain(axis)


def _indices(axis: Axes, indices: dict[str, float]) -> None:
    names = sorted(indices, key=lambda name: np.nan_to_num(indices[name], nan=-1.0))
    axis.barh(names, [max(0.0, np.nan_to_num(indices[n])) for n in names], color=colors.PALETTE[1])
    axis.set_xlabel("first-order Sobol index", color=colors.TEXT)
    axis.set_xlim(0, 1)
    axis.tick_params(axis="y", labelsize=8)
    _plain(axis)


def _scatter(axis: Axes, x: Array, y: Array) -> None:
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    size = min(16.0, max(3.0, 4000 / len(some)))
    axis.scatter(
        x[some], y[some], s=size, alpha=0.5, lw=0, color=colors.PALETTE[0], rasterized=True
    )
    axis.tick_params(labelsize=7)
    axis.locator_params(nbins=4)
    _plain(axis)


def _plain(axis: Axes) -> None:
    axis.set_axisbelow(True)
    axis.grid(visible=True, color="#e3e8ee", linewidth=0.8)
    axis.tick_params(colors=colors.TEXT, length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
