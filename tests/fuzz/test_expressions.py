"""Expressions of scenes: a finite number, which Python's own arithmetic gives too, or an error with its place."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

from hypothesis import strategies as st

from pysim.scene.toml.expressions import CONSTANTS, FUNCTIONS, ExpressionError, evaluate
from tests.fuzz.budget import fuzz

PARAMETERS = {"link": 0.5, "zero": 0.0, "large": 1e200, "n": 3.0}
NAMES = {**CONSTANTS, **PARAMETERS}
LEAVES = st.one_of(
    st.sampled_from([*NAMES, "0", "1", "2.5", "1e308", "1e-308", "10**400", "0x1F", "1j", "1_0", "nan", "x"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
)  # fmt: skip
OPERATORS = st.sampled_from(["+", "-", "*", "/", "**", "%", "//", "@", "<", " and ", "^"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    calls = st.tuples(st.sampled_from([*FUNCTIONS, "eval", "print"]), st.lists(inner, max_size=3))
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        calls.map(lambda call: f"{call[0]}({', '.join(call[1])})"),
        inner.map("[{}]".format),
        inner.map("{}.real".format),
    )


EXPRESSIONS = st.recursive(LEAVES, larger, max_leaves=12)


def by_python(text: str) -> float | None:
    """Return the value of Python's own evaluation in floating point, None where that fails."""
    functions = {name: function for name, (function, _) in FUNCTIONS.items()}
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            node.value = float(node.value)  # without integers of any length
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return None  # math.pow, which has no complex results
    try:
        found = eval(compile(tree, "", "eval"), {"__builtins__": {}}, {**functions, **NAMES})
        return float(operator.pos(found))
    except (ArithmeticError, TypeError, ValueError, NameError):
        return None


@fuzz(EXPRESSIONS, examples=300)
def test_an_expression_is_a_finite_number_or_an_error_at_a_place_in_it(text: str) -> None:
    try:
        value = evaluate(text, PARAMETERS)
    except ExpressionError as error:
        _check_place(error, text)
        return
    assert isinstance(value, (int, float))
    assert math.isfinite(value)
    expected = by_python(text)
    if expected is not None:
        assert value == expected or abs(value - expected) <= 1e-12 * abs(expected)


@fuzz(
    st.one_of(st.text(max_size=40), st.text("()[]+-*/.,0123456789e_ linkpsqrt", max_size=600)),
    examples=300,
)
def test_any_text_is_a_finite_number_or_an_error(text: Any) -> None:
    try:
        assert math.isfinite(evaluate(text, PARAMETERS))
    except ExpressionError as error:
        _check_place(error, text)


def _check_place(error: ExpressionError, text: str) -> None:
    assert error.problem
    assert 0 <= error.offset <= len(text)
