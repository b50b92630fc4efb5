"""A run: its schedule, its rows, its file, and how it ends when something goes wrong.

Oracles: closed forms (free fall, the undamped spring), counts done by hand, and runs cut otherwise.
"""

from __future__ import annotations

import copy
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.simulation import Update, output_times, steps_between, summarize

SCENES = Path(__file__).parents[2] / "scenes"

FALL = """
name = "fall"
gravity = [0, 0, -9.81]

[[body]]
name = "stone"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
parent = "world"
child = "stone"
axis = [0, 0, 1]
start = { q = 3.0, v = 1.0 }

[simulation]
duration = 0.25
step = 0.002

[output]
every = 0.01
"""

BLOW_UP = FALL.replace("axis = [0, 0, 1]", "axis = [0, 0, 1]\nstiffness = 1e9\nrest = 0.0")


def scene_file(folder: Path, text: str = FALL) -> Path:
    path = folder / "fall.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("duration", "every", "expected"),
    [
        (1.0, 0.25, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (1.0, 0.3, [0.0, 0.3, 0.6, 0.9, 1.0]),
        (0.1, 1.0, [0.0, 0.1]),
        (0.3, 0.1, [0.0, 0.1, 0.2, 0.3]),  # 3 · 0.1 is a little more than 0.3
    ],
)
def test_output_times_are_multiples_and_the_end(
    duration: float, every: float, expected: list[float]
) -> None:
    times = list(output_times(duration, every))
    np.testing.assert_allclose(times, expected, atol=1e-15)
    assert times[-1] == duration


@pytest.mark.parametrize(
    ("interval", "step", "expected"), [(0.01, 0.001, 10), (0.01, 0.003, 4), (0.01, 0.1, 1)]
)
def test_no_step_is_longer_than_asked_for(interval: float, step: float, expected: int) -> None:
    assert steps_between(7.0, 7.0 + interval, step) == expected


def test_a_stone_falls_as_galileo_says(tmp_path: Path) -> None:
    trajectory = pysim.simulate(pysim.load_scene(scene_file(tmp_path)))
    t = trajectory.t
    assert len(trajectory) == 26
    assert trajectory.complete
    np.testing.assert_allclose(trajectory.q[:, 0], 3 + t - 9.81 / 2 * t**2, rtol=1e-13)
    np.testing.assert_allclose(trajectory.v[:, 0], 1 - 9.81 * t, atol=1e-13)
    np.testing.assert_allclose(trajectory.a[:, 0], -9.81, rtol=1e-13)
    np.testing.assert_allclose(trajectory.energy, trajectory.energy[0], rtol=1e-13)
    np.testing.assert_allclose(trajectory.poses[:, 0, 2], trajectory.q[:, 0], rtol=1e-15)


def test_every_row_is_the_same_whatever_the_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = pysim.load_scene(scene_file(tmp_path))
    whole = pysim.simulate(scene)
    monkeypatch.setattr("pysim.simulation.recorder.ROWS_A_CHUNK", 3)
    parts = pysim.simulate(scene)
    for column in ("t", "q", "v", "a", "kinetic", "potential", "poses"):
        np.testing.assert_array_equal(getattr(whole, column), getattr(parts, column))


@pytest.mark.parametrize("integrator", ["rk4", "generalized_alpha"])
def test_every_row_is_the_same_however_many_outputs_a_call_reaches(
    integrator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"integrator": integrator, "duration": 0.302, "step": 1e-3}
    chosen = {f"simulation.{key}": value for key, value in keys.items()} | {"output.every": 5e-3}
    scene = pysim.load_scene(SCENES / "four_bar.toml", overrides=chosen)
    many = pysim.simulate(scene)
    monkeypatch.setattr("pysim.simulation.record_runs.CALL_TIME", 0.0)
    one = pysim.simulate(scene)
    monkeypatch.setattr("pysim.simulation.fixed_steps.STEPS_A_CALL", 2)
    parts = pysim.simulate(scene)
    assert len(many) == 62
    for column in ("t", "q", "v", "a", "kinetic", "potential", "poses", "loop_wrenches"):
        np.testing.assert_array_equal(getattr(many, column), getattr(one, column))
        np.testing.assert_array_equal(getattr(many, column), getattr(parts, column))


