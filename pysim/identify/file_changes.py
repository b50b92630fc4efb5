"""Differences between a file and the identified mechanism.

A moving body may consist of several links welded together, and only their sum is identifiable. The link that gives the
body its name takes the difference; if that is not physically consistent, it takes everything and the others become
massless.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia import is_physical, move_theta
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model
    from pysim.scene.spec import BodySpec, ModelSpec

_VALUE_TOLERANCE = 1e-9
_KEYS = ("damping", "friction", "armature")


@dataclass
class Changes:
    """By link: θ (10,) about its own frame, or None where it becomes massless; by joint: key and values (nv,)."""

    links: dict[str, Array | None] = field(default_factory=dict)
    joints: dict[str, dict[str, Array]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def changes_of(model: Model, file: ModelSpec) -> Changes:
    """Return where a model's numbers differ from those of the file it was read from."""
    changes = Changes()
    for k, body in enumerate(model.bodies):
        welded = [link for link in file.bodies if model.frames[link.name][0] == k]
        _share(changes, body.name, body.theta, model, welded)
    given = {joint.name: joint for joint in file.joints}
    for joint in model.joints:
        for key in _KEYS if joint.name in given else ():  # a free base is not the file's
            new, old = getattr(joint, key), getattr(given[joint.name], key)
            if not np.allclose(new, old, rtol=_VALUE_TOLERANCE, atol=0):
                changes.joints.setdefault(joint.name, {})[key] = new
    return changes


def _share(changes: Changes, name: str, theta: Array, model: Model, welded: list[BodySpec]) -> None:
    """Put a moving body's θ on its links."""
    moved = {link.name: move_theta(link.theta, model.frames[link.name][1]) for link in welded}
    total = np.sum(list(moved.values()), axis=0)
    if np.allclose(
        theta, total, rtol=_VALUE_TOLERANCE, atol=_VALUE_TOLERANCE * np.abs(total).max()
    ):
        return
    others = [link.name for link in welded if link.name != name and link.theta.any()]
    own = theta - total + moved[name]
    if is_physical(own) and (own[0] > 0 or not own.any()):
        changes.links[name] = own
        return
    changes.links[name] = theta
    changes.links |= dict.fromkeys(others)
    changes.notes.append(f"{name} takes the mass of {', '.join(others)}, which are welded to it")
