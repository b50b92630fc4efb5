"""Muscles of MJCF models. The oracle is MuJoCo: forces and rates in random states, and motions of its RK4 steps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import mujoco
import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.scene import read_model
from pysim.worlds.accelerations import forces_of_actuators
from tests.corpus.actuator_agreement import Actuated, agreement

if TYPE_CHECKING:
    from pathlib import Path

ARM = """
<compiler angle="radian"/>
<option timestep="0.002" integrator="RK4"/>
<default><geom contype="0" conaffinity="0"/></default>
<worldbody>
  <site name="shoulder" pos="0 0.05 0.1"/><site name="back" pos="0 -0.06 0.1"/>
  <body name="upper" pos="0 0 0">
    <joint name="swing" axis="1 0 0" range="-1 1.5" damping="0.2"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03"/>
    <site name="high" pos="0 0.04 -0.1"/><site name="low" pos="0 -0.04 -0.15"/>
    <geom name="elbow_bone" type="cylinder" size="0.03 0.05" pos="0 0 -0.3" euler="0 1.5708 0"/>
    <site name="behind" pos="0 -0.1 -0.32"/>
    <body name="lower" pos="0 0 -0.3">
      <joint name="bend" axis="1 0 0" range="0 2.2" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.025"/>
      <site name="front" pos="0 0.03 -0.08"/><site name="rear" pos="0 -0.03 -0.05"/>
    </body>
  </body>
</worldbody>
<tendon>
  <spatial name="flexor"><site site="shoulder"/><site site="high"/><site site="front"/></spatial>
  <spatial name="extensor"><site site="back"/><site site="low"/><geom geom="elbow_bone" sidesite="behind"/>
    <site site="rear"/></spatial>
  <fixed name="both"><joint joint="swing" coef="-0.04"/><joint joint="bend" coef="-0.03"/></fixed>
