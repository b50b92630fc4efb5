"""Dormand and Prince's steps of adapted size.

Oracles: SciPy's RK45, the same pair, where the configuration is a vector space; closed forms (those of
test_closed_forms.py) and published numbers (tests/data/reference/closed_form.json).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK45

import pysim
from pysim.inertia import theta_from_com
from pysim.worlds.engine_calls import Stop
from pysim.worlds.failure import Status
from pysim.worlds.loading import compile_model
from tests.integrators.adaptive_worlds import AdaptiveWorlds
from tests.integrators.test_closed_forms import (
    CLOSED,
    NO_GRAVITY,
    babyboot_model,
    pendulums,
    quaternion_error,
    row,
)
from tests.integrators.test_random_trees import Machine
from tests.oracles.mechanisms import one_body


def test_the_stages_are_scipys_where_the_configuration_is_a_vector_space():
    """One step of the same size from the same state."""
    model = pendulums(3)
    q, v = np.array([0.3, -1, 2]), np.array([1.0, 0, -1])

    def rate(_, y):
        return np.r_[y[3:], pysim.aba(model, y[:3], y[3:], np.zeros(3))]

    solver = RK45(rate, 0.0, np.r_[q, v], 1.0, first_step=1e-2, rtol=1e-3, atol=1e3)
    solver.step()
    between = 0.004
    rows = AdaptiveWorlds(model, q, v, 1e3, step=1e-2).advance([between, 1e-2])
    assert rows.reached[0] == 2
    np.testing.assert_allclose(np.r_[rows.q[0, 1], rows.v[0, 1]], solver.y, rtol=0, atol=1e-14)
    expected = solver.dense_output()(between)
    np.testing.assert_allclose(np.r_[rows.q[0, 0], rows.v[0, 0]], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_errors_follow_the_tolerance(tolerance):
    q = AdaptiveWorlds(pendulums(2), [0, 0], [0, 0], tolerance).advance([0.5]).q[0]
    error = np.abs(np.cumsum(q[0]) + np.pi / 2 - row("npend2", 0.5)[3:5]).max()
    assert error < 3 * tolerance
    inertia = np.diag([1.0, 2, 3])
    ball = compile_model(
        one_body("ball", theta_from_com(1.0, np.zeros(3), inertia), gravity=NO_GRAVITY)
    )
    rows = AdaptiveWorlds(ball, ball.neutral(), CLOSED["dzhanibekov"]["w0"], tolerance).advance(
        [6.0]
    )
    expected = row("dzhanibekov", 6.0)
    assert np.abs(rows.v[0, 0] - expected[1:4]).max() < 100 * tolerance
    assert np.abs(quaternion_error(rows.q[0, 0], expected[4:])).max() < 100 * tolerance


def test_babyboot_meets_the_published_angles_after_ten_seconds_to_1e_4_degrees():
    """A chaotic mechanism; the numbers are MotionGenesis's."""
    worlds = AdaptiveWorlds(babyboot_model(), np.radians([90, 1]), [0, 0], 1e-12)
    np.testing.assert_allclose(
        worlds.advance([10.0]).q[0, 0], row("babyboot", 10.0)[1:3], atol=np.radians(1e-4)
    )


def test_outputs_change_no_step_and_any_split_of_them_gives_the_same_bits(rng, isa):
    model = Machine(rng, mimic=True).model
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    times = np.linspace(0.01, 0.2, 40)
    worlds, few = (AdaptiveWorlds(model, q, v, 1e-7) for _ in range(2))
    whole, last = worlds.advance(times), few.advance(times[-1:])
    assert whole.reached[0] == 40
    assert worlds.saved(0) == few.saved(0)
    np.testing.assert_array_equal(whole.q[0, -1], last.q[0, 0])
    divided = AdaptiveWorlds(model, q, v, 1e-7)
    parts = [divided.advance(times[k : k + 7]) for k in range(0, 40, 7)]
    np.testing.assert_array_equal(np.concatenate([p.q[0] for p in parts]), whole.q[0])
    np.testing.assert_array_equal(np.concatenate([p.v[0] for p in parts]), whole.v[0])
    assert divided.saved(0) == worlds.saved(0)


