"""Signals in place of numbers of elements, `{ signal = "NAME" }`. Oracles: scenes with numbers, closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli.app import answer
from pysim.errors import PysimError
from pysim.forces import Force, Signal, Wrench, force
from tests.elements.blocks import constant, disc, motor, scene_of, simulation, table

SPEED = Signal["rad/s"]
PATH = [{"body": "world", "point": [0.2, 0.6, 0.1]}, {"body": "disc", "point": [0.3, 0.0, 0.0]}]


@force("test_lift")
class Lift(Force):
    """Thrust along z of frame b, quadratic in a signal."""

    thrust: float  # [N/(rad/s)²]
    speed: SPEED  # type: ignore[valid-type]

    def wrench(self):
        return Wrench(force=(0, 0, self.thrust * self.speed**2))


def spring(stiffness, **keys):
    return table(
        "force",
        name="rope",
        type="path_spring",
        path=PATH,
        rest_length=0.5,
        stiffness=stiffness,
        **keys,
    )


def ran(folder, text, scheme="rk4", **keys):
    return pysim.simulate(scene_of(folder, text + simulation(scheme, duration=0.5, **keys)))


def gains(kp, kd):
    return (
        disc(0.1, v=1.0)
        + table(
            "controller",
            name="pd",
            type="pd",
            inputs=["target", "angle.q", "angle.v"],
            kp=kp,
            kd=kd,
        )
        + constant("target", 0.5, "rad")
        + motor("pd")
    )


@pytest.mark.parametrize("scheme", ["rk4", "semi_implicit", "dopri5", "generalized_alpha"])
def test_a_constant_signal_equals_the_number(tmp_path, scheme):
    springs = [
        disc(0.1) + spring(30.0),
        disc(0.1) + constant("k", 30.0, "N/m") + spring({"signal": "k"}),
    ]
    whole = gains(8.0, 0.3)
    parts = gains({"signal": "kp"}, {"signal": "kd"}) + constant("kp", 8.0) + constant("kd", 0.3)
    for with_numbers, with_signals in (springs, (whole, parts)):
        expected, run = ran(tmp_path, with_numbers, scheme), ran(tmp_path, with_signals, scheme)
        np.testing.assert_allclose(run.q, expected.q, rtol=0, atol=1e-9)
        assert np.abs(run.q - run.q[0]).max() > 0.05


def test_a_load_of_three_numbers_follows_a_signal(tmp_path):
    """A force that turns about y in the plane of a free body: its closed form is integrated twice."""
    wave = table(
        "signal", name="load", type="sine", amplitude=[2.0, 0.0, 1.0], frequency=3.0, unit="N"
    )
    push = table("force", name="push", type="constant_force", b="ball", load={"signal": "load"})
    ball = table("body", name="ball", mass=2.0, inertia={"xx": 1.0, "yy": 1.0, "zz": 1.0})
    free = table("joint", name="free", type="free", parent="world", child="ball")
    text = wave + push + ball + free
    scene = scene_of(tmp_path, text + simulation("rk4", duration=0.5))
    model = scene.model.with_gravity([0.0, 0.0, 0.0])
    assert not pysim.passive_forces(model, scene.state.q, scene.state.v).any()  # not of the model
    run = pysim.simulate(scene)
    w, t = 3.0, run.t
    shape = (w * t - np.sin(w * t)) / w**2 / 2.0
    np.testing.assert_allclose(run.q[:, 0], 2.0 * shape, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.q[:, 2], shape - 9.81 * t**2 / 2, rtol=0, atol=1e-9)
    assert run.work is not None
    total = run.kinetic + run.potential
    np.testing.assert_allclose(run.work["push"], total - total[0], rtol=0, atol=1e-9)


def test_a_field_of_type_signal_takes_the_name_bare_or_in_a_table(tmp_path):
    lift = {"type": "test_lift", "name": "lift", "b": "disc", "thrust": 0.5}
    text = disc(0.1) + constant("speed", 2.0, "rad/s")
    bare = ran(tmp_path, text + table("force", **lift, speed="speed"))
    run = ran(tmp_path, text + table("force", **lift, speed={"signal": "speed"}))
    np.testing.assert_array_equal(run.q, bare.q)


def test_rollouts_of_two_gains_equal_their_runs(tmp_path):
    text = disc(0.1) + table("signal", name="k", type="input", value=30.0, unit="N/m")
    scene = scene_of(tmp_path, text + spring({"signal": "k"}) + simulation("rk4", duration=0.5))
    gain = np.array([30.0, 60.0])
    rows = len(pysim.simulate(scene).t) - 1
    controls = np.broadcast_to(gain[:, None, None], (2, rows, 1))
    q0, v0 = np.tile(scene.state.q, (2, 1)), np.tile(scene.state.v, (2, 1))
    many = pysim.rollout(scene, q0, v0, np.ascontiguousarray(controls))
    for k, own in enumerate(gain):
        expected = ran(tmp_path, disc(0.1) + spring(float(own)))
        np.testing.assert_allclose(many.q[k], expected.q, rtol=0, atol=1e-12)


def test_signals_of_an_attached_scene_keep_their_place(tmp_path):
    inner = disc(0.1) + constant("k", 30.0, "N/m") + spring({"signal": "k"})
    expected = ran(tmp_path, inner)
    Path(tmp_path / "inner.toml").write_text('name = "inner"\n' + inner, "utf-8")
    outer = table("model", name="left", file="inner.toml") + simulation("rk4", duration=0.5)
    Path(tmp_path / "outer.toml").write_text('name = "outer"\n' + outer, "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "outer.toml"))
    np.testing.assert_array_equal(run.q, expected.q)


LOOKED_UP = constant("k", 30.0, "N")
VOLTS = constant("volts", 3.0, "V")
DRIVE = {
    "name": "drive",
    "type": "dc_motor",
    "joint": "hinge",
    "command": "volts",
    "resistance": 1.0,
}
ERRORS = [
    (
        LOOKED_UP + spring({"signal": "k"}),
        "force 'rope': stiffness is in [N/m], but 'k' is in [N]; connect a signal in [N/m]",
    ),
    (
        LOOKED_UP + spring({"signal": "kk"}),
        "force 'rope': unknown signal 'kk'; did you mean 'k'?",
    ),
    (spring({"signl": "k"}), "force[0].stiffness: must be float, got {'signl': 'k'}"),
    (
        VOLTS
        + table(
            "actuator", **DRIVE, inductance=1.0, constant=0.1, rotor_inertia={"signal": "volts"}
        ),
        "actuator[0].rotor_inertia: must not be a signal: DCMotor needs it before the scene runs; give a number",
    ),
    (
        table(
            "controller",
            name="c",
            type="low_pass",
            inputs=["angle.q"],
            time_constant={"signal": "angle.q"},
        ),
        "controller[0].time_constant: must not be a signal: LowPass needs it before the scene runs; give a number",
    ),
    (
        table("force", name="lift", type="test_lift", b="disc", thrust=0.5, speed=3.0),
        (
            "force[0].speed: must be the name of a signal in [rad/s] in quotes, got 3.0; "
            "define a [[signal]] of type constant for a number"
        ),
    ),
    (
        table("signal", name="s", type="sine", amplitude={"signal": "angle.q"}, frequency=1.0),
        "signal[0].amplitude: must be float | tuple[float, ...], got {'signal': 'angle.q'}",
    ),
]


@pytest.mark.parametrize(("text", "problem"), ERRORS)
def test_a_signal_that_cannot_be_the_number_is_reported(tmp_path, text, problem):
    with pytest.raises(PysimError) as caught:
        scene_of(tmp_path, disc() + text + simulation())
    assert str(caught.value).endswith(problem)


def test_a_converted_scene_keeps_the_signal(tmp_path):
    text = 'name = "s"\n' + disc(0.1) + constant("k", 30.0, "N/m") + spring({"signal": "k"})
    (tmp_path / "a.toml").write_text(text + simulation(duration=0.1), "utf-8")
    assert answer(["convert", str(tmp_path / "a.toml"), str(tmp_path / "b.toml")]) == 0
    assert 'stiffness = { signal = "k" }' in (tmp_path / "b.toml").read_text("utf-8")
    first, second = (pysim.simulate(pysim.load_scene(tmp_path / f"{x}.toml")) for x in "ab")
    np.testing.assert_allclose(second.q, first.q, rtol=0, atol=1e-13)
