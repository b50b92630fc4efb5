"""Controllers that are called in Python, and inputs of a scene.

Oracles: the same controllers as programs of the engine, bit for bit; closed forms; runs that are cut in pieces.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import pysim
from pysim.controllers import CallbackController, Controller, controller, signal
from pysim.errors import JointError, SceneError, SimulationError
from tests.elements.blocks import FIXED, disc, scene_of, simulation, table

PERIOD = 0.02
CALLS: list[tuple[float, tuple[int, ...]]] = []
STARTS: list[int] = []


@controller("sampled_in_the_engine")
class InTheEngine(Controller):
    """Proportional-derivative control as a program."""

    inputs = signal("q", unit="rad") * signal("v", unit="rad/s")
    outputs = signal("torque", unit="N·m")

    def output(self, inputs):
        return -2.0 * inputs.q


@controller("sampled_in_python")
class InPython(CallbackController):
    """The same in Python."""

    inputs = signal("q", unit="rad") * signal("v", unit="rad/s")
    outputs = signal("torque", unit="N·m")

    def begin(self, worlds):
        STARTS.append(worlds)

    def output(self, t, inputs):
        CALLS.append((t, inputs.q.shape))
        return -2.0 * inputs.q


@controller("several_outputs")
class SeveralOutputs(CallbackController):
    """Two outputs, one of them a list, from a list and a number."""

    inputs = signal("list", unit="", size="n") * signal("number", unit="")
    outputs = signal("twice", unit="", size="n") * signal("sum", unit="")

    def output(self, inputs):
        return 2 * inputs.list, inputs.list.sum(axis=1) + inputs.number[:, 0]


def scene(tmp_path, kind, scheme, **keys):
    text = disc(q=0.5, v=-0.2)
    text += table("controller", name="pd", type=kind, inputs=["angle.q", "angle.v"], period=PERIOD)
    text += table("actuator", name="motor", type="force", joint="hinge", command="pd")
    run = {"duration": 0.5, "interval": 0.05} | keys
    return scene_of(tmp_path, text + simulation(scheme, **run))


@pytest.mark.parametrize("scheme", [*FIXED, "dopri5", "convex"])
def test_a_controller_in_python_acts_as_the_same_in_the_engine(tmp_path, scheme):
    CALLS.clear()
    inside = pysim.simulate(scene(tmp_path, "sampled_in_the_engine", scheme))
    outside = pysim.simulate(scene(tmp_path, "sampled_in_python", scheme))
    assert_array_equal(outside.q, inside.q)
    assert_array_equal(outside.v, inside.v)
    assert_array_equal(outside.signals["pd"], inside.signals["pd"])
    assert_allclose([t for t, _ in CALLS], PERIOD * np.arange(len(CALLS)), rtol=1e-15)
    assert len(CALLS) == round(0.5 / PERIOD) + 1


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4", "generalized_alpha", "dopri5"])
def test_a_controller_in_python_receives_the_whole_batch(tmp_path, scheme):
    CALLS.clear()
    STARTS.clear()
    q0 = np.linspace(-1, 1, 11)[:, None]
    runs = [
        pysim.rollout(scene(tmp_path, kind, scheme), q0, 0 * q0, signals=("pd",), threads=2)
        for kind in ("sampled_in_the_engine", "sampled_in_python")
    ]
    assert_array_equal(runs[0].q, runs[1].q)
    assert_array_equal(runs[0].signals["pd"], runs[1].signals["pd"])
    assert STARTS == [11]
    assert {shape for _, shape in CALLS} == {(11, 1)}
    assert len(CALLS) == round(0.5 / PERIOD) + 1


def test_inputs_and_outputs_are_arrays_of_their_sizes(tmp_path):
    text = disc() + table("signal", name="list", type="constant", value=[1.0, 2.0, 3.0])
    text += table("signal", name="number", type="constant", value=10.0)
    text += table(
        "controller", name="both", type="several_outputs", inputs=["list", "number"], period=0.1
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=0.2)))
    assert_array_equal(run.signals["both.twice"], np.tile([2.0, 4.0, 6.0], (3, 1)))
    assert_array_equal(run.signals["both.sum"], [16.0] * 3)


def test_blocks_that_read_a_controller_in_python_run_after_it(tmp_path):
    text = disc(q=0.5) + table(
        "sensor", name="after", type="noisy", inputs=["pd"], deviation=0.0, period=PERIOD
    )
    text += table(
        "controller",
        name="pd",
        type="sampled_in_python",
        inputs=["angle.q", "angle.v"],
        period=PERIOD,
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=0.1, interval=0.02)))
    assert_array_equal(run.signals["after"], run.signals["pd"])
    assert (run.signals["pd"] == -1.0).all()


@controller("of_a_wrong_shape")
class OfAWrongShape(CallbackController):
    """Returns too many numbers."""

    inputs = signal("q", unit="rad")
    outputs = signal("torque", unit="N·m")

    def output(self, inputs):
        return np.zeros((len(inputs.q), 3))


@controller("that_raises")
class ThatRaises(CallbackController):
    """Divides by zero."""

    inputs = signal("q", unit="rad")
    outputs = signal("torque", unit="N·m")

    def output(self, inputs):
        return 1 / 0


ERRORS = [
    (
        "of_a_wrong_shape",
        "OfAWrongShape.output: must return an array (1, 1) for 'torque', got (1, 3); give a row for each world",
    ),
    (
        "that_raises",
        "ZeroDivisionError: division by zero, in `return 1 / 0`; fix ThatRaises.output",
    ),
]


@pytest.mark.parametrize(("kind", "problem"), ERRORS)
def test_errors_of_a_controller_in_python_name_its_line(tmp_path, kind, problem):
    text = disc() + table("controller", name="c", type=kind, inputs=["angle.q"], period=0.1)
    with pytest.raises(JointError) as caught:
        pysim.simulate(scene_of(tmp_path, text + simulation("rk4")))
    assert __file__ in str(caught.value)
    assert problem in str(caught.value)


def test_a_controller_in_python_needs_a_period(tmp_path):
    text = disc() + table("controller", name="c", type="that_raises", inputs=["angle.q"])
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text + simulation("rk4"))
    wanted = (
        "controller 'c': is called in Python, which is possible at instants; give it a period [s]"
    )
    assert str(caught.value).endswith(wanted)


# ---------------------------------------------------------------------------------- inputs


def driven(tmp_path, scheme="rk4", **keys):
    text = disc(inertia=0.5) + table("signal", name="push", type="input", unit="N·m", value=0.25)
    text += table("signal", name="others", type="input", size=2, value=[1.0, 2.0])
    text += table("actuator", name="motor", type="force", joint="hinge", command="push")
    run = {"duration": 1.0, "interval": 0.1, "step": 0.02} | keys
    if scheme == "dopri5":
        del run["step"]
    return scene_of(tmp_path, text + simulation(scheme, **run))


def test_inputs_have_their_value_without_controls(tmp_path):
    run = pysim.simulate(driven(tmp_path))
    assert_allclose(run.v[:, 0], 0.5 * run.t, rtol=1e-12)
    assert_array_equal(run.signals["push"], np.full(11, 0.25))
    assert_array_equal(run.signals["others"], np.tile([1.0, 2.0], (11, 1)))


@pytest.mark.parametrize("scheme", [*FIXED, "dopri5", "convex"])
def test_controls_are_held_from_row_to_row_in_every_world(tmp_path, scheme):
    rng = np.random.default_rng(3)
    controls = rng.normal(size=(5, 10, 3))
    zero = np.zeros((5, 1))
    names = ("push", "others")
    run = pysim.rollout(driven(tmp_path, scheme), zero, zero, controls, signals=names)
    v = np.cumsum(controls[..., 0] * 0.1 / 0.5, axis=1)  # constant acceleration between rows
    assert_allclose(run.v[:, 1:, 0], v, rtol=1e-9, atol=1e-12)
    after = np.concatenate(
        [controls, controls[:, -1:]], axis=1
    )  # at a row, the value from there on
    assert_array_equal(run.signals["push"], after[..., 0])
    assert_array_equal(run.signals["others"], after[..., 1:])
    one = pysim.rollout(driven(tmp_path, scheme), zero[2], zero[2], controls[2])
    assert_array_equal(one.v, run.v[2])


@pytest.mark.parametrize("name", ["u", "u.value"])
@pytest.mark.parametrize("scheme", ["rk4", "dopri5"])
def test_sampled_blocks_read_the_input_from_the_instant_on(tmp_path, scheme, name):
    text = disc() + table("signal", name="u", type="input", unit="rad")
    text += table("sensor", name="seen", type="noisy", inputs=[name], deviation=0.0, period=0.1)
    run = simulation(scheme, duration=0.5, interval=0.1)
    controls = np.arange(1.0, 6.0)[:, None]
    found = pysim.rollout(scene_of(tmp_path, text + run), controls=controls, signals=("seen",))
    assert_array_equal(found.signals["seen"], [1, 2, 3, 4, 5, 5])


def test_a_rollout_with_controls_continues(tmp_path):
    scene_ = driven(tmp_path, "generalized_alpha")
    rng = np.random.default_rng(4)
    controls, zero = rng.normal(size=(3, 20, 3)), np.zeros((3, 1))
    whole = pysim.rollout(scene_, zero, zero, controls, steps=20)
    first = pysim.rollout(scene_, zero, zero, controls[:, :8], steps=8)
    second = pysim.rollout(
        scene_, first.q[:, -1], first.v[:, -1], controls[:, 8:], steps=12, state=first.state
    )
    assert_allclose(second.v[:, -1], whole.v[:, -1], rtol=1e-13)


def test_a_rollout_of_adapted_steps_with_controls_continues(tmp_path):
    """The second half of a run of 2 s, whose steps begin anew."""
    rng = np.random.default_rng(4)
    controls = rng.normal(size=(20, 3))
    zero = np.zeros(1)
    whole = pysim.rollout(driven(tmp_path, "dopri5", duration=2.0), zero, zero, controls)
    half = driven(tmp_path, "dopri5")
    first = pysim.rollout(half, zero, zero, controls[:10])
    second = pysim.rollout(half, first.q[-1], first.v[-1], controls[10:], state=first.state)
    assert_allclose(second.t, whole.t[10:], rtol=1e-12)
    assert_allclose(second.v[-1], whole.v[-1], rtol=1e-9)


def test_a_continued_run_of_adapted_steps_keeps_what_a_sampled_controller_holds(tmp_path):
    text = disc(damping=1.0, q=0.5, v=-0.2)
    inputs = ["angle.q", "angle.v"]
    text += table("controller", name="pd", type="sampled_in_the_engine", inputs=inputs, period=0.03)
    text += table("actuator", name="motor", type="force", joint="hinge", command="pd")
    scenes = [
        scene_of(tmp_path, text + simulation("dopri5", duration=end, interval=0.1))
        for end in (0.5, 1.0)
    ]
    half, whole = (pysim.rollout(one) for one in scenes)
    rest = pysim.rollout(scenes[0], half.q[-1], half.v[-1], state=half.state)
    assert_allclose(rest.q[-1], whole.q[-1], rtol=1e-9)


def test_an_event_that_stops_ends_a_world_with_controls(tmp_path):
    """q = ½ (τ / I) t² passes 0.2 rad at t = √0.2 s under 1 N·m on 0.5 kg·m²."""
    text = disc(inertia=0.5) + table("signal", name="push", type="input", unit="N·m")
    text += table("actuator", name="motor", type="force", joint="hinge", command="push")
    text += table("event", name="there", joint="hinge", at=0.2, stop=True)
    stopped = scene_of(tmp_path, text + simulation("dopri5", interval=0.1))
    run = pysim.rollout(stopped, controls=np.ones((10, 1)), signals=("push",))
    (events,) = run.events
    assert_allclose(events.t, [np.sqrt(0.2)], rtol=1e-9)
    assert np.isfinite(run.q[:5]).all()
    assert np.isnan(run.q[5:]).all()


def test_wrong_controls_are_rejected(tmp_path):
    scene_, zero = driven(tmp_path), np.zeros((5, 1))
    with pytest.raises(
        ValueError, match=r"controls must have shape \(5, 10, 3\) or \(10, 3\), got \(10, 2\)"
    ):
        pysim.rollout(scene_, zero, zero, np.zeros((10, 2)))
    with pytest.raises(ValueError, match="controls must be finite, got nan or inf"):
        pysim.rollout(scene_, zero, zero, np.full((10, 3), np.nan))
    without = scene_of(tmp_path, disc() + simulation("rk4"))
    with pytest.raises(SimulationError, match="controls: are values of a scene's inputs"):
        pysim.rollout(without, zero, zero, np.zeros((10, 2)))
    text = disc() + table("signal", name="u", type="input", size=2, value=[1.0, 2.0, 3.0])
    with pytest.raises(SceneError, match="value: has 3 numbers, and size is 2; give as many"):
        scene_of(tmp_path, text + simulation("rk4"))
