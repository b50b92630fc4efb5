"""Gearboxes of SDF models as couplings of two hinges.

A gearbox relates the angles of its parent and of its child, both measured from a reference body:
θ₂ = −ratio θ₁, with θ₁ about <axis> and θ₂ about <axis2> (SDFormat's specification of <gearbox_reference_body>).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.sdf.joints import axis_in
from pysim.scene.sdf.values import number, text
from pysim.scene.spec import CouplingSpec
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.sdf.joints import JointItem

    Hinges = Mapping[tuple[str, str], tuple[str, Array]]  # name and axis by parent and child

PARALLEL = 1e-6  # largest deviation of the cosine from 1


def coupling_of(item: JointItem, hinges: Hinges) -> CouplingSpec | str:
    """Return the coupling of a gearbox, or why it has none.

    Args:
        item: the gearbox.
        hinges: name of each hinge and its axis in the world, by parent and child.
    """
    element = item.element
    if element.child("gearbox_reference_body") is None:
        element.fail(
            "a gearbox joint needs a <gearbox_reference_body>; name the body of both hinges"
        )
    reference, _, _ = item.scope.body(text(element, "gearbox_reference_body"), element)
    ratio = number(element, "gearbox_ratio", 1.0)
    terms: dict[str, float] = {}
    for link, tag, factor in ((item.child, "axis2", 1.0), (item.parent, "axis", ratio)):
        axis = element.child(tag)
        if axis is None:
            element.fail(f"a gearbox joint needs an <{tag}>")
        found = _hinge(hinges, reference, link, axis_in(item, axis, np.eye(4)))
        if found is None:
            return f"no hinge about its <{tag}> joins {reference!r} and {link!r}"
        name, sign = found
        terms[name] = terms.get(name, 0.0) + sign * factor
    return CouplingSpec(item.name, terms, where=element.where)


def _hinge(
    hinges: Hinges, reference: str, link: str, axis: tuple[float, float, float]
) -> tuple[str, float] | None:
    """Return the hinge between two bodies, and the sign of its angle from the first to the second about an axis."""
    for ends, sign in (((reference, link), 1.0), ((link, reference), -1.0)):
        if ends in hinges:
            name, own = hinges[ends]
            cosine = float(np.dot(own, axis))
            if abs(abs(cosine) - 1) < PARALLEL:
                return name, sign if cosine > 0 else -sign
    return None
