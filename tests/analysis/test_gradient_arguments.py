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
        "by v are NaN or infinite in world 1, step 2",
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
            "derivatives by signals are NaN or infinite in world 0, step 1",
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


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "steps: is missing; give the number of steps, or controls"),
        ({"steps": 0}, "steps: must be from 1 to 2147483647, got 0"),
        ({"steps": 2.0}, r"steps: must be a whole number, got 2\.0"),
        ({"steps": True}, "steps: must be a whole number, got True"),
        (
            {"steps": 3, "memory": "1 GB"},
            "memory: must be a number of bytes, 0 or more, got '1 GB'; ",
        ),
        ({"steps": 3, "memory": np.nan}, "memory: must be a number of bytes, 0 or more, got nan; "),
        (
            {"steps": 4, "controls": np.zeros((2, 3, 1))},
            "steps: is 4, but there are controls of 3; ",
        ),
        ({"controls": np.zeros(3)}, r"controls: must have shape \(2, 1, 1\), got \(3,\)"),
        ({"controls": np.full((2, 3, 1), np.inf)}, "are NaN or infinite in world 0, step 1; give"),
    ],
)
def test_steps_and_controls_that_cannot_be_taken_are_named(scene, arguments, problem):
    with pytest.raises(pysim.SimulationError, match=problem):
        pysim.gradient(pysim.Worlds(scene, 2), loss=last, **arguments)


def test_numbers_of_steps_of_numpy_are_taken(scene):
    worlds = pysim.Worlds(scene, 2)
    found = pysim.gradient(worlds, steps=np.int64(3), loss=last)
    np.testing.assert_array_equal(found.loss, pysim.gradient(worlds, steps=3, loss=last).loss)


@pytest.mark.parametrize("name", ["q", "v", "inputs"])
@pytest.mark.parametrize(
    "function",
    [lambda worlds: pysim.gradient(worlds, steps=2, loss=last), pysim.step_derivatives],
    ids=["gradient", "step_derivatives"],
)
def test_a_start_that_is_not_finite_is_named_with_its_world(scene, name, function):
    worlds = pysim.Worlds(scene, 2)
    (worlds.inputs.all if name == "inputs" else getattr(worlds, name))[1] = np.nan
    problem = "inputs: are NaN or infinite in world 1; write finite numbers"
    if name != "inputs":
        problem = "gradient: world 1 is lost: .* nan.*; reset it first"
    with pytest.raises(pysim.SimulationError, match=problem):
        function(worlds)


@pytest.mark.parametrize(
    ("controls", "problem"),
    [
        (
            np.zeros((2, 2)),
            r"controls: must have shape \(2, 1\), got \(2, 2\); give one for every input",
        ),
        ([[0.0], [np.nan]], "controls: are NaN or infinite in world 1; give finite numbers"),
    ],
)
def test_inputs_of_matrices_that_cannot_be_taken_are_named(scene, controls, problem):
    with pytest.raises(pysim.SimulationError, match=problem):
        pysim.step_derivatives(pysim.Worlds(scene, 2), controls)


@pytest.mark.parametrize(
    "function",
    [
        lambda worlds: pysim.gradient(worlds, np.full((2, 3, 1), [[[0.0]], [[1e308]]]), loss=last),
        lambda worlds: pysim.step_derivatives(worlds, [[0.0], [1e308]]),
    ],
    ids=["gradient", "step_derivatives"],
)
def test_a_world_that_overflows_is_named_with_its_step(scene, function):
    worlds = pysim.Worlds(scene, 2)
    worlds.v[1] = 1.797e308
    problem = r"world 1 is lost in step 1(; |: .*joint 'rail' .*, or )start it from another state"
    with pytest.raises(pysim.SimulationError, match=problem):
        function(worlds)


def test_only_worlds_have_derivatives(scene):
    for function in (lambda x: pysim.gradient(x, steps=1, loss=last), pysim.step_derivatives):
        with pytest.raises(pysim.SimulationError, match=r"got Scene; give pysim\.Worlds\(scene\)"):
            function(scene)


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        ("gravity", r"by: must be a list of names, got a text; give \['gravity'\]"),
        (None, "by: must be a list of names, got NoneType; leave it out for none"),
        ([3], r"by\[0\]: must be a name, got int; give a str"),
    ],
)
def test_parameters_that_are_no_list_of_paths_are_named(scene, by, problem):
    with pytest.raises(pysim.SimulationError, match=problem):
        pysim.gradient(pysim.Worlds(scene, 2), steps=1, loss=last, by=by)
