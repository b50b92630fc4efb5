"""Triangles of mesh files of any supported format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.files.regular import read_regular
from pysim.shapes import MESH_SUFFIXES, READ_SUFFIXES

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Vertices = NDArray[np.float64]
    Faces = NDArray[np.int64]


MOST_BYTES = 1 << 30  # bytes of a mesh file


@dataclass(frozen=True)
class Triangles:
    """Vertices (n, 3) in the file's unit, faces (m, 3) of indices, counter-clockwise from outside."""

    vertices: Vertices
    faces: Faces


def check_mesh(path: Path) -> None:
    """Reject a mesh file that cannot be drawn.

    Raises:
        SceneError: it cannot be read, is truncated or has no triangles, a vertex is not finite, or an index is invalid.
    """
    read_mesh(path)


def read_mesh(path: Path) -> Triangles:
    """Return the triangles of a mesh file, unchanged.

    Raises:
        SceneError: as in `check_mesh`.
    """
    version = file_version(path)
    try:
        return _read(path, version)
    except OSError as error:
        raise _unreadable(path, error) from None


def file_version(path: Path) -> tuple[int, int]:
    """Return the time of the last change [ns] and the size [bytes] of a file, by which caches see a change.

    Raises:
        SceneError: there is no such file, or its folder cannot be read.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    return stat.st_mtime_ns, stat.st_size


def _unreadable(path: Path, error: OSError) -> SceneError:
    reason = (error.strerror or "unreadable").lower()
    return SceneError(str(path), f"cannot be read: {reason}; check the path")


@lru_cache(maxsize=8)
def _read(path: Path, _: tuple[int, int]) -> Triangles:
    """Read a file; cached, because a scene may name it several times."""
    suffix = path.suffix.lower()
    if suffix not in READ_SUFFIXES:
        problem = f"unknown kind of mesh {path.suffix!r}; pysim reads {', '.join(MESH_SUFFIXES)}"
        raise SceneError(str(path), problem)
    data = read_regular(path, MOST_BYTES)
    if not data:
        raise SceneError(str(path), "is empty; export the mesh again")
    triangles = _parse(path, suffix, data)
    _check(path, triangles)
    triangles.vertices.flags.writeable = triangles.faces.flags.writeable = False
    return triangles


def _parse(path: Path, suffix: str, data: bytes) -> Triangles:
    # readers are imported when a file needs them: trimesh takes 0.8 s
    if suffix == ".stl":
        from pysim.meshes.stl import read_stl  # noqa: PLC0415

        return Triangles(*read_stl(path, data))
    if suffix == ".obj":
        from pysim.meshes.obj import read_obj  # noqa: PLC0415

        return Triangles(*read_obj(path, data))
    if suffix == ".vtp":
        from pysim.meshes.vtp import read_vtp  # noqa: PLC0415

        return Triangles(*read_vtp(path, data))
    from pysim.meshes.trimesh_formats import read_foreign  # noqa: PLC0415

    return Triangles(*read_foreign(path, suffix, data))


def _check(path: Path, triangles: Triangles) -> None:
    vertices, faces = triangles.vertices, triangles.faces
    if len(faces) == 0:
        raise SceneError(str(path), "has no triangles; export the mesh again")
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        x, y, z = vertices[bad[0]]
        problem = f"vertex {bad[0]} is ({x:g}, {y:g}, {z:g}), not finite; export the mesh again"
        raise SceneError(str(path), problem)
    if abs(vertices).max() > 1e9:
        problem = f"has a vertex {abs(vertices).max():g} from the origin; export the mesh again"
        raise SceneError(str(path), problem)
    low, high = int(faces.min()), int(faces.max())
    if low < 0 or high >= len(vertices):
        index = low if low < 0 else high
        problem = f"a face names vertex {index} of only {len(vertices)}; export the mesh again"
        raise SceneError(str(path), problem)
