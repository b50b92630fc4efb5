"""Evaluation of a tape on arrays: nodes for many states at once, in real or complex arithmetic.

Complex steps give derivatives that do not depend on differentiation rules, as checks require: with a step of 1e-30 i
along v, the imaginary part divided by 1e-30 is the rate to rounding [Squire and Trapp 1998]. Branches follow the real
part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim.tracing.random_numbers import uniform
from pysim.tracing.tape import rows_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pysim.tracing.tape import Node, Tape

    Columns = NDArray[Any]

STEP = 1e-30
EPSILON = float(np.finfo(float).eps)
MOST_ROOT_STEPS = 64


class _Values(Protocol):
    """Values of nodes by index."""

    def __getitem__(self, index: int, /) -> Columns: ...


def evaluate(tape: Tape, inputs: Columns, targets: Sequence[int]) -> Columns:
    """Return the values (targets, n) of nodes for the inputs (inputs, n)."""
    count = inputs.shape[1]
    values: dict[int, Columns] = {}
    with np.errstate(all="ignore"):
        for index in tape.needed(targets):
            if tape.unknowns(index):
                continue  # of a residual, which its equation evaluates
            values[index] = node_value(tape, tape.nodes[index], values, inputs)
    if not targets:
        return np.zeros((0, count), inputs.dtype)
    return np.stack([np.broadcast_to(values[k], count) for k in targets])


def rate(tape: Tape, inputs: Columns, rates: Columns, targets: Sequence[int]) -> Columns:
    """Return the rates (targets, n) of nodes while the inputs change at `rates` (inputs, n)."""
    stepped = evaluate(tape, inputs + 1j * STEP * rates, targets)
    return np.asarray(stepped.imag / STEP)


def node_value(tape: Tape, node: Node, values: _Values, inputs: Columns) -> Columns:
    """Return the values (n,) of one node, given those of its operands."""
    match node.op:
        case "const":
            return np.asarray(node.value, inputs.dtype)
        case "input":
            return np.asarray(inputs[node.data[0]])
        case "segment":
            start, count = node.data
            x, inner = values[node.args[0]].real, tape.tables[start + 1 : start + count - 1]
            return np.where(np.isnan(x), np.nan, np.searchsorted(inner, x, side="right"))
        case "dot":
            start = node.data[0]
            weights = tape.tables[start : start + len(node.args)]
            parts = (w * values[a] for w, a in zip(weights, node.args, strict=True))
            return np.asarray(sum(parts))
        case "lookup":
            start, stride = node.data
            return rows_at(tape.tables, start, stride, values[node.args[0]].real)
        case "unknown":
            return np.full(inputs.shape[1], np.nan, inputs.dtype)
        case "solve":
            return _Equation(tape, node, values, inputs).solution()
    return np.asarray(_OPERATIONS[node.op](*(values[a] for a in node.args)))


class _Equation:
    """An implicit equation at given values of the numbers on which it depends, as cpp/tree/implicit_equation.hpp."""

    def __init__(self, tape: Tape, node: Node, values: _Values, inputs: Columns) -> None:
        self._tape, self._node, self._values, self._inputs = tape, node, values, inputs
        self._body = [k for k in tape.body(tape.index_of(node)) if k != node.args[0]]

    def solution(self) -> Columns:
        """Return the solution (n,), with its rate if the numbers are complex."""
        inputs = self._inputs.real
        count = inputs.shape[1]
        guess, lower, upper = (
            np.broadcast_to(self._values[a].real, count) for a in self._node.args[3:]
        )
        outside = _RealParts(self._values)
        with np.errstate(all="ignore"):
            x = self._root(guess, lower, upper, lambda x: self._residual(x, outside, inputs))
        if not np.iscomplexobj(self._inputs):
            return x
        r, slope = self._residual(x.astype(complex), self._values, self._inputs)
        return np.asarray(x - 1j * r.imag / slope.real)

    def _residual(self, x: Columns, outside: _Values, inputs: Columns) -> tuple[Columns, Columns]:
        """Return the residual and its slope (n,) at x."""
        tape, (unknown, residual, slope, *_) = self._tape, self._node.args
        values = _Inside(outside, {unknown: x})
        for k in self._body:
            values.inside[k] = node_value(tape, tape.nodes[k], values, inputs)
        return np.broadcast_to(values[residual], x.shape), np.broadcast_to(values[slope], x.shape)

    @staticmethod
    def _root(
        guess: Columns,
        lower: Columns,
        upper: Columns,
        residual: Callable[[Columns], tuple[Columns, Columns]],
    ) -> Columns:
        ends = residual(lower)[0], residual(upper)[0]
        rises = ends[0] < ends[1]
        low, high = np.where(rises, lower, upper), np.where(rises, upper, lower)
        least, most = np.where(rises, *ends), np.where(rises, ends[1], ends[0])
        rounding = 64 * EPSILON * (abs(least) + abs(most))
        at_low, at_high = (least >= 0) & (least <= rounding), (most <= 0) & (-most <= rounding)
        crosses = (least < 0) & (most > 0)
        x = np.where(at_low, low, np.where(at_high, high, np.clip(guess, lower, upper)))
        last, done = upper - lower, ~crosses
        for _ in range(MOST_ROOT_STEPS):
            if done.all():
                break
            f, slope = residual(x)
            low, high = np.where(f < 0, x, low), np.where(f < 0, high, x)
            newton = x - f / slope
            stays = (newton >= np.minimum(low, high)) & (newton <= np.maximum(low, high))
            halves = 2 * abs(newton - x) <= last
            following = np.where(stays & halves, newton, 0.5 * (low + high))
            following = np.where(f == 0, x, following)
            last = abs(following - x)
            precision = EPSILON * (2 * abs(following) + 1e-3 * abs(upper - lower))
            x = np.where(done, x, np.where(np.isnan(f), np.nan, following))
            done = done | (last <= precision) | np.isnan(f)
        return np.where(done & (crosses | at_low | at_high), x, np.nan)


class _RealParts:
    """Real parts of values."""

    def __init__(self, values: _Values) -> None:
        self._values = values

    def __getitem__(self, index: int) -> Columns:
        return np.real(self._values[index])


class _Inside:
    """Values of the nodes of a residual, and of those outside of it."""

    def __init__(self, outside: _Values, inside: dict[int, Columns]) -> None:
        self._outside, self.inside = outside, inside

    def __getitem__(self, index: int) -> Columns:
        return self.inside[index] if index in self.inside else self._outside[index]


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
    "min": lambda a, b: np.where((a.real < b.real) | np.isnan(a.real), a, b),
    "max": lambda a, b: np.where((a.real > b.real) | np.isnan(a.real), a, b),
    "hypot": lambda a, b: np.sqrt(a * a + b * b),
    "less": lambda a, b: (a.real < b.real).astype(float),
    "less_equal": lambda a, b: (a.real <= b.real).astype(float),
    "equal": lambda a, b: (a.real == b.real).astype(float),
    "select": lambda a, b, c: np.where(a.real != 0, b, c),
    "sign": lambda a: np.sign(a.real),
    "random": lambda index, key, stream: uniform(index.real, key.real, stream.real),
}
