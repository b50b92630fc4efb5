"""Levels of a curriculum. Oracle: their rule, written out world by world in Python; equal bits of parts of a batch."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pysim import SceneError, SimulationError
from pysim.environments import Environment
from tests.environments.test_environment import CART_POLE, SEED, TABLE, actions, run, with_table

LEVELS = 4
RISE, FALL = 0.25, -0.25
REWARD = """
[[environment.reward]]
name = "effort"
signal = "last_action"
"""
SLIDES = """
[[environment.end]]
name = "away"
signal = "cart.q"
above = 50
"""


def table(first: int = 1, more: str = "") -> str:
    """Four levels, each a metre farther and with a heavier pole; a push is rewarded by its size."""
    levels = "".join(
        f"""
[[environment.curriculum.level]]
displacement = {{ rail = {k} }}
values = {{ "body.pole.mass" = {0.1 + k / 10:.1f}, "joint.rail.damping" = "uniform({k}, {k + 0.5})" }}
"""
        for k in range(LEVELS)
    )
    text = TABLE.replace('duration = "1 s"', 'duration = "0.2 s"')
    curriculum = f"""
[environment.curriculum]
reward = "effort"
rise = {RISE}
fall = {FALL}
first = {first}
"""
    return text + REWARD + curriculum + levels + more


def scene_of(folder: Path, text: str) -> Path:
    path = with_table(folder, text)
    whole = path.read_text("utf-8").replace("[[joint]]", "[[joint]]\ndamping = 0.0", 1)
    path.write_text(whole, "utf-8")
    return path


def test_levels_rise_and_fall_with_the_mean_reward_of_an_episode(tmp_path: Path) -> None:
    n, length = 40, 10
    environment = Environment(scene_of(tmp_path, table()), n, seed=SEED)
    environment.reset()
    levels = environment.levels
    assert levels is not None
    assert set(levels.tolist()) == {0, 1}
    rng, looped = np.random.default_rng(3), 0
    for _ in range(12):
        before = levels.copy()
        np.testing.assert_allclose(environment.worlds.q[:, 0], before)
        mass = environment.worlds.parameters["body.pole.mass"]
        np.testing.assert_allclose(mass, 0.1 + before / 10, rtol=1e-15)
        damping = environment.worlds.parameters["joint.rail.damping"]
        assert ((damping >= before) & (damping <= before + 0.5)).all()
        size = rng.choice([-1.0, 0.0, 0.2, 1.0, 1.5], n)
        for k in range(length):
            step = environment.step(np.where(k % 2 == 0, 1.5, 0.5)[None, None] * size[:, None])
        assert step.truncated.all()
        environment.reset()
        expected = np.maximum(before + (size > RISE).astype(int) - (size < FALL), 0)
        within = expected < LEVELS
        np.testing.assert_array_equal(levels[within], expected[within])
        looped += int((~within).sum())
        assert (levels < LEVELS).all()
    assert looped > 20


def test_an_episode_that_ends_early_counts_as_a_whole_one(tmp_path: Path) -> None:
    """Actions of 1 for 2 of 10 steps are a mean of 0.2, which rises no level; for 3 they are 0.3."""
    environment = Environment(scene_of(tmp_path, table(first=0, more=SLIDES)), 3, seed=SEED)
    environment.reset()
    for k in range(3):
        environment.worlds.q[2, 0] = 51.0 if k == 2 else 0.0
        environment.worlds.q[1, 0] = 51.0 if k == 1 else 0.0
        step = environment.step(np.ones((3, 1)))
        if step.terminated.any():
            environment.reset(where=step.terminated)
    np.testing.assert_array_equal(environment.levels, [0, 0, 1])
    environment.reset()  # in the middle of episodes, which judges none
    np.testing.assert_array_equal(environment.levels, [0, 0, 1])


def test_a_world_that_rises_from_the_highest_level_begins_at_any(tmp_path: Path) -> None:
    environment = Environment(scene_of(tmp_path, table(first=LEVELS - 1)), 2000, seed=SEED)
    environment.reset()
    assert environment.levels is not None
    top = environment.levels == LEVELS - 1
    assert 400 < top.sum() < 600
    for _ in range(10):
        environment.step(np.ones((2000, 1)))
    environment.reset()
    share = np.bincount(environment.levels[top], minlength=LEVELS) / top.sum()
    np.testing.assert_allclose(share, 1 / LEVELS, atol=0.1)


@pytest.mark.parametrize("single", [False, True])
def test_bits_are_the_same_for_threads_parts_of_a_batch_and_a_saved_one(
    tmp_path: Path, single: bool
) -> None:
    make = partial(Environment, scene_of(tmp_path, table(more=SLIDES)), single=single)
    undivided = make(6, seed=SEED)
    undivided.reset()
    inputs = actions(undivided, 40) + np.array([[1], [-1], [0], [1], [1], [-1]]) / 2
    start = run(undivided, inputs[:15])
    saved = undivided.save()
    expected = [*start, *run(undivided, inputs[15:])]
    assert undivided.levels is not None
    assert len(set(undivided.levels.tolist())) > 1
    again = make(6, seed=1, threads=2)
    again.load(saved)
    for mine, theirs in zip(run(again, inputs[15:]), expected[30:], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(again.levels, undivided.levels)
    for numbers in ([4, 1], [0, 2, 3, 5]):
        part = make(len(numbers), seed=SEED, numbers=numbers, threads=3)
        part.reset()
        for mine, theirs in zip(run(part, inputs[:, numbers]), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs[numbers])
    first = undivided.reset(seed=SEED)
    np.testing.assert_array_equal(first, make(6, seed=SEED).reset())


def test_sampled_sensors_see_the_start_of_their_level(tmp_path: Path) -> None:
    sampled = """
