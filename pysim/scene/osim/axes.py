"""Axes of OpenSim's joints, and the joints of pysim that they are equivalent to.

X_PC = translate(Σ f a) R(a₁, f₁) R(a₂, f₂) R(a₃, f₃). Where each coordinate moves axes that follow each other, the
joint is a chain of joints with one coordinate: a hip is three hinges, a pelvis three slides and three hinges, which run
as built-in joints; a knee, whose splines depend on one angle, is one custom joint.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.osim.functions import constant_of, line_of
from pysim.scene.osim.values import rotation_about
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.osim.functions import Function

IDENTITY = {"polynomial": [0.0, 1.0]}


@dataclass(frozen=True)
class Axis:
    """Unit axis about which, or along which, a child moves by a function of a coordinate."""

    direction: Array  # (3,)
    function: Function
    coordinate: str = ""  # none of a constant
    turns: bool = True

    @property
    def constant(self) -> float | None:
        """The constant value, None if it depends on the coordinate."""
        if not self.coordinate:
            return constant_of({"constant": 0.0} if not self.function else _at_zero(self.function))
        return constant_of(self.function)

    @property
    def pose(self) -> Array:
        """The displacement (4, 4) of a constant axis."""
        X, value = np.eye(4), self.constant
        assert value is not None
        if self.turns:
            X[:3, :3] = rotation_about(self.direction, value)
        else:
            X[:3, 3] = value * self.direction
        return X

    def table(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the table of a custom joint whose coordinates have these names."""
        found: dict[str, Any] = {"axis": self.direction.tolist()}
        value = self.constant
        found |= self.function if value is None else {"constant": value}
        if value is None and len(names) > 1:
            found["coordinate"] = names.index(self.coordinate)
        return found


def _at_zero(function: Function) -> Function:
    """Return the constant that a function of no coordinate is."""
    if "constant" in function or "polynomial" in function:
        return {"constant": function.get("constant", function.get("polynomial", [0.0])[0])}
    return function


@dataclass(frozen=True)
class Link:
    """Joint of a chain: its type, displacements (4, 4) before and after it, and its coordinates."""

    type: str
    coordinates: tuple[str, ...]
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    parameters: dict[str, Any] = field(default_factory=dict)
    before: Array = field(default_factory=lambda: np.eye(4))
    after: Array = field(default_factory=lambda: np.eye(4))


@dataclass(frozen=True)
class _Run:
    """Axes that follow each other and depend on one coordinate, with constant ones among them."""

    coordinate: str
    axes: tuple[Axis, ...]  # translations first


def chain_of(axes: Sequence[Axis], coordinates: Sequence[str]) -> list[Link]:
    """Return the chain of joints that is equivalent to axes.

    Args:
        axes: translations and rotations, each in order.
        coordinates: names, in order; all of them move an axis.
    """
    runs = _runs(axes)
    if runs is None:
        return [_custom(tuple(axes), tuple(coordinates))]
    links, waiting = [], np.eye(4)
    for run in runs:
        if not run.coordinate:
            for axis in run.axes:
                waiting = waiting @ axis.pose
            continue
        link = _built_in(run)
        if link is None:
            link = _custom(run.axes, (run.coordinate,))
        links.append(replace(link, before=waiting @ link.before, after=np.eye(4)))
        waiting = link.after
    if not links:
        return [Link("fixed", (), before=waiting)]
    links[-1] = replace(links[-1], after=waiting)
    return links


def _runs(axes: Sequence[Axis]) -> list[_Run] | None:
    """Return the runs in the order in which they move the child; None if those of a coordinate are apart."""
    turns = [axis for axis in axes if axis.turns]
    slides = [axis for axis in axes if not axis.turns]
    rotations: list[_Run] = []
    for axis in turns:
        name = "" if axis.constant is not None else axis.coordinate
        if rotations and (not name or rotations[-1].coordinate == name):
            last = rotations[-1]
            rotations[-1] = replace(last, axes=(*last.axes, axis))
        else:
            rotations.append(_Run(name, (axis,)))
    moved = [run.coordinate for run in rotations if run.coordinate]
    if len(set(moved)) < len(moved):
        return None
    fixed = tuple(axis for axis in slides if axis.constant is not None)
    runs = [_Run("", fixed)] if fixed else []
    names = dict.fromkeys(axis.coordinate for axis in slides if axis.constant is None)
    for name in names:
        along = tuple(a for a in slides if a.constant is None and a.coordinate == name)
        if name not in moved:
            runs.append(_Run(name, along))
        elif name == moved[0]:
            first = next(k for k, run in enumerate(rotations) if run.coordinate)
            leading = [axis for run in rotations[:first] for axis in run.axes]
            merged = _Run(name, (*along, *leading, *rotations[first].axes))
            rotations = [merged, *rotations[first + 1 :]]
        else:
            return None
    return runs + rotations


def _built_in(run: _Run) -> Link | None:
    """Return the hinge or slide whose motion a run has; None if it has that of neither."""
    moving = [axis for axis in run.axes if axis.constant is None]
    if len(moving) != 1:
        return None
    axis = moving[0]
    line = line_of(axis.function)
    if line is None or abs(line[0]) != 1:
        return None
    slope, intercept = line
    at = run.axes.index(axis)
    before, after = np.eye(4), np.eye(4)
    for other in run.axes[:at]:
        before = before @ other.pose
    for other in run.axes[at + 1 :]:
        after = after @ other.pose
    shift = replace(axis, function={"constant": intercept}, coordinate="")
    x, y, z = (float(a) + 0.0 for a in slope * axis.direction)
    kind = "revolute" if axis.turns else "prismatic"
    return Link(kind, (run.coordinate,), (x, y, z), before=before @ shift.pose, after=after)


def _custom(axes: tuple[Axis, ...], coordinates: tuple[str, ...]) -> Link:
    rotations = [a.table(coordinates) for a in axes if a.turns and a.constant != 0]
    slides = [a.table(coordinates) for a in axes if not a.turns and a.constant != 0]
    parameters = {"rotations": rotations, "translations": slides}
    parameters = {key: value for key, value in parameters.items() if value}
    if len(coordinates) > 1:
        return Link(f"custom_joint_{len(coordinates)}", coordinates, parameters=parameters)
    moved = [axis for axis in axes if axis.constant is None]
    kind = "custom_joint" if any(axis.turns for axis in moved) else "custom_slide"
    return Link(kind, coordinates, parameters=parameters)
