"""Feed-forward networks of ONNX files: graphs of dense layers and functions of single numbers.

A graph has one input and one output of numbers in a row, with or without a leading dimension of one for the batch. Its
operators are applied to numbers or symbols one after the other [ONNX 2026].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.library.networks.network_limits import FLOAT, MOST_WEIGHTS, check_units
from pysim.errors import PysimError
from pysim.files.arrays import read_bytes
from pysim.tracing.linear import linear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Operator = Callable[[Any, Mapping[str, Any]], Any]

MOST_CHARACTERS = 200  # characters of a library's error


def _each(function: Callable[[Any], Any]) -> Operator:
    """Return the operator that applies a function to every number."""
    return lambda given, _: np.array([function(x) for x in given[0]])


def _elu(given: Any, keys: Mapping[str, Any]) -> Any:
    alpha = keys.get("alpha", 1.0)
    return np.array(
        [np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0.0)) - 1)) for x in given[0]]
    )


def _leaky_relu(given: Any, keys: Mapping[str, Any]) -> Any:
    slope = keys.get("alpha", 0.01)
    return np.array([np.where(x > 0, x, slope * x) for x in given[0]])


def _clip(given: Any, _: Mapping[str, Any]) -> Any:
    lower, upper = (
        float(x[0]) if x is not None else end
        for x, end in zip([*given[1:], None, None], (-np.inf, np.inf), strict=False)
    )
    return np.array([np.clip(x, lower, upper) for x in given[0]])


def _gemm(given: Any, keys: Mapping[str, Any]) -> Any:
    if keys.get("transA", 0):
        raise PysimError("Gemm", "transposes its input, which is a row; export it again")
    W = given[1] if keys.get("transB", 0) else given[1].T
    bias = given[2] if len(given) > 2 and given[2] is not None else np.zeros(len(W))
    alpha, beta = keys.get("alpha", 1.0), keys.get("beta", 1.0)
    return linear(alpha * W, given[0], beta * np.broadcast_to(bias, (len(W),)))


def _matmul(given: Any, _: Mapping[str, Any]) -> Any:
    return linear(np.ascontiguousarray(given[1].T), given[0], np.zeros(given[1].shape[1]))


OPERATORS: dict[str, Operator] = {
    "Add": lambda given, _: given[0] + given[1],
    "Clip": _clip,
    "Div": lambda given, _: given[0] / given[1],
    "Elu": _elu,
    "Flatten": lambda given, _: given[0],
    "Gemm": _gemm,
    "Identity": lambda given, _: given[0],
    "LeakyRelu": _leaky_relu,
    "MatMul": _matmul,
    "Mul": lambda given, _: given[0] * given[1],
    "Relu": _each(lambda x: np.maximum(x, 0.0)),
    "Sigmoid": _each(lambda x: 0.5 + 0.5 * np.tanh(0.5 * x)),
    "Sub": lambda given, _: given[0] - given[1],
    "Tanh": _each(np.tanh),
}
MATRICES = {"Gemm", "MatMul"}  # whose second input is a matrix of the file


@dataclass(frozen=True)
class Node:
    """An operator with the names of its inputs and of its output."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    keys: Mapping[str, Any]


@dataclass(frozen=True)
class OnnxNetwork:
    """Network of an ONNX file; a call returns its outputs (m,) of inputs (n,), numbers or symbols."""

    path: str
    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    input: str
    output: str
    size: int  # of its input
    outputs: int = field(init=False)

    def __post_init__(self) -> None:
        check_units(self.path, self.size)
        object.__setattr__(self, "outputs", len(self(np.zeros(self.size))))

    def __call__(self, x: Any) -> Any:
        values: dict[str, Any] = {**self.constants, self.input: x}
        units = self.size
        for node in self.nodes:
            unknown = next((name for name in node.inputs if name and name not in values), None)
            if unknown is not None:
                problem = (
                    f"the operator {node.operator} reads {unknown!r}, which no operator computes"
                )
                raise PysimError(self.path, f"{problem} before it; export it again")
            given = [values[name] if name else None for name in node.inputs]
            try:
                with np.errstate(all="ignore"):
                    found = OPERATORS[node.operator](given, node.keys)
            except Exception as error:  # noqa: BLE001, whatever NumPy raises of shapes and types
                problem = f"the operator {node.operator} cannot be applied: {error}"
                raise PysimError(self.path, f"{problem}; export it again") from None
            if np.ndim(found) != 1:
                problem = f"the operator {node.operator} gives {np.ndim(found)} dimensions"
                raise PysimError(self.path, f"{problem} instead of a row; export it again")
            units += len(found)
            check_units(self.path, units)
            values[node.output] = found
        if self.output not in values:
            raise PysimError(
                self.path, f"nothing gives its output {self.output!r}; export it again"
            )
        return values[self.output]


