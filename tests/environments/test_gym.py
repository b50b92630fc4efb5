"""`pysim.gym`. Oracles: Gymnasium's checker and its rules for the three ways to begin again; `Environment`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import PysimWarning, SimulationError
from pysim.environments import Environment

gymnasium = pytest.importorskip("gymnasium")
gym = pytest.importorskip("pysim.gym")
AutoresetMode = gymnasium.vector.AutoresetMode

CART_POLE = Path(__file__).parents[2] / "scenes/environments/cart_pole.toml"
DRAWN = CART_POLE.with_name("gripper.toml")  # whose commands and numbers are drawn
PUSHED = np.ones((4, 1))  # to the right, until every pole has fallen


@pytest.mark.filterwarnings("error")
def test_gymnasiums_checker_finds_nothing() -> None:
    from gymnasium.utils.env_checker import check_env

    env = gym.make(CART_POLE, render_mode="rgb_array")
    check_env(env, skip_render_check=True)
    assert env.reset(seed=1)[0].dtype == np.float32


def test_a_registered_scene_is_made_by_name() -> None:
    gym.register("PysimCartPole-v0", CART_POLE)
    one = gymnasium.make("PysimCartPole-v0")
    many = gymnasium.make_vec("PysimCartPole-v0", 3, vectorization_mode="vector_entry_point")
    assert one.reset(seed=2)[0].shape == (4,)
    assert many.reset(seed=2)[0].shape == (3, 4)
    np.testing.assert_array_equal(many.reset(seed=2)[0][0], one.reset(seed=2)[0])


def test_specifications_have_the_steps_of_an_episode() -> None:
    """Oracle: the step at which Gymnasium's own limit, and the environment, truncate."""
    assert gym.make(CART_POLE).spec.max_episode_steps == 500
    assert gym.make_vec(CART_POLE, 2).spec.max_episode_steps == 500
    still = {"environment.end": [], "environment.duration": 0.2, "environment.action.scale": 0.0}
    gym.register("PysimStill-v0", CART_POLE, overrides=still)
    spec = gymnasium.spec("PysimStill-v0")
    assert spec.max_episode_steps == 10
    one = gymnasium.make("PysimStill-v0")
    five = gymnasium.make_vec(
        "PysimStill-v0", 3, max_episode_steps=5, vectorization_mode="vector_entry_point"
    )
    for env, length in ((one, 10), (five, 5)):
        env.reset(seed=1)
        ends = [np.all(env.step(env.action_space.sample())[3]) for _ in range(length)]
        assert ends == [False] * (length - 1) + [True]


