"""Environments of scenes. Oracles: rewards, ends and observations recomputed from `Worlds` and NumPy; equal bits."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pysim import SceneError, SimulationError, Worlds, _engine
from pysim.controllers import Controller, controller, signal
from pysim.environments import Environment
from pysim.environments.draws import philox_uniforms
from tests.robots import MJCF_ARM

SCENES = Path(__file__).parents[2] / "scenes/environments"
CART_POLE = SCENES / "cart_pole.toml"
SEED = 7


def actions(environment: Environment, count: int, seed: int = SEED) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (count, len(environment), environment.action_size))


def run(environment: Environment, given: np.ndarray) -> list[np.ndarray]:
    """Observations and rewards of steps, with those that end beginning again."""
    found = []
    for action in given:
        step = environment.step(action)
        done = step.terminated | step.truncated
        found += [step.reward, environment.reset(where=done) if done.any() else step.observations]
    return found


def with_table(tmp_path: Path, text: str, scene: Path = CART_POLE) -> Path:
    """The scene with another `[environment]` table."""
    whole = scene.read_text("utf-8")
    start, end = whole.index("[environment]"), whole.index("[simulation]")
    path = tmp_path / "scene.toml"
    path.write_text(whole[:start] + text + "\n" + whole[end:], "utf-8")
    return path


TABLE = """
[environment]
period = "20 ms"
duration = "1 s"
action = { input = "push", scale = 4.0, offset = 0.5, range = [-2, 2] }
observations = ["pole.q", "state.v", "last_action", "action_rate"]
scales = { "state.v" = [0.5, 0.25] }
"""


def test_observations_rewards_and_ends_are_those_of_worlds_stepped_by_hand() -> None:
    environment = Environment(CART_POLE, 5)
    environment.reset(seed=SEED)
    by_hand = Worlds(CART_POLE, 5)
    by_hand.q[:], by_hand.v[:] = environment.worlds.q, environment.worlds.v
    for action in actions(environment, 60):
        step = environment.step(action)
        by_hand.inputs["push"][:] = 10 * action
        by_hand.step(seconds=0.02)
        expected = np.hstack([by_hand.q, by_hand.v]).astype(np.float32)
        np.testing.assert_array_equal(step.observations, expected)
        reward = np.exp(-(by_hand.q[:, 1] ** 2) / 0.1)
        np.testing.assert_allclose(step.reward, reward, rtol=1e-15)
        ended = (np.abs(by_hand.q[:, 1]) > 0.21) | (np.abs(by_hand.q[:, 0]) > 2.4)
        np.testing.assert_array_equal(step.terminated, ended)


def test_an_action_is_clipped_scaled_and_remembered(tmp_path: Path) -> None:
    environment = Environment(with_table(tmp_path, TABLE), 2)
    environment.reset()
    environment.step([[3.0], [-1.0]])
    np.testing.assert_array_equal(environment.worlds.inputs["push"], [[8.5], [-3.5]])
    step = environment.step([[1.0], [-2.0]])
    assert environment.observation_names == [
        "pole.q",
        "state.v[0]",
        "state.v[1]",
        "last_action",
        "action_rate",
    ]
    np.testing.assert_array_equal(step.observations[:, 3:], [[1, -1], [-2, -1]])
    v = environment.worlds.v
    np.testing.assert_array_equal(step.observations[:, 1:3], (v * [0.5, 0.25]).astype(np.float32))


def test_an_episode_is_truncated_at_its_duration_and_begins_anew(tmp_path: Path) -> None:
    environment = Environment(with_table(tmp_path, TABLE), 3)
    environment.reset()
    for k in range(50):
        step = environment.step(np.zeros((3, 1)))
        assert step.truncated.all() == (k == 49)
        assert not step.terminated.any()
    environment.reset(where=[1])
    np.testing.assert_array_equal(environment.steps, [50, 0, 50])
    np.testing.assert_array_equal(environment.worlds.t, [1.0, 0.0, 1.0])


def test_history_holds_past_observations_the_oldest_first(tmp_path: Path) -> None:
    environment = Environment(with_table(tmp_path, TABLE + "history = 3\n"), 2)
    seen = [environment.reset().reshape(2, 3, 5)]
    np.testing.assert_array_equal(seen[0][:, 0], seen[0][:, 2])
    for action in actions(environment, 3):
        seen += [environment.step(action).observations.reshape(2, 3, 5)]
    np.testing.assert_array_equal(seen[3][:, 0], seen[1][:, 2])
    np.testing.assert_array_equal(seen[3][:, 1], seen[2][:, 2])


def test_noise_is_uniform_within_its_bounds_and_the_critic_sees_none(tmp_path: Path) -> None:
    text = TABLE + 'noise = { "pole.q" = 0.3 }\ncritic = ["pole.q"]\n'
    environment = Environment(with_table(tmp_path, text), 4000)
    observed = environment.reset()[:, 0]
    q = environment.worlds.q[:, 1]
    noise = observed - q
    assert np.abs(noise).max() <= 0.3 + 1e-6
    assert abs(noise.mean()) < 4 * 0.3 / np.sqrt(3 * 4000)
    assert abs(noise.std() - 0.3 / np.sqrt(3)) < 0.01
    np.testing.assert_array_equal(environment.critic[:, -1], q.astype(np.float32))


def test_uniform_numbers_depend_on_world_step_and_use_alone() -> None:
    key = np.array([3.0, 5.0, 7.0])
    u = philox_uniforms(key, [4, 5, 6], 2, 9)
    np.testing.assert_array_equal(u[1], philox_uniforms(key[1:2], 5, 2, 9)[0])
    np.testing.assert_array_equal(u[:, :5], philox_uniforms(key, [4, 5, 6], 2, 5))
    assert len(np.unique(np.concatenate([u, philox_uniforms(key, [4, 5, 6], 3, 9)]))) == 54
    many = philox_uniforms(np.arange(1000.0), 0, 0, 20)
    assert abs(many.mean() - 0.5) < 0.01
    assert np.abs(np.corrcoef(many.T) - np.eye(20)).max() < 0.15


OFTEN: dict[
    str, dict[str, object]
] = {  # within 12 control steps everything is drawn, and episodes end
    "cart_pole": {"environment.duration": 0.16},
    "go1": {
        "environment.duration": 0.16,
        "environment.command[0].every": "uniform(0.04, 0.1)",
        "environment.push[0].every": "uniform(0.04, 0.1)",
        "environment.randomise[0].every": 0.06,
    },
    "gripper": {"environment.duration": 0.32},
    "humanoid": {"environment.duration": 0.32},
    "reacher": {"environment.duration": 0.32, "environment.command[0].every": 0.12},
}


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", OFTEN)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_bits_are_the_same_for_threads_parts_of_a_batch_and_a_saved_one(
    name: str, single: bool
) -> None:
    make = partial(Environment, SCENES / f"{name}.toml", overrides=OFTEN[name], single=single)
    whole = make(6, seed=SEED)
    whole.reset()
    inputs = actions(whole, 12)
    start = run(whole, inputs[:5])
    saved = whole.save()
    expected = [*start, *run(whole, inputs[5:])]
    again = make(6, seed=1, threads=2)
    again.load(saved)
    for mine, theirs in zip(run(again, inputs[5:]), expected[10:], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for numbers in ([4, 1], [0, 2, 3, 5]):
        part = make(len(numbers), seed=SEED, numbers=numbers, threads=3)
        part.reset()
        for mine, theirs in zip(run(part, inputs[:, numbers]), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs[numbers])


def test_one_number_of_a_signal_is_named_as_in_controllers(tmp_path: Path) -> None:
    text = TABLE.replace('"pole.q", "state.v"', '"state.q.hinge", "state.v[0]", "tip.position.z"')
    text = (
        text.replace('{ "state.v" = [0.5, 0.25] }', '{ "state.v[0]" = 0.5 }')
        + """