def read_onnx(path: str) -> OnnxNetwork:
    """Return the network of a file.

    Raises:
        PysimError: the package `onnx` is not installed, the file cannot be read, or its graph is none of dense layers.
    """
    try:
        import onnx  # noqa: PLC0415, an extra
    except ImportError:
        problem = 'needs the package onnx; install it with `pip install "pysim-multibody[onnx]"`'
        raise PysimError(path, problem) from None
    data = read_bytes(path, MOST_WEIGHTS * FLOAT)
    try:
        return _network(path, onnx.load_from_string(data).graph)
    except PysimError:
        raise
    except Exception as error:  # noqa: BLE001, whatever protobuf and onnx raise of damaged files
        cause = " ".join(str(error).split())[:MOST_CHARACTERS] or type(error).__name__
        raise PysimError(path, f"is no ONNX model: {cause}; export it again") from None


def _network(path: str, graph: Any) -> OnnxNetwork:
    """Return the network of a graph.

    Raises:
        PysimError: it is not one of dense layers.
    """
    import onnx  # noqa: PLC0415, an extra
    from onnx import numpy_helper  # noqa: PLC0415

    constants: dict[str, Array] = {}
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            problem = f"the numbers {tensor.name!r} are in another file"
            raise PysimError(path, f"{problem}; export the model to one file")
        constants[tensor.name] = _check_finite(path, tensor.name, numpy_helper.to_array(tensor))
    nodes = []
    for node in graph.node:
        keys = {own.name: onnx.helper.get_attribute_value(own) for own in node.attribute}
        if len(node.output) != 1:
            problem = f"the operator {node.op_type} has {len(node.output)} outputs"
            raise PysimError(path, f"{problem} instead of one; export it again")
        if node.op_type == "Constant" and "value" in keys:
            value = numpy_helper.to_array(keys["value"])
            constants[node.output[0]] = _check_finite(path, node.output[0], value)
        elif node.op_type not in OPERATORS:
            problem = f"has the operator {node.op_type}, which pysim does not compute"
            raise PysimError(path, f"{problem}; it may have {', '.join(OPERATORS)}")
        else:
            nodes.append(Node(node.op_type, tuple(node.input), node.output[0], keys))
    for own in nodes:
        if own.operator in MATRICES and (
            len(own.inputs) < 2 or np.ndim(constants.get(own.inputs[1], 0.0)) != 2
        ):
            problem = f"the second input of {own.operator} is no matrix of the file"
            raise PysimError(path, f"{problem}; export it again")
    constants = _as_rows(constants, nodes)
    inputs = [own for own in graph.input if own.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        given = f"{len(inputs)} inputs and {len(graph.output)} outputs"
        raise PysimError(path, f"has {given}; a network has one of each")
    size = _size(path, inputs[0], nodes, constants)
    return OnnxNetwork(path, tuple(nodes), constants, inputs[0].name, graph.output[0].name, size)


def _check_finite(path: str, name: str, array: Array) -> Array:
    """Return finite numbers in double precision."""
    if array.dtype.kind in "cOSU":
        raise PysimError(path, f"{name!r} has {array.dtype} instead of numbers; export it again")
    found = np.asarray(array, float)
    if not np.isfinite(found).all():
        raise PysimError(path, f"{name!r} has NaN or infinite numbers; train it again")
    return found


def _as_rows(constants: Mapping[str, Array], nodes: list[Node]) -> dict[str, Array]:
    """Return constants with a leading batch dimension removed where they are no matrices of layers."""
    matrices = {node.inputs[1] for node in nodes if node.operator in MATRICES}
    return {
        name: x if name in matrices else np.atleast_1d(x.reshape(x.shape[-1:]) if x.size else x)
        for name, x in constants.items()
    }


def _size(path: str, given: Any, nodes: list[Node], constants: Mapping[str, Array]) -> int:
    """Return how many numbers the input has, as its shape or the first layer says."""
    shape = [int(d.dim_value) for d in given.type.tensor_type.shape.dim]
    if shape and shape[-1] > 0:
        return shape[-1]
    for node in nodes:
        if node.operator in MATRICES:
            W = constants[node.inputs[1]]
            return int(W.shape[1] if node.keys.get("transB", 0) else W.shape[0])
    raise PysimError(path, "does not say how many numbers its input has; export it with a shape")
