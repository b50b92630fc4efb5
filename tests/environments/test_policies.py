"""Networks and policies as controllers. Oracles: NumPy's matrix products; the environment that a policy acts in."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import PysimError, SimulationError
from pysim.cli import main
from pysim.cli.learn import clipped_text
from pysim.elements.library.networks.policy import evaluate_network
from pysim.environments import Environment
from pysim.environments.trained_policy import with_policy
from tests.robots import MJCF_ARM

CART_POLE = Path(__file__).parents[2] / "scenes/environments/cart_pole.toml"
NETWORK = """
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -0.5]
inertia = { xx = 0.1, yy = 0.1, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rod"
[[signal]]
name = "x"
type = "input"
size = 5
[[controller]]
name = "net"
type = "mlp"
file = "net.npz"
inputs = ["x"]
activation = "relu"
[simulation]
step = 0.02
duration = 1.0
integrator = "rk4"
"""


def layers(sizes: list[int], seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for k, (n, m) in enumerate(pairwise(sizes)):
        found[f"weight{k}"] = rng.standard_normal((m, n)) / np.sqrt(n)
        found[f"bias{k}"] = rng.standard_normal(m)
    return found


@pytest.mark.parametrize("activation", ["elu", "relu", "tanh"])
def test_a_network_is_its_matrix_products(tmp_path: Path, activation: str) -> None:
    arrays = layers([5, 9, 7, 3])
    np.savez(tmp_path / "net.npz", **arrays)
    path = tmp_path / "scene.toml"
    path.write_text(NETWORK.replace("relu", activation), "utf-8")
    worlds = pysim.Worlds(path, 11)
    x = np.random.default_rng(2).standard_normal((11, 5))
    worlds.inputs["x"][:] = x
    act: Any = {
        "elu": lambda y: np.where(y > 0, y, np.expm1(np.minimum(y, 0))),
        "relu": lambda y: np.maximum(y, 0),
        "tanh": np.tanh,
    }[activation]
    for k in range(3):
        x = x @ arrays[f"weight{k}"].T + arrays[f"bias{k}"]
        x = act(x) if k < 2 else x
    np.testing.assert_allclose(worlds.signals["net"], x, atol=1e-14)


def policy(path: Path, overrides: Mapping[str, object] | None = None) -> dict[str, Any]:
    """A policy of the cart-pole that nobody has trained."""
    environment = Environment(CART_POLE, 1, overrides)
    size, rng = environment.observation_size, np.random.default_rng(1)
    arrays = layers([size, 8, 1])
    arrays |= {"mean": rng.normal(0, 0.01, size), "deviation": rng.uniform(0.5, 1, size)}
    whole: dict[str, Any] = {**arrays, **environment.policy_arrays()}
    np.savez(path, activation=np.array("elu"), **whole)
    return arrays


SEEN = ["state.q", "action_rate", "state.v", "last_action"]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"environment.history": 3},
        {"environment.observations": SEEN},
        {"environment.observations": SEEN, "environment.history": 2, "environment.limit": 0.01},
    ],
)
def test_a_policy_acts_in_a_scene_as_in_its_environment(
    tmp_path: Path, overrides: dict[str, object]
) -> None:
    file = tmp_path / "policy.npz"
    arrays = policy(file, overrides)
    environment = Environment(CART_POLE, 1, {**overrides, "environment.start": {}})
    observation = environment.reset()[0].astype(float)
    states = [environment.worlds.q[0].copy()]
    for _ in range(20):
        x = (observation - arrays["mean"]) / arrays["deviation"]
        y = evaluate_network(arrays, "elu", x)
        observation = environment.step(y[None]).observations[0].astype(float)
        states.append(environment.worlds.q[0].copy())
    scene = with_policy(pysim.load_scene(CART_POLE), CART_POLE, file, overrides)
    worlds = pysim.Worlds(scene, 1)
    for state in states[1:]:
        worlds.step(seconds=0.02)
        np.testing.assert_allclose(worlds.q[0], state, atol=1e-6)  # observations are float32 there
    assert np.abs(states[-1]).max() > 1e-3


@pytest.mark.parametrize("gain", [0.3, 0.6])
def test_the_motor_of_a_policy_does_the_work_that_the_energy_shows(
    tmp_path: Path, gain: float
) -> None:
    """A pole that is swung up at the environment's 10 ms: ΔE and the damper's share, and the work at 1 ms."""
    scene = CART_POLE.with_name("cart_pole_swing_up.toml")
    environment = Environment(scene, 1)
    weight = np.array([[-0.2, -0.2, 0, 0, gain]])  # of cart.q, cart.v, lean and pole.v
    arrays = {"weight0": weight, "bias0": np.zeros(1), "mean": np.zeros(5), "deviation": np.ones(5)}
    file = tmp_path / "policy.npz"
    arrays |= {"activation": np.array("elu"), **environment.policy_arrays()}
    np.savez(file, allow_pickle=False, **arrays)
    injected = []
    for step in (1e-2, 1e-3):
        changes = {
            "simulation.step": step,
            "simulation.duration": 3.0,
            "joint[1].start": 2.9,
        }
        run = pysim.simulate(with_policy(pysim.load_scene(scene, changes), scene, file, changes))
        injected.append(run.work["injected"][-1])
        shown = run.work["dissipated"][-1] + run.energy[-1] - run.energy[0]
        assert injected[-1] == pytest.approx(shown, rel=0.01)
    assert injected[0] == pytest.approx(injected[1], rel=0.01)
    assert injected[0] > 0.1


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"other": np.zeros(3)}, "has no weight0; it has other; give the .npz of a network"),
        ({f"x{k}": np.zeros(1) for k in range(60)}, "it has x0, x1, x2, x3, x4, …; give"),
        (
            {"weight0": np.zeros((2, 3)), "bias0": np.zeros(3)},
            r"weight0 must be \(outputs, inputs\)",
        ),
        ({**layers([5, 4, 2]), "weight1": np.zeros((2, 3))}, "weight1 takes 3 numbers, .* gives 4"),
        (layers([4, 2]), "takes 4 numbers, and the signal has 5"),
        (
            {"weight0": np.full((2, 5), np.nan), "bias0": np.zeros(2)},
            "layer 0 has numbers that are",
        ),
        (
            layers([2, 40_000, 1]),
            "has 40003 inputs and outputs of layers, at most 32768 are allowed",
        ),
        ({"weight0": np.zeros((2, 5), "U3"), "bias0": np.zeros(2)}, "layer 0 has no numbers"),
    ],
)
def test_a_wrong_network_names_its_file(
    tmp_path: Path, arrays: dict[str, Any], problem: str
) -> None:
    np.savez(tmp_path / "net.npz", **arrays)
    path = tmp_path / "scene.toml"
    path.write_text(NETWORK, "utf-8")
    with pytest.raises(PysimError, match=f"net.npz.*{problem}"):
        pysim.load_scene(path)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("mean", np.zeros(3), r"'mean' must be \(4,\) for a network of 4 inputs and 1 outputs"),
        ("deviation", np.zeros(4), "'deviation' has numbers that are not positive"),
        ("range", np.array(["a", "b"]), "'range' must be"),
        ("offset", np.array([np.nan]), "'offset' has numbers that are not finite; train it again"),
        ("scales", np.ones(3), "'scales' has 3 numbers, and the network takes 4, which is no mul"),
        ("slots", np.array([7]), "'slots' and 'rates' must be different places among 4 numbers"),
        ("activation", np.array("sine"), "activation 'sine' is unknown; known: elu"),
    ],
)
def test_a_policy_whose_arrays_do_not_fit_names_the_array(
    tmp_path: Path, name: str, value: Any, problem: str
) -> None:
    file = tmp_path / "policy.npz"
    policy(file)
    with np.load(file) as old:
        arrays: dict[str, Any] = {**old, name: value}
    np.savez(file, **arrays)
    with pytest.raises(PysimError, match=rf"policy\.npz.*{problem}"):
        with_policy(pysim.load_scene(CART_POLE), CART_POLE, file)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged", b"weights"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "net.npz").write_bytes(content)
    path = tmp_path / "scene.toml"
    path.write_text(NETWORK, "utf-8")
    with pytest.raises(PysimError, match=r"net\.npz"):
        pysim.load_scene(path)


REACH = """
[[model]]
file = "arm.xml"
[[sensor]]
name = "arm"
type = "coordinates"
coordinates = ["shoulder", "elbow"]
[environment]
period = 0.02
duration = "1 s"
observations = ["arm.q", "arm.v"]
action = { input = "ctrl", scale = 0.5 }
[simulation]
step = 0.002
"""


def test_a_policy_commands_the_actuators_of_a_model_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF_ARM, "utf-8")
    path, file = tmp_path / "scene.toml", tmp_path / "policy.npz"
    path.write_text(REACH, "utf-8")
    environment = Environment(path, 1, dtype=float)
    arrays: dict[str, Any] = layers([4, 8, 2]) | {"mean": np.zeros(4), "deviation": np.ones(4)}
    whole: dict[str, Any] = {**arrays, **environment.policy_arrays()}
    np.savez(file, activation=np.array("elu"), **whole)
    observation = environment.reset()
    worlds = pysim.Worlds(with_policy(pysim.load_scene(path), path, file), 1)
    for _ in range(20):
        action = evaluate_network(arrays, "elu", observation[0])
        observation = environment.step(action[None]).observations
        worlds.step(seconds=0.02)
        np.testing.assert_allclose(worlds.q, environment.worlds.q, atol=1e-12)
    assert np.abs(worlds.q).max() > 0.05


def test_a_policy_of_other_observations_is_refused(tmp_path: Path) -> None:
    policy(tmp_path / "policy.npz")
    order = {"environment.observations": ["state.v", "state.q"]}
    problem = "was trained with the observations state.q, state.v, and the scene has state.v, st"
    with pytest.raises(PysimError, match=rf"policy.npz: {problem}ate.q; give the scene"):
        with_policy(pysim.load_scene(CART_POLE), CART_POLE, tmp_path / "policy.npz", order)


def test_a_sweep_runs_the_scene_in_which_a_policy_acts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xarray")
    file, output = tmp_path / "policy.npz", tmp_path / "sweep.nc"
    policy(file)
    words = ["sweep", str(CART_POLE), "--grid", "joint.hinge.damping=0.01,0.1", "--duration", "0.4"]
    words += ["--signal", "v.rail", "-o", str(output)]
    assert main([*words, "--policy", str(file)]) == 0
    dataset = pysim.load_sweep(output)
    for k, damping in enumerate([0.01, 0.1]):
        changes: dict[str, object] = {"joint.hinge.damping": damping, "simulation.duration": 0.4}
        scene = with_policy(pysim.load_scene(CART_POLE, changes), CART_POLE, file)
        expected = pysim.simulate(scene).v[:, 0]
        np.testing.assert_array_equal(dataset.series[k, 0], expected)
        assert np.abs(expected).max() > 0.01
    assert main(words) == 2
    assert "holds a sweep with other scene" in capsys.readouterr().err
    scene = with_policy(pysim.load_scene(CART_POLE), CART_POLE, file)
    with pytest.raises(
        SimulationError, match=r"has other signals than its file, .*; give the file"
    ):
        pysim.sweep(scene, {"joint.hinge.damping": [0.1]}, output=tmp_path / "other.nc")


def test_a_plain_network_is_no_policy(tmp_path: Path) -> None:
    np.savez(tmp_path / "net.npz", **layers([4, 1]))
    scene = pysim.load_scene(CART_POLE)
    with pytest.raises(PysimError, match=r'is no policy: it lacks .*; use type = "mlp"'):
        with_policy(scene, CART_POLE, tmp_path / "net.npz")
    with pytest.raises(PysimError, match="is no file; give what"):
        with_policy(scene, CART_POLE, tmp_path / "none.npz")


def test_actions_beyond_their_range_are_reported_with_its_place() -> None:
    text = clipped_text(Environment(CART_POLE, 1), 0.634)
    problem = (
        r"environment.action.range: 63% of the actions are beyond \[-1, 1\] and are clipped; widen"
    )
    assert re.search(rf"cart_pole.toml:\d+:\d+: {problem}", text)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-o", "none/policy.npz"], "npz: the folder 'none' does not exist; make it or choose"),
        (["-o", "policy.txt"], "policy.txt: is not the name of a policy; end it in .npz"),
        (["--steps", "0"], "--steps: must be positive, got 0; give 1e6 or more"),
        (["--steps", "inf"], "--steps: must be positive, got inf"),
        (["--threads", "-1"], "--threads: must be 0 or more, got -1; give 0 for all"),
        (
            ["--resume"],
            "cart_pole_policy.pt: is missing, and --resume needs it; start anew without --resume",
        ),
    ],
)
def test_wrong_options_are_reported_before_learning(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", str(CART_POLE), *words]) == 2
    assert problem in capsys.readouterr().err


LEARN = """
from sys import argv
import numpy as np
import pysim
from pysim import PysimError
from pysim.environments import Environment
from pysim.environments.learn import Learner, Settings
from pysim.environments.trained_policy import with_policy

scene, folder = argv[1:]

def learner(seed):
    return Learner(Environment(scene, 64), Settings(hidden=(16,)), seed=seed)

first = learner(1)
rewards = [progress.reward for progress in first.iterations(40)]
assert np.mean(rewards[-5:]) > np.mean(rewards[:5]) + 0.02, rewards
assert 0 < next(first.iterations(1)).clipped < 0.3
wide = Learner(Environment(scene, 64), Settings(hidden=(16,), deviation=10.0))
assert next(wide.iterations(1)).clipped > 0.9
first.save(folder + "/learner.pt")
first.write_policy(folder + "/policy.npz")
reward = next(first.iterations(1)).reward
second = learner(2)
second.load(folder + "/learner.pt")
assert next(second.iterations(1)).reward == reward
harder = Environment(scene, 64, {"environment.duration": "2 s", "environment.end[0].below": "-0.1"})
third = Learner(harder, Settings(hidden=(16,)))
third.load(folder + "/learner.pt")
assert next(third.iterations(3)).iteration == 42
assert (harder.steps <= 100).all()
patient = Environment(scene, 4, {"environment.discount": 0.99})
assert [Learner(own)._ppo.gamma for own in (harder, patient)] == [0.97, 0.99]
assert Learner(patient, Settings(discount=0.9))._ppo.gamma == 0.9
with_policy(pysim.load_scene(scene), scene, folder + "/policy.npz")
for other in (Learner(Environment(scene, 64)), Learner(Environment(scene, 32), Settings(hidden=(16,)))):
    try:
        other.load(folder + "/learner.pt")
    except PysimError as error:
        assert "does not fit this environment and network; give the scene" in str(error), error
    else:
        raise AssertionError("another network, or number of worlds, was loaded")
"""


def test_a_policy_is_learned_saved_and_continued_in_a_harder_environment(tmp_path: Path) -> None:
    if not (find_spec("torch") and find_spec("rsl_rl")):
        pytest.skip("needs torch and rsl-rl-lib, of the extra learn")
    words = [sys.executable, "-c", LEARN, str(CART_POLE), str(tmp_path)]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


SETTLE = """
from sys import argv
import numpy as np
import pysim
from pysim.environments import Environment
from pysim.environments.learn import Learner, Settings

scene, path = argv[1:]
ITERATIONS = 12

def changes(end):
    learner = Learner(Environment(scene, 64), Settings(hidden=(16,), end=end, settling=0.33), seed=1)
    weights = []
    for progress in learner.iterations(ITERATIONS):
        learner.write_policy(path)
        weights.append(np.load(path)["weight0"])
    return np.linalg.norm(np.diff(weights, axis=0), axis=(1, 2)), learner.steps

always, steps = changes(float("inf"))
settled, _ = changes(steps / 2)
assert (settled[:3] == always[:3]).all(), (settled, always)
assert settled[-1] < 0.1 * always[-1], (settled, always)
"""


def test_a_policy_settles_at_the_end_of_learning(tmp_path: Path) -> None:
    if not (find_spec("torch") and find_spec("rsl_rl")):
        pytest.skip("needs torch and rsl-rl-lib, of the extra learn")
    words = [sys.executable, "-c", SETTLE, str(CART_POLE), str(tmp_path / "policy.npz")]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


EVERY = """
from sys import argv
import numpy as np
import pysim
from pysim.environments import Environment
from pysim.environments.learn import Learner, Settings
from pysim.environments.trained_policy import with_policy

folder, *scenes = argv[1:]
for scene in scenes:
    learner = Learner(Environment(scene, 4), Settings(steps=4, hidden=(8,)))
    assert np.isfinite(next(learner.iterations(1)).reward), scene
    learner.write_policy(folder + "/policy.npz")
    worlds = pysim.Worlds(with_policy(pysim.load_scene(scene), scene, folder + "/policy.npz"))
    worlds.step(steps=10)
    assert np.isfinite(worlds.q).all(), scene
"""


def test_every_environment_can_be_learned_and_its_policy_acts(tmp_path: Path) -> None:
    if not (find_spec("torch") and find_spec("rsl_rl")):
        pytest.skip("needs torch and rsl-rl-lib, of the extra learn")
    scenes = [str(path) for path in sorted(CART_POLE.parent.glob("*.toml"))]
    words = [sys.executable, "-c", EVERY, str(tmp_path), *scenes]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
