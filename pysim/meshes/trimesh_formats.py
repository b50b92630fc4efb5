"""Reader of Collada, PLY and binary glTF through trimesh, with the file's transforms and Collada's unit applied.

The file is passed as bytes, so that files that it refers to are not opened.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError

if TYPE_CHECKING:
    from pathlib import Path

    import trimesh

    from pysim.meshes.triangles import Faces, Vertices

_MATERIALS = re.compile(rb"<(?:\w+:)?bind_material\b.*?</(?:\w+:)?bind_material\s*>", re.DOTALL)
_ENTITIES = (b"<!DOCTYPE", b"<!ENTITY")


def read_foreign(path: Path, suffix: str, data: bytes) -> tuple[Vertices, Faces]:
    """Return vertices (n, 3) and faces (m, 3) of all the pieces in the file.

    Raises:
        SceneError: trimesh cannot read it.
    """
    import trimesh

    if suffix == ".dae":
        check_entities(path, data)
        data = without_materials(data)
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)  # reported below
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # missing textures
            scene = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:])
            pieces = [
                _piece(scene.geometry[name], transform, suffix)
                for transform, name in map(scene.graph.get, scene.graph.nodes_geometry)
                if name is not None and isinstance(scene.geometry[name], trimesh.Trimesh)
            ]
    except Exception as error:  # noqa: BLE001, readers of strangers' files fail in every way
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        problem = f"cannot be read as {suffix[1:].upper()}: {reason}; export it again"
        raise SceneError(str(path), problem) from None
    return _joined(pieces)


def check_entities(path: Path, collada: bytes) -> None:
    """Reject a Collada file with a document type, whose entities may be endless or name other files.

    Raises:
        SceneError: it has one.
    """
    if any(word in collada.replace(b"\0", b"") for word in _ENTITIES):
        raise SceneError(str(path), "<!DOCTYPE> is rejected: it can define entities; remove it")


def without_materials(collada: bytes) -> bytes:
    """Return a Collada file that binds no materials: pycollada drops shapes whose material is broken."""
    return _MATERIALS.sub(b"", collada)


def _piece(mesh: trimesh.Trimesh, transform: Vertices, suffix: str) -> tuple[Vertices, Faces]:
    vertices = np.asarray(mesh.vertices, float) @ transform[:3, :3].T + transform[:3, 3]
    faces = np.asarray(mesh.faces, np.int64)
    if np.linalg.det(transform[:3, :3]) < 0:
        faces = faces[:, ::-1]
    number, times, _ = str(mesh.metadata.get("units", "")).partition(" * meters")
    if suffix == ".dae" and times:
        vertices = vertices * float(number)
    return vertices, faces


def _joined(pieces: list[tuple[Vertices, Faces]]) -> tuple[Vertices, Faces]:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    vertices = [vertices for vertices, _ in pieces]
    faces = [faces + start for (_, faces), start in zip(pieces, starts, strict=False)]
    if not pieces:
        return np.empty((0, 3)), np.empty((0, 3), np.int64)
    return np.concatenate(vertices), np.concatenate(faces)
