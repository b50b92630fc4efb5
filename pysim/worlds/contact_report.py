"""Reports of contact points from the engine: forces of pairs, wrenches on bodies, and points that touch.

A report (n, points, 18) is force on the second body (3) [N], point (3) [m], penetration [m], slip speed [m/s], 1 where
it sticks, impulse (3) [N·s] since the output before, the normal (3) towards the second body, and the moment (3)
[N·m] of rolling and spinning friction on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.algorithms import forward_kinematics
from pysim.trajectory.contacts import ContactPoints, contact_points, no_points
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pysim.contact import CompiledContacts
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene

NUMBERS = 18
FORCE, POINT, PENETRATION, SLIP, STICKS = slice(0, 3), slice(3, 6), 6, 7, 8
IMPULSE, NORMAL, MOMENT = slice(9, 12), slice(12, 15), slice(15, 18)


def report_by_point(
    listed: Array, contacts: Array, touching: NDArray[np.integer[Any]], worlds: Iterable[int]
) -> Array:
    """Return reports (worlds, points, 18), each at its point, of those that records list.

    Args:
        listed: (n, points, 18) reports of the points that touch, which come first.
        contacts: (n, points, 6) their numbers, and what their contacts remember.
        touching: (n,) how many they are.
        worlds: numbers of the worlds that are wanted.
    """
    chosen = list(worlds)
    found = np.zeros((len(chosen), *listed.shape[1:]))
    for k, world in enumerate(chosen):
        some = contacts[world, : touching[world], 0].astype(int)
        found[k, some] = listed[world, : len(some)]
    return found


def start_report(scene: Scene, q: Array, v: Array) -> Array:
    """Return the reports (n, points, 18) of states that no convex step has led to: of smooth forces, else zeros.

    Smooth forces are not integrated separately, so their impulses are NaN; those of impacts are added to zeros.
    """
    if scene.smooth_contacts is None:
        points = 0 if scene.contacts is None else scene.contacts.engine.points
        return np.zeros((len(q), points, NUMBERS))
    report: Array = _engine.contact_points(scene.smooth_contacts, q, v)
    report[..., IMPULSE] = 0.0 if scene.settings.contact_law == "impact" else np.nan
    return report


def reported_points(contacts: CompiledContacts | None, report: Array) -> ContactPoints:
    """Return the points that touch in n reports."""
    if contacts is None or not contacts.pairs:
        return no_points(len(report))
    touching = (report[..., FORCE] != 0).any(axis=2)
    rows, points = np.nonzero(touching)
    own = report[rows, points]
    pair = contacts.pair_of_point[points]
    columns: dict[str, Array] = {
        "pair": pair.astype(float),
        "point": own[:, POINT],
        "normal": contacts.signs[points, np.newaxis] * own[:, NORMAL],
        "force": contacts.signs[points, np.newaxis] * own[:, FORCE],
        "penetration": own[:, PENETRATION],
        "slip_speed": own[:, SLIP],
        "stuck": own[:, STICKS],
    }
    return contact_points(touching.sum(axis=1), columns)


def pair_sums(contacts: CompiledContacts, report: Array) -> tuple[Array, Array]:
    """Return forces [N] and impulses [N·s] (n, pairs, 3) of every pair on its second link, in world axes."""
    sums = np.zeros((2, len(contacts.pairs), len(report), 3))
    for total, part in zip(sums, (FORCE, IMPULSE), strict=True):
        used = np.flatnonzero(report[..., part].any(axis=(0, 2)))
        signed = contacts.signs[used, np.newaxis] * report[:, used, part]
        np.add.at(total, contacts.pair_of_point[used], signed.swapaxes(0, 1))
    force, impulse = sums.swapaxes(1, 2)
    return force, impulse


def contact_wrenches(contacts: CompiledContacts, model: Model, q: Array, report: Array) -> Array:
    """Return the wrenches (n, nbodies, 6) [N, N·m] of contacts on bodies, in their frames."""
    wrenches = np.zeros((len(report), model.nbodies, 6))
    poses = forward_kinematics(model, q)
    used = np.flatnonzero(report[..., FORCE].any(axis=(0, 2)))
    for k in np.unique(contacts.shape_of_point[used]).tolist():
        first, end = np.searchsorted(contacts.shape_of_point, (k, k + 1))
        points, shape = report[:, first:end], contacts.shapes[k]
        for body, sign in (
            (shape.body, 1.0),
            (-1 if shape.opposite is None else shape.opposite.body, -1.0),
        ):
            if body < 0:
                continue
            R, origin = poses[:, body, :3, :3], poses[:, body, :3, 3]
            force = sign * points[..., FORCE]
            moment = np.cross(points[..., POINT] - origin[:, np.newaxis], force).sum(axis=1)
            moment = moment + sign * points[..., MOMENT].sum(axis=1)
            wrenches[:, body, :3] += np.einsum("nji,nj->ni", R, force.sum(axis=1))
            wrenches[:, body, 3:] += np.einsum("nji,nj->ni", R, moment)
    return wrenches
