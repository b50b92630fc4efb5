"""The window on a display: a program of its own under Xvfb, moved by xdotool, judged by pictures of the screen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pysim.errors import PysimWarning
from pysim.trajectory import load_trajectory
from tests.render.scenes import cart, red

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # [s] until a slow machine has drawn
CODE = "import sys; from pysim.cli import main; sys.exit(main(sys.argv[1:]))"
pytestmark = [
    pytest.mark.render,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("Xvfb") and shutil.which("xdotool")), reason="needs Xvfb and xdotool"
    ),
]


class Screen:
    """X server of its own, and one window on it."""

    def __init__(self, name: str, environment: dict[str, str]) -> None:
        self.name, self.environment = name, environment

    def do(self, *words: object) -> str:
        """Run xdotool, and return its output."""
        run = subprocess.run(
            ["xdotool", *map(str, words)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return run.stdout.strip()

    def picture(self) -> np.ndarray:
        """Return the pixels (height, width, 3) of the screen."""
        from PIL import ImageGrab

        return np.asarray(ImageGrab.grab(xdisplay=self.name).convert("RGB"))

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, what
            time.sleep(0.1)

    def red(self) -> float:
        """Return the column of the red box; NaN where there is none."""
        found = np.argwhere(red(self.picture()))
        return float(found[:, 1].mean()) if len(found) > 100 else float("nan")

    def place_of_red(self, what: str) -> tuple[int, int]:
        """Wait for the red box, and return its column and row; a window that is being drawn may be empty."""
        found = np.argwhere(np.zeros((0, 2)))

        def is_shown() -> bool:
            nonlocal found
            found = np.argwhere(red(self.picture()))
            return len(found) > 100

        self.wait(is_shown, what)
        row, column = found.mean(axis=0).astype(int)
        return int(column), int(row)


@pytest.fixture
def screen() -> Iterator[Screen]:
    with subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-noreset", "-screen", "0", "900x700x24"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        name = f":{server.stdout.readline().strip()}"
        yield Screen(name, {**os.environ, "DISPLAY": name, "PYTHONPATH": str(ROOT)})
        server.terminate()


def test_a_window_is_clicked_dragged_resized_and_closed(screen: Screen, tmp_path: Path) -> None:
    path = tmp_path / "cart.h5"
    cart(render={"size": [640, 360], "azimuth": -90.0, "speed": 0.01}).save(path)
    command = [sys.executable, "-c", CODE, "view", str(path)]
    with subprocess.Popen(command, env=screen.environment, stderr=subprocess.PIPE) as program:
        try:
            screen.wait(
                lambda: bool(screen.do("search", "--onlyvisible", "--name", "^pysim")), "no window"
            )
            window = screen.do("search", "--onlyvisible", "--name", "^pysim").split()[0]
            screen.wait(lambda: screen.red() > 0, "no box")
            screen.do("windowfocus", window)
            screen.do("key", "--window", window, "space")
            first = screen.red()

            def drags_the_track() -> bool:  # again if a window that just opened missed the mouse
                screen.do("mousemove", "--window", window, 200, 332, "mousedown", 1)
                screen.do("mousemove", "--window", window, 400, 332)
                screen.do("mousemove", "--window", window, 505, 332)
                time.sleep(1.0)
                moved = screen.red() > first + 60
                screen.do("mouseup", 1)
                return moved

            screen.wait(drags_the_track, "a drag on the track does not scrub")

            before = screen.picture()[:360, :640]
            screen.do("key", "--window", window, "w")
            screen.do("key", "--window", window, "1")  # along x: the box is in the middle
            screen.wait(lambda: abs(screen.red() - 320) < 60, "a key does not turn the camera")
            assert (screen.picture()[:360, :640] != before).any()

            screen.do("windowsize", window, 860, 640)
            screen.wait(lambda: bool(screen.picture()[630, 850].sum() > 500), "no larger picture")
            screen.wait(lambda: bool(is_blue(screen.picture()[612, 38])), "the button is lost")

            screen.do("key", "--window", window, "Escape")
            assert program.wait(PATIENCE) == 0
            assert program.stderr is not None
            assert program.stderr.read() == b""
        finally:
            program.kill()


def test_the_scene_is_drawn_beside_plots_while_it_plays(screen: Screen, tmp_path: Path) -> None:
    path = tmp_path / "cart.h5"
    cart(render={"size": [640, 360], "azimuth": -90.0, "speed": 0.02}).save(path)
    command = [sys.executable, "-c", CODE, "view", str(path), "--plot", "q"]
    with subprocess.Popen(command, env=screen.environment, stderr=subprocess.PIPE) as program:
        try:
            screen.wait(lambda: screen.red() > 0, "no box")
            first = screen.red()
            screen.wait(lambda: screen.red() > first + 10, "the box does not move")
            for _ in range(12):
                time.sleep(0.1)
                picture = screen.picture()[:360, :640]
                assert (picture.max(axis=-1) > 20).mean() > 0.99
                assert red(picture[:, :384]).sum() > 100
            window = screen.do("search", "--onlyvisible", "--name", "^pysim").split()[0]
            screen.do("windowfocus", window)
            screen.do("key", "--window", window, "Escape")
            assert program.wait(PATIENCE) == 0
        finally:
            program.kill()


def test_a_display_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cart.h5"
    cart(render={"size": [320, 200]}).save(path)
    command = [sys.executable, "-c", CODE, "view", str(path)]
    environment = {**os.environ, "DISPLAY": ":9999", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    remedy = "make a picture with pysim still, or a movie with pysim movie, which need none"
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"error: view: cannot reach the display ':9999'; {remedy}\n"


def is_blue(pixel: np.ndarray) -> bool:
    return bool(int(pixel[2]) > int(pixel[0]) + 60)


SLED = """
name = "sled"
gravity = [0, 0, 0]

