"""Symbolic scalars: a `Scalar` is a node of a `Tape` with Python's and NumPy's operators, which record more nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from pysim.errors import JointError
from pysim.tracing import whole_numbers
from pysim.tracing.author_code import author_line, author_text
from pysim.tracing.symbolic_array import by_number
from pysim.tracing.tape import EVALUATE, Tape

if TYPE_CHECKING:
    from collections.abc import Callable

Number = Union["Scalar", float, int]


def _refuse(what: str, remedy: str) -> JointError:
    text = author_text()
    return JointError(
        author_line(), f"{what} while the formula is traced{text and f', in {text}'}; {remedy}"
    )


class Scalar:
    """A symbolic number: operators and NumPy functions of it are recorded as nodes of its tape."""

    __slots__ = ("index", "tape")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape = tape
        self.index = index

    def apply(self, op: str, *others: Number) -> Scalar:
        """Record op(self, others…)."""
        return Scalar(self.tape, self.tape.node(op, self.index, *map(self._index, others)))

    def applied_to(self, op: str, first: Number) -> Scalar:
        """Record op(first, self)."""
        return Scalar(self.tape, self.tape.node(op, self._index(first), self.index))

    def _index(self, x: object) -> int:
        if isinstance(x, Scalar):
            return x.index
        if isinstance(x, (int, float, np.integer, np.floating, np.bool_)):
            return self.tape.const(float(x))
        problem = f"a {type(x).__name__} is combined with a symbolic number"
        raise _refuse(problem, "use numbers, NumPy functions of them and arrays of them")

    def __add__(self, x: Any) -> Any:
        return by_number(np.add, self, x) if _is_array(x) else self.apply("add", x)

    def __radd__(self, x: Number) -> Scalar:
        return self.applied_to("add", x)

    def __sub__(self, x: Any) -> Any:
        return by_number(np.subtract, self, x) if _is_array(x) else self.apply("sub", x)

    def __rsub__(self, x: Number) -> Scalar:
        return self.applied_to("sub", x)

    def __mul__(self, x: Any) -> Any:
        return by_number(np.multiply, self, x) if _is_array(x) else self.apply("mul", x)

    def __rmul__(self, x: Number) -> Scalar:
        return self.applied_to("mul", x)

    def __truediv__(self, x: Any) -> Any:
        return by_number(np.divide, self, x) if _is_array(x) else self.apply("div", x)

    def __rtruediv__(self, x: Number) -> Scalar:
        return self.applied_to("div", x)

    def __pow__(self, x: Number) -> Any:
        return power(self, x)

    def __rpow__(self, x: Number) -> Scalar:
        return self.applied_to("pow", x)

    def __neg__(self) -> Scalar:
        return self.apply("neg")

    def __pos__(self) -> Scalar:
        return self

    def __abs__(self) -> Scalar:
        return self.apply("abs")

    def __lt__(self, x: Number) -> Scalar:
        return self.apply("less", x)

    def __le__(self, x: Number) -> Scalar:
        return self.apply("less_equal", x)

    def __gt__(self, x: Number) -> Scalar:
        return self.applied_to("less", x)

    def __ge__(self, x: Number) -> Scalar:
        return self.applied_to("less_equal", x)

    def __eq__(self, x: object) -> Scalar:  # type: ignore[override]
        return self.apply("equal", x)  # type: ignore[arg-type]

    def __ne__(self, x: object) -> Scalar:  # type: ignore[override]
        return 1 - self.apply("equal", x)  # type: ignore[arg-type]

    def __and__(self, x: Number) -> Scalar:
        return self.apply("mul", x)

    def __or__(self, x: Number) -> Scalar:
        return self.apply("max", x)

    def __invert__(self) -> Scalar:
        return self.applied_to("sub", 1)

    def __bool__(self) -> bool:
        what = "a branch depends on a symbolic number"
        raise _refuse(what, "write np.where(condition, a, b), number by number for arrays")

    def __float__(self) -> float:
        what = "a symbolic number is converted to a float"
        raise _refuse(what, "use NumPy's functions instead of math's, and keep the number symbolic")

    def __index__(self) -> int:
        what = "a symbolic number is used as an index or a count"
        remedy = "use spline(x, knots, values) for a table, np.where for a choice"
        raise _refuse(what, f"{remedy}, plain numbers for a count")

    def __int__(self) -> int:
        what = "a symbolic number is converted to an int"
        raise _refuse(what, "write np.floor, np.trunc or np.round, which keep it symbolic")

    def __floor__(self) -> Any:
        return self.apply("floor")

    def __ceil__(self) -> Any:
        return whole_numbers.ceil(self)

    def __trunc__(self) -> Any:
        return whole_numbers.trunc(self)

    def __round__(self, decimals: int | None = None) -> Any:
        return whole_numbers.rounded(self, decimals or 0)

    def __mod__(self, x: Any) -> Any:
        return (
            by_number(np.remainder, self, x) if _is_array(x) else whole_numbers.remainder(self, x)
        )

    def __rmod__(self, x: Number) -> Any:
        return whole_numbers.remainder(x, self)

    def __floordiv__(self, x: Any) -> Any:
        if _is_array(x):
            return by_number(np.floor_divide, self, x)
        return whole_numbers.floor_divide(self, x)

    def __rfloordiv__(self, x: Number) -> Any:
        return whole_numbers.floor_divide(x, self)

    def __divmod__(self, x: Number) -> Any:
        return whole_numbers.quotient_and_remainder(self, x)

    def __rdivmod__(self, x: Number) -> Any:
        return whole_numbers.quotient_and_remainder(x, self)

    def __format__(self, how: str) -> str:
        if how:
            raise _refuse("a symbolic number is formatted", "it has no digits yet; print it plain")
        return repr(self)

    def __iter__(self) -> Any:
        raise _refuse("a symbolic number is iterated over", "it is one number, not an array")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Record a NumPy function of this number."""
        if method != "__call__":
            name = f"np.{ufunc.__name__}.{method}"
            raise _refuse(f"{name} is called", "write a loop over the numbers")
        if options:
            what = f"np.{ufunc.__name__} is called with {', '.join(options)}"
            raise _refuse(what, "use it without options")
        if any(_is_array(x) for x in inputs):
            return by_number(ufunc, *inputs)
        if ufunc.__name__ not in UFUNCS:
            known = ", ".join(sorted(UFUNCS))
            raise _refuse(f"np.{ufunc.__name__} is not recorded", f"use one of {known}")
        return UFUNCS[ufunc.__name__](*inputs)

    def __array_function__(self, function: Any, _types: Any, args: Any, options: Any) -> Any:
        """Record np.where, np.clip, np.round, np.interp and np.polyval."""
        if function is np.where and not options:
            return by_number(where, *args) if any(_is_array(x) for x in args) else where(*args)
        if function is np.clip and not options:
            return by_number(clip, *args) if any(_is_array(x) for x in args) else clip(*args)
        if function is np.polyval and not options:
            coefficients, x = args
            value: Any = 0.0
            for coefficient in coefficients:  # Horner, the highest power first
                value = value * x + coefficient
            return value
        if function in (np.round, np.around):
            return whole_numbers.rounded(*args, **options)
        if function is np.fix and not options:
            return whole_numbers.trunc(*args)
        if function is np.interp:
            return interpolated(*args, **options)
        raise _refuse(
            f"np.{function.__name__} is not recorded", "use NumPy's elementwise functions"
        )

    def __getattr__(self, name: str) -> Any:
        """Offer the methods that NumPy calls on the numbers of an object array, as sin and sqrt."""
        if name in UFUNCS and not name.startswith("__"):
            return lambda *others: UFUNCS[name](self, *others)
        raise AttributeError(f"a symbolic number has no {name!r}")

    def __repr__(self) -> str:
        return f"<symbolic {self.tape.nodes[self.index].op}>"


