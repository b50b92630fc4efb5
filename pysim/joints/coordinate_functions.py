"""Functions of one coordinate that a file states as numbers: constants, polynomials, splines and polylines.

    { constant = 0.05 }
    { polynomial = [c0, c1, c2] }            c0 + c1 x + c2 x²
    { spline = { x = […], y = […] } }        with the ends of Forsythe, Malcolm and Moler, straight beyond the knots
    { natural_spline = { x = […], y = […] } }
    { polyline = { x = […], y = […] } }      straight lines, the outer ones continued

A key `range = [low, high]` holds x within two bounds. Joints and points of paths are displaced along axes by them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError, did_you_mean
from pysim.tracing.spline import polyline, spline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

KINDS = ("constant", "polynomial", "spline", "natural_spline", "polyline")
_POINTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "spline": lambda x, knots, values: spline(x, knots, values, ends="fmm"),
    "natural_spline": spline,
    "polyline": polyline,
}
NAMED = "function"  # begins the name of a relation that holds such a function


def check_function(function: Mapping[str, Any], where: str) -> None:
    """Reject a table that is not one function of a coordinate.

    Raises:
        JointError: it has no kind, several, or numbers of the wrong form.
    """
    kinds = [kind for kind in KINDS if kind in function]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none"
        raise JointError(where, f"needs one of {', '.join(KINDS)}, got {got}")
    kind = kinds[0]
    value = function[kind]
    if kind == "constant":
        if not _is_number(value):
            raise JointError(f"{where}.constant", f"must be a finite number, got {value!r}")
    elif kind == "polynomial":
        if not _are_numbers(value) or not value:
            problem = f"must be a list of coefficients, constant first, got {value!r}"
            raise JointError(f"{where}.polynomial", problem)
    else:
        _check_points(value, f"{where}.{kind}")
    bounds = function.get("range", [0.0, 1.0])
    if not _are_numbers(bounds) or len(bounds) != 2 or not bounds[0] <= bounds[1]:
        problem = f"must be [low, high] with low ≤ high, got {bounds!r}"
        raise JointError(f"{where}.range", problem)


def _check_points(value: Any, where: str) -> None:
    if not isinstance(value, dict) or set(value) != {"x", "y"}:
        raise JointError(where, f"must be {{ x = […], y = […] }}, got {value!r}")
    x, y = value["x"], value["y"]
    if not (_are_numbers(x) and _are_numbers(y)) or len(x) != len(y) or len(x) < 2:
        raise JointError(where, "needs two or more numbers x, and as many y")
    if not (np.diff(x) > 0).all():
        raise JointError(f"{where}.x", "must increase; sort the points and remove repeated ones")


def _is_number(value: object) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))
    )


def _are_numbers(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_number, value))


def value_of(function: Mapping[str, Any], x: Any) -> Any:
    """Return the value of a function at a symbolic or plain number x."""
    if "range" in function:
        x = np.clip(x, *function["range"])
    if "constant" in function:
        return float(function["constant"])
    if "polynomial" in function:
        *others, value = map(float, function["polynomial"])
        for c in reversed(others):
            value = value * x + c
        return value
    kind = next(kind for kind in _POINTS if kind in function)
    points = function[kind]
    return _POINTS[kind](x, points["x"], points["y"])


def displacement(
    terms: Iterable[tuple[Sequence[float], Mapping[str, Any], Any]],
) -> list[Any]:
    """Return Σ f(x) a of axes a (3), functions f and symbolic or plain numbers x: three numbers."""
    total: list[Any] = [0.0, 0.0, 0.0]
    for axis, function, x in terms:
        along = value_of(function, x)
        total = [p + along * a if a else p for p, a in zip(total, axis, strict=True)]
    return total


def relation_name(function: Mapping[str, Any]) -> str:
    """Return the name under which `find_relation` finds a function, exact to the last bit."""
    return f"{NAMED}{json.dumps(function)}"


def function_named(name: str) -> Callable[[Any], Any] | None:
    """Return the function of a name that `relation_name` made, None of any other name.

    Raises:
        JointError: the name begins like one, and holds no function.
    """
    if not name.startswith(f"{NAMED}{{"):
        return None
    try:
        function = json.loads(name.removeprefix(NAMED))
    except ValueError as error:
        raise JointError("relation", f"{name[:60]!r} holds no function: {error}") from None
    known = {*KINDS, "range"}
    for key in function:
        if key not in known:
            raise JointError("relation", f"unknown key {key!r}{did_you_mean(key, known)}")
    check_function(function, "relation")
    return lambda x: value_of(function, x)
