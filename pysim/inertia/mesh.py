"""Inertia of the solid inside a closed surface of triangles, and its derivatives [Kwon, (15)-(34)].

The integrals are exact for the given vertices, taken about the middle of the mesh with compensated summation
(cpp/spatial/solid.hpp); float32 vertices are converted to float64 first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import PysimError
from pysim.inertia.mesh_repair import hull, repaired
from pysim.inertia.parameters import joined, moved
from pysim.inertia.surface import (
    Surface,
    check_closed,
    check_crossings,
    check_density,
    check_shells,
    check_thickness,
    check_volume,
    read_surface,
)
from pysim.spatial.arrays import checked, checked_double

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.spatial.arrays import Array

MOST_CHECKED_FACES = 100_000  # number of faces up to which crossings are searched by default


def mesh_inertia(
    vertices: ArrayLike,
    faces: ArrayLike,
    density: float,
    *,
    check: bool = True,
    crossings: bool | None = None,
    repair: bool = False,
    convex: bool = False,
    shell: float | None = None,
    name: str = "mesh",
) -> Array:
    """Return θ (10,) [kg, kg·m, kg·m²] of the solid inside a closed surface, about the vertices' origin.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3) indices from 0, counter-clockwise from outside.
        density: uniform [kg/m³].
        check: reject a mesh that encloses no solid; if False, the integrals are taken over any triangles.
        crossings: warn of intersecting faces (coplanar overlaps are not found); by default in meshes of at most 100 000
            faces, because this costs seven times as much as everything else.
        repair: join, flip, drop and add triangles to obtain a solid, and warn of each change.
        convex: take the convex hull instead.
        shell: take the triangles themselves instead, as a thin sheet of this thickness [m]; they may be open and wound
            in any direction.
        name: name of the mesh in errors.

    Raises:
        PysimError: a vertex is not finite, a face refers to a missing vertex, there are fewer than four faces, the
            surface is open, wound inconsistently or inside out (as a whole, or a shell that is not a cavity), contains
            a face twice or encloses no volume, or the density is negative.
    """
    mu, surface = check_density(density), read_surface(vertices, faces, name)
    _check_ways(name, repair=repair, convex=convex, shell=shell)
    if shell is not None:
        return mu * check_thickness(shell) * sheet_theta(surface)
    if repair:
        surface = read_surface(*repaired(surface.vertices, surface.faces, name, fill=True), name)
    if convex:
        surface = hull(surface)
    theta = _checked_theta(surface) if check else solid_theta(surface)
    if crossings is None:
        crossings = check and not convex and len(surface.faces) <= MOST_CHECKED_FACES
    if crossings:
        check_crossings(surface)
    return mu * theta


def mesh_inertia_derivatives(
    vertices: ArrayLike,
    faces: ArrayLike,
    density: float,
    *,
    check: bool = True,
    repair: bool = False,
    convex: bool = False,
    shell: float | None = None,
    name: str = "mesh",
) -> Array:
    """Return ∂θ/∂vertices (10, n, 3) [kg/m, kg, kg·m] of `mesh_inertia`, with its arguments and errors.

    Each face adds its normal times a weight to each of its corners. The axis of θ is the last one in memory. With
    `convex`, derivatives of vertices inside the hull are zero; a vertex in the interior of a facet or an edge of the
    hull has one-sided derivatives only, and those of the present triangulation are returned.

    Raises:
        PysimError: as in `mesh_inertia`, or `repair` is requested, which changes the vertices.
    """
    mu, surface = check_density(density), read_surface(vertices, faces, name)
    surface = _differentiable(surface, check=check, repair=repair, convex=convex, shell=shell)
    return np.moveaxis(_derivative_rows(surface, mu, shell), -1, 0)


def mesh_inertia_gradient(
    vertices: ArrayLike,
    faces: ArrayLike,
    density: float,
    weights: ArrayLike,
    *,
    check: bool = True,
    repair: bool = False,
    convex: bool = False,
    shell: float | None = None,
    name: str = "mesh",
) -> Array:
    """Return ∂(weights · θ)/∂vertices (n, 3) of `mesh_inertia`: the transpose of its derivatives, for weights (10,).

    The array (10, n, 3) of `mesh_inertia_derivatives` is not formed, except for a sheet.

    Raises:
        PysimError: as in `mesh_inertia_derivatives`, or weights is not ten finite numbers.
    """
    w = checked_double(weights, "weights", (10,), alone=True)
    mu, surface = check_density(density), read_surface(vertices, faces, name)
    surface = _differentiable(surface, check=check, repair=repair, convex=convex, shell=shell)
    if shell is not None:
        return np.asarray(_derivative_rows(surface, mu, shell) @ w)
    return _engine.mesh_gradient(surface.vertices, surface.faces, mu * w)


def _derivative_rows(surface: Surface, density: float, shell: float | None) -> Array:
    """Return ∂θ/∂vertices (n, 3, 10) of the solid, or of a sheet of this thickness."""
    if shell is not None:
        density *= check_thickness(shell)
    sheet = shell is not None
    return _engine.mesh_derivatives(
        surface.vertices, surface.faces, np.zeros(3), density, sheet=sheet
    )


def _differentiable(
    surface: Surface, *, check: bool, repair: bool, convex: bool, shell: float | None
) -> Surface:
    """Return the triangles whose integrals are differentiated."""
    _check_ways(surface.where, repair=repair, convex=convex, shell=shell)
    if repair:
        problem = "cannot be repaired and differentiated at once, because repair changes its vertices; fix it first"
        raise surface.fail(problem)
    if convex:
        return hull(surface)
    if check and shell is None:
        _checked_theta(surface)
    return surface


def _checked_theta(surface: Surface) -> NDArray[np.float64]:
    """Return θ (10,) of unit density of a closed surface whose normals point outwards."""
    faces = check_closed(surface)
    theta = solid_theta(surface)
    check_volume(surface, float(theta[0]))
    check_shells(surface, faces)
    return theta


def _check_ways(name: str, *, repair: bool, convex: bool, shell: float | None) -> None:
    if sum((repair, convex, shell is not None)) > 1:
        raise PysimError(name, "repair, convex and shell are alternatives; give one of them")


def mesh_inertia_density_derivative(
    vertices: ArrayLike,
    faces: ArrayLike,
    *,
    check: bool = True,
    convex: bool = False,
    shell: float | None = None,
    name: str = "mesh",
) -> Array:
    """Return ∂θ/∂density (10,) [m³, m⁴, m⁵], which is θ of unit density."""
    return mesh_inertia(vertices, faces, 1.0, check=check, convex=convex, shell=shell, name=name)


def moved_derivative(theta: ArrayLike) -> Array:
    """Return ∂θ/∂η (…, 10, 6) of a body moved by exp([η]) X, at η = 0, given its present θ (…, 10).

    η = [v; ω], in the frame of θ, linear part first [Kwon, (29)-(34)]:

        dm = 0    dmc = m v − mc× ω    dI = ω× I − I ω× − v× mc× − mc× v×

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    t = checked(theta, "theta", (10,))
    m, x, y, z, xx, xy, yy, xz, yz, zz = np.moveaxis(t, -1, 0)
    o = np.zeros_like(m)
    rows = (
        (o, o, o, o, o, o),
        (m, o, o, o, z, -y),
        (o, m, o, -z, o, x),
        (o, o, m, y, -x, o),
        (o, 2 * y, 2 * z, o, 2 * xz, -2 * xy),
        (-y, -x, o, -xz, yz, xx - yy),
        (2 * x, o, 2 * z, -2 * yz, o, 2 * xy),
        (-z, o, -x, xy, zz - xx, -yz),
        (o, -z, -y, yy - zz, -xy, xz),
        (2 * x, 2 * y, o, 2 * yz, -2 * xz, o),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def solid_theta(surface: Surface) -> NDArray[np.float64]:
    """Return θ (10,) of unit density [m³, m⁴, m⁵]."""
    sums = _engine.mesh_moments(surface.vertices, surface.faces, surface.middle)
    return _theta(surface, sums / ([6.0] + [24.0] * 3 + [120.0] * 6))


def sheet_theta(surface: Surface) -> NDArray[np.float64]:
    """Return θ (10,) of unit mass per area [m², m³, m⁴] of the faces themselves."""
    sums = _engine.mesh_moments(surface.vertices, surface.faces, surface.middle, sheet=True)
    return _theta(surface, sums / ([2.0] + [6.0] * 3 + [24.0] * 6))


def _theta(surface: Surface, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return θ about the vertices' origin of ∫ 1, ∫ x, ∫ x xᵀ about the middle: I = tr C 1 − C."""
    xx, yy, zz, xy, yz, zx = moments[4:]
    I = np.array([[yy + zz, -xy, -zx], [-xy, zz + xx, -yz], [-zx, -yz, xx + yy]])  # noqa: E741
    to_origin = np.concatenate([np.eye(3).ravel(), surface.middle])
    return moved(joined(moments[0], moments[1:4], I), to_origin)
