"""Types of the keys in scene tables: strict numbers, lists, colours and poses, each with its unit.

Numbers are strict (no text, no booleans, no NaN), unknown keys are rejected.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pysim.scene.colors import HEX, NAMED, read_color
from pysim.scene.poses import from_axis_angle, from_rpy, pose, rpy_of, translation
from pysim.scene.toml.records.schema import TEXT_NUMBER, Shorthand, demands
from pysim.scene.toml.records.table import Table
from pysim.scene.toml.source import MOST_TABLES
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.poses import Quaternion

T = TypeVar("T")
SHORTEST_AXIS = 1e-9  # a shorter one has no defined direction
ALL_JOINTS = ""  # key of all joints that a table does not name


def key(default: Any, unit: str, doc: str, **bounds: Any) -> Any:  # noqa: ANN401, as pydantic
    """Return a field with its unit ("" for none) and meaning; `...` as default makes it required."""
    return Field(default, description=doc, json_schema_extra={"unit": unit}, **bounds)


def tables(doc: str) -> Any:  # noqa: ANN401, as pydantic
    """Return a field for a list of tables, which has a bound."""
    return key([], "", doc, max_length=MOST_TABLES)


def error_text(text: str) -> PydanticCustomError:
    """Return a validation error with this text."""
    return PydanticCustomError("pysim", "{text}", {"text": text})


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def boxed(names: str) -> Shorthand:
    """Accept [1, 2, 3] for { x = 1, y = 2, z = 3 }."""

    def opened(value: object) -> object:
        if not isinstance(value, list):
            return value
        if len(value) != len(names):
            raise error_text(f"must have {len(names)} numbers [m], got {len(value)}")
        return dict(zip(names, value, strict=True))

    def short(table: dict[str, Any]) -> dict[str, Any]:
        length = demands(table["properties"][names[0]])
        count = len(names)
        return {"type": "array", "items": length, "minItems": count, "maxItems": count}

    return Shorthand(opened, short)


def _as_q(value: object) -> object:
    return value if isinstance(value, dict) else {"q": _listed(value)}


def _not_nan(value: float) -> float:
    if math.isnan(value):
        raise error_text("must be a number, got nan")
    return value


def _printable(value: str) -> str:
    if _CONTROL.search(value):
        raise error_text(f"must not have control characters, got {value!r}; leave them out")
    return value


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
Name = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(_printable),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$", "minLength": 1}
    ),
]


def _command(value: object) -> float | str:
    if isinstance(value, str) and value:
        return _printable(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise error_text(f"must be a number or the name of a signal, got {value!r}")
    return float(value)


Command = Annotated[
    float | str, PlainValidator(_command), WithJsonSchema({"type": ["number", "string"]})
]
Positive = Annotated[float, Field(gt=0)]
PositiveInteger = Annotated[int, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Vector2 = Annotated[list[float], Field(min_length=2, max_length=2)]
Vector3 = Annotated[list[float], Field(min_length=3, max_length=3)]
Positive2 = Annotated[list[Positive], Field(min_length=2, max_length=2)]
Positive3 = Annotated[list[Positive], Field(min_length=3, max_length=3)]
Vector4 = Annotated[list[float], Field(min_length=4, max_length=4)]
ListOf = Annotated[list[T], Shorthand(_listed, lambda many: many["items"])]
Numbers = ListOf[float]
PositiveNumbers = ListOf[Positive]
NotNegativeNumbers = ListOf[NotNegative]
Bounds = ListOf[
    Annotated[
        float,
        Field(allow_inf_nan=True),
        AfterValidator(_not_nan),
        WithJsonSchema(  # JSON has no inf; editors make it null
            {"anyOf": [{"type": ["number", "null"]}, TEXT_NUMBER]}
        ),
    ]
]
_PART = {"type": "number", "minimum": 0, "maximum": 1}
Rgba = Annotated[
    tuple[float, float, float, float],
    BeforeValidator(read_color),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [*NAMED]},
                {"type": "string", "pattern": f"^{HEX}$"},
                {"type": "array", "items": _PART, "minItems": 3, "maxItems": 4},
            ]
        }
    ),
]


class Turn(Table):
    """A rotation in one of four notations."""

    rpy: Vector3 | None = key(None, "rad", "roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll)")
    quat_wxyz: Vector4 | None = key(None, "", "unit quaternion, scalar first")
    quat_xyzw: Vector4 | None = key(None, "", "unit quaternion, scalar last")
    axis_angle: Vector4 | None = key(None, "", "x, y, z of the axis and the angle [rad]")

    @model_validator(mode="after")
    def _one_rotation(self) -> Turn:
        given = [name for name in Turn.model_fields if getattr(self, name) is not None]
        if len(given) > 1:
            raise error_text(f"has {' and '.join(given)}; give one of them")
        for name in ("quat_wxyz", "quat_xyzw"):
            check_unit(getattr(self, name), name)
        if self.axis_angle is not None and math.hypot(*self.axis_angle[:3]) < SHORTEST_AXIS:
            raise error_text("axis_angle has a zero axis; its first three numbers are the axis")
        return self

    @property
    def quaternion(self) -> Quaternion | None:
        """Return the rotation as (x, y, z, w), None if the table has none."""
        if self.rpy is not None:
            return from_rpy(*self.rpy)
        if self.axis_angle is not None:
            return from_axis_angle(*self.axis_angle)
        if self.quat_wxyz is not None:
            w, x, y, z = self.quat_wxyz
            return x, y, z, w
        if self.quat_xyzw is not None:
            x, y, z, w = self.quat_xyzw
            return x, y, z, w
        return None


def check_unit(quaternion: list[float] | None, name: str) -> None:
    """Reject a quaternion that is no rotation."""
    if quaternion is None:
        return
    norm = math.hypot(*quaternion)
    if abs(norm - 1) > 1e-6:
        raise error_text(f"{name} must have norm 1, got {norm:.7g}; divide it by its norm")


class Pose(Turn):
    """A frame relative to another; identity by default."""

    xyz: Vector3 = key([0.0, 0.0, 0.0], "m", "origin")

    @property
    def matrix(self) -> Array:
        """X (4, 4)."""
        quaternion = self.quaternion
        return translation(self.xyz) if quaternion is None else pose(self.xyz, quaternion)

    def spec_value(self) -> Array:
        return self.matrix

    @classmethod
    def keys_of(cls, spec: Array) -> dict[str, Any]:
        """Return the table of a pose (4, 4) or a point (3,), empty for the identity.

        Raises:
            PysimError: the rotation is none.
        """
        if spec.ndim == 1:
            return {"xyz": spec.tolist()}
        table: dict[str, Any] = {}
        if spec[:3, 3].any():
            table["xyz"] = spec[:3, 3].tolist()
        if not np.array_equal(spec[:3, :3], np.eye(3)):
            table["rpy"] = list(rpy_of(spec[:3, :3]))
        return table


class Configuration(Turn):
    """Configuration of a joint: its coordinates, or a position and a rotation."""

    q: Numbers | None = key(None, "m or rad", "coordinates in the order of the joint type")
    xyz: Vector3 | None = key(None, "m", "position, for free and translation joints")

    @classmethod
    def keys_of(cls, spec: Array) -> dict[str, Any]:
        """Return the table of coordinates (nq,)."""
        return {"q": spec.tolist()} if len(spec) else {}


class Start(Configuration):
    """Start configuration and velocity of a joint."""

    v: Numbers | None = key(None, "m/s or rad/s", "velocities in the order of the joint type")


_AS_Q = Shorthand(_as_q, lambda table: demands(table["properties"]["q"]))
AnyStart = Annotated[Start, _AS_Q]
AnyConfiguration = Annotated[Configuration, _AS_Q]