</tendon>
"""
MUSCLES = {
    "a muscle": '<muscle name="m" tendon="flexor"/>',
    "of a force": '<muscle name="m" tendon="extensor" force="300" range="0.6 1.2" lmin="0.4" lmax="1.8"/>',
    "with other curves": '<muscle name="m" tendon="flexor" vmax="4" fpmax="0.8" fvmax="1.6" scale="600"/>',
    "with times of its own": '<muscle name="m" tendon="flexor" timeconst="0.02 0.06" tausmooth="0.3"/>',
    "with a gear": '<muscle name="m" tendon="extensor" gear="1.5"/>',
    "at a joint": '<muscle name="m" joint="bend" gear="0.04" force="200"/>',
    "of a sum": '<muscle name="m" tendon="both" force="250" lengthrange="-0.12 0.05"/>',
    "as a general actuator": (
        '<general name="m" tendon="flexor" dyntype="muscle" gaintype="muscle" biastype="muscle" '
        'dynprm="0.01 0.04" gainprm="0.75 1.05 -1 200 0.5 1.6 1.5 1.3 1.2" '
        'biasprm="0.75 1.05 -1 200 0.5 1.6 1.5 1.1 1.2" forcelimited="true" forcerange="-150 0"/>'
    ),
    "without a passive force": (
        '<general name="m" tendon="flexor" dyntype="muscle" gaintype="muscle" dynprm="0.01 0.04" '
        'gainprm="0.75 1.05 90 200 0.5 1.6 1.5 1.3 1.2" lengthrange="0.2 0.5"/>'
    ),
}


def write(tmp_path: Path, muscles: str, more: str = "") -> Path:
    path = tmp_path / "m.xml"
    text = f'<mujoco model="m">{ARM}\n<actuator>\n{muscles}</actuator>{more}</mujoco>'
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", MUSCLES)
def test_a_muscle_exerts_the_force_of_mujoco(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, MUSCLES[name])
    own = Actuated(path, np.random.default_rng(1))
    assert list(own.read_actuators()) == [0]
    assert not own.scene.spec.model.omitted
    errors = agreement(path, states=40)
    assert errors["actuators"] < 1e-11, errors
    own.pair.data.act[:] = 0.5
    own.pair.data.qpos[:] = [0.2, 0.9]
    mujoco.mj_forward(own.pair.m, own.pair.data)
    assert np.abs(own.pair.data.qfrc_actuator).max() > 1e-4


def test_muscles_act_together(tmp_path: Path) -> None:
    text = "".join(
        line.replace('name="m"', f'name="m{k}"') + "\n" for k, line in enumerate(MUSCLES.values())
    )
    assert agreement(write(tmp_path, text), states=20)["actuators"] < 1e-11


def test_an_arm_of_muscles_moves_as_in_mujoco(tmp_path: Path) -> None:
    """Both take 150 steps of the classical Runge-Kutta method with constant excitations, from a keyframe."""
    muscles = '<muscle name="f" tendon="flexor"/><muscle name="e" tendon="extensor"/>'
    key = '<keyframe><key name="k" qpos="0.1 0.8" act="0.3 0.1" ctrl="0.5 0.2"/></keyframe>'
    path = write(tmp_path, muscles, key)
    text = '[[model]]\nfile = "m.xml"\nkeyframe = "k"\nlimits = false\n[simulation]\nstep = 0.002\n'
    text += 'integrator = "rk4"\nduration = 0.3\n[output]\nevery = 0.3\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    data = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, data, 0)
    for _ in range(150):
        mujoco.mj_step(m, data)
    np.testing.assert_allclose(run.q[-1], data.qpos, atol=1e-11)
    np.testing.assert_allclose(run.v[-1], data.qvel, atol=1e-10)
    activations = [run.signals[f"{name}.activation"][-1] for name in "fe"]
    np.testing.assert_allclose(activations, data.act, rtol=1e-12)
    assert np.abs(run.v[-1]).max() > 0.1


def test_worlds_begin_with_the_activations_of_a_keyframe(tmp_path: Path) -> None:
    muscles = '<muscle name="f" tendon="flexor"/><muscle name="e" tendon="extensor"/>'
    key = '<keyframe><key name="k" qpos="0.1 0.8" act="0.3 0.1" ctrl="0.5 0.2"/></keyframe>'
    worlds = pysim.Worlds(write(tmp_path, muscles, key), 2)
    worlds.reset(where=[1], keyframe="k")
    assert worlds.signals["f.activation"].tolist() == [0.0, 0.3]
    assert worlds.signals["e.activation"].tolist() == [0.0, 0.1]
    assert worlds.inputs["ctrl"].tolist() == [[0.0, 0.0], [0.5, 0.2]]


def test_a_converted_model_has_the_same_muscles(tmp_path: Path) -> None:
    path = write(tmp_path, MUSCLES["of a force"])
    from pysim.scene.convert import convert

    convert(path, tmp_path / "s.toml")
    scenes = [pysim.load_scene(tmp_path / "s.toml")]
    (tmp_path / "t.toml").write_text('[[model]]\nfile = "m.xml"\n', "utf-8")
    scenes.append(pysim.load_scene(tmp_path / "t.toml"))
    forces = []
    for scene in scenes:
        assert scene.signals is not None
        numbers = np.array(scene.signals.start)
        numbers[scene.signals.state_names.index("m.activation")] = 0.7
        q, v = np.array([[0.2, 0.9]]), np.array([[0.3, -0.2]])
        forces.append(forces_of_actuators(scene, np.zeros(1), q, v, numbers[None])[0])
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-12)
    assert np.abs(forces[0]).max() > 1e-3


LEFT_OUT = {
    (
        '<general name="m" tendon="flexor" gaintype="muscle" lengthrange="0.2 0.5" '
        'gainprm="0.75 1.05 90 200 0.5 1.6 1.5 1.3 1.2"/>'
    ): "a muscle has all its parts in pysim, and this one has gain muscle, bias none and dynamics none",
    (
        '<general name="m" tendon="flexor" gaintype="muscle" biastype="muscle" dyntype="muscle" '
        'lengthrange="0.2 0.5" dynprm="0.01 0.04" gainprm="0.75 1.05 90 200 0.5 1.6 1.5 1.3 1.2" '
        'biasprm="0.75 1.05 90 200 0.5 1.7 1.5 1.3 1.2"/>'
    ): "the parameters of its active and passive force differ",
}


@pytest.mark.parametrize("text", LEFT_OUT)
def test_a_muscle_without_a_counterpart_is_left_out_and_named(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.warns(PysimWarning) as warned:
        spec = read_model(path)
    (line,) = [str(w.message) for w in warned if "actuator" in str(w.message)]
    assert line.endswith(f"actuator 'm' is left out: {LEFT_OUT[text]}")
    assert not spec.blocks


def test_an_activation_of_the_next_step_is_listed(tmp_path: Path) -> None:
    text = MUSCLES["as a general actuator"].replace("name=", 'actearly="true" name=')
    path = write(tmp_path, text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = read_model(path)
    (line,) = (line for line in spec.omitted if "actuator" in line)
    assert line.endswith(
        "actuator 'm' acts with its present activation: actearly, that of the next step, is not read"
    )
