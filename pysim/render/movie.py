"""A movie: mp4 for the world, gif for pages that play nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError
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
GIF_SHORTEST = 0.02  # [s] browsers slow down frames that ask for less


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
    with replacing(path, MOVIES) as draft, offscreen(chosen) as plotter:
        player = Player(plotter, trajectory, chosen)
        times = frame_times(trajectory.t, chosen)
        with _encoder(draft or Path(path), chosen) as encoder:
            for k, time in enumerate(times):
                player.show(time)
                encoder.append_data(capture(plotter, chosen))
                if progress is not None:
                    progress(k + 1, len(times))


def frame_times(t: Array, options: RenderOptions) -> Array:
    """Instants [s] of the frames: one every speed/fps, the first at the start of `t`."""
    span = float(t[-1] - t[0])
    frames = int(np.floor(span * options.fps / options.speed * (1 + 1e-12) + 1e-9)) + 1
    return float(t[0]) + np.arange(frames) * (options.speed / options.fps)


def _even(options: RenderOptions) -> RenderOptions:
    from dataclasses import replace  # noqa: PLC0415

    width, height = options.size
    return replace(options, size=(width + width % 2, height + height % 2))


def _encoder(path: Path, options: RenderOptions) -> Any:  # noqa: ANN401, imageio has no types
    import imageio.v2 as imageio  # noqa: PLC0415, heavy

    if path.suffix.lower() == ".gif":
        if 1 / options.fps < GIF_SHORTEST * (1 - 1e-9):
            raise PysimError(str(path), f"a gif shows at most 50 frames a second, got {options.fps:g}")
        return imageio.get_writer(path, mode="I", duration=1000 / options.fps, loop=0)
    return imageio.get_writer(
        path,
        mode="I",
        format="FFMPEG",
        fps=options.fps,
        codec="libx264",
        quality=None,
        macro_block_size=2,
        ffmpeg_log_level="error",
        output_params=["-crf", "18", "-preset", "medium", "-movflags", "+faststart"],
    )
