"""Mistakes of people who begin with pysim are errors or warnings that name what they wrote.

Oracle: the texts of the messages; numbers of a scene that mean what they say have none.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim import PysimError, SceneError
from pysim.environments import Environment
from pysim.environments.learning_settings import check_rewards

if TYPE_CHECKING:
    from pathlib import Path

BODY = """[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
"""
ACTED = (
    BODY
    + """[[signal]]
name = "u"
type = "input"
[[sensor]]
name = "s"
type = "coordinates"
coordinates = ["hinge"]
[[actuator]]
joint = "hinge"
type = "force"
command = "u"
[environment]
period = 0.02
duration = 10
action = { input = "u", scale = 1.0 }
observations = ["s.q"]
"""
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("value", "symbol"),
    [
        ("30 degrees", "30 deg"),
        ("30 Degree", "30 deg"),
        ("0.5 turns", "0.5 rev"),
        ("0.3 radians", "0.3 rad"),
    ],
)
def test_a_unit_that_is_a_word_is_answered_with_its_symbol_once(
    tmp_path: Path, value: str, symbol: str
) -> None:
    unit = value.split()[1]
    with pytest.raises(SceneError) as caught:
        pysim.load_scene(written(tmp_path, BODY + f'start = "{value}"\n'))
    expected = f'joint[0].start: unknown unit {unit!r}; write "{symbol}"'
    assert str(caught.value).endswith(expected)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "symbol"),
    [
        ("duration", "2 seconds", "2 s"),
        ("duration", "5 minutes", "5 min"),
        ("step", "1 millisecond", "1 ms"),
    ],
)
def test_words_of_other_units_have_symbols_too(
    tmp_path: Path, key: str, value: str, symbol: str
) -> None:
    text = BODY + f'[simulation]\n{key} = "{value}"\n'
    with pytest.raises(SceneError, match=re.escape(f'write "{symbol}"')):
        pysim.load_scene(written(tmp_path, text))


def test_a_word_of_another_dimension_is_answered_with_the_unit_of_the_key(tmp_path: Path) -> None:
    text = BODY + '[simulation]\nduration = "2 meters"\n'
    with pytest.raises(SceneError, match=r"unknown unit 'meters'; write s$"):
        pysim.load_scene(written(tmp_path, text))


@pytest.mark.parametrize("kind", ["waypoints", "table", "spline"])
def test_times_that_do_not_increase_are_named_by_their_key(tmp_path: Path, kind: str) -> None:
    text = f'[[signal]]\nname = "w"\ntype = "{kind}"\nt = [0, 2, 1]\nvalues = [0, 1, 2]\n'
    problem = r"s\.toml:13:5: signal\[0\]\.t: times must increase, got 1 after 2; sort the times$"
    with pytest.raises(SceneError, match=problem):
        pysim.load_scene(written(tmp_path, BODY + text))


@pytest.mark.parametrize(
    "load",
    [pysim.load_scene, pysim.load_model, pysim.Worlds, lambda path: Environment(path, 1)],
)
def test_a_scene_may_be_named_in_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: object
) -> None:
    package = tmp_path / "robots"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>robots</name></package>", "utf-8")
    written(package, ACTED)
    monkeypatch.chdir(tmp_path)
    assert callable(load)
    assert load("package://robots/s.toml") is not None
    with pytest.raises(
        PysimError, match=r"^'package://other/s\.toml': there is no package 'other'"
    ):
        load("package://other/s.toml")


def test_a_period_in_milliseconds_is_named_and_not_the_duration(tmp_path: Path) -> None:
    text = ACTED.replace("period = 0.02", "period = 20")
    with pytest.raises(PysimError) as caught:
        Environment(written(tmp_path, text), 1)
    assert str(caught.value).endswith(
        "environment.period: 20 s is longer than an episode of 10 s; take less, such as 0.02 s if "
        "milliseconds were meant"
    )


def test_an_environment_without_a_reward_is_not_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pysim.cli import main

    path = written(tmp_path, ACTED)
    with pytest.raises(PysimError, match="environment: has no reward, so that nothing can be l"):
        check_rewards(Environment(path, 1))
    main(["check", str(path)])
    assert "has no reward, so that nothing can be learned" in capsys.readouterr().out
    reward = '[[environment.reward]]\nname = "upright"\nsignal = "s.q"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rewards(Environment(written(tmp_path, ACTED + reward), 1))


def test_numbers_that_are_meant_have_no_message(tmp_path: Path) -> None:
    text = BODY + 'start = "30 deg"\n[simulation]\nduration = "100 ms"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene = pysim.load_scene(written(tmp_path, text))
    np.testing.assert_allclose(scene.state.q, np.deg2rad(30))
