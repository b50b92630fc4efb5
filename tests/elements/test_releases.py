"""Events that release forces and actuators. Oracle: closed forms before and after the event."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import pysim
from pysim.controllers import CallbackController, controller, signal
from pysim.errors import SceneError
from pysim.events import Event, event
from tests.elements.blocks import mass, scene_of, simulation, table


def spring(kind="path_spring", name="spring"):
    if kind == "spring":
        ends = {"b": "mass", "at_a": [-1.0, 0.0, 0.0]}
        return table("force", name=name, type=kind, **ends, stiffness=50.0, length=1.2)
    path = [{"body": "world", "point": [-1.0, 0.0, 0.0]}, {"body": "mass"}]
    return table("force", name=name, type=kind, path=path, stiffness=50.0, rest_length=1.2)


def release(at=0.15, names=("spring",), **keys):
    given = {"joint": "x", "at": at, "direction": "rising", "release": list(names)}
    return table("event", name="release", **(given | keys))


def wanted(t):
    """Return place and speed of a mass of 2 kg that a spring at 0.2 m pulls until it passes 0.15 m."""
    w = 5.0
    end = np.arccos(0.05 / 0.2) / w
    x, v = 0.2 - 0.2 * np.cos(w * t), 0.2 * w * np.sin(w * t)
    free = t > end
    speed = 0.2 * w * np.sin(w * end)
    return end, np.where(free, 0.15 + speed * (t - end), x), np.where(free, speed, v)


@pytest.mark.parametrize("kind", ["path_spring", "spring"])
def test_a_released_spring_acts_until_the_event(tmp_path, kind):
    text = mass(2.0) + spring(kind) + release()
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=1.0, interval=0.05)))
    end, x, v = wanted(run.t)
    assert_allclose(run.events.t, [end], rtol=1e-10)
    assert_allclose(run.q[:, 0], x, atol=1e-10)
    assert_allclose(run.v[:, 0], v, atol=1e-10)


def test_a_released_actuator_acts_until_the_event(tmp_path):
    text = mass(2.0) + table("signal", name="push", type="constant", value=3.0, unit="N")
    text += table("actuator", name="motor", type="force", joint="x", command="push")
    text += release(0.75, ["motor"])
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=2.0)))
    x = np.where(run.t > 1, 0.75 + 1.5 * (run.t - 1), 0.75 * run.t**2)
    assert_allclose(run.q[:, 0], x, atol=1e-9)
    assert_allclose(run.events.t, [1.0], rtol=1e-10)


def test_every_world_releases_at_its_own_event(tmp_path):
    text = mass(2.0) + spring() + release()
    scene = scene_of(tmp_path, text + simulation(duration=1.0, interval=0.05))
    q0 = np.array([[0.0], [-0.1], [0.3]])
    run = pysim.rollout(scene, q0, 0 * q0, threads=2)
    assert_allclose(run.q[0, :, 0], wanted(run.t)[1], atol=1e-10)
    late = run.t > 0.8
    assert_allclose(np.diff(run.v[1][late], axis=0), 0, atol=1e-12)
    assert [len(events.t) for events in run.events] == [1, 1, 0 if len(run.events[2].t) == 0 else 1]


def test_signals_and_sampled_blocks_go_on_after_a_release(tmp_path):
    text = mass(2.0) + spring() + release()
    text += table(
        "sensor", name="seen", type="noisy", inputs=["place.q"], deviation=0.0, period=0.05
    )
    text += table("signal", name="time", type="table", t=[0.0, 1.0], values=[0.0, 1.0])
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=1.0, interval=0.05)))
    assert_allclose(run.q[:, 0], wanted(run.t)[1], atol=1e-10)
    assert_allclose(run.signals["seen"], run.q[:, 0], atol=1e-14)
    assert_allclose(run.signals["time"], run.t, atol=1e-14)


ERRORS = [
    (
        mass(2.0) + spring() + release(names=["sprng"]),
        "event[0].release[0]: unknown force or actuator 'sprng'; did you mean 'spring'?",
    ),
]


@pytest.mark.parametrize(("text", "problem"), ERRORS)
def test_wrong_names_are_reported(tmp_path, text, problem):
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text + simulation())
    assert str(caught.value).endswith(problem)


FIXED = {  # accuracy with steps of 1 ms
    "semi_implicit": 1e-3,
    "rk2": 2e-6,
    "rk4": 1e-9,
    "variational": 1e-6,
    "implicit_midpoint": 1e-5,
    "generalized_alpha": 1e-5,
    "convex": 1e-3,
}


def under(scheme, tmp_path, text="", **keys):
    text = mass(2.0) + spring() + release(**keys) + text
    return scene_of(tmp_path, text + simulation(scheme, duration=1.0, step=1e-3, interval=0.05))


@pytest.mark.parametrize("scheme", FIXED)
def test_steps_of_fixed_size_end_at_the_event(tmp_path, scheme):
    run = pysim.simulate(under(scheme, tmp_path))
    end, x, v = wanted(run.t)
    assert run.events.names == ("release",)
    assert_allclose(run.events.t, [end], atol=FIXED[scheme])
    assert_allclose(run.events.q[0], [0.15], atol=1e-14)
    assert_allclose(run.q[:, 0], x, atol=2 * FIXED[scheme])
    assert_allclose(run.v[:, 0], v, atol=5 * FIXED[scheme])
    free = run.t > end
    assert_allclose(run.v[free, 0], run.v[-1, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("scheme", ["rk4", "implicit_midpoint", "convex"])
def test_a_run_of_fixed_step_stops_at_an_event(tmp_path, scheme):
    run = pysim.simulate(under(scheme, tmp_path, stop=True))
    assert_allclose(run.q[-1], [0.15], atol=1e-14)
    assert run.t[-1] == run.events.t[0]


def test_worlds_of_fixed_step_release_as_a_run_does(tmp_path):
    scene = under("rk4", tmp_path)
    q0 = np.array([[0.0], [-0.1]])
    rows = pysim.rollout(scene, q0, 0 * q0, threads=2)
    run = pysim.simulate(scene)
    np.testing.assert_array_equal(rows.q[0], run.q)
    assert [len(events.t) for events in rows.events] == [1, 1]
    assert rows.events[0].t[0] == run.events.t[0]


@pytest.mark.parametrize("scheme", ["rk4", "generalized_alpha", "convex"])
def test_sampled_blocks_go_on_after_a_release_between_steps(tmp_path, scheme):
    text = table(
        "sensor", name="seen", type="noisy", inputs=["place.q"], deviation=0.0, period=0.05
    )
    run = pysim.simulate(under(scheme, tmp_path, text))
    assert_allclose(run.signals["seen"], run.q[:, 0], atol=1e-14)


def test_controllers_in_python_are_called_once_an_instant_beside_events(tmp_path):
    calls = []

    @controller("test_counting")
    class Counting(CallbackController):
        """Force of 0 that counts its calls."""

        inputs = signal("x", unit="m")
        outputs = signal("u", unit="N")

        def output(self, t, inputs):
            calls.append(t)
            return 0 * inputs.x

    text = table("controller", name="count", type="test_counting", inputs=["place.q"], period=0.05)
    pysim.simulate(under("rk4", tmp_path, text))
    assert_allclose(calls, 0.05 * np.arange(21), atol=1e-12)


@pytest.mark.parametrize("scheme", ["rk4", "generalized_alpha"])
def test_a_plane_and_an_event_of_a_plugin_release_at_the_same_place(tmp_path, scheme):
    @event("test_at_place")
    class AtPlace(Event):
        """The mass is at x = 0.15 m."""

        def value(self, q, v):
            return q.x - 0.15

    first = pysim.simulate(under(scheme, tmp_path)).q
    for own in (
        'type = "test_at_place"',
        'body = "mass"\nplane = { normal = [2, 0, 0], offset = 0.15 }',
    ):
        text = mass(2.0) + spring()
        text += f'[[event]]\nname = "release"\nrelease = ["spring"]\n{own}\n'
        text += simulation(scheme, duration=1.0, step=1e-3, interval=0.05)
        scene = scene_of(tmp_path, text)
        assert_allclose(pysim.simulate(scene).q, first, atol=1e-13)
