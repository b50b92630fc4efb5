"""Robots that move in contact, as MJCF that both programs read: walking robots, a humanoid, and a gripper with a box.

All but two are files of the wheel `playground`, which is downloaded, not installed:

    pip download --no-deps playground

They are as they are, but for meshes, which are taken out: they are drawn, and collide with nothing. ANYmal of
example-robot-data is a URDF; it gets servos, a free base and a floor. The humanoid is dm_control's. Its links touch
each other; those of "humanoid on floor" touch the floor alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from tests.robots import robot_path

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
WALKERS = {  # file, and the keyframe that stands
    "Go1": ("go1/xmls/scene_mjx_feetonly_flat_terrain.xml", "home"),
    "Spot": ("spot/xmls/scene_mjx_feetonly_flat_terrain.xml", "home"),
    "G1": ("g1/xmls/scene_mjx_feetonly_flat_terrain.xml", "knees_bent"),
    "H1": ("h1/xmls/scene_mjx_feetonly.xml", "home"),
    "T1": ("t1/xmls/scene_mjx_feetonly_flat_terrain.xml", "home"),
    "OP3": ("op3/xmls/scene_mjx_feetonly.xml", "stand_bent_knees"),
    "Berkeley": ("berkeley_humanoid/xmls/scene_mjx_feetonly_flat_terrain.xml", "home"),
}
LOCOMOTION = "mujoco_playground/_src/locomotion"
HUMANOID = "mujoco_playground/_src/dm_control_suite/xmls/humanoid.xml"
BENT = {"HAA": 0.1, "HFE": 0.7, "KFE": -1.0}  # [rad], signs as `_anymal` has them
LYING = [0.0, 0.0, 0.3, 0.7071067811865476, 0.0, -0.7071067811865476, 0.0]  # the humanoid's pelvis


@dataclass(frozen=True)
class MovingRobot:
    """A robot with a home pose, whose commands are drawn anew again and again."""

    name: str
    mjcf: str  # with a keyframe "home" of coordinates and commands
    amplitudes: tuple[float, ...]  # of commands about those of the home pose
    unit: str  # of amplitudes
    scale: tuple[float, ...] | None = None  # of each command for an amplitude of 1; 1 by default

    def commands(self, rng: np.random.Generator, amplitude: float, shape: tuple[int, ...]) -> Array:
        """Return commands (*shape, actuators) about those of the home pose."""
        model = mujoco.MjModel.from_xml_string(self.mjcf)
        home = model.key("home").ctrl
        scale = np.ones(model.nu) if self.scale is None else np.array(self.scale)
        return home + amplitude * scale * rng.uniform(-1, 1, (*shape, model.nu))


def playground(folder: Path) -> Path:
    """Download the wheel `playground` into a folder, unless it is there, and return where its files are."""
    unpacked = folder / "playground"
    if not unpacked.is_dir():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        subprocess.run([*command, "playground"], check=True)
        (wheel,) = folder.glob("playground-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
    return unpacked


def robots(folder: Path) -> Iterator[MovingRobot]:
    """Yield the robots of the benchmark; the wheel is kept in a folder."""
    files = playground(folder)
    angles, rad = (0.0, 0.05, 0.1, 0.3), "rad"
    for name, (file, key) in WALKERS.items():
        yield MovingRobot(name, _text(_at_home(files / LOCOMOTION / file, key)), angles, rad)
    yield MovingRobot("ANYmal", _text(_anymal()), angles, rad)
    efforts, share = (0.0, 0.1, 0.3, 1.0), "of the range"
    yield MovingRobot("humanoid", _text(_humanoid(files / HUMANOID)), efforts, share)
    on_floor = _touching_floor_alone(_humanoid(files / HUMANOID))
    yield MovingRobot("humanoid on floor", _text(on_floor), efforts, share)
    yield MovingRobot("gripper", GRIPPER, angles, "× stroke", scale=(0.1, 0.02, 0.02))


def without_meshes(file: Path) -> Any:
    """Return the specification of a file without its meshes, which need files of another package."""
    spec = mujoco.MjSpec.from_file(str(file))
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    spec.meshdir = ""
    return spec


def _text(spec: Any) -> str:
    """Return the MJCF of a specification."""
    spec.compile()
    text: str = spec.to_xml()
    return text


def _at_home(file: Path, key: str) -> Any:
    """A walking robot whose keyframe of this name is "home"."""
    spec = without_meshes(file)
    for other in list(spec.keys):
        if other.name != key:
            spec.delete(other)
        else:
            other.name = "home"
    return spec


def _touching_floor_alone(spec: Any) -> Any:
    """A robot whose links touch no other link."""
    for geom in spec.geoms:
        on_floor = geom.type == mujoco.mjtGeom.mjGEOM_PLANE
        geom.contype, geom.conaffinity = (1, 0) if on_floor else (0, 1)
    return spec


def _humanoid(file: Path) -> Any:
    """The humanoid, lying on its back."""
    spec = without_meshes(file)
    hinges = sum(joint.type != mujoco.mjtJoint.mjJNT_FREE for joint in spec.joints)
    spec.add_key(name="home", qpos=[*LYING, *[0.0] * hinges], ctrl=[0.0] * len(spec.actuators))
    return spec


def _anymal() -> Any:
    """ANYmal on a free base above a floor, with servos within the efforts of its file; links touch the floor alone."""
    spec = mujoco.MjSpec.from_string(_on_free_base(robot_path("anymal").read_text("utf-8")))
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.01])
    _touching_floor_alone(spec)
    home = []
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            continue
        leg, kind = joint.name[:2], joint.name[-3:]
        sign = (-1 if leg[0] == "L" else 1) if kind == "HAA" else (1 if leg[1] == "F" else -1)
        home.append(sign * BENT[kind])
        servo = spec.add_actuator(name=joint.name, target=joint.name)
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.set_to_position(kp=200.0, kv=5.0)
        servo.forcerange, servo.forcelimited = [-80.0, 80.0], mujoco.mjtLimited.mjLIMITED_TRUE
    spec.add_key(name="home", qpos=[0, 0, 0.54, 1, 0, 0, 0, *home], ctrl=home)
    return spec


def _on_free_base(text: str) -> str:
    """Return ANYmal's URDF on a floating joint, with the shapes that collide alone."""
    text = re.sub(r"<visual\b.*?</visual>", "", text, flags=re.DOTALL)
    at = text.index(">", text.index("<robot")) + 1
    base = (
        '<mujoco><compiler discardvisual="false" balanceinertia="true" boundinertia="1e-6"/></mujoco>'
        '<link name="ground"/>'
        '<joint name="free" type="floating"><parent link="ground"/><child link="base"/></joint>'
    )
    return text[:at] + base + text[at:]


