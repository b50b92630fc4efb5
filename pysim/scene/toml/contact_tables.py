"""Tables of contacts: materials, grounds, changed pairs and excluded pairs."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, model_validator

from pysim.scene.toml.keys import (
    SHORTEST_AXIS,
    Name,
    NotNegative,
    Positive,
    Table,
    Vector3,
    error_text,
    key,
)
from pysim.scene.toml.schema import Shorthand, demands

NamePair = Annotated[list[Name], Field(min_length=2, max_length=2)]
_STIFFNESSES = ("stiffness", "sink")


class Friction(Table):
    """Coefficients of Coulomb friction."""

    static: NotNegative = key(..., "", "where the point stuck in the last step")
    dynamic: NotNegative = key(..., "", "where it slid")

    @model_validator(mode="after")
    def _ordered(self) -> Friction:
        if self.dynamic > self.static:
            problem = f"dynamic {self.dynamic:g} is larger than static {self.static:g}"
            raise error_text(f"{problem}; swap them")
        return self


def _opened_friction(value: object) -> object:
    return value if isinstance(value, dict) else {"static": value, "dynamic": value}


def _opened_stiffness(value: object) -> object:
    return value if isinstance(value, dict) else {"linear": value}


class Stiffness(Table):
    """Spring of a contact point, or elastic constants of Hertz's law."""

    linear: Positive | None = key(None, "N/m", "spring of every contact point")
    young: Positive | None = key(None, "Pa", "Young's modulus, for Hertz's law")
    poisson: Annotated[float, Field(ge=0, lt=0.5)] | None = key(None, "", "Poisson's ratio")

    @model_validator(mode="after")
    def _one_kind(self) -> Stiffness:
        elastic = [name for name in ("young", "poisson") if getattr(self, name) is not None]
        if self.linear is None and len(elastic) < 2:
            raise error_text("needs young [Pa] and poisson, or a number [N/m]")
        if self.linear is not None and elastic:
            raise error_text(f"has linear and {elastic[0]}; a surface has one law")
        return self


class Restitution(Table):
    """Speed after an impact relative to the speed before."""

    value: Annotated[float, Field(ge=0, le=1)] = key(..., "", "0 for none, 1 for elastic")
    at: Positive = key(..., "m/s", "speed of the impact at which it holds")


class Surface(Table):
    """What surfaces do to each other."""

    friction: (
        Annotated[
            Friction,
            Shorthand(_opened_friction, lambda table: demands(table["properties"]["static"])),
        ]
        | None
    ) = key(None, "", "a number, or { static, dynamic }")
    stiffness: (
        Annotated[
            Stiffness,
            Shorthand(_opened_stiffness, lambda table: demands(table["properties"]["linear"])),
        ]
        | None
    ) = key(None, "N/m", "of every contact point; or { young, poisson } for Hertz's law")
    sink: Positive | None = key(
        None, "m", "depth under the weight of the mechanism, instead of a stiffness"
    )
    restitution: Restitution | None = key(None, "", "{ value, at }")
    dissipation: NotNegative | None = key(None, "s/m", "d of Hunt and Crossley's law, instead")
    tangential_stiffness: Positive | None = key(
        None, "N/m", "of sticking friction; by default the normal one"
    )
    relaxation_time: NotNegative | None = key(
        None, "s", "damping of sticking friction over its stiffness; by default 1/ω of the contact"
    )

    @model_validator(mode="after")
    def _alternatives(self) -> Surface:
        for pair in (_STIFFNESSES, ("restitution", "dissipation")):
            if all(getattr(self, name) is not None for name in pair):
                raise error_text(f"{' and '.join(pair)} are alternatives; give one of them")
        return self


class Material(Surface):
    """A material of surfaces; pairs combine the numbers of both."""


class GroundPlane(Table):
    """Points x with normal · x = offset; the solid lies on the other side of the normal."""

    normal: Vector3 = key([0.0, 0.0, 1.0], "", "away from the solid")
    offset: float = key(0.0, "m", "distance from the origin along the normal")

    @model_validator(mode="after")
    def _has_direction(self) -> GroundPlane:
        if math.hypot(*self.normal) < SHORTEST_AXIS:
            raise error_text("normal must not be zero; [0, 0, 1] points up")
        return self


class Ground(Table):
    """A surface that is fixed to the world."""

    plane: GroundPlane = key(..., "", "{ normal, offset }")
    material: Name = key("default", "", "name of a material")


class Contact(Surface):
    """Contact of two links, instead of what their materials give."""

    between: NamePair = key(..., "", '"world" or a body, and a body')
    surface_velocity: Vector3 = key(
        [0.0, 0.0, 0.0], "m/s", "of the surface of the first one, in its frame: a conveyor belt"
    )


class Exclude(Table):
    """Two links that do not touch each other."""

    between: NamePair = key(..., "", '"world" or a body, and a body')
