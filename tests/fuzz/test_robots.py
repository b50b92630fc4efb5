"""Changed robots in URDF, MJCF and SDF are read and evaluated, or rejected with an error that a user can read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.fuzz.budget import fuzz, result_or_error
from tests.fuzz.mutations import changed_text

KEPT = Path(__file__).parent / "corpus" / "robots"
FOLDER = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))

INERTIAL = """<inertial><origin xyz="0.1 0 0" rpy="0 0.2 0"/><mass value="2.0"/>
<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0.02" iyz="-0.03"/></inertial>"""
URDF = [
    f"""<?xml version="1.0"?>
<robot name="arm">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base">{INERTIAL}<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry>
<material name="red"/></visual></link>
<link name="upper">{INERTIAL}<collision><geometry><cylinder radius="0.1" length="0.5"/></geometry></collision></link>
<link name="lower">{INERTIAL}<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="tool"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3" rpy="0 0.1 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/>
</joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/>
<mimic joint="shoulder" multiplier="2" offset="0.1"/></joint>
<joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0 0 0.1"/></joint>
<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="shoulder"/>
<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
<gazebo reference="upper"><mu1>0.5</mu1></gazebo>
</robot>""",
    f"""<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="a" value="1"/>
<link name="a">{INERTIAL}</link><link name="b">{INERTIAL}</link>
<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint></robot>""",
]
MJCF = [
    """<mujoco model="arm"><compiler angle="degree" autolimits="true"/><option timestep="0.002" gravity="0 0 -9.81"/>
<default><joint damping="0.1"/><geom friction="0.8 0.01 0.001" solref="0.02 1"/></default>
<asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><body name="base" pos="0 0 1"><freejoint/>
<geom type="box" size="0.1 0.2 0.3"/>
<body name="link" pos="0 0 0.4" euler="0 30 0">
<joint name="j" type="hinge" axis="0 1 0" range="-45 45" stiffness="1" springref="3"/>
<geom type="capsule" fromto="0 0 0 0 0 1" size="0.05" mass="2"/><site name="s" pos="0 0 1"/></body>
<body name="ball"><joint type="ball"/><inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body></body>
</worldbody>
<equality><connect body1="link" body2="ball" anchor="0 0 0.1"/></equality>
<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>
<actuator><position name="p" joint="j" kp="10" ctrlrange="-1 1"/><motor joint="j" gear="3"/></actuator>
<sensor><jointpos joint="j"/><accelerometer site="s"/></sensor>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 0.1 1 0 0 0"/></keyframe></mujoco>""",
]
SDF = [
    """<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity><model name="m"><pose>0 0 1 0 0 0.1</pose>
<frame name="f" attached_to="a"><pose relative_to="a">0 0 1 0 0 0</pose></frame>
<link name="a"><inertial><pose>0.1 0 0 0 0 0</pose><mass>2</mass><inertia><ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz>
</inertia></inertial>
<collision name="c"><geometry><box><size>1 2 3</size></box></geometry><surface><friction><ode><mu>0.5</mu></ode>
</friction></surface></collision></link>
<link name="b"><pose relative_to="f">0 1 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz expressed_in="f">0 0 1</xyz>
<limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint></model>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal>
</plane></geometry></collision></link></model>
</world></sdf>""",
]


def words_of(corpus: list[str]) -> list[str]:
    text = " ".join(corpus).replace("<", " ").replace(">", " ").replace('"', " ").replace("=", " ")
    return sorted({*text.split(), "${a}", "package://a/b", "../x.stl", "&amp;", "<!--", "]]>", "<"})


def use(name: str, text: str) -> None:
    """Read a robot, and evaluate it."""
    path = FOLDER / name
    path.write_text(text, "utf-8", errors="replace")
    model = result_or_error(lambda: pysim.load_model(path))
    if model is not None and model.nv:
        q, zero = model.neutral(), np.zeros(model.nv)
        result_or_error(lambda: pysim.aba(model, q, zero, zero))
        result_or_error(
            lambda: pysim.crba(model, model.random_configuration(np.random.default_rng(0)))
        )


@fuzz(changed_text(URDF, words_of(URDF)))
def test_a_changed_urdf_is_read_or_is_an_error(text: str) -> None:
    use("r.urdf", text)


@fuzz(changed_text(SDF, words_of(SDF)))
def test_a_changed_sdf_is_read_or_is_an_error(text: str) -> None:
    use("r.sdf", text)


@fuzz(changed_text(MJCF, words_of(MJCF)))
def _changed_mjcf(text: str) -> None:
    use("r.xml", text)


def test_a_changed_mjcf_is_read_or_is_an_error() -> None:
    pytest.importorskip("mujoco")
    run: Callable[[], None] = _changed_mjcf
    run()


def test_robots_that_once_failed_are_read_or_are_errors() -> None:
    pytest.importorskip("mujoco")
    for path in sorted(KEPT.iterdir()):
        use(f"r{path.suffix}", path.read_text("utf-8"))
