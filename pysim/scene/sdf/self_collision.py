"""Links of one SDF model that do not touch each other.

Two links of a model touch if the `<self_collide>` of one of them is true, or that of their model where a link has none;
it is false by default. Links that a joint connects never touch. Links of different models do.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from pysim.scene.sdf.frames import body_label
from pysim.scene.sdf.values import truth

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pysim.scene.sdf.frames import Scope
    from pysim.scene.spec import BodySpec, JointSpec
    from pysim.scene.urdf.xml import Element


def pairs_without_contact(
    scopes: Iterable[Scope],
    bodies: Mapping[str, BodySpec],
    joints: Iterable[JointSpec],
    joined: Collection[frozenset[str]],
    stated: bool | None = None,
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of bodies that have shapes for contact, and do not touch each other.

    Args:
        scopes: models.
        bodies: by name.
        joints: of the tree, whose bodies need no table to be left out.
        joined: pairs of bodies that a joint of the file connects.
        stated: whether links of a model touch, in place of what the file says.
    """
    solid = [
        name for name, body in bodies.items() if any(g.role == "collision" for g in body.geometries)
    ]
    known = {frozenset((joint.parent, joint.child)) for joint in joints}
    apart = {pair for pair in joined if pair <= set(solid)}
    for scope in scopes:
        own = {
            body_label(scope, name): _self_collides(scope, link) if stated is None else stated
            for name, link in scope.links.items()
        }
        names = [name for name in solid if name in own]
        apart |= {
            frozenset(pair) for pair in combinations(names, 2) if not (own[pair[0]] or own[pair[1]])
        }
    return tuple(pair for pair in combinations(solid, 2) if frozenset(pair) in apart - known)


def _self_collides(scope: Scope, link: Element) -> bool:
    """Return whether a link touches others of its model."""
    holder = scope.element if link.child("self_collide") is None else link
    return truth(holder, "self_collide")
