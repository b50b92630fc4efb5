"""Evaluation of a tape on arrays: nodes for many states at once, in real or complex arithmetic.

Complex steps give derivatives that do not depend on differentiation rules, as checks require: with a step of 1e-30 i
along v, the imaginary part divided by 1e-30 is the rate to rounding [Squire and Trapp 1998]. Branches follow the real
part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.tracing.random_numbers import uniform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.tracing.tape import Node, Tape

    Columns = NDArray[Any]

STEP = 1e-30


def evaluate(tape: Tape, inputs: Columns, targets: Sequence[int]) -> Columns:
    """Return the values (targets, n) of nodes for the inputs (inputs, n)."""
    count = inputs.shape[1]
    values: dict[int, Columns] = {}
    with np.errstate(all="ignore"):
        for index in tape.needed(targets):
            values[index] = node_value(tape, tape.nodes[index], values, inputs)
    if not targets:
        return np.zeros((0, count), inputs.dtype)
    return np.stack([np.broadcast_to(values[k], count) for k in targets])


def rate(tape: Tape, inputs: Columns, rates: Columns, targets: Sequence[int]) -> Columns:
    """Return the rates (targets, n) of nodes while the inputs change at `rates` (inputs, n)."""
    stepped = evaluate(tape, inputs + 1j * STEP * rates, targets)
    return np.asarray(stepped.imag / STEP)


def node_value(
    tape: Tape, node: Node, values: Mapping[int, Columns] | Sequence[Columns], inputs: Columns
) -> Columns:
    """Return the values (n,) of one node, given those of its operands."""
    match node.op:
        case "const":
            return np.asarray(node.value, inputs.dtype)
        case "input":
            return np.asarray(inputs[node.data[0]])
        case "segment":
            start, count = node.data
            inner = tape.tables[start + 1 : start + count - 1]
            return np.asarray(np.searchsorted(inner, values[node.args[0]].real, side="right"))
        case "dot":
            start = node.data[0]
            weights = tape.tables[start : start + len(node.args)]
            parts = (w * values[a] for w, a in zip(weights, node.args, strict=True))
            return np.asarray(sum(parts))
        case "lookup":
            start, stride = node.data
            table = np.array(tape.tables)
            return np.asarray(table[start + stride * values[node.args[0]].real.astype(int)])
    return np.asarray(_OPERATIONS[node.op](*(values[a] for a in node.args)))


def _atan2(y: Columns, x: Columns) -> Columns:
    """Return atan2(y, x): the angle from the real parts, its rate from arctan(y / x) or −arctan(x / y)."""
    angle = np.arctan2(y.real, x.real)
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return np.asarray(angle)
    flat = abs(x.real) >= abs(y.real)
    slope = np.where(flat, np.where(flat, y, 1) / np.where(flat, x, 1), 0)
    steep = np.where(flat, 0, np.where(flat, 1, x) / np.where(flat, 1, y))
    return np.asarray(angle + 1j * np.where(flat, np.arctan(slope), -np.arctan(steep)).imag)


def _power(x: Columns, y: Columns) -> Columns:
    """Return x^y with its rate; NumPy's complex power of a negative number would lose a small imaginary part in π."""
    value = np.power(x.real, y.real)
    if not (np.iscomplexobj(x) or np.iscomplexobj(y)):
        return np.asarray(value)
    along_x = y.real * np.power(x.real, y.real - 1) * x.imag
    along_y = np.where(y.imag == 0, 0, value * np.log(x.real) * y.imag)
    return np.asarray(value + 1j * (along_x + along_y))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": _atan2,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "pow": _power,
    "abs": lambda a: np.where(a.real < 0, -a, a),
    "floor": lambda a: np.floor(a.real),
    "min": lambda a, b: np.where(a.real < b.real, a, b),
    "max": lambda a, b: np.where(a.real < b.real, b, a),
    "hypot": lambda a, b: np.sqrt(a * a + b * b),
    "less": lambda a, b: (a.real < b.real).astype(float),
    "less_equal": lambda a, b: (a.real <= b.real).astype(float),
    "equal": lambda a, b: (a.real == b.real).astype(float),
    "select": lambda a, b, c: np.where(a.real != 0, b, c),
    "sign": lambda a: np.sign(a.real),
    "random": lambda index, key, stream: uniform(index.real, key.real, stream.real),
}
