"""Environments of `scenes/environments`. Oracles: their tables; controllers written by hand that reach the goal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pysim.environments import Environment

SCENES = Path(__file__).parents[2] / "scenes/environments"
NAMES = sorted(path.stem for path in SCENES.glob("*.toml"))
FALLEN = [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]  # position and quaternion (x, y, z, w), upside down
BOX = slice(2, 9)  # of the gripper's q: lift, closes, then the box

ENDED: dict[
    tuple[str, str], tuple[slice, float | list[float]]
] = {  # numbers of q with which an end holds
    ("anymal", "fell"): (slice(7), FALLEN),
    ("anymal", "low"): (slice(2, 3), 0.2),
    ("cart_pole", "fell"): (slice(1, 2), 0.3),
    ("cart_pole", "left the rail"): (slice(1), -2.5),
    ("cart_pole_swing_up", "left the rail"): (slice(1), 2.5),
    ("go1", "fell"): (slice(7), FALLEN),
    ("go1", "low"): (slice(2, 3), 0.1),
    ("go1_rough", "fell"): (slice(7), FALLEN),
    ("go1_rough", "low"): (slice(2, 3), 0.1),
    ("gripper", "dropped"): (BOX, [0.5, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0]),
    ("humanoid", "jumped"): (slice(2, 3), 2.0),
    ("reacher", "hit the table"): (slice(1, 2), 0.5),
}


@cache
def environment(name: str) -> Environment:
    """Four worlds for all tests: a reset with a seed begins everything anew."""
    return Environment(SCENES / f"{name}.toml", 4)


def test_the_environments_are_those_of_the_documentation() -> None:
    page = (SCENES.parents[1] / "docs/environments.md").read_text("utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_takes_a_page_or_two(name: str) -> None:
    assert len((SCENES / f"{name}.toml").read_text("utf-8").splitlines()) <= 120


@pytest.mark.parametrize("name", NAMES)
def test_random_actions_give_finite_observations_and_rewards_that_differ(name: str) -> None:
    environment_of_scene = environment(name)
    first = environment_of_scene.reset(seed=1)
    assert (first[0] != first[1]).any()  # starts differ
    rng = np.random.default_rng(2)
    rewards = []
    for _ in range(25):
        step = environment_of_scene.step(rng.uniform(-1, 1, (4, environment_of_scene.action_size)))
        assert np.isfinite(step.observations).all()
        assert np.isfinite(environment_of_scene.critic).all()
        assert not environment_of_scene.worlds.lost.any()
        rewards.append(step.reward)
        environment_of_scene.reset(where=step.terminated)
    assert np.isfinite(rewards).all()
    assert np.std(rewards) > 1e-3
    used = np.abs(step.observations).max(axis=0)
    assert (used > 0).mean() > 0.9  # an observation that never changes teaches nothing
    assert used.max() < environment_of_scene.limit


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_ends_at_its_duration(name: str) -> None:
    own = environment(name)
    own.reset(seed=1)
    own.steps[0] = own.length - 1
    step = own.step(np.zeros((4, own.action_size)))
    np.testing.assert_array_equal(step.truncated, [True, False, False, False])
    assert not step.terminated.any()
    assert (own.reset(where=step.truncated) == own.observations).all()
    np.testing.assert_array_equal(own.steps, [0, 1, 1, 1])


def test_every_end_has_a_state_in_which_it_holds() -> None:
    ends = {(name, end) for name in NAMES for end in environment(name).end_names}
    assert ends == set(ENDED)


@pytest.mark.parametrize(("name", "end"), sorted(ENDED))
def test_an_end_terminates_the_episode_of_its_world_alone(name: str, end: str) -> None:
    own = environment(name)
    own.reset(seed=1)
    place, value = ENDED[name, end]
    own.worlds.q[1, place] = value
    step = own.step(np.zeros((4, own.action_size)))
    np.testing.assert_array_equal(step.terminated, [False, True, False, False])


def reward_under(name: str, act: Callable[[Environment, int], np.ndarray], steps: int) -> float:
    """Mean reward of the last control step under a controller."""
    own = environment(name)
    own.reset(seed=3)
    for k in range(steps):
        step = own.step(act(own, k))
        assert not step.terminated.any(), k
    return float(step.reward.mean())


def balanced(own: Environment, _: int) -> np.ndarray:
    q, v = own.worlds.q, own.worlds.v
    return (0.1 * q[:, :1] + 0.2 * v[:, :1] + 4 * q[:, 1:] + v[:, 1:]).clip(-1, 1)


def test_a_regulator_balances_the_cart_pole() -> None:
    assert reward_under("cart_pole", balanced, 300) > 0.99


def swung_up(own: Environment, _: int) -> np.ndarray:
    """Pump energy, as [Åström and Furuta 2000], and balance near the top."""
    (x, angle), (speed, rate) = own.worlds.q.T, own.worlds.v.T
    lean = np.arctan2(np.sin(angle), np.cos(angle))
    missing = 9.81 * 0.5 * (1 - np.cos(angle)) * 0.1 - 0.5 * 0.0333 * rate**2  # [J]
    pump = -np.sign(rate * np.cos(angle)) * missing - 0.6 * x - 0.1 * speed
    near = (np.abs(lean) < 0.4) & (np.abs(rate) < 3)
    regulator = 0.1 * x + 0.25 * speed + 4.5 * lean + 1.1 * rate
    return np.where(near, regulator, pump)[:, None].clip(-1, 1)


def test_pumping_energy_swings_the_pole_up() -> None:
    assert reward_under("cart_pole_swing_up", swung_up, 240) > 1.8


def lifting(own: Environment, k: int) -> np.ndarray:
    """Go down open, close, and raise the box by what is missing."""
    missing = own.worlds.signals["missing"].reshape(4, 1)
    height = own.worlds.q[:, :1] + missing
    down = np.full((4, 1), 0.105)
    target = down if k < 35 else height
    return np.hstack([(target - 0.25) / 0.15, np.full((4, 1), -0.5 if k < 20 else 1.0)])


def test_the_gripper_can_lift_the_box_to_its_goal() -> None:
    assert reward_under("gripper", lifting, 95) > 0.95


def reaching(own: Environment, _: int) -> np.ndarray:
    jacobian = own.worlds.jacobian("tool0", "aligned")[:, :3]
    error = own.worlds.signals["error"][..., None]
    gram = jacobian @ jacobian.transpose(0, 2, 1) + 0.01 * np.eye(3)
    return (2 * jacobian.transpose(0, 2, 1) @ np.linalg.solve(gram, error))[..., 0].clip(-1, 1)


def test_resolved_rates_bring_the_tool_to_its_goal() -> None:
    assert reward_under("reacher", reaching, 49) > 1.9