[[environment.end]]
name = "low"
signal = "tip.position.z"
below = 0.999
[[sensor]]
name = "tip"
type = "pose"
frame = "pole"
at = { xyz = [0, 0, 1] }
"""
    )
    environment = Environment(with_table(tmp_path, text), 3)
    environment.reset()
    step = environment.step(np.full((3, 1), 2.0))
    q, v = environment.worlds.q, environment.worlds.v
    expected = np.stack([q[:, 1], 0.5 * v[:, 0], np.cos(q[:, 1])], axis=1).astype(np.float32)
    np.testing.assert_allclose(step.observations[:, :3], expected, rtol=1e-7)
    np.testing.assert_allclose(environment.worlds.signals["tip.position.z"], np.cos(q[:, 1]))
    np.testing.assert_array_equal(step.terminated, np.cos(q[:, 1]) < 0.999)
    with pytest.raises(SimulationError, match=r"no signal 'state.q\[2\]'; did you mean 'state.q'"):
        Environment(with_table(tmp_path, text.replace("state.q.hinge", "state.q[2]")), 1)


def test_a_seed_begins_everything_again() -> None:
    environment = Environment(CART_POLE, 3)
    first = environment.reset(seed=4)
    environment.reset()
    assert (environment.reset() != first).all()
    np.testing.assert_array_equal(environment.reset(seed=4), first)


@pytest.mark.parametrize("name", ["cart_pole", "go1"])
def test_a_seed_keeps_the_arrays_that_learners_share(name: str) -> None:
    """Oracle: worlds that are made with the seed."""
    scene = SCENES / f"{name}.toml"
    environment = Environment(scene, 3, seed=1)
    environment.reset()
    run(environment, actions(environment, 3))
    worlds, q, steps = environment.worlds, environment.worlds.q, environment.steps
    other = Environment(scene, 3, seed=4)
    np.testing.assert_array_equal(environment.reset(seed=4), other.reset())
    for mine, theirs in zip(
        run(environment, actions(other, 5)), run(other, actions(other, 5)), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    assert environment.worlds is worlds
    assert environment.worlds.q is q
    assert environment.steps is steps
    assert environment.worlds.scene().settings.seed == 4


def test_the_engine_reads_a_plan_by_the_names_of_its_fields() -> None:
    plan = Environment(CART_POLE, 1).plan
    fields = {name: getattr(plan, name) for name in vars(plan) if name != "limit"}
    with pytest.raises(AttributeError, match="limit"):
        _engine.EnvironmentTables(SimpleNamespace(**fields), worlds=1, single=True)
    other = (plan.rewards[0]._replace(kernel="largest"),)
    with pytest.raises(ValueError, match="there is no kernel 'largest'"):
        _engine.EnvironmentTables(replace(plan, rewards=other), worlds=1, single=True)


def test_commands_are_drawn_in_time_and_pushes_change_velocities(tmp_path: Path) -> None:
    text = TABLE.replace('"push", scale', '"push", scale').replace(
        '"last_action"', '"goal", "last_action"'
    )
    text += """
