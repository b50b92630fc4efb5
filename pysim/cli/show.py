"""`pysim view` and `pysim plot`, and the pictures of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.cli.progress import bar_on_terminal
from pysim.trajectory import load_trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.trajectory import Trajectory


def view_trajectory(path: Path, *, movie: Path | None = None, still: Path | None = None) -> None:
    """Open a window on a trajectory, or make the pictures asked for."""
    trajectory = load_trajectory(path)
    if still is not None:
        make_still(trajectory, still)
    if movie is not None:
        make_movie(trajectory, movie)
    if still is None and movie is None:
        from pysim import render  # noqa: PLC0415, VTK costs a second

        render.view(trajectory)


def plot_trajectory(path: Path, output: Path | None) -> None:
    """Draw the curves of a trajectory in a window or to a picture."""
    from pysim import render  # noqa: PLC0415

    render.plot(load_trajectory(path), output)
    if output is not None:
        print_line(f"  plot        {output}")


def make_still(trajectory: Trajectory, path: Path, *, quiet: bool = False) -> None:
    """Draw the end of a trajectory."""
    from pysim import render  # noqa: PLC0415

    render.still(trajectory, path)
    if not quiet:
        print_line(f"  still       {path}")


def make_movie(trajectory: Trajectory, path: Path, *, quiet: bool = False) -> None:
    """Draw all of a trajectory."""
    from pysim import render  # noqa: PLC0415

    with bar_on_terminal(shown=not quiet) as bar:
        task = bar.add_task(path.name, total=None, state="")

        def drawn(done: int, frames: int) -> None:
            bar.update(task, completed=done, total=frames, state=f"{done} of {frames} frames")

        render.movie(trajectory, path, drawn)
    if not quiet:
        print_line(f"  movie       {path}")
