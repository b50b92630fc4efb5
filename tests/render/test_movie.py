"""Movies, read back by imageio: length, size, motion, and nothing half-written."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import pyvista as pv  # noqa: TID253
import trimesh  # noqa: TID253, makes the meshes
from imageio_ffmpeg import read_frames  # type: ignore[import-untyped]

from pysim.errors import PysimError, PysimWarning, TrajectoryError
from pysim.render import movie
from pysim.render.frame_worker import FrameWorkers, workers_for
from pysim.render.meshes import OF_MOVIES, OF_WINDOWS, shadow_mesh
from pysim.render.movie import frame_times
from pysim.render.options import RenderOptions, render_options
from pysim.render.player import Player
from pysim.render.window import capture, offscreen
from pysim.shapes import Shape
from pysim.trajectory import Trajectory
from tests.render.scenes import SMALL, cart, drawn, moving, red

pytestmark = pytest.mark.render


def read_back(path: Path) -> tuple[list[np.ndarray], float]:
    """Frames of a movie and how many are shown a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the reader leaves its pipes open
        frames = read_frames(str(path))
        about = next(frames)
        width, height = about["size"]
        pictures = [np.frombuffer(raw, np.uint8).reshape(height, width, 3) for raw in frames]
        frames.close()
    return pictures, about["fps"]


def test_an_mp4_has_the_frames_the_size_and_the_motion_of_the_run(tmp_path: Path) -> None:
    path, calls = tmp_path / "cart.mp4", list[tuple[int, int]]()
    wishes = {**SMALL, "size": (161, 119), "azimuth": -90.0}
    movie(cart(), path, lambda done, total: calls.append((done, total)), fps=12.0, **wishes)
    frames, fps = read_back(path)
    assert fps == 12
    assert len(frames) == 7  # one each 1/12 s in half a second, both ends included
    assert frames[0].shape == (120, 162, 3)  # even, as video needs
    places = [np.argwhere(red(frame)).mean(axis=0)[1] for frame in frames]
    assert (np.diff(places) > 3).all()
    assert calls == [(k + 1, 7) for k in range(7)]
    assert list(tmp_path.iterdir()) == [path]


def test_a_gif_has_the_frames_and_the_duration_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "cart.gif"
    movie(cart(), path, fps=10.0, **SMALL)
    from PIL import Image

    with Image.open(path) as picture:
        assert picture.size == (160, 120)
        assert getattr(picture, "n_frames", 1) == 6
        assert picture.info["duration"] == 100
        assert picture.info["loop"] == 0


def test_a_broken_off_movie_leaves_no_file(tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        movie(cart(), tmp_path / "cart.mp4", stop, **SMALL)
    assert list(tmp_path.iterdir()) == []


def test_a_gif_faster_than_browsers_show_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(PysimError, match="a gif shows at most 50 frames a second, got 60"):
        movie(cart(), tmp_path / "cart.gif", fps=60.0, **SMALL)


def long_cart() -> Trajectory:
    """The cart with time for the frames of two processes."""
    return cart(render={"speed": 0.1, "fps": 10.0})


def test_frames_of_several_processes_are_those_of_one() -> None:
    """Oracle: the pictures that this process draws."""
    options = render_options(long_cart(), **SMALL)
    times = frame_times(long_cart().t, options)
    assert len(times) == 51
    with FrameWorkers(long_cart(), options, times[:7], 2) as workers:
        drawn = [workers.frame(k) for k in range(7)]
    with offscreen(options) as plotter:
        player = Player(plotter, long_cart(), options, left_out=OF_MOVIES)
        for time, frame in zip(times, drawn, strict=False):
            player.show(time)
            difference = np.abs(capture(plotter, options).astype(int) - frame)
            assert difference.max() <= 2  # the threads of the software renderer round edges


def test_a_movie_of_several_processes_is_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1})
    path = tmp_path / "cart.mp4"
    movie(long_cart(), path, azimuth=-90.0, **SMALL)
    places = [np.argwhere(red(frame)).mean(axis=0)[1] for frame in read_back(path)[0]]
    assert len(places) == 51
    assert (np.diff(places) > 0.5).all()
    assert list(tmp_path.iterdir()) == [path]