[[environment.command]]
input = "goal"
values = ["uniform(2, 3)"]
every = "0.1 s"
[[environment.push]]
velocity = { rail = "normal(5, 0)" }
every = "0.2 s"
[[signal]]
name = "goal"
type = "input"
"""
    environment = Environment(with_table(tmp_path, text), 4)
    environment.reset()
    goals, speeds = [], []
    for _ in range(11):
        goals.append(environment.observations[:, 3].copy())
        environment.step(np.zeros((4, 1)))
        speeds.append(environment.worlds.v[:, 0].copy())
    assert ((goals[0] >= 2) & (goals[0] <= 3)).all()
    assert len(np.unique(goals[0])) == 4
    np.testing.assert_array_equal(goals[0], goals[4])
    assert (goals[5] != goals[4]).all()
    assert (speeds[9] - speeds[8] > 4.5).all()
    assert (np.abs(speeds[8] - speeds[7]) < 0.5).all()


DRAWN = """
[[environment.push]]
velocity = { rail = "uniform(4.9, 5.1)" }
every = "uniform(0.1, 0.3)"
"""


def pushes(environment: Environment, steps: int) -> np.ndarray[Any, Any]:
    """Return whether worlds are pushed in control steps (steps, worlds)."""
    found, before = [], environment.worlds.v[:, 0].copy()
    for _ in range(steps):
        environment.step(np.zeros((len(environment), 1)))
        found.append(environment.worlds.v[:, 0] - before > 4)
        before = environment.worlds.v[:, 0].copy()
    return np.array(found)


def test_intervals_between_pushes_are_drawn_in_each_world(tmp_path: Path) -> None:
    scene = with_table(tmp_path, TABLE + DRAWN)
    environment = Environment(scene, 40)
    environment.reset(seed=SEED)
    pushed = pushes(environment, 60)
    times = [np.flatnonzero(own) for own in pushed.T]
    intervals = np.concatenate([np.diff(own, prepend=-1) for own in times])
    assert set(intervals) == set(range(5, 16))  # control steps of 20 ms
    assert abs(intervals.mean() - 10) < 0.5
    assert len({tuple(own) for own in times}) == 40
    environment.reset(seed=SEED)
    np.testing.assert_array_equal(pushes(environment, 20), pushed[:20])
    saved, other = environment.save(), Environment(scene, 40)
    other.load(saved)
    np.testing.assert_array_equal(pushes(other, 20), pushed[20:40])
    few = Environment(scene, 2, seed=SEED, numbers=[7, 3])
    few.reset()
    np.testing.assert_array_equal(pushes(few, 20), pushed[:20, [7, 3]])


@pytest.mark.parametrize("every", ["uniform(1e20, 2e20)", "uniform(1e300, 1.5e300)"])
def test_times_between_pushes_beyond_all_steps_push_no_world(tmp_path: Path, every: str) -> None:
    text = TABLE + DRAWN.replace("uniform(0.1, 0.3)", every)
    environment = Environment(with_table(tmp_path, text), 3)
    environment.reset(seed=SEED)
    assert not pushes(environment, 10).any()


def test_a_lost_world_is_terminated_with_reward_0() -> None:
    environment = Environment(CART_POLE, 3)
    environment.reset()
    environment.worlds.v[1] = np.nan
    with pytest.warns(match="1 of 3 worlds are lost, world 1"):
        step = environment.step(np.zeros((3, 1)))
    np.testing.assert_array_equal(step.terminated, [False, True, False])
    assert step.reward[1] == 0
    assert np.isfinite(environment.reset(where=step.terminated)).all()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"pole.q"', '"pole.w"', r"observations\[0\]: there is no signal 'pole.w'; did you mean"),
        (
            '"push"',
            '"pusch"',
            "action.input: 'pusch' is no input of the scene; did you mean 'push'",
        ),
        ("scale = 4.0", "scale = [1, 2]", "action.scale: has 2 numbers, .* has 1; give one"),
        ("[-2, 2]", "[2, -2]", "range must ascend"),
        ('"1 s"', "1e29", r"duration: 1e\+29 s is more than 1e\+09 control periods; take less"),
        ("scales", "history = 1001\nscales", "history: must be at most 1000, got 1001"),
        ('"20 ms"', '"15 ms"', "period: 0.015 s is no whole number of steps of 0.01 s; take 0.02"),
        ('"1 s"', '"1.01 s"', "duration: 1.01 s is no whole number of control periods of 0.02 s"),
        (
            '["pole.q", "state.v", "last_action", "action_rate"]',
            "[]",
            r"must not be empty, got \[\]",
        ),
        ('{ "state.v" = [0.5, 0.25] }', '{ "rail" = 1 }', "scales.rail: is no observation"),
        (
            "offset = 0.5",
            'offset = "home"',
            "action.offset: there is no keyframe 'home', and the scene has none; give numbers",
        ),
        ('"action_rate"]', '"pole.q"]', r"observations\[3\]: 'pole.q' is listed twice; remove one"),
        ("duration", "duratoin", "environment.duratoin: unknown key; did you mean 'duration'"),
    ],
)
def test_a_mistake_names_table_line_and_remedy(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    path = with_table(tmp_path, TABLE.replace(old, new))
    with pytest.raises((SceneError, SimulationError), match=rf"scene.toml:\d+:\d+: .*{problem}"):
        Environment(path, 2)


END = '[[environment.end]]\nname = "fell"\nsignal = "pole.q"\nabove = 0.2\n'
AIM = '[[environment.command]]\ninput = "aim"\nvalues = [1]\n'
GIVEN = '[[signal]]\nname = "aim"\ntype = "input"\n'
TERM = '[[environment.reward]]\nname = "falls"\nsignal = "fell"\n'


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (END + "below = 0.5", "every number is below 0.5 or above 0.2; exchange them"),
        (END + 'below = "3 deg"', "cannot be converted to the unit of the signal; give the number"),
        (END.replace("fell", "pole.v"), "name: 'pole.v' is a signal; take another name"),
        (END + TERM + "kernel = { norm = 2 }", "kernel: 'fell' is an end, .* leave kernel out"),
        (END + TERM.replace("fell", "felll"), "no signal 'felll'; did you mean 'fell'"),
        (AIM * 2 + GIVEN, r"command\[1\].input: 'aim' is drawn by another command; leave one out"),
        ("[[environment.push]]\nvelocity = {}\nevery = 1", "push.*velocity: must not be empty"),
        ("[[environment.push]]\nvelocity = {}\nevery = inf", "push.*every: must be positive, or a"),
        (
            "[environment.start]\nvelocity = { rail = 1 }",
            r'velocity.rail: must be a distribution in quotes, "uniform\(-1, 1\)", got 1',
        ),
    ],
)
def test_a_mistake_of_a_list_of_tables_names_table_line_and_remedy(
    tmp_path: Path, tables: str, problem: str
) -> None:
    path = with_table(tmp_path, TABLE + tables)
    with pytest.raises((SceneError, SimulationError), match=rf"scene.toml:\d+:\d+: .*{problem}"):
        Environment(path, 2)


def test_adaptive_steps_need_a_step_and_double_precision(tmp_path: Path) -> None:
    text = CART_POLE.read_text("utf-8").replace("semi_implicit", "dopri5")
    path = tmp_path / "scene.toml"
    path.write_text(text, "utf-8")
    assert Environment(path, 1).length == 500
    with pytest.raises(SimulationError, match="dtype: 'dopri5' makes steps in double precision"):
        Environment(path, 1, single=True)
    path.write_text(text.replace("step = 0.01", ""), "utf-8")
    problem = r"toml:54:10: environment\.period: steps of 'dopri5' have no fixed length; set sim"
    with pytest.raises(SimulationError, match=problem):
        Environment(path, 1)


STARTS = """
[environment.start]
keyframe = ["left", "right", "right"]
[keyframes]
left = { start = { rail = -1.0 } }
right = { start = { rail = 1.5 } }
"""


def test_each_start_draws_one_of_several_keyframes(tmp_path: Path) -> None:
    path = with_table(tmp_path, TABLE + STARTS)
    environment = Environment(path, 300, seed=SEED)
    starts = []
    for _ in range(2):
        environment.reset()
        starts.append(np.array(environment.worlds.q[:, 0]))
    assert set(np.unique(starts)) == {-1.0, 1.5}
    assert np.mean(np.array(starts) > 0) == pytest.approx(2 / 3, abs=0.05)  # named twice
    assert (starts[0] != starts[1]).any()  # drawn anew
    some = Environment(path, 2, seed=SEED, numbers=[7, 250])
    some.reset()
    np.testing.assert_array_equal(some.worlds.q[:, 0], starts[0][[7, 250]])


COMMANDED = """
[[model]]
file = "arm.xml"
[[sensor]]
name = "arm"
type = "coordinates"
coordinates = ["shoulder", "elbow"]
[environment]
period = 0.04
duration = 1.0
observations = ["arm.q"]
action = { input = "ctrl", offset = "raised" }
start = { keyframe = "raised" }
[simulation]
step = 0.004
"""
SERVOS = """
[[signal]]
name = "target"
type = "input"
unit = "rad"
size = 2
[[actuator]]
name = "second"
type = "position_servo"
joint = "elbow"
command = "target[1]"
kp = 9.0
[[actuator]]
name = "first"
type = "position_servo"
joint = "shoulder"
command = "target[0]"
kp = 9.0
[keyframes.bent]
start = { elbow = 0.4 }
"""


def test_episodes_and_actions_begin_at_a_keyframe_of_the_robots_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF_ARM, "utf-8")
    path = tmp_path / "scene.toml"
    path.write_text(COMMANDED, "utf-8")
    environment = Environment(path, 2)
    environment.reset()
    np.testing.assert_array_equal(environment.worlds.inputs["ctrl"], [[0.5, 0.1]] * 2)
    np.testing.assert_array_equal(environment.worlds.q, [[0.6, 0.3]] * 2)


def test_an_action_of_0_commands_the_positions_of_a_keyframe(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF_ARM, "utf-8")
    path = tmp_path / "scene.toml"
    path.write_text(COMMANDED.replace('"ctrl"', '"target"') + SERVOS, "utf-8")
    for keyframe, target in (("raised", [0.6, 0.3]), ("bent", [0.0, 0.4])):
        environment = Environment(path, 1, {"environment.action.offset": keyframe})
        environment.reset()
        np.testing.assert_array_equal(environment.worlds.inputs["target"], [target])
    path.write_text(
        path.read_text("utf-8")
        .replace('"position_servo"', '"velocity_servo"')
        .replace("kp", "kd")
        .replace('unit = "rad"', 'unit = "rad/s"'),
        "utf-8",
    )
    with pytest.raises(SimulationError, match="offset: keyframe 'raised' has no values for 2 of"):
        Environment(path, 1)


def test_a_keyframe_that_is_missing_among_several_is_named(tmp_path: Path) -> None:
    path = with_table(tmp_path, TABLE + STARTS.replace('"right"]', '"rihgt"]'))
    with pytest.raises(
        SimulationError, match=r"start\.keyframe: there is no keyframe 'rihgt'; did"
    ):
        Environment(path, 2)


def test_a_reward_that_is_not_finite_names_its_table(tmp_path: Path) -> None:
    text = (
        TABLE + '[[environment.reward]]\nname = "far"\nsignal = "cart.q"\nkernel = { norm = 2 }\n'
    )
    environment = Environment(with_table(tmp_path, text), 1)
    environment.reset()
    environment.worlds.q[0, 0] = 1e160
    with pytest.raises(SimulationError, match=r"reward\[0\]: is inf in world 0 at 0.02 s; look at"):
        environment.step([[0.0]])


def test_a_signal_that_is_not_finite_names_the_table_that_reads_it(tmp_path: Path) -> None:
    block = """