@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
def test_a_run_that_blows_up_keeps_every_output_before(tmp_path: Path) -> None:
    path = scene_file(tmp_path, BLOW_UP)
    overrides = {"output.every": 0.002}
    with pytest.raises(pysim.SimulationError, match="the last valid state") as caught:
        pysim.simulate(pysim.load_scene(path, overrides), tmp_path / "fall.h5")
    with pytest.warns(pysim.PysimWarning, match="incomplete"):
        cut = pysim.load_trajectory(tmp_path / "fall.h5")
    last = float(str(caught.value).split("the last valid state, at ")[1].split(" s")[0])
    assert last > 0.01
    np.testing.assert_allclose(cut.t, np.arange(len(cut)) * 0.002, atol=1e-12)
    np.testing.assert_allclose(cut.t[-1], last, atol=1e-12)


def test_the_file_holds_what_simulate_returns(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path), overrides={"simulation.duration": 0.1})
    returned = pysim.simulate(scene, tmp_path / "fall.h5")
    read = pysim.load_trajectory(tmp_path / "fall.h5")
    assert read.complete
    assert read.scene_text == FALL
    assert read.header.overrides == {"simulation.duration": 0.1}
    assert read.names["coordinates"] == ("slide",)
    assert read.units["q"] == ("m",)
    for column in ("t", "q", "v", "a", "kinetic", "potential", "elastic", "poses"):
        np.testing.assert_array_equal(getattr(read, column), getattr(returned, column))


def test_progress_ends_with_every_step_and_the_whole_duration(tmp_path: Path) -> None:
    updates: list[Update] = []
    pysim.simulate(pysim.load_scene(scene_file(tmp_path)), progress=updates.append)
    assert updates[-1].steps == 125
    assert updates[-1].time == updates[-1].duration == 0.25
    assert updates[-1].speed > 0


@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
def test_a_run_that_diverges_stops_with_an_error(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path, BLOW_UP))
    with pytest.raises(pysim.SimulationError) as caught:
        pysim.simulate(scene, tmp_path / "fall.h5")
    text = str(caught.value)
    assert "joint 'slide' reaches NaN or infinite values at t = 0." in text
    assert "the last valid state, at 0." in text
    assert text.endswith("; reduce simulation.step, now 0.002 [s]")
    with pytest.warns(pysim.PysimWarning, match="incomplete"):
        cut = pysim.load_trajectory(tmp_path / "fall.h5")
    assert not cut.complete
    assert 0 < len(cut) < 26
    assert np.isfinite(cut.q).all()


@pytest.mark.parametrize("given", ["pendulum.toml", None])
def test_an_argument_that_is_not_a_scene_is_rejected_with_a_remedy(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^scene must be a pysim.Scene, got .*load_scene returns$"):
        pysim.simulate(given)


def test_an_interrupt_leaves_a_readable_file_that_is_marked_incomplete(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path), overrides={"simulation.duration": 1e6})

    def stop(update: Update) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pysim.simulate(scene, tmp_path / "fall.h5", progress=stop)
    with pytest.warns(pysim.PysimWarning, match="incomplete"):
        cut = pysim.load_trajectory(tmp_path / "fall.h5")
    assert len(cut) > 1


class Interrupting:
    """A progress at which Ctrl-C comes inside a destructor, where Python prints a KeyboardInterrupt and forgets it."""

    def __init__(self, at: float = 0.0) -> None:
        self.at = at

    def __call__(self, update: Update) -> None:
        if update.time >= self.at:
            Raiser()


class Raiser:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("received")
def test_a_ctrl_c_inside_a_destructor_ends_the_run_of_a_library_too(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path), overrides={"simulation.duration": 1e5})
    with pytest.raises(KeyboardInterrupt):
        pysim.simulate(scene, tmp_path / "fall.h5", Interrupting())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.warns(pysim.PysimWarning, match="incomplete.*, interrupted$"):
        assert len(pysim.load_trajectory(tmp_path / "fall.h5")) > 1


