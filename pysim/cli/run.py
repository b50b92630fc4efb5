"""`pysim scene.toml`: runs a scene, shows progress, writes the files and prints a summary."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.cli.exit_status import INTERRUPTED
from pysim.cli.messages import print_line, print_message
from pysim.cli.progress import ProgressBar
from pysim.cli.show import make_movie, make_still
from pysim.cli.summary import print_summary
from pysim.diagnosis.scene_warnings import warn_of_scene
from pysim.errors import PysimError, PysimWarning
from pysim.render.movie import MOVIES
from pysim.render.output import check_picture
from pysim.render.still import IMAGES
from pysim.scene.importer import foreign_suffixes, scene_text
from pysim.scene.toml.overrides import UNSET
from pysim.simulation import load_scene, simulate, summarize
from pysim.simulation.checkpoints import why_not
from pysim.trajectory import load_trajectory
from pysim.trajectory.reader import stored_run

if TYPE_CHECKING:
    from pysim.cli.options import RunOptions
    from pysim.simulation import Scene
    from pysim.trajectory import Trajectory

TRAJECTORIES = (".h5", ".hdf5")
KINDS = {
    ".h5": "is a trajectory; open it with pysim view",
    ".nc": "is the dataset of a sweep; draw it with pysim plot",
}
MODEL = "is a model, not a scene; give a scene with a [[model]] table that names it"


def run_scene(path: Path, options: RunOptions) -> int:
    """Run the scene at `path` and return the exit status."""
    check_suffix(path)
    _check_outputs(options)
    if options.live:
        from pysim.render.windows.interactive import check_display  # noqa: PLC0415, VTK costs a second

        check_display()
    overrides = run_overrides(options)
    scene = load_scene(path, overrides, options.allow_code, options.package_dirs)
    if options.policy is not None:
        from pysim.environments.trained_policy import with_policy  # noqa: PLC0415, where it is needed

        scene = with_policy(scene, path, options.policy, overrides)
    output = options.output or Path(path.stem + ".h5")
    replaces = output.exists()
    resumes = not (options.live or why_not(scene))
    overwrite = options.overwrite or _may_replace(output, scene.spec.name, resumes=resumes)
    warn_of_scene(scene)
    bar = ProgressBar(scene.spec.name, shown=not options.quiet)
    try:
        with bar:
            run = _run_in_window if options.live else simulate
            trajectory = run(scene, output, bar, overwrite=overwrite)
    except KeyboardInterrupt:
        print_message("interrupted", end_of_run(output, resumes=resumes))
        return INTERRUPTED
    if not options.quiet:
        print_summary(scene, summarize(scene, trajectory, bar.last), verbose=options.verbose)
        note = ", replaces the one before" if replaces else ""
        print_line(f"  trajectory  {output}, {len(trajectory)} instants{note}")
    if options.still is not None:
        make_still(trajectory, options.still, quiet=options.quiet)
    if options.movie is not None:
        make_movie(trajectory, options.movie, quiet=options.quiet)
    return 0


def end_of_run(output: Path, *, resumes: bool = True) -> str:
    """Return where the trajectory of an interrupted run ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # incomplete
        try:
            t = load_trajectory(output, stream=True).t
        except PysimError:
            return "before the first output"
    if len(t) == 0:
        return f"before the first output; {output} has no rows"
    rest = f"go on with pysim resume {output}" if resumes else "marked incomplete"
    return f"at t = {t[-1]:g} s; {output} holds the run so far{';' if resumes else ','} {rest}"


def check_suffix(path: Path) -> None:
    """Reject a file that is not a scene, by its suffix."""
    suffix = path.suffix.lower()
    if suffix == ".toml" or scene_text(path) is not None:
        return
    other = f"unknown kind of file {path.suffix!r}; pysim runs .toml scenes"
    raise PysimError(str(path), KINDS.get(suffix, MODEL if suffix in foreign_suffixes() else other))


def _run_in_window(
    scene: Scene, output: Path, progress: ProgressBar, *, overwrite: bool
) -> Trajectory:
    """Run a scene in a window; closing it interrupts the run."""
    from pysim.render.windows.live import watch  # noqa: PLC0415, VTK costs a second
    from pysim.simulation.live import LiveRun  # noqa: PLC0415

    with LiveRun(scene, output, progress, overwrite=overwrite) as run:
        watch(run)
        if not run.done:
            raise KeyboardInterrupt
    run.warn()
    return run.trajectory


def run_overrides(options: RunOptions) -> dict[str, Any]:
    """Return keys of the scene that the command line sets."""
    overrides = parse_overrides(options.overrides, options.unset)
    return overrides | timing_overrides(options.duration, options.step)


def timing_overrides(duration: float | None, step: float | None) -> dict[str, Any]:
    """Return the keys of the scene that `--duration` and `--step` [s] set, None if not given."""
    overrides: dict[str, Any] = {}
    for name, value in (("duration", duration), ("step", step)):
        if value is None:
            continue
        if not 0 < value < math.inf:
            raise PysimError(f"--{name}", f"must be positive [s], got {value:g}")
        overrides[f"simulation.{name}"] = value
    return overrides


def parse_overrides(texts: tuple[str, ...], unset: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return `key=value` texts and keys to remove as a dict; the scene reader parses the values as TOML."""
    overrides: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals and value.strip()):
            raise PysimError(
                "--set", f"needs key=value, got {text!r}; write for example simulation.step=1e-4"
            )
        overrides[key.strip()] = value.strip()
    for key in unset:
        if key in overrides:
            raise PysimError("--unset", f"{key!r} is set by --set as well; leave one of them out")
        overrides[key] = UNSET
    return overrides


def _may_replace(output: Path, name: str, *, resumes: bool) -> bool:
    """Return whether `output` holds a complete run of this scene; raise an error for one that is lost if replaced."""
    found = stored_run(output)
    if found is None:
        return False  # nothing there, or what the writer leaves alone
    if found.name != name:
        problem = f"holds a trajectory of another scene, {found.name!r}"
        raise PysimError(str(output), f"{problem}; choose another or --overwrite")
    if not found.complete:
        problem = "holds a run of this scene that was cut short"
        resume = f"go on with pysim resume {output}, " if resumes else ""
        remedy = f"{resume}choose another name with --output, or replace it with --overwrite"
        raise PysimError(str(output), f"{problem}; {remedy}")
    return True


def _check_outputs(options: RunOptions) -> None:
    """Reject what cannot be drawn or written before the run rather than after it."""
    if options.output is not None and options.output.suffix.lower() not in TRAJECTORIES:
        problem = f"unknown suffix {options.output.suffix!r} of a trajectory; use .h5"
        raise PysimError(str(options.output), problem)
    if options.movie is not None:
        check_picture(options.movie, MOVIES)
    if options.still is not None:
        check_picture(options.still, IMAGES)
