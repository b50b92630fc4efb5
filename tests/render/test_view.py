"""The interactive view without a window: its hand is moved by the test, its clock too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pysim.errors import PysimError
from pysim.render import view
from pysim.render.options import render_options
from pysim.render.view import Viewer
from pysim.render.window import capture, offscreen
from tests.render.scenes import SMALL, cart, red

pytestmark = pytest.mark.render


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    trajectory = cart(render={"trails": ["tip"]})
    options = render_options(trajectory, azimuth=-90.0, fps=10.0, **SMALL)
    with offscreen(options) as plotter:
        yield Viewer(plotter, trajectory, options)


def column(viewer: Viewer) -> float:
    image = capture(viewer.plotter, viewer.options)
    return float(np.argwhere(red(image)).mean(axis=0)[1])


def test_time_runs_only_while_it_plays(viewer: Viewer) -> None:
    viewer.advance(0.2)
    assert viewer.time == 0
    viewer.toggle()
    before = column(viewer)
    viewer.advance(0.2)
    assert viewer.time == pytest.approx(0.2)
    assert column(viewer) > before + 10
    viewer.toggle()
    viewer.advance(0.2)
    assert viewer.time == pytest.approx(0.2)


def test_it_stops_at_the_end_and_plays_again_from_the_start(viewer: Viewer) -> None:
    viewer.toggle()
    viewer.advance(9.0)
    assert (viewer.time, viewer.playing) == (0.5, False)
    viewer.toggle()
    assert (viewer.time, viewer.playing) == (0.0, True)


def test_the_slider_shows_the_time_and_sets_it(viewer: Viewer) -> None:
    viewer.seek(0.3)
    slider = viewer.slider
    assert slider.GetRepresentation().GetValue() == pytest.approx(0.3)
    slider.GetRepresentation().SetValue(0.1)
    slider.InvokeEvent("InteractionEvent")
    assert viewer.time == pytest.approx(0.1)


def test_keys_step_and_change_the_speed(viewer: Viewer) -> None:
    viewer.toggle()
    for key in ("Right", "Right", "Right", "Left"):
        viewer.press(key)
    assert viewer.time == pytest.approx(0.2)
    assert not viewer.playing
    viewer.press("End")
    assert viewer.time == 0.5
    viewer.press("plus")
    assert viewer.speed == 2
    viewer.press("space")
    viewer.advance(0.1)
    assert viewer.time == pytest.approx(0.2)
    for key in ("t", "c", "r"):
        viewer.press(key)
        capture(viewer.plotter, viewer.options)


def test_a_still_is_saved_beside_the_run(
    viewer: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    viewer.seek(0.25)
    assert viewer.save_still() == Path("trajectory_0.250s.png")
    assert (tmp_path / "trajectory_0.250s.png").stat().st_size > 1000


def test_a_window_without_a_display_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(PysimError, match="view: there is no display to open a window on; draw"):
        view(cart())
