"""Reader of Wavefront OBJ: lines `v x y z` and `f i j k …`; all other lines are ignored."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.meshes.triangles import Faces, Vertices

_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf)", re.ASCII | re.IGNORECASE
)
_CORNER = re.compile(r"([+-]?\d+)(?:/[+-]?\d*){0,2}", re.ASCII)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_obj(path: Path, data: bytes) -> tuple[Vertices, Faces]:
    """Return vertices (n, 3) and faces (m, 3); polygons are cut into triangles from their first corner.

    Raises:
        SceneError: the file is not text, or a vertex or face line is malformed.
    """
    if data.startswith(_UTF16):
        raise SceneError(str(path), "is UTF-16 text; save it as UTF-8")
    if b"\0" in data:
        number = data[: data.index(b"\0")].count(b"\n") + 1
        raise SceneError(str(path), f"line {number}: holds a NUL byte; export the mesh again")
    text = data.decode("utf-8-sig", "replace").replace("\\\r\n", " ").replace("\\\n", " ")
    vertices: list[list[str]] = []
    polygons: list[tuple[int, list[int]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append(_vertex(path, number, words[1:]))
        elif words[0] == "f":
            polygons.append((number, _face(path, number, words[1:], len(vertices))))
    return np.array(vertices, float).reshape(-1, 3), _cut(path, polygons, len(vertices))


def _vertex(path: Path, number: int, words: list[str]) -> list[str]:
    """Return the three coordinates of a vertex line; a weight or a colour may follow."""
    xyz = words[:3]
    if len(xyz) < 3 or not all(map(_NUMBER.fullmatch, xyz)):
        got = " ".join(["v", *words])[:40]
        raise SceneError(str(path), f"line {number}: expected 'v' and three numbers, got {got!r}")
    return xyz


def _face(path: Path, number: int, words: list[str], known: int) -> list[int]:
    """Return the indices of a face line, from 0; negative ones count back from the last vertex before the line."""
    matches = [_CORNER.fullmatch(word) for word in words]
    if len(words) < 3 or None in matches:
        got = " ".join(["f", *words])[:40]
        problem = f"line {number}: expected 'f' and at least three indices, got {got!r}"
        raise SceneError(str(path), problem)
    corners = []
    for match in matches:
        index = int(match[1]) if match is not None else 0
        if index == 0:
            problem = f"line {number}: face index 0, but the first vertex is 1; export it again"
            raise SceneError(str(path), problem)
        if index < -known:
            _refuse_index(path, number, index, known)
        corners.append(index - 1 if index > 0 else known + index)
    return corners


def _cut(path: Path, polygons: list[tuple[int, list[int]]], known: int) -> Faces:
    triangles: list[tuple[int, int, int]] = []
    for number, polygon in polygons:
        if max(polygon) >= known:
            _refuse_index(path, number, max(polygon) + 1, known)
        triangles += [(polygon[0], b, c) for b, c in pairwise(polygon[1:])]
    return np.array(triangles, np.int64).reshape(-1, 3)


def _refuse_index(path: Path, number: int, index: int, known: int) -> None:
    problem = f"line {number}: face index {index}, but there are {known} vertices; export it again"
    raise SceneError(str(path), problem)
