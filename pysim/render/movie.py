"""Movies of trajectories, as mp4 or gif."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError, TrajectoryError
from pysim.render.drawable import motion_of
from pysim.render.encoder import Encoder
from pysim.render.frame_worker import FrameWorkers, workers_for
from pysim.render.meshes import OF_MOVIES
from pysim.render.options import RenderOptions, render_options
from pysim.render.output import replacing
from pysim.render.player import Player
from pysim.render.window import capture, offscreen
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.trajectory import Trajectory

MOVIES = (".mp4", ".gif", ".webm")
GIF_FASTEST = 50  # [1/s] browsers slow down faster gifs


def movie(
    trajectory: Trajectory,
    path: str | PathLike[str],
    progress: Callable[[int, int], None] | None = None,
    *,
    others: Sequence[Trajectory] = (),
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Draw the whole trajectory as `path` (.mp4, .gif or .webm).

    Options are those of `RenderOptions`, above all `fps` [1/s], `speed` and `size` [pixel]
    (made even, as video needs). `progress` is called with frames done and frames in all. The frames of longer movies
    are drawn by several processes, one for each core. The bodies of `others`, further runs, are drawn translucent.
    """
    motion_of(trajectory, "movie")
    others = [motion_of(run, "movie: others") for run in others]
    chosen = _even(render_options(trajectory, **options))
    if Path(path).suffix.lower() == ".gif" and chosen.fps > GIF_FASTEST:
        problem = f"a gif shows at most {GIF_FASTEST} frames a second, got {chosen.fps:g}"
        raise PysimError(str(path), f"{problem}; set fps")
    if Path(path).suffix.lower() != ".webm" and chosen.transparent:
        problem = f"a {Path(path).suffix} movie cannot be transparent; use .webm"
        raise PysimError(str(path), problem)
    if len(trajectory) == 0:
        problem = "has no rows to draw; the run stopped before its first"
        raise TrajectoryError(trajectory.source, problem)
    with replacing(path, MOVIES) as draft:
        times = frame_times(trajectory.t, chosen)
        with (
            frames_of(trajectory, chosen, times, others) as frame,
            Encoder(draft or Path(path), chosen) as encoder,
        ):
            for k in range(len(times)):
                encoder.append(frame(k))
                if progress is not None:
                    progress(k + 1, len(times))


@contextmanager
def frames_of(
    trajectory: Trajectory,
    options: RenderOptions,
    times: Array,
    others: Sequence[Trajectory] = (),
) -> Iterator[Callable[[int], NDArray[np.uint8]]]:
    """Yield a function that returns frame k, to be called for k = 0, 1, …; drawn here or by worker processes."""
    count = workers_for(len(times))
    if count > 1:
        with FrameWorkers(trajectory, options, times, count, others) as workers:
            yield workers.frame
        return
    with offscreen(options) as plotter:
        player = Player(plotter, trajectory, options, others=others, left_out=OF_MOVIES)

        def frame(k: int) -> NDArray[np.uint8]:
            player.show(times[k])
            return capture(plotter, options, player.draw)

        yield frame


def frame_times(t: Array, options: RenderOptions) -> Array:
    """Return instants [s] of the frames: one every speed/fps, the first at the start of `t`."""
    span = float(t[-1] - t[0])
    frames = int(np.floor(span * options.fps / options.speed * (1 + 1e-12) + 1e-9)) + 1
    times: Array = float(t[0]) + np.arange(float(frames)) * (options.speed / options.fps)
    return times


def _even(options: RenderOptions) -> RenderOptions:
    width, height = options.size
    return replace(options, size=(width + width % 2, height + height % 2))
