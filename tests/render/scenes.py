"""Trajectories made by hand, for pictures that need no engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.shapes import Geometry, Shape
from pysim.trajectory import Trajectory, TrajectoryHeader, header_visuals

if TYPE_CHECKING:
    from collections.abc import Sequence


def place(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def drawn(shape: Shape, pose: np.ndarray | None = None, **look: Any) -> Geometry:
    return Geometry(shape, place() if pose is None else pose, **look)


def moving(
    positions: np.ndarray,
    *shapes: Geometry,
    world: Sequence[Geometry] = (),
    times: np.ndarray | None = None,
    **header: Any,
) -> Trajectory:
    """One body at `positions` (n, 3) [m] without turning, half a second in all."""
    rows = len(positions)
    t = np.linspace(0.0, 0.5, rows) if times is None else times
    poses = np.zeros((rows, 1, 7))
    poses[:, 0, :3] = positions
    poses[:, 0, 6] = 1.0
    visuals = header_visuals([shapes], world)
    names: dict[str, Any] = {
        "joint_names": ("slide",),
        "body_names": ("cart",),
        "coordinate_names": ("slide",),
        "velocity_names": ("slide",),
        "coordinate_units": ("m",),
        "velocity_units": ("m/s",),
        "frame_names": ("tip", "mark"),
        "frame_bodies": (0, -1),
        "frame_poses": np.array([place(0, 0, 0.2), place(0, 0, 1)]),
        "name": "cart",
    }
    q = np.asarray(positions, float)[:, :1]
    energy = np.linspace(0, 1, rows)
    return Trajectory(
        TrajectoryHeader(**{**names, **header}, visuals=visuals),
        t, q, q, q, energy, 1 - energy, 0 * energy, poses,
    )  # fmt: skip


def cart(**header: Any) -> Trajectory:
    """A red box that slides one metre along x, just above the ground."""
    way = np.column_stack([np.linspace(0, 1, 11), np.zeros(11), np.full(11, 0.15)])
    box = drawn(Shape("box", (0.4, 0.3, 0.3)), color=(0.9, 0.1, 0.1, 1.0))
    return moving(way, box, **header)


SMALL: dict[str, Any] = {"size": (160, 120), "supersample": 1}


def red(image: np.ndarray) -> np.ndarray:
    """Which pixels (height, width) are clearly red."""
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return np.asarray((r > 2 * g) & (r > 2 * b))
