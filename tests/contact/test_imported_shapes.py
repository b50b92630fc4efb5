"""Flat meshes of robots' files, and robots that start in the floor. Oracle: the same scene without them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim

URDF = """<robot name="r">
  <link name="base">
    <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
    EXTRA
  </link>
</robot>
"""
SCENE = """
[[model]]
file = "r.urdf"
free_base = true
start = { root_joint = { xyz = [0, 0, 0.3] } }
[[ground]]
plane = { normal = [0, 0, 1] }
[simulation]
duration = 0.5
"""
STICKER = '<collision><geometry><mesh filename="sticker.stl"/></geometry></collision>'


def sticker(folder: Path) -> None:
    import trimesh

    corners = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0.1, 0.1, 0]])
    trimesh.Trimesh(corners, [[0, 1, 2], [1, 3, 2]]).export(folder / "sticker.stl")


def load(folder: Path, urdf: str, scene: str) -> tuple[pysim.Scene, list[str]]:
    (folder / "r.urdf").write_text(urdf, "utf-8")
    (folder / "s.toml").write_text(scene, "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = pysim.load_scene(folder / "s.toml")
    return found, [str(x.message) for x in caught]


@pytest.mark.parametrize("count", [1, 3])
def test_a_flat_mesh_of_a_robot_is_left_out_with_a_warning(tmp_path: Path, count: int) -> None:
    sticker(tmp_path)
    plain, _ = load(tmp_path, URDF.replace("EXTRA", ""), SCENE)
    expected = pysim.simulate(plain).q
    scene, found = load(tmp_path, URDF.replace("EXTRA", STICKER * count), SCENE)
    (text,) = (x for x in found if "sticker.stl" in x)
    assert "the mesh 'sticker.stl' of 'base' is flat, and is left out of contacts" in text
    assert ("and so are 2 more" in text) == (count == 3)
    np.testing.assert_array_equal(pysim.simulate(scene).q, expected)


def test_a_robot_that_starts_in_the_floor_is_one_warning(tmp_path: Path) -> None:
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0"'
        f' iyz="0"/></inertial><collision><geometry><sphere radius="0.{k + 1}"/></geometry></collision></link>'
        f'<joint name="j{k}" type="revolute"><parent link="base"/><child link="l{k}"/><origin xyz="{2 * k + 2} 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for k in range(4)
    )
    urdf = URDF.replace("EXTRA", "").replace("</robot>", links + "</robot>")
    _, found = load(tmp_path, urdf, SCENE.replace("0.3]", "-0.5]"))
    (text,) = (x for x in found if "overlap" in x)
    assert text.startswith("contact world, l3: the surfaces overlap by 0.9 [m] at the start")
    assert "4 more pairs overlap, by less: world, l2 by 0.8; world, l1 by 0.7" in text