def test_the_error_and_the_warnings_of_a_worker_are_reported_here(tmp_path: Path) -> None:
    mesh = drawn(Shape("mesh", mesh=tmp_path / "bad.stl"))
    (tmp_path / "bad.stl").write_bytes(b"solid nothing\nendsolid\n")
    trajectory = moving(np.zeros((2, 3)), mesh)
    options = render_options(trajectory, **SMALL)
    with pytest.raises(TrajectoryError, match=r"bad\.stl: "):
        FrameWorkers(trajectory, options, np.zeros(2), 1).__enter__()
    bare = moving(np.zeros((2, 3)))
    with (
        pytest.warns(PysimWarning, match="nothing that moves is drawn") as reported,
        FrameWorkers(bare, options, np.zeros(2), 2),
    ):
        pass
    assert len(reported) == 1


def test_a_worker_that_is_killed_is_reported() -> None:
    options = render_options(long_cart(), **SMALL)
    with FrameWorkers(long_cart(), options, np.linspace(0, 0.5, 400), 1) as workers:
        workers.frame(0)
        workers._workers[0]._process.kill()
        with pytest.raises(PysimError) as caught:
            list(map(workers.frame, range(1, 400)))
    reason = "a drawing process ended early, it may lack memory; make it smaller"
    assert str(caught.value) == f"movie: {reason}"


@pytest.mark.parametrize(("frames", "cores", "count"), [(19, 8, 1), (40, 8, 2), (1000, 2, 2)])
def test_short_movies_are_drawn_by_few_processes(
    monkeypatch: pytest.MonkeyPatch, frames: int, cores: int, count: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(cores)))
    assert workers_for(frames) == count


def test_a_large_mesh_has_fewer_triangles_in_motion_and_looks_the_same(tmp_path: Path) -> None:
    trimesh.creation.icosphere(subdivisions=5, radius=0.2).export(tmp_path / "ball.ply")
    ball = drawn(Shape("mesh", mesh=tmp_path / "ball.ply"), color=(0.9, 0.1, 0.1, 1.0))
    trajectory = moving(np.zeros((2, 3)), ball)
    options = render_options(trajectory, **SMALL)
    pictures, counts = [], []
    for left_out in (0.0, OF_MOVIES):
        with offscreen(options) as plotter:
            player = Player(plotter, trajectory, options, left_out=left_out)
            pictures.append(capture(plotter, options).astype(int))
            counts.append(player.actors[0][0].mapper.dataset.n_cells)
    assert counts[1] < 0.65 * counts[0]
    assert np.abs(pictures[0] - pictures[1]).mean() < 0.2


def test_a_shadow_in_motion_has_few_triangles_and_keeps_its_outline() -> None:
    """Oracle: the radius of a ball in every direction."""
    ball = pv.Icosphere(nsub=5, radius=0.2)
    ball.point_data["rgba"] = np.zeros((ball.n_points, 4), np.uint8)
    reduced = shadow_mesh(ball, OF_WINDOWS)
    assert reduced.n_cells < 0.3 * ball.n_cells
    assert not reduced.point_data
    for direction in np.random.default_rng(0).normal(size=(20, 3)):
        along = direction / np.linalg.norm(direction)
        assert (reduced.points @ along).max() == pytest.approx(0.2, rel=0.02)
    cube = pv.Box()
    cube.point_data["rgba"] = np.zeros((cube.n_points, 4), np.uint8)
    assert shadow_mesh(cube, OF_WINDOWS).n_cells == cube.n_cells


@pytest.mark.parametrize(
    ("speed", "fps", "frames"), [(1.0, 30.0, 61), (2.0, 30.0, 31), (0.5, 10.0, 41)]
)
def test_frames_are_spaced_by_speed_over_fps(speed: float, fps: float, frames: int) -> None:
    times = frame_times(np.array([1.0, 3.0]), RenderOptions(speed=speed, fps=fps))
    assert len(times) == frames
    np.testing.assert_allclose(times[[0, -1]], [1.0, 3.0])
