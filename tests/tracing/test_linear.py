"""`linear`, a dense layer as one array. Oracle: NumPy's matrix product and its derivative."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import JointError
from pysim.controllers import linear

PLUGIN = '''
import numpy as np
from pysim.controllers import linear
from pysim.forces import Force, force

W = np.arange(15.0).reshape(3, 5) / 7 - 1
b = np.array([0.1, -0.2, 0.3])

@force("layered")
class Layered(Force):
    """Force of a dense layer of one coordinate's functions."""

    def force(self, q, v):
        q, v = q[0], v[0]
        x = [q, v, q * v, np.sin(q), 2.0]
        return np.tanh(linear(W, x, b)).sum()
'''
SCENE = """
plugins = ["layered.py"]
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rod"
[[force]]
name = "layered"
type = "layered"
coordinates = ["hinge"]
"""
W = np.arange(15.0).reshape(3, 5) / 7 - 1
B = np.array([0.1, -0.2, 0.3])


def expected(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    x = np.array([q, v, q * v, np.sin(q), np.full_like(q, 2.0)])
    return np.tanh(W @ x + B[:, None]).sum(axis=0)


def test_a_layer_and_its_slopes_are_those_of_numpy(tmp_path: Path) -> None:
    (tmp_path / "layered.py").write_text(PLUGIN, "utf-8")
    (tmp_path / "scene.toml").write_text(SCENE, "utf-8")
    model = pysim.load_scene(tmp_path / "scene.toml", allow_code=True).model
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-2, 2, (2, 21))
    force = pysim.passive_forces(model, q[:, None], v[:, None])[:, 0]
    np.testing.assert_allclose(force, expected(q, v), atol=1e-14)
    slopes = pysim.passive_force_derivatives(model, q[:, None], v[:, None])
    h = 1e-6
    for slope, dq, dv in ((slopes[0], h, 0), (slopes[1], 0, h)):
        numeric = (expected(q + dq, v + dv) - expected(q - dq, v - dv)) / (2 * h)
        np.testing.assert_allclose(np.ravel(slope), numeric, atol=1e-8)


def test_plain_numbers_are_multiplied_at_once() -> None:
    x = np.arange(5.0)
    np.testing.assert_array_equal(linear(W, x, B), W @ x + B)
    np.testing.assert_array_equal(linear(W, x), W @ x)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((W.T, np.zeros(5)), r"needs W \(m, n\) and x \(n,\), got \(5, 3\) and \(5,\)"),
        ((W, np.zeros(5), np.zeros(2)), r"needs b \(3,\), got \(2,\)"),
        ((np.full((2, 2), np.inf), np.zeros(2)), "needs finite numbers"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    arguments: tuple[np.ndarray, ...], problem: str
) -> None:
    with pytest.raises(JointError, match=problem):
        linear(*arguments)
