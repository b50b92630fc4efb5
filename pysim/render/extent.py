"""Extent of a motion: the points that the camera must see, and the height of the ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.render.options import RenderOptions
    from pysim.trajectory import Trajectory

DIRECTIONS = 96  # in which the extent of a body is measured
SAMPLES = 200  # instants at which the extent of the motion is measured
FOLLOW_BEYOND = 12.0  # sizes of the mechanism that its middle may travel before the camera follows
BACKDROP = 3.0  # sizes of the motion beyond which the world's own shapes need not be seen whole
SMALLEST = 1e-6  # [m]
SUNK = 0.15  # of the size of the motion: depth below 0 at which a robot may start on a floor at 0
LEVEL = 0.999  # cosine of a ground's normal to the vertical from which it is the floor


@dataclass(frozen=True)
class Extent:
    """Points [m] that belong in the picture, their size, and the ground below them.

    If the camera follows, the points are relative to its motion since the first instant.
    """

    points: Array  # (n, 3) [m]
    size: float  # [m]
    ground: float  # [m] height of the ground along `up`
    follows: bool


def measure(
    trajectory: Trajectory,
    hulls: Mapping[int, Array],
    up: Array,
    options: RenderOptions,
    anchors: Array,
) -> Extent:
    """Return the extent of the bodies' hulls (m, 3), or of their origins, over the motion.

    `anchors` (k, 3) are points of the world that belong in the picture unless the camera follows.
    """
    count = len(trajectory)
    picked = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).astype(int))
    matrices = pose_matrices(trajectory.poses[picked])
    swept = [moved_points(matrices[:, body], hull) for body, hull in hulls.items() if body >= 0]
    if not swept:
        swept = [matrices[..., :3, 3]] if matrices.shape[1] else [np.zeros((len(picked), 1, 3))]
    moving = np.concatenate(swept, axis=1)  # (instants, points, 3)

    middle = moving.mean(axis=1)
    own, travel = _largest(moving, axis=1), _largest(middle, axis=0)
    follows = options.follow
    if follows is None:
        follows = travel > FOLLOW_BEYOND * max(own, SMALLEST)
    marks = [
        trajectory.path_of(name, picked)[:, None] for name in (*options.frames, *options.trails)
    ]
    seen = np.concatenate([moving, *marks], axis=1)
    if follows:
        seen = seen - (middle - middle[0])[:, None]
    points = seen.reshape(-1, 3)
    size = max(_largest(points, axis=0), SMALLEST)
    if -1 in hulls and _largest(hulls[-1], axis=0) < BACKDROP * size:
        points = np.concatenate([points, hulls[-1]])
        size = _largest(points, axis=0)
    if len(anchors) and not follows:
        points = np.concatenate([points, anchors])
        size = _largest(points, axis=0)
    heights = np.concatenate([moving.reshape(-1, 3) @ up, points @ up])
    ground = given_floor(trajectory, moving[0] @ up, up, size)
    if ground is None:
        lowest = float(heights.min())
        ground = lowest if trajectory.header.imported else ground_height(lowest, size)
    if options.ground and not follows:  # the place of the shadows belongs to the picture
        points = np.concatenate([points, points - np.outer(points @ up - ground, up)])
    return Extent(points, size, ground, follows)


def given_floor(trajectory: Trajectory, heights: Array, up: Array, size: float) -> float | None:
    """Return the height of the scene's ground [m]; 0 for a robot that starts above it; otherwise None.

    `heights` (m,) [m] are those of the mechanism's points at the start. A humanoid whose root is its pelvis starts with
    its legs below 0; its floor is below them.
    """
    for entry in trajectory.header.connections:
        if entry["role"] == "ground" and np.dot(entry["normal"], up) > LEVEL:
            return float(entry["offset"])
    if trajectory.header.imported and len(heights) and heights.min() >= -SUNK * size:
        return 0.0
    return None


def ground_height(lowest: float, size: float) -> float:
    """Return 0 if the lowest point is at or slightly above it, otherwise a height just below that point [m]."""
    if -0.02 * size <= lowest <= 0.8 * size:
        return min(0.0, lowest)
    return lowest - 0.06 * size


def moved_points(matrices: Array, points: Array) -> Array:
    """Return points (n, m, 3) in the world of `points` (m, 3) fixed to a body at `matrices` (n, 4, 4)."""
    return np.asarray(matrices[:, None, :3, 3] + points @ np.swapaxes(matrices[:, :3, :3], 1, 2))


def hull(points: Array) -> Array:
    """Return those of points (n, 3) [m] that lie farthest in directions all around."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1 - 2 * k / DIRECTIONS, np.pi * (1 + np.sqrt(5)) * k  # a spiral over the sphere
    ring = np.sqrt(1 - z * z)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), z])
    points = np.asarray(points, float)
    return np.asarray(points[np.unique(np.argmax(points @ directions, axis=0))])


def _largest(points: Array, axis: int) -> float:
    return float(np.max(np.ptp(points, axis=axis)))