[[controller]]
name = "above"
type = "logarithm_of_tests"
inputs = ["pole.q"]
"""
    end = '[[environment.end]]\nname = "low"\nsignal = "above"\nbelow = -1e9\n'
    tables = {
        r"observations\[3\]: is nan in world 1 at 0.02 s; look at the signal 'above'": TABLE.replace(
            '"action_rate"]', '"above"]'
        ),
        r"critic\[0\]: is nan in world 1 at 0.02 s; look at": TABLE + 'critic = ["above"]\n',
        r"end\[0\]: is nan in world 1 at 0.02 s; look at": TABLE + end,
    }
    for problem, table in tables.items():
        environment = Environment(with_table(tmp_path, table + block), 2)
        environment.reset()
        environment.worlds.q[:, 1] = [0.3, -0.3]
        with pytest.raises(SimulationError, match=rf"scene.toml:\d+:\d+: environment.{problem}"):
            _ = (environment.step(np.zeros((2, 1))), environment.critic)


@controller("logarithm_of_tests")
class _Logarithm(Controller):
    """Logarithm of x + 0.1, which is NaN below −0.1."""

    inputs = signal("x", unit="")
    outputs = signal("y", unit="")

    def output(self, inputs: Any) -> Any:
        return np.log(inputs.x + 0.1)

    def units(self, _: Any) -> Any:
        return {"y": ""}


def test_a_reward_of_several_numbers_needs_a_kernel(tmp_path: Path) -> None:
    text = TABLE + '[[environment.reward]]\nname = "v"\nsignal = "state.v"\n'
    with pytest.raises(SimulationError, match="has 2 numbers; give a kernel"):
        Environment(with_table(tmp_path, text), 1)


def test_a_step_before_the_first_reset_names_a_world_that_waits_for_it() -> None:
    environment = Environment(CART_POLE, 3)
    environment.reset(where=[0])
    with pytest.raises(
        SimulationError, match="episodes: that of world 1 has not begun; call reset"
    ):
        environment.step(np.zeros((3, 1)))
    environment.reset(where=[1, 2])
    environment.step(np.zeros((3, 1)))


def test_integers_are_no_observations_and_worlds_have_numbers_from_0() -> None:
    with pytest.raises(SimulationError, match=r"dtype: must be np.float32 or .* got int64"):
        Environment(CART_POLE, 2, dtype=int)
    with pytest.raises(SimulationError, match="numbers: must be 0 or more, got -1"):
        Environment(CART_POLE, 2, numbers=[0, -1])


@pytest.mark.parametrize("action", [[[0.0]], [[np.nan], [0.0]]])
def test_actions_of_a_wrong_shape_or_nan_are_refused(action: list[list[float]]) -> None:
    environment = Environment(CART_POLE, 2)
    environment.reset()
    with pytest.raises(SimulationError, match="actions: "):
        environment.step(action)


@pytest.mark.parametrize("action", [[["left"], ["right"]], "left", [[1j], [0j]]])
def test_actions_that_are_no_numbers_are_refused(action: Any) -> None:
    environment = Environment(CART_POLE, 2)
    environment.reset()
    with pytest.raises(SimulationError, match="actions: must be real numbers, got an array of"):
        environment.step(action)


def test_a_damaged_save_is_refused() -> None:
    environment = Environment(CART_POLE, 2)
    environment.reset()
    saved = environment.save()
    flag = saved.index(b"PK\x01\x02") + 8
    encrypted = saved[:flag] + b"\1" + saved[flag + 1 :]
    parts = (b"", saved[: len(saved) // 2], saved[:200] + b"x" * 50 + saved[250:])
    for wrong in (*parts, encrypted, environment.worlds.save()):
        with pytest.raises(SimulationError, match=r"saved: is not what .* returns; save again$"):
            environment.load(wrong)
    with pytest.raises(SimulationError, match="saved: is of another environment"):
        Environment(CART_POLE, 3).load(saved)


def test_a_scene_without_the_table_says_what_to_add() -> None:
    with pytest.raises(SceneError, match=re.escape("has no [environment] table; add one with")):
        Environment(SCENES.parent / "pendulum.toml", 2)


RANDOMISED = """
[[environment.randomise]]
path = "body.pole.mass"
scale = "uniform(0.5, 2)"
[[environment.randomise]]
path = "body.*.com"
add = ["uniform(-0.1, 0.1)", 0, "uniform(0, 0.2)"]
[[environment.randomise]]
path = "gravity"
value = [0, 0, "normal(-9.81, 0.1)"]
at = "start"
[[environment.randomise]]
path = "body.cart.mass"
value = "loguniform(1, 10)"
every = "0.1 s"
"""


def test_numbers_are_drawn_at_resets_once_or_in_time(tmp_path: Path) -> None:
    environment = Environment(with_table(tmp_path, TABLE + RANDOMISED), 50)
    environment.reset(seed=SEED)
    parameters = environment.worlds.parameters
    names = ("body.pole.mass", "body.pole.com", "body.cart.com", "gravity", "body.cart.mass")
    pole, com, other, gravity, cart = (parameters[name].copy() for name in names)
    assert ((pole >= 0.05) & (pole <= 0.2)).all()
    assert pole.std() > 0.02
    assert np.abs(com[:, 0]).max() <= 0.1
    assert ((com[:, 2] >= 0.5) & (com[:, 2] <= 0.7)).all()
    assert (com[:, 1] == 0).all()
    assert (com[:, 0] != other[:, 0]).all()
    assert abs(gravity[:, 2].mean() + 9.81) < 0.1
    assert ((cart >= 1) & (cart <= 10)).all()
    for _ in range(5):
        np.testing.assert_array_equal(parameters["body.cart.mass"], cart)
        environment.step(np.zeros((50, 1)))
    assert (parameters["body.cart.mass"] != cart).all()
    environment.reset(where=[3])
    assert np.flatnonzero(parameters["body.pole.mass"] != pole).tolist() == [3]
    np.testing.assert_array_equal(parameters["gravity"], gravity)


def test_a_drawn_number_is_that_of_worlds_stepped_by_hand(tmp_path: Path) -> None:
    path = with_table(tmp_path, TABLE + RANDOMISED)
    environment = Environment(path, 4)
    environment.reset(seed=SEED)
    by_hand = Worlds(path, 4)
    for name in ("body.pole.mass", "body.pole.com", "body.cart.com", "gravity", "body.cart.mass"):
        by_hand.parameters[name][:] = environment.worlds.parameters[name]
    by_hand.q[:], by_hand.v[:] = environment.worlds.q, environment.worlds.v
    for action in actions(environment, 4):
        environment.step(action)
        by_hand.inputs["push"][:] = environment.worlds.inputs["push"]
        by_hand.step(seconds=0.02)
    np.testing.assert_array_equal(environment.worlds.q, by_hand.q)


def test_drawn_numbers_are_the_same_in_parts_of_a_batch_and_when_loaded(tmp_path: Path) -> None:
    path = with_table(tmp_path, TABLE + RANDOMISED)
    whole = Environment(path, 5, seed=SEED, threads=2)
    whole.reset()
    inputs = actions(whole, 12)
    start = run(whole, inputs[:5])
    whole.reset(where=[4])
    saved = whole.save()
    expected = run(whole, inputs[5:])
    again = Environment(path, 5, seed=1)
    again.load(saved)
    for mine, theirs in zip(run(again, inputs[5:]), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    part = Environment(path, 2, seed=SEED, numbers=[4, 1])
    part.reset()
    first = run(part, inputs[:5, [4, 1]])
    part.reset(where=[0])
    for mine, theirs in zip(
        [*first, *run(part, inputs[5:, [4, 1]])], start + expected, strict=True
    ):
        np.testing.assert_array_equal(mine, theirs[[4, 1]])


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('path = "body.poel.mass"\nscale = 1.1', r"randomise\[0\].*scale"),
        (
            'path = "body.poel.mass"\nscale = "uniform(0.9, 1.1)"',
            r"path: .*poel.*did you mean 'pole'",
        ),
        ('path = "body.pole.mass"\nscale = "unifrom(0.9, 1.1)"', "scale: there is no distribution"),
        (
            'path = "body.pole.mass"\nscale = "uniform(-1, 1)"',
            "path: .*pole.mass: is -0.* give a positive",
        ),
        ('path = "body.pole.com"\nadd = "uniform(-1, 1)"', "add: has 1 distributions, .* 3 num"),
        ('path = "joint.hinge.friction"\nvalue = "uniform(0, 1)"', "path: .*friction"),
        ('path = "joint.b*.friction"\nvalue = "uniform(0, 1)"', "path: .* matches no number"),
        (
            'path = "joint.hinge.friction"\nscale = "uniform(0.5, 2)"',
            "scale: changes nothing, for 'joint.hinge.friction' is 0; give add or value",
        ),
        (
            'path = "joint.hinge.limits.upper"\nscale = "uniform(0.5, 2)"',
            "scale: changes nothing, .* is inf; give add or value",
        ),
        ('path = "body.pole.mass"', "must have one of scale, add and value"),
        ('path = "body.pole.mass"\nscale = 1.1', "scale: must be a distribution in quotes"),
        (
            'path = "gravity[2]"\nscale = "uniform(0.9, 1.1)"',
            r"path: 'gravity\[2\]' is one number of several; name 'gravity' and give a list",
        ),
        (
            (
                'path = "body.*.mass"\nscale = "uniform(0.9, 1.1)"\n[[environment.randomise]]\n'
                'path = "body.pole.mass"\nadd = "uniform(0, 0.1)"'
            ),
            r"randomise\[1\].path: 'body.pole.mass' is drawn by another table; leave one out",
        ),
        (
            'path = "gravity"\nscale = "uniform(0.9, 1.1)"\nat = "start"\nevery = "1 s"',
            'must have at = "start" or every, not both',
        ),
        (
            'path = "gravity"\nscale = "uniform(0.9, 1.1)"\nevery = "0.03 s"',
            "every: 0.03 s is no whole number of control periods of 0.02 s; take 0.04 s",
        ),
        (
            'path = "gravity"\nscale = "uniform(0.9, 1.1)"\nevery = "uniform(-1, 5)"',
            r"every: uniform\(-1.0, 5.0\) draws negative times; take uniform\(5, 10\)",
        ),
        (
            'path = "gravity"\nscale = "uniform(0.9, 1.1)"\nevery = "often"',
            r"every: 'often' is no distribution; write uniform\(-1, 1\)",
        ),
        (
            'path = "gravity"\nscale = "uniform(0.9, 1.1)"\nevery = -1',
            r"every: must be positive, or a distribution \"uniform\(5, 10\)\", got -1",
        ),
    ],
)
def test_a_number_that_cannot_be_drawn_names_table_line_and_remedy(
    tmp_path: Path, table: str, problem: str
) -> None:
    path = with_table(tmp_path, f"{TABLE}[[environment.randomise]]\n{table}\n")
    with pytest.raises((SceneError, SimulationError), match=rf"scene.toml:\d+:\d+: .*{problem}"):
        Environment(path, 2)


def test_worlds_in_single_precision_are_observed_as_those_in_double() -> None:
    path = SCENES / "go1.toml"
    double, single = (Environment(path, 19, single=own) for own in (False, True))
    one, other = (own.reset(seed=SEED) for own in (double, single))
    np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)
    for action in actions(double, 3):
        one, other = (own.step(action).observations for own in (double, single))
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-3)
    assert single.worlds.q.dtype == np.float32
    np.testing.assert_array_equal(
        single.reset(seed=SEED), Environment(path, 19, single=True).reset(seed=SEED)
    )
