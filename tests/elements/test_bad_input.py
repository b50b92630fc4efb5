"""Faulty scenes with elements. Oracle: the texts of the errors, and the worlds beside a faulty one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pysim
from pysim.actuators import Actuator, actuator
from pysim.controllers import Controller, controller, signal
from pysim.errors import PysimWarning, SceneError, SimulationError
from pysim.forces import Force, force
from tests.elements.blocks import constant, disc, scene_of, simulation, table

LOOP = table("controller", name="a", type="passes_on", inputs=["b"]) + table(
    "controller", name="b", type="passes_on", inputs=["a"]
)

IN_DEGREES = table(
    "controller", name="degrees", type="gain", inputs=["target"], gain=57.29577951308232, unit="deg"
)
IN_RADIANS = (
    'connect a signal in [rad]: a controller of type "gain" that reads it, with gain = 0.017453292519943295, '
    'unit = "rad"'
)


@controller("passes_on")
class PassesOn(Controller):
    """Its input."""

    inputs = signal("x", unit="")
    outputs = signal("y", unit="")

    def output(self, inputs):
        return inputs.x


@controller("root_of_the_angle")
class RootOfTheAngle(Controller):
    """Torque that is a square root, NaN at negative angles."""

    inputs = signal("q", unit="rad")
    outputs = signal("torque", unit="N·m")

    def output(self, inputs):
        return np.sqrt(inputs.q)


@force("root_force")
class RootForce(Force):
    """Force that is a square root."""

    def force(self, q):
        return [np.sqrt(q[0])]


def pd(**keys):
    given = {"type": "pd", "inputs": ["target", "angle.q", "angle.v"], "kp": 2.0}
    return table("controller", name="pd", **(given | keys))


def target(unit="rad"):
    return table("signal", name="target", type="constant", value=0.1, unit=unit)


def motor(command="pd"):
    return table("actuator", name="motor", type="force", joint="hinge", command=command)


ERRORS = [
    (
        table("controller", name="c", type="root_of_the_angle", inputs=["angle.v"]),
        "controller 'c': the input 'q' is in [rad], but 'angle.v' is in [rad/s]; connect a signal in [rad]",
    ),
    (
        target() + pd(inputs=["targt", "angle.q", "angle.v"]),
        "controller 'pd': unknown signal 'targt'; did you mean 'target'?",
    ),
    (
        target() + pd(inputs=["target", "angle", "angle.v"]),
        "controller 'pd': 'angle' has several outputs; write one of angle.q, angle.v",
    ),
    (
        target() + pd(inputs=["target", "angle.a", "angle.v"]),
        "controller 'pd': 'angle' has no output 'a'; write one of angle.q, angle.v",
    ),
    (
        target() + pd(inputs=["target"]),
        "controller 'pd': has the inputs reference, q, v, got 1 signal; name one signal for each",
    ),
    (
        target() + pd(inputs=["target[1]", "angle.q", "angle.v"]),
        "controller 'pd': 'target[1]' does not exist; the last index of the signal is 0",
    ),
    (
        target() + IN_DEGREES + pd(inputs=["degrees", "angle.q", "angle.v"]),
        (
            "controller 'pd': the input 'reference' must be in [rad], but its signal is in [deg]; "
            f"{IN_RADIANS}"
        ),
    ),
    (
        target() + pd(inputs=["target", "angle.q", "angle.q"]),
        "controller 'pd': the input 'v' must be in [rad/s], but its signal is in [rad]; connect a signal in [rad/s]",
    ),
    (
        target("N") + motor("target"),
        "actuator 'motor': the input 'command' must be in [N·m], but its signal is in [N]; connect a signal in [N·m]",
    ),
    (
        target()
        + IN_DEGREES
        + table(
            "actuator",
            name="servo",
            type="position_servo",
            joint="hinge",
            command="degrees",
            kp=1.0,
        ),
        f"actuator 'servo': the input 'command' must be in [rad], but its signal is in [deg]; {IN_RADIANS}",
    ),
    (
        LOOP,
        (
            "algebraic loop a → b → a: each signal depends on itself at the same instant; "
            "give one controller in it a period [s] or a state"
        ),
    ),
    (
        table("sensor", name="tilt", type="pose"),
        "sensor 'tilt': has no frame, but its pose is read; give frame",
    ),
    (
        table("sensor", name="imu", type="imu", frame="disc")
        + table("controller", name="y", type="passes_on", inputs=["imu.acceleration[1]"])
        + motor("y"),
        (
            "the forces depend on 'imu', which measures accelerations or wrenches, and these on the forces; "
            "give the controller between them a period [s]"
        ),
    ),
]


@pytest.mark.parametrize(("text", "problem"), ERRORS)
def test_a_faulty_graph_is_reported(tmp_path, text, problem):
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, disc() + text + simulation())
    assert str(caught.value).endswith(problem)


CSV = [
    (
        "t,h\n0,1\n1,\n2,3\n",
        "3: column 'h' must hold a number, it is empty; fill it or remove the line",
    ),
    (
        "t,h\n0,1\n1,x\n2,3\n",
        "3: column 'h' must hold a number, got 'x'; fill it or remove the line",
    ),
    (
        "t,h\n0,1\n1\n2,3\n",
        "3: column 'h' must hold a number, it is empty; fill it or remove the line",
    ),
    ("t,hh\n0,1\n1,2\n", "1: has no column 'h'; did you mean 'hh'?"),
    ("", "1: is empty; write the names of the columns in the first line"),
    (
        "t;h\n0;1\n1;2\n",
        "1: separates columns by semicolons, 't;h'; write commas, and decimal points",
    ),
]


@pytest.mark.parametrize(("text", "problem"), CSV)
def test_a_hole_in_a_file_is_reported_with_its_line(tmp_path, text, problem):
    (tmp_path / "data.csv").write_text(text, "utf-8")
    scene = disc() + table("signal", name="h", type="table", file="data.csv", column="h")
    with pytest.raises(pysim.errors.PysimError) as caught:
        scene_of(tmp_path, scene + simulation(duration=1.0))
    assert f"data.csv:{problem} (" in str(caught.value)
    assert "signal 'h')" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"t,h\n0,1\n1,\xff\n", "is not UTF-8 text at byte 10; save it as UTF-8"),
        (
            b't,h\n0,"' + b"1" * 140_000 + b'"\n',
            (
                "is not a table of comma-separated values, field larger than field limit (131072); "
                "export it again"
            ),
        ),
    ],
)
def test_a_file_that_is_not_a_table_is_reported(tmp_path, data, problem):
    (tmp_path / "data.csv").write_bytes(data)
    scene = disc() + table("signal", name="h", type="table", file="data.csv", column="h")
    with pytest.raises(pysim.errors.PysimError) as caught:
        scene_of(tmp_path, scene + simulation(duration=1.0))
    assert f"data.csv: {problem} (" in str(caught.value)


@actuator("root_actuator")
class RootActuator(Actuator):
    """A force that exists at positive angles."""

    inputs = signal("command", unit="")

    def force(self, command, q):
        return command + np.sqrt(q)


BROKEN = {
    "actuator": (
        constant("target", 0.0, "N·m")
        + table("actuator", name="m", type="root_actuator", joint="hinge", command="target"),
        "actuator 'm' is NaN or infinite at t = ",
        "RootActuator.force",
    ),
    "released force": (
        table("force", name="f", type="root_force", coordinates=["hinge"])
        + table("event", name="e", joint="hinge", at=-9.0, release=["f"]),
        "force 'f' is NaN or infinite at t = ",
        "RootForce.force",
    ),
    "controller": (
        table("controller", name="c", type="root_of_the_angle", inputs=["angle.q"]) + motor("c"),
        "controller 'c' is NaN or infinite at t = ",
        "RootOfTheAngle.output",
    ),
    "force": (
        table("force", name="f", type="root_force", coordinates=["hinge"]),
        "force 'f' is NaN or infinite at t = ",
        "RootForce.force",
    ),
}


@pytest.mark.parametrize("scheme", ["rk4", "semi_implicit", "dopri5"])
@pytest.mark.parametrize("kind", BROKEN)
def test_an_element_whose_value_is_nan_is_named_with_time_and_line(tmp_path, kind, scheme):
    text, what, method = BROKEN[kind]
    scene = scene_of(tmp_path, disc(q=0.05, v=-1.0) + text + simulation(scheme, duration=1.0))
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(scene)
    message = str(caught.value)
    assert what in message
    assert f"{__file__}:" in message
    assert message.endswith(method)
    time = float(message.split("t = ")[1].split(" s", maxsplit=1)[0])
    assert 0.045 < time < 0.06  # the angle passes 0


@pytest.mark.parametrize("scheme", ["rk4", "generalized_alpha", "dopri5"])
@pytest.mark.parametrize("kind", [*BROKEN, "sampled controller"])
def test_an_element_whose_value_is_nan_in_one_world_is_named(tmp_path, kind, scheme):
    sampled = BROKEN["controller"][0].replace("[[actuator]]", "period = 0.01\n[[actuator]]")
    text, what, method = BROKEN.get(kind, (sampled, *BROKEN["controller"][1:]))
    scene = scene_of(tmp_path, disc() + text + simulation(scheme, duration=0.5))
    q0, v0 = np.array([[0.3], [0.05], [0.4]]), np.array([[0.1], [-1.0], [0.2]])
    with pytest.warns(PysimWarning, match="1 of 3 worlds ended early, world 1: ") as caught:
        run = pysim.rollout(scene, q0, v0)
    assert run.failures[::2] == ("", "")
    assert what in run.failures[1]
    assert run.failures[1].endswith(method)
    assert run.failures[1] in str(caught[0].message)


def test_a_sampled_controller_whose_value_is_nan_is_named(tmp_path):
    text = BROKEN["controller"][0].replace("[[actuator]]", "period = 0.02\n[[actuator]]")
    scene = scene_of(tmp_path, disc(q=0.05, v=-1.0) + text + simulation("rk4", duration=1.0))
    with pytest.raises(SimulationError, match=r"controller 'c' is NaN or infinite at t = 0\.06 s"):
        pysim.simulate(scene)


@pytest.mark.parametrize("scheme", ["rk4", "dopri5"])
def test_worlds_beside_one_that_fails_go_on(tmp_path, scheme):
    text = disc() + BROKEN["controller"][0] + simulation(scheme, duration=0.5)
    scene = scene_of(tmp_path, text)
    q0, v0 = np.array([[0.3], [0.05], [0.4]]), np.array([[0.1], [-1.0], [0.2]])
    with pytest.warns(PysimWarning, match="1 of 3 worlds|world 1"):
        run = pysim.rollout(scene, q0, v0)
    assert [bool(text) for text in run.failures] == [False, True, False]
    assert np.isnan(run.q[1, -1]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = pysim.rollout(scene, q0[[0, 2]], v0[[0, 2]])
    assert_array_equal(run.q[[0, 2]], alone.q)
