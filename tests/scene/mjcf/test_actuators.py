"""Actuators and sensors of MJCF models. The oracle is MuJoCo: forces, sensor data, and motions of its RK4 steps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import PysimError, PysimWarning
from pysim.scene import read_model
from pysim.scene.convert import convert
from tests.corpus import mujoco_agreement
from tests.corpus.actuator_agreement import Actuated, agreement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str], Path]

ARM = """
<compiler angle="radian"/>
<default><geom contype="0" conaffinity="0"/></default>
<worldbody>
  <site name="hook" pos="0.3 0 2"/>
  <body name="cart" pos="0.1 0.2 1" euler="0.3 -0.2 0.5">
    <joint name="slide" type="slide" axis="1 2 0" ref="0.3"/>
    <joint name="turn" axis="0 1 1" pos="0.1 0 0.2"/>
    <geom type="capsule" fromto="0 0 0 0.3 0.1 0.2" size="0.05"/>
    <site name="on_cart" pos="0.1 0.1 0.1"/>
    <body name="lower" pos="0.3 0.1 0.2">
      <joint name="elbow" axis="1 0 0"/>
      <geom type="box" size="0.1 0.05 0.2" pos="0.1 0 0" euler="0.4 0 0.1"/>
      <site name="tip" pos="0.2 0 0.1" euler="0.2 0.5 -0.3"/>
      <body name="wrist" pos="0 0 0.3">
        <joint name="ball" type="ball"/>
        <geom name="palm" type="ellipsoid" size="0.1 0.2 0.05" pos="0.1 0 0"/>
      </body>
    </body>
  </body>
  <body name="stone" pos="2 0 1" quat="0.5 0.1 0.7 0.2">
    <freejoint name="free"/>
    <geom type="sphere" size="0.1" pos="0.1 0.2 0"/>
    <site name="jet" pos="0.1 0 0.2" euler="0.3 0.1 0"/>
  </body>
</worldbody>
<tendon>
  <fixed name="sum"><joint joint="slide" coef="0.7"/><joint joint="turn" coef="-0.4"/></fixed>
  <spatial name="rope"><site site="hook"/><site site="on_cart"/><site site="tip"/></spatial>
