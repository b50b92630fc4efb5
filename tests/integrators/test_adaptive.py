"""Dormand and Prince's steps of adapted size.

Oracles: SciPy's RK45, the same pair, where the configuration is a vector space; closed forms (those of
test_closed_forms.py) and published numbers (tests/data/reference/closed_form.json).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK45

import pysim
from pysim import _engine
from pysim._engine import AdaptiveState, AdaptiveStatus
from pysim.inertia import theta_from_com
from pysim.simulation.loading import compile_model
from tests.integrators.test_closed_forms import (
    CLOSED,
    NO_GRAVITY,
    babyboot_model,
    pendulums,
    quaternion_error,
    rest_drive,
    row,
)
from tests.integrators.test_random_trees import Machine
from tests.oracles.mechanisms import one_body


def run_adaptive(model, q, v, times, tolerance=1e-10, drive=None, state=None, **options):
    """(q, v) at the times, what the next call begins with, and the records."""
    worlds = 1 if np.ndim(q) == 1 else len(q)
    each = np.broadcast_to(tolerance, model.nv).astype(float)
    run = _engine.advance_adaptive(
        model,
        np.asarray(q, float),
        np.asarray(v, float),
        AdaptiveState(worlds) if state is None else state,
        np.asarray(times, float),
        each,
        each,
        each,
        drive or rest_drive(model),
        **options,
    )
    return (run.q_at, run.v_at), (run.q, run.v, run.state), run.records


def test_the_stages_are_scipys_where_the_configuration_is_a_vector_space():
    """One step of the same size from the same state."""
    model = pendulums(3)
    q, v = np.array([0.3, -1, 2]), np.array([1.0, 0, -1])

    def rate(_, y):
        return np.r_[y[3:], pysim.aba(model, y[:3], y[3:], np.zeros(3))]

    solver = RK45(rate, 0.0, np.r_[q, v], 1.0, first_step=1e-2, rtol=1e-3, atol=1e3)
    solver.step()
    between = 0.004
    (q_t, v_t), _, records = run_adaptive(
        model, q, v, [between, 1e-2], 1e3, state=AdaptiveState(step=1e-2)
    )
    assert records[0].reached == 2
    np.testing.assert_allclose(np.r_[q_t[1], v_t[1]], solver.y, rtol=0, atol=1e-14)
    expected = solver.dense_output()(between)
    np.testing.assert_allclose(np.r_[q_t[0], v_t[0]], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_errors_follow_the_tolerance(tolerance):
    (q, _), _, _ = run_adaptive(pendulums(2), [0, 0], [0, 0], [0.5], tolerance)
    error = np.abs(np.cumsum(q[0]) + np.pi / 2 - row("npend2", 0.5)[3:5]).max()
    assert error < 3 * tolerance
    inertia = np.diag([1.0, 2, 3])
    ball = compile_model(
        one_body("ball", theta_from_com(1.0, np.zeros(3), inertia), gravity=NO_GRAVITY)
    )
    (q, v), _, _ = run_adaptive(ball, ball.neutral(), CLOSED["dzhanibekov"]["w0"], [6.0], tolerance)
    expected = row("dzhanibekov", 6.0)
    assert np.abs(v[0] - expected[1:4]).max() < 100 * tolerance
    assert np.abs(quaternion_error(q[0], expected[4:])).max() < 100 * tolerance


def test_babyboot_meets_the_published_angles_after_ten_seconds_to_1e_4_degrees():
    """A chaotic mechanism; the numbers are MotionGenesis's."""
    (q, _), _, _ = run_adaptive(
        babyboot_model(), np.radians([90, 1]), [0, 0], [10.0], 1e-12, attempts=10_000
    )
    np.testing.assert_allclose(q[0], row("babyboot", 10.0)[1:3], atol=np.radians(1e-4))


