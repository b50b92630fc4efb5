"""Plots of recorded quantities: over time, against another quantity, as spectra; of one run or of several."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError, TrajectoryError
from pysim.render import colors
from pysim.render.drawable import motion_of
from pysim.render.plots.figure_file import put_figure
from pysim.render.plots.recorded_quantities import Quantity, default_patterns, select
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pysim.trajectory import Trajectory

# number of lines that a legend can distinguish; more are drawn thin in one colour
MOST_LABELLED_LINES = 16
# points of one line; longer ones are subsampled to the extremes of each interval
MOST_POINTS = 4000
MOST_OF_PHASES = 50_000  # points over another quantity; of more rows some are drawn as dots
CHUNK = 5000  # points drawn together, which bounds the memory for lines that cross themselves
MOST_RUNS = 8
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 2)), (0, (3, 3)))
FEWEST_ROWS = 8  # rows of a spectrum
FREQUENCY = "frequency [Hz]"
DECADES = 6  # of amplitudes that a spectrum shows


@dataclass(frozen=True)
class Line:
    """One line of a panel."""

    label: str
    x: Array
    y: Array
    run: int
    color: str | None = None
    width: float = 1.4
    dotted: bool = False  # dots, which no line joins


@dataclass
class Panel:
    """Lines that share a unit."""

    title: str
    lines: list[Line]


def plot(
    trajectory: Trajectory | Sequence[Trajectory],
    path: str | PathLike[str] | None = None,
    names: Sequence[str] = (),
    *,
    against: str | None = None,
    spectrum: bool = False,
) -> None:
    """Plot recorded quantities into `path`, or show them in a window (None).

    Args:
        trajectory: a run, or several to compare.
        path: picture to write, .png, .pdf, .svg, .jpg or .webp.
        names: quantities, patterns such as "contacts.*.force", or parts such as "energy"; by default q, v, forces and
            energy. `pysim.render.plots.recorded_quantities` lists them.
        against: quantity on the horizontal axis instead of the time, for phase plots.
        spectrum: plot amplitudes over the frequency [Hz] instead of values over the time.

    Raises:
        TrajectoryError: a name that matches nothing, a run without rows, or too short for a spectrum.
        PysimError: the file cannot be written, or there is no display.
    """
    given: Any = trajectory
    runs = [
        motion_of(run, "plot") for run in (given if isinstance(given, list | tuple) else [given])
    ]
    panels, x_title = panels_of(runs, names, against=against, spectrum=spectrum)
    text_remains_text = {"svg.fonttype": "none", "pdf.fonttype": 42}
    put_figure(
        path,
        lambda figure: draw(runs, panels, x_title, figure),
        settings={**text_remains_text, "agg.path.chunksize": CHUNK},
    )


def panels_of(
    runs: Sequence[Trajectory],
    names: Sequence[str] = (),
    *,
    against: str | None = None,
    spectrum: bool = False,
) -> tuple[list[Panel], str]:
    """Return the panels of a plot, and the title of their horizontal axis."""
    if not 1 <= len(runs) <= MOST_RUNS:
        raise PysimError("plot", f"draws 1 to {MOST_RUNS} runs, got {len(runs)}; name fewer files")
    if against is not None and spectrum:
        raise PysimError("plot", "draws against a quantity or as a spectrum; leave out one of them")
    for run in runs:
        if len(run) == 0:
            problem = "has no rows to plot; the run stopped before its first"
            raise TrajectoryError(run.source, problem)
    patterns = list(names) or default_patterns(runs[0])
    panels: dict[str, Panel] = {}
    x_title = "time [s]"
    labels = run_labels(runs)
    for k, run in enumerate(runs):
        x = run.t
        if against is not None:
            (other,) = _single(select(run, [against]), against, run)
            x, x_title = np.asarray(other.values()), f"{other.name}{_bracket(other.unit)}"
        for quantity in select(run, patterns):
            line = _line(run, quantity, x, k, labels[k], spectrum=spectrum, phase=bool(against))
            kind = "amplitude" if spectrum else quantity.kind
            title = f"{kind}{_bracket(quantity.unit)}"
            if quantity.kind == "position" and quantity.unit in {"", "1"}:
                title = f"{kind}, quaternion"
            panels.setdefault(title, Panel(title, [])).lines.append(line)
    return list(panels.values()), FREQUENCY if spectrum else x_title


def _line(
    run: Trajectory,
    quantity: Quantity,
    x: Array,
    k: int,
    label: str,
    *,
    spectrum: bool,
    phase: bool,
) -> Line:
    y = np.asarray(quantity.values(), float)
    if spectrum:
        x, y = amplitudes(run, y)
    stride = -(-len(x) // MOST_OF_PHASES) if phase else 1
    if phase:
        x, y = x[::stride], y[::stride]
    else:
        x, y = subsampled(x, y)
    head, _, tail = quantity.name.partition(".")
    own = tail.removesuffix(".force").removesuffix(".moment") if head != "position" else tail
    whole = f"{label}: {own}" if label else own
    total = quantity.name == "energy.total"
    return Line(whole, x, y, k, colors.TEXT if total else None, 2.0 if total else 1.4, stride > 1)


def _single(found: list[Quantity], name: str, run: Trajectory) -> list[Quantity]:
    if len(found) != 1:
        problem = f"{name!r} on the horizontal axis matches {len(found)} quantities"
        raise TrajectoryError(run.source, f"{problem}; name one, as {found[0].name!r}")
    return found


def _bracket(unit: str) -> str:
    return f" [{unit}]" if unit not in {"", "1"} else ""


def run_labels(runs: Sequence[Trajectory]) -> list[str]:
    """Return a label for each run, the shortest ends of their paths that differ; nothing for a single run."""
    if len(runs) == 1:
        return [""]
    parts = [Path(run.source).with_suffix("").parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        labels = ["/".join(own[-depth:]) for own in parts]
        if len(set(labels)) == len(labels):
            return labels
    return [f"run {k + 1}" for k in range(len(runs))]


def amplitudes(run: Trajectory, values: Array) -> tuple[Array, Array]:
    """Return frequencies [Hz] and the amplitudes of their oscillations, by a Hann window.

    The mean is removed; times at unequal intervals are interpolated to equal ones.
    """
    count = len(run.t)
    if count < FEWEST_ROWS:
        problem = f"has {count} rows, a spectrum needs at least {FEWEST_ROWS}"
        raise TrajectoryError(run.source, f"{problem}; lower output.every")
    t = np.linspace(run.t[0], run.t[-1], count)
    even = np.interp(t, run.t, values)
    window = np.hanning(count)
    spectrum = np.fft.rfft(window * (even - even.mean())) / (0.5 * window.sum())
    return np.fft.rfftfreq(count, t[1] - t[0]), np.abs(spectrum)


def draw(runs: Sequence[Trajectory], panels: Sequence[Panel], x_title: str, figure: Figure) -> None:
    """Fill a figure with the panels, one below the other."""
    figure.set_size_inches(9.0, 2.3 * max(len(panels), 1.4))
    axes = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    over_time = x_title == "time [s]"
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, panel, over_time=over_time, runs=len(runs))
        if x_title == FREQUENCY:
            _scale_spectrum(axis, panel)
    axes[-1].set_xlabel(x_title, parse_math=False)
    names = dict.fromkeys(run.header.name or run.source for run in runs)
    mark = "" if all(run.complete for run in runs) else "  (incomplete)"
    title = ", ".join(names) + mark
    axes[0].set_title(title, loc="left", color=colors.TEXT, fontweight="bold", parse_math=False)


def _draw_panel(axis: Axes, panel: Panel, *, over_time: bool, runs: int) -> None:
    many = len(panel.lines) > MOST_LABELLED_LINES
    each = -(-len(panel.lines) // runs)
    for k, line in enumerate(panel.lines):
        number = k % each if runs > 1 else k
        color = line.color or colors.PALETTE[number % len(colors.PALETTE)]
        dashes: Any = DASHES[line.run] if runs > 1 else "-"
        if runs == 1 and k >= len(colors.PALETTE) and not many:
            dashes = "--"
        width, alpha = (0.8, 0.6) if many else (line.width, 1.0)
        dots: Any = {"marker": ".", "markersize": 1.0} if line.dotted else {}
        dashes = "" if line.dotted else dashes
        axis.plot(
            line.x, line.y, linestyle=dashes, color=color, linewidth=width, alpha=alpha, **dots
        )
    axis.set_ylabel(panel.title, color=colors.TEXT, parse_math=False)
    axis.grid(visible=True, color="#e3e8ee", linewidth=0.8)
    axis.tick_params(colors=colors.TEXT, length=0)
    if over_time:
        axis.margins(x=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.ticklabel_format(axis="y", useOffset=False)
    labels = [line.label for line in panel.lines]
    if many:
        note = f"{len(labels)} lines, {labels[0]} … {labels[-1]}"
        axis.text(
            1.01, 1.0, note, transform=axis.transAxes, va="top", fontsize=8, wrap=True,
            parse_math=False,
        )  # fmt: skip
    else:
        _legend(axis, labels)


def _scale_spectrum(axis: Axes, panel: Panel) -> None:
    """Draw frequencies and amplitudes in decades, down to a millionth of the largest."""
    most = max(float(line.y.max(initial=0.0)) for line in panel.lines)
    first = min(float(line.x[line.x > 0].min()) for line in panel.lines)
    axis.set_xscale("log")
    axis.set_xlim(left=first)
    if most > 0:
        axis.set_yscale("log")
        axis.set_ylim(most * 10.0**-DECADES, 2 * most)


def _legend(axis: Axes, labels: Sequence[str]) -> None:
    """Name the lines; a name may begin with an underscore or contain dollar signs."""
    size = 8 if len(labels) <= 8 else 6.5
    legend = axis.legend(
        axis.lines,
        [str(k) for k in range(len(labels))],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.03),
        frameon=False,
        fontsize=size,
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def subsampled(t: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """Return at most `most` points of a line, including the extremes of each interval."""
    if len(t) <= most:
        return t, values
    edges = np.linspace(0, len(t), most // 2 + 1).astype(int)
    stretches = [slice(first, last) for first, last in pairwise(edges)]
    ends = [[0, len(t) - 1]]
    low = [part.start + int(np.argmin(values[part])) for part in stretches]
    high = [part.start + int(np.argmax(values[part])) for part in stretches]
    kept = np.unique(np.concatenate([*ends, low, high]))
    return t[kept], values[kept]
