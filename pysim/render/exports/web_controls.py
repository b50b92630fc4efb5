"""Controls of a web page beside viser's player: curves in step with the slider, toggles, picking, dark and light.

viser 1.1 has none of them in its recordings. The script is `web_controls.js`; it receives the names of the nodes in
viser's tree and the curves as JSON, in which `<` is escaped, and writes every name as text.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors
from pysim.render.plots.plot import run_labels, subsampled
from pysim.render.plots.recorded_quantities import default_patterns, quantities_of, select
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.render.plots.recorded_quantities import Quantity
    from pysim.trajectory import Trajectory

MOST_CURVES = 24
MOST_POINTS = 400  # of a curve
FIRST_SHOWN = 3  # curves that are drawn at first
DIGITS = 5


def with_controls(
    text: str,
    runs: Sequence[Trajectory],
    nodes: dict[str, Any],
    *,
    plots: Sequence[str],
    dark: bool | None,
) -> str:
    """Return viser's page with a title and the controls; markup in names is text.

    Args:
        text: the page.
        runs: the runs in it.
        nodes: the "groups" of nodes that a button hides, and the "bodies" that can be picked.
        plots: patterns of quantities whose curves are drawn; empty for q, v, forces and energy.
        dark: whether the page begins dark; None for what the browser prefers.
    """
    length = _length(runs)
    names = " · ".join(html.escape(name, quote=True) for name in _titles(runs))
    head, title = text.index("<title>"), text.index("</title>")
    text = f"{text[:head]}<title>{names}{text[title:]}"
    page = {
        **nodes,
        "duration": length,
        "dark": dark,
        "curves": curves(runs, plots),
        "colors": colors.PALETTE,
    }
    data = json.dumps(page, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    folder = Path(__file__).parent
    style = (folder / "web_controls.css").read_text("utf-8")
    script = (folder / "web_controls.js").read_text("utf-8")
    controls = (
        f"<style>{style}</style>"
        f'<div id="pysim-top"><div>{names}, {length:.4g} s</div><div id="pysim-bar"></div></div>'
        '<div id="pysim-pick" hidden></div><div id="pysim-strip"><div id="pysim-plot">'
        '<canvas></canvas><div id="pysim-cursor"></div><div id="pysim-scale"></div></div>'
        '<div id="pysim-curves"></div></div>'
        f"<script>window.PYSIM_PAGE={data};\n{script}</script>"
    )
    body = text.rindex("</body>")
    return text[:body] + controls + text[body:]


def _titles(runs: Sequence[Trajectory]) -> list[str]:
    """Return the names of the runs; several runs are labelled as in plots."""
    if len(runs) == 1:
        return [runs[0].header.name or "run"]
    return run_labels(runs)


def _length(runs: Sequence[Trajectory]) -> float:
    return max(float(run.t[-1]) for run in runs) - min(float(run.t[0]) for run in runs)


def curves(runs: Sequence[Trajectory], patterns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the curves of a page: those of the patterns, each of the runs that have the quantity."""
    if len(runs[0]) < 2:
        return []
    start = min(float(run.t[0]) for run in runs)
    chosen = select(runs[0], list(patterns) or default_patterns(runs[0]))[:MOST_CURVES]
    others = [quantities_of(run) for run in runs[1:]]
    first = [quantity.unit for quantity in chosen[:1]]
    curves: list[dict[str, Any]] = []
    for quantity in chosen:
        drawn = [_points(runs[0], quantity, start)]
        drawn += [
            _points(run, known[quantity.name], start)
            for run, known in zip(runs[1:], others, strict=True)
            if quantity.name in known
        ]
        is_on = len(curves) < FIRST_SHOWN and [quantity.unit] == first
        curves.append({"name": quantity.name, "unit": quantity.unit, "on": is_on, "runs": drawn})
    return curves


def _points(run: Trajectory, quantity: Quantity, start: float) -> dict[str, list[float]]:
    """Return times from the page's start [s] and values of a curve; values that are not finite are left out."""
    t, y = subsampled(np.asarray(run.t, float), np.asarray(quantity.values(), float), MOST_POINTS)
    finite = np.isfinite(y)
    return {"t": _rounded(t[finite] - start), "y": _rounded(y[finite])}


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
