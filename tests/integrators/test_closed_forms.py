"""Fixed-step schemes against closed forms and published numbers (tests/data/reference/closed_form.json).

A scheme of order p divides its error by 2^p when the step is halved; the steps are where that shows, between the
first terms of the error and rounding.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from pysim import _engine
from pysim.inertia import theta_from_com
from pysim.integrators import BUILTIN
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.oracles.mechanisms import make_joint, one_body
from tests.robots import REFERENCE

CLOSED = json.loads((REFERENCE / "closed_form.json").read_text("utf-8"))
BUILTIN_FIXED = [kind.name for kind in BUILTIN.values() if not (kind.adaptive or kind.contacts)]
NO_GRAVITY = np.zeros(3)
DOWN_Y = np.array([0, -9.81, 0])


def rest_drive(model):
    return _engine.Actuation(*np.zeros((4, model.nv)))


def run(model, q, v, duration, steps, scheme="rk4"):
    q1, v1, done = make_steps(
        model,
        np.asarray(q, float),
        np.asarray(v, float),
        0.0,
        duration / steps,
        steps,
        scheme,
        rest_drive(model),
    )
    assert done == steps
    return q1, v1


def point(mass, position):
    return theta_from_com(mass, position, np.zeros((3, 3)))


def row(name, t):
    return next(np.array(r) for r in CLOSED[name]["rows"] if r[0] == t)


def pendulums(n):
    """n point masses of 1 kg on massless rods of 1 m; q = 0 is a straight line along x."""
    along = np.eye(4)
    along[0, 3] = 1.0
    names = ["world", *(f"rod{k}" for k in range(n))]
    joints = tuple(
        make_joint(f"pin{k}", "revolute", names[k], names[k + 1], np.eye(4) if k == 0 else along)
        for k in range(n)
    )
    bodies = tuple(BodySpec(name, point(1.0, [1, 0, 0])) for name in names[1:])
    return compile_model(ModelSpec("pendulums", DOWN_Y, bodies, joints))


def simple_pendulum(steps, scheme):
    q, _ = run(pendulums(1), [0], [0], 2.0, steps, scheme)
    return np.array([np.cos(q[0]), np.sin(q[0])]) - row("A01", 2)[1:]


def double_pendulum(steps, scheme):
    q, _ = run(pendulums(2), [0, 0], [0, 0], 0.5, steps, scheme)
    return np.cumsum(q) + np.pi / 2 - row("npend2", 0.5)[3:5]


def triple_pendulum(steps, scheme):
    q, _ = run(pendulums(3), np.zeros(3), np.zeros(3), 0.5, steps, scheme)
    return np.cumsum(q) + np.pi / 2 - row("npend3", 0.5)[3:6]


def spherical_pendulum(steps, scheme):
    model = compile_model(one_body("universal", point(1.0, [0, 0, -1])))
    start = np.array([0, -np.pi / 3]), np.array([4 * np.sin(np.pi / 3), 0])
    (a, b), (da, db) = run(model, *start, 1.0, steps, scheme)
    r = [-np.sin(b), np.sin(a) * np.cos(b), -np.cos(a) * np.cos(b)]
    v = [
        -np.cos(b) * db,
        np.cos(a) * np.cos(b) * da - np.sin(a) * np.sin(b) * db,
        np.sin(a) * np.cos(b) * da + np.cos(a) * np.sin(b) * db,
    ]
    return np.array([*r, *v]) - row("spherical_pendulum", 1.0)[1:]


def babyboot_model():
    """Two plates on crossed hinges, chaotic; published by MotionGenesis."""
    theta_a = theta_from_com(0.01, [0, 0, -0.075], np.diag([50e-7, 0, 0]))
    theta_b = theta_from_com(0.1, [0, 0, -0.2], np.diag([2500e-7, 500e-7, 2000e-7]))
    joints = (
        make_joint("A", "revolute", "world", "A", axis=[1, 0, 0]),
        make_joint("B", "revolute", "A", "B", axis=[0, 0, 1]),
    )
    bodies = (BodySpec("A", theta_a), BodySpec("B", theta_b))
    return compile_model(ModelSpec("babyboot", np.array([0, 0, -9.81]), bodies, joints))


def babyboot(steps, scheme):
    q, v = run(babyboot_model(), np.radians([90, 1]), [0, 0], 2.0, steps, scheme)
    return np.array([*q, *v]) - row("babyboot", 2.0)[1:]


def quaternion_error(q, wxyz):
    expected = np.roll(wxyz, -1)
    return q - expected * np.sign(q @ expected)


def dzhanibekov(steps, scheme, kind="ball"):
    model = compile_model(
        one_body(kind, theta_from_com(1.0, np.zeros(3), np.diag([1.0, 2, 3])), gravity=NO_GRAVITY)
    )
    v = np.zeros(model.nv)
    v[-3:] = CLOSED["dzhanibekov"]["w0"]
    q, v = run(model, model.neutral(), v, 6.0, steps, scheme)
    expected = row("dzhanibekov", 6.0)
    return np.concatenate([quaternion_error(q[-4:], expected[4:]), v[-3:] - expected[1:4]])


def dzhanibekov_free(steps, scheme):
    return dzhanibekov(steps, scheme, "free")


def symmetric_body(steps, scheme):
    numbers = CLOSED["symmetric_free_body"]
    theta = theta_from_com(1.0, np.zeros(3), np.diag(numbers["I"]))
    model = compile_model(one_body("ball", theta, gravity=NO_GRAVITY))
    q, v = run(model, model.neutral(), numbers["w0"], numbers["t"], steps, scheme)
    return np.concatenate([quaternion_error(q, numbers["quat_wxyz"]), v - numbers["omega"]])


PROBLEMS = [
    (simple_pendulum, 300),
    (double_pendulum, 150),
    (triple_pendulum, 300),
    (spherical_pendulum, 200),
    (babyboot, 1600),
    (dzhanibekov, 100),
    (dzhanibekov_free, 100),
    (symmetric_body, 600),
]


@pytest.mark.parametrize(("problem", "steps"), PROBLEMS)
def test_halving_the_step_of_rk4_divides_the_error_by_sixteen(problem, steps):
    errors = [np.abs(problem(steps * k, "rk4")).max() for k in (1, 2, 4)]
    assert errors[1] < 1e-5
    for coarse, fine in itertools.pairwise(errors):
        assert coarse / fine == pytest.approx(16, rel=0.15)


@pytest.mark.parametrize(("problem", "steps"), PROBLEMS)
def test_halving_the_step_of_rk2_divides_the_error_by_four(problem, steps):
    errors = [np.abs(problem(2 * steps * k, "rk2")).max() for k in (1, 2, 4)]
    for coarse, fine in itertools.pairwise(errors):
        assert coarse / fine == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(("problem", "steps"), [p for p in PROBLEMS if p[0] is not babyboot])
def test_halving_the_step_of_semi_implicit_halves_the_error(problem, steps):
    errors = [np.abs(problem(32 * steps * k, "semi_implicit")).max() for k in (1, 2)]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.1)


def test_free_body_moves_on_a_straight_line_while_it_tumbles():
    theta = theta_from_com(2.0, np.zeros(3), np.diag([1.0, 2, 3]))
    model = compile_model(one_body("free", theta, gravity=NO_GRAVITY))
    v = np.array([1, 2, 3, 0.01, 2, 0.02])
    q, _ = run(model, model.neutral(), v, 6.0, 6000)
    np.testing.assert_allclose(q[:3], [6, 12, 18], rtol=1e-11)


def test_simple_pendulum_is_on_time_after_a_hundred_seconds():
    q, _ = run(pendulums(1), [0], [0], 100.0, 400_000)
    np.testing.assert_allclose([np.cos(q[0]), np.sin(q[0])], row("A01", 100)[1:], atol=1e-9)


def test_free_top_keeps_momentum_in_the_world_to_1e_12():
    inertia = np.diag([1.0, 2, 3])
    model = compile_model(
        one_body("ball", theta_from_com(1.0, np.zeros(3), inertia), gravity=NO_GRAVITY)
    )
    w0 = np.array([0.01, 2, 0.02])
    q, w = run(model, model.neutral(), w0, 10.0, 20_000)
    x, y, z, s = q
    R = np.eye(3) + 2 * np.array(
        [
            [-(y * y + z * z), x * y - z * s, x * z + y * s],
            [x * y + z * s, -(x * x + z * z), y * z - x * s],
            [x * z - y * s, y * z + x * s, -(x * x + y * y)],
        ]
    )
    np.testing.assert_allclose(R @ inertia @ w, inertia @ w0, atol=1e-12 * 6)


def test_two_short_runs_are_one_long_run_bit_for_bit():
    model = pendulums(3)
    drive = rest_drive(model)
    q, v = np.array([0.3, -1, 2]), np.array([1.0, 0, -1])
    for scheme in ("rk4", "semi_implicit"):
        whole = make_steps(model, q, v, 0.0, 1e-3, 200, scheme, drive)
        half = make_steps(model, q, v, 0.0, 1e-3, 120, scheme, drive)
        rest = make_steps(model, *half[:2], 0.12, 1e-3, 80, scheme, drive)
        for a, b in zip(whole[:2], rest[:2], strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_state_that_blows_up_stops_at_its_last_good_step_and_spares_the_batch(isa):
    model = pendulums(2)
    q, v = np.zeros((19, 2)), np.zeros((19, 2))
    v[5] = 1e80
    v[11] = 1e160
    drive = rest_drive(model)
    q1, v1, done = make_steps(model, q, v, 0.0, 0.01, 50, "rk4", drive)
    assert done[5] < 50
    assert done[11] == 0
    assert (np.delete(done, [5, 11]) == 50).all()
    assert np.isfinite(q1).all()
    assert np.isfinite(v1).all()
    np.testing.assert_array_equal(v1[11], v[11])
    alone = make_steps(model, q[0], v[0], 0.0, 0.01, 50, "rk4", drive)
    np.testing.assert_array_equal(q1[0], alone[0])


def test_a_run_that_stopped_does_not_start_again(isa):
    """The square of the speed overflows in the first step; a second one would bring it back."""
    theta = theta_from_com(1.0, np.zeros(3), np.eye(3))
    model = compile_model(one_body("prismatic", theta, gravity=NO_GRAVITY))
    h, fast = 2.0**-10, 1.2e154
    shaker = _engine.Actuation(*np.array([[0.0], [0.2e154 / h], [np.pi / h], [np.pi / 2]]))
    v = np.zeros((19, 1))  # whole packs, where the others go on
    v[3] = fast
    _, v1, done = make_steps(model, 0 * v, v, 0.0, h, 2, "semi_implicit", shaker)
    assert done[3] == 0
    assert v1[3] == fast
    assert (np.delete(done, 3) == 2).all()
    _, v1, done = make_steps(model, 0 * v, v / 1.2, 0.0, h, 2, "semi_implicit", shaker)
    assert (done == 2).all()  # 1.2e154, and back


def test_a_batch_of_runs_gives_the_bits_of_each_run_alone(isa, rng):
    model = pendulums(3)
    q, v = rng.normal(size=(2, 21, 3))
    drive = rest_drive(model)
    for scheme in ("rk4", "semi_implicit"):
        batch = make_steps(model, q, v, 0.0, 1e-2, 30, scheme, drive, threads=2)
        for k in range(21):
            alone = make_steps(model, q[k], v[k], 0.0, 1e-2, 30, scheme, drive)
            np.testing.assert_array_equal(batch[0][k], alone[0])
            np.testing.assert_array_equal(batch[1][k], alone[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": 0.0}, "step must be positive [s], got 0.000000"),
        (
            {"scheme": "rk5"},
            "integrator 'rk5' is unknown; choose one of " + ", ".join(BUILTIN_FIXED),
        ),
    ],
)
def test_senseless_runs_are_rejected(changes, message):
    model = pendulums(1)
    asked = {"step": 1e-3, "scheme": "rk4", **changes}
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is asserted below
        make_steps(
            model,
            np.zeros(1),
            np.zeros(1),
            0.0,
            asked["step"],
            1,
            asked["scheme"],
            rest_drive(model),
        )
    assert str(caught.value) == message
