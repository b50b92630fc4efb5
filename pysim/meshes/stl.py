"""Reader of STL: unconnected triangles, binary (80 bytes, count, 50 bytes for each triangle) or text."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimWarning, SceneError

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.meshes.triangles import Faces, Vertices

HEADER, RECORD = 84, 50  # [byte]
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_VERTEX = re.compile(rf"vertex\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}", re.ASCII | re.IGNORECASE)
_FACET = ("facet", "outer loop", "vertex", "vertex", "vertex", "endloop", "endfacet")


def read_stl(path: Path, data: bytes) -> tuple[Vertices, Faces]:
    """Return vertices (3 m, 3), three for each triangle, and faces (m, 3).

    Raises:
        SceneError: the file is truncated or not STL.
    """
    corners = _read_binary(path, data)
    if corners is None:
        corners = _read_text(path, data)
    return corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)


def _read_binary(path: Path, data: bytes) -> Vertices | None:
    """Return corners (m, 3, 3) if the file's length fits its triangle count, None if the file is text.

    The length decides, not the word "solid", because binary files may begin with it too.
    """
    count = int.from_bytes(data[80:HEADER], "little") if len(data) >= HEADER else 0
    needed = HEADER + RECORD * count
    if len(data) < HEADER or (len(data) != needed and _looks_like_text(data)):
        if _looks_like_text(data):
            return None
        problem = f"has {len(data)} bytes, an STL file has at least {HEADER}; export it again"
        raise SceneError(str(path), problem)
    if len(data) < needed:
        problem = (
            f"declares {count} triangles, which take {needed} bytes, but has {len(data)}; "
            "it is truncated or damaged, export it again"
        )
        raise SceneError(str(path), problem)
    if len(data) > needed:
        text = f"{path}: {len(data) - needed} bytes after the last of {count} triangles are ignored"
        warnings.warn(text, PysimWarning, stacklevel=2)
    records = np.frombuffer(data, _RECORD, count, HEADER)
    with np.errstate(invalid="ignore"):  # a signalling NaN is rejected later, with its vertex
        return records["corners"].astype(float)


def _looks_like_text(data: bytes) -> bool:
    start = data[:1024].lstrip()
    return start[:5].lower() == b"solid" and b"\0" not in data[:HEADER]


def _read_text(path: Path, data: bytes) -> Vertices:
    """Return corners (m, 3, 3) of the text format."""
    corners: list[tuple[str, ...]] = []
    at, inside = 0, False
    for number, raw in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        line = " ".join(raw.split())
        if not line:
            continue
        word = line.lower()
        if not inside or (at == 0 and word.startswith("endsolid")):
            if not word.startswith("endsolid" if inside else "solid"):
                _refuse(path, number, line, "'solid'")
            inside = not inside
            continue
        if not word.startswith(_FACET[at]):
            _refuse(path, number, line, repr(_FACET[at]))
        if _FACET[at] == "vertex":
            match = _VERTEX.fullmatch(line)
            if match is None:
                _refuse(path, number, line, "'vertex' and three numbers with decimal points")
            else:
                corners.append(match.groups())
        at = (at + 1) % len(_FACET)
    if inside:
        raise SceneError(str(path), "ends before 'endsolid'; it is truncated, export it again")
    return np.array(corners, float).reshape(-1, 3, 3)


def _refuse(path: Path, number: int, line: str, expected: str) -> None:
    shown = line if len(line) <= 40 else line[:40] + "…"
    problem = f"line {number}: expected {expected}, got {shown!r}; export it again"
    raise SceneError(str(path), problem)
