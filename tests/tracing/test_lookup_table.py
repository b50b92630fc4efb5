"""`table`, a table of two variables. Oracles: SciPy's bilinear and bicubic interpolation, and their slopes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, RegularGridInterpolator

from pysim import JointError
from pysim.forces import table
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate, rate
from pysim.tracing.expression import Scalar
from pysim.tracing.tape import Tape

XS, YS = np.array([-1.0, 0.0, 0.4, 2.0, 3.5]), np.array([0.0, 1.0, 1.5, 4.0])
F = np.sin(XS[:, None]) * np.cos(0.7 * YS) + 0.1 * XS[:, None] * YS**2


def bicubic(x, y):
    """Return natural splines along y of natural splines along x."""
    along = [CubicSpline(XS, column, bc_type="natural")(x) for column in F.T]
    return float(CubicSpline(YS, along, bc_type="natural")(y))


def recorded(kind):
    """Return the tape, and nodes of the value and of its slopes by x and y."""
    tape = Tape()
    x, y = (Scalar(tape, tape.input(k)) for k in (0, 1))
    value = table(x, y, XS, YS, F, kind=kind).index
    slopes = [Derivative(tape, {k: tape.const(1)}).of(value) for k in (0, 1)]
    return tape, [value, *slopes]


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_values_and_slopes_within_the_grid(kind):
    rng = np.random.default_rng(6)
    points = np.array([rng.uniform(-1, 3.5, 40), rng.uniform(0, 4, 40)])
    if kind == "linear":
        expected = RegularGridInterpolator((XS, YS), F)(points.T)
    else:
        expected = [bicubic(*point) for point in points.T]
    tape, nodes = recorded(kind)
    found = evaluate(tape, points, nodes)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-13)
    for k in (0, 1):
        along = np.zeros_like(points)
        along[k] = 1
        np.testing.assert_allclose(found[1 + k], rate(tape, points, along, nodes[:1])[0])
    plain = [table(x, y, XS, YS, F, kind=kind) for x, y in points.T.tolist()]
    np.testing.assert_allclose(plain, found[0], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_outside_of_the_grid_the_value_is_that_of_the_nearest_edge(kind):
    assert table(-9.0, 1.5, XS, YS, F, kind=kind) == pytest.approx(F[0, 2])
    assert table(9.0, 9.0, XS, YS, F, kind=kind) == pytest.approx(F[-1, -1])
    tape, nodes = recorded(kind)
    found = evaluate(tape, np.array([[7.0], [1.0]]), nodes)
    np.testing.assert_allclose(found[:2, 0], [F[-1, 1], 0], atol=1e-14)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"xs": [0.0]}, "xs of a table must be two or more numbers that increase"),
        ({"ys": [0.0, 2.0, 1.0, 3.0]}, "ys of a table must be two or more numbers that increase"),
        ({"values": F.T}, r"values of a table must be \(5, 4\), got \(4, 5\)"),
        ({"values": F * np.nan}, "a table needs finite numbers"),
        ({"kind": "quintic"}, "unknown kind 'quintic'; choose linear or cubic"),
    ],
)
def test_tables_that_do_not_fit_are_rejected(keys, message):
    own = {"xs": XS, "ys": YS, "values": F} | keys
    with pytest.raises(JointError, match=message):
        table(0.0, 0.0, **own)
