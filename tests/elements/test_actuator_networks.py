"""Actuator networks. Oracle: the network in NumPy, applied to errors and velocities that are kept by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import pysim
from pysim import PysimError
from tests.elements.blocks import table

PERIOD = 0.005
HISTORY = (0, 2, 4)
LIMIT = 0.6
ARM = """
gravity = [0, 0, -9.81]
[[body]]
name = "upper"
mass = 1.0
com = [0, 0, -0.2]
[[body]]
name = "lower"
mass = 0.5
com = [0, 0, -0.2]
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
armature = 0.2
[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "lower"
axis = [0, 1, 0]
armature = 0.2
at = { xyz = [0, 0, -0.4] }
[[signal]]
name = "target"
type = "input"
size = 2
unit = "rad"
[[sensor]]
name = "joints"
type = "coordinates"
coordinates = ["shoulder", "elbow"]
[[actuator]]
name = "drives"
type = "force"
coordinates = ["shoulder", "elbow"]
command = "network"
[simulation]
integrator = "semi_implicit"
step = 5e-3
duration = 0.5
"""


def layers(size: int = 2 * len(HISTORY)) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    sizes = [size, 8, 1]
    arrays = {}
    for k in range(2):
        arrays[f"weight{k}"] = rng.normal(size=(sizes[k + 1], sizes[k])) / 2
        arrays[f"bias{k}"] = rng.normal(size=sizes[k + 1]) / 10
    return arrays


def torque(arrays: dict[str, Any], x: np.ndarray) -> np.ndarray:
    hidden = arrays["weight0"] @ x + arrays["bias0"]
    hidden = np.where(hidden > 0, hidden, np.expm1(np.minimum(hidden, 0)))
    y = 2.0 * (arrays["weight1"] @ hidden + arrays["bias1"])
    return np.asarray(np.clip(y[0], -LIMIT, LIMIT))


def write_onnx(path: Path, arrays: dict[str, Any]) -> None:
    names = ["weight0", "bias0", "weight1", "bias1"]
    weights = [numpy_helper.from_array(arrays[name].astype(np.float64), name) for name in names]
    nodes = [
        helper.make_node("Gemm", ["x", "weight0", "bias0"], ["a"], transB=1),
        helper.make_node("Elu", ["a"], ["b"]),
        helper.make_node("Gemm", ["b", "weight1", "bias1"], ["y"], transB=1),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.DOUBLE, [1, 2 * len(HISTORY)])
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [1, 1])
    graph = helper.make_graph(nodes, "drive", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def scene_of(folder: Path, name: str = "drive.npz", **keys: Any) -> Path:
    keys = {
        "file": name,
        "history": list(HISTORY),
        "position_scale": 2.0,
        "velocity_scale": 0.1,
        "torque_scale": 2.0,
        "limit": LIMIT,
        "period": PERIOD,
    } | keys
    text = table(
        "controller",
        name="network",
        type="actuator_network",
        inputs=["target", "joints.q", "joints.v"],
        **keys,
    )
    (folder / "arm.toml").write_text(ARM + text, "utf-8")
    return folder / "arm.toml"


@pytest.mark.parametrize("name", ["drive.npz", "drive.onnx"])
def test_torques_are_those_of_the_network_of_each_joints_history(tmp_path: Path, name: str) -> None:
    arrays = layers()
    np.savez(tmp_path / "drive.npz", allow_pickle=False, **arrays)
    write_onnx(tmp_path / "drive.onnx", arrays)
    worlds = pysim.Worlds(scene_of(tmp_path, name), 3)
    rng = np.random.default_rng(2)
    worlds.reset(q=rng.normal(size=(3, 2)), v=rng.normal(size=(3, 2)))
    target = np.zeros(2)
    past = [(target - worlds.q, worlds.v.copy())] * 5  # before the start there was the start
    clipped = 0
    for k in range(60):
        target = np.sin(0.1 * k) * np.array([1.0, -0.5])
        worlds.inputs["target"][:] = target
        worlds.step()  # whose end is an instant of the network
        past = [(target - worlds.q, worlds.v.copy()), *past[:4]]
        errors, velocities = ([own[i] for own in past] for i in (0, 1))
        x = np.stack([*(2.0 * errors[j] for j in HISTORY), *(0.1 * velocities[j] for j in HISTORY)])
        expected = [[torque(arrays, x[:, w, j]) for j in range(2)] for w in range(3)]
        np.testing.assert_allclose(worlds.signals["network"], expected, atol=1e-9)
        clipped += int((np.abs(expected) == LIMIT).sum())
    assert clipped


def test_worlds_have_the_bits_of_each_alone_and_of_saved_ones(tmp_path: Path) -> None:
    np.savez(tmp_path / "drive.npz", allow_pickle=False, **layers())
    scene = scene_of(tmp_path)
    q = np.random.default_rng(3).normal(size=(5, 2))
    worlds = pysim.Worlds(scene, 5, threads=2)
    worlds.reset(q=q)
    worlds.step(steps=20)
    saved = worlds.save()
    worlds.step(steps=20)
    again = pysim.Worlds(scene, 5)
    again.load(saved)
    again.step(steps=20)
    np.testing.assert_array_equal(again.q, worlds.q)
    for k in range(5):
        alone = pysim.Worlds(scene)
        alone.reset(q=q[k])
        alone.step(steps=40)
        np.testing.assert_array_equal(alone.q, worlds.q[k])


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            {"history": [0, 1]},
            "takes 6 numbers and gives 1, and a history of 2 needs 4 and 1; give the history",
        ),
        ({"history": [-1]}, "history: must be periods from 0 to 1000, got [-1]; write [0, 1, 2]"),
        ({"limit": 0.0}, "limit: must be positive"),
        ({"period": None}, "has the memory 'past', which changes at instants; give it a period"),
    ],
)
def test_a_network_that_does_not_fit_is_reported(
    tmp_path: Path, keys: dict[str, Any], problem: str
) -> None:
    np.savez(tmp_path / "drive.npz", allow_pickle=False, **layers())
    path = scene_of(tmp_path, **keys)
    text = path.read_text("utf-8").replace("period = None\n", "")
    path.write_text(text, "utf-8")
    with pytest.raises(PysimError) as error:
        pysim.load_scene(path)
    assert problem in str(error.value)
