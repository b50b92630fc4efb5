"""Scenes of bodies that touch a field: signed distances of the example files, and grids of heights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pysim
from tests.contact.body_scenes import free, world

ROOT = Path(__file__).parents[2]
SHAPES = ROOT / "scenes" / "shapes"


def in_bowl(
    tmp_path: Path,
    shape: str,
    start: str,
    mass: float = 1.0,
    radius: float = 1.0,
    **changes: Any,
) -> pysim.Scene:
    """A body in a bowl about the origin."""
    ground = f'[[ground]]\nfield = {{ type = "bowl", radius = {radius} }}\n'
    tables = ground + free("body", shape, mass, start)
    return world(tmp_path, tables, plugins=(SHAPES / "bowl.py",), **changes)


def cam_and_follower(
    tmp_path: Path, shape: str, height: float, radius: float, eccentricity: float
) -> pysim.Scene:
    """A disc that turns about a point beside its centre, with a flywheel, and a follower on it that slides along y."""
    tables = f"""
[[body]]
name = "cam"
collision = true
[[body.shape]]
field = {{ type = "eccentric_cam", radius = {radius}, eccentricity = {eccentricity}, thickness = 0.02 }}
density = 7800
[[joint]]
name = "shaft"
type = "revolute"
axis = [0, 0, 1]
child = "cam"
start = {{ v = [3.0] }}
armature = 10.0
[[body]]
name = "follower"
shape = {shape}
mass = 0.2
collision = true
[[joint]]
name = "guide"
type = "prismatic"
axis = [0, 1, 0]
child = "follower"
start = [{height!r}]
"""
    return world(
        tmp_path,
        tables,
        plugins=(SHAPES / "cam.py",),
        surface="friction = 0\nstiffness = 1e7\nrestitution = { value = 0, at = 1 }",
        gravity=(0, -9.81, 0),
        duration=2.0,
        step=5e-4,
        every=0.01,
    )
