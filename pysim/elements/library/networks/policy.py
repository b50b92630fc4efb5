"""Learned policies: dense networks that read an observation and command actuators."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Controller, controller
from pysim.elements.channels import real, signal
from pysim.elements.library.networks.exported_layers import named_layers
from pysim.elements.library.networks.network_limits import FLOAT, MOST_WEIGHTS, check_units
from pysim.elements.library.networks.onnx_network import OnnxNetwork, read_onnx
from pysim.errors import PysimError, did_you_mean
from pysim.files.arrays import read_npz
from pysim.tracing.linear import linear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]

MOST_NAMES = 5  # names of arrays in an error
SHOWN_TEXT = 40  # characters of a text in an error
ENVIRONMENT = ("scales", "limit", "slots", "rates", "scale", "offset", "range")
REAL = "fiub"  # kinds of arrays of real numbers
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "elu": lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0.0)) - 1),
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
}


def read_network(path: str) -> dict[str, Array]:
    """Return the arrays of a network's file: `weight0` (outputs, inputs), `bias0`, `weight1` … and what else it has.

    Raises:
        PysimError: the file cannot be read, its layers do not fit one another, or are too large.
    """
    return _checked_network(path, read_npz(path, MOST_WEIGHTS * FLOAT))


def read_policy(path: str) -> tuple[dict[str, Array], OnnxNetwork | None]:
    """Return the arrays of a policy, and the graph in place of layers of an ONNX file.

    Raises:
        PysimError: as `read_network`, and `read_onnx`.
    """
    if Path(path).suffix.lower() == ".onnx":
        return {}, read_onnx(path)
    return _checked_network(path, named_layers(read_npz(path, MOST_WEIGHTS * FLOAT))), None


def network_sizes(arrays: Mapping[str, Array], graph: OnnxNetwork | None) -> tuple[int, int]:
    """Return how many inputs and outputs a network has."""
    if graph is not None:
        return graph.size, graph.outputs
    return arrays["weight0"].shape[1], len(arrays[f"bias{_layers(arrays) - 1}"])


def _checked_network(path: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return arrays whose layers fit one another."""
    size: int | None = None
    units = 0
    for k in range(_layers(arrays)):
        weight, bias = arrays[f"weight{k}"], arrays.get(f"bias{k}")
        if bias is None or weight.ndim != 2 or bias.shape != weight.shape[:1]:
            raise PysimError(path, f"weight{k} must be (outputs, inputs), with bias{k} (outputs,)")
        if not weight.size or weight.dtype.kind not in REAL or bias.dtype.kind not in REAL:
            raise PysimError(path, f"layer {k} has no numbers; export it again")
        if size is not None and weight.shape[1] != size:
            problem = (
                f"weight{k} takes {weight.shape[1]} numbers, and the layer before gives {size}"
            )
            raise PysimError(path, f"{problem}; export it again")
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise PysimError(path, f"layer {k} has numbers that are not finite; train it again")
        units += len(weight) + (weight.shape[1] if k == 0 else 0)
        size = len(weight)
    check_units(path, units)
    if size is None:
        first = [*arrays][:MOST_NAMES] + ["…"] * (len(arrays) > MOST_NAMES)
        problem = f"has no weight0; it has {', '.join(first) or 'nothing'}"
        raise PysimError(path, f"{problem}; give the .npz of a network")
    return arrays


def _clipped(numbers: Any, lower: float, upper: float) -> Any:
    """Return numbers or symbols within limits."""
    return np.array([np.clip(number, lower, upper) for number in numbers])


def _layers(arrays: Mapping[str, Array]) -> int:
    return next(k for k in range(len(arrays) + 1) if f"weight{k}" not in arrays)


def evaluate_network(arrays: Mapping[str, Array], activation: str, x: Any) -> Any:
    """Return the outputs of a network of x, numbers or symbols; the last layer is linear."""
    act, count = ACTIVATIONS[activation], _layers(arrays)
    for k in range(count):
        x = linear(arrays[f"weight{k}"], x, arrays[f"bias{k}"])
        if k + 1 < count:
            x = np.array([act(number) for number in x])
    return x


