"""Surfaces of signed distances as mesh files, by marching cubes [Lorensen, Cline 1987; VTK's flying edges].

A surface is written once: its file is named by a hash of the formula, in a folder of the user's cache.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.shapes import HeightField, Shape
from pysim.shapes.signed_distance import Field
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.shapes import SignedDistance

CELLS = 96  # along the longest side of the bounds
MARGIN = 1e-3  # of the bounds, so that a surface that touches them is closed
VERSION = 1  # of the method, part of the names of files


def cache_folder(kind: str = "surfaces") -> Path:
    """Return the folder of a kind of generated meshes: in `pysim` in `XDG_CACHE_HOME`, by default `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pysim" / kind


def generated_folders() -> list[Path]:
    """Return the folders of all generated meshes."""
    return [cache_folder(kind) for kind in ("surfaces", "decompositions")]


def surface_file(field: Field | HeightField) -> Path:
    """Return the mesh file of a field's surface within its bounds [m], written if there is none yet."""
    path = cache_folder() / f"{field.content[:32]}-{CELLS}-{VERSION}.stl"
    if not path.is_file():
        vertices, faces = field.surface() if isinstance(field, HeightField) else surface_of(field)
        write_stl(path, vertices[faces])
    return path


def distance_shape(plugin: SignedDistance, *, moves: bool) -> Shape:
    """Return the shape of a plugin; see `Field.check`.

    Raises:
        JointError: its distance cannot be recorded, or is no distance.
    """
    field = Field(plugin)
    field.check(moves=moves)
    return Shape("field", (), surface_file(field), field=field)


def height_shape(field: HeightField) -> Shape:
    """Return a grid of heights as a shape."""
    return Shape("field", (), surface_file(field), field=field)


def surface_of(field: Field, cells: int = CELLS) -> tuple[Array, NDArray[np.int64]]:
    """Return the surface of a field within its bounds: vertices (n, 3) [m], and faces (m, 3) seen from outside.

    Args:
        field: the signed distance.
        cells: of the grid along the longest side of the bounds.
    """
    import pyvista as pv

    size = field.high - field.low
    low, size = field.low - MARGIN * size, (1 + 2 * MARGIN) * size
    spacing = float(size.max()) / cells
    count = np.maximum(np.ceil(size / spacing).astype(int), 2) + 1
    step = size / (count - 1)
    grid = pv.ImageData(dimensions=count, spacing=step, origin=low)
    grid.point_data["d"] = np.nan_to_num(
        field(np.array(grid.points, float))[:, 0], nan=float(size.max())
    )
    surface = grid.contour([0.0], scalars="d", method="flying_edges", compute_normals=False)
    vertices = np.array(surface.points, float)
    faces = np.array(surface.faces, int).reshape(-1, 4)[:, 1:]
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1)
    outward = (normal * field(corners.mean(axis=1))[:, 1:]).sum(axis=1)
    if outward @ area < 0:
        faces = faces[:, ::-1]
    return vertices, faces


def write_stl(path: Path, corners: Array) -> None:
    """Write triangles (m, 3, 3) as a binary STL file, which appears whole or not at all."""
    record = np.zeros(
        len(corners),
        np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")]),
    )
    record["corners"] = corners
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        file.write(b"surface of a signed distance".ljust(80) + len(record).to_bytes(4, "little"))
        file.write(record.tobytes())
    Path(file.name).replace(path)
