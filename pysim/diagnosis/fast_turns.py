"""Detects bodies that turn too far in a convex step while they touch something.

Contacts of a step see bodies in their pose at its start, with velocities on these axes. A body that turns by h |ω| > 1
within a step moves other points into touch than those that pushed, and its impulses act along axes that are no longer
its own. Of a body of revolution only the component of ω across its axis counts: spin about it moves no surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.joints import find_joint
from pysim.typing import Array
from pysim.worlds.contact_report import FORCE

if TYPE_CHECKING:
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene
    from pysim.worlds.segment import Segment

LARGEST_ANGLE = 1.0  # [rad] in a step
EQUAL_INERTIA = 1e-6  # relative difference of principal moments of inertia that count as equal


def check_turns(scene: Scene, part: Segment) -> None:
    """Check the outputs of a segment of convex steps of fixed size.

    Raises:
        SimulationError: a body that touches something on a joint with a rotation turns by more than 1 rad in a step.
    """
    settings, contacts = scene.settings, scene.contacts
    if contacts is None or part.report is None or settings.integrator != "convex":
        return
    if settings.parameters.get("accuracy") or not len(part.t):
        return
    model, h = scene.model, settings.step
    for body, (joint, at) in enumerate(zip(model.joints, model.v_offsets, strict=True)):
        for first, nv in find_joint(joint.type).turning if at >= 0 else ():
            w = part.v[:, at + first : at + first + nv][:, -3:]
            fast = np.flatnonzero(np.linalg.norm(w, axis=1) * h > LARGEST_ANGLE)
            if not fast.size:
                continue
            turns = h * np.linalg.norm(w[fast] @ _across(model, body), axis=1)
            for row, turn in zip(fast.tolist(), turns.tolist(), strict=True):
                if turn > LARGEST_ANGLE and _touches(scene, body, part.report[row]):
                    raise SimulationError(
                        str(scene.spec.path), _problem(scene, joint.name, turn, float(part.t[row]))
                    )


def _problem(scene: Scene, joint: str, turn: float, t: float) -> str:
    h = scene.settings.step
    return (
        f"at t = {t:.9g} s the body of joint {joint!r} touches something and turns by {turn:.3g} rad in a step of"
        f" {h:g} s, more than the {LARGEST_ANGLE:g} rad that a contact in a convex step follows; reduce"
        f" simulation.step to {0.3 * h * LARGEST_ANGLE / turn:.2g} [s] or less, or set accuracy"
    )


def _touches(scene: Scene, body: int, report: Array) -> bool:
    assert scene.contacts is not None
    shapes = scene.contacts.shapes
    bodies = np.array([*(shape.body for shape in shapes.placed), -1])  # the last one is the world
    own = (bodies[shapes.moving] == body) | (bodies[shapes.opposite] == body)
    points = own[scene.contacts.shape_of_point]
    return bool((report[points][:, FORCE] != 0).any())


def _across(model: Model, body: int) -> Array:
    """Return the projection (3, 3) across the axis of a body of revolution; the unit matrix of other bodies."""
    m, *rest = model.parameters[body].tolist()
    c = np.array(rest[:3]) / m if m > 0 else np.zeros(3)
    xx, xy, yy, zx, yz, zz = rest[3:]
    inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    inertia -= m * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(inertia)
    near = EQUAL_INERTIA * moments[2]
    low, high = moments[1] - moments[0] <= near, moments[2] - moments[1] <= near
    if low and high:
        return np.zeros((3, 3))
    if not (low or high):
        return np.eye(3)
    axis = axes[:, 2 if low else 0]
    return np.eye(3) - np.outer(axis, axis)
