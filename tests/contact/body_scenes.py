"""Scenes of several bodies that touch each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import pysim

GROUND = "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0.0 }\n"


def free(name: str, shape: str, mass: float, start: str, extra: str = "") -> str:
    """A body that collides, on a free joint."""
    return f"""
[[body]]
name = "{name}"
shape = {shape}
mass = {mass}
collision = true
{extra}
[[joint]]
name = "{name} moves"
type = "free"
child = "{name}"
start = {start}
"""


def finger(name: str, sign: int, extra: str) -> str:
    """A pad that slides along x beside a box, on the side of this sign, with further tables."""
    return f"""
[[body]]
name = "{name}"
shape = {{ box = [0.02, 0.04, 0.04] }}
mass = 0.5
collision = true
[[joint]]
name = "{name} slides"
type = "prismatic"
axis = [1, 0, 0]
child = "{name}"
at = {{ xyz = [{0.04 * sign}, 0, 0] }}
{extra}
"""


def world(
    tmp_path: Path,
    bodies: str,
    *,
    plugins: tuple[Path, ...] = (),
    surface: str = "",
    gravity: Any = (0, 0, -9.81),
    duration: float = 1.0,
    step: float = 1e-3,
    every: float | None = None,
    run: str = "",
) -> pysim.Scene:
    """Bodies, grounds and joints as text, with the files of shape plugins; `surface` is the material of all."""
    text = f"""plugins = {[str(file) for file in plugins]}
gravity = {[float(g) for g in gravity]}
[materials.default]
{surface}
{bodies}
[simulation]
duration = {duration}
step = {step}
{run}
[output]
every = {every or step}
"""
    path = tmp_path / "world.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path, allow_code=True)


def speeds(trajectory: pysim.Trajectory, bodies: int) -> np.ndarray:
    """Linear velocities (n, bodies, 3) of free bodies, on their axes."""
    found: np.ndarray = trajectory.v.reshape(len(trajectory.t), bodies, 6)[..., :3]
    return found
