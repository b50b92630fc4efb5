"""Joint axes near −z, where the rotation that takes z to the axis is found by a division by 1 + a_z."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim

URDF = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="{} {} {}"/></joint></robot>"""


@pytest.mark.parametrize("z", [-1.0, -0.6, 1.0])
@pytest.mark.parametrize("tilt", [0.0, 1e-200, 1e-15, 2e-8, 1e-6, 1e-4, 1e-2, 0.5])
def test_a_hinge_turns_about_its_axis(tmp_path: Path, tilt: float, z: float) -> None:
    """The oracle is Rodrigues' formula."""
    axis = np.array([-tilt, tilt / 3, z]) / np.linalg.norm([tilt, tilt / 3, z])
    path = tmp_path / "r.urdf"
    path.write_text(URDF.format(*map(repr, axis.tolist())), "utf-8")
    model = pysim.load_model(path)
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    expected = np.eye(3) + np.sin(0.7) * K + (1 - np.cos(0.7)) * K @ K
    found = pysim.forward_kinematics(model, np.array([0.7]))[0, :3, :3]
    assert np.abs(found - expected).max() < 5e-15
    assert np.abs(found.T @ found - np.eye(3)).max() < 5e-15
