"""Transmissions of URDF files. The oracle of rotors is the diagonal of the mass matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.scene import read_model

if TYPE_CHECKING:
    from pathlib import Path

LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>"""
JOINT = """<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>
<axis xyz="0 0 1"/></joint>"""


def write(folder: Path, transmission: str) -> Path:
    links = "".join(LINK.format(name) for name in ("base", "upper", "lower"))
    joints = JOINT.format("shoulder", "base", "upper") + JOINT.format("elbow", "upper", "lower")
    path = folder / "r.urdf"
    path.write_text(f'<robot name="r">{links}{joints}\n{transmission}</robot>', "utf-8")
    return path


def test_a_rotor_is_armature_times_the_square_of_its_ratio(tmp_path: Path) -> None:
    rotor = '<drake:rotor_inertia value="0.002"/><drake:gear_ratio value="30"/>'
    text = f'<transmission name="t"><joint name="elbow"/><actuator name="m">{rotor}</actuator></transmission>'
    plain = pysim.load_model(write(tmp_path, ""))
    model = pysim.load_model(write(tmp_path, text))
    q = np.zeros(2)
    added = pysim.crba(model, q) - pysim.crba(plain, q)
    np.testing.assert_allclose(added, np.diag([0.0, 30**2 * 0.002]), rtol=0, atol=1e-14)


LISTED = {
    '<joint name="elbow"/><actuator name="m"><mechanicalReduction>100</mechanicalReduction></actuator>': (
        "forces act at joint 'elbow', those of the motor are 1/100 of them (<mechanicalReduction> 100)"
    ),
    '<joint name="elbow"/><mechanicalReduction>-51</mechanicalReduction>': (
        "forces act at joint 'elbow', those of the motor are 1/-51 of them (<mechanicalReduction> -51)"
    ),
    '<joint name="elbow"/><actuator name="m"><mechanicalReduction>1</mechanicalReduction></actuator>': (
        "forces act at joint 'elbow' itself"
    ),
    '<joint name="elbow"/><actuator name="m"><mechanicalReduction>n</mechanicalReduction></actuator>': (
        "forces act at joint 'elbow' itself"
    ),
    '<joint name="elbow"/><joint name="shoulder"/>': (
        "it couples the motors of 'elbow' and 'shoulder', whose forces act at the joints"
    ),
    "": "it names no joint",
}


@pytest.mark.parametrize("content", LISTED)
def test_transmissions_are_listed_with_their_reductions(tmp_path: Path, content: str) -> None:
    path = write(tmp_path, f'<transmission name="t">{content}</transmission>')
    (line,) = read_model(path).omitted
    assert line == f"{path}:7:1: <transmission> 't' is not read: {LISTED[content]}"


def test_a_transmission_of_an_unknown_joint_is_left_out(tmp_path: Path) -> None:
    """There is a warning if its rotor is left out with it."""
    text = '<transmission name="t"><joint name="elbw"/>{}</transmission>'
    path = write(tmp_path, text.format(""))
    reason = "the robot has no joint 'elbw'; did you mean 'elbow'?"
    expected = f"{path}:7:1: <transmission> 't' is left out: {reason}"
    assert read_model(path).omitted == (expected,)
    write(tmp_path, text.format('<actuator><drake:rotor_inertia value="1"/></actuator>'))
    with pytest.warns(PysimWarning) as warned:
        read_model(path)
    assert str(warned[0].message) == expected


def test_a_rotor_between_several_joints_is_left_out(tmp_path: Path) -> None:
    rotor = '<actuator><drake:rotor_inertia value="0.002"/></actuator>'
    joints = '<joint name="elbow"/><joint name="shoulder"/>'
    path = write(tmp_path, f'<transmission name="t">{joints}{rotor}</transmission>')
    with pytest.warns(
        PysimWarning, match="a rotor, which is left out: it does not drive one joint"
    ):
        assert not read_model(path).joints[1].armature.any()
