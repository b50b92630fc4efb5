"""Shapes of bodies and grounds: primitives, meshes, and solids that a user writes as a signed distance in Python.

    import numpy as np

    from pysim.shapes import SignedDistance, shape

    @shape("bowl")
    class Bowl(SignedDistance):
        \"\"\"Inside of a sphere about the origin, below z = 0.\"\"\"

        radius: float  # [m]

        def distance(self, p):
            return self.radius - np.sqrt(p @ p)

        def bounds(self):
            r = 1.05 * self.radius
            return (-r, -r, -r), (r, r, 0)

`distance` is called once with symbolic numbers; the recorded formula runs in the engine, which differentiates it for
the normal. Scenes use it as `field = { type = "bowl", radius = 1.0 }` in [[ground]] or among the shapes of a body.
"""

from __future__ import annotations

from pysim.shapes.height_field import HeightField
from pysim.shapes.primitives import PRIMITIVES, Primitive
from pysim.shapes.signed_distance import SignedDistance, find_shape, shape
from pysim.shapes.solids import (
    MESH_SUFFIXES,
    READ_SUFFIXES,
    SIZES,
    Geometry,
    MassSource,
    Shape,
    drawn,
    primitive_theta,
    primitive_volume,
)
from pysim.tracing.lookup_table import table
from pysim.tracing.spline import spline

__all__ = [
    "MESH_SUFFIXES",
    "PRIMITIVES",
    "READ_SUFFIXES",
    "SIZES",
    "Geometry",
    "HeightField",
    "MassSource",
    "Primitive",
    "Shape",
    "SignedDistance",
    "drawn",
    "find_shape",
    "primitive_theta",
    "primitive_volume",
    "shape",
    "spline",
    "table",
]
