"""Networks of ONNX files as controllers. The oracle is the reference evaluator of the package onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import pysim
from pysim.errors import PysimError, SceneError
from tests.environments.test_policies import NETWORK

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 5


def matrix(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def model(nodes: list[Any], constants: dict[str, np.ndarray], batch: bool = True) -> Any:
    """Return a model from x to y, in double precision."""
    shape = [1] if batch else []
    ends = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [*shape, size])
        for name, size in (("x", SIZE), ("y", None))
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def actor(rng: np.random.Generator) -> Any:
    """Return a normalised observation through layers of Gemm with Elu, as learners of robots export them."""
    node = helper.make_node
    nodes = [
        node("Sub", ["x", "mean"], ["centred"]),
        node("Div", ["centred", "deviation"], ["seen"]),
        node("Gemm", ["seen", "W0", "b0"], ["h0"], transB=1, alpha=0.5, beta=2.0),
        node("Elu", ["h0"], ["a0"], alpha=0.7),
        node("Gemm", ["a0", "W1"], ["h1"]),
        node("Tanh", ["h1"], ["a1"]),
        node("Gemm", ["a1", "W2", "b2"], ["h2"], transB=1),
        node("Clip", ["h2", "low", "high"], ["y"]),
    ]
    constants = {
        "mean": matrix(rng, 1, SIZE),
        "deviation": rng.uniform(0.5, 2, (1, SIZE)),
        "W0": matrix(rng, 9, SIZE),
        "b0": matrix(rng, 9),
        "W1": matrix(rng, 9, 7),
        "W2": matrix(rng, 3, 7),
        "b2": matrix(rng, 3),
        "low": np.array(-1.0),
        "high": np.array(1.5),
    }
    return model(nodes, constants)


def sums(rng: np.random.Generator) -> Any:
    """Return MatMul and Add, with a branch around a layer, a scale of one number and other functions."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "W0"], ["h0"]),
        node("Add", ["h0", "b0"], ["s0"]),
        node("Relu", ["s0"], ["a0"]),
        node("MatMul", ["a0", "W1"], ["h1"]),
        node("Sigmoid", ["h1"], ["a1"]),
        node("Add", ["a0", "a1"], ["both"]),
        node("LeakyRelu", ["both"], ["l"], alpha=0.2),
        node("Mul", ["l", "scale"], ["m"]),
        node("Identity", ["m"], ["y"]),
    ]
    constants = {
        "W0": matrix(rng, SIZE, 6),
        "b0": matrix(rng, 6),
        "W1": matrix(rng, 6, 6),
        "scale": np.array([0.3]),
    }
    return model(nodes, constants)


def write(tmp_path: Path, content: Any) -> Path:
    (tmp_path / "net.onnx").write_bytes(
        content if isinstance(content, bytes) else content.SerializeToString()
    )
    path = tmp_path / "scene.toml"
    text = NETWORK.replace("net.npz", "net.onnx").replace('activation = "relu"\n', "")
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("graph", [actor, sums])
def test_a_network_is_that_of_the_reference_evaluator(tmp_path: Path, graph: Any) -> None:
    own = graph(np.random.default_rng(1))
    worlds = pysim.Worlds(write(tmp_path, own), 11)
    x = np.random.default_rng(2).standard_normal((11, SIZE))
    worlds.inputs["x"][:] = x
    evaluator = ReferenceEvaluator(own)
    expected: Any = [evaluator.run(None, {"x": row[None]}) for row in x]
    np.testing.assert_allclose(
        worlds.signals["net"], [found[0][0] for found in expected], atol=1e-13
    )


def test_numbers_in_a_row_need_no_batch(tmp_path: Path) -> None:
    nodes = [helper.make_node("Tanh", ["x"], ["y"])]
    worlds = pysim.Worlds(write(tmp_path, model(nodes, {}, batch=False)))
    worlds.inputs["x"][:] = 0.3
    np.testing.assert_allclose(worlds.signals["net"], np.tanh(0.3), rtol=1e-15)


