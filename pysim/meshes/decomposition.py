"""Convex decomposition of meshes by collision-aware concavity and tree search [Wei et al. 2022].

Parts are computed once: their files lie in a folder of the user's cache that is named by a hash of the triangles, the
scale and the settings. A folder appears whole or not at all, and is computed again if its content has changed.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.meshes.field_surface import cache_folder
from pysim.meshes.mass_properties import read_solid
from pysim.meshes.triangles import file_version
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.meshes.mass_properties import MeshSolid

    Scale = tuple[float, float, float]
    Part = tuple[Array, NDArray[np.int64]]  # vertices (n, 3) [m], faces (m, 3)

SEED = 1  # of the tree search
VERSION = 1  # of the method, part of the names of folders
MANIFEST = "parts.json"
REMEDY = "pip install 'pysim-multibody[coacd]', or let it collide as its hull with convex = true"


def convex_parts(path: Path, scale: Scale, concavity: float, parts: int = -1) -> tuple[Path, ...]:
    """Return the mesh files [m] of the convex parts of a mesh.

    Args:
        path: of the mesh, whose surface is closed.
        scale: from its unit to metres.
        concavity: largest distance between a part and its convex hull, of a mesh scaled to a cube of edge 2.
        parts: largest number of parts, −1 for any.

    Raises:
        SceneError: the mesh cannot be read or encloses no volume, or `coacd` is not installed.
    """
    content = _content(path, file_version(path), scale, concavity, parts)
    folder = cache_folder("decompositions") / content
    found = _cached(folder)
    if found is None:
        _write(folder, _decomposed(read_solid(path, scale), concavity, parts))
        found = _cached(folder)
        assert found is not None
    return found


@lru_cache(maxsize=256)
def _content(path: Path, _: tuple[int, int], scale: Scale, concavity: float, parts: int) -> str:
    """Return a hash of the triangles and the settings; cached, as the file is read for it."""
    solid = read_solid(path, scale)
    settings = repr((concavity, parts, SEED, VERSION)).encode()
    content = solid.vertices.tobytes() + solid.faces.tobytes() + settings
    return hashlib.sha256(content).hexdigest()[:32]


def _cached(folder: Path) -> tuple[Path, ...] | None:
    """Return the files of a folder; None if one is missing or has changed."""
    try:
        sums = json.loads((folder / MANIFEST).read_text())
        files = tuple(folder / name for name in sums)
        whole = [_sum(file) for file in files] == list(sums.values())
    except (OSError, ValueError, AttributeError):
        return None
    return files if whole and files else None


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _decomposed(solid: MeshSolid, concavity: float, parts: int) -> list[Part]:
    try:
        import coacd  # noqa: PLC0415, only where a mesh is decomposed
    except ImportError:
        problem = "its convex parts need the package 'coacd', which is not installed"
        raise SceneError(solid.where, f"{problem}; {REMEDY}") from None
    coacd.set_log_level("error")
    middle = (solid.vertices.max(axis=0) + solid.vertices.min(axis=0)) / 2
    size = float(np.ptp(solid.vertices, axis=0).max())
    unit = (solid.vertices - middle) * (2 / size)
    hulls = coacd.run_coacd(
        coacd.Mesh(unit, solid.faces),
        threshold=concavity,
        max_convex_hull=parts,
        preprocess_mode="off",  # it would replace the surface by one of a coarse grid
        seed=SEED,
    )
    if not hulls:
        problem = "has no convex decomposition"
        raise SceneError(solid.where, f"{problem}; let it collide as its hull with convex = true")
    return [(np.array(v, float) * (size / 2) + middle, np.array(f, np.int64)) for v, f in hulls]


def _write(folder: Path, parts: Sequence[Part]) -> None:
    """Write the parts as Wavefront files and their checksums, in place of what the folder has."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="part-") as temporary:
        new, sums = Path(temporary) / "new", {}
        new.mkdir()
        for k, (vertices, faces) in enumerate(parts):
            file = new / f"part_{k:03d}.obj"
            rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
            rows += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
            file.write_text("\n".join(rows) + "\n")
            sums[file.name] = _sum(file)
        (new / MANIFEST).write_text(json.dumps(sums, indent=1))
        with suppress(OSError):  # there is none, or another process has just replaced it
            folder.replace(Path(temporary) / "old")
        try:
            new.replace(folder)
        except OSError:
            if _cached(folder) is None:  # another process has not written the same parts
                raise
