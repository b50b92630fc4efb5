"""`pysim view`, `movie`, `still` and `plot`, and the pictures of a run."""

from __future__ import annotations

import time as clock
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.cli.files import existing
from pysim.cli.messages import print_columns, print_line, visible
from pysim.cli.options import MovieOptions
from pysim.cli.progress import bar_on_terminal
from pysim.errors import PysimError
from pysim.sweeps.results import is_sweep, load_results
from pysim.trajectory.exporter import find_exporter
from pysim.trajectory.reader import load_for_pictures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.cli.options import ExportOptions, PageOptions, PlotOptions, StillOptions, ViewOptions
    from pysim.mechanism.model import Model, State
    from pysim.scene.spec import BlockSpec
    from pysim.trajectory import Trajectory

TRAJECTORIES = (".h5", ".hdf5")


def _wishes(options: MovieOptions | StillOptions, others: tuple[Path, ...]) -> dict[str, Any]:
    """Return the options of the renderer."""
    found: dict[str, Any] = {"size": _size(options.size)}
    if isinstance(options, MovieOptions):
        found |= {"fps": options.fps, "speed": options.speed}
    chosen = {key: value for key, value in found.items() if value is not None}
    compared = [load_for_pictures(path) for path in (*others, *map(existing, options.compare))]
    return {**dict(map(_setting, options.settings)), **chosen, "others": compared}


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise PysimError(
            "--size", f"needs width x height [pixel], got {text!r}; write for example 1280x720"
        )
    return int(parts[0]), int(parts[1])


def _setting(text: str) -> tuple[str, Any]:
    """Return a key of `[render]` and its value in TOML; text without quotes is text."""
    key, equals, value = text.partition("=")
    key = key.strip().removeprefix("render.")
    if not (key and equals and value.strip()):
        raise PysimError("--set", f"needs key=value, got {text!r}; write for example azimuth=30")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value.strip()


def view_file(path: Path, others: tuple[Path, ...], options: ViewOptions) -> None:
    """Open a window on a trajectory, or on a scene or robot to pose it; or make the pictures requested."""
    movie, still, package_dirs = options.movie, options.still, options.package_dirs
    scene = None if options.scene is None else existing(options.scene)
    wishes: dict[str, Any] = dict(map(_setting, options.settings))
    is_run = path.suffix.lower() in TRAJECTORIES
    if others and not is_run:
        problem = "is posed alone; leave out the other files, or give trajectories to compare"
        raise PysimError(str(path), problem)
    if not is_run and movie is None and still is None:
        _pose(path, package_dirs, allow_code=options.allow_code, wishes=wishes)
        return
    wishes = with_folders(wishes, package_dirs)
    trajectory, *recordings = (load_for_pictures(name) for name in (path, *others))
    if still is not None:
        make_still(trajectory, still, others=recordings, **wishes)
    if movie is not None:
        make_movie(trajectory, movie, others=recordings, **wishes)
    if still is None and movie is None:
        from pysim import render  # noqa: PLC0415, VTK costs a second

        if options.plot:
            wishes["plots"] = options.plot
        render.view(trajectory, others=recordings, scene=scene, **wishes)


def with_folders(wishes: dict[str, Any], package_dirs: tuple[Path, ...]) -> dict[str, Any]:
    """Return the options of pictures with the folders in which a trajectory may name meshes as well."""
    if not package_dirs:
        return wishes
    return {**wishes, "mesh_dirs": [*wishes.get("mesh_dirs", ()), *map(str, package_dirs)]}


def _pose(
    path: Path, package_dirs: tuple[Path, ...], *, allow_code: bool, wishes: dict[str, Any]
) -> None:
    """Open a window in which sliders pose a scene or a robot."""
    from pysim.render.windows.interactive import check_display  # noqa: PLC0415, VTK costs a second
    from pysim.render.windows.posing import pose  # noqa: PLC0415

    check_display()
    found = _read_start(path, package_dirs, allow_code=allow_code)
    pose(found.model, found.state, render=found.render, blocks=found.blocks, **wishes)


@dataclass(frozen=True)
class Start:
    """Model of a scene or robot at its start, and what a scene says of pictures and actuators."""

    model: Model
    state: State
    render: dict[str, Any]
    blocks: tuple[BlockSpec, ...] = ()


def _read_start(path: Path, package_dirs: tuple[Path, ...], *, allow_code: bool) -> Start:
    if path.suffix.lower() == ".toml":
        from pysim.simulation import load_scene  # noqa: PLC0415

        scene = load_scene(path, allow_code=allow_code, package_dirs=package_dirs)
        return Start(scene.model, scene.state, asdict(scene.spec.render), scene.spec.blocks)
    from pysim.mechanism.compile import start_state  # noqa: PLC0415
    from pysim.worlds.loading import load_model  # noqa: PLC0415

    model = load_model(path, package_dirs=package_dirs, allow_code=allow_code)
    return Start(model, start_state(model), {})


def movie_of_file(path: Path, others: tuple[Path, ...], options: MovieOptions) -> None:
    """Make a movie of a trajectory file."""
    from pysim.render.movie import MOVIES  # noqa: PLC0415
    from pysim.render.output import check_picture  # noqa: PLC0415

    output = options.output or Path(path.stem + ".mp4")
    check_picture(output, MOVIES)
    wishes = _wishes(options, others)
    make_movie(load_for_pictures(path), output, quiet=options.quiet, **wishes)


