"""Functions of OpenSim as tables of `pysim.joints.coordinate_functions`.

A MultiplierFunction is multiplied into the numbers of the function that it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.osim.values import number, rows, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.scene.urdf.xml import Element

Function = dict[str, Any]
MOST_LEVELS = 20  # functions within each other


def function_in(holder: Element) -> Function | None:
    """Return the function that an element holds, None if it holds none."""
    functions = [child for child in holder.children if child.tag in _READERS]
    if not functions:
        inner = [child for child in holder.children if child.tag.lower().endswith("function")]
        inner += [child for child in holder.children if child.tag == "function"]
        for child in inner:
            if child.tag in {"function", "coupled_coordinates_function", "prescribed_function"}:
                return function_in(child)
            _refuse(child)
        others = [c for c in holder.children if "Function" in c.tag or "Spline" in c.tag]
        for child in others:
            _refuse(child)
        return None
    if len(functions) > 1:
        functions[1].fail(f"second function <{functions[1].tag}> in <{holder.tag}>; keep one")
    return read_function(functions[0])


def _refuse(element: Element) -> None:
    known = ", ".join(_READERS)
    element.fail(f"the function <{element.tag}> is not read; use one of {known}")


def read_function(element: Element, depth: int = 0) -> Function:
    """Return a function of one variable.

    Raises:
        SceneError: it is of a class that is not read, or its numbers are invalid.
    """
    if element.tag not in _READERS:
        _refuse(element)
    if depth > MOST_LEVELS:
        element.fail(f"lies within {MOST_LEVELS} other functions; remove some")
    if element.tag == "MultiplierFunction":
        return _multiplied(element, depth)
    return _READERS[element.tag](element)


def scaled(function: Function, factor: float) -> Function:
    """Return a function times a factor."""
    kind, value = next((k, v) for k, v in function.items() if k != "range")
    changed: Any
    if kind == "constant":
        changed = factor * value
    elif kind == "polynomial":
        changed = [factor * c for c in value]
    else:
        changed = {"x": value["x"], "y": [factor * y for y in value["y"]]}
    return {**function, kind: changed}


def constant_of(function: Function) -> float | None:
    """Return the value of a function that is constant, else None."""
    if "constant" in function:
        return float(function["constant"])
    coefficients = function.get("polynomial")
    if coefficients is not None and not any(coefficients[1:]):
        return float(coefficients[0])
    return None


def line_of(function: Function) -> tuple[float, float] | None:
    """Return slope and intercept of a function that is a line, else None."""
    coefficients = function.get("polynomial")
    if coefficients is None or "range" in function or any(coefficients[2:]):
        return None
    return (float(coefficients[1]) if len(coefficients) > 1 else 0.0), float(coefficients[0])


def _constant(element: Element) -> Function:
    return {"constant": number(element, "value", 0.0)}


def _linear(element: Element) -> Function:
    coefficients = rows(element.required("coefficients"))
    if len(coefficients) != 2:
        problem = f"<{element.tag}> of one coordinate needs two coefficients, slope and intercept"
        element.fail(f"{problem}, got {len(coefficients)}; write two numbers")
    return {"polynomial": [coefficients[1], coefficients[0]]}


def _polynomial(element: Element) -> Function:
    coefficients = rows(element.required("coefficients"))
    if not coefficients:
        element.fail(f"<{element.tag}> needs coefficients, highest power first")
    return {"polynomial": list(reversed(coefficients))}


def _points(kind: str) -> Callable[[Element], Function]:
    def read(element: Element) -> Function:
        x, y = rows(element.required("x")), rows(element.required("y"))
        if len(x) != len(y) or len(x) < 2:
            problem = f"<{element.tag}> needs two or more x and as many y"
            element.fail(f"{problem}, got {len(x)} and {len(y)}; correct them")
        if not (np.diff(x) > 0).all():
            k = int(np.argmax(np.diff(x) <= 0))
            problem = f"x of <{element.tag}> must increase, got {x[k]:g} before {x[k + 1]:g}"
            element.fail(f"{problem}; sort the points and remove repeated ones")
        return {kind: {"x": list(x), "y": list(y)}}

    return read


def _gcv(element: Element) -> Function:
    half_order = number(element, "half_order", 2.0)
    variance = number(element, "error_variance", 0.0)
    if half_order != 2 or variance != 0:
        got = f"half_order {half_order:g} and error_variance {variance:g}"
        element.fail(f"<GCVSpline> is read with half_order 2 and error_variance 0, got {got}")
    return _points("natural_spline")(element)


def _multiplied(element: Element, depth: int) -> Function:
    holder = element.required("function")
    inner = [child for child in holder.children if child.tag in _READERS]
    if not inner:
        for child in holder.children:
            _refuse(child)
        holder.fail(f"<function> holds no function, got {shown(holder)}; write one")
    return scaled(read_function(inner[0], depth + 1), number(element, "scale", 1.0))


_READERS: dict[str, Callable[[Element], Function]] = {
    "Constant": _constant,
    "LinearFunction": _linear,
    "PolynomialFunction": _polynomial,
    "PiecewiseLinearFunction": _points("polyline"),
    "SimmSpline": _points("spline"),
    "NaturalCubicSpline": _points("spline"),  # before OpenSim 3: the same spline
    "natCubicSpline": _points("spline"),
    "GCVSpline": _gcv,
    "MultiplierFunction": lambda element: _multiplied(element, 0),
}
