"""Figures of plots: written to a picture file, or shown in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim.errors import PysimError
from pysim.render.output import replacing
from pysim.render.window import has_display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from matplotlib.figure import Figure

PLOTS = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp")
FILE = {"plot": "-o plot.png", "bode": "bode.png"}  # example of a path, by function


def put_figure(
    path: str | PathLike[str] | None,
    draw: Callable[[Figure], None],
    *,
    function: str = "plot",
    dpi: float = 144,
    settings: Mapping[Any, Any] | None = None,
) -> None:
    """Let a function fill a figure, and write it to a picture file, or show it in a window (None).

    Args:
        path: picture to write, of one of the suffixes `PLOTS`.
        draw: fills the figure.
        function: name in errors.
        dpi: dots per inch of a picture.
        settings: Matplotlib's, under which the picture is written.

    Raises:
        PysimError: the file cannot be written, or there is no display.
    """
    with replacing(path, PLOTS) as draft:
        if draft is None:
            if not has_display():
                problem = (
                    f"there is no display to show it on; give a file, such as {FILE[function]}"
                )
                raise PysimError(function, problem)
            from matplotlib import pyplot as plt

            draw(plt.figure(layout="constrained"))
            plt.show()
            return
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained", dpi=dpi)
        FigureCanvasAgg(figure)
        draw(figure)
        with rc_context(dict(settings or {})):
            figure.savefig(draft, facecolor="white")
