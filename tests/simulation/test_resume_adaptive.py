"""Runs with adaptive steps, stopped at random segments and resumed.

Oracle: the same run, never stopped: every dataset of the two files is equal, bit for bit.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import pysim
from pysim.diagnosis.stall import StallDetector
from tests.resumed_runs import differing, run_killed, run_to_stop, segments_of
from tests.resumed_scenes import BALLS, EVENT, disc_text

SCENES = Path(__file__).parents[2] / "scenes"
ADAPTIVE = {"simulation.integrator": "dopri5", "simulation.checkpoint": 1e-6}

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


def use_short_calls(patch: pytest.MonkeyPatch) -> None:
    """Let runs of a second have many segments."""
    patch.setattr("pysim.simulation.adaptive_runs.OUTPUTS_A_CALL", 25)
    patch.setattr("pysim.simulation.adaptive_runs.ATTEMPTS_A_CALL", 40)


def assert_resumed_to_the_bit(
    scene: pysim.Scene, folder: Path, stops: int, patch: pytest.MonkeyPatch
) -> None:
    """Stop a run at random segments, resume it each time, and compare its file with that of a whole run."""
    use_short_calls(patch)
    count = segments_of(scene, folder / "whole.h5", patch)
    draw = random.Random(scene.spec.name)
    for _ in range(stops):
        run_to_stop(scene, folder / "run.h5", draw.randrange(1, count), patch)
        resumed = pysim.resume(folder / "run.h5", allow_code=True)
        assert resumed.complete
        assert not differing(folder / "whole.h5", folder / "run.h5")


@pytest.mark.parametrize(
    ("name", "duration"),
    [
        ("double_pendulum", 1.0),
        ("timed_pendulum", 3.0),  # events
        ("catapult", 0.8),  # an event that releases
        ("four_bar", 1.0),  # loops whose rows depend on others
        ("slider_crank", 1.0),
        ("servo_pid", 1.0),  # states of elements
        ("instrumented_top", 0.3),
        ("falling_box", 0.5),  # smooth contacts
        ("tracking_arm", 0.5),
        ("quarter_car", 1.0),
    ],
)
def test_a_run_with_adaptive_runs_is_resumed_to_the_bit(
    name: str, duration: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", {**ADAPTIVE, "simulation.duration": duration})
    assert_resumed_to_the_bit(scene, tmp_path, 2, monkeypatch)


@pytest.mark.parametrize(
    ("every", "event"),
    [(0.02, ""), (0.007, EVENT), (0.05, EVENT), (0.013, EVENT + "stop = true\n")],
    ids=["plain", "at instants", "between instants", "stop"],
)
def test_sampled_blocks_with_noise_and_events_are_resumed_to_the_bit(
    every: float, event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs lie between the instants of the blocks, at them, or at some of them."""
    (tmp_path / "disc.toml").write_text(disc_text("revolute", event).replace("plugins", "#"))
    scene = pysim.load_scene(tmp_path / "disc.toml", {**ADAPTIVE, "output.every": every})
    assert_resumed_to_the_bit(scene, tmp_path, 4, monkeypatch)


@pytest.mark.parametrize("restitution", ["0.4", "1.0"])
def test_bodies_that_bounce_and_come_to_rest_are_resumed_to_the_bit(
    restitution: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "balls.toml").write_text(BALLS.replace("LAW", restitution))
    scene = pysim.load_scene(tmp_path / "balls.toml")
    assert_resumed_to_the_bit(scene, tmp_path, 2, monkeypatch)


def test_a_cradle_is_resumed_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {**ADAPTIVE, "simulation.duration": 2.5}
    scene = pysim.load_scene(SCENES / "newtons_cradle.toml", changes)
    assert_resumed_to_the_bit(scene, tmp_path, 4, monkeypatch)


def test_the_detector_of_stalled_runs_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is resumed again and again must not make a stalled run endless."""
    seen: list[tuple[int, int, int]] = []

    def count(own: StallDetector, *call: object) -> None:
        own.steps, own.calls, own.stiff = own.steps + 3, own.calls + 2, own.stiff + 1
        seen.append((own.steps, own.calls, own.stiff))

    use_short_calls(monkeypatch)
    monkeypatch.setattr(StallDetector, "after_call", count)
    changes = {**ADAPTIVE, "simulation.duration": 1.0}
    scene = pysim.load_scene(SCENES / "double_pendulum.toml", changes)
    run_to_stop(scene, tmp_path / "run.h5", 4, monkeypatch)
    pysim.resume(tmp_path / "run.h5")
    assert seen == [(3 * k, 2 * k, k) for k in range(1, len(seen) + 1)]


def test_a_killed_run_with_adaptive_runs_ends_with_the_same_bits(tmp_path: Path) -> None:
    scene, output = SCENES / "double_pendulum.toml", tmp_path / "run.h5"
    changes = {**ADAPTIVE, "simulation.duration": 60.0}
    pysim.simulate(pysim.load_scene(scene, changes), tmp_path / "whole.h5")
    assert run_killed(scene, output, changes, 15.0, 0.005)
    assert not pysim.load_trajectory(output).complete
    pysim.resume(output)
    assert not differing(tmp_path / "whole.h5", output)
