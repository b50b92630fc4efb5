"""Warnings about contacts: overlaps, bodies that pass through each other or sink, and steps that are too long."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.contact.hulls import is_left_out
from pysim.contact.pair_distances import distance_of, near_shapes
from pysim.contact.self_contact import DEEP_START, overlaps_of_links
from pysim.errors import PysimWarning
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pysim.contact.compiler import CompiledContacts
    from pysim.contact.shape_pairs import ShapePair
    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

UNBALANCED = 0.3  # of energy and work: more is no error of a step that resolves the contact
MOST_LISTED_PAIRS = 8  # pairs that overlap at the start, in a warning
SUNK_SHARE = 0.5  # of a shape's smallest half size: a contact that has sunk


def contact_warnings(scene: Scene) -> Iterator[str]:
    """Describe shapes that overlap at the start."""
    contacts = scene.contacts
    if contacts is None:
        return
    poses = forward_kinematics(scene.model, scene.state.q)
    deepest: dict[int, tuple[float, float]] = {}
    for k in near_shapes(contacts.shapes, poses):
        shape = contacts.shapes[k]
        depth = -distance_of(shape, poses)
        if depth > DEEP_START * shape.law.sink:
            deepest[shape.pair] = max((depth, shape.law.sink), deepest.get(shape.pair, (0.0, 0.0)))
    named = {contacts.pairs[pair].name: found for pair, found in deepest.items()}
    grounded = {name: found for name, found in named.items() if WORLD in name.split(", ")}
    others = {name: found for name, found in named.items() if name not in grounded}
    yield from _overlaps(grounded, "start it higher")
    yield from _overlaps(others, "move one of them, or add an [[exclude]]")
    yield from _links_left_out(contacts)
    yield from _left_out(scene)


def _links_left_out(contacts: CompiledContacts) -> Iterator[str]:
    """Describe the links of one robot that overlap at the start, and therefore do not touch each other."""
    found = overlaps_of_links(contacts)
    if found:
        pairs = "pair of links" if len(found) == 1 else "pairs of links"
        listed = deepest_first(found, MOST_LISTED_PAIRS)
        yield (
            f"{len(found)} {pairs} of one robot overlap at the start [m] and do not touch each other: {listed}; "
            "start them apart, or let them touch by a [[contact]] that names both"
        )


def _overlaps(depths: Mapping[str, tuple[float, float]], remedy: str) -> Iterator[str]:
    """Describe the deepest overlap of pairs by name, with depth and depth at rest [m], and name the others."""
    names = sorted(depths, key=lambda name: -depths[name][0])
    if not names:
        return
    depth, sink = depths[names[0]]
    text = (
        f"contact {names[0]}: the surfaces overlap by {depth:.3g} [m] at the start and by {sink:.2g} [m] at rest, so "
        f"they will be thrown apart; {remedy}"
    )
    if len(names) > 1:
        listed = deepest_first({name: depths[name][0] for name in names[1:]}, MOST_LISTED_PAIRS)
        text += f" ({len(names) - 1} more pairs overlap, by less: {listed})"
    yield text


def deepest_first(depths: Mapping[str, float], most: int, unit: str = "") -> str:
    """Return the deepest of overlaps by name, at most so many, and how many more there are."""
    names = sorted(depths, key=lambda name: -depths[name])
    listed = "; ".join(f"{name} by {depths[name]:.3g}{unit}" for name in names[:most])
    return listed + (f"; and {len(names) - most} more" if len(names) > most else "")


def _left_out(scene: Scene) -> Iterator[str]:
    """Describe the shapes of other programs' files that cannot touch anything, because their mesh is flat."""
    flat = [
        (link.name, collision)
        for link in scene.model.spec.bodies
        for collision in link.collisions
        if is_left_out(collision)
    ]
    if flat:
        name, shape = flat[0]
        assert shape.shape.mesh is not None
        more = f", and so are {len(flat) - 1} more" if len(flat) > 1 else ""
        yield (
            f"{shape.where}: the mesh {shape.shape.mesh.name!r} of {name!r} is flat, and is left out of contacts{more};"
            " give the shape a thickness if it should touch"
        )


def warn_of_sinking(scene: Scene, trajectory: Trajectory, stacklevel: int = 2) -> None:
    """Warn of the first contact of every pair that was deeper than half of its shape."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points):
        return
    times = np.repeat(trajectory.t, np.diff(points.offsets))
    for k in np.unique(points.pair).tolist():
        pair = contacts.pairs[k]
        allowed = SUNK_SHARE * smaller_half_size(contacts.shapes.of_pair(k))
        sunk = np.flatnonzero((points.pair == k) & (points.penetration > allowed))
        if not sunk.size:
            continue
        depth = float(points.penetration[sunk].max())
        force = float(np.linalg.norm(points.force[sunk], axis=1).max())
        text = (
            f"contact {pair.name}: sinks by {depth:.3g} [m], first at t = {times[sunk[0]]:g} s; a stiffness of"
            f" {force / (0.1 * allowed):.2g} [N/m] would carry the {force:.3g} [N]"
        )
        warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def warn_of_long_steps(scene: Scene, trajectory: Trajectory, stacklevel: int = 2) -> None:
    """Warn of smooth contacts whose steps are so long that the energy balance is off by more than an error."""
    contacts, settings = scene.contacts, scene.settings
    if scene.smooth_contacts is None or contacts is None or not trajectory.work:
        return
    with np.errstate(all="ignore"):  # of runs that grow without bound
        gained = trajectory.energy_balance - trajectory.energy_balance[0]
        exchanged = sum(np.abs(work).max() for work in trajectory.work.values())
        scale = trajectory.kinetic.max() + np.ptp(trajectory.energy - trajectory.kinetic)
        large = np.flatnonzero(gained > UNBALANCED * (scale + exchanged))
    pairs = [pair.name for pair in contacts.pairs if pair.name in trajectory.work]
    if not large.size or not pairs:
        return
    name = max(pairs, key=lambda pair: float(np.abs(trajectory.work[pair]).max()))
    text = (
        f"contact {name}: steps of {settings.step:g} [s] are too long for it with {settings.integrator!r}: the energy "
        f"balance is off by {gained.max():.3g} [J], first at t = {trajectory.t[large[0]]:g} s; take a step of "
        f'{settings.step / 4:.2g} [s] or less, or integrator = "convex"'
    )
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def smaller_half_size(pairs: Iterable[ShapePair]) -> float:
    """Return the smaller half size of two shapes that touch, the largest of several pairs of shapes [m]."""
    return max(map(_smaller_half_size, pairs))


def _smaller_half_size(pair: ShapePair) -> float:
    shapes = [shape for shape in (pair.moving, pair.opposite) if shape is not None]
    return min(shape.thickness for shape in shapes) / 2