@pytest.mark.usefixtures("received")
def test_a_ctrl_c_at_the_very_end_is_handled_and_the_file_is_complete(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        pysim.simulate(scene, tmp_path / "fall.h5", Interrupting(at=0.25))
    assert pysim.load_trajectory(tmp_path / "fall.h5").complete


@pytest.mark.usefixtures("received")
def test_a_signal_handler_of_the_caller_receives_ctrl_c_at_once_and_stays(tmp_path: Path) -> None:
    received: list[int] = []

    def own(number: int, _frame: object) -> None:
        received.append(number)

    signal.signal(signal.SIGINT, own)
    pysim.simulate(pysim.load_scene(scene_file(tmp_path)), progress=Interrupting(at=0.25))
    assert received == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is own


@pytest.mark.usefixtures("received")
def test_a_run_in_a_thread_leaves_signals_alone(tmp_path: Path) -> None:
    scene, found = pysim.load_scene(scene_file(tmp_path)), []
    thread = threading.Thread(target=lambda: found.append(pysim.simulate(scene)))
    thread.start()
    thread.join()
    assert found[0].complete
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_killed_run_leaves_a_readable_file_that_is_marked_incomplete(tmp_path: Path) -> None:
    scene = scene_file(tmp_path)
    code = (
        "import os, pysim\n"
        f"scene = pysim.load_scene({str(scene)!r}, overrides={{'simulation.duration': 1e6}})\n"
        "kill = lambda update: os.kill(os.getpid(), 9) if update.wall > 2.5 else None\n"
        "pysim.simulate(scene, 'fall.h5', progress=kill)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path)
    assert done.returncode == -9
    with pytest.warns(pysim.PysimWarning, match="incomplete"):
        cut = pysim.load_trajectory(tmp_path / "fall.h5")
    assert len(cut) > 1
    assert np.isfinite(cut.q).all()


def test_an_existing_trajectory_is_replaced_only_on_purpose(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path))
    pysim.simulate(scene, tmp_path / "fall.h5")
    with pytest.raises(pysim.TrajectoryError, match="exists"):
        pysim.simulate(scene, tmp_path / "fall.h5")
    pysim.simulate(scene, tmp_path / "fall.h5", overwrite=True)


def test_the_tool_of_the_summary_is_a_frame_that_moves(tmp_path: Path) -> None:
    wall = '\n[[frame]]\nname = "wall"\nbody = "world"\nat = { xyz = [1, 2, 3] }\n'
    path = scene_file(tmp_path, FALL + wall)
    for frame, expected in ((None, "stone"), ("wall", "wall")):
        updates: list[Update] = []
        overrides = {} if frame is None else {"render.tool": frame}
        scene = pysim.load_scene(path, overrides)
        trajectory = pysim.simulate(scene, progress=updates.append)
        assert summarize(scene, trajectory, updates[-1]).tool == expected


def test_the_summary_counts_steps_and_finds_the_drift(tmp_path: Path) -> None:
    updates: list[Update] = []
    scene = pysim.load_scene(scene_file(tmp_path))
    summary = summarize(scene, pysim.simulate(scene, progress=updates.append), updates[-1])
    assert summary.steps == 125
    assert summary.duration == 0.25
    assert summary.conserves_energy
    assert summary.relative_drift < 1e-12
    assert summary.tool == "stone"
    height = 3 + 0.25 - 9.81 / 2 * 0.25**2
    np.testing.assert_allclose(summary.tool_position, [0, 0, height], rtol=1e-12)


class FirstError(Exception):
    """What ends a run in these tests."""


def raise_first(update: Update) -> None:
    if update.time > 0.1:
        raise FirstError("the first")


def fail(*_: object) -> None:
    raise ValueError("the second")


def test_no_error_of_saving_hides_the_one_that_ended_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = pysim.load_scene(scene_file(tmp_path))
    monkeypatch.setattr("pysim.simulation.recorder.complete_rows", fail)
    with pytest.raises(FirstError) as caught:
        pysim.simulate(scene, tmp_path / "fall.h5", progress=raise_first)
    assert caught.value.__notes__ == ["and the buffered rows could not be recorded: the second"]
    with pytest.warns(pysim.PysimWarning, match="incomplete.*the first"):
        assert len(pysim.load_trajectory(tmp_path / "fall.h5")) == 0


def test_a_file_that_cannot_be_closed_does_not_hide_why_the_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = pysim.load_scene(scene_file(tmp_path))
    monkeypatch.setattr("pysim.trajectory.TrajectoryWriter.close", fail)
    with pytest.raises(FirstError) as caught:
        pysim.simulate(scene, tmp_path / "fall.h5", progress=raise_first)
    assert caught.value.__notes__ == ["and its file could not be closed: the second"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda scene: pickle.loads(pickle.dumps(scene))])
@pytest.mark.parametrize("name", ["driven_pendulum", "four_bar", "falling_box"])
def test_a_scene_that_was_pickled_or_copied_runs_as_itself(name: str, copied: Any) -> None:
    """Oracle: its own run, to the bit."""
    scene = pysim.load_scene(SCENES / f"{name}.toml", {"simulation.duration": 0.1})
    given, own = pysim.simulate(copied(scene)), pysim.simulate(scene)
    np.testing.assert_array_equal(given.q, own.q)
    np.testing.assert_array_equal(given.v, own.v)
    assert given.events.names == own.events.names
