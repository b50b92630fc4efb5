"""`pysim check` of scenes with an `[environment]`. Oracle: the environment stepped with the same actions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pysim.cli import main
from pysim.environments import Environment
from pysim.environments.trial import try_environment

CART_POLE = Path(__file__).parents[2] / "scenes/environments/cart_pole.toml"


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = CART_POLE.read_text("utf-8")
    assert old in text
    path = tmp_path / "scene.toml"
    path.write_text(text.replace(old, new), "utf-8")
    return path


def test_a_trial_reports_what_its_steps_met() -> None:
    own, other = Environment(CART_POLE, 3), Environment(CART_POLE, 3)
    trial = try_environment(own, 60, seed=5)
    rng = np.random.default_rng(5)
    seen, rewards, fallen = [other.reset(seed=5)], [], 0
    for _ in range(60):
        step = other.step(rng.uniform(-1, 1, (3, 1)))
        seen.append(step.observations)
        rewards.append(step.reward)
        fallen += int(step.terminated.sum())
        other.reset(where=step.terminated | step.truncated)
    np.testing.assert_array_equal(trial.lowest, np.min(seen, axis=(0, 1)))
    np.testing.assert_array_equal(trial.highest, np.max(seen, axis=(0, 1)))
    np.testing.assert_array_equal(trial.terms[:, :, 0], rewards)
    assert trial.ends.tolist() == [fallen, 0]
    assert fallen > 0
    assert (trial.steps, trial.truncated, trial.lost) == (180, 0, 0)


def test_sizes_ranges_rewards_and_ends_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(CART_POLE)]) == 0
    printed = capsys.readouterr().out
    assert re.search(
        r"environment period 0\.02 s, episodes of 10 s; [\d,]+ control steps/s", printed
    )
    for line in (
        r"action +1 numbers in \[-1, 1\]",
        r"observation 4 numbers",
        r"state\.q +2 +-0\.\d+ +0\.\d+",
        r"upright +0\.\d+ +0\.\d+ +1",
        r"ends +fell \d+, left the rail 0, duration 0, in 1600 control steps",
    ):
        assert re.search(line, printed), line
    trial = try_environment(Environment(CART_POLE, 16), 100)
    assert f"state.q      2     {trial.lowest[:2].min():.3g}" in printed


def test_the_report_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", str(CART_POLE)]) == 0
    report = json.loads(capsys.readouterr().out)["environment"]
    trial = try_environment(Environment(CART_POLE, 16), 100)
    assert report["observations"][1]["highest"] == trial.highest[2:].max()
    assert report["rewards"][0]["mean"] == trial.terms.mean()
    assert report["ends"] == {"fell": trial.ends[0], "left the rail": 0}
    assert (report["action_size"], report["observation_size"], report["steps"]) == (1, 4, 1600)


def test_a_scene_without_an_environment_has_no_such_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", str(CART_POLE.parents[1] / "pendulum.toml")]) == 0
    assert "environment" not in capsys.readouterr().out


def test_an_observation_that_reaches_the_limit_names_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(tmp_path, '["state.q", "state.v"]', '["state.q", "state.v"]\nlimit = 0.5')
    assert main(["check", "--strict", str(path)]) == 3
    out = " ".join(capsys.readouterr().out.split())
    place = r"scene\.toml:57:28: environment\.observations\[1\]: 'state\.v' reaches ±0\.5"
    assert re.search(rf"{place} .* raise environment\.limit", out)
    assert "observations[0]" not in out


def test_an_end_that_holds_as_episodes_begin_names_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(tmp_path, "below = -0.21", "below = 0.2")
    assert main(["check", "--strict", str(path)]) == 3
    out = " ".join(capsys.readouterr().out.split())
    problem = r"'fell' ends 16\d\d of 16\d\d episodes in their first control step; change below"
    assert re.search(rf"scene\.toml:68:1: environment\.end\[0\]: {problem}", out)
    assert "environment.end[1]" not in out


def test_a_mistake_in_the_table_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(tmp_path, '["state.q", "state.v"]', '["state.q", "state.w"]')
    assert main(["check", str(path)]) == 2
    assert re.search(
        r"scene\.toml:57:28: .*no signal 'state\.w'; did you mean", capsys.readouterr().err
    )


def test_options_change_the_environment_that_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(CART_POLE), "--set", "environment.duration=0.4"]) == 0
    assert "episodes of 0.4 s" in capsys.readouterr().out
