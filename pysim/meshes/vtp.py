"""Reader of VTK's polygons (.vtp), the format of OpenSim's bones: points and polygons, as text or base64.

    <VTKFile type="PolyData" byte_order="LittleEndian">
      <Piece><Points><DataArray type="Float32" NumberOfComponents="3"> x y z …
             <Polys><DataArray Name="connectivity"> i j k … <DataArray Name="offsets"> end of each polygon …

Numbers in base64 are preceded by their count of bytes. Polygons are cut into triangles about their first corner;
lines, strips and other data are left out.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from pysim.errors import SceneError
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pysim.meshes.triangles import Faces, Vertices

_TYPES = {
    "Float32": "f4",
    "Float64": "f8",
    "Int8": "i1",
    "UInt8": "u1",
    "Int16": "i2",
    "UInt16": "u2",
    "Int32": "i4",
    "UInt32": "u4",
    "Int64": "i8",
    "UInt64": "u8",
}
_ARRAYS = {"Points": ("",), "Polys": ("connectivity", "offsets")}


def read_vtp(path: Path, data: bytes) -> tuple[Vertices, Faces]:
    """Return vertices (n, 3) and faces (m, 3).

    Raises:
        SceneError: the file holds no polygons, is damaged, or has a format that is not read.
    """
    pieces = _Parser(path).read(data)
    vertices, faces, count = [], [], 0
    for piece in pieces:
        points = piece.get(("Points", ""), np.empty(0))
        if points.size % 3:
            _fail(path, f"has {points.size} numbers of points, which are no triples")
        numbers = [piece.get(("Polys", name), np.empty(0)) for name in _ARRAYS["Polys"]]
        if not all((np.abs(x) < 2**53).all() for x in numbers):
            _fail(path, "has corners that are no integers")
        corners, ends = (x.astype(np.int64) for x in numbers)
        if ends.size and (ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > corners.size):
            _fail(path, "has offsets of polygons that do not fit their corners")
        vertices.append(points.reshape(-1, 3).astype(float))
        faces.append(_triangles(corners, ends) + count)
        count += len(vertices[-1])
    if not vertices:
        _fail(path, "has no <Piece> of polygons")
    return np.concatenate(vertices), np.concatenate(faces)


def _triangles(corners: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the triangles (m, 3) of polygons, about the first corner of each."""
    starts = np.concatenate([[0], ends[:-1]]) if ends.size else ends
    counts = np.maximum(ends - starts - 2, 0)
    first = np.repeat(starts, counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    second = first + within + 1
    return np.stack([corners[first], corners[second], corners[second + 1]], axis=1)


class _Parser:
    """Parser of the arrays of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pieces: list[dict[tuple[str, str], Array]] = []
        self.order, self.header = "<", 4  # bytes of the count before numbers in base64
        self.owner = ""  # <Points> or <Polys> that is open
        self.attributes: dict[str, str] | None = None  # of an array that is read
        self.text: list[str] = []
        self.inner = 0  # elements that are open within the array

    def read(self, data: bytes) -> list[dict[tuple[str, str], Array]]:
        """Return the arrays of each piece, by the element that holds them and their names."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            _fail(self.path, f"is no XML ({error})")
        return self.pieces

    def _doctype(self, *_: object) -> None:
        _fail(self.path, "has a document type, which is not read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self.attributes is not None:
            self.inner += 1
        elif tag == "VTKFile":
            if attributes.get("type") != "PolyData":
                _fail(self.path, f"holds {attributes.get('type')!r}, not PolyData")
            self.order = ">" if attributes.get("byte_order") == "BigEndian" else "<"
            self.header = 8 if attributes.get("header_type") == "UInt64" else 4
            if attributes.get("compressor"):
                _fail(self.path, "is compressed")
        elif tag == "Piece":
            self.pieces.append({})
        elif tag in _ARRAYS and self.pieces:
            self.owner = tag
        elif tag == "DataArray" and self.owner:
            name = attributes.get("Name", "") if self.owner == "Polys" else ""
            if name in _ARRAYS[self.owner]:
                self.attributes, self.text = {**attributes, "Name": name}, []

    def _characters(self, text: str) -> None:
        if self.attributes is not None and not self.inner:
            self.text.append(text)

    def _end(self, tag: str) -> None:
        if self.inner:
            self.inner -= 1
        elif tag == "DataArray" and self.attributes is not None:
            key = (self.owner, self.attributes["Name"])
            self.pieces[-1][key] = self._parse_array(self.attributes, "".join(self.text))
            self.attributes = None
        elif tag == self.owner:
            self.owner = ""

    def _parse_array(self, attributes: dict[str, str], text: str) -> Array:
        kind, form = attributes.get("type", ""), attributes.get("format", "ascii")
        if kind not in _TYPES:
            _fail(self.path, f"has numbers of type {kind!r}")
        try:
            if form == "ascii":
                return np.array(text.split(), float)
            if form == "binary":
                head, body = self._decoded("".join(text.split()))
                if int.from_bytes(head, "little" if self.order == "<" else "big") == len(body):
                    return np.frombuffer(body, f"{self.order}{_TYPES[kind]}").astype(float)
        except (ValueError, binascii.Error):
            pass
        return _fail(self.path, f"has numbers in the format {form!r} that cannot be read")

    def _decoded(self, text: str) -> tuple[bytes, bytes]:
        """Return the count of bytes and the bytes, which are encoded together, or one after the other."""
        first = 4 * -(-self.header // 3)
        if "=" in text[:first]:
            head, body = text[:first], text[first:]
            return base64.b64decode(head, validate=True), base64.b64decode(body, validate=True)
        data = base64.b64decode(text, validate=True)
        return data[: self.header], data[self.header :]


def _fail(path: Path, problem: str) -> Array:
    raise SceneError(str(path), f"{problem}; export the mesh again, as text")
