"""Policies that other programs trained. Oracles: their networks in NumPy, acting in the environment step by step;
stable-baselines3 itself, where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import pysim
from pysim import PysimError
from pysim.cli import main
from pysim.environments import Environment
from pysim.environments.trained_policy import with_policy
from tests.environments.test_policies import CART_POLE, layers

Policy = Callable[[np.ndarray], np.ndarray]
SCALED: dict[str, object] = {
    "environment.start": {},
    "environment.limit": 0.02,
    "environment.action.range": [-0.3, 0.8],
    "environment.observations": ["state.q", "state.v", "last_action"],
    "environment.history": 2,
}
INPUTS = 10  # 2 (q, v and the last action) of two numbers each but the last


def act(arrays: dict[str, Any], activation: str, x: np.ndarray) -> np.ndarray:
    """Output of dense layers."""
    functions: dict[str, Any] = {
        "tanh": np.tanh,
        "relu": lambda y: np.maximum(y, 0),
        "elu": lambda y: np.where(y > 0, y, np.expm1(np.minimum(y, 0))),
    }
    for k in range(3):
        x = arrays[f"weight{k}"] @ x + arrays[f"bias{k}"]
        x = functions[activation](x) if k < 2 else x
    return x


def renamed(arrays: dict[str, Any], names: list[str]) -> dict[str, Any]:
    found = {}
    for k, name in enumerate(names):
        found[f"{name}.weight"], found[f"{name}.bias"] = arrays[f"weight{k}"], arrays[f"bias{k}"]
    return found


def ppo(arrays: dict[str, Any]) -> tuple[dict[str, Any], Policy]:
    """stable-baselines3's PPO with VecNormalize."""
    names = ["mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net"]
    rng = np.random.default_rng(3)
    mean, variance = rng.normal(0, 0.01, INPUTS), rng.uniform(1e-6, 0.1, INPUTS)
    further = {
        "mlp_extractor.value_net.0.weight": np.zeros((4, INPUTS)),
        "log_std": np.zeros(1),
        "obs_rms.mean": mean,
        "obs_rms.var": variance,
    }

    def policy(x: np.ndarray) -> np.ndarray:
        return act(arrays, "tanh", np.clip((x - mean) / np.sqrt(variance + 1e-8), -10, 10))

    return renamed(arrays, names) | further, policy


def sac(arrays: dict[str, Any]) -> tuple[dict[str, Any], Policy]:
    names = ["actor.latent_pi.0", "actor.latent_pi.2", "actor.mu"]
    low, high = -0.3, 0.8
    return renamed(
        arrays, names
    ), lambda x: low + (high - low) / 2 * (1 + np.tanh(act(arrays, "relu", x)))


def rsl(arrays: dict[str, Any]) -> tuple[dict[str, Any], Policy]:
    names = ["mlp.0", "mlp.2", "mlp.4"]
    mean, std = np.full((1, INPUTS), 0.01), np.full((1, INPUTS), 0.3)
    normal = {"obs_normalizer._mean": mean, "obs_normalizer._std": std}
    return renamed(arrays, names) | normal, lambda x: act(
        arrays, "elu", (x - mean[0]) / (std[0] + 0.01)
    )


def old_rsl(arrays: dict[str, Any]) -> tuple[dict[str, Any], Policy]:
    names = ["actor.0", "actor.2", "actor.4"]
    return renamed(arrays, names) | {"std": np.ones(1)}, lambda x: act(arrays, "elu", x)


