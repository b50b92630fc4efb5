"""Collisions of two free bodies, whatever their shapes are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import pysim
from tests.contact.scenes import free, ran, world


def momenta(trajectory: pysim.Trajectory, scene: pysim.Scene) -> np.ndarray:
    """Linear and angular momentum (n, 6) about the world's origin."""
    q, v = trajectory.q, trajectory.v
    h = np.array(pysim.centroidal_momentum(scene.model, q, v))
    h[:, 3:] += np.cross(pysim.center_of_mass(scene.model, q), h[:, :3])
    return h


def colliding(first: str, second: str) -> tuple[str, str]:
    """Two free bodies of 1 kg and 0.3 kg that hit each other beside their centres while they turn."""
    a = free("a", first, 1.0, "{ xyz = [0, 0, 0], v = [1, 0.1, 0, 3, -1, 2] }")
    return a, free("b", second, 0.3, "{ xyz = [0.45, 0.05, 0.04], v = [-2, 0, 0.1, 1, 5, -2] }")


def momentum_of_collision(tmp_path: Path, first: str, second: str) -> tuple[float, float]:
    """The impulse of a collision that rebounds [N·s], and the largest change of momentum [N·s, N·m·s]."""
    surface = "friction = 0.7\nstiffness = 1e5\nrestitution = { value = 0.5, at = 1.0 }"
    bodies = "".join(colliding(first, second))
    scene = world(tmp_path, bodies, surface=surface, gravity=(0, 0, 0), duration=0.5)
    trajectory = ran(scene)
    h = momenta(trajectory, scene)
    impulse = np.linalg.norm(trajectory.contact_impulses.sum(axis=0))
    return float(impulse), float(np.abs(h - h[0]).max())


def collided_in_both_orders(tmp_path: Path, first: str, second: str) -> list[np.ndarray]:
    """Velocities (2, 6) of two bodies after their collision, as the file names first one and then the other first."""
    a, b = colliding(first, second)
    run: dict[str, Any] = {
        "surface": "friction = 0.3\nstiffness = 1e5",
        "gravity": (0, 0, 0),
        "duration": 0.3,
    }
    scenes = [world(tmp_path, bodies, every=0.1, **run) for bodies in (a + b, b + a)]
    ends = [ran(scene).v[-1].reshape(2, 6) for scene in scenes]
    return [ends[0], ends[1][::-1]]
