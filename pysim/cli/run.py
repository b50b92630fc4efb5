"""`pysim scene.toml`: run, show progress, write the files, sum up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.cli.messages import complain, say
from pysim.cli.progress import ProgressBar
from pysim.cli.summary import say_summary
from pysim.errors import PysimError
from pysim.render.movie import MOVIES
from pysim.render.output import check_picture
from pysim.render.still import IMAGES
from pysim.simulation import load_scene, simulate, summarize

if TYPE_CHECKING:
    from pysim.trajectory import Trajectory

INTERRUPTED = 130


@dataclass(frozen=True)
class RunOptions:
    """Options of the default command; None where not given."""

    output: Path | None = None
    movie: Path | None = None
    still: Path | None = None
    duration: float | None = None  # [s]
    overrides: tuple[str, ...] = ()
    overwrite: bool = False
    quiet: bool = False
    allow_code: bool = False


def run_scene(path: Path, options: RunOptions) -> int:
    """Run the scene at `path` and return the exit status."""
    overrides = parse_overrides(options.overrides)
    if options.duration is not None:
        overrides["simulation.duration"] = options.duration
    _check_pictures(options)
    scene = load_scene(path, overrides=overrides, allow_code=options.allow_code)
    output = options.output or Path(path.stem + ".h5")
    replaces = output.exists()
    bar = ProgressBar(scene.spec.name, shown=not options.quiet)
    try:
        with bar:
            trajectory = simulate(
                scene,
                output,
                bar,
                overwrite=options.overwrite or _of_scene(output, scene.spec.name),
            )
    except KeyboardInterrupt:
        now = f"at t = {bar.last.time:g} s"
        complain("interrupted", f"{now}; {output} holds the run so far, marked incomplete")
        return INTERRUPTED
    if not options.quiet:
        say_summary(scene, summarize(scene, trajectory, bar.last))
        instants = f"{len(trajectory)} instants"
        note = ", replaces the one before" if replaces else ""
        say(f"  trajectory  {output}, {instants}{note}")
    _make_pictures(trajectory, options)
    return 0


def parse_overrides(texts: tuple[str, ...]) -> dict[str, Any]:
    """Turn `key=value` texts into a dict; the reader takes a text for the TOML value that it is."""
    overrides: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals and value.strip()):
            raise PysimError("--set", f"needs key=value, got {text!r}; as simulation.step=1e-4")
        overrides[key.strip()] = value.strip()
    return overrides


def _of_scene(output: Path, name: str) -> bool:
    """Whether a trajectory of the scene of that name is already at `output`."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    try:
        with h5py.File(output, "r") as file:
            return bool(file.attrs.get("name") == name)
    except OSError:
        return False


def _check_pictures(options: RunOptions) -> None:
    """Refuse what cannot be drawn or written before the run rather than after it."""
    if options.movie is not None:
        check_picture(options.movie, MOVIES)
    if options.still is not None:
        check_picture(options.still, IMAGES)


def _make_pictures(trajectory: Trajectory, options: RunOptions) -> None:
    from pysim.cli.show import make_movie, make_still  # noqa: PLC0415

    if options.still is not None:
        make_still(trajectory, options.still, quiet=options.quiet)
    if options.movie is not None:
        make_movie(trajectory, options.movie, quiet=options.quiet)
