"""Placement of the camera so that the whole motion is in the picture.

A point with coordinates (a, b, c) along right, up and towards the camera is inside the picture of
a camera at (A, B, C) when |a − A| ≤ (C − c) h and |b − B| ≤ (C − c) k, with h and k the tangents
of the half angles of view. The least C over all points follows in closed form:

    C h = ½ [max(a + c h) + max(c h − a)]        A = ½ [max(a + c h) − max(c h − a)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.options import RenderOptions

VIEW_ANGLE = 26.0  # [deg] of the picture's height
FILLED_SHARE = 0.84  # share of the picture's width and height that the motion may take
FLAT_RATIO = 0.42  # a motion this much thinner than wide is seen from its side
SIDE_VIEW_ANGLE = 22.0  # [deg] off the normal of its plane
CORNER_AZIMUTH = 40.0  # [deg] azimuth for all others


@dataclass(frozen=True)
class Camera:
    """Camera position, focal point [m] and upward direction."""

    position: Array
    focus: Array
    up: Array


def upright(gravity: tuple[float, float, float]) -> Array:
    """Return world axes of the stage (3, 3): columns x and y on the ground, the last against gravity."""
    g = np.array(gravity, float)
    up = np.array([0.0, 0.0, 1.0]) if not g.any() else -g / np.linalg.norm(g)
    x = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - up * (up @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(up, x), up])


def best_azimuth(points: Array, stage: Array) -> float:
    """Return the azimuth [rad]: facing the plane of a planar vertical motion, otherwise from a corner."""
    x, y = stage[:, :2].T @ (points - points.mean(axis=0)).T
    spread, axes = np.linalg.eigh(np.cov(np.stack([x, y])))
    if spread[1] <= 0 or spread[0] > FLAT_RATIO**2 * spread[1]:
        return float(np.radians(CORNER_AZIMUTH))
    normal = axes[:, 0] if axes[1, 0] < 0 else -axes[:, 0]  # from the front, where y < 0
    return float(np.arctan2(normal[1], normal[0]) + np.radians(SIDE_VIEW_ANGLE))


def direction_of(stage: Array, azimuth: float, elevation: float) -> Array:
    """Return unit vector (3,) with an azimuth and an elevation [rad] on the stage (3, 3), in the world."""
    across = np.cos(elevation)
    towards: Array = stage @ [
        across * np.cos(azimuth),
        across * np.sin(azimuth),
        np.sin(elevation),
    ]
    return towards


def framing_camera(points: Array, stage: Array, options: RenderOptions) -> Camera:
    """Return a camera in the given direction, as close as `points` (n, 3) [m] allow."""
    asked = options.azimuth
    azimuth = best_azimuth(points, stage) if asked is None else np.radians(asked)
    elevation = np.radians(options.elevation)
    towards = direction_of(stage, azimuth, elevation)
    right = np.cross(stage[:, 2], towards)
    right /= np.linalg.norm(right)
    axes = np.column_stack([right, np.cross(towards, right), towards])

    width, height = options.size
    k = np.tan(np.radians(VIEW_ANGLE) / 2) * FILLED_SHARE
    a, b, c = (points @ axes).T
    A, C_wide = _fit(a, c, k * width / height)
    B, C_high = _fit(b, c, k)
    C = max(C_wide, C_high)
    depth = 0.5 * (c.min() + c.max())
    focus = axes @ [A, B, depth] if options.focus is None else np.array(options.focus, float)
    distance = max(C - depth, 1e-3) / options.zoom
    return Camera(focus + distance * towards, focus, stage[:, 2])


def _fit(a: Array, c: Array, h: float) -> tuple[float, float]:
    """Return the camera's position along one axis of the picture, and its distance."""
    right, left = np.max(a + c * h), np.max(c * h - a)
    return 0.5 * float(right - left), 0.5 * float(right + left) / h