def test_an_option_sets_the_steps_of_an_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: the step at which the environment truncates."""
    monkeypatch.setattr(gymnasium.envs.registration, "registry", {})
    still = {"environment.end": [], "environment.duration": 0.2, "environment.action.scale": 0.0}
    options = {"overrides": still, "max_episode_steps": 13}  # the scene has 10
    gym.register("PysimLong-v0", CART_POLE, **options)
    vector = {"vectorization_mode": "vector_entry_point"}
    made = [
        gym.make(CART_POLE, **options),
        gym.make_vec(CART_POLE, 2, **options),
        gymnasium.make("PysimLong-v0"),
        gymnasium.make_vec("PysimLong-v0", 2, **vector),
    ]
    for env in made:
        assert env.spec.max_episode_steps == 13
        env.reset(seed=1)
        ends = [np.all(env.step(env.action_space.sample())[3]) for _ in range(13)]
        assert ends == [False] * 12 + [True]


GROUPS: dict[str, object] = {
    "environment.critic": ["pole.q"],
    "environment.groups": {"teacher": ["cart.q", "state.v"]},
    "environment.noise": {"state.q": 0.1},
    "environment.history": 2,
}


@pytest.mark.filterwarnings("ignore:.*infinity")  # of groups that have no limit
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_observations_may_be_dictionaries_of_groups(mode: str) -> None:
    """Oracle: states of the worlds; the checker and the spaces of Gymnasium."""
    from gymnasium.utils.env_checker import check_env

    check_env(gym.make(CART_POLE, groups=True, overrides=GROUPS), skip_render_check=True)
    env = gym.make_vec(CART_POLE, 4, groups=True, overrides=GROUPS, autoreset_mode=mode)
    observations, _ = env.reset(seed=1)
    assert {name: x.shape for name, x in observations.items()} == {
        "policy": (4, 8),
        "critic": (4, 9),
        "teacher": (4, 3),
    }
    ended = 0
    for _ in range(40):
        observations, _, terminated, _, info = env.step(PUSHED)
        assert env.observation_space.contains(observations)
        worlds = env.environment.worlds
        seen = np.hstack([worlds.q[:, :1], worlds.v]).astype(np.float32)
        np.testing.assert_array_equal(observations["teacher"], seen)
        np.testing.assert_array_equal(observations["critic"][:, :8], observations["policy"])
        np.testing.assert_array_equal(observations["critic"][:, 8], worlds.q[:, 1].astype("f4"))
        ended += int(terminated.sum())
        for final in info["final_obs"][terminated] if "final_obs" in info else ():
            assert env.single_observation_space.contains(final)
    assert ended


def test_an_environment_without_reward_is_warned_of() -> None:
    none: dict[str, object] = {"environment.reward": []}
    for make in (gym.make, partial(gym.make_vec, num_envs=2)):
        with pytest.warns(
            PysimWarning, match="environment: has no reward, so that all rewards are 0"
        ):
            make(CART_POLE, overrides=none)


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ({"policy": ["pole.q"]}, "'policy' is the group of environment.observations; take another"),
        ({"teacher": []}, "has no signals; name some, or remove it"),
        ({"teacher": ["pole.p"]}, "there is no signal 'pole.p'; did you mean 'pole.v'"),
    ],
)
def test_a_wrong_group_is_reported(groups: dict[str, list[str]], problem: str) -> None:
    with pytest.raises(SimulationError, match=re.escape(problem)):
        gym.make(CART_POLE, overrides={"environment.groups": groups})


@pytest.mark.parametrize(
    "path", sorted(CART_POLE.parent.glob("*.toml")), ids=lambda path: path.stem
)
def test_every_environment_makes_vectors_whose_steps_are_in_their_spaces(path: Path) -> None:
    env = gym.make_vec(path, 2)
    observations, _ = env.reset(seed=1)
    assert observations in env.observation_space
    env.action_space.seed(2)
    for _ in range(5):
        observations, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert observations in env.observation_space
        np.testing.assert_allclose(reward, sum(info["terms"].values()))
    assert not (terminated | truncated).all()


def fall(env: Any) -> tuple[int, tuple[Any, ...]]:
    """Push until world 0 falls; the number of steps and what the last one returned."""
    for k in range(200):
        found = env.step(PUSHED)
        ended = found[2] | found[3]
        if found[2][0]:
            return k, found
        if ended.any() and env.mode == AutoresetMode.DISABLED:
            env.reset(options={"reset_mask": ended})
    raise AssertionError


def test_the_next_step_resets_a_world_and_leaves_its_action_out() -> None:
    env = gym.make_vec(CART_POLE, 4, autoreset_mode="next_step")
    env.reset(seed=3)
    _, (observations, _, terminated, _, _) = fall(env)
    assert abs(observations[0, 1]) > 0.21
    observations, reward, terminated, truncated, _ = env.step(PUSHED)
    assert abs(observations[0, 1]) <= 0.05
    assert (reward[0], terminated[0], truncated[0]) == (0, False, False)
    assert env.environment.steps[0] == 0


def test_the_same_step_resets_a_world_and_keeps_its_last_observation() -> None:
    env = gym.make_vec(CART_POLE, 4, autoreset_mode="same_step")
    env.reset(seed=3)
    _, (observations, reward, terminated, _, info) = fall(env)
    assert abs(observations[0, 1]) <= 0.05
    assert abs(info["final_obs"][0][1]) > 0.21
    np.testing.assert_array_equal(info["_final_obs"], terminated)
    assert all((info["final_obs"][k] is None) != terminated[k] for k in range(4))
    assert reward[0] > 0


def test_without_resets_an_ended_world_has_to_be_reset_by_a_mask() -> None:
    env = gym.make_vec(CART_POLE, 4, autoreset_mode="disabled")
    env.reset(seed=3)
    _, (_, _, terminated, truncated, _) = fall(env)
    with pytest.raises(SimulationError, match="have ended, such as that of world 0"):
        env.step(PUSHED)
    env.reset(options={"reset_mask": terminated | truncated})
    env.step(PUSHED)


def test_all_modes_see_the_same_first_episode() -> None:
    steps = []
    for mode in ("next_step", "same_step", "disabled"):
        env = gym.make_vec(CART_POLE, 4, autoreset_mode=mode)
        env.reset(seed=3)
        steps.append(fall(env)[0])
    assert len(set(steps)) == 1


@pytest.mark.parametrize("make", [gym.make, lambda path: gym.make_vec(path, 3)])
def test_a_reset_without_a_seed_begins_the_next_episodes_of_the_same_worlds(make: Any) -> None:
    env = make(CART_POLE)
    first = [env.reset(seed=3)[0], env.reset()[0], env.reset()[0]]
    worlds = env.environment.worlds
    assert len({x.tobytes() for x in first}) == 3
    env.reset()
    assert env.environment.worlds is worlds  # which take long to build
    again = [env.reset(seed=3)[0], env.reset()[0], env.reset()[0]]
    np.testing.assert_array_equal(again, first)
    assert (make(CART_POLE).reset()[0] != make(CART_POLE).reset()[0]).any()


def episodes(mode: str, count: int) -> list[list[bytes]]:
    """Observations and rewards of each world, episode by episode, under actions that depend on the step in it."""
    env = gym.make_vec(DRAWN, 4, autoreset_mode=mode, overrides={"environment.duration": 1.0})
    observations, _ = env.reset(seed=3)
    streams: list[list[bytes]] = [[x.tobytes()] for x in observations]
    ended = np.zeros(4, bool)
    for _ in range(count):
        before, steps = ended, env.environment.steps
        actions = np.sin(0.7 * steps)[:, None] * np.ones((4, env.single_action_space.shape[0]))
        observations, reward, terminated, truncated, info = env.step(actions)
        ended = terminated | truncated
        final = info.get("final_obs", observations)
        begins = before if mode == "next_step" else np.zeros(4, bool)
        for k in range(4):
            own = final[k] if ended[k] else observations[k]
            streams[k].append(own.tobytes() + (b"" if begins[k] else reward[k].tobytes()))
            if ended[k] and mode == "same_step":
                streams[k].append(observations[k].tobytes())
        if mode == "disabled" and ended.any():
            observations, _ = env.reset(options={"reset_mask": ended})
            for k in np.flatnonzero(ended).tolist():
                streams[k].append(observations[k].tobytes())
    return streams


def test_all_modes_see_the_same_episodes() -> None:
    every = [episodes(mode, 120) for mode in ("next_step", "same_step", "disabled")]
    for worlds in zip(*every, strict=True):
        count = min(map(len, worlds))
        assert count > 120  # four episodes of 25 control steps, and more
        assert worlds[0][:count] == worlds[1][:count] == worlds[2][:count]


def test_a_world_that_begins_in_the_next_step_has_terms_0() -> None:
    env = gym.make_vec(CART_POLE, 4)
    env.reset(seed=3)
    fall(env)
    _, reward, _, _, info = env.step(PUSHED)
    np.testing.assert_array_equal(info["terms"]["upright"], reward)
    assert reward[0] == 0


@pytest.mark.parametrize(
    ("options", "seed", "problem"),
    [
        ({"reset_mask": [True]}, None, r"reset_mask: must be a mask \(2,\) of .* bool \(1,\)"),
        ({"reset_mask": [0, 1]}, None, r"reset_mask: must be a mask .* got int64 \(2,\)"),
        ({"reset_mask": [True, False]}, 3, "reset_mask: and seed do not go together; seed resets"),
        ({"reset_maks": [True, False]}, None, "reset_maks: is no option; did you mean 'reset_ma"),
    ],
)
def test_wrong_options_of_a_reset_are_refused(
    options: dict[str, Any], seed: int | None, problem: str
) -> None:
    env = gym.make_vec(CART_POLE, 2)
    env.reset(seed=0)
    with pytest.raises(SimulationError, match=rf"options\.{problem}"):
        env.reset(seed=seed, options=options)


@pytest.mark.parametrize("make", [lambda: gym.make_vec(CART_POLE, 2), lambda: gym.make(CART_POLE)])
@pytest.mark.parametrize("options", [[1], "reset_mask", 3])
def test_options_that_map_no_names_are_refused(make: Any, options: Any) -> None:
    with pytest.raises(SimulationError, match="options: must map names to values, got"):
        make().reset(options=options)


def test_the_class_of_an_environment_names_its_render_modes() -> None:
    """Gymnasium reads them before it makes one."""
    for kind in (gym.PysimEnv, gym.PysimVectorEnv):
        assert kind.metadata == {"render_modes": ["rgb_array"]}
    assert gym.make(CART_POLE).metadata["render_fps"] == 50
    assert "render_fps" not in gym.PysimEnv.metadata


def test_an_action_of_one_world_has_the_shape_of_its_space() -> None:
    env = gym.make(CART_POLE, single=True)
    env.reset(seed=0)
    with pytest.raises(SimulationError, match=r"action: must have shape \(1,\), got \(\)"):
        env.step(0.5)


def test_infos_have_the_terms_of_the_reward_by_name() -> None:
    env = gym.make_vec(CART_POLE, 2)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.zeros((2, 1)))
    np.testing.assert_array_equal(info["terms"]["upright"], reward)


def test_a_picture_shows_world_0() -> None:
    env = gym.make(CART_POLE, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert picture.std() > 5


def test_pictures_of_a_vector_are_those_of_its_worlds() -> None:
    env = gym.make_vec(CART_POLE, 5, render_mode="rgb_array", render_worlds=[4, 1])
    env.reset(seed=0)
    env.environment.worlds.q[4, 0] = 0.8  # to one side
    pictures = env.render()
    assert len(pictures) == 2
    for picture, world in zip(pictures, (4, 1), strict=True):
        expected = pysim.render.still(env.environment.worlds.scene(world))
        assert np.abs(picture.astype(int) - expected).max() <= 2
    assert np.abs(pictures[0].astype(int) - pictures[1]).max() > 50
    with pytest.raises(SimulationError, match="render_worlds: there is no world 5; they are"):
        gym.make_vec(CART_POLE, 5, render_mode="rgb_array", render_worlds=[5])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"autoreset_mode": "nextstep"}, "autoreset_mode: there is no 'nextstep'; did you mean"),
        ({"autoreset_mode": 3}, "autoreset_mode: there is no 3; known: next_step, same_step, dis"),
        ({"render_mode": "human"}, "render_mode: is 'human'; give \"rgb_array\""),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SimulationError, match=problem):
        gym.make_vec(CART_POLE, 2, **options)


def test_stable_baselines_sees_terminal_observations() -> None:
    pytest.importorskip("stable_baselines3", exc_type=ImportError)
    from pysim.environments.stable_baselines_worlds import StableBaselinesWorlds

    env = StableBaselinesWorlds(Environment(CART_POLE, 4))
    env.seed(3)
    env.reset()
    infos: Any = []
    observations: Any = None
    for _ in range(200):
        observations, _, done, infos = env.step(PUSHED)
        if done.any():
            break
    world = int(np.flatnonzero(done)[0])
    assert abs(infos[world]["terminal_observation"][1]) > 0.21
    assert abs(observations[world, 1]) <= 0.05
    assert not infos[world]["TimeLimit.truncated"]
