"""Changes by which a scene's model tables adapt bodies and joints of other files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.spec import CollisionSpec, DecompositionSpec

if TYPE_CHECKING:
    from pysim.scene.spec import BodySpec, JointSpec
    from pysim.scene.toml.records.tables import BodyOverrides, Model


def shapes_for_contact(body: BodySpec) -> tuple[CollisionSpec, ...]:
    """Return the shapes of a file's link that are made for contact; meshes stand for their convex hulls."""
    return tuple(
        CollisionSpec(geometry.shape, geometry.pose, convex=True, where=body.where)
        for geometry in body.geometries
        if geometry.role == "collision"
    )


def of_robot(body: BodySpec, file: str, stated: bool | None) -> BodySpec:
    """Return a body whose shapes for contact are of a robot's file, which may state that its links touch."""
    if all((own.robot, own.self_collision) == (file, stated) for own in body.collisions):
        return body
    found = (replace(own, robot=file, self_collision=stated) for own in body.collisions)
    return replace(body, collisions=tuple(found))


def in_convex_parts(body: BodySpec) -> BodySpec:
    """Return a body whose meshes collide as convex parts."""
    parts = DecompositionSpec()
    collisions = tuple(
        replace(own, convex=False, decomposition=parts) if own.shape.kind == "mesh" else own
        for own in body.collisions
    )
    return replace(body, collisions=collisions)


def painted(body: BodySpec, look: BodyOverrides | None) -> BodySpec:
    """Return a body in the colour of its overrides, if they have one."""
    if look is None or look.color is None:
        return body
    return replace(body, geometries=tuple(replace(g, color=look.color) for g in body.geometries))


def without_excluded(joint: JointSpec, table: Model) -> JointSpec:
    """Remove the parts of the file that the table excludes."""
    zeros = np.zeros_like(joint.damping)
    if not table.limits:
        joint = replace(
            joint,
            lower=np.full_like(zeros, -np.inf),
            upper=np.full_like(zeros, np.inf),
            stop_stiffness=zeros,
            stop_damping=zeros,
        )
    if not table.damping:
        joint = replace(joint, damping=zeros)
    if not table.enforce_limits:
        joint = replace(joint, enforce_limits=False)
    return joint if table.friction else replace(joint, friction=zeros)