def test_outputs_change_no_step_and_any_split_of_them_gives_the_same_bits(rng, isa):
    model = Machine(rng, mimic=True).model
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    times = np.linspace(0.01, 0.2, 40)
    whole, _, record = run_adaptive(model, q, v, times, 1e-7)
    few, _, sparse = run_adaptive(model, q, v, times[-1:], 1e-7)
    assert repr(record[0].replaced(reached=1)) == repr(sparse[0])
    assert record[0].reached == 40
    np.testing.assert_array_equal(whole[0][-1], few[0][-1])
    parts, state = [], (q, v, AdaptiveState())
    for k in range(0, 40, 7):
        rows, state, _ = run_adaptive(model, *state[:2], times[k : k + 7], 1e-7, state=state[2])
        parts.append(rows)
    for column in (0, 1):
        np.testing.assert_array_equal(np.concatenate([p[column] for p in parts]), whole[column])


def test_a_call_that_runs_out_of_attempts_goes_on_where_it_stopped():
    model, times = pendulums(2), [0.1, 0.3, 0.5]
    whole, _, _ = run_adaptive(model, [0, 0], [0, 0], times)
    state, rows, left = (np.zeros(2), np.zeros(2), AdaptiveState()), [], list(times)
    while left:
        made, state, record = run_adaptive(model, *state[:2], left, state=state[2], attempts=5)
        rows += list(made[0][: record[0].reached])
        left = left[record[0].reached :]
    np.testing.assert_array_equal(np.array(rows), whole[0])


def test_a_batch_of_runs_gives_the_bits_of_each_run_alone(rng, isa):
    """Every world with steps of its own; one of them has none that is short enough."""
    machine = Machine(rng, mimic=False)
    model = machine.model
    q = np.array([model.random_configuration(rng) for _ in range(11)])
    v = rng.normal(size=(11, model.nv)) * rng.uniform(0.1, 2, (11, 1))
    v[4] = 1e200
    times = [0.02, 0.05]
    batch, _, records = run_adaptive(model, q, v, times, 1e-6, machine.actuation, threads=2)
    for k, record in enumerate(records):
        assert record.status is (AdaptiveStatus.underflow if k == 4 else AdaptiveStatus.reached)
    for k in range(11):
        alone, _, own = run_adaptive(model, q[k], v[k], times, 1e-6, machine.actuation)
        assert repr(own[0]) == repr(records[k])
        if k != 4:
            np.testing.assert_array_equal(batch[0][k], alone[0])
            np.testing.assert_array_equal(batch[1][k], alone[1])


def test_each_coordinate_may_have_a_tolerance_of_its_own():
    model = pendulums(2)
    counts = [
        run_adaptive(model, [0, 0], [0, 0], [1.0], tolerance)[2][0].accepted
        for tolerance in ([1e-10, 1e-10], [1e-10, 1e-2], [1e-2, 1e-2])
    ]
    assert counts[0] > counts[1] > counts[2]


def test_a_free_fall_is_followed_in_few_steps_and_exactly():
    model = compile_model(one_body("free", theta_from_com(2.0, np.zeros(3), np.eye(3))))
    (q, v), _, record = run_adaptive(model, model.neutral(), np.zeros(6), [1.0, 2.0], 1e-9)
    assert record[0].accepted < 25
    np.testing.assert_allclose(q[:, 2], [-9.81 / 2, -2 * 9.81], rtol=1e-12)
    np.testing.assert_allclose(v[:, 2], [-9.81, -2 * 9.81], rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tolerance": [1e-6, 0.0]}, "rtol must be positive, got 0.000000"),
        ({"longest": 0.0}, "longest must be positive [s], got 0.000000"),
        (
            {"state": AdaptiveState(2)},
            "state must be for 1 worlds and 0 events, got 2 worlds and 0 events",
        ),
        (
            {"state": AdaptiveState(events=3)},
            "state must be for 1 worlds and 0 events, got 1 worlds and 3 events",
        ),
    ],
)
def test_senseless_runs_are_rejected(changes, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is asserted below
        run_adaptive(pendulums(2), [0, 0], [0, 0], [1.0], **changes)
    assert str(caught.value) == message
