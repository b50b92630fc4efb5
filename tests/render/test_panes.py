"""Camera paths, several views in one picture, plots beside the scene, titles and transparent pictures."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio_ffmpeg import read_frames  # type: ignore[import-untyped]
from PIL import Image

from pysim.errors import PysimError, TrajectoryError
from pysim.render import movie, still
from pysim.render.captions import letters
from pysim.render.movie import frame_times
from pysim.render.options import render_options
from pysim.render.panes import STRIP, rectangles
from pysim.render.player import Player
from pysim.render.window import capture, offscreen
from pysim.render.windows.view import Viewer
from tests.render.scenes import SMALL, cart, red

pytestmark = pytest.mark.render

WIDE: dict[str, Any] = {"size": (400, 240), "supersample": 1, "azimuth": -90.0}


def test_a_camera_path_is_smooth_and_rests_at_its_ends() -> None:
    """Oracle: 3 s² − 2 s³ between the entries, by hand."""
    path = ({"t": 0.1, "azimuth": 10.0}, {"t": 0.3, "azimuth": 50.0, "zoom": 2.0})
    run = cart()
    options = render_options(run, camera_path=path, **SMALL)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        shown = []
        for time in (0.0, 0.1, 0.15, 0.2, 0.3, 0.5):
            player.show(time)
            shown.append((np.degrees(player.orbit.azimuth), player.orbit.distance))
    azimuth, distance = np.array(shown).T
    np.testing.assert_allclose(azimuth, [10, 10, 10 + 40 * (3 / 16 - 2 / 64), 30, 50, 50])
    assert distance[0] == pytest.approx(2 * distance[-1])


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            {"t": 0.0, "azimut": 1.0},
            "render: camera_path[1]: azimut: unknown key; did you mean 'azimuth'?",
        ),
        ({"azimuth": 1.0}, "render: camera_path[1]: has no time; give t [s]"),
        ({"t": 1.0, "zoom": 0.0}, "render: camera_path[1]: zoom: must be positive, got 0.0"),
        ({"t": "1"}, "render: camera_path[1]: t: must be a number, got '1'"),
        ({"t": 0.5}, "render: camera_path: times must increase, got [0.5, 0.5]; sort the entries"),
    ],
)
def test_a_wrong_camera_path_is_rejected(entry: dict[str, Any], text: str) -> None:
    with pytest.raises(TrajectoryError) as caught:
        still(cart(), camera_path=({"t": 0.5}, entry), **SMALL)
    assert str(caught.value) == text


def test_letters_of_small_views_are_legible() -> None:
    whole = letters(1280, 720)
    assert whole == pytest.approx(22.32)
    assert letters(384, 360, (1280, 720)) == pytest.approx(0.6 * whole)
    assert letters(1000, 720, (1280, 720)) == whole


def test_several_views_show_the_body_from_their_directions() -> None:
    """The box starts at x = 0 and ends at x = 1: from the right it moves, along x it stays in the middle."""
    pictures = [still(cart(), time=t, views=("front",), label=False, **WIDE) for t in (0.0, 0.5)]
    places = [
        [np.argwhere(red(part)).mean(axis=0)[1] for part in (x[:, :200], x[:, 200:])]
        for x in pictures
    ]
    assert places[1][0] - places[0][0] > 60
    assert abs(places[1][1] - places[0][1]) < 15
    with pytest.raises(TrajectoryError) as caught:
        still(cart(), views=("fornt",), **SMALL)
    assert str(caught.value) == "render: views: 'fornt': unknown view; did you mean 'front'?"


@pytest.mark.parametrize("plots", [(), ("q",)])
@pytest.mark.parametrize("count", range(1, 8))
def test_views_and_plots_fill_the_picture(count: int, plots: tuple[str, ...]) -> None:
    """Oracle: every pixel lies in one view, or in the strip of plots."""
    width, height = 840, 420
    covered = np.zeros((height, width), int)
    options = render_options(cart(), views=("front",) * (count - 1), plots=plots)
    for left, bottom, right, top in rectangles(options):
        x0, y0, x1, y1 = (
            round(x) for x in (left * width, bottom * height, right * width, top * height)
        )
        covered[y0:y1, x0:x1] += 1
    split = round((1 - STRIP) * width) if plots else width
    assert (covered[:, :split] == 1).all()
    assert (covered[:, split:] == 0).all()


def test_three_views_leave_no_part_black() -> None:
    image = still(cart(), views=("front", "top"), label=False, **WIDE)
    assert (image.max(axis=-1) > 60).all()


@pytest.mark.parametrize(
    ("views", "plots"), [(("front",), ()), (("front", "top"), ()), ((), ("q",)), (("top",), ("q",))]
)
def test_views_and_plots_are_whole_in_moving_pictures(
    views: tuple[str, ...], plots: tuple[str, ...]
) -> None:
    """Oracle: the picture drawn at once; a moving one is drawn over what rests from the second on."""
    run = cart()
    options = render_options(run, views=views, plots=plots, **WIDE)
    with offscreen(options) as plotter:
        player = Player(plotter, run, options)
        for time in (0.0, 0.1, 0.2, 0.3):
            player.show(time)
            moving = capture(plotter, options, player.draw)
        np.testing.assert_array_equal(moving, capture(plotter, options))


def test_plots_have_a_line_at_the_present_time() -> None:
    run = cart()
    options = render_options(run, plots=("q", "energy"), **{**WIDE, "size": (800, 480)})
    with offscreen(options) as plotter:
        seen = Viewer(plotter, run, options)
        strip = seen.player.strip
        assert strip is not None
        columns = []
        for time in (0.1, 0.4):
            seen.seek(time)
            image = capture(plotter, options, seen.player.draw)[:, 480:].astype(int)
            line = (np.abs(image - [209, 73, 91]).sum(axis=-1) < 30).sum(axis=0)
            columns.append(480 + int(line.argmax()))
            assert line.max() > 200
        assert columns[1] - columns[0] > 40
        for column, time in zip(columns, (0.1, 0.4), strict=True):
            assert strip.time_at(column) == pytest.approx(time, abs=0.01)
        seen.press("Left", columns[0], 240.0)  # a press in a plot chooses the time
        assert seen.time == pytest.approx(0.1, abs=0.01)
        seen.release()
        plotter.window_size = [600, 400]
        seen.resize()
        assert red(capture(plotter, options)[:, :360]).any()
    with pytest.raises(TrajectoryError, match="unknown quantity 'nothing'"):
        still(run, plots=("nothing",), **SMALL)


def test_a_transparent_picture_has_the_body_alone(tmp_path: Path) -> None:
    path = tmp_path / "cart.png"
    image = still(cart(), path, transparent=True, label=False, **{**WIDE, "supersample": 2})
    assert image.shape == (240, 400, 4)
    solid = red(image[..., :3]) & (image[..., 3] == 255)
    assert solid.sum() > 500
    assert (image[..., 3] == 0).mean() > 0.8
    edge = (image[..., 3] > 40) & (image[..., 3] < 215)
    assert red(image[edge][None, :, :3]).all()  # not darkened by the missing background
    with Image.open(path) as picture:
        assert picture.mode == "RGBA"
    with pytest.raises(PysimError) as caught:
        still(cart(), tmp_path / "cart.jpg", transparent=True, **SMALL)
    problem = "a .jpg picture cannot be transparent; use .png or .webp"
    assert str(caught.value) == f"{tmp_path / 'cart.jpg'}: {problem}"
    with pytest.raises(PysimError) as caught:
        movie(cart(), tmp_path / "cart.mp4", transparent=True, **SMALL)
    problem = "a .mp4 movie cannot be transparent; use .webm"
    assert str(caught.value) == f"{tmp_path / 'cart.mp4'}: {problem}"


def test_a_webm_is_transparent(tmp_path: Path) -> None:
    path = tmp_path / "cart.webm"
    movie(cart(), path, transparent=True, label=False, fps=10.0, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the reader leaves its pipes open
        frames = read_frames(
            str(path), pix_fmt="rgba", bits_per_pixel=32, input_params=["-c:v", "libvpx-vp9"]
        )
        width, height = next(frames)["size"]
        pictures = [np.frombuffer(raw, np.uint8).reshape(height, width, 4) for raw in frames]
        frames.close()
    assert len(pictures) == len(frame_times(cart().t, render_options(cart(), fps=10.0)))
    assert (pictures[0][..., 3] < 20).mean() > 0.7
    assert (pictures[0][..., 3] > 235).sum() > 50


@pytest.mark.parametrize("title", ["plain", "a <b>title</b> with $x_1$, \"quotes\" and 'more'", ""])
def test_a_title_is_drawn_as_it_is(title: str) -> None:
    options = render_options(cart(), title=title, **SMALL)
    with offscreen(options) as plotter:
        captions = Player(plotter, cart(), options).captions
        assert captions is not None
        assert captions._name.actor.GetInput() == title.replace("$", "\\$")
        capture(plotter, options)