def _check_policy(path: str, a: Mapping[str, Array], n: int, m: int) -> None:
    """Reject arrays of a policy that do not fit one another, or its network of n inputs and m outputs.

    Raises:
        PysimError: one has another shape, or numbers that it must not have.
    """
    given = str(a["activation"])
    if given not in ACTIVATIONS:
        problem = f"activation {given[:SHOWN_TEXT]!r} is unknown{did_you_mean(given, ACTIVATIONS)}"
        raise PysimError(path, problem)
    k = a["scales"].size
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {
        "scales": ((k,),),
        "limit": ((),),
        "mean": ((n,),),
        "deviation": ((n,),),
        "slots": ((m,), (0,)),
        "rates": ((m,), (0,)),
        "scale": ((m,),),
        "offset": ((m,),),
        "range": ((2,),),
        "clip": ((),),
        "squashed": ((),),
    }
    for name, wanted in shapes.items():
        x = a.get(name)
        if x is None:  # files of earlier versions lack some
            continue
        if x.dtype.kind not in REAL or x.shape not in wanted:
            problem = f"{name!r} must be {wanted[0] or 'one number'}"
            problem = f"{problem} for a network of {n} inputs and {m} outputs, got {x.shape}"
            raise PysimError(path, f"{problem} of {x.dtype}; export it again")
        is_valid = ~np.isnan(x) if name in {"limit", "range", "clip"} else np.isfinite(x)
        if not is_valid.all() or (name == "deviation" and not (x > 0).all()):
            which = "that are not positive" if is_valid.all() else "that are not finite"
            raise PysimError(path, f"{name!r} has numbers {which}; train it again")
    if not k or n % k:
        problem = f"'scales' has {k} numbers, and the network takes {n}, which is no multiple"
        raise PysimError(path, f"{problem}; export it again")
    places = [*a["slots"].tolist(), *a.get("rates", np.zeros(0)).tolist()]
    if len(set(places)) < len(places) or not set(places) <= set(range(k)):
        problem = f"'slots' and 'rates' must be different places among {k} numbers"
        raise PysimError(path, f"{problem}; export it again")


class NetworkFile(Controller):
    """Base class of controllers that compute by the network in a file."""

    file: str  # .npz with weight0 (outputs, inputs), bias0, weight1 …, or .onnx
    activation: str = "elu"  # elu, relu or tanh, of an .npz

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            problem = f"there is no {self.activation!r}{did_you_mean(self.activation, ACTIVATIONS)}"
            raise PysimError("activation", problem)

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """Arrays of the file."""
        return read_network(self.file)

    @cached_property
    def graph(self) -> OnnxNetwork | None:
        """Graph of an ONNX file; None for arrays."""
        return read_onnx(self.file) if Path(self.file).suffix.lower() == ".onnx" else None

    def network_sizes(self) -> tuple[int, int]:
        """Return how many inputs and outputs the network has."""
        return network_sizes({} if self.graph is not None else self.arrays, self.graph)

    def evaluated(self, x: Any) -> Any:
        """Return the outputs of the network of x, numbers or symbols."""
        graph = self.graph
        return evaluate_network(self.arrays, self.activation, x) if graph is None else graph(x)


@controller("mlp")
class Network(NetworkFile):
    """Dense network, layer by layer activation(W x + b); the last layer is linear.

    An ONNX file has its activations and may have other operators: sums, differences, products and quotients of
    numbers, Gemm, MatMul, Elu, Relu, LeakyRelu, Tanh, Sigmoid and Clip. Reading one needs the package `onnx`.
    A network has at most 32768 inputs and outputs of layers, and a file 32 MiB of numbers.
    """

    inputs = signal("value", unit="", size="n")
    outputs = signal("value", unit="", size="m")
    unit: str = ""  # of the output; "" fits every unit

    def sizes(self) -> Mapping[str, int]:
        return {"m": self.network_sizes()[1]}

    def output(self, inputs: Any) -> Any:
        y = self.evaluated(self._fitting(np.atleast_1d(np.array(inputs.value))))
        return y[0] if len(y) == 1 else y

    def _fitting(self, x: Any) -> Any:
        wanted, _ = self.network_sizes()
        if len(x) != wanted:
            problem = f"takes {wanted} numbers, and the signal has {len(x)}"
            raise PysimError(self.file, f"{problem}; join the signals that it was trained with")
        return x

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, as of the base class
        return {"value": self.unit}


