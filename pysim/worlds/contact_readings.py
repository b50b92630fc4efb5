"""Readings of contact sensors: sums over the points of a report at which a body touches others.

The sums are those of cpp/contact/sensors.hpp. The numbers are held among those of the signals: they are set from the
report of the contacts before sampled blocks run and before signals are recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import SceneError
from pysim.typing import Array
from pysim.worlds.contact_report import start_report

if TYPE_CHECKING:
    from pysim.contact import CompiledContacts
    from pysim.elements.graph_types import TouchedBody
    from pysim.worlds.loading import Scene


def check_contact_sensors(scene: Scene) -> None:
    """Reject contact sensors of bodies that nothing can touch.

    Raises:
        SceneError: there is one; the text says what to do.
    """
    if scene.signals is None:
        return
    pairs = () if scene.contacts is None else scene.contacts.pairs
    for touched, _ in scene.signals.contacts:
        met = {pair.second for pair in pairs if pair.first == touched.link}
        met |= {pair.first for pair in pairs if pair.second == touched.link}
        label = f"sensor {touched.name!r}"
        if not met:
            problem = f"{label}: nothing in the scene can touch {touched.link!r}"
            remedy = "give it and others collision shapes, or add a [[contact]] or [[ground]]"
            raise SceneError(touched.where, f"{problem}; {remedy}")
        for other in touched.others:
            if other not in met:
                problem = f"{label}: {touched.link!r} and {other!r} cannot touch"
                names = ", ".join(map(repr, sorted(met)))
                raise SceneError(touched.where, f"{problem}; name some of {names}")


def contact_sensors(scene: Scene) -> list[tuple[Any, ...]]:
    """Return contact sensors as the engine reads them (ContactSensor of cpp/engine/contact_sensors.hpp)."""
    contacts = scene.contacts
    if scene.signals is None or contacts is None:
        return []
    sensors = []
    for touched, places in scene.signals.contacts:
        signs = _sides(contacts, touched)[contacts.shapes.pair] * contacts.signs_of_shapes
        shapes = np.flatnonzero(signs)
        base, axes = (touched.body, touched.at) if touched.base is None else touched.base
        frames = (np.asarray(touched.at).ravel().tolist(), np.asarray(axes).ravel().tolist())
        sensors.append(
            (list(places), touched.body, base, *frames, shapes.tolist(), signs[shapes].tolist())
        )
    return sensors


def set_contact_numbers(
    scene: Scene, numbers: Array, q: Array, v: Array, report: Array | None
) -> None:
    """Set the numbers of the contact sensors among those of the signals (n, numbers), in place.

    Args:
        scene: whose signals and contacts they are.
        numbers: of the signals.
        q: configurations (n, nq).
        v: velocities (n, nv).
        report: of the contacts (n, points, 18) after a convex step; None where contacts are smooth or the run begins.
    """
    if scene.signals is None or not scene.signals.contacts or scene.contacts is None:
        return
    if report is None:
        report = start_report(scene, q, v)
    shapes = scene.contacts.shape_of_point
    _engine.measure_contacts(scene.model, q, report, numbers, scene.contact_sensors, shapes)


def with_contact_numbers(
    scene: Scene, numbers: Array, q: Array, v: Array, report: Array | None
) -> Array:
    """Return the numbers of the signals (n, numbers) with those of contact sensors, see `set_contact_numbers`."""
    if scene.signals is None or not scene.signals.contacts:
        return numbers
    found = numbers.copy()
    set_contact_numbers(scene, found, q, v, report)
    return found


def _sides(contacts: CompiledContacts, touched: TouchedBody) -> Array:
    """Return the sign (pairs,) of the forces on a body in every pair of links, 0 where it is in none."""
    return np.array([touched.side(pair.first, pair.second) for pair in contacts.pairs], float)
