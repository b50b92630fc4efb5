"""Mass properties of mesh files: the integrals of `pysim.inertia`, of what is in the file.

A mesh that encloses no volume is refused. What can be told from the triangles without guessing (a triangle there
twice, one wound the wrong way, a shell inside out) is mended for the integral, with a warning that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError, SceneError
from pysim.inertia import mesh_inertia
from pysim.inertia.mending import mended
from pysim.inertia.surface import FLAT
from pysim.meshes.triangles import read_mesh

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


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
        repair: close small holes too.
        convex: weigh the convex hull instead.
        shell: weigh the triangles themselves, as a sheet of this thickness [m].

    Raises:
        SceneError: the file cannot be read, or its triangles enclose no volume.
    """
    mesh = read_mesh(path)
    factors = np.broadcast_to(np.asarray(scale, float), (3,))
    vertices = mesh.vertices * factors
    faces = mesh.faces if factors.prod() >= 0 else mesh.faces[:, ::-1]
    where = str(path)
    try:
        if convex or shell is not None:
            return mesh_inertia(vertices, faces, density, convex=convex, shell=shell, name=where)
        vertices, faces = mended(vertices, faces, where, fill=repair)
        theta = mesh_inertia(vertices, faces, density, check=False, name=where)
    except PysimError as error:
        raise SceneError(error.where, error.problem) from None
    if theta[0] <= density * FLAT * np.ptp(vertices, axis=0).max() ** 3:
        raise SceneError(where, "encloses no volume, so a density gives no mass; give numbers")
    return theta
