"""Still pictures of one instant of a trajectory, or of the start of a model or scene."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import PysimError, TrajectoryError
from pysim.render.drawable import motion_of, to_trajectory
from pysim.render.options import render_options
from pysim.render.output import replacing
from pysim.render.player import Player
from pysim.render.window import capture, offscreen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

    from pysim.render.drawable import Drawable
    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

OPAQUE = (".jpg", ".jpeg", ".bmp")
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")


def still(
    trajectory: Drawable,
    path: str | PathLike[str] | None = None,
    time: float | None = None,
    *,
    others: Sequence[Trajectory] = (),
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> NDArray[np.uint8]:
    """Draw a trajectory at `time` [s] (None: its end), write `path` and return the pixels.

    A `Model` or a `Scene` is drawn at its start. Options are those of `RenderOptions`. The bodies of `others`, further
    runs, are drawn translucent. The pixels are (height, width, 3).

    Raises:
        TrajectoryError: the run has no such time.
        PysimError: what is given cannot be drawn, or the file cannot be written.
    """
    trajectory = to_trajectory(trajectory, "still")
    others = [motion_of(run, "still: others") for run in others]
    if time is not None and len(trajectory):
        first, last = trajectory.t[[0, -1]]
        slack = 1e-9 * (last - first)
        if not first - slack <= time <= last + slack:
            problem = f"has no t = {time:g} s; give a time from {first:g} to {last:g} s"
            raise TrajectoryError(trajectory.source, problem)
    return draw(trajectory, path, render_options(trajectory, **options), time, others=others)


def draw(
    trajectory: Trajectory,
    path: str | PathLike[str] | None,
    options: RenderOptions,
    time: float | None = None,
    caption: Callable[[Plotter], None] | None = None,
    others: Sequence[Trajectory] = (),
) -> NDArray[np.uint8]:
    """Draw one instant [s] (None: the end), and what `caption` adds to it."""
    suffix = "" if path is None else Path(path).suffix.lower()
    if options.transparent and suffix in OPAQUE:
        problem = f"a {suffix} picture cannot be transparent; use .png or .webp"
        raise PysimError(str(path), problem)
    with replacing(path, IMAGES) as draft, offscreen(options) as plotter:
        player = Player(plotter, trajectory, options, others=others)
        player.show(trajectory.t[-1] if time is None else time)
        if caption is not None:
            caption(plotter)
        image = capture(plotter, options)
        if draft is not None:
            from PIL import Image  # noqa: PLC0415, heavy

            Image.fromarray(image).save(Path(draft))
    return image
