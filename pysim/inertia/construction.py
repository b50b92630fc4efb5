"""Constructors of `Inertia`: from numbers in any order, matrices, primitive solids and meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pysim.errors import PysimError
from pysim.inertia import primitives
from pysim.inertia.mesh import mesh_inertia
from pysim.inertia.parameter_orders import kwon_to_packed, shifted, theta_to_packed
from pysim.spatial.arrays import checked, checked_symmetric, tolerance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from pysim.spatial.arrays import Array

_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


class Construction:
    """Record of an `Inertia` and its constructors. A `dtype` is float64 or float32, by default that of the numbers."""

    __slots__ = ("record",)

    def __init__(self, record: ArrayLike, dtype: DTypeLike | None = None) -> None:
        """Build from the engine's record (…, 10), I about the reference point."""
        numbers = checked(record, "record", (10,))
        try:
            kind = np.dtype(numbers.dtype if dtype is None else dtype)
        except TypeError as error:
            raise PysimError("dtype", f"must be float64 or float32, got {dtype!r}") from error
        if kind not in (np.float32, np.float64):
            raise PysimError("dtype", f"must be float64 or float32, got {kind}")
        self.record: Array = np.array(numbers, kind, order="C")

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...] = (), dtype: DTypeLike = np.float64) -> Self:
        """Return massless bodies."""
        leading = (shape,) if isinstance(shape, int) else shape
        return cls(np.zeros((*leading, 10)), dtype)

    @classmethod
    def from_theta(cls, theta: ArrayLike, dtype: DTypeLike | None = None) -> Self:
        """Build from θ (…, 10)."""
        return cls(theta_to_packed(theta), dtype)

    @classmethod
    def from_kwon(cls, kwon: ArrayLike, dtype: DTypeLike | None = None) -> Self:
        """Build from numbers in Kwon's order (…, 10)."""
        return cls(kwon_to_packed(kwon), dtype)

    @classmethod
    def from_com(
        cls, mass: ArrayLike, com: ArrayLike, inertia: ArrayLike, dtype: DTypeLike | None = None
    ) -> Self:
        """Build from the mass (…) [kg], the centre of mass (…, 3) [m] and I about it (…, 3, 3) [kg·m²]."""
        m, c = checked(mass, "mass", (), unit="kg"), checked(com, "com", (3,), unit="m")
        return cls(shifted(_record(m, m[..., None] * c, inertia), 1), dtype)

    @classmethod
    def from_origin(
        cls,
        mass: ArrayLike,
        first_moment: ArrayLike,
        inertia: ArrayLike,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Build from the mass (…) [kg], mc (…, 3) [kg·m] and I about the reference point (…, 3, 3) [kg·m²]."""
        m = checked(mass, "mass", (), unit="kg")
        h = checked(first_moment, "first_moment", (3,), unit="kg·m")
        return cls(_record(m, h, inertia), dtype)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, dtype: DTypeLike | None = None) -> Self:
        """Build from M (…, 6, 6) = [[m 1, −mc×], [mc×, I]]; PysimError if M does not have this form."""
        M = checked(matrix, "matrix", (6, 6))
        h = np.stack([M[..., 5, 1], M[..., 3, 2], M[..., 4, 0]], axis=-1)
        made = cls(_record(M[..., 0, 0], h, M[..., 3:, 3:]), dtype)
        off = abs(type(made)(made.record, M.dtype).matrix - M).max(axis=(-1, -2), initial=0)  # type: ignore[attr-defined]
        size = abs(M).max(axis=(-1, -2), initial=0)
        if (off > tolerance(M) * size).any():
            problem = f"must have the form [[m 1, -mc×], [mc×, I]], differs by {off.max():.3g}"
            raise PysimError("matrix", problem)
        return made

    @classmethod
    def from_mesh(
        cls,
        vertices: ArrayLike,
        faces: ArrayLike,
        density: float,
        **how: Any,  # noqa: ANN401, as there
    ) -> Self:
        """Build from a closed surface: arguments of `mesh_inertia`."""
        return cls.from_theta(mesh_inertia(vertices, faces, density, **how))

    @classmethod
    def box(cls, x: ArrayLike, y: ArrayLike, z: ArrayLike, **matter: ArrayLike) -> Self:
        """Build a box of full lengths [m] with density= [kg/m³] or mass= [kg]; hollow if thickness= [m] is given."""
        return cls.from_theta(primitives.box(x, y, z, **matter))

    @classmethod
    def sphere(cls, radius: ArrayLike, **matter: ArrayLike) -> Self:
        """Build a ball, or a hollow sphere, of outer radius [m]; keywords as in `box`."""
        return cls.from_theta(primitives.sphere(radius, **matter))

    @classmethod
    def cylinder(cls, radius: ArrayLike, length: ArrayLike, **matter: ArrayLike) -> Self:
        """Build a cylinder along z [m], if hollow with closed ends; keywords as in `box`."""
        return cls.from_theta(primitives.cylinder(radius, length, **matter))

    @classmethod
    def tube(cls, radius: ArrayLike, length: ArrayLike, **matter: ArrayLike) -> Self:
        """Build an open tube along z of outer radius [m]; keywords as in `box`, thickness= is required."""
        return cls.from_theta(primitives.tube(radius, length, **matter))

    @classmethod
    def capsule(cls, radius: ArrayLike, length: ArrayLike, **matter: ArrayLike) -> Self:
        """Build a cylinder along z with hemispherical ends [m], length without them; keywords as in `box`."""
        return cls.from_theta(primitives.capsule(radius, length, **matter))

    @classmethod
    def ellipsoid(cls, a: ArrayLike, b: ArrayLike, c: ArrayLike, **matter: ArrayLike) -> Self:
        """Build an ellipsoid of these semi-axes [m]; keywords as in `box`."""
        return cls.from_theta(primitives.ellipsoid(a, b, c, **matter))

    @classmethod
    def cone(cls, radius: ArrayLike, length: ArrayLike, **matter: ArrayLike) -> Self:
        """Build a cone along z, base at −length/2, tip at +length/2 [m]; keywords as in `box`."""
        return cls.from_theta(primitives.cone(radius, length, **matter))


def _record(mass: Array, first_moment: Array, inertia: ArrayLike) -> Array:
    """Return the engine's record (…, 10) of a mass, a first moment and a symmetric tensor (…, 3, 3)."""
    I = checked_symmetric(inertia, "inertia", "I", 3, "kg·m²")  # noqa: E741, the symbol of the formula
    try:
        batch = np.broadcast_shapes(mass.shape, first_moment.shape[:-1], I.shape[:-2])
    except ValueError:
        shapes = f"{mass.shape}, {first_moment.shape[:-1]} and {I.shape[:-2]}"
        raise PysimError("inertia", f"leading axes {shapes} do not fit each other") from None
    record = np.empty((*batch, 10), np.result_type(mass, first_moment, I))
    record[..., 0], record[..., 1:4] = mass, first_moment
    for k, (i, j) in enumerate(_ENTRIES):
        record[..., 4 + k] = 0.5 * (I[..., i, j] + I[..., j, i])
    return record
