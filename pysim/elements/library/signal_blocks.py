"""Blocks between signals: arithmetic, limits, filters, delays and linear systems.

The file is a list, one class a block, long because there are many.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements import gains
from pysim.elements.block import Controller, controller
from pysim.elements.channels import MOST_NUMBERS, real, signal
from pysim.elements.rows import array_of_rows
from pysim.elements.units import check_same_unit
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping

Matrix = tuple[tuple[float, ...], ...]
MOST_PERIODS = 1000  # of a delay in which worlds differ


class _SameUnit(Controller):
    """Base class of blocks whose output has the size and the unit of their input."""

    inputs = signal("value", unit="", size="n")
    outputs = signal("value", unit="", size="n")

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        return {"value": inputs["value"]}


def _each(function: Any, *values: Any) -> Any:
    """Apply a function of numbers to one number, or to each of several."""
    if not isinstance(values[0], np.ndarray):
        return function(*values)
    return [function(*numbers) for numbers in zip(*values, strict=True)]


def _array(values: Any) -> Any:
    """Return an array of one number, or of several."""
    return np.atleast_1d(np.asarray(values, object))


def _after_hold(A: Any, B: Any, period: float, x: Any, u: Any) -> Any:
    """Return the state of x′ = A x + B u after a period in which u is held: of exp of [[A, B], [0, 0]]."""
    from scipy.linalg import expm  # noqa: PLC0415, loads where a linear system is sampled

    n, m = B.shape
    whole = expm(period * np.vstack([np.hstack([A, B]), np.zeros((m, n + m))]))
    return whole[:n, :n] @ _array(x) + whole[:n, n:] @ _array(u)


def _check_order(lower: float, upper: float) -> None:
    if lower > upper:
        raise PysimError("lower", f"{lower:g} is above upper, {upper:g}; swap them")


def _check_positive(name: str, value: float, unit: str) -> None:
    if not value > 0:
        raise PysimError(name, f"must be positive [{unit}], got {value:g}; change it")


@controller("gain")
class Gain(Controller):
    """Signal times a gain, plus an offset, number by number."""

    inputs = signal("value", unit="", size="n")
    outputs = signal("value", unit="", size="n")
    gain: gains.Gain
    offset: gains.Gain = 0.0
    unit: str = ""  # of the output; "" fits every unit

    def output(self, inputs: Any) -> Any:
        x = inputs.value
        return gains.gain_of("gain", self.gain, x) * x + gains.gain_of("offset", self.offset, x)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, as of the base class
        return {"value": self.unit}


@controller("sum")
class Sum(Controller):
    """Weighted sum of two signals, number by number."""

    inputs = signal("first", unit="", size="n") * signal("second", unit="", size="n")
    outputs = signal("value", unit="", size="n")
    weights: tuple[float, float] = (1.0, 1.0)

    def output(self, inputs: Any) -> Any:
        return self.weights[0] * inputs.first + self.weights[1] * inputs.second

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        first, second = inputs["first"], inputs["second"]
        if all(abs(weight) == 1 for weight in self.weights):  # others may have units of their own
            check_same_unit("second", second, first)
        return {"value": first if first == second else ""}


@controller("join")
class Join(Controller):
    """Numbers of several signals, one after the other, as one signal."""

    inputs = signal("values", unit="", size="n", many=True)
    outputs = signal("value", unit="", size="n")

    def output(self, inputs: Any) -> Any:
        return inputs.values

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        return {"value": inputs["values"]}


@controller("matrix")
class MatrixGain(Controller):
    """Matrix times a signal, plus an offset: y = M x + offset."""

    inputs = signal("value", unit="", size="n")
    outputs = signal("value", unit="", size="m")
    matrix: Matrix  # M, row by row
    offset: tuple[float, ...] = ()  # 0 by default
    unit: str = ""  # of the output; "" fits every unit

    def __post_init__(self) -> None:
        if array_of_rows("matrix", self.matrix).size == 0:
            raise PysimError("matrix", "has no numbers; write it row by row")
        if self.offset and len(self.offset) != len(self.matrix):
            problem = (
                f"must have one number for each row, got {len(self.offset)} for {len(self.matrix)}"
            )
            raise PysimError("offset", f"{problem}; write one for each")

    def sizes(self) -> Mapping[str, int]:
        return {"m": len(self.matrix)}

    def output(self, inputs: Any) -> Any:
        x = _array(inputs.value)
        M = array_of_rows("matrix", self.matrix, len(x), "one for each number of the signal")
        y = M @ x + (np.array(self.offset) if self.offset else 0.0)
        return y[0] if len(y) == 1 else y

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, as of the base class
        return {"value": self.unit}


@controller("saturation")
class Saturation(_SameUnit):
    """Signal within two limits."""

    lower: float  # in the signal's unit
    upper: float

    def __post_init__(self) -> None:
        _check_order(self.lower, self.upper)

    def output(self, inputs: Any) -> Any:
        return _each(lambda x: np.clip(x, self.lower, self.upper), inputs.value)


@controller("dead_zone")
class DeadZone(_SameUnit):
    """Distance of a signal from a zone in which the output is 0."""

    lower: float  # in the signal's unit
    upper: float

    def __post_init__(self) -> None:
        _check_order(self.lower, self.upper)

    def output(self, inputs: Any) -> Any:
        return _each(
            lambda x: np.maximum(x - self.upper, 0.0) + np.minimum(x - self.lower, 0.0),
            inputs.value,
        )


@controller("low_pass")
class LowPass(_SameUnit):
    """Filter of first order, y′ = (x − y)/T, which starts at its input."""

    states = real("filtered", size="n")
    time_constant: float  # [s], T

    def __post_init__(self) -> None:
        _check_positive("time_constant", self.time_constant, "s")

    def initial(self, inputs: Any) -> Any:
        return inputs.value

    def output(self, filtered: Any) -> Any:
        return filtered

    def state_rate(self, inputs: Any, filtered: Any) -> Any:
        return (inputs.value - filtered) / self.time_constant

    def held_step(self, inputs: Any, filtered: Any, period: float) -> Any:
        return inputs.value + (filtered - inputs.value) * math.exp(-period / self.time_constant)


@controller("rate_limiter")
class RateLimiter(_SameUnit):
    """Signal whose rate is limited: y′ = (x − y)/T within −falling and rising, which starts at its input."""

    states = real("limited", size="n")
    rising: float  # [1/s, of the signal's unit]
    falling: float = 0.0  # [1/s, of the signal's unit]; as rising if it is 0
    time_constant: float = 0.01  # [s], T, with which the output approaches the input

    def __post_init__(self) -> None:
        _check_positive("rising", self.rising, "1/s")
        _check_positive("time_constant", self.time_constant, "s")
        if self.falling < 0:
            raise PysimError("falling", f"must not be negative, got {self.falling:g}; change it")

    def initial(self, inputs: Any) -> Any:
        return inputs.value

    def output(self, limited: Any) -> Any:
        return limited

    def state_rate(self, inputs: Any, limited: Any) -> Any:
        fall = self.falling or self.rising
        return _each(
            lambda x, y: np.clip((x - y) / self.time_constant, -fall, self.rising),
            inputs.value,
            limited,
        )

    def held_step(self, inputs: Any, limited: Any, period: float) -> Any:
        return _each(lambda x, y: self._after(x, y, period), inputs.value, limited)

    def _after(self, x: Any, y: Any, period: float) -> Any:
        """Return the output after a period in which the input is x: at the limit first, then as a low-pass."""
        T = self.time_constant
        away: Any = x - y
        rate = np.where(away > 0, self.rising, self.falling or self.rising)
        far: Any = np.abs(away)
        limited = np.clip((far - rate * T) / rate, 0.0, period)  # [s] at the limit
        left = (far - rate * limited) * np.exp((limited - period) / T)
        return x - np.where(away > 0, left, -left)


@controller("relay")
class Relay(Controller):
    """Switch with hysteresis: on above `upper`, off below `lower`, else as before; it needs a `period`."""

    inputs = signal("value", unit="")
    outputs = signal("value", unit="")
    memory = real("switch")
    lower: float  # in the signal's unit
    upper: float
    on: float = 1.0
    off: float = 0.0
    unit: str = "1"  # of the output

    def __post_init__(self) -> None:
        _check_order(self.lower, self.upper)

    def update(self, inputs: Any, switch: Any) -> Any:
        held = np.where(inputs.value < self.lower, 0.0, switch)
        return np.where(inputs.value > self.upper, 1.0, held)

    def output(self, inputs: Any, switch: Any) -> Any:
        return np.where(self.update(inputs, switch) > 0.5, self.on, self.off)

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, as of the base class
        return {"value": self.unit}


@controller("delay")
class Delay(_SameUnit):
    """Signal of a number of periods before, and at the start its first value; it needs a `period`."""

    periods: int = 1  # at most 100000, and 100000 numbers are kept

    def __post_init__(self) -> None:
        if not 1 <= self.periods <= MOST_NUMBERS:
            problem = f"must be from 1 to {MOST_NUMBERS}, got {self.periods}"
            raise PysimError("periods", f"{problem}; change it, or the period")
        vars(self)["memory"] = real("past", size=f"{self.periods}n")  # the oldest first

    def initial(self, inputs: Any) -> Any:
        return [*_array(inputs.value)] * self.periods

    def output(self, past: Any) -> Any:
        past = _array(past)
        return past[: len(past) // self.periods]

    def update(self, inputs: Any, past: Any) -> Any:
        values = _array(inputs.value)
        return [*_array(past)[len(values) :], *values]


@controller("variable_delay")
class VariableDelay(_SameUnit):
    """Signal of `delay` periods before, a number in which worlds may differ; it needs a `period`.

    Between two periods it is interpolated linearly; at the start its first value has always been there. Worlds may
    differ where the delay of the scene is below 0.8 `longest`.
    """

    delay: float  # [periods], from 0 to `longest`
    longest: int  # [periods], at most 1000

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= MOST_PERIODS:
            problem = f"must be from 1 to {MOST_PERIODS}, got {self.longest}"
            raise PysimError("longest", f"{problem}; change it, or the period")
        delay: Any = self.delay  # a number, or a signal in place of one
        if isinstance(delay, int | float) and not 0 <= delay <= self.longest:
            problem = f"must be from 0 to longest, {self.longest}, got {self.delay:g}"
            raise PysimError("delay", f"{problem}; change it, or longest")
        # ages are states: constants would be folded with the delay, and worlds could not differ in it
        age = real("age", size=self.longest)
        vars(self)["memory"] = real("past", size=f"{self.longest}n") * age  # the oldest first

    def initial(self, inputs: Any) -> Any:
        ages = range(self.longest)
        return [*_array(inputs.value)] * self.longest, [float(age) for age in ages]

    def output(self, inputs: Any, past: Any, age: Any) -> Any:
        value = _array(inputs.value)
        frames = [value, *_array(past).reshape(self.longest, len(value))[::-1]]  # the newest first
        # share of each period
        passed = [np.clip(self.delay - own, 0.0, 1.0) for own in _array(age)]
        weights = [a - b for a, b in zip([1.0, *passed], [*passed, 0.0], strict=True)]
        return [
            sum(w * own for w, own in zip(weights, numbers, strict=True))
            for numbers in zip(*frames, strict=True)
        ]

    def update(self, inputs: Any, past: Any, age: Any) -> Any:
        values = _array(inputs.value)
        return [*_array(past)[len(values) :], *values], [*_array(age)]


@controller("transfer_function")
class TransferFunction(Controller):
    """Transfer function b(s)/a(s) in controller canonical form; the denominator's degree is 1 or more."""

    inputs = signal("value", unit="")
    outputs = signal("value", unit="")
    numerator: tuple[float, ...]  # b, from the highest power
    denominator: tuple[float, ...]  # a, from the highest power
    unit: str = ""  # of the output; "" fits every unit

    def __post_init__(self) -> None:
        a, b = self.denominator, self.numerator
        if len(a) < 2 or a[0] == 0:
            problem = f"must have two coefficients or more, the first not 0, got {list(a)}"
            raise PysimError("denominator", f"{problem}; write them from the highest power")
        if not 1 <= len(b) <= len(a):
            problem = f"must have 1 to {len(a)} coefficients, got {len(b)}"
            raise PysimError("numerator", f"{problem}; its degree is at most the denominator's")
        vars(self)["states"] = real("x", size=len(a) - 1)
        if len(b) < len(a):  # without the input, so that the block breaks an algebraic loop
            vars(self)["output"] = self._of_states

    def state_rate(self, inputs: Any, x: Any) -> Any:
        x = _array(x)
        feedback = sum(a * z for a, z in zip(self.denominator[:0:-1], x, strict=True))
        return [*x[1:], (inputs.value - feedback) / self.denominator[0]]

    def held_step(self, inputs: Any, x: Any, period: float) -> Any:
        n = len(self.denominator) - 1
        A, B = np.eye(n, k=1), np.zeros((n, 1))
        A[-1] = -np.array(self.denominator[:0:-1]) / self.denominator[0]
        B[-1] = 1 / self.denominator[0]
        after = _after_hold(A, B, period, x, inputs.value)
        return after[0] if n == 1 else list(after)

    def _of_states(self, x: Any) -> Any:
        x = _array(x)
        a = np.array(self.denominator[::-1]) / self.denominator[0]
        b = np.zeros(len(a))
        b[: len(self.numerator)] = self.numerator[::-1]
        return sum((b[k] - b[-1] * a[k]) * z for k, z in enumerate(x))

    def output(self, inputs: Any, x: Any) -> Any:
        return self._of_states(x) + self.numerator[0] / self.denominator[0] * inputs.value

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, as of the base class
        return {"value": self.unit}


