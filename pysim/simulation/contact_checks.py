"""Warnings about contacts: overlaps at the start, bodies that pass through each other, and bodies that sink."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.contact import distances
from pysim.contact.compiler import root_bodies
from pysim.errors import PysimWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim.contact.compiler import ShapePair
    from pysim.simulation.loading import Scene
    from pysim.trajectory import Trajectory

    Array = NDArray[np.float64]

DEEP_START = 10.0  # of the depth at rest: an overlap at the start that throws a body back
DEEP = 0.5  # of a shape's smallest half size: a contact that has sunk


def contact_warnings(scene: Scene) -> Iterator[str]:
    """Describe shapes that overlap a ground at the start, and mechanisms that pass through each other."""
    contacts = scene.contacts
    if contacts is None or not contacts.shapes:
        return
    poses = forward_kinematics(scene.model, scene.state.q)
    deepest: dict[int, tuple[float, float]] = {}
    for shape in contacts.shapes:
        depth = -_distance(shape, poses[shape.body] @ shape.pose)
        if depth > DEEP_START * shape.law.sink:
            deepest[shape.pair] = max((depth, shape.law.sink), deepest.get(shape.pair, (0.0, 0.0)))
    for pair, (depth, sink) in deepest.items():
        yield (
            f"contact {contacts.pairs[pair].name}: overlaps by {depth:.3g} [m] at the start, and rests at"
            f" {sink:.2g} [m]; start it higher, or it is thrown back"
        )
    roots = root_bodies(scene.model)
    apart = sorted({roots[shape.body] for shape in contacts.shapes})
    if len(apart) > 1:
        names = ", ".join(repr(scene.model.body_names[k]) for k in apart[:3])
        more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
        yield (
            f"the mechanisms of {names}{more} pass through each other: this version computes the contacts of bodies"
            " with the ground alone"
        )


def warn_of_sinking(scene: Scene, trajectory: Trajectory) -> None:
    """Warn of the first contact of every pair that was deeper than half of its shape."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points):
        return
    times = np.repeat(trajectory.t, np.diff(points.offsets))
    for k, pair in enumerate(contacts.pairs):
        shapes = [shape for shape in contacts.shapes if shape.pair == k]
        allowed = DEEP * max(_half_size(shape) for shape in shapes)
        sunk = np.flatnonzero((points.pair == k) & (points.penetration > allowed))
        if not sunk.size:
            continue
        depth = float(points.penetration[sunk].max())
        force = float(np.linalg.norm(points.force[sunk], axis=1).max())
        text = (
            f"contact {pair.name}: sinks by {depth:.3g} [m], first at t = {times[sunk[0]]:g} s; a stiffness of"
            f" {force / (0.1 * allowed):.2g} [N/m] would carry the {force:.3g} [N]"
        )
        warnings.warn(text, PysimWarning, stacklevel=3)


def _half_size(shape: ShapePair) -> float:
    """Return half of the smallest extent of a shape [m]."""
    if shape.shape.mesh is not None:
        return float(np.ptp(shape.vertices, axis=0).min()) / 2
    size = shape.shape.size
    if shape.shape.kind == "box":
        return min(size) / 2
    if shape.shape.kind == "cylinder":
        return min(size[0], size[1] / 2)
    return min(size) if shape.shape.kind == "ellipsoid" else size[0]


def _distance(shape: ShapePair, pose: Array) -> float:
    """Return how far a shape is from its ground [m], negative if it overlaps."""
    normal = np.array(shape.ground.normal)
    if shape.shape.mesh is not None:
        vertices = shape.vertices @ pose[:3, :3].T + pose[:3, 3]
        return float((vertices @ normal).min()) - shape.ground.offset
    ground = np.eye(4)
    across = np.cross(normal, [1.0, 0, 0] if abs(normal[0]) < 0.8 else [0, 1.0, 0])
    across /= np.linalg.norm(across)
    ground[:3, :3] = np.column_stack([across, np.cross(normal, across), normal])
    ground[:3, 3] = shape.ground.offset * normal
    return float(distances(None, ground, shape.shape, pose).distance)