</tendon>
"""
ACTUATORS = {
    "motor": '<motor joint="elbow" gear="30" ctrllimited="true" ctrlrange="-0.4 0.6"/>',
    "slide": '<motor joint="slide" gear="-3" forcelimited="true" forcerange="-0.2 0.3"/>',
    "ball": '<motor joint="ball" gear="0.3 0 -0.5"/>',
    "free": '<motor joint="free" gear="0 0 0 1 2 3"/>',
    "jet": '<motor site="jet" gear="0.1 0.2 3 0 0.4 -0.1" ctrllimited="true" ctrlrange="0 1"/>',
    "fixed tendon": '<motor tendon="sum" gear="5"/>',
    "spatial tendon": '<motor tendon="rope" gear="5"/>',
    "general motor": '<general joint="turn" gainprm="7"/>',
    "general": (
        '<general joint="slide" gear="2" gaintype="affine" gainprm="3 0.5 -0.2" biastype="affine" '
        'biasprm="0.1 -2 -0.3" ctrllimited="true" ctrlrange="-1 0.5" forcelimited="true" forcerange="-6 6"/>'
    ),
    "position": '<position joint="turn" kp="20" kv="3" gear="1.5"/>',
    "position of a tendon": '<position tendon="sum" kp="20" kv="3" gear="2"/>',
    "length of a rope": '<position tendon="rope" kp="20" kv="3" gear="0.5"/>',
    "damping ratio": '<position joint="turn" kp="20" dampratio="0.8" forcelimited="true" forcerange="-9 9"/>',
    "velocity": '<velocity joint="elbow" kv="4"/>',
    "damper": '<damper joint="elbow" kv="4" ctrlrange="0 1"/>',
    "cylinder": '<cylinder joint="slide" timeconst="0.3" area="0.02" bias="0.1 -3 -0.4"/>',
    "filter": '<general joint="turn" dyntype="filter" dynprm="0.2" gainprm="4" biastype="affine" biasprm="0 -4 -1"/>',
    "position through a filter": '<position joint="turn" kp="20" timeconst="0.2"/>',
    "velocity of a servo": '<intvelocity joint="turn" kp="20" kv="2" actrange="-1 1.5"/>',
}
SENSORS = """
<jointpos name="jointpos" joint="slide"/><jointvel name="jointvel" joint="turn"/>
<ballangvel name="ballangvel" joint="ball"/>
<tendonpos name="tendonpos" tendon="sum"/><tendonvel name="tendonvel" tendon="sum"/>
<tendonpos name="ropepos" tendon="rope"/><tendonvel name="ropevel" tendon="rope"/>
<framepos name="framepos" objtype="site" objname="tip"/>
<framequat name="framequat" objtype="xbody" objname="wrist"/>
<framepos name="inertial" objtype="body" objname="lower"/>
<framepos name="geom" objtype="geom" objname="palm"/>
<framepos name="relative" objtype="site" objname="tip" reftype="site" refname="jet"/>
<framelinvel name="framelinvel" objtype="site" objname="tip"/>
<frameangvel name="frameangvel" objtype="xbody" objname="wrist"/>
<framelinvel name="relvel" objtype="site" objname="tip" reftype="xbody" refname="stone"/>
<frameangvel name="relrate" objtype="site" objname="tip" reftype="xbody" refname="stone"/>
<velocimeter name="velocimeter" site="tip"/><gyro name="gyro" site="tip"/>
<accelerometer name="accelerometer" site="tip"/>
"""


def actuated(*names: str) -> str:
    lines = "\n".join(ACTUATORS[name] for name in names)  # each has a place of its own
    return f"{ARM}<actuator>\n{lines}</actuator>"


@pytest.mark.parametrize("name", ACTUATORS)
def test_an_actuator_exerts_the_force_of_mujoco(write: Write, name: str) -> None:
    path = write(actuated(name))
    own = Actuated(path, np.random.default_rng(1))
    assert list(own.read_actuators()) == [0]
    assert not own.scene.spec.model.omitted
    errors = agreement(path)
    assert errors["actuators"] < 1e-12, errors
    own.pair.data.ctrl[:], own.pair.data.act[:] = 0.4, 0.3
    own.pair.random_state(np.random.default_rng(2))
    assert np.abs(own.pair.data.qfrc_actuator).max() > 1e-4


def test_all_actuators_act_together(write: Write) -> None:
    errors = agreement(write(actuated(*ACTUATORS)))
    assert errors["actuators"] < 1e-12, errors


def test_sensors_measure_what_those_of_mujoco_do(write: Write) -> None:
    pulley = '<sensor><actuatorpos name="actuatorpos" actuator="p"/><actuatorvel name="actuatorvel" actuator="p"/>'
    servo = '<actuator><position name="p" joint="turn" kp="20" gear="1.5"/></actuator>'
    path = write(f"{ARM}{servo}{pulley}{SENSORS}</sensor>")
    spec = read_model(path)
    assert all("tendon" in line for line in spec.omitted)
    assert sum(block.kind == "sensor" for block in spec.blocks) == SENSORS.count("<") + 2
    assert agreement(path)["sensors"] < 1e-12


@pytest.mark.parametrize("name", ["position", "length of a rope", "filter", "velocity of a servo"])
def test_a_closed_loop_moves_as_in_mujoco(write: Write, tmp_path: Path, name: str) -> None:
    """Both take 200 steps of the classical Runge-Kutta method with a constant command."""
    path = write('<option integrator="RK4" timestep="0.002"/>' + actuated(name))
    (block,) = [b for b in read_model(path).blocks if b.kind == "signal"]
    actuator = block.name.removesuffix("/command")
    text = f'[[model]]\nfile = "m.xml"\ncommand = {{ "{actuator}" = 0.3 }}\n'
    text += "[simulation]\nstep = 0.002\nduration = 0.4\n"
    (tmp_path / "s.toml").write_text(text + "[output]\nevery = 0.4\n", "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    run = pysim.simulate(scene)
    own = Actuated(path, np.random.default_rng(1))
    m, data = own.pair.m, mujoco.MjData(own.pair.m)
    own.pair.data = data
    data.ctrl[:] = 0.3
    for _ in range(200):
        mujoco.mj_step(m, data)
    q, v = own.pair.state()
    assert np.abs(scene.model.difference(q, run.q[-1])).max() < 1e-11
    assert np.abs(run.v[-1] - v).max() < 1e-10
    assert np.abs(run.v[-1]).max() > 0.1


def test_the_armature_and_damping_of_actuators_are_those_of_joints(write: Write) -> None:
    """Both are multiplied by the square of the gear, also those of a muscle."""
    motors = """<motor joint="turn" gear="3" armature="0.02" damping="0.1"/>
        <motor joint="turn" gear="2" armature="0.01"/><position joint="slide" kp="3" damping="0.3"/>
        <muscle joint="elbow" armature="0.1" lengthrange="0.1 1"/>"""
    path = write(f"{ARM}<actuator>{motors}</actuator>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        model = pysim.load_model(path)
    errors = mujoco_agreement.agreement(model, path)
    assert max(errors.values()) < 1e-12, errors
    joints = {joint.name: joint for joint in model.spec.joints}
    assert joints["turn"].armature[0] == pytest.approx(0.02 * 9 + 0.01 * 4, rel=1e-15)
    assert joints["turn"].damping[0] == pytest.approx(0.1 * 9, rel=1e-15)


def test_a_range_of_actuator_forces_is_the_effort_limit_of_a_joint(write: Write) -> None:
    motors = '<motor joint="elbow" gear="30"/><position joint="elbow" kp="50" kv="2"/>'
    ranged = 'name="elbow" actuatorfrcrange="-4 4" actuatorfrclimited="true"'
    path = write(ARM.replace('name="elbow"', ranged) + f"<actuator>{motors}</actuator>")
    joint = next(joint for joint in read_model(path).joints if joint.name == "elbow")
    assert joint.effort_limit == 4.0
    assert agreement(path)["actuators"] < 1e-12
    path = write(ARM.replace('name="elbow"', ranged.replace("-4", "-3")))
    with pytest.warns(PysimWarning, match="has a range of actuator forces from -3 to 4, which is"):
        read_model(path)


LEFT_OUT = {
    '<position name="m" joint="ball" kp="3" gear="1 0 0"/>': (
        "its force depends on an angle, and the ball or free joint 'ball', which rotates about three axes at once, "
        "has none; write a <motor>, or three hinges"
    ),
    '<motor name="m" joint="free" gear="1 0 0 0 0 0"/>': (
        "it pushes a free joint along an axis of the world"
    ),
    '<motor name="m" joint="ball" gear="0 0 0"/>': "its gear is 0",
    '<motor name="m" jointinparent="ball" gear="1 0 0"/>': (
        "its axis is fixed in the parent of a joint that rotates freely"
    ),
    '<motor name="m" site="tip" refsite="jet"/>': "it acts between two sites",
    '<motor name="m" cranksite="tip" slidersite="jet" cranklength="1"/>': "it acts on a slider-crank",
    '<adhesion name="m" body="stone" ctrlrange="0 1"/>': "it acts by adhesion at contacts",
    '<general name="m" joint="elbow" gaintype="user"/>': "its law is code of a program",
    '<motor name="m" tendon="around"/>': (
        "its tendon runs around a sphere with the side of site 'tip' on another body"
    ),
    '<motor name="m" tendon="rigid"/>': "its tendon lies on one rigid body",
}
ROPES = """<worldbody><geom name="drum" size="0.02" pos="0 0 1.5"/>
<site name="a"/><site name="b" pos="1 0 0"/></worldbody>
<tendon><spatial name="around"><site site="hook"/><geom geom="drum" sidesite="tip"/><site site="tip"/></spatial>
<spatial name="rigid"><site site="a"/><site site="b"/></spatial></tendon>"""


@pytest.mark.parametrize("text", LEFT_OUT)
def test_an_actuator_without_a_counterpart_is_left_out_and_named(write: Write, text: str) -> None:
    path = write(f"{ARM}{ROPES}\n<actuator>\n{text}</actuator>")
    with pytest.warns(PysimWarning) as warned:
        spec = read_model(path)
    (line,) = [str(w.message) for w in warned if "actuator" in str(w.message)]
    lines = path.read_text("utf-8").split("\n").index(text + "</actuator></mujoco>") + 1
    assert line == f"{path}:{lines}: actuator 'm' is left out: {LEFT_OUT[text]}"
    assert not spec.blocks
    with pytest.raises(PysimError) as caught:
        pysim.load_model(path, strict=True)
    assert "is left out" in str(caught.value)


def test_actuators_that_are_switched_off_are_listed(write: Write) -> None:
    motors = '<motor name="a" joint="elbow" group="2"/><motor name="b" joint="turn"/>'
    option = '<option actuatorgroupdisable="2"/>'
    spec = read_model(write(f"{option}{ARM}<actuator>{motors}</actuator>"))
    assert [block.name for block in spec.blocks] == ["b/command", "b"]
    assert spec.omitted[0].endswith("actuator 'a' is left out: it is switched off in <option>")
    off = '<option><flag actuation="disable"/></option>'
    assert read_model(write(f"{off}{ARM}<actuator>{motors}</actuator>")).blocks == ()


def test_sensors_without_a_counterpart_are_listed(write: Write) -> None:
    sensors = """<sensor><magnetometer name="t" site="tip"/><clock name="c"/>
        <gyro name="g" site="tip" cutoff="2"/><jointpos name="j" joint="slide"/>
        <actuatorpos name="a" actuator="m"/></sensor>"""
    motor = '<actuator><motor name="m" site="tip" refsite="jet"/></actuator>'
    with pytest.warns(PysimWarning, match="actuator 'm' is left out: it acts between two sites"):
        spec = read_model(write(ARM + motor + sensors))
    assert [block.name for block in spec.blocks] == ["j"]
    assert [line.partition(": ")[2] for line in spec.omitted if ": sensor" in line] == [
        "sensor 't' is not read: pysim has no sensor of the kind 'magnetometer'",
        "sensor 'c' is not read: pysim records the time",
        "sensor 'g' is not read: it has a cutoff of 2",
        "sensor 'a' is not read: of its actuator, it acts between two sites",
    ]


SERVO = """<worldbody><body name="b"><joint name="j" damping="1"/><geom size="0.1" pos="1 0 0"/></body></worldbody>
<actuator><position name="servo" joint="j" kp="2000" kv="100"/>
<general name="slow" joint="j" dyntype="filter" dynprm="1" gainprm="1"/></actuator>
<sensor><jointpos name="angle" joint="j"/></sensor>
<keyframe><key name="home" qpos="0.2" ctrl="0.5 0.3" act="0.7"/></keyframe>"""


BALL = """<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="foot" pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="2"/>
<site name="sole" size="SIZE"/></body></worldbody><sensor><touch name="sole" site="sole"/></sensor>"""


def test_a_touch_sensor_is_the_normal_force_on_its_body(write: Write, tmp_path: Path) -> None:
    """The weight of a ball at rest, in MuJoCo and here."""
    import mujoco

    path = write(BALL.replace("SIZE", "0.11"))
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    mujoco.mj_step(m, data, 2000)
    scene = scene_of(tmp_path, "")
    assert not [line for line in scene.model.spec.omitted if "sole" in line]
    run = pysim.simulate(scene)
    assert run.signals["sole.normal"][-1] == pytest.approx(2 * 9.81, rel=1e-6)
    assert data.sensordata[0] == pytest.approx(2 * 9.81, rel=1e-3)


def test_a_touch_sensor_whose_site_leaves_contacts_out_is_listed(write: Write) -> None:
    spec = read_model(write(BALL.replace("SIZE", "0.05")))
    assert [line.partition(": ")[2] for line in spec.omitted if ": sensor" in line] == [
        "sensor 'sole' counts all contacts of its body, in MuJoCo those inside of its site"
    ]


def scene_of(folder: Path, keys: str, rest: str = "") -> pysim.Scene:
    text = f'[[model]]\nfile = "m.xml"\n{keys}\n{rest}[simulation]\nduration = 2\nstep = 0.01\n'
    (folder / "s.toml").write_text(text, "utf-8")
    return pysim.load_scene(folder / "s.toml")


def refusal(folder: Path, keys: str) -> str:
    with pytest.raises(PysimError) as caught:
        scene_of(folder, keys)
    return str(caught.value).removeprefix(f"{folder}/")


def test_commands_are_zero_or_those_of_a_keyframe(write: Write, tmp_path: Path) -> None:
    write(SERVO)
    scene = scene_of(tmp_path, "")
    assert scene.spec.blocks[0].parameters == {"value": 0.0}
    scene = scene_of(tmp_path, 'keyframe = "home"')
    assert scene.state.q == [0.2]
    run = pysim.simulate(scene)
    assert run.signals["slow.activation"][0] == 0.7
    assert run.signals["slow.activation"][-1] == pytest.approx(0.3 + 0.4 * np.exp(-2.0), rel=1e-8)
    assert run.signals["servo/command"][0] == 0.5
    np.testing.assert_array_equal(run.signals["angle.q"], run.q[:, 0])


def test_a_scene_commands_the_actuators_of_a_file(write: Write, tmp_path: Path) -> None:
    """A number replaces the constant; a signal of the scene is followed instead, and the constant is gone."""
    write(SERVO)
    run = pysim.simulate(scene_of(tmp_path, 'name = "a"\ncommand = { servo = -0.4, slow = 1.0 }'))
    assert run.signals["a/servo/command"][-1] == -0.4
    target = '[[signal]]\nname = "target"\ntype = "step"\ntime = 1.0\nafter = 0.8\n'
    scene = scene_of(tmp_path, 'name = "a"\ncommand.servo = "target"', target)
    assert "a/servo/command" not in [block.name for block in scene.spec.blocks]
    run = pysim.simulate(scene)
    assert abs(run.q[90, 0]) < 0.02
    assert run.q[-1, 0] > 0.7


def test_actuators_and_sensors_of_a_file_can_be_left_out(write: Write, tmp_path: Path) -> None:
    write(SERVO)
    scene = scene_of(tmp_path, "actuators = false")
    assert [block.name for block in scene.spec.blocks] == ["angle"]
    scene = scene_of(tmp_path, "actuators = false\nsensors = false")
    assert scene.signals is None
    write(actuated("jet"))
    assert scene_of(tmp_path, "actuators = false").spec.model.forces == ()


def test_copies_have_actuators_and_commands_of_their_own(write: Write, tmp_path: Path) -> None:
    write(SERVO)
    scene = scene_of(tmp_path, 'name = "a"\ncount = 2\ncommand = { servo = 0.3 }')
    values = {b.name: b.parameters["value"] for b in scene.spec.blocks if b.kind == "signal"}
    assert values == {
        "a_0/servo/command": 0.3,
        "a_0/slow/command": 0.0,
        "a_1/servo/command": 0.3,
        "a_1/slow/command": 0.0,
    }


MISTAKES = {
    "command = { serv = 1.0 }": (
        "s.toml:3:13: model[0].command.serv: the file has no actuator 'serv'; did you mean 'servo'?"
    ),
    "command = { servo = true }": (
        "s.toml:3:21: model[0].command.servo: must be a number or the name of a signal, got True"
    ),
    'command = { servo = "targt" }': (
        "m.xml:2: actuator 'servo': unknown signal 'targt'; known: slow/command, angle.q, angle.v"
    ),
    "actuators = 1": "s.toml:3:13: model[0].actuators: must be true or false, got 1",
}


@pytest.mark.parametrize("keys", MISTAKES)
def test_a_wrong_command_is_rejected(write: Write, tmp_path: Path, keys: str) -> None:
    write(SERVO)
    assert refusal(tmp_path, keys) == MISTAKES[keys]


def test_names_of_elements_are_unique(write: Write, tmp_path: Path) -> None:
    """A tendon, an actuator and a sensor may share a name in MuJoCo; the actuator keeps it."""
    text = """<tendon><fixed name="x" stiffness="3"><joint joint="turn" coef="1"/></fixed></tendon>
        <actuator><motor name="x" tendon="x"/></actuator><sensor><tendonpos name="x" tendon="x"/></sensor>"""
    spec = read_model(write(ARM.replace("<tendon>", f"{text}<tendon>")))
    assert [block.name for block in spec.blocks] == ["x/command", "x", "x_2"]
    assert [force.name for force in spec.forces] == ["x_3"]
    twice = '[[model]]\nfile = "m.xml"\n'
    bodies = '<worldbody><body name="{0}"><joint name="{0}"/><geom size="0.1"/></body></worldbody>'
    for name in "mn":
        body = bodies.format(name) + f'<actuator><motor name="x" joint="{name}"/></actuator>'
        (tmp_path / f"{name}.xml").write_text(f"<mujoco>{body}</mujoco>", "utf-8")
    (tmp_path / "s.toml").write_text(twice + twice.replace("m.xml", "n.xml"), "utf-8")
    with pytest.raises(PysimError) as caught:
        pysim.load_scene(tmp_path / "s.toml")
    assert str(caught.value).removeprefix(f"{tmp_path}/") == (
        "s.toml:3:1: model[1]: its element 'x/command' is taken by model[0]; give the model a name"
    )


def test_a_model_with_a_thruster_is_attached_under_a_name(write: Write, tmp_path: Path) -> None:
    write(actuated("jet"))
    scene = scene_of(tmp_path, 'name = "a"\ncommand = { actuator1 = 0.5 }')
    (force,) = scene.spec.model.forces
    assert (force.name, force.parameters["command"]) == ("a/actuator1", "a/actuator1/command")
    assert pysim.simulate(scene).signals["a/actuator1/command"][0] == 0.5


@pytest.mark.parametrize("name", ["filter", "jet", "spatial tendon"])
def test_actuators_are_written_as_a_scene(write: Write, tmp_path: Path, name: str) -> None:
    """The run of the new scene is that of the file, to the rounding of its poses."""
    path = write(actuated(name) + f"<sensor>{SENSORS}</sensor>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        convert(path, tmp_path / "t.toml")
        (tmp_path / "s.toml").write_text('[[model]]\nfile = "m.xml"\n', "utf-8")
        settings = {"simulation.duration": 0.2, "simulation.step": 0.01}
        one, other = (pysim.load_scene(tmp_path / f"{name}.toml", settings) for name in "st")
        runs = [pysim.simulate(scene) for scene in (one, other)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13)
    assert list(runs[0].signals) == list(runs[1].signals)


def test_urdf_cannot_represent_actuators(write: Write, tmp_path: Path) -> None:
    write(SERVO)
    with pytest.raises(PysimError) as caught:
        convert(tmp_path / "m.xml", tmp_path / "m.urdf")
    assert "actuator 'servo' has no place in a URDF file; leave it out by --partial" in str(
        caught.value
    )


def test_check_lists_actuators_and_sensors(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(SERVO)
    assert main(["check", str(path)]) == 0
    text: Any = capsys.readouterr().out
    assert "  actuator    servo: affine of servo/command on j\n" in text
    assert "  sensor      angle: coordinates on j\n" in text
    assert "signal" not in text
