"""Arrays of symbolic numbers, whose comparisons, choices and limits by NumPy are recorded number by number."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Functions that NumPy decides by comparing the numbers of an object array; symbolic ones have no order.
COMPARING = frozenset({
    "clip", "equal", "fmax", "fmin", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "maximum", "minimum", "not_equal", "sign",
})  # fmt: skip
# Functions that NumPy computes of objects by Python's operators; for others it calls methods, which plain numbers lack.
OPERATORS = frozenset({
    "absolute", "add", "bitwise_and", "bitwise_or", "divide", "floor_divide", "invert", "multiply", "negative",
    "positive", "power", "reciprocal", "remainder", "square", "subtract", "true_divide",
})  # fmt: skip


class SymbolicArray(np.ndarray[Any, Any]):
    """Array of symbolic and plain numbers, as authors receive it; their type is object."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy function, number by number where NumPy would compare."""
        plain = [_plain(x) for x in inputs]
        is_elementwise = method == "__call__" and not options and ufunc.signature is None
        if is_elementwise and ufunc is np.divmod:
            return by_number(np.floor_divide, *plain), by_number(np.remainder, *plain)
        if is_elementwise and ufunc.__name__ not in OPERATORS:
            return by_number(ufunc, *plain)
        if ufunc.__name__ in COMPARING and method == "reduce":
            axis = options.get("axis", 0)
            rows = plain[0].ravel() if axis is None else np.moveaxis(plain[0], axis, 0)
            return functools.reduce(ufunc, symbolic_array(rows))
        if "out" in options:
            options["out"] = tuple(_plain(x) for x in options["out"])
        return _symbolic(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Record np.where, np.interp and np.round; NumPy composes its other functions of elementwise ones."""
        if function is np.where and len(args) == 3:
            return by_number(_chosen, *args)
        if function is np.interp:
            x, *table = args
            return by_number(lambda number: np.interp(number, *table, **options), x)
        if function in (np.round, np.around, np.fix):
            x, *rest = args
            return by_number(lambda number: function(number, *rest, **options), x)
        return _symbolic(super().__array_function__(function, types, args, options))

    def round(self, *arguments: Any, **options: Any) -> Any:
        """Return np.round of this array."""
        return np.round(self, *arguments, **options)


def array_of(numbers: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return numbers as an array: of floats, or symbolic if one of them is."""
    is_plain = all(isinstance(x, (int, float, np.number)) for x in numbers)
    return np.array(numbers, float) if is_plain else symbolic_array(numbers)


def symbolic_array(numbers: Sequence[Any] | np.ndarray[Any, Any]) -> SymbolicArray:
    """Return an array of symbolic and plain numbers."""
    return np.asarray(numbers, object).view(SymbolicArray)


def by_number(function: Callable[..., Any], *inputs: Any) -> SymbolicArray:
    """Return a function of arrays and numbers, applied element by element."""
    arrays = np.broadcast_arrays(*(_array(_plain(x)) for x in inputs))
    out = np.empty(arrays[0].shape, object)
    for index in np.ndindex(out.shape):
        out[index] = function(*(a[index] for a in arrays))
    return symbolic_array(out)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    found = np.where(condition, a, b)
    return found.item() if isinstance(found, np.ndarray) else found


def _symbolic(x: Any) -> Any:
    return symbolic_array(x) if isinstance(x, np.ndarray) and x.dtype == object else x


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, SymbolicArray) else x


def _array(x: Any) -> np.ndarray[Any, Any]:
    """Return an array of numbers, or one of a single number."""
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, (list, tuple)):
        return np.array(x, object)
    box = np.empty((), object)
    box[()] = x
    return box
