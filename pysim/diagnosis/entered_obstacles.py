"""Ends of paths that enter an obstacle, over which the path cannot wrap: its length jumps there, and so does energy.

d = 1 − |D⁻¹ p_O| of the points before and after an obstacle with the radii D, p_O their place in its frame, without z
for a cylinder; of a torus, 1 − |(ρ − R, z)|/r
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import frame_placement
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.mechanism.model import Model
    from pysim.scene.spec import PathPart
    from pysim.worlds.loading import Scene

LEAST_DEPTH = 1e-6  # of the radius, by which an end is inside
MOST_ROWS = 512  # outputs that are looked at


def entered_obstacle(scene: Scene, t: Array, q: Array) -> str | None:
    """Describe the first end of a path that is inside an obstacle at outputs t (n,), q (n, nq); None if none is."""
    rows = np.flatnonzero(np.isfinite(q).all(axis=1))
    if len(rows) > MOST_ROWS:
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int))]
    if not len(rows):
        return None
    for name, parts in _paths(scene):
        for k, part in enumerate(parts):
            if not part.is_obstacle or part.inside:
                continue
            ends = [
                next((p for p in beside if not p.is_obstacle), part)
                for beside in (parts[k::-1], parts[k:])
            ]
            for end in ends:
                depth = _depth(scene.model, q[rows], part, end)
                inside = np.flatnonzero(depth > LEAST_DEPTH)
                if inside.size:
                    first = float(t[rows[inside[0]]])
                    size = f"of radius {part.radius:g} [m]"
                    if part.kind == "ellipsoid":
                        size = "with the semi-axes {:g}, {:g}, {:g} [m]".format(*part.semi_axes)
                    elif part.kind == "torus":
                        size = f"with the radii {part.radius:g} and {part.tube:g} [m]"
                    obstacle = f"{part.kind} {size} on {part.body!r}"
                    far = depth.max() * min(part.radii)
                    return (
                        f"{scene.spec.path}: {name}: the point on {end.body!r} is inside the {obstacle}, by"
                        f" {far:.3g} [m], first at t = {first:.6g} s; the path does not wrap"
                        " there, and its length and the energy jump: keep the point outside, or take a smaller radius"
                    )
    return None


def _paths(scene: Scene) -> Iterator[tuple[str, Sequence[PathPart]]]:
    """Yield the name and the parts of every path of a force or an actuator that no event releases.

    A sensor moves nothing, and what is released no longer does.
    """
    released = {name for event in scene.spec.events for name in event.release}
    for force in scene.model.spec.forces:
        if force.path and not force.is_released:
            yield f"force {force.name!r}", force.path
    for block in scene.spec.blocks:
        if block.points and block.kind == "actuator" and block.name not in released:
            yield f"{block.kind} {block.name!r}", block.points


def _depth(model: Model, q: Array, obstacle: PathPart, end: PathPart) -> Array:
    """Return how far a point of a path is inside an obstacle (n,), in its radii, negative outside."""
    if end.kind != "point":
        return np.full(len(q), -np.inf)
    X = _pose(model, q, obstacle.body) @ obstacle.at
    body, point = _pose(model, q, end.body), _point(model, q, end)
    away = (body[:, :3, :3] @ point[..., None])[..., 0] + body[:, :3, 3] - X[:, :3, 3]
    place = np.einsum("nji,nj->ni", X[:, :3, :3], away)
    if obstacle.kind == "torus":
        off = np.hypot(place[:, 0], place[:, 1]) - obstacle.radius
        return np.asarray(1 - np.hypot(off, place[:, 2]) / obstacle.tube)
    local = place / obstacle.radii
    if obstacle.kind == "cylinder":
        local = local[:, :2]
    return np.asarray(1 - np.linalg.norm(local, axis=1))


def _pose(model: Model, q: Array, body: str) -> Array:
    """Return the pose (n, 4, 4) of a body of a path."""
    if body == "world":
        return np.tile(np.eye(4), (len(q), 1, 1))
    return np.asarray(frame_placement(model, q, body))


def _point(model: Model, q: Array, part: PathPart) -> Array:
    """Return a point of a path in its body (n, 3), where coordinates may move it."""
    if not part.moves:
        return np.tile(part.point, (len(q), 1))
    values = dict(zip(model.coordinate_names, q.T, strict=True))
    for joint in model.joints:
        if joint.mimic is not None:
            values[joint.name] = joint.mimic.ratio * values[joint.mimic.joint] + joint.mimic.offset
    return part.place(values)
