"""Table of rods: beams, cables and hoses, which become chains of bars."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pysim.scene.toml.records.keys import (
    Name,
    NotNegative,
    Pose,
    Positive,
    Rgba,
    Vector3,
    error_text,
    key,
)
from pysim.scene.toml.records.references import MaterialName, MountName
from pysim.scene.toml.records.schema import Shorthand
from pysim.scene.toml.records.table import Table

MOST_BARS = 10000
SHAPES = ("circle", "tube", "rectangle")
_NUMBERS = {"EI": (1, 2), "GJ": (1,), "mass_per_length": (1,), "inertia_per_length": (2,)}
_NUMBERS |= {"circle": (1,), "tube": (2,), "rectangle": (2,)}
_ZERO_ALLOWED = {"EI", "GJ", "inertia_per_length"}


def _rows_of_constant(value: object) -> object:
    """Return rows [s, value, …] of a value that is constant along the rod."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [[0.0, value]]
    is_list = isinstance(value, list) and len(value) > 0
    if is_list and not any(isinstance(item, list) for item in value):  # type: ignore[attr-defined]
        return [[0.0, *value]]  # type: ignore[misc]
    return value


def _row_schema(_: dict[str, Any]) -> dict[str, Any]:
    number = {"type": "number"}
    return {"anyOf": [number, {"type": "array", "items": number, "minItems": 1}]}


AlongRod = Annotated[
    list[Annotated[list[float], Field(min_length=1)]],
    Shorthand(_rows_of_constant, _row_schema),
    Field(min_length=1),
]


class RodSection(Table):
    """Section of a rod. Each number may be rows [[s, number], …] along the rod, linear between them."""

    circle: AlongRod | None = key(None, "m", "diameter of a solid circle")
    tube: AlongRod | None = key(None, "m", "outer and inner diameter, [outer, inner]")
    rectangle: AlongRod | None = key(None, "m", "sides along y and z of the section, [y, z]")
    EI: AlongRod | None = key(
        None, "N·m²", "bending stiffness about y and z, [EIy, EIz] or one number"
    )
    GJ: AlongRod | None = key(None, "N·m²", "torsional stiffness")
    mass_per_length: AlongRod | None = key(None, "kg/m", "mass per length")
    inertia_per_length: AlongRod | None = key(
        None, "kg·m", "moments of inertia of the section about y and z, [jy, jz]; x has their sum"
    )

    @property
    def shape(self) -> str:
        """Return the shape of the section, "" if it has none."""
        return next((name for name in SHAPES if getattr(self, name) is not None), "")

    @model_validator(mode="after")
    def _is_consistent(self) -> RodSection:
        shapes = [name for name in SHAPES if getattr(self, name) is not None]
        if len(shapes) > 1:
            raise error_text(f"has {' and '.join(shapes)}; give one of them")
        for name in _NUMBERS:
            rows = getattr(self, name)
            if rows is not None:
                _check_rows(name, rows)
        for outer, inner in (row[1:] for row in self.tube or ()):
            if inner >= outer:
                raise error_text(
                    f"tube: the inner diameter {inner:g} [m] is not less than the outer one {outer:g} [m]; "
                    "write tube = [outer, inner]"
                )
        return self


def _check_rows(name: str, rows: list[list[float]]) -> None:
    counts = _NUMBERS[name]
    what = " or ".join(map(str, counts))
    for row in rows:
        if len(row) - 1 not in counts:
            raise error_text(
                f"{name}: must have {what} number{'s' * (counts != (1,))}, or rows of s [m] and these, "
                f"got {len(row) - 1} after s = {row[0]:g}; write {_example(name)}"
            )
        if len(row) != len(rows[0]):
            raise error_text(f"{name}: its rows must have the same count of numbers; complete them")
        for number in row[1:]:
            if number < 0 or (number == 0 and name not in _ZERO_ALLOWED):
                wanted = "not be negative" if name in _ZERO_ALLOWED else "be positive"
                raise error_text(f"{name}: must {wanted}, got {number:g}; correct it")
    for before, after in pairwise(rows):
        if after[0] <= before[0]:
            raise error_text(
                f"{name}: s must increase from row to row, got {after[0]:g} after {before[0]:g} [m]; sort the rows"
            )


def _example(name: str) -> str:
    if name == "tube":
        return "tube = [outer, inner]"
    if name in {"EI", "inertia_per_length"}:
        return f"{name} = [about y, about z]"
    return "rectangle = [y, z]" if name == "rectangle" else f"{name} = number"


class RodMaterial(Table):
    """Elastic material of a rod."""

    young: Positive = key(..., "Pa", "Young's modulus")
    poisson: Annotated[float, Field(gt=-1, le=0.5)] | None = key(
        None, "", "Poisson's ratio; 0.3 by default"
    )
    shear: Positive | None = key(None, "Pa", "shear modulus, in place of poisson")
    density: Positive = key(..., "kg/m³", "density")

    @model_validator(mode="after")
    def _one_shear(self) -> RodMaterial:
        if self.poisson is not None and self.shear is not None:
            raise error_text("has poisson and shear; give one of them")
        return self


RodEnd = Literal["clamped", "ball", "free"]


class Rod(Table):
    """A rod: a chain of bars whose hinges have the stiffness of its section. Straight rods are along x of frame A."""

    name: Name = key(..., "", 'the name of the rod, whose bars are "name/0", "name/1" and so on')
    a: MountName = key("world", "", 'where it begins: "world", a body or a frame')
    at_a: Pose = key(Pose(), "", "frame A in it: the frame of the rod's beginning")
    b: MountName | None = key(None, "", 'where its far end is held: "world", a body or a frame')
    at_b: Pose = key(Pose(), "", "frame B in it, with which the far end coincides")
    slide: bool = key(
        default=False,
        unit="",
        doc="let the far end slide along x of frame B, so that it may approach",
    )
    ends: Annotated[list[RodEnd], Field(min_length=2, max_length=2)] | None = key(
        None,
        "",
        '"clamped", "ball" or "free" at the beginning and at the far end; ["clamped", "free"] by default, and '
        '["clamped", "clamped"] with b',
    )
    length: Positive | None = key(None, "m", "length of a straight rod")
    path: Annotated[list[Vector3], Field(min_length=2)] | None = key(
        None,
        "m",
        "points in frame A of a smooth curve: the shape without stress of a curved rod, in place of length",
    )
    section: RodSection = key(..., "", "section: a shape, or its stiffness and mass")
    material: RodMaterial | None = key(
        None, "", "{ young, poisson, density } of the section's shape"
    )
    bars: Annotated[int, Field(ge=2, le=MOST_BARS)] = key(
        20, "", "number of bars; even where an end is clamped"
    )
    damping: NotNegative = key(0.0, "s", "τ of the material: moment EI (κ + τ dκ/dt)")
    planar: Literal["y", "z"] | None = key(
        None, "", "the axis of its section about which alone the rod bends"
    )
    start: Literal["equilibrium"] | Annotated[list[Vector3], Field(min_length=2)] | None = key(
        None,
        "m",
        'points in frame A of a curve along which the rod starts, or "equilibrium" for where its forces balance; '
        "by default its shape without stress",
    )
    collision: bool = key(default=False, unit="", doc="whether the bars collide")
    surface: MaterialName | None = key(
        None, "", "name of a material of [materials] of bars that collide"
    )
    color: Rgba | None = key(None, "", "colour of the rod")
