"""Sizes of shapes as the engine reads them (cpp/collision/shapes)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pysim.shapes import Shape


def engine_dimensions(shape: Shape) -> tuple[float, float, float]:
    """Return half lengths, radii and semi-axes [m]; zeros of a mesh, the radius of a ball that holds a field."""
    if shape.field is not None:
        return shape.field.radius, 0.0, 0.0
    own = () if shape.primitive is None else shape.primitive.half_sizes(shape.size)
    x, y, z = (*own, 0.0, 0.0, 0.0)[:3]
    return x, y, z


def engine_kind(shape: Shape) -> str:
    """Return the engine's kind of a shape; that of a field is the ball that holds it."""
    return "sphere" if shape.field is not None else shape.kind