@controller("learned_policy")
class Policy(Controller):
    """Learned policy: offset + scale · action, of the observation and the last action.

    The file has the network's layers, `mean` and `deviation` that normalise as many observations as the network sees
    in a row, and of the environment that it was trained in: `scales` and `limit` of an observation, the `slots` of the
    last action and the `rates` of its change in it, and `scale`, `offset` and `range` of the action. A network of
    another program, an ONNX file or the parameters of stable-baselines3 or rsl_rl, has those of the environment as
    keys here.
    """

    inputs = signal("observation", unit="", size="n")
    outputs = signal("command", unit="", size="m")
    file: str  # .npz that `pysim learn` has written, or .npz or .onnx of another program
    scales: tuple[float, ...] = ()  # of an observation's numbers; those of the file by default
    limit: float = 0.0  # of a scaled number; this and the keys below apply only with `scales`
    slots: tuple[float, ...] = ()  # places of the last action in an observation
    rates: tuple[float, ...] = ()  # places of its change
    scale: tuple[float, ...] = ()  # of the action
    offset: tuple[float, ...] = ()  # of the command at the action 0
    range: tuple[float, ...] = ()  # lower and upper end of the action's numbers

    def __post_init__(self) -> None:
        a, m = self.arrays, self._size
        past = len(a["mean"]) - len(a["scales"])  # numbers of observations before, the oldest first
        vars(self)["memory"] = real("action", size=m + (m + past + 1) * bool(past or self._rates))

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """Arrays of the file.

        Raises:
            PysimError: it is no policy.
        """
        arrays, graph = dict(self._content[0]), self._content[1]
        n, m = network_sizes(arrays, graph)
        if self.scales:
            arrays |= {name: np.array(getattr(self, name), float) for name in ENVIRONMENT}
            arrays = {"mean": np.zeros(n), "deviation": np.ones(n), **arrays}
        if graph is not None:
            arrays["activation"] = np.array("elu")  # the graph has its own
        missing = {
            "activation",
            "scales",
            "limit",
            "mean",
            "deviation",
            "slots",
            "scale",
            "offset",
            "range",
        } - set(arrays)
        if missing:
            problem = f"is no policy: it lacks {', '.join(sorted(missing))}"
            raise PysimError(self.file, f'{problem}; use type = "mlp" for a plain network')
        _check_policy(self.file, arrays, n, m)
        return arrays

    @cached_property
    def _content(self) -> tuple[dict[str, Array], OnnxNetwork | None]:
        """Arrays of the file, and its graph."""
        return read_policy(self.file)

    @property
    def _size(self) -> int:
        return len(self.arrays["scale"])

    @property
    def _rates(self) -> list[int]:
        """Places of the action's change in an observation; files of earlier versions have none."""
        return [int(place) for place in self.arrays.get("rates", ())]

    def sizes(self) -> Mapping[str, int]:
        return {"m": self._size}

    def output(self, inputs: Any, action: Any) -> Any:
        a = self.arrays
        y = a["offset"] + a["scale"] * self._action(inputs, action)
        return y[0] if len(y) == 1 else y

    def update(self, inputs: Any, action: Any) -> Any:
        memory, m = list(np.atleast_1d(np.array(action))), self._size
        new = list(self._action(inputs, action))
        if len(memory) == m:
            return new
        k = len(self.arrays["scales"])
        return [*new, *memory[:m], *self._observed(inputs, action)[k:], 1.0]

    def _observed(self, inputs: Any, memory: Any) -> list[Any]:
        """Return the numbers of the observations that the network sees; at the start all are the first."""
        a, m = self.arrays, self._size
        seen, memory = (
            list(np.atleast_1d(np.array(inputs.observation))),
            list(np.atleast_1d(np.array(memory))),
        )
        last = dict(zip(map(int, a["slots"]), memory, strict=False))
        if self._rates:
            rates = [
                now - before for now, before in zip(memory[:m], memory[m : 2 * m], strict=True)
            ]
            last |= dict(zip(self._rates, rates, strict=True))
        k = len(a["scales"])
        if len(seen) + len(last) != k:
            problem = f"was trained with {k - len(last)} numbers, and the signal has {len(seen)}"
            raise PysimError(self.file, f"{problem}; give the observations of its environment")
        frame = np.array([last[place] if place in last else seen.pop(0) for place in range(k)])
        frame = _clipped(frame * a["scales"], -float(a["limit"]), float(a["limit"]))
        past = memory[2 * m : -1]
        first = list(frame) * (len(past) // k)
        kept = [
            np.where(memory[-1] > 0, now, start) for now, start in zip(past, first, strict=True)
        ]
        return [*kept, *frame]

    def _action(self, inputs: Any, memory: Any) -> Any:
        a = self.arrays
        x = (np.array(self._observed(inputs, memory)) - a["mean"]) / a["deviation"]
        if "clip" in a:
            x = _clipped(x, -float(a["clip"]), float(a["clip"]))
        graph, (lower, upper) = self._content[1], a["range"].tolist()
        y = evaluate_network(a, str(a["activation"]), x) if graph is None else graph(x)
        if a.get("squashed", False):
            y = lower + (upper - lower) / 2 * (1 + np.tanh(y))
        return _clipped(y, lower, upper)