[[body]]
name = "box"
shape = { box = { x = 0.4, y = 0.3, z = 0.3 }, density = 100, color = [0.9, 0.1, 0.1] }

[[joint]]
name = "slide"
type = "prismatic"
parent = "world"
child = "box"
axis = [1, 0, 0]
damping = 1.0

[simulation]
duration = 1000.0
step = 0.01

[output]
every = 0.02

[render]
azimuth = -90.0
size = [640, 360]
"""


def test_a_scene_is_watched_while_it_runs_and_a_body_is_pulled(
    screen: Screen, tmp_path: Path
) -> None:
    (tmp_path / "sled.toml").write_text(SLED, "utf-8")
    command = [sys.executable, "-c", CODE, "sled.toml", "--live", "--quiet"]
    with subprocess.Popen(
        command, env=screen.environment, cwd=tmp_path, stderr=subprocess.PIPE
    ) as program:
        try:
            screen.wait(
                lambda: bool(screen.do("search", "--onlyvisible", "--name", "^pysim")), "no window"
            )
            window = screen.do("search", "--onlyvisible", "--name", "^pysim").split()[0]
            screen.do("windowfocus", window)
            first, row = screen.place_of_red("no box")
            screen.do("mousemove", "--window", window, first, row, "mousedown", 1)
            screen.do("mousemove", "--window", window, first + 40, row)
            screen.do("mousemove", "--window", window, first + 80, row)
            screen.wait(lambda: screen.red() > first + 60, "the box is not pulled")
            screen.do("mouseup", 1)
            screen.do("key", "--window", window, "Escape")
            assert program.wait(PATIENCE) == 130
            assert program.stderr is not None
            ended = program.stderr.read().decode()
            assert ended.startswith("interrupted: at t = ")
            assert ended.endswith("; sled.h5 holds the run so far, marked incomplete\n")
        finally:
            program.kill()
    with pytest.warns(PysimWarning, match="incomplete"):
        run = load_trajectory(tmp_path / "sled.h5")
    assert run.q.max() > 0.1
    assert run.a.max() > 1.0


def test_a_live_run_without_a_display_is_rejected_before_anything_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "sled.toml").write_text(SLED, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("DISPLAY", None)
    run = subprocess.run(
        [sys.executable, "-c", CODE, "sled.toml", "--live"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    remedy = "make a picture with pysim still, or a movie with pysim movie, which need none"
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"error: view: there is no display to open a window on; {remedy}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["sled.toml"]
