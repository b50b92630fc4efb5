"""Mass properties of mesh files, by the integrals of `pysim.inertia`.

A mesh that encloses no volume is rejected. Unambiguous faults (a duplicate triangle, one wound the wrong way, a shell
inside out) are repaired for the integral, with a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError, SceneError
from pysim.inertia import mesh_inertia, mesh_inertia_derivatives, mesh_inertia_gradient
from pysim.inertia.mesh import MOST_CHECKED_FACES
from pysim.inertia.mesh_repair import repaired
from pysim.inertia.surface import FLAT_RATIO, check_crossings, check_shells, read_surface
from pysim.meshes.triangles import read_mesh
from pysim.spatial.arrays import checked
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray


LEAST_SIZE = 1e-9  # m
# sizes from the origin: single precision then resolves 6e-4 of the size
LARGEST_DISTANCE_RATIO = 1e4


@dataclass(frozen=True)
class MeshSolid:
    """Solid whose mass a mesh gives: vertices (n, 3) [m], outward faces (m, 3), or their hull, or a sheet of them."""

    vertices: Array
    faces: NDArray[np.int64]
    convex: bool = False
    shell: float | None = None
    where: str = "mesh"

    def moved(self, vertices: ArrayLike) -> MeshSolid:
        """Return the same faces over other vertices (n, 3) [m].

        Raises:
            PysimError: the number of vertices differs, or a vertex is NaN.
        """
        return replace(self, vertices=checked(vertices, "vertices", self.vertices.shape, unit="m"))

    @property
    def _how(self) -> dict[str, Any]:
        """Keyword arguments of the integrals."""
        return {"check": False, "convex": self.convex, "shell": self.shell, "name": self.where}

    def theta(self, density: float) -> Array:
        """Return θ (10,) for a density [kg/m³], about the vertices' origin."""
        return mesh_inertia(self.vertices, self.faces, density, **self._how)

    def derivatives(self, density: float) -> Array:
        """Return ∂θ/∂vertices (10, n, 3) for a density [kg/m³]."""
        return mesh_inertia_derivatives(self.vertices, self.faces, density, **self._how)

    def gradient(self, weights: ArrayLike) -> Array:
        """Return ∂(weights · θ)/∂vertices (n, 3) of unit density, for weights (10,)."""
        return mesh_inertia_gradient(self.vertices, self.faces, 1.0, weights, **self._how)

    def warn_of_overlaps(self) -> None:
        """Warn of nested shells and intersecting faces, whose common volume is counted twice."""
        if self.convex or self.shell is not None:
            return
        surface = read_surface(self.vertices, self.faces, self.where)
        check_shells(surface, surface.faces)
        if len(self.faces) <= MOST_CHECKED_FACES:
            check_crossings(surface)


def read_solid(
    path: Path,
    scale: ArrayLike,
    *,
    repair: bool = False,
    convex: bool = False,
    shell: float | None = None,
) -> MeshSolid:
    """Return the solid of a mesh file, with vertices in metres.

    Raises:
        SceneError: as in `mesh_theta`.
    """
    mesh = read_mesh(path)
    factors = np.broadcast_to(np.asarray(scale, float), (3,))
    vertices = mesh.vertices * factors
    faces = mesh.faces if np.sign(factors).prod() >= 0 else mesh.faces[:, ::-1]
    where = str(path)
    _check_extent(vertices, where)
    if convex or shell is not None:
        return MeshSolid(vertices, faces, convex, shell, where)
    try:
        return MeshSolid(*repaired(vertices, faces, where, fill=repair), where=where)
    except PysimError as error:
        raise SceneError(error.where, error.problem) from None


def _check_extent(vertices: Array, where: str) -> None:
    """Reject a mesh that is too small for a body, or whose distance from its origin exceeds the vertices' precision."""
    size, distance = float(np.ptp(vertices, axis=0).max()), float(abs(vertices).max())
    if distance > LARGEST_DISTANCE_RATIO * size:
        problem = (
            f"is {size:.3g} m across and {distance:.3g} m from its origin, too far for the precision of its vertices"
            f" (at most {LARGEST_DISTANCE_RATIO:g} times its size); export it near its origin and move the body instead"
        )
        raise SceneError(where, problem)
    if size < LEAST_SIZE:
        problem = f"is {size:.3g} m across, at least {LEAST_SIZE:g} m are needed; check its unit, or set scale"
        raise SceneError(where, problem)


def mesh_theta(
    path: Path,
    scale: ArrayLike,
    density: float,
    *,
    repair: bool = False,
    convex: bool = False,
    shell: float | None = None,
) -> Array:
    """Return θ (10,) [kg, kg·m, kg·m²] of a mesh file's solid, about the file's origin.

    Args:
        path: the file.
        scale: (3,) from the file's unit to metres; negative mirrors.
        density: uniform [kg/m³].
        repair: also close small holes.
        convex: take the convex hull instead.
        shell: take the triangles themselves, as a sheet of this thickness [m].

    Raises:
        SceneError: the file cannot be read, or its triangles enclose no volume.
    """
    solid = read_solid(path, scale, repair=repair, convex=convex, shell=shell)
    try:
        theta = solid.theta(density)
        solid.warn_of_overlaps()
    except PysimError as error:
        raise SceneError(error.where, error.problem) from None
    size = np.ptp(solid.vertices, axis=0).max()
    if shell is None and theta[0] <= density * FLAT_RATIO * size**3:
        problem = "encloses no volume, so a density gives no mass; give numbers"
        raise SceneError(solid.where, problem)
    return theta
