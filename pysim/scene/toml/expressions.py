"""Evaluation of numeric expressions of a scene, such as "= 2 * link + 0.1", without running code.

The expression is parsed to Python's syntax tree, and only arithmetic on numbers, parameters, constants and the
functions below is evaluated, in double precision: no attribute, index, keyword, comparison or other name is reachable.
The length bounds the time and the memory.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn, cast

from pysim.errors import did_you_mean

Evaluator = Callable[[Mapping[str, float]], float]

MOST_CHARACTERS = 500  # characters
_TOO_DEEP = "the expression is nested too deep; split it into parameters"
CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}
# NumPy's names, with the number of arguments
FUNCTIONS: dict[str, tuple[Callable[..., float], int]] = {
    "abs": (abs, 1),
    "arccos": (math.acos, 1),
    "arcsin": (math.asin, 1),
    "arctan": (math.atan, 1),
    "arctan2": (math.atan2, 2),
    "ceil": (math.ceil, 1),
    "cos": (math.cos, 1),
    "cosh": (math.cosh, 1),
    "deg2rad": (math.radians, 1),
    "exp": (math.exp, 1),
    "floor": (math.floor, 1),
    "hypot": (math.hypot, 2),
    "log": (math.log, 1),
    "log10": (math.log10, 1),
    "maximum": (max, 2),
    "minimum": (min, 2),
    "rad2deg": (math.degrees, 1),
    "sin": (math.sin, 1),
    "sinh": (math.sinh, 1),
    "sqrt": (math.sqrt, 1),
    "tan": (math.tan, 1),
    "tanh": (math.tanh, 1),
}
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


class ExpressionError(ValueError):
    """Error in an expression: the problem, and the number of characters before it."""

    def __init__(self, problem: str, offset: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset


def evaluate(text: str, parameters: Mapping[str, float]) -> float:
    """Return the value of an expression, without its leading "=".

    Args:
        text: the expression.
        parameters: values by name; they precede the constants.

    Raises:
        ExpressionError: the syntax is not arithmetic, a name is unknown, or the value is not a finite number.
    """
    return parsed(text).value(parameters)


@dataclass(frozen=True)
class Expression:
    """A parsed expression, which can be evaluated with many values of its parameters."""

    text: str
    evaluator: Evaluator
    start: int  # characters before the text
    names: frozenset[str]  # of parameters and constants

    def value(self, parameters: Mapping[str, float]) -> float:
        """Return the value with these parameters.

        Raises:
            ExpressionError: a part is not arithmetic, a name is unknown, or the value is not a finite number.
        """
        try:
            value = self.evaluator({**CONSTANTS, **parameters})
        except ExpressionError as error:
            raise ExpressionError(error.problem, self.start + error.offset) from None
        except RecursionError:
            raise ExpressionError(_TOO_DEEP) from None
        if not math.isfinite(value):
            problem = f"{self.text!r} is {value}; a finite number is needed"
            raise ExpressionError(problem, self.start)
        return value


@lru_cache(maxsize=1024)
def parsed(text: str) -> Expression:
    """Return an expression, without its leading "=", to evaluate it many times.

    Raises:
        ExpressionError: the syntax is not that of an expression.
    """
    if len(text) > MOST_CHARACTERS:
        problem = (
            f"the expression has {len(text)} characters, at most {MOST_CHARACTERS} are allowed"
        )
        raise ExpressionError(f"{problem}; split it into parameters")
    start, text = len(text) - len(text.lstrip()), text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        problem = f"is not an arithmetic expression: {text!r}; write one, such as 2 * link + 0.1"
        raise ExpressionError(problem, start) from None
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    try:
        return Expression(text, _evaluator(tree.body, text), start, names)
    except RecursionError:
        raise ExpressionError(_TOO_DEEP) from None


def _evaluator(node: ast.expr, text: str) -> Evaluator:
    """Return a function of the values of names that computes a part of an expression, or raises its error."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number = cast("float", node.value)
        return _operation(float, node, text, lambda _: number)
    if isinstance(node, ast.Name):
        return _named(node, text)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _operation(_UNARY[type(node.op)], node, text, _evaluator(node.operand, text))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        sides = (_evaluator(side, text) for side in (node.left, node.right))
        return _operation(_BINARY[type(node.op)], node, text, *sides)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name = node.func.id
        if name not in FUNCTIONS:
            return _failure(f"unknown function {name!r}{did_you_mean(name, FUNCTIONS)}", node, text)
        function, count = FUNCTIONS[name]
        if len(node.args) != count:
            problem = f"{name} has {len(node.args)} arguments; give {count}"
            return _failure(problem, node, text)
        given = (_evaluator(argument, text) for argument in node.args)
        return _operation(function, node, text, *given)
    problem = f"{_part(node, text)!r} is not arithmetic; use numbers, parameters, + - * / ** and functions"
    return _failure(problem, node, text)


def _named(node: ast.Name, text: str) -> Evaluator:
    def value(known: Mapping[str, float]) -> float:
        if node.id in known:
            return known[node.id]
        problem = f"unknown parameter {node.id!r}{did_you_mean(node.id, known)}"
        raise ExpressionError(problem, _offset(node, text))

    return value


def _operation(
    function: Callable[..., float], node: ast.expr, text: str, *operands: Evaluator
) -> Evaluator:
    def value(known: Mapping[str, float]) -> float:
        given = [operand(known) for operand in operands]
        try:
            return float(function(*given))
        except (ArithmeticError, ValueError):
            problem = f"{_part(node, text)!r} has no finite value; change its arguments"
            raise ExpressionError(problem, _offset(node, text)) from None

    return value


def _failure(problem: str, node: ast.expr, text: str) -> Evaluator:
    def fail(_: Mapping[str, float]) -> NoReturn:
        raise ExpressionError(problem, _offset(node, text))

    return fail


def _part(node: ast.expr, text: str) -> str:
    return ast.get_source_segment(text, node) or text


def _offset(node: ast.expr, text: str) -> int:
    """Return the number of characters before a node in an expression of one line."""
    return len(text.encode("utf-8", "replace")[: node.col_offset].decode("utf-8", "ignore"))