GRIPPER = """
<mujoco model="gripper">
  <worldbody>
    <geom name="floor" type="plane" size="0 0 0.01"/>
    <body name="palm" pos="0 0 0.2">
      <joint name="lift" type="slide" axis="0 0 1" range="-0.1 0.3" damping="20" frictionloss="2"/>
      <geom type="box" size="0.08 0.03 0.02" mass="1"/>
      <body name="left" pos="-0.06 0 -0.07">
        <joint name="left" type="slide" axis="1 0 0" range="0 0.05" damping="5" frictionloss="1"/>
        <geom type="box" size="0.01 0.02 0.05" mass="0.2" friction="0.8"/>
      </body>
      <body name="right" pos="0.06 0 -0.07">
        <joint name="right" type="slide" axis="-1 0 0" range="0 0.05" damping="5" frictionloss="1"/>
        <geom type="box" size="0.01 0.02 0.05" mass="0.2" friction="0.8"/>
      </body>
    </body>
    <body name="box" pos="0 0 0.11">
      <freejoint/>
      <geom type="box" size="0.03 0.03 0.03" mass="0.3" friction="0.8"/>
    </body>
  </worldbody>
  <contact>
    <exclude body1="palm" body2="left"/>
    <exclude body1="palm" body2="right"/>
  </contact>
  <actuator>
    <position name="lift" joint="lift" kp="2000" kv="100" forcerange="-100 100"/>
    <position name="left" joint="left" kp="1000" kv="20" forcerange="-20 20"/>
    <position name="right" joint="right" kp="1000" kv="20" forcerange="-20 20"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0 0.019 0.019 0 0 0.11 1 0 0 0" ctrl="0 0.04 0.04"/>
  </keyframe>
</mujoco>
"""
