"""Running error analysis of a tape: a bound of each value's rounding error, from those of its operands.

    |x̂ ∘ ŷ − x ∘ y| ≤ |∂∘/∂x| e_x + |∂∘/∂y| e_y + u |x̂ ∘ ŷ|,   u = 2⁻⁵³      [Higham 2002, ch. 3.3]

To first order in the operands' errors. A function of the standard library is taken to be off by up to 4 u.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.tracing.evaluation import node_value
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.tracing.tape import Node, Tape

UNIT = 2.0**-53


def values_and_errors(tape: Tape, inputs: Array, targets: Sequence[int]) -> tuple[Array, Array]:
    """Return values and bounds of their rounding errors (targets, n) for the inputs (inputs, n)."""
    values: dict[int, Array] = {}
    errors: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for index in tape.needed(targets):
            node = tape.nodes[index]
            given = node_value(tape, node, values, inputs)
            values[index] = np.broadcast_to(given, inputs.shape[1:])
            errors[index] = rounding_error(
                tape,
                node,
                values[index],
                [values[a] for a in node.args],
                [errors[a] for a in node.args],
            )
    return np.array([values[k] for k in targets]), np.array([errors[k] for k in targets])


def rounding_error(
    tape: Tape, node: Node, value: Array, x: Sequence[Array], e: Sequence[Array]
) -> Array:
    """Bound of one node's rounding error, given its value, its operands x and the bounds e of their errors."""
    rounding: Any = UNIT * np.abs(value)
    match node.op:
        case "add" | "sub":
            rounding = e[0] + e[1] + rounding
        case "dot":
            rounding = _error_of_dot(tape, node, x, e)
        case "mul":
            rounding = np.abs(x[0]) * e[1] + np.abs(x[1]) * e[0] + rounding
        case "div":
            rounding = (e[0] + np.abs(value) * e[1]) / np.abs(x[1]) + rounding
        case "neg" | "abs":
            rounding = e[0]
        case "min" | "max":
            rounding = np.maximum(e[0], e[1])
        case "select":
            rounding = np.where(x[0] != 0, e[1], e[2])
        case "unknown":
            rounding = np.zeros(np.shape(value))
        case "solve":
            rounding = 1e4 * rounding  # of the residual's error, which is not followed
        case "less" | "less_equal" | "equal" | "sign" | "segment":
            rounding = 0 * rounding
        case "sqrt":
            rounding = np.where(value == 0, np.sqrt(e[0]), e[0] / np.abs(2 * value)) + rounding
        case "hypot":
            rounding = (np.abs(x[0]) * e[0] + np.abs(x[1]) * e[1]) / np.abs(value) + rounding
        case "sin":
            rounding = np.abs(np.cos(x[0])) * e[0] + rounding
        case "cos":
            rounding = np.abs(np.sin(x[0])) * e[0] + rounding
        case "tan":
            rounding = (1 + value**2) * e[0] + 4 * rounding
        case "asin" | "acos":
            rounding = e[0] / np.sqrt(np.maximum(1 - x[0] ** 2, e[0])) + 4 * rounding
        case "atan":
            rounding = e[0] / (1 + x[0] ** 2) + 4 * rounding
        case "atan2":
            rounding = (np.abs(x[1]) * e[0] + np.abs(x[0]) * e[1]) / (
                x[0] ** 2 + x[1] ** 2
            ) + 4 * rounding
        case "exp":
            rounding = np.abs(value) * e[0] + 4 * rounding
        case "tanh":
            rounding = (1 - value**2) * e[0] + 4 * rounding
        case "log":
            rounding = e[0] / np.abs(x[0]) + 4 * rounding
        case "pow":
            rate = np.abs(value * x[1] / x[0]) * e[0] + np.abs(value * np.log(np.abs(x[0]))) * e[1]
            rounding = np.where(x[0] == 0, 0, rate) + 4 * rounding
    return np.broadcast_to(rounding, np.shape(value))


def _error_of_dot(tape: Tape, node: Node, x: Sequence[Array], e: Sequence[Array]) -> Any:
    """Bound of the error of a weighted sum, whose parts are rounded at every addition [Higham 2002, ch. 3.1]."""
    start, count = node.data[0], len(node.args)
    weights = np.abs(tape.tables[start : start + count])
    size = sum(w * np.abs(own) for w, own in zip(weights, x, strict=True))
    return sum(w * own for w, own in zip(weights, e, strict=True)) + count * UNIT * size