[[sensor]]
name = "place"
type = "pose"
frame = "cart"
period = 0.02
"""
    text = table(first=LEVELS - 1).replace('"pole.q", ', '"place.position.x", ')
    environment = Environment(scene_of(tmp_path, text + sampled), 20, seed=SEED)
    observations = environment.reset()
    assert environment.levels is not None
    np.testing.assert_allclose(observations[:, 0], environment.levels, rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('reward = "effort"', 'reward = "efort"', "no reward 'efort'; did you mean 'effort'"),
        ("first = 1", "first = 4", "first must be below the number of levels, 4"),
        ("rise = 0.25", "rise = -0.5", "fall must be below rise, -0.5, got -0.25"),
        ("{ rail = 2 }", "{ rial = 2 }", "matches no velocity of the scene; did you mean 'rail'"),
        ('"body.pole.mass" = 0.3, ', "", "'body.pole.mass' has a value in some levels only"),
        (
            '"body.pole.mass" = 0.3',
            '"body.pole.mass" = -0.3',
            "is -0.3 in world 0; give a positive number",
        ),
        ('"joint.rail.damping" =', '"joint.rail.dampin" =', "did you mean 'damping'?"),
    ],
)
def test_a_wrong_curriculum_is_reported_with_its_place(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    text = table()
    assert old in text
    with pytest.raises((SceneError, SimulationError), match=re.escape(problem)) as error:
        Environment(scene_of(tmp_path, text.replace(old, new)), 1)
    assert "curriculum" in str(error.value)


def test_numbers_of_levels_are_drawn_by_one_table(tmp_path: Path) -> None:
    other = '[[environment.randomise]]\npath = "body.pole.mass"\nscale = "uniform(1, 2)"\n'
    with pytest.raises(SimulationError, match=r"'body\.pole\.mass' is drawn by another table"):
        Environment(scene_of(tmp_path, table(more=other)), 1)


def test_saved_levels_are_checked(tmp_path: Path) -> None:
    environment = Environment(scene_of(tmp_path, table()), 2)
    environment.reset()
    assert environment.levels is not None
    environment.levels[1] = LEVELS
    saved = environment.save()
    with pytest.raises(SimulationError, match="holds 4 as level, which no environment has"):
        Environment(scene_of(tmp_path, table()), 2).load(saved)
    with pytest.raises(SimulationError, match="is of another environment"):
        Environment(CART_POLE, 2).load(saved)
