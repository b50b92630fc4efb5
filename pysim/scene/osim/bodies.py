"""Bodies of an OpenSim model: mass properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia import move_theta, theta_from_com
from pysim.scene.inertia_policy import apply_inertia_policy
from pysim.scene.osim.frames import GROUND
from pysim.scene.osim.values import members, name_of, not_negative, number, numbers
from pysim.scene.spec import BodySpec
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.urdf.xml import Element

_ENTRIES = ("xx", "yy", "zz", "xy", "xz", "yz")


def read_bodies(model: Element, policy: InertiaPolicy) -> list[BodySpec]:
    """Return the bodies of a model, without geometries."""
    return [
        BodySpec(name_of(body), _theta(body, policy), (), body.where)
        for body in members(model, "BodySet")
        if name_of(body) != GROUND
    ]


def _theta(body: Element, policy: InertiaPolicy) -> Array:
    """Return θ (10,) about the body's origin, of the tensor about the centre of mass."""
    mass = not_negative(body, "mass", "kg", 0.0)
    if body.child("inertia") is not None:
        entries = numbers(body, "inertia", 6, (0.0,) * 6)
    else:
        entries = tuple(number(body, f"inertia_{key}", 0.0) for key in _ENTRIES)
    xx, yy, zz, xy, xz, yz = entries
    about_com = theta_from_com(mass, np.zeros(3), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_com = apply_inertia_policy(about_com, body, f"body {name_of(body)!r}", policy)
    X = np.eye(4)
    X[:3, 3] = numbers(body, "mass_center", 3, (0.0, 0.0, 0.0))
    return move_theta(about_com, X)
