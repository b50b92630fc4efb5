"""Sizes of shapes as the engine reads them (cpp/collision/shapes.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pysim.shapes import Shape


def engine_dimensions(shape: Shape) -> tuple[float, float, float]:
    """Return half lengths, radii and semi-axes [m]; zeros of a mesh, the radius of a ball that holds a field."""
    size = shape.size
    if shape.field is not None:
        return shape.field.radius, 0.0, 0.0
    if shape.kind == "box":
        return size[0] / 2, size[1] / 2, size[2] / 2
    if shape.kind in {"capsule", "cone", "cylinder"}:
        return size[0], size[1] / 2, 0.0
    if shape.kind == "ellipsoid":
        return size[0], size[1], size[2]
    return (size[0], 0.0, 0.0) if shape.kind == "sphere" else (0.0, 0.0, 0.0)


def engine_kind(shape: Shape) -> str:
    """Return the engine's kind of a shape; that of a field is the ball that holds it."""
    return "sphere" if shape.field is not None else shape.kind
