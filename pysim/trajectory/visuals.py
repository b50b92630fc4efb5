"""Description of a mechanism's shapes for pictures, as JSON in the trajectory's header.

One entry for each geometry:

    {"body": 2, "role": "visual", "kind": "mesh", "size": [], "pose": [[...4 numbers] ...4 rows],
     "color": [r, g, b, a] or null, "mesh": "/…/link2.dae", "scale": [1, 1, 1], "sha256": "…"}

`body` is the index in `poses`, -1 for the world; `kind`, `size` [m] as in `pysim.shapes.Shape`; "bar" is true for a bar
of a rod, which is drawn as one tube.
Mesh files are not copied; a hash shows whether a file has changed since the run.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from pysim.errors import TrajectoryError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pysim.shapes import Geometry


def header_visuals(
    geometries: Iterable[Iterable[Geometry]], world_geometries: Iterable[Geometry] = ()
) -> list[dict[str, Any]]:
    """Describe the geometries of each body, in the order of the bodies, and those of the world."""
    hashes: dict[Path, str] = {}
    entries = [_entry(-1, geometry, hashes) for geometry in world_geometries]
    for body, carried in enumerate(geometries):
        entries += [_entry(body, geometry, hashes) for geometry in carried]
    return entries


def mesh_hash(path: Path) -> str:
    """Return the SHA-256 of a mesh file, as 64 hexadecimal digits."""
    if path.exists() and not path.is_file():
        raise TrajectoryError(str(path), "is not a regular file; give a mesh file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        problem = f"cannot read the mesh, {(error.strerror or str(error)).lower()}"
        raise TrajectoryError(str(path), f"{problem}; put it back where the scene had it") from None


def _entry(body: int, geometry: Geometry, hashes: dict[Path, str]) -> dict[str, Any]:
    shape = geometry.shape
    entry: dict[str, Any] = {
        "body": body,
        "role": geometry.role,
        "kind": shape.kind,
        "size": [float(length) for length in shape.size],
        "pose": [[float(number) for number in row] for row in geometry.pose],
        "color": None if geometry.color is None else [float(part) for part in geometry.color],
    }
    if geometry.is_bar:
        entry["bar"] = True
    if shape.mesh is not None:
        path = shape.mesh
        if path not in hashes:
            hashes[path] = mesh_hash(path)
        scale = [float(factor) for factor in shape.scale]
        entry |= {"mesh": str(path), "scale": scale, "sha256": hashes[path]}
    return entry
