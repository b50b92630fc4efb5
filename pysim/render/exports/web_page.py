"""Web pages that play a run: one file that needs no server, no network and no pysim.

The player is viser's: its client and a recording of the scene, in one HTML file [viser 1.1, `StateSerializer.as_html`],
with the controls of `web_controls`.
"""

from __future__ import annotations

import html
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError, PysimWarning, TrajectoryError
from pysim.render.camera import upright
from pysim.render.drawable import motion_of, to_trajectory
from pysim.render.exports.web_controls import with_controls
from pysim.render.exports.web_recording import RecordedRun, nodes_of, reach_of
from pysim.render.meshes import body_meshes
from pysim.render.options import render_options
from pysim.render.output import replacing
from pysim.render.tubes import tubes_of
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from pysim.render.drawable import Drawable
    from pysim.render.options import RenderOptions
    from pysim.trajectory import Trajectory

FPS = 30.0  # [1/s] poses of a page
MOST_POSES = 300_000  # of all bodies, some 20 MB; fewer frames are written then
LEAST_SIZE = 0.3  # [m] of a motion
GROUND = 8.0  # side of the ground in sizes of the motion
DIRECTION = np.array([1.0, -1.4, 0.7])  # from which the camera looks, in stage axes
PAGES = (".html", ".htm")


def web(
    trajectory: Drawable,
    path: str | PathLike[str],
    *,
    others: Sequence[Trajectory] = (),
    fps: float = FPS,
    dark: bool | None = None,
    plots: Sequence[str] = (),
    mesh_dirs: Sequence[str | PathLike[str]] = (),
) -> Path:
    """Write a page that plays a run in any browser, and return its path.

    Bodies of `others`, further runs, are drawn beside it in other colours, and their curves are dashed. Meshes are
    decimated to 5000 triangles; of a run with more than 300 000 poses, some 20 MB, fewer frames are written, with a
    warning.

    Args:
        trajectory: a run, or a model or scene at its start.
        path: the file, .html.
        others: runs that are played together with it.
        fps: frames of a second of the run.
        dark: whether the page begins dark; None for what the browser prefers.
        plots: quantities whose curves the page has, as in `plot`; by default q, v, forces and energy. At most 24.
        mesh_dirs: folders with the meshes of the bodies, where they are no longer at their place.

    Raises:
        TrajectoryError: the run has no rows, or a name in `plots` matches nothing.
        PysimError: viser is missing, a number is wrong, or the file cannot be written.
    """
    with replacing(path, PAGES) as draft:
        text = page_text(
            trajectory, others=others, fps=fps, dark=dark, plots=plots, mesh_dirs=mesh_dirs
        )
        assert draft is not None
        draft.write_text(text, "utf-8")
    return Path(path)


def page_text(
    trajectory: Drawable,
    *,
    others: Sequence[Trajectory] = (),
    fps: float = FPS,
    dark: bool | None = None,
    plots: Sequence[str] = (),
    mesh_dirs: Sequence[str | PathLike[str]] = (),
) -> str:
    """Return the text of the page that `web` writes."""
    runs = [to_trajectory(trajectory, "web"), *(motion_of(run, "web: others") for run in others)]
    for run in runs:
        if len(run) == 0:
            problem = "has no rows to play; the run stopped before its first"
            raise TrajectoryError(run.source, problem)
    check_fps(fps)
    times = frame_times(runs, fps)
    options = [render_options(run, mesh_dirs=list(mesh_dirs)) for run in runs]
    with _quiet():
        server = _viser().ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            text, nodes = _recorded(server, runs, options, times)
        finally:
            server.stop()
    return with_controls(text, runs, nodes, plots=plots, dark=dark)


def check_fps(fps: float) -> None:
    """Reject frames of a second that no screen shows."""
    if not 0 < fps <= 240:
        raise PysimError("fps", f"must be between 0 and 240 [1/s], got {fps:g}")


def check_export(run: Trajectory, fps: float) -> None:
    """Reject a run without rows, and frames of a second that no screen shows."""
    if len(run) == 0:
        raise TrajectoryError(run.source, "has no rows to export; the run stopped before its first")
    check_fps(fps)


class Page:
    """A run that a notebook plays, in a frame of its own."""

    def __init__(self, text: str, height: int) -> None:
        self._text, self._height = text, height

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self._height}px;border:1px solid #8884"
        return f'<iframe srcdoc="{html.escape(self._text, quote=True)}" style="{style}"></iframe>'