def write_onnx(arrays: dict[str, Any], path: Path) -> None:
    """A network with relu, as torch exports it."""
    nodes, last = [], "x"
    for k in range(3):
        out = "y" if k == 2 else f"h{k}"
        nodes.append(helper.make_node("Gemm", [last, f"weight{k}", f"bias{k}"], [out], transB=1))
        if k < 2:
            nodes.append(helper.make_node("Relu", [out], [f"a{k}"]))
        last = f"a{k}"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1, size])
        for name, size in (("x", len(arrays["weight0"][0])), ("y", 1))
    ]
    tensors = [numpy_helper.from_array(x, name) for name, x in arrays.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def check(file: Path, policy: Policy) -> None:
    """Hold that the policy's scene moves as the environment with the policy's actions."""
    environment = Environment(CART_POLE, 1, SCALED, dtype=float)
    observation = environment.reset()
    scene = with_policy(pysim.load_scene(CART_POLE), CART_POLE, file, SCALED)
    worlds = pysim.Worlds(scene, 1)
    for _ in range(25):
        observation = environment.step(policy(observation[0])[None]).observations
        worlds.step(seconds=0.02)
        np.testing.assert_allclose(worlds.q, environment.worlds.q, atol=1e-12)
    assert np.abs(worlds.q).max() > 1e-4


@pytest.mark.parametrize("export", [ppo, sac, rsl, old_rsl])
def test_parameters_of_another_program_act_with_the_numbers_of_the_environment(
    tmp_path: Path, export: Callable[[dict[str, Any]], tuple[dict[str, Any], Policy]]
) -> None:
    arrays, policy = export(layers([INPUTS, 16, 8, 1]))
    np.savez(tmp_path / "policy.npz", **arrays)
    check(tmp_path / "policy.npz", policy)


def test_an_onnx_file_acts_with_the_numbers_of_the_environment(tmp_path: Path) -> None:
    arrays = layers([INPUTS, 16, 8, 1])
    write_onnx(arrays, tmp_path / "policy.onnx")
    check(tmp_path / "policy.onnx", lambda x: act(arrays, "relu", x))


def test_a_network_of_another_size_is_refused(tmp_path: Path) -> None:
    write_onnx(layers([7, 16, 8, 1]), tmp_path / "policy.onnx")
    problem = "policy.onnx: takes 7 numbers and gives 1, and the environment has 4 and 1; give the"
    with pytest.raises(PysimError, match=problem):
        with_policy(pysim.load_scene(CART_POLE), CART_POLE, tmp_path / "policy.onnx")


def test_parameters_without_known_names_are_refused(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"net.0.weight": np.zeros((2, 2))}
    np.savez(tmp_path / "policy.npz", **arrays)
    with pytest.raises(PysimError, match=r"has no weight0; it has net\.0\.weight; give the \.npz"):
        with_policy(pysim.load_scene(CART_POLE), CART_POLE, tmp_path / "policy.npz")


SHORT: dict[str, dict[str, int]] = {
    "PPO": {"n_steps": 32, "batch_size": 64, "n_epochs": 1},
    "SAC": {"learning_starts": 64},
    "TD3": {"learning_starts": 64},
}


@pytest.mark.parametrize("program", SHORT)
def test_a_policy_of_stable_baselines_acts_as_it_predicts(tmp_path: Path, program: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3", exc_type=ImportError)
    from pysim.environments.stable_baselines_worlds import StableBaselinesWorlds

    limits = {**SCALED, "environment.history": 1, "environment.limit": 5.0}
    worlds = StableBaselinesWorlds(Environment(CART_POLE, 4, limits))
    model = getattr(sb3, program)("MlpPolicy", worlds, seed=1, device="cpu", **SHORT[program])
    model.learn(128)
    arrays = {name: x.detach().numpy() for name, x in model.policy.state_dict().items()}
    np.savez(tmp_path / "policy.npz", **arrays)
    environment = Environment(CART_POLE, 1, limits)
    observation = environment.reset()
    scene = with_policy(pysim.load_scene(CART_POLE), CART_POLE, tmp_path / "policy.npz", limits)
    run = pysim.Worlds(scene, 1)
    for _ in range(20):
        observation = environment.step(
            model.predict(observation, deterministic=True)[0]
        ).observations
        run.step(seconds=0.02)
        np.testing.assert_allclose(run.q, environment.worlds.q, atol=1e-6)


def test_the_command_learns_by_stable_baselines(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", exc_type=ImportError)
    output = tmp_path / "policy.npz"
    words = ["learn", str(CART_POLE), "-o", str(output), "--worlds", "16", "--steps", "800"]
    assert main([*words, "--learner", "sb3", "--quiet"]) == 0
    assert output.with_suffix(".zip").is_file()
    scene = with_policy(pysim.load_scene(CART_POLE), CART_POLE, output)
    pysim.Worlds(scene, 2).step(steps=20)


def test_an_unknown_learner_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["learn", str(CART_POLE), "-o", str(tmp_path / "p.npz"), "--learner", "sb"]
    assert main(words) == 2
    assert "--learner: there is no 'sb'; did you mean 'sb3'?" in capsys.readouterr().err