def recurrent(_: np.random.Generator) -> Any:
    return model([helper.make_node("LSTM", ["x", "W", "R"], ["y"])], {})


def wide(rng: np.random.Generator) -> Any:
    nodes = [helper.make_node("MatMul", ["x", "W"], ["y"])]
    return model(nodes, {"W": matrix(rng, SIZE + 1, 3)})


def infinite(_: np.random.Generator) -> Any:
    return model([helper.make_node("Add", ["x", "b"], ["y"])], {"b": np.full(SIZE, np.inf)})


def two(_: np.random.Generator) -> Any:
    own = model([helper.make_node("Tanh", ["x"], ["y"])], {})
    own.graph.output.append(helper.make_tensor_value_info("z", TensorProto.DOUBLE, [1, 1]))
    return own


def endless(_: np.random.Generator) -> Any:
    own = model([helper.make_node("Tanh", ["x"], ["y"])], {})
    own.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 10_000_000
    return own


def widened(rng: np.random.Generator) -> Any:
    """Layers whose outputs are more than their file has numbers in a row."""
    node = helper.make_node
    nodes = [node("MatMul", ["x", "W"], ["h"]), *(node("Tanh", ["h"], ["h"]) for _ in range(50))]
    return model([*nodes, node("Tanh", ["h"], ["y"])], {"W": matrix(rng, SIZE, 1000)})


def unread(_: np.random.Generator) -> Any:
    return model([helper.make_node("Add", ["x", "b"], ["y"])], {})


def unmade(_: np.random.Generator) -> Any:
    return model([helper.make_node("Tanh", ["x"], ["z"])], {})


def moving(_: np.random.Generator) -> Any:
    return model([helper.make_node("MatMul", ["x", "x"], ["y"])], {})


def bare(_: np.random.Generator) -> Any:
    return model([helper.make_node("Add", ["x"], ["y"])], {})


def words(_: np.random.Generator) -> Any:
    return model([helper.make_node("Add", ["x", "b"], ["y"])], {"b": np.array(["one"] * SIZE)})


ERRORS = {
    endless: "has 10000000 inputs and outputs of layers, at most 32768 are allowed; train a smaller",
    widened: "inputs and outputs of layers, at most 32768 are allowed; train a smaller network",
    unread: "the operator Add reads 'b', which no operator computes before it; export it again",
    unmade: "nothing gives its output 'y'; export it again",
    moving: "the second input of MatMul is no matrix of the file; export it again",
    bare: "the operator Add cannot be applied: list index out of range; export it again",
    words: "'b' has object instead of numbers; export it again",
    recurrent: "has the operator LSTM, which pysim does not compute; it may have Add, Clip",
    wide: "linear needs W (m, n) and x (n,), got (3, 6) and (5,)",
    infinite: "'b' has NaN or infinite numbers; train it again",
    two: "has 1 inputs and 2 outputs; a network has one of each",
}


@pytest.mark.parametrize("graph", ERRORS)
def test_a_graph_with_other_parts_is_rejected(tmp_path: Path, graph: Any) -> None:
    path = write(tmp_path, graph(np.random.default_rng(1)))
    with pytest.raises(PysimError) as caught:
        pysim.load_scene(path)
    assert ERRORS[graph] in str(caught.value)


def test_other_files_are_rejected_with_their_name(tmp_path: Path) -> None:
    path = write(tmp_path, b"\x00 no model")
    with pytest.raises(SceneError, match=r"net\.onnx: is no ONNX model"):
        pysim.load_scene(path)
    (tmp_path / "net.onnx").unlink()
    with pytest.raises(SceneError, match=r"net\.onnx"):
        pysim.load_scene(path)


def test_numbers_in_another_file_are_rejected(tmp_path: Path) -> None:
    own = actor(np.random.default_rng(1))
    onnx.external_data_helper.set_external_data(own.graph.initializer[2], "weights.bin")
    with pytest.raises(SceneError, match="'W0' are in another file; export the model to one file"):
        pysim.load_scene(write(tmp_path, own))