def _is_array(x: object) -> bool:
    return isinstance(x, np.ndarray)


def symbolic(*numbers: Number) -> Scalar | None:
    """Return the first symbolic number among `numbers`, which carries the tape."""
    return next((x for x in numbers if isinstance(x, Scalar)), None)


def record(op: str, *numbers: Number) -> Any:
    """Apply an operation to numbers, recorded if one of them is symbolic."""
    one = symbolic(*numbers)
    if one is None:
        return EVALUATE[op](*numbers)
    tape = one.tape
    return Scalar(tape, tape.node(op, *(one._index(x) for x in numbers)))  # noqa: SLF001, its own


def power(x: Number, y: Number) -> Any:
    """Return x^y; small whole exponents become products, the exponent ½ a square root."""
    if isinstance(x, Scalar) and isinstance(y, (int, float, np.integer, np.floating)):
        if float(y).is_integer() and abs(y) <= 16:
            product = _whole_power(x, abs(int(y)))
            return product if y >= 0 else 1 / product
        if y == 0.5:
            return record("sqrt", x)
    return record("pow", x, y)


def _whole_power(x: Scalar, n: int) -> Any:
    if n == 0:
        return Scalar(x.tape, x.tape.const(1))
    half = _whole_power(x, n // 2) if n > 1 else None
    if half is None:
        return x
    return half * half * x if n % 2 else half * half


def where(condition: Number, a: Number, b: Number) -> Any:
    """Return a where the condition holds, else b; both are computed."""
    return record("select", condition, a, b)


def minimum(a: Number, b: Number) -> Any:
    """Return the smaller of two numbers, NaN if one is NaN."""
    return record("min", a, b)


def maximum(a: Number, b: Number) -> Any:
    """Return the larger of two numbers, NaN if one is NaN."""
    return record("max", a, b)


def _first_number(a: Number, b: Number) -> Any:
    """Return a, or b where a is NaN."""
    return where(record("equal", a, a), a, b)


def clip(x: Number, lower: Number, upper: Number) -> Any:
    """Return a number within limits."""
    return minimum(maximum(x, lower), upper)


def interpolated(*args: Any, **options: Any) -> Any:
    """Return np.interp of a symbolic number, or of each of several."""
    from pysim.tracing.piecewise import interp  # noqa: PLC0415, it needs us

    return interp(*args, **options)


def _recorded(op: str) -> Callable[..., Any]:
    return lambda *numbers: record(op, *numbers)


UFUNCS: dict[str, Callable[..., Any]] = {
    "add": _recorded("add"),
    "subtract": _recorded("sub"),
    "multiply": _recorded("mul"),
    "divide": _recorded("div"),
    "true_divide": _recorded("div"),
    "negative": _recorded("neg"),
    "positive": lambda x: x,
    "power": power,
    "float_power": power,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "sqrt": _recorded("sqrt"),
    "sin": _recorded("sin"),
    "cos": _recorded("cos"),
    "tan": _recorded("tan"),
    "arcsin": _recorded("asin"),
    "arccos": _recorded("acos"),
    "arctan": _recorded("atan"),
    "arctan2": _recorded("atan2"),
    "exp": _recorded("exp"),
    "log": _recorded("log"),
    "log2": lambda x: record("log", x) * (1 / math.log(2)),
    "log10": lambda x: record("log", x) * (1 / math.log(10)),
    "exp2": lambda x: record("exp", x * math.log(2)),
    "tanh": _recorded("tanh"),
    "sinh": lambda x: 0.5 * (record("exp", x) - record("exp", -x)),
    "cosh": lambda x: 0.5 * (record("exp", x) + record("exp", -x)),
    "absolute": _recorded("abs"),
    "fabs": _recorded("abs"),
    "minimum": minimum,
    "maximum": maximum,
    "fmin": lambda a, b: minimum(_first_number(a, b), _first_number(b, a)),
    "fmax": lambda a, b: maximum(_first_number(a, b), _first_number(b, a)),
    "hypot": _recorded("hypot"),
    "clip": clip,
    "sign": _recorded("sign"),
    "floor": _recorded("floor"),
    "ceil": whole_numbers.ceil,
    "trunc": whole_numbers.trunc,
    "rint": whole_numbers.rint,
    "remainder": whole_numbers.remainder,
    "fmod": whole_numbers.fmod,
    "floor_divide": whole_numbers.floor_divide,
    "divmod": whole_numbers.quotient_and_remainder,
    "heaviside": lambda x, half: where(record("equal", x, 0), half, 0.5 + 0.5 * record("sign", x)),
    "less": _recorded("less"),
    "less_equal": _recorded("less_equal"),
    "greater": lambda a, b: record("less", b, a),
    "greater_equal": lambda a, b: record("less_equal", b, a),
    "equal": _recorded("equal"),
    "not_equal": lambda a, b: 1 - record("equal", a, b),
    "logical_and": _recorded("mul"),
    "logical_or": maximum,
    "logical_not": lambda x: 1 - x,
    "bitwise_and": _recorded("mul"),
    "bitwise_or": maximum,
    "invert": lambda x: 1 - x,
    "deg2rad": lambda x: x * (math.pi / 180),
    "radians": lambda x: x * (math.pi / 180),
    "rad2deg": lambda x: x * (180 / math.pi),
    "degrees": lambda x: x * (180 / math.pi),
}
