"""`solve`, an implicit equation as one operation. Oracles: closed forms, SciPy's `brentq`, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import brentq

import pysim
from pysim import JointError
from pysim.forces import solve
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate, rate
from pysim.tracing.expression import Scalar
from pysim.tracing.tape import Tape

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = '''
import numpy as np
from pysim.forces import Force, force, solve


@force("kepler")
class Kepler(Force):
    """Eccentric anomaly of a mean anomaly, twice: the second equation reads the solution of the first."""

    def force(self, q, v):
        M = q[0]
        E = solve(lambda x: x - 0.6 * np.sin(x) - M, M, -20.0, 20.0)
        return [solve(lambda x: x + 0.3 * np.sin(x) * E - 0.5 * v[0], E, -40.0, 40.0)]


@force("nested")
class Nested(Force):
    """x with x + y(x) = q, where y + y³ = x."""

    def force(self, q, v):
        def residual(x):
            y = solve(lambda y: y + y * y * y - x, x, -30.0, 30.0)
            return x + y * np.cos(0.1 * v[0]) - q[0]

        return [solve(residual, 0.0, -30.0, 30.0)]


@force("rootless")
class Rootless(Force):
    """No root where q is positive."""

    def force(self, q, v):
        return [solve(lambda x: x * x + q[0], 0.5, 0.0, 10.0)]
'''
SCENE = """
gravity = [0, 0, 0]
plugins = ["equations.py"]
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
[[force]]
name = "element"
type = "TYPE"
coordinates = ["hinge"]
"""


def scene_of(folder: Path, kind: str) -> pysim.Scene:
    (folder / "equations.py").write_text(PLUGIN, "utf-8")
    (folder / "scene.toml").write_text(SCENE.replace("TYPE", kind), "utf-8")
    return pysim.load_scene(folder / "scene.toml", allow_code=True)


def kepler(M: float, v: float) -> float:
    E = brentq(lambda x: x - 0.6 * np.sin(x) - M, -20, 20, xtol=1e-15)
    return float(brentq(lambda x: x + 0.3 * np.sin(x) * E - 0.5 * v, -40, 40, xtol=1e-15))


def nested(q: float, v: float) -> float:
    def inner(x: float) -> float:
        return float(brentq(lambda y: y + y**3 - x, -30, 30, xtol=1e-15))

    return float(brentq(lambda x: x + inner(x) * np.cos(0.1 * v) - q, -30, 30, xtol=1e-15))


@pytest.mark.parametrize(("kind", "expected"), [("kepler", kepler), ("nested", nested)])
def test_solutions_and_slopes_are_those_of_brentq(tmp_path, kind, expected):
    model = scene_of(tmp_path, kind).model
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-1.5, 1.5, (2, 19, 1))
    found = pysim.passive_forces(model, q, v)[:, 0]
    np.testing.assert_allclose(
        found, [expected(*x) for x in np.hstack([q, v])], rtol=1e-13, atol=1e-15
    )
    by_q, by_v, _ = pysim.aba_derivatives(model, q, v, 0 * q, passive=True)
    h = 1e-5
    for k, (a, b) in enumerate(np.hstack([q, v])):
        along_q = (expected(a + h, b) - expected(a - h, b)) / (2 * h)
        along_v = (expected(a, b + h) - expected(a, b - h)) / (2 * h)
        assert by_q[k, 0, 0] == pytest.approx(along_q, rel=1e-7, abs=1e-8)
        assert by_v[k, 0, 0] == pytest.approx(along_v, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("kind", ["kepler", "nested"])
def test_a_solution_has_the_same_bits_in_every_batch(tmp_path, kind):
    model = scene_of(tmp_path, kind).model
    q = np.linspace(-1.4, 1.4, 21)[:, None]
    together = pysim.passive_forces(model, q, 0.3 * q)
    alone = [pysim.passive_forces(model, x, 0.3 * x) for x in q]
    np.testing.assert_array_equal(together, alone)


def test_a_run_without_a_root_ends_with_the_name_of_the_element(tmp_path):
    model = scene_of(tmp_path, "rootless").model
    np.testing.assert_allclose(pysim.passive_forces(model, [-4.0], [0.0]), [2.0], rtol=1e-14)
    text = (tmp_path / "scene.toml").read_text("utf-8")
    text += "[simulation]\nduration = 1.0\nstep = 0.01\nintegrator = 'rk4'\n"
    (tmp_path / "scene.toml").write_text(
        text.replace('"hinge"\ntype', '"hinge"\nstart = { q = 1.0 }\ntype'), "utf-8"
    )
    scene = pysim.load_scene(tmp_path / "scene.toml", allow_code=True)
    with pytest.raises(pysim.SimulationError, match="element"):
        pysim.simulate(scene)


def test_second_derivatives_are_those_of_the_closed_form():
    """x² = p: x = √p, x′ = 1/(2√p), x″ = −1/(4 p^1.5)."""
    tape = Tape()
    p = Scalar(tape, tape.input(0))
    x = solve(lambda x: x * x - p, 1.0, 0.0, 10.0)
    along = Derivative(tape, {0: tape.const(1)})
    first = along.of(x.index)
    second = Derivative(tape, {0: tape.const(1)}).of(first)
    values = np.array([[0.5, 2.0, 9.0]])
    found = evaluate(tape, values, [x.index, first, second])
    s = np.sqrt(values[0])
    np.testing.assert_allclose(found, [s, 0.5 / s, -0.25 / s**3], rtol=1e-13)
    np.testing.assert_allclose(rate(tape, values, 0 * values + 1, [x.index])[0], 0.5 / s)


def test_a_root_at_a_bound_and_one_of_plain_numbers():
    assert solve(lambda x: x * x * x - 8.0, 1.0, 2.0, 5.0) == 2.0
    assert solve(lambda x: np.cos(x) - x, 0.5, 0.0, 1.0) == pytest.approx(0.7390851332151607)
    assert np.isnan(solve(lambda x: x * x + 1.0, 0.5, 0.0, 1.0))


@pytest.mark.parametrize(
    ("residual", "bounds", "message"),
    [
        (lambda x: x - 1, (2.0, 1.0), "needs finite bounds, lower below upper, got 2.0 and 1.0"),
        (lambda x: x - 1, (0.0, np.inf), "needs finite bounds"),
        (lambda _: 1.0, (0.0, 1.0), "must be one number that depends on its argument"),
    ],
)
def test_equations_that_cannot_be_solved_are_rejected(residual, bounds, message):
    tape = Tape()
    guess = Scalar(tape, tape.input(0))
    with pytest.raises(JointError, match=message):
        solve(residual, guess, *bounds)
