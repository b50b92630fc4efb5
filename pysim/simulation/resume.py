"""`resume`: continues a run that was stopped or killed from the last checkpoint in its file.

The rows of the checkpoint are copied into a new file, which replaces the old one when they are on disk; the run goes
on from the record, and every dataset is that of a run that was never stopped.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import PysimWarning, SimulationError
from pysim.scene.toml.overrides import UNSET
from pysim.scene_files.loaded_scene import load_scene
from pysim.simulation.checkpoints import REMOVED, differences, origin_of
from pysim.simulation.recorder import Recorder
from pysim.simulation.run import Clock, recorded_segments, simulate, warn_of_run
from pysim.trajectory.checkpoint import events_before, points_before, rows_before
from pysim.trajectory.reader import load_stopped_run
from pysim.trajectory.writer import Beginning
from pysim.worlds.argument_checks import check_progress, checked_flag, checked_path
from pysim.worlds.interrupt import interrupts_held_back
from pysim.worlds.ledger import with_ledger
from pysim.worlds.saved_parts import SavedParts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.simulation.run import Progress
    from pysim.trajectory import Trajectory
    from pysim.trajectory.checkpoint import Checkpoint
    from pysim.worlds.loading import Scene


class StoppedRun:
    """Run in a trajectory file that did not reach its end, and the scene it was made of.

    Args:
        path: the trajectory file.
        allow_code: whether the scene may run Python code that it names.
        package_dirs: folders that hold packages of the scene's models.
        force: go on although the scene, its plugins, pysim or the instruction set have changed.

    Raises:
        TrajectoryError: the file is not a trajectory, is in use or is damaged.
        SimulationError: the run is complete, cannot be resumed, or is made of what has changed.
    """

    def __init__(
        self,
        path: Path,
        *,
        allow_code: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
        force: bool = False,
    ) -> None:
        for name, value in (("force", force), ("allow_code", allow_code)):
            checked_flag(value, name)
        self.path = path
        self.rows: Trajectory
        self.rows, text, self.checkpoint = load_stopped_run(path)
        self.origin = _checked(path, self.rows, text)
        given = self.origin["overrides"].items()
        overrides = {key: UNSET if value == REMOVED else value for key, value in given}
        self.scene = load_scene(self.origin["path"], overrides, allow_code, package_dirs)
        changed = differences(self.origin, self.rows.header.scene_text, self.scene)
        if changed and not force:
            remedy = "undo that, run the scene again, or go on with --force (force=True)"
            raise SimulationError(str(path), f"{'; '.join(changed)}; {remedy}")

    @property
    def reached(self) -> float:
        """Time [s] from which the run goes on."""
        return 0.0 if self.checkpoint is None else float(self.rows.t[self.checkpoint.rows - 1])

    def go_on(self, progress: Progress | None = None) -> Trajectory:
        """Run to the end, and return the whole trajectory.

        Raises:
            SimulationError: the run cannot continue, or its checkpoint is not one of the scene.
        """
        if self.checkpoint is None:  # stopped before the first one
            return simulate(self.scene, self.path, progress, overwrite=True)
        return _continued(self.scene, self.path, self.rows, self.checkpoint, progress)


def _checked(path: Path, rows: Trajectory, text: str | None) -> dict[str, Any]:
    """Return what a run is made of if it can be resumed."""
    if rows.complete:
        raise SimulationError(str(path), "is complete; run its scene to run it again")
    if text is None:
        problem = "has no checkpoints, as runs in a window and saved trajectories have none"
        raise SimulationError(str(path), f"{problem}; run its scene again with --overwrite")
    origin: dict[str, Any] = json.loads(text)
    again = "run its scene again with --overwrite"
    if origin["refused"]:
        raise SimulationError(str(path), f"cannot be resumed: {origin['refused']}; {again}")
    if not origin["path"]:
        problem = "cannot be resumed: its scene was not read from a scene file"
        raise SimulationError(str(path), f"{problem}; {again}")
    if not Path(origin["path"]).is_file():
        problem = f"cannot be resumed: its scene {origin['path']!r} does not exist"
        raise SimulationError(str(path), f"{problem}; put it back there")
    return origin


def _continued(
    scene: Scene, path: Path, rows: Trajectory, point: Checkpoint, progress: Progress | None
) -> Trajectory:
    saved = SavedParts.of(point.record, str(path))
    beginning = Beginning(
        rows_before(rows, point.rows),
        events_before(rows.events, point.events),
        points_before(rows.contacts, point.rows),
        point.record,
    )
    recorded = with_ledger(scene)
    with (
        interrupts_held_back() as check_interrupts,
        Recorder(
            recorded, path, overwrite=True, origin=origin_of(scene), beginning=beginning
        ) as recorder,
    ):
        clock = Clock(scene.settings.duration, progress, check_interrupts)
        clock.steps = saved.count("steps")
        for _ in recorded_segments(recorded, recorder, clock, saved=saved, done=point.rows):
            pass
        recorder.finish()
    trajectory = recorder.trajectory()
    warn_of_run(scene, trajectory, clock.steps)
    return trajectory


def resume(
    path: str | PathLike[str],
    progress: Progress | None = None,
    *,
    force: bool = False,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> Trajectory:
    """Continue a run that was stopped or killed to its end, in its file, and return the whole trajectory.

    Every dataset of the file is, bit for bit, that of a run that was never stopped. The scene is loaded again from its
    file; its text, plugin files, pysim's version and the instruction set must be those of the run.

    Args:
        path: trajectory file of the run.
        progress: called about ten times a second.
        force: go on although something has changed.
        allow_code: whether the scene may run Python code that it names.
        package_dirs: folders that hold packages of the scene's models.

    Raises:
        TrajectoryError: the file is not a trajectory, is in use or is damaged.
        SimulationError: the run is complete or cannot be resumed, or something has changed; the error names it.
    """
    file = checked_path(path, "path")
    check_progress(progress)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # those of the start were given in the run
        run = StoppedRun(file, force=force, allow_code=allow_code, package_dirs=package_dirs)
    return run.go_on(progress)
