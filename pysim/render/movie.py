"""Movies of trajectories, as mp4 or gif."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError
from pysim.render.encoder import Encoder
from pysim.render.options import RenderOptions, render_options
from pysim.render.output import replacing
from pysim.render.player import Player
from pysim.render.window import capture, offscreen

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.trajectory import Trajectory

    Array = NDArray[np.float64]

MOVIES = (".mp4", ".gif")
GIF_FASTEST = 50  # [1/s] browsers slow down faster gifs


def movie(
    trajectory: Trajectory,
    path: str | PathLike[str],
    progress: Callable[[int, int], None] | None = None,
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Draw the whole trajectory as `path` (.mp4 or .gif).

    Options are those of `RenderOptions`, above all `fps` [1/s], `speed` and `size` [pixel]
    (made even, as video needs). `progress` is called with frames done and frames in all.
    """
    chosen = _even(render_options(trajectory, **options))
    if Path(path).suffix.lower() == ".gif" and chosen.fps > GIF_FASTEST:
        problem = f"a gif shows at most {GIF_FASTEST} frames a second, got {chosen.fps:g}"
        raise PysimError(str(path), f"{problem}; set fps")
    with replacing(path, MOVIES) as draft, offscreen(chosen) as plotter:
        player = Player(plotter, trajectory, chosen)
        times = frame_times(trajectory.t, chosen)
        with Encoder(draft or Path(path), chosen) as encoder:
            for k, time in enumerate(times):
                player.show(time)
                encoder.append(capture(plotter, chosen))
                if progress is not None:
                    progress(k + 1, len(times))


def frame_times(t: Array, options: RenderOptions) -> Array:
    """Instants [s] of the frames: one every speed/fps, the first at the start of `t`."""
    span = float(t[-1] - t[0])
    frames = int(np.floor(span * options.fps / options.speed * (1 + 1e-12) + 1e-9)) + 1
    times: Array = float(t[0]) + np.arange(float(frames)) * (options.speed / options.fps)
    return times


def _even(options: RenderOptions) -> RenderOptions:
    width, height = options.size
    return replace(options, size=(width + width % 2, height + height % 2))
