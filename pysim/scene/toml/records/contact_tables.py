"""Tables of contacts: materials, grounds, changed pairs and excluded pairs."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from pysim.scene.toml.records.keys import (
    SHORTEST_AXIS,
    Name,
    NotNegative,
    Pose,
    Positive,
    Rgba,
    Vector3,
    error_text,
    key,
)
from pysim.scene.toml.records.references import MaterialName, TouchingName
from pysim.scene.toml.records.schema import Shorthand, demands
from pysim.scene.toml.records.table import Table

LinkPair = Annotated[list[TouchingName], Field(min_length=2, max_length=2)]
_STIFFNESSES = ("stiffness", "sink")


class Friction(Table):
    """Coefficients of Coulomb friction."""

    spec_names: ClassVar = {"static": "static_friction", "dynamic": "dynamic_friction"}
    is_flat = True
    static: NotNegative = key(..., "", "coefficient of a point that stuck in the last step")
    dynamic: NotNegative = key(..., "", "coefficient of a point that slid in the last step")

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

    spec_names: ClassVar = {"linear": "stiffness"}
    is_flat = True
    linear: Positive | None = key(None, "N/m", "stiffness of every contact point")
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

    value: Annotated[float, Field(ge=0, le=1)] = key(
        ..., "", "coefficient of restitution, from 0 (no rebound) to 1 (elastic)"
    )
    at: Positive = key(..., "m/s", "speed of the impact for which value holds")


class Surface(Table):
    """Contact properties of a surface."""

    friction: (
        Annotated[
            Friction,
            Shorthand(_opened_friction, lambda table: demands(table["properties"]["static"])),
        ]
        | None
    ) = key(None, "", "coefficient of friction: a number, or { static, dynamic }")
    stiffness: (
        Annotated[
            Stiffness,
            Shorthand(_opened_stiffness, lambda table: demands(table["properties"]["linear"])),
        ]
        | None
    ) = key(None, "N/m", "stiffness of every contact point; or { young, poisson } for Hertz's law")
    sink: Positive | None = key(
        None, "m", "penetration under the weight of the mechanism; determines the stiffness"
    )
    restitution: Restitution | None = key(
        None, "", "coefficient of restitution at a speed: { value, at }"
    )
    dissipation: NotNegative | None = key(
        None, "s/m", "d of Hunt and Crossley's law; alternative to restitution"
    )
    tangential_stiffness: Positive | None = key(
        None, "N/m", "tangential stiffness of a sticking point; by default the normal stiffness"
    )
    relaxation_time: NotNegative | None = key(
        None,
        "s",
        "damping of a sticking point divided by its tangential stiffness; by default 1/ω of the contact",
    )
    rolling: NotNegative | None = key(
        None, "m", "length ρ of rolling friction, whose greatest moment is ρ μ f_n; 0 by default"
    )
    spinning: NotNegative | None = key(
        None, "m", "the same of spinning friction, about the normal; 0 by default"
    )

    @model_validator(mode="after")
    def _alternatives(self) -> Surface:
        for pair in (_STIFFNESSES, ("restitution", "dissipation")):
            if all(getattr(self, name) is not None for name in pair):
                raise error_text(f"{' and '.join(pair)} are alternatives; give one of them")
        return self


class Material(Surface):
    """A material of surfaces; the values of two surfaces in contact are combined."""


class GroundPlane(Table):
    """Points x with n · x = offset, where n is the unit normal, which points out of the solid."""

    normal: Vector3 = key(
        [0.0, 0.0, 1.0], "", "direction that points out of the solid; its length does not matter"
    )
    offset: float = key(0.0, "m", "distance of the plane from the origin along the normal")

    @model_validator(mode="after")
    def _has_direction(self) -> GroundPlane:
        if math.hypot(*self.normal) < SHORTEST_AXIS:
            raise error_text("normal must not be zero; [0, 0, 1] points up")
        return self


class GroundHeights(Table):
    """Heights at the nodes of a grid, centred at the origin of its frame; bilinear between them, nothing beyond."""

    file: Name = key(
        ..., "", "grey-scale image (.png), or heights [m] as an array (.npy) or a table (.csv)"
    )
    size: Annotated[list[Positive], Field(min_length=2, max_length=2)] = key(
        ..., "m", "lengths of the grid along x and y"
    )
    height: Positive | None = key(None, "m", "height of white, for an image; black is at 0")


class GroundRoad(Table):
    """A road along x, centred on y = 0; heights are linear between nodes."""

    profile: list[Annotated[list[float], Field(min_length=2, max_length=2)]] | None = key(
        None, "m", "rows [x, z]: places along the road, increasing, and heights"
    )
    file: Name | None = key(None, "", "CSV file with the columns x and z [m]")
    roughness: Name | None = key(None, "", "class of a random road by ISO 8608, A to H")
    length: Positive | None = key(None, "m", "of a random road")
    seed: Annotated[int, Field(ge=0)] | None = key(None, "", "of a random road; 0 by default")
    width: Positive = key(4.0, "m", "across the road")
    spacing: Positive | None = key(
        None, "m", "distance of nodes; by default that of the places, for a random road 0.05 m"
    )

    @model_validator(mode="after")
    def _one_source(self) -> GroundRoad:
        sources = ("profile", "file", "roughness")
        named = [name for name in sources if getattr(self, name) is not None]
        if len(named) != 1:
            got = " and ".join(named) or "none"
            raise error_text(f"needs exactly one of {', '.join(sources)}, got {got}")
        if self.roughness is None:
            for name in ("length", "seed"):
                if getattr(self, name) is not None:
                    raise error_text(f"{name} is that of a random road; remove it")
        elif self.length is None:
            raise error_text("a random road needs its length [m]; give length")
        return self


class Ground(Table):
    """A surface that is fixed to the world."""

    plane: GroundPlane | None = key(None, "", "plane of the surface: { normal, offset }")
    field: dict[str, Any] | None = key(
        None, "", "signed distance of a shape plugin: { type, and the keys of the plugin }"
    )
    height_field: GroundHeights | None = key(
        None, "", "heights of a terrain: { file, size, height }"
    )
    road: GroundRoad | None = key(
        None, "", "road along x: { profile }, { file }, or { roughness, length, seed } of ISO 8608"
    )
    at: Pose = key(Pose(), "", "pose of a field's frame in the world")
    color: Rgba | None = key(None, "", "colour of a field, as that of a shape")
    material: MaterialName = key("default", "", "name of a material")

    @model_validator(mode="after")
    def _one_kind(self) -> Ground:
        kinds = [kind for kind in GROUND_KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            got = " and ".join(kinds) or "none"
            raise error_text(f"needs exactly one of {', '.join(GROUND_KINDS)}, got {got}")
        for name in ("at", "color") if self.plane is not None else ():
            if name in self.model_fields_set:
                raise error_text(f"{name} is for a field; a plane has normal and offset alone")
        return self


GROUND_KINDS = ("plane", "field", "height_field", "road")


class Contact(Surface):
    """Values for the contact of two links, instead of the values of their materials."""

    between: LinkPair = key(..., "", '"world" or a body, and a body')
    surface_velocity: Vector3 = key(
        [0.0, 0.0, 0.0],
        "m/s",
        "velocity of the surface of the first link, in its frame, for example of a conveyor belt",
    )


class Exclude(Table):
    """Two links that do not touch each other."""

    between: LinkPair = key(..., "", '"world" or a body, and a body')
