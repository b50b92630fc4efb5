"""Movies, read back by imageio: length, size, motion, and nothing half-written."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from imageio_ffmpeg import read_frames  # type: ignore[import-untyped]

from pysim.errors import PysimError
from pysim.render import movie
from pysim.render.movie import frame_times
from pysim.render.options import RenderOptions
from tests.render.scenes import SMALL, cart, red

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


@pytest.mark.parametrize(
    ("speed", "fps", "frames"), [(1.0, 30.0, 61), (2.0, 30.0, 31), (0.5, 10.0, 41)]
)
def test_frames_are_spaced_by_speed_over_fps(speed: float, fps: float, frames: int) -> None:
    times = frame_times(np.array([1.0, 3.0]), RenderOptions(speed=speed, fps=fps))
    assert len(times) == frames
    np.testing.assert_allclose(times[[0, -1]], [1.0, 3.0])
