"""The `[[event]]` table of a scene: the watched quantity, its value, and the direction of the crossing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from pysim.scene.toml.coordinates import CoordinateOf
from pysim.scene.toml.records.keys import Name, Vector3, error_text, key
from pysim.scene.toml.records.references import JointName, WatchedName
from pysim.scene.toml.records.schema import TEXT_NUMBER, with_plugin_keys
from pysim.scene.toml.records.table import Table

if TYPE_CHECKING:
    from pysim.scene.spec import EventSpec

_LIMITS = ("lower", "upper")


class Plane(Table):
    """A plane of the world: n · p = offset, where n is the unit normal."""

    normal: Vector3 = key(..., "", "direction in the world; its length does not matter")
    offset: float = key(0.0, "m", "distance of the plane from the world's origin, along the normal")


def _checked_value(value: object) -> object:
    """Reject what is neither a finite number nor the name of a limit."""
    if value in (*_LIMITS, None):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise error_text(f'must be a number [m or rad], "lower" or "upper", got {value!r}')


class Event(Table, json_schema_extra=with_plugin_keys("type")):
    """A function of the state whose crossing is detected: a coordinate, a distance from a plane, or a plugin's."""

    name: Name = key(..., "", "the name of the event")
    joint: JointName | None = key(None, "", "the joint whose coordinate is watched; needs at")
    coordinate: CoordinateOf = key(0, "", "coordinate of the joint, by name or by index from 0")
    at: Annotated[
        float | str | None,
        BeforeValidator(_checked_value),
        WithJsonSchema({"anyOf": [{"type": "number"}, TEXT_NUMBER, {"enum": [*_LIMITS]}]}),
    ] = key(None, "m or rad", 'value of the coordinate at the event: a number, "lower" or "upper"')
    body: WatchedName | None = key(
        None, "", "the body or frame whose point is watched; needs plane"
    )
    point: Vector3 = key([0.0, 0.0, 0.0], "m", "the watched point in the frame of body")
    plane: Plane | None = key(None, "", "the plane that the point passes, { normal, offset }")
    type: Name | None = key(
        None, "", "name of an event plugin, whose keys are written beside the others"
    )
    parameters: dict[str, Any] = key({}, "", "keys of an event plugin")
    direction: Literal["rising", "falling", "both"] = key(
        "both", "", "sign change to detect: rising, falling or both"
    )
    stop: bool = key(default=False, unit="", doc="end the run at the event")
    release: list[Name] = key(
        [], "", "forces, and actuators with a type, that act until the event and no longer"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Event:
        kinds = [kind for kind in ("joint", "plane", "type") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            got = " and ".join(kinds) or "none"
            raise error_text(f"needs exactly one of joint, plane, type, got {got}")
        if (self.joint is None) != (self.at is None):
            raise error_text('joint and at go together: joint = "hinge", at = 0.0')
        for name, whose in (("coordinate", "joint"), ("point", "body")):
            if name in self.model_fields_set and getattr(self, whose) is None:
                raise error_text(f"{name} goes with {whose}; give {whose}, or leave {name} out")
        if (self.plane is None) != (self.body is None):
            raise error_text(
                'plane and body go together: body = "rod", plane = { normal = [0, 0, 1] }'
            )
        return self

    @classmethod
    def keys_of(cls, spec: EventSpec) -> dict[str, Any]:
        """Return the table of an event."""
        table = super().keys_of(spec)
        if spec.joint is not None:
            table["at"] = spec.offset
        elif spec.body is not None:
            table["plane"] = {"normal": list(spec.normal), "offset": spec.offset}
        return table