def still_of_file(path: Path, others: tuple[Path, ...], options: StillOptions) -> None:
    """Make a picture of a trajectory at a time [s] (None: its end), or of a scene's or robot's start."""
    from pysim.render.output import check_picture  # noqa: PLC0415
    from pysim.render.still import IMAGES  # noqa: PLC0415

    output = options.output or Path(path.stem + ".png")
    check_picture(output, IMAGES)
    wishes = with_folders(_wishes(options, others), options.package_dirs)
    if path.suffix.lower() in TRAJECTORIES:
        trajectory = load_for_pictures(path)
    else:
        from pysim.trajectory.from_states import trajectory_of_states  # noqa: PLC0415

        if options.at:
            problem = f"{path} is a scene, which has no motion yet; run it, and draw the trajectory"
            raise PysimError("--at", problem)
        found = _read_start(path, options.package_dirs, allow_code=options.allow_code)
        trajectory = trajectory_of_states(
            found.model, [0.0], found.state.q[None], render=found.render, blocks=found.blocks
        )
    make_still(trajectory, output, options.at, quiet=options.quiet, **wishes)


def plot_files(words: tuple[str, ...], options: PlotOptions) -> None:
    """Plot quantities of trajectories: the words that are files come first, patterns of quantities follow."""
    paths = [existing(word) for word in words if _is_file(word)]
    if not paths:
        problem = f"{words[0]}: no such file" if words else "needs a trajectory"
        raise PysimError("plot", f"{problem}; give one that pysim wrote, such as run.h5")
    patterns = [word for word in words if not _is_file(word)]
    if is_sweep(paths[0]):
        _plot_sweep(paths, patterns, options)
        return
    runs = [load_for_pictures(path) for path in paths]
    if options.names:
        from pysim.render.plots.recorded_quantities import quantities_of, select  # noqa: PLC0415

        known = select(runs[0], patterns) if patterns else quantities_of(runs[0]).values()
        print_columns(("quantity", "unit"), [(x.name, x.unit) for x in known])
        return
    from pysim import render  # noqa: PLC0415
    from pysim.render.plots.recorded_quantities import energy_patterns  # noqa: PLC0415

    if options.energy:
        patterns = [*energy_patterns(runs[0]), *patterns]
    render.plot(runs, options.output, patterns, against=options.against, spectrum=options.spectrum)
    _print_plot(options)


def _print_plot(options: PlotOptions) -> None:
    if options.output is not None and not options.quiet:
        print_line(f"  plot        {options.output}")


def _plot_sweep(paths: Sequence[Path], quantities: list[str], options: PlotOptions) -> None:
    """Plot the results of a sweep, from those of a nominal run if one is given, or print the names of its signals."""
    path, *others = paths
    if len(others) > 1:
        problem = f"draws one sweep and one nominal run, got {len(paths)} files"
        raise PysimError("plot", f"{problem}; leave out {others[1]}")
    if options.names:
        print_columns(("signal",), [(name,) for name in load_results(path).signals])
        return
    from pysim.render.plots.sweep_figure import plot_sweep  # noqa: PLC0415

    nominal = load_for_pictures(others[0]) if others else None
    plot_sweep(path, options.output, quantities, nominal)
    _print_plot(options)


def _is_file(word: str) -> bool:
    return word.lower().endswith(TRAJECTORIES) or Path(word).is_file()


def make_still(
    trajectory: Trajectory,
    path: Path,
    time: float | None = None,
    *,
    quiet: bool = False,
    **wishes: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Draw a trajectory at a time [s] (None: its end)."""
    from pysim import render  # noqa: PLC0415

    render.still(trajectory, path, time, **wishes)
    if not quiet:
        print_line(f"  still       {path}")


def write_page(paths: Sequence[Path], options: PageOptions) -> None:
    """Write the web page of trajectory files; it has the first one's name."""
    from pysim.render.exports.web_page import web  # noqa: PLC0415, heavy

    first, *others = [load_for_pictures(path) for path in paths]
    page = options.output or Path(paths[0].stem + ".html")
    web(
        first,
        page,
        others=others,
        fps=options.fps,
        dark=options.dark,
        plots=options.plot,
        mesh_dirs=options.mesh_dirs,
    )
    if not options.quiet:
        print_line(f"  page        {page}, {page.stat().st_size / 1e6:.1f} MB")


def write_export(name: str, path: Path, options: ExportOptions) -> None:
    """Write a trajectory file by the exporter of a name."""
    own = find_exporter(name)()
    target = options.output or Path(path.stem + own.suffixes[0])
    run = load_for_pictures(path)
    target = own.write(run, target, fps=options.fps, mesh_dirs=options.mesh_dirs)
    if not options.quiet:
        print_line(f"  {own.result:<11} {target}, {target.stat().st_size / 1e6:.1f} MB")


def make_movie(
    trajectory: Trajectory,
    path: Path,
    *,
    quiet: bool = False,
    **wishes: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Draw all of a trajectory."""
    from pysim import render  # noqa: PLC0415

    begin = clock.monotonic()
    with bar_on_terminal(shown=not quiet) as bar:
        task = bar.add_task(visible(path.name), total=None, state="")

        def drawn(done: int, frames: int) -> None:
            state = state_of_movie(done, frames, clock.monotonic() - begin)
            bar.update(task, completed=done, total=frames, state=state)

        render.movie(trajectory, path, drawn, **wishes)
    if not quiet:
        print_line(f"  movie       {path}")


def state_of_movie(done: int, frames: int, wall: float) -> str:
    """Return frames, rate and the time left: `30 of 300 frames, 6.1 a second, 44 s left`."""
    rate = done / wall if wall > 0 else 0.0
    left = f", {(frames - done) / rate:.0f} s left" if rate > 0 else ""
    return f"{done} of {frames} frames, {rate:.3g} a second{left}"
