"""Wrong arguments of `gradient` and `step_derivatives`, and losses that return nonsense, are named with a remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim

CART = """
[[body]]
name = "cart"
mass = 2.0
[[joint]]
name = "rail"
type = "prismatic"
child = "cart"
axis = [1, 0, 0]
start = { v = 1.0 }
[[signal]]
name = "force"
type = "input"
[[sensor]]
name = "place"
type = "distance"
path = [{ body = "world", point = [0, 0.3, 0] }, { body = "cart", point = [0, 0, 0] }]
[[actuator]]
name = "motor"
type = "motor"
joint = "rail"
command = "force"
[simulation]
integrator = "convex"
step = 0.01
duration = 1.0
"""


@pytest.fixture
def scene(tmp_path: Path) -> pysim.Scene:
    (tmp_path / "cart.toml").write_text(CART, "utf-8")
    return pysim.load_scene(tmp_path / "cart.toml")


def last(q, v):
    """The last q of every world."""
    by_q = np.zeros_like(q)
    by_q[..., -1, 0] = 1.0
    return q[..., -1, 0], by_q, np.zeros_like(v)


def first_nan(x):
    """A copy with NaN in world 1 after the second step."""
    x = x.copy()
    x[1, 1] = np.nan
    return x


LOSSES = [
    (3, "loss: must be a function or the name of a signal, got int; give a function of q and v"),
    (lambda q: q, r"loss: is called with \(q, v\): too many .*; let it take them"),
    (
        lambda q, v: q + v,
        r"loss: must return a tuple \(losses, by q, by v\), got ndarray; return all",
    ),
    (lambda q, v: last(q, v)[:2], "loss: must return a tuple .*, got 2 values; return all of them"),
    (
        lambda q, v: (q[:, -1], 0 * q, v),
        r"losses must have shape \(2,\), got \(2, 1\); .* every world",
    ),
    (
        lambda q, v: (q[:, 0, 0], q[0], v),
        "derivatives by q must have shape .* every number of every",
    ),
    (
        lambda q, v: (q[:, 0, 0], v, None),
        "loss: derivatives by v: must be real numbers, got an array",
    ),
    (lambda q, v: (["a", "b"], q, v), "loss: losses: must be real numbers, got an array of <U1"),
    (
        lambda q, v: (q[:, 0, 0], 1j * q, v),
        "by q: must be real numbers, got an array of complex128",
    ),
    (lambda q, v: (q[:, 0, 0], [[1], [1, 2]], v), "by q: has rows of different lengths; give all"),
    (
        lambda q, v: (np.array([1.0, np.inf]), q, v),
        "losses are NaN or infinite in world 1; let the",
    ),
    (
        lambda q, v: (q[:, 0, 0], q, first_nan(v)),
        "by v are NaN or infinite in world 1 after step 2",
    ),
]


@pytest.mark.parametrize(("loss", "problem"), LOSSES)
def test_a_loss_that_returns_something_else_is_named(scene, loss, problem):
    with pytest.raises(pysim.SimulationError, match=problem):
        pysim.gradient(pysim.Worlds(scene, 2), steps=3, loss=loss)


@pytest.mark.parametrize(
    ("by_place", "problem"),
    [
        ("text", "loss: by 'place.length': must be real numbers"),
        (
            np.full((2, 3), np.nan),
            "derivatives by signals are NaN or infinite in world 0 after step 1",
        ),
    ],
)
def test_derivatives_by_signals_that_are_no_numbers_are_named(scene, by_place, problem):
    def loss(q, v, signals):
        assert signals["place.length"].shape == (2, 3)
        return *last(q, v), {"place.length": by_place}

    with pytest.raises(pysim.SimulationError, match=problem):
        pysim.gradient(pysim.Worlds(scene, 2), steps=3, loss=loss, signals=["place.length"])


def test_an_error_of_the_loss_itself_is_raised_as_it_is(scene):
    def broken(q, v):
        raise ArithmeticError(f"mine, of shapes {q.shape} and {v.shape}")

    worlds = pysim.Worlds(scene, 2)
    with pytest.raises(ArithmeticError, match="mine"):
        pysim.gradient(worlds, steps=3, loss=broken)
    np.testing.assert_array_equal(worlds.t, 0.0)
    np.testing.assert_array_equal(worlds.v, 1.0)