@controller("state_space")
class StateSpace(Controller):
    """Linear system x′ = A x + B u, y = C x + D u."""

    inputs = signal("u", unit="", size="n")
    outputs = signal("y", unit="", size="m")
    A: Matrix
    B: Matrix
    C: Matrix
    D: Matrix = ()  # 0 by default
    x0: tuple[float, ...] = ()  # 0 by default

    def __post_init__(self) -> None:
        n = len(self.A)
        shapes = {"A": (n, n), "B": (n, len(self.B[0]) if self.B else 0), "C": (len(self.C), n)}
        shapes["D"] = (shapes["C"][0], shapes["B"][1]) if self.D else (0, 0)
        for name, (rows, columns) in shapes.items():
            given = getattr(self, name)
            if (
                len(given) != rows
                or any(len(row) != columns for row in given)
                or (rows == 0 and name != "D")
            ):
                problem = f"must have {rows} rows of {columns} numbers"
                raise PysimError(name, f"{problem}; write the matrix row by row")
        if self.x0 and len(self.x0) != n:
            problem = f"must have one number for each state, got {len(self.x0)} for {n}"
            raise PysimError("x0", f"{problem}; write one for each")
        vars(self)["states"] = real("x", size=n)
        if not self.D:  # without the input, so that the block breaks an algebraic loop
            vars(self)["output"] = self._of_states

    def sizes(self) -> Mapping[str, int]:
        return {"m": len(self.C)}

    def start(self) -> Mapping[str, Any]:
        return {"x": self.x0} if self.x0 else {}

    def state_rate(self, inputs: Any, x: Any) -> Any:
        return np.array(self.A) @ _array(x) + np.array(self.B) @ _array(inputs.u)

    def held_step(self, inputs: Any, x: Any, period: float) -> Any:
        return list(_after_hold(np.array(self.A), np.array(self.B), period, x, inputs.u))

    def _of_states(self, x: Any) -> Any:
        y = np.array(self.C) @ _array(x)
        return y[0] if len(y) == 1 else y

    def output(self, inputs: Any, x: Any) -> Any:
        y = np.array(self.C) @ _array(x) + np.array(self.D) @ _array(inputs.u)
        return y[0] if len(y) == 1 else y
