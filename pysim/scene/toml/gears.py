"""Meshes of gears: the ratios of a coupling from numbers of teeth, a carrier and a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError, did_you_mean
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.spec import JointSpec
    from pysim.scene.toml.records.constraint_tables import Coupling
    from pysim.typing import Array

PARALLEL_SINE = 1e-9  # sine of the angle between two axes below which gears are spur gears
# share of a centre distance by which it may differ from that of the module
CENTRE_DISTANCE_TOLERANCE = 1e-6
TURNING = ("revolute", "continuous")


@dataclass(frozen=True)
class Wheel:
    """A gear of a mesh: its signed number of teeth, and its axis in the world where all coordinates are 0.

    A wheel of the world has no joint, and no axis.
    """

    teeth: int
    joint: JointSpec | None
    axis: Array | None = None  # (3,)
    origin: Array | None = None  # (3,) [m]


def gear_ratios(table: Coupling, joints: Mapping[str, JointSpec]) -> dict[str, float]:
    """Return the ratios of the other coordinates of a coupling that is a mesh of gears.

    With z teeth, of the wheels a and b, and turns measured against the carrier c about a common direction,

        z_a (q_a − q_c) + z_b (q_b − q_c) = 0

    A coordinate of a joint on the carrier is measured against it already. A rack moves by the arc of the pitch
    circle, m z/2 q.

    Raises:
        PysimError: at one of the keys teeth, carrier and module.
    """
    name = table.joint
    partners = [other for other in table.teeth if other != name]
    if len(partners) != 1 or len(table.teeth) not in (1, 2):
        problem = (
            f"must be given for two gears, or for the pinion of a rack, got {len(table.teeth)}"
        )
        raise PysimError("teeth", f"{problem}; write teeth = {{ {name} = 30, pinion = 20 }}")
    if 0 in table.teeth.values():
        raise PysimError(
            "teeth", "must not be 0; write a negative number for a ring with inner teeth"
        )
    if name not in table.teeth:
        return _rack_ratio(table, partners[0], joints)
    a, b = _wheel(partners[0], table, joints), _wheel(name, table, joints)
    facing = _facing(a, b)
    ratio = -a.teeth / (facing * b.teeth)  # of q_a
    ratios = {} if a.joint is None else {partners[0]: ratio}
    if table.carrier is None:
        if a.joint is None:
            problem = f"a gear fixed to the world turns {name!r} only with a carrier"
            raise PysimError("carrier", f"{problem}; name the joint of the carrier")
    else:
        carrier = _joint("carrier", table.carrier, joints)
        middle = Wheel(1, carrier, *_axis(carrier, joints))
        of_carrier = 0.0
        for wheel, factor in ((a, -ratio), (b, 1.0)):
            if wheel.joint is None:
                of_carrier += factor * _facing(middle, b) * facing
            elif _is_held(wheel, carrier, joints):
                of_carrier += factor * _facing(middle, wheel)
        if of_carrier:
            ratios[table.carrier] = of_carrier
    if table.module is not None:
        _check_distance(table, a, b, joints)
    return ratios


def _is_held(wheel: Wheel, carrier: JointSpec, joints: Mapping[str, JointSpec]) -> bool:
    """Return whether a gear turns on what holds the carrier, False if it turns on the carrier.

    Raises:
        PysimError: it turns on neither.
    """
    assert wheel.joint is not None
    holder = _rigid_root(wheel.joint.parent, joints)
    if holder == _rigid_root(carrier.child, joints):
        return False
    if holder != _rigid_root(carrier.parent, joints):
        problem = f"{wheel.joint.name!r} turns neither on the carrier {carrier.name!r} nor on what holds it"
        raise PysimError(
            "carrier", f"{problem}; name the joint of the body that {wheel.joint.name!r} is on"
        )
    return True


def _rigid_root(body: str, joints: Mapping[str, JointSpec]) -> str:
    """Return the body nearest to the world to which fixed joints hold a body."""
    by_child = {own.child: own for own in joints.values()}
    while body in by_child and by_child[body].type == "fixed":
        body = by_child[body].parent
    return body


def _rack_ratio(table: Coupling, pinion: str, joints: Mapping[str, JointSpec]) -> dict[str, float]:
    if table.module is None:
        problem = f"is missing: {table.joint!r} has no teeth, so it is a rack"
        raise PysimError("module", f"{problem}; give the module [m], or its number of teeth")
    if table.carrier is not None:
        raise PysimError("carrier", "a rack has no carrier; leave it out")
    _joint("teeth", pinion, joints)
    rack = joints.get(table.joint)
    if rack is not None and rack.type != "prismatic":
        problem = f"{table.joint!r} has none, and only a prismatic joint is that of a rack"
        raise PysimError("teeth", f"{problem}; give its number of teeth")
    return {pinion: table.module * table.teeth[pinion] / 2}


def _wheel(name: str, table: Coupling, joints: Mapping[str, JointSpec]) -> Wheel:
    if name == WORLD:
        return Wheel(table.teeth[name], None)
    joint = _joint("teeth", name, joints)
    return Wheel(table.teeth[name], joint, *_axis(joint, joints))


def _joint(key: str, name: str, joints: Mapping[str, JointSpec]) -> JointSpec:
    if name not in joints:
        raise PysimError(key, f"unknown joint {name!r}{did_you_mean(name, joints)}")
    if joints[name].type not in TURNING:
        problem = f"{name!r} is a joint of type {joints[name].type}, and gears turn"
        raise PysimError(key, f"{problem}; name a revolute joint")
    return joints[name]


def _axis(joint: JointSpec, joints: Mapping[str, JointSpec]) -> tuple[Array, Array]:
    """Return the axis (3,) and the origin (3,) [m] of a joint in the world, at coordinates of 0."""
    by_child = {own.child: own for own in joints.values()}
    pose, parent = joint.at, joint.parent
    while parent in by_child:
        pose = by_child[parent].at @ pose
        parent = by_child[parent].parent
    return pose[:3, :3] @ np.array(joint.axis), pose[:3, 3]


def _facing(a: Wheel, b: Wheel) -> float:
    """Return -1 where two axes are opposite, so that equal turns have opposite coordinates, and 1 otherwise."""
    if a.axis is None or b.axis is None or np.linalg.norm(np.cross(a.axis, b.axis)) > PARALLEL_SINE:
        return 1.0
    return float(np.sign(a.axis @ b.axis))


def _check_distance(table: Coupling, a: Wheel, b: Wheel, joints: Mapping[str, JointSpec]) -> None:
    """Compare the distance of parallel axes with that of wheels of the module; a fixed wheel is about the carrier's."""
    assert table.module is not None
    if a.origin is None and table.carrier is not None:
        a = Wheel(a.teeth, None, *_axis(joints[table.carrier], joints))
    if a.axis is None or b.axis is None or a.origin is None or b.origin is None:
        return
    if np.linalg.norm(np.cross(a.axis, b.axis)) > PARALLEL_SINE:
        return
    distance = float(np.linalg.norm(np.cross(a.axis, b.origin - a.origin)))
    wanted = table.module * abs(a.teeth + b.teeth) / 2
    if abs(distance - wanted) > CENTRE_DISTANCE_TOLERANCE * max(wanted, table.module):
        problem = (
            f"{table.module:g} m and {a.teeth} and {b.teeth} teeth need axes {wanted:g} m apart"
        )
        remedy = "move a joint, or leave out module"
        raise PysimError("module", f"{problem}, and they are {distance:g} m apart; {remedy}")
