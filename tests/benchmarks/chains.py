"""Chains of revolute joints as URDF, the same text for every program."""

from __future__ import annotations

import numpy as np

LINK = """
  <link name="link{k}"><inertial>
    <origin xyz="{com}" rpy="0 0 0"/><mass value="{mass}"/>
    <inertia ixx="{i[0]}" iyy="{i[1]}" izz="{i[2]}" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="joint{k}" type="revolute">
    <parent link="{parent}"/><child link="link{k}"/>
    <origin xyz="{at}" rpy="{turn}"/><axis xyz="{axis}"/>
    <limit lower="-3.14" upper="3.14" effort="100" velocity="10"/>
  </joint>"""


def chain_urdf(n: int, *, planar: bool = False) -> str:
    """URDF of n links of 0.2 m and 1 kg, each joint about a random axis of the frame, or all about y."""
    rng = np.random.default_rng(n)
    links = [
        LINK.format(
            k=k,
            parent=f"link{k - 1}" if k else "ground",
            com=_numbers(rng.uniform(-0.1, 0.1, 3)),
            mass=1.0,
            i=rng.uniform(0.01, 0.02, 3).round(6),
            at=_numbers([0, 0, 0.2]),
            turn=_numbers(rng.uniform(-1, 1, 3) * (not planar)),
            axis=_numbers(np.eye(3)[1 if planar else rng.integers(3)]),
        )
        for k in range(n)
    ]
    return f'<robot name="chain{n}">\n  <link name="ground"/>{"".join(links)}\n</robot>\n'


def _numbers(values: object) -> str:
    return " ".join(f"{x:.6g}" for x in np.asarray(values, float))