def show(trajectory: Drawable, *, height: int = 480, **options: Any) -> Page:  # noqa: ANN401, see web
    """Return a run as the last line of a notebook's cell shows it: playing, also in a static export.

    Args:
        trajectory: a run, or a model or scene at its start.
        height: of the frame [pixel].
        options: those of `web`.
    """
    return Page(page_text(trajectory, **options), height)


def _viser() -> Any:  # noqa: ANN401, a module
    try:
        import viser  # noqa: PLC0415, an extra
    except ModuleNotFoundError as error:
        if error.name != "viser":
            raise
        remedy = 'install it with pip install "pysim-multibody[web]"'
        raise PysimError("web", f"needs viser; {remedy}") from None
    return viser


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress what viser prints: its address, that it stops, and in notebooks that it has no progress bars."""
    import rich  # noqa: PLC0415, heavy

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "IProgress not found")
            yield
    finally:
        console.quiet = before


def frame_times(runs: Sequence[Trajectory], fps: float) -> Array:
    """Return the times [s] of the frames: those of the longest run, thinned where there are too many poses."""
    start = min(float(run.t[0]) for run in runs)
    end = max(float(run.t[-1]) for run in runs)
    bodies = sum(len(run.header.body_names) for run in runs)
    count = int(np.ceil((end - start) * fps)) + 1
    most = max(2, MOST_POSES // max(bodies, 1))
    if count > most:
        text = f"{count} frames of {bodies} bodies are thinned to {most}, {most / (end - start):.3g} in a second"
        remedy = "give a lower fps, or a shorter run"
        warnings.warn(f"{runs[0].source}: {text}; {remedy}", PysimWarning, stacklevel=3)
        count = most
    return np.linspace(start, end, count)


def _recorded(
    server: Any,  # noqa: ANN401, viser loads when first used
    runs: Sequence[Trajectory],
    options: Sequence[RenderOptions],
    times: Array,
) -> tuple[str, dict[str, Any]]:
    """Return the page of a scene in which the bodies move, and its nodes, see `with_controls`."""
    stage = upright(runs[0].header.gravity)
    server.scene.set_up_direction(tuple(stage[:, 2]))
    meshes = [body_meshes(run, own) for run, own in zip(runs, options, strict=True)]
    tubes = [tubes_of(run, own) for run, own in zip(runs, options, strict=True)]
    reach = [reach_of(*drawn) for drawn in zip(runs, meshes, tubes, strict=True)]
    size = _place_camera(server, np.concatenate(reach), stage)
    drawn = [
        RecordedRun(server, number, run, own, options[number], size)
        for number, (run, own) in enumerate(zip(runs, meshes, strict=True))
    ]
    recording = server.get_scene_serializer()
    placed = [run.poses_at(np.clip(times, run.t[0], run.t[-1])) for run in runs]
    for k in range(len(times)):
        for own, poses in zip(drawn, placed, strict=True):
            own.show(float(times[k]), poses[k])
        if k + 1 < len(times):
            recording.insert_sleep(float(times[k + 1] - times[k]))
    return str(recording.as_html()), nodes_of(drawn)


def _place_camera(server: Any, points: Array, stage: Array) -> float:  # noqa: ANN401, as above
    """Let the camera see the whole motion, lay a grid under it, and return the size of the motion [m]."""
    along = points @ stage
    low, high = along.min(axis=0), along.max(axis=0)
    size = max(float(np.linalg.norm(high - low)), LEAST_SIZE)
    middle = (low + high) / 2
    direction = DIRECTION / np.linalg.norm(DIRECTION)
    server.initial_camera.look_at = tuple(stage @ middle)
    server.initial_camera.position = tuple(stage @ (middle + 0.9 * size * direction))
    ground = np.array([middle[0], middle[1], low[2]])
    cell = 10.0 ** np.floor(np.log10(size)) / 2
    server.scene.add_grid(
        "/ground",
        width=GROUND * size,
        height=GROUND * size,
        cell_size=cell,
        section_size=2 * cell,
        position=tuple(stage @ ground),
        wxyz=_quaternion(stage),
    )
    return size


def _quaternion(stage: Array) -> tuple[float, float, float, float]:
    """Return the quaternion, w first, of the stage's axes."""
    from scipy.spatial.transform import Rotation  # noqa: PLC0415, heavy

    x, y, z, w = Rotation.from_matrix(stage).as_quat()
    return float(w), float(x), float(y), float(z)
