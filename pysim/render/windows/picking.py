"""Picking of bodies by the mouse, and the description of what was picked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.player import Player
    from pysim.trajectory import TrajectoryHeader

MOST_COORDINATES = 3  # coordinates of a joint
TOLERANCE = 1e-3  # of the window's diagonal


def body_at(player: Player, x: float, y: float) -> tuple[int, Array] | None:
    """Return the body (-1: the world) drawn at a pixel and the point (3,) [m] of its surface; None if there is none."""
    from vtkmodules.vtkRenderingCore import vtkCellPicker  # noqa: PLC0415, heavy

    picker = vtkCellPicker()
    picker.SetTolerance(TOLERANCE)
    picker.PickFromListOn()
    bodies = [(body, actor) for body, actors in player.actors.items() for actor in actors]
    for actor in [*(actor for _, actor in bodies), *(own.actor for own in player.tubes)]:
        picker.AddPickList(actor)
    picker.Pick(x, y, 0, player.plotter.renderer)
    found = picker.GetActor()
    point = np.array(picker.GetPickPosition())
    for own in player.tubes:
        if own.actor is found:
            return own.tube.body_at(point, player.posed), point
    return next(((body, point) for body, actor in bodies if actor is found), None)


def point_on_plane(player: Player, x: float, y: float, through: Array) -> Array:
    """Return the point (3,) [m] at a pixel on the plane through a point that is parallel to the picture."""
    renderer = player.plotter.renderer
    ends = []
    for depth in (0.0, 1.0):
        renderer.SetDisplayPoint(x, y, depth)
        renderer.DisplayToWorld()
        place = np.array(renderer.GetWorldPoint())
        ends.append(place[:3] / place[3])
    near, far = ends
    normal = player.orbit.towards
    share = normal @ (through - near) / (normal @ (far - near))
    return np.asarray(near + share * (far - near))


def state_of_body(header: TrajectoryHeader, body: int, place: Array, q: Array, v: Array) -> str:
    """Return a body's name, its place (3,) [m], and the coordinates, from q and v, of the joint that moves it."""
    if body < 0:
        return "world"
    x, y, z = place
    parts = [f"{header.body_names[body]}   x {x:.4g}  y {y:.4g}  z {z:.4g} m"]
    joint = header.joint_names[body] if body < len(header.joint_names) else ""
    for key, labels, units, values in (
        ("q", header.coordinate_names, header.coordinate_units, q),
        ("v", header.velocity_names, header.velocity_units, v),
    ):
        own = [k for k, label in enumerate(labels) if label.split(".")[0] == joint]
        for k in own[:MOST_COORDINATES]:
            unit = "" if units[k] in {"", "1"} else f" {units[k]}"
            parts.append(f"{key}.{labels[k]} {values[k]:.4g}{unit}")
    return "   ".join(parts)