def test_a_call_that_runs_out_of_attempts_goes_on_where_it_stopped():
    model, times = pendulums(2), [0.1, 0.3, 0.5]
    worlds = AdaptiveWorlds(model, [0, 0], [0, 0])
    whole, divided = worlds.advance(times), AdaptiveWorlds(model, [0, 0], [0, 0])
    rows, left = [], list(times)
    while left:
        made = divided.advance(left, attempts=5)
        assert made.stops[0] is (Stop.UNFINISHED if made.reached[0] < len(left) else Stop.REACHED)
        rows += list(made.q[0, : made.reached[0]])
        left = left[made.reached[0] :]
    np.testing.assert_array_equal(np.array(rows), whole.q[0])
    assert divided.saved(0) == worlds.saved(0)


def test_a_world_that_was_saved_within_a_step_goes_on_to_the_bit():
    """Outputs lie within steps."""
    model, times = pendulums(2), np.linspace(0.01, 0.4, 40)
    worlds, other = (AdaptiveWorlds(model, [0.3, 0], [0, 1], 1e-5) for _ in range(2))
    worlds.advance(times[:13])
    other.engine.load(worlds.saved(0), np.zeros(1, np.int32))
    np.testing.assert_array_equal(worlds.advance(times[13:]).q, other.advance(times[13:]).q)


def test_a_batch_of_runs_gives_the_bits_of_each_run_alone(rng, isa):
    """Every world with steps of its own; one of them has none that is short enough."""
    machine = Machine(rng, mimic=False)
    model = machine.model
    q = np.array([model.random_configuration(rng) for _ in range(11)])
    v = rng.normal(size=(11, model.nv)) * rng.uniform(0.1, 2, (11, 1))
    v[4] = 1e200
    times = [0.02, 0.05]
    worlds = AdaptiveWorlds(model, q, v, 1e-6, machine.actuation)
    batch = worlds.advance(times, threads=2)
    assert worlds.status == [Status.UNDERFLOW if k == 4 else Status.RUNNING for k in range(11)]
    for k in range(11):
        single = AdaptiveWorlds(model, q[k], v[k], 1e-6, machine.actuation)
        alone = single.advance(times)
        assert single.saved(0) == worlds.saved(k)
        if k != 4:
            np.testing.assert_array_equal(batch.q[k], alone.q[0])
            np.testing.assert_array_equal(batch.v[k], alone.v[0])


def test_each_coordinate_may_have_a_tolerance_of_its_own():
    counts = []
    for tolerance in ([1e-10, 1e-10], [1e-10, 1e-2], [1e-2, 1e-2]):
        worlds = AdaptiveWorlds(pendulums(2), [0, 0], [0, 0], tolerance)
        worlds.advance([1.0])
        counts.append(worlds.accepted[0])
    assert counts[0] > counts[1] > counts[2]


def test_a_free_fall_is_followed_in_few_steps_and_exactly():
    model = compile_model(one_body("free", theta_from_com(2.0, np.zeros(3), np.eye(3))))
    worlds = AdaptiveWorlds(model, model.neutral(), np.zeros(6), 1e-9)
    rows = worlds.advance([1.0, 2.0])
    assert worlds.accepted[0] < 25
    np.testing.assert_allclose(rows.q[0, :, 2], [-9.81 / 2, -2 * 9.81], rtol=1e-12)
    np.testing.assert_allclose(rows.v[0, :, 2], [-9.81, -2 * 9.81], rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tolerance": [1e-6, 0.0]}, "rtol must be positive, got 0.000000"),
        ({"longest": 0.0}, "step must be positive [s], got 0.000000"),
    ],
)
def test_senseless_settings_are_rejected(changes, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the text is asserted below
        AdaptiveWorlds(pendulums(2), [0, 0], [0, 0], **changes)
    assert str(caught.value) == message
