"""Robots of tests: an arm, paths in the package example-robot-data, and the order of joints in the reference data."""

from __future__ import annotations

import json
import warnings
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

import pysim

REFERENCE = Path(__file__).parent / "data" / "reference"
URDF = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
}
MJCF_ARM = """
<mujoco model="arm">
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping="0.5"/>
      <geom type="capsule" size="0.05 0.2" pos="0 0 -0.2" mass="1"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="elbow" axis="0 1 0" damping="0.5"/>
        <geom type="capsule" size="0.04 0.15" pos="0 0 -0.15" mass="0.5"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="lift" joint="shoulder" kp="50"/>
    <motor name="bend" joint="elbow" gear="2"/>
  </actuator>
  <keyframe><key name="raised" qpos="0.6 0.3" ctrl="0.5 0.1"/></keyframe>
</mujoco>
"""
MANIFEST = json.loads((REFERENCE / "robots_manifest.json").read_text("utf-8"))["robots"]


def robot_path(name: str) -> Path:
    """Path of a robot's URDF file among the installed packages."""
    files = distribution("example-robot-data").files or ()
    ending = f"example-robot-data/robots/{URDF[name]}"
    return Path(next(str(f.locate()) for f in files if str(f).endswith(ending)))


def load_robot(name: str) -> pysim.Model:
    """A robot as the reference has it: every joint its own coordinate, ANYmal on a free base."""
    free = name in ("anymal", "simple_humanoid")
    with warnings.catch_warnings():  # ANYmal's base has the inertia of a line along z
        warnings.filterwarnings("ignore", "(?s).*triangle inequality", pysim.PysimWarning)
        return pysim.load_model(robot_path(name), free_base=free, mimic=False)


def reference_order(model: pysim.Model, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices (q, v, bodies) of the model's numbers among the reference's, joint by joint name."""
    robot = MANIFEST[name]
    q_of, v_of, body_of, at_q, at_v = {}, {}, {}, 0, 0
    for body, (joint, nq) in enumerate(zip(robot["joint_names"], robot["q_joint_nq"], strict=True)):
        nv = 6 if nq == 7 else 1
        q_of[joint], v_of[joint], body_of[joint] = (
            np.arange(at_q, at_q + nq),
            np.arange(at_v, at_v + nv),
            body,
        )
        at_q, at_v = at_q + nq, at_v + nv
    names = model.joint_names
    return (
        np.concatenate([q_of[n] for n in names]),
        np.concatenate([v_of[n] for n in names]),
        np.array([body_of[n] for n in names]),
    )
