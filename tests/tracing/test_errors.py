"""Code that cannot be traced: the error names file, line, the line's text, and a remedy. The oracle is the text."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.joints import CallbackJoint, Joint, Pose, pose, real, spline
from pysim.joints.trace import trace

HERE = str(Path(__file__).resolve())


def branch(q):
    return q.a if q.a > 0 else -q.a


def chain(q):
    return q.a if 0 < q.a < 1 else 0


def both(q):
    return q.a * (q.a > 0 and q.b > 0)


def smaller(q):
    return min(q.a, q.b)


def member(q):
    return 1.0 if q.a in (0.0, 1.0) else 0.0


def to_float(q):
    return float(q.a)


def to_int(q):
    return q.a - int(q.a)


def sine(q):
    return math.sin(q.a)


def formatted(q):
    return float(f"{q.a:.3f}")


def ufunc(q):
    return np.cbrt(q.a)


def reduction(q):
    return np.add.reduce([q.a, q.b])


def option(q):
    return np.sin(q.a, dtype=float)


def function(q):
    return np.nan_to_num(q.a)


def typed(q):
    return np.array([q.a, q.b], dtype=float).sum()


def zeros(q):
    values = np.zeros(2)
    values[0] = q.a
    return values.sum()


def index(q):
    return [0.0, 1.0][q.a]


def array_index(q):
    return np.array([0.0, 1.0])[q.a]


def loop(q):
    return sum(k * q.b for k in range(q.a))


def iterated(q):
    return sum(q.a)


def unpacked(q):
    x, _ = q.a
    return x


def text(q):
    return q.a + "1"


def nothing(q):
    return q.a * None


def length(q):
    return len(q.a)


def called(q):
    return q.a(0)


def attribute(q):
    return q.a.real


def hashed(q):
    return {q.a: 1.0}[q.a]


def knots(q):
    return spline(q.a, [0, 1, 1], [0, 1, 2])


def end(q):
    return spline(q.a, [0, 1], [0, 1], ends="flat")


def symbolic_knots(q):
    return spline(q.a, [0, q.b], [0, 1])


WHERE = "write np.where(condition, a, b), number by number for arrays"
BRANCH = "a branch depends on a symbolic number"
FLOAT = "a symbolic number is converted to a float"
MATH = "use NumPy's functions instead of math's, and keep the number symbolic"
RECORDED = (
    "absolute, add, arccos, arcsin, arctan, arctan2, bitwise_and, bitwise_or, ceil, clip, cos, cosh, "
    "deg2rad, degrees, divide, divmod, equal, exp, exp2, fabs, float_power, floor, floor_divide, fmax, fmin, fmod, "
    "greater, greater_equal, heaviside, hypot, invert, less, less_equal, log, log10, log2, logical_and, logical_not, "
    "logical_or, maximum, minimum, multiply, negative, not_equal, positive, power, rad2deg, radians, reciprocal, "
    "remainder, rint, sign, sin, sinh, sqrt, square, subtract, tan, tanh, true_divide, trunc"
)
INDEX = "a symbolic number is used as an index or a count"
PLACES = (
    "use spline(x, knots, values) for a table, np.where for a choice, plain numbers for a count"
)
WHOLE = "a symbolic number is converted to an int"
KEPT = "write np.floor, np.trunc or np.round, which keep it symbolic"
ELSE = "use numbers, NumPy functions of them and arrays of them"

REFUSED = [
    (branch, BRANCH, WHERE),
    (chain, BRANCH, WHERE),
    (both, BRANCH, WHERE),
    (smaller, BRANCH, WHERE),
    (member, BRANCH, WHERE),
    (to_float, FLOAT, MATH),
    (to_int, WHOLE, KEPT),
    (sine, FLOAT, MATH),
    (formatted, "a symbolic number is formatted", "it has no digits yet; print it plain"),
    (ufunc, "np.cbrt is not recorded", f"use one of {RECORDED}"),
    (option, "np.sin is called with dtype", "use it without options"),
    (function, "np.nan_to_num is not recorded", "use NumPy's elementwise functions"),
    (typed, FLOAT, MATH),
    (zeros, FLOAT, MATH),
    (index, INDEX, PLACES),
    (loop, INDEX, PLACES),
    (iterated, "a symbolic number is iterated over", "it is one number, not an array"),
    (unpacked, "a symbolic number is iterated over", "it is one number, not an array"),
    (text, "a str is combined with a symbolic number", ELSE),
    (nothing, "a NoneType is combined with a symbolic number", ELSE),
    (symbolic_knots, FLOAT, MATH),
]


def joint_of(formula):
    class Mine(Joint):
        """One formula."""

        coordinates = real("a", "b")

        def placement(self, q):
            return Pose.rotate_z(q.b) @ Pose.translate(formula(q), q.a, 0)

    return Mine()


def place(formula, word="return"):
    """`file:line` and text of the line of a formula that matters."""
    lines = Path(HERE).read_text("utf-8").splitlines()
    line = formula.__code__.co_firstlineno
    while word not in lines[line - 1]:
        line += 1
    return f"{HERE}:{line}", lines[line - 1].strip()


@pytest.mark.parametrize(
    ("formula", "what", "remedy"), REFUSED, ids=[refused[0].__name__ for refused in REFUSED]
)
def test_code_that_cannot_be_traced_is_reported_with_its_line_and_a_remedy(formula, what, remedy):
    word = {zeros: "values[0]", unpacked: "x, _"}.get(formula, "return")
    where, line = place(formula, word)
    with pytest.raises(pysim.JointError) as caught:
        trace(joint_of(formula))
    expected = f"{where}: {what} while the formula is traced, in `{line}`; {remedy}"
    assert str(caught.value) == expected


OTHERS = [
    (array_index, "IndexError: only integers, slices (`:`)"),
    (length, "TypeError: object of type 'Scalar' has no len()"),
    (called, "TypeError: 'Scalar' object is not callable"),
    (attribute, "AttributeError: a symbolic number has no 'real'"),
    (hashed, "TypeError: unhashable type: 'Scalar'"),
]


@pytest.mark.parametrize(("formula", "what"), OTHERS)
def test_other_mistakes_are_reported_by_the_authors_line(formula, what):
    where, line = place(formula)
    with pytest.raises(pysim.JointError) as caught:
        trace(joint_of(formula))
    text_ = str(caught.value)
    assert text_.startswith(f"{where}: {what}")
    assert text_.endswith(f", in `{line}`; fix {type(joint_of(formula)).__qualname__}.placement")


@pytest.mark.parametrize(
    ("formula", "what"),
    [
        (knots, "the knots of a spline must increase, all numbers be finite"),
        (end, "unknown ends 'flat'; choose linear, cubic, constant, fmm"),
    ],
)
def test_a_wrong_spline_names_its_line(formula, what):
    where, _ = place(formula)
    with pytest.raises(pysim.JointError) as caught:
        trace(joint_of(formula))
    assert str(caught.value) == f"{where}: {what}"


def test_the_line_in_a_helper_of_the_author_is_the_one_named():
    def helper(x):
        return 1.0 if x > 0 else 0.0

    where, line = place(helper)
    with pytest.raises(pysim.JointError) as caught:
        trace(joint_of(lambda q: helper(q.a)))
    assert (
        str(caught.value) == f"{where}: {BRANCH} while the formula is traced, in `{line}`; {WHERE}"
    )


def test_numpy_arrays_sums_and_products_of_symbolic_numbers_are_traced(rng):
    def formula(q):
        u = np.array([q.a, 0.5, q.b])
        M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
        w = M @ u + np.cross(u, [1.0, 0.0, 0.0])
        return np.sum(w * u) + np.dot(u, u) + np.sqrt(w[0] ** 2 + 1)

    plugin = joint_of(formula)
    traced = trace(plugin)
    for a, b in rng.normal(size=(5, 2)):
        X, _, _ = traced.evaluate([a, b], [0, 0])
        expected = formula(plugin.coordinates.named([a, b]))
        local = np.array([expected, a, 0])
        turn = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
        np.testing.assert_allclose(X[:3, 3], turn @ local, rtol=1e-13)


def test_a_coordinate_that_is_a_pose_can_be_composed_but_not_added():
    class Mine(Joint):
        """Adds a number to a pose."""

        coordinates = pose("at")

        def placement(self, q):
            return q.at + 1

    with pytest.raises(
        pysim.JointError, match=r"TypeError: unsupported operand .*'Pose' and 'int'"
    ):
        trace(Mine())


def test_code_that_cannot_be_traced_runs_as_a_callback():
    class Mine(CallbackJoint):
        """Branches on every state."""

        coordinates = real("a")

        def poses(self, q):
            X = np.tile(np.eye(4), (len(q), 1, 1))
            X[:, 0, 3] = [x if x > 0 else 2 * x for x in q[:, 0]]
            return X

    numbers = Mine().numbers(np.array([[1.0], [-1.0]]), None)
    np.testing.assert_array_equal(numbers[:, 9], [1.0, -2.0])
