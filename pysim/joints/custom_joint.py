"""Joints whose child turns about three axes and moves along three, by functions of the coordinates.

    X_PC = translate(f₄ a₄ + f₅ a₅ + f₆ a₆) R(a₁, f₁) R(a₂, f₂) R(a₃, f₃)

It is the `CustomJoint` of OpenSim [Seth, Sherman, Eastman and Delp 2010]: axes need neither be orthogonal nor unit,
they are normalised, and the translation is along axes of the parent joint frame. A knee has one coordinate and
functions that are splines of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.errors import JointError, did_you_mean
from pysim.joints.coordinate_functions import KINDS, check_function, displacement, value_of
from pysim.joints.coordinates import real
from pysim.joints.displacement import Pose
from pysim.joints.plugin import Joint
from pysim.joints.registry import joint

MOST_COORDINATES = 6
_KEYS = {*KINDS, "axis", "coordinate", "range"}


class _CustomJoint(Joint):
    """Base class of custom joints."""

    rotations: tuple[dict[str, Any], ...] = ()  # {axis, function} in order; coordinate: its number
    translations: tuple[dict[str, Any], ...] = ()  # {axis, function}, as rotations

    def __post_init__(self) -> None:
        for name in ("rotations", "translations"):
            axes = getattr(self, name)
            if len(axes) > 3:
                raise JointError(name, f"must be at most 3, got {len(axes)}; remove some")
            for k, axis in enumerate(axes):
                _check_axis(axis, f"{name}[{k}]", len(self.coordinates.parts))

    def placement(self, q: Any) -> Pose:
        numbers = [getattr(q, part.name) for part in self.coordinates.parts]

        def number(axis: dict[str, Any]) -> Any:
            return numbers[axis.get("coordinate", 0)]

        moves = ((_unit(axis), axis, number(axis)) for axis in self.translations)
        placed = Pose.translate(*displacement(moves))
        for axis in self.rotations:
            placed = placed @ _rotation(_unit(axis), value_of(axis, number(axis)))
        return placed


def _rotation(axis: list[float], angle: Any) -> Pose:
    """Return a rotation about an axis; about ±x, ±y and ±z without products by zeros."""
    for k, turn in enumerate((Pose.rotate_x, Pose.rotate_y, Pose.rotate_z)):
        if abs(axis[k]) == 1:
            return turn(angle if axis[k] > 0 else -angle)
    return Pose.rotate(axis, angle)


def _unit(axis: dict[str, Any]) -> list[float]:
    direction = np.asarray(axis["axis"], float)
    return [float(a) for a in direction / np.linalg.norm(direction)]


def _check_axis(axis: dict[str, Any], where: str, count: int) -> None:
    for key in axis:
        if key not in _KEYS:
            raise JointError(f"{where}.{key}", f"unknown key{did_you_mean(key, _KEYS)}")
    direction = axis.get("axis")
    if not isinstance(direction, (list, tuple)) or len(direction) != 3 or not any(direction):
        problem = f"must be three numbers that are not all 0, got {direction!r}"
        raise JointError(f"{where}.axis", problem)
    number = axis.get("coordinate", 0)
    if not isinstance(number, int) or not 0 <= number < count:
        problem = f"must be the number of a coordinate, from 0 to {count - 1}, got {number!r}"
        raise JointError(f"{where}.coordinate", problem)
    check_function(axis, where)


@joint("custom_joint")
class CustomJoint(_CustomJoint):
    """Rotations about up to three axes, then translations, by functions of one angle."""

    coordinates = real("angle")


@joint("custom_slide")
class CustomSlide(_CustomJoint):
    """Rotations about up to three axes, then translations, by functions of one length."""

    coordinates = real("slide", unit="m")


def _of_several(count: int) -> type[_CustomJoint]:
    """Return the custom joint of several coordinates q1, q2, …, which may be angles and lengths."""
    names = [f"q{k + 1}" for k in range(count)]
    doc = (
        f"Rotations about up to three axes, then translations, by functions of {count} coordinates."
    )
    body = {"coordinates": real(*names), "__doc__": doc, "__module__": __name__}
    return joint(f"custom_joint_{count}")(type(f"CustomJoint{count}", (_CustomJoint,), body))


SEVERAL = {count: _of_several(count) for count in range(2, MOST_COORDINATES + 1)}
