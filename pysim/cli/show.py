"""`pysim view`, `movie`, `still` and `plot`, and the pictures of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.cli.progress import bar_on_terminal
from pysim.trajectory import load_trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.trajectory import Trajectory

TRAJECTORIES = (".h5", ".hdf5")


def view_file(
    path: Path,
    *,
    movie: Path | None = None,
    still: Path | None = None,
    package_dirs: tuple[Path, ...] = (),
    allow_code: bool = False,
) -> None:
    """Open a window on a trajectory, or on a scene or robot to pose it; or make the pictures requested."""
    if path.suffix.lower() not in TRAJECTORIES and movie is None and still is None:
        _pose(path, package_dirs, allow_code=allow_code)
        return
    trajectory = load_trajectory(path)
    if still is not None:
        make_still(trajectory, still)
    if movie is not None:
        make_movie(trajectory, movie)
    if still is None and movie is None:
        from pysim import render  # noqa: PLC0415, VTK costs a second

        render.view(trajectory)


def _pose(path: Path, package_dirs: tuple[Path, ...], *, allow_code: bool) -> None:
    """Open a window in which sliders pose a scene or a robot."""
    from pysim.render.interactive import check_display  # noqa: PLC0415, VTK costs a second
    from pysim.render.posing import pose  # noqa: PLC0415

    check_display()
    if path.suffix.lower() == ".toml":
        from pysim.simulation import load_scene  # noqa: PLC0415

        scene = load_scene(path, allow_code=allow_code, package_dirs=package_dirs)
        pose(scene.model, scene.state, render=asdict(scene.spec.render))
    else:
        from pysim.simulation.loading import load_model  # noqa: PLC0415

        pose(load_model(path, package_dirs=package_dirs, allow_code=allow_code))


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
