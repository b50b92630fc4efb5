"""Annotations that can be switched on: frames, joint axes, centres of mass, inertia ellipsoids, and forces as arrows.

An inertia ellipsoid is that of a homogeneous solid with the body's mass and principal inertias: semi-axes
a = √(5 (J − I₁)/m) with J = ½ (I₁ + I₂ + I₃), about the centre of mass. Arrows are those of `force_arrows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors
from pysim.render.fittings import fitting_shapes as shapes
from pysim.render.force_arrows import ForceArrows
from pysim.render.triads import Triad
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.render.pyvista_types import Plotter
    from pysim.trajectory import Trajectory

TRIAD, AXIS, CENTRE = 0.07, 0.2, 0.012  # of the mechanism's size


class Annotations:
    """Annotations of one trajectory; `kinds` can be toggled, and are made when they are first shown."""

    kinds = ("frames", "axes", "centres", "inertias", "forces")

    def __init__(self, plotter: Plotter, trajectory: Trajectory, size: float) -> None:
        self._plotter, self._trajectory, self._size = plotter, trajectory, size
        self._shown: set[str] = set()
        self._fixed: dict[str, list[tuple[int, Array, Any]]] = {}  # body, pose, actor
        self._triads: list[Triad] | None = None
        self._arrows: list[tuple[Any, Any]] = []  # shaft, tip
        self._forces = ForceArrows(trajectory)

    def toggle(self, kind: str) -> bool:
        """Show a kind of marks, or hide it; return whether it is shown."""
        self._shown ^= {kind}
        visible = kind in self._shown
        if kind == "frames":
            self._triads = self._triads or self._make_triads()
            for triad in self._triads:
                triad.set_visible(visible=visible)
        elif kind != "forces":
            if kind not in self._fixed:
                self._fixed[kind] = list(getattr(self, f"_make_{kind}")())
                for _, _, actor in self._fixed[kind]:
                    through(actor)
            for _, _, actor in self._fixed[kind]:
                actor.SetVisibility(visible)
        return visible

    def show(self, time: float, matrices: Array) -> None:
        """Move to the bodies at the poses (nbodies + 1, 4, 4) at `time` [s]."""
        for kind in self._shown & self._fixed.keys():
            for body, pose, actor in self._fixed[kind]:
                actor.user_matrix = matrices[body] @ pose
        if "frames" in self._shown:
            for triad in self._triads or ():
                triad.show(matrices)
        self._show_arrows(list(self._forces.at(time, matrices)) if "forces" in self._shown else [])

    def _make_triads(self) -> list[Triad]:
        names = self._trajectory.header.body_names
        return [Triad(self._plotter, self._trajectory, n, TRIAD * self._size) for n in names]

    def _make_axes(self) -> Iterator[tuple[int, Array, Any]]:
        for entry in self._trajectory.header.connections:
            if entry["role"] not in {"joint", "loop"} or entry["type"] in {"ball", "free", "weld"}:
                continue
            body, at = entry["frames"][0]
            pose = np.array(at, float)
            length = AXIS * self._size
            turned = np.eye(4)
            turned[:3, :3] = pose[:3, :3] @ shapes.frame_along(np.array(entry["axis"], float))
            turned[:3, 3] = pose[:3, 3] - 0.5 * length * turned[:3, 2]
            turned[:3, 2] *= length
            rod = shapes.rod(0.015 * length)
            yield body, turned, shapes.add(self._plotter, rod, colors.PALETTE[1])

    def _make_centres(self) -> Iterator[tuple[int, Array, Any]]:
        for body, theta in self._bodies():
            pose = np.eye(4)
            pose[:3, 3] = theta[1:4] / theta[0]
            actor = shapes.add(self._plotter, shapes.ball(CENTRE * self._size), colors.PALETTE[3])
            yield body, pose, actor

    def _make_inertias(self) -> Iterator[tuple[int, Array, Any]]:
        for body, theta in self._bodies():
            axes, pose = ellipsoid(theta)
            pose[:3, :3] = pose[:3, :3] * axes
            actor = shapes.add(self._plotter, shapes.ball(1.0), colors.PALETTE[4])
            actor.prop.opacity = 0.4
            yield body, pose, actor

    def _bodies(self) -> Iterator[tuple[int, Array]]:
        for entry in self._trajectory.header.connections:
            if entry["role"] == "body" and entry["theta"][0] > 0:
                yield entry["body"], np.array(entry["theta"], float)

    def _show_arrows(self, forces: list[tuple[Array, Array, str]]) -> None:
        while len(self._arrows) < len(forces):
            width = 0.006 * self._size
            parts = (shapes.rod(width), shapes.cone(3 * width, 7 * width))
            shaft, tip = (shapes.add(self._plotter, part) for part in parts)
            through(shaft)  # a thrust at the centre of a body is seen
            through(tip)
            self._arrows.append((shaft, tip))
        for k, pair in enumerate(self._arrows):
            for actor in pair:
                actor.SetVisibility(k < len(forces))
        for (shaft, tip), (point, force, color) in zip(self._arrows, forces, strict=False):
            end = point + self._forces.arrow(force, self._size)
            shaft.user_matrix = shapes.between(point, end)
            tip.user_matrix = shapes.between(end, end + force, scaled=False)
            for actor in (shaft, tip):
                actor.prop.color = color
                actor.SetVisibility(bool(np.linalg.norm(force) > 1e-6 * self._forces.strong))


def through(actor: Any) -> None:  # noqa: ANN401, VTK has no types
    """Draw an actor in front of the bodies around it."""
    mapper = actor.mapper
    mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(0, -2e6)


def ellipsoid(theta: Array) -> tuple[Array, Array]:
    """Return the semi-axes (3,) [m] and the pose (4, 4) of the homogeneous ellipsoid with θ (10,)."""
    m, c = theta[0], theta[1:4] / theta[0]
    xx, xy, yy, xz, yz, zz = theta[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
    principal, turn = np.linalg.eigh(inertia)
    if np.linalg.det(turn) < 0:
        turn[:, 0] = -turn[:, 0]
    axes = np.sqrt(np.maximum(5 * (principal.sum() / 2 - principal) / m, 0.0))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, c
    return np.maximum(axes, 1e-6), pose
