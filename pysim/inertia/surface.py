"""Checks of vertices and faces before integration; errors report the kind of fault, its count and the first face.

Edges are compared in the engine by the sum of hashes of their ends, so a mesh of a million faces takes milliseconds;
only a mesh that fails is examined again to find the reason.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import PysimError, PysimWarning
from pysim.inertia.shells import is_one_shell, shells_of
from pysim.spatial.arrays import checked_number, refuse_mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Vertices = NDArray[np.float64]
    Faces = NDArray[np.int64]

FLAT_RATIO = 1e-9  # fraction of the mesh's size: a thinner mesh has no volume
FARTHEST_VERTEX = 1e60  # [m]: fifth powers, the unit of moments of inertia, remain finite
_CLOSE = "pass repair=True to fill small holes, convex=True for the convex hull, or shell=thickness [m] for a sheet"


@dataclass(frozen=True)
class Surface:
    """Triangles: vertices (n, 3) [m], faces (m, 3) of indices, and the bounding box (3,), (3,) of the vertices."""

    vertices: Vertices
    faces: Faces
    low: Vertices
    high: Vertices
    where: str

    @property
    def middle(self) -> Vertices:
        """Middle of the bounding box (3,) [m]; integrals about it do not suffer cancellation."""
        return self.low + 0.5 * (self.high - self.low)

    @property
    def size(self) -> float:
        """Longest side of the bounding box [m]."""
        return float((self.high - self.low).max())

    def fail(self, problem: str) -> PysimError:
        """Return the error that reports a problem of this mesh."""
        return PysimError(self.where, problem)

    def warn(self, text: str) -> None:
        """Warn of this mesh."""
        warnings.warn(f"{self.where}: {text}", PysimWarning, stacklevel=4)


def read_surface(vertices: ArrayLike, faces: ArrayLike, where: str) -> Surface:
    """Return finite vertices and faces with valid indices.

    Raises:
        PysimError: a vertex is not finite, or a face has a wrong index; the error names it.
    """
    points, triangles = _check_vertices(vertices, where), _indices(faces, where)
    if len(points) == 0:
        raise PysimError(where, "has no vertices")
    low, high, bad = _engine.vertex_bounds(points)
    if bad >= 0:
        x, y, z = points[bad]
        raise PysimError(where, f"vertex {bad} is ({x:g}, {y:g}, {z:g}), not finite; fix it")
    refuse_overflow(points, where)
    surface = Surface(points, triangles, low, high, where)
    outside = (triangles < 0) | (triangles >= len(points))
    if outside.any():
        count, first = int(outside.any(axis=1).sum()), int(outside.any(axis=1).argmax())
        index = triangles[first][outside[first]][0]
        raise surface.fail(
            f"{counted(count, 'face', verb=False)} with invalid vertex indices, the first is face {first}: "
            f"it names vertex {index} of {len(points)}; count vertices from 0"
        )
    return surface


def refuse_overflow(vertices: Vertices, where: str) -> None:
    """Raise PysimError if a vertex (n, 3) [m] is so far away that moments of inertia overflow."""
    away = np.abs(vertices)
    if not away.max(initial=0) > FARTHEST_VERTEX:
        return
    k = int(away.max(axis=1).argmax())
    x, y, z = vertices[k]
    problem = (
        f"vertex {k} at ({x:g}, {y:g}, {z:g}) [m] is so far away that moments of inertia overflow"
    )
    raise PysimError(
        where, f"{problem}; scale the mesh to coordinates of at most {FARTHEST_VERTEX:g} [m]"
    )


def check_density(density: float, where: str = "density") -> float:
    """Return the density [kg/m³]; PysimError if it is negative or not finite."""
    value = _number_or_nan(density)
    if not 0 <= value < np.inf:
        raise PysimError(where, f"must be a number not below 0 [kg/m³], got {density!r}")
    return value


def check_thickness(thickness: float, where: str = "shell") -> float:
    """Return the thickness [m]; PysimError if it is not positive."""
    value = _number_or_nan(thickness)
    if not 0 < value < np.inf:
        raise PysimError(where, f"must be a positive thickness [m], got {thickness!r}")
    return value


def check_closed(surface: Surface) -> Faces:
    """Return the faces with unique vertices; PysimError unless they enclose a solid.

    Warns of faces without area.
    """
    count = len(surface.faces)
    if count < 4:
        raise surface.fail(
            f"has {counted(count, 'face', verb=False)}; a closed surface has at least 4"
        )
    faces = surface.faces
    faults = _engine.surface_faults(faces, len(surface.vertices))
    if not faults.closed or faults.repeated.count:
        faces = welded(surface)
        faults = _engine.surface_faults(faces, len(surface.vertices))
    repeated = faults.repeated
    if repeated.count:
        raise surface.fail(
            f"has {counted(repeated.count, 'duplicate face', verb=False)}, the first is face {repeated.first}; "
            "remove it, or pass repair=True"
        )
    if not faults.closed:
        raise surface.fail(_why_open(surface))
    pinched = faults.pinched
    if pinched.count:
        surface.warn(
            f"has {counted(pinched.count, 'face', verb=False)} without area, the first is face {pinched.first}"
        )
    return faces


def check_shells(surface: Surface, faces: Faces) -> None:
    """Raise PysimError if a shell faces inwards and is not a cavity; warn of one inside the solid of another.

    `faces` are those that `check_closed` returned.
    """
    if is_one_shell(surface, faces):  # checked by `check_volume`
        return
    shells = shells_of(surface, faces)
    wrong = np.flatnonzero(shells.inside_out)
    if len(wrong):
        raise surface.fail(
            f"{counted_of(len(wrong), len(shells), 'shells')} inside out without being a cavity of another; the first "
            f"begins with face {shells.first[wrong[0]]}; reverse its faces, or pass repair=True"
        )
    twice = np.flatnonzero(shells.twice)
    if len(twice):
        surface.warn(
            f"{counted_of(len(twice), len(shells), 'shells')} inside another, and the common volume is counted twice; "
            f"the first begins with face {shells.first[twice[0]]}; reverse its faces if it is a cavity"
        )


def check_crossings(surface: Surface) -> None:
    """Warn of intersecting faces: volume that is enclosed twice is counted twice."""
    found = _engine.find_crossings(surface.vertices, surface.faces)
    if found.count:
        surface.warn(
            f"{counted(found.count, 'pair', verb=False)} of faces intersect, the first are faces {found.first} and "
            f"{found.second}; volume that is enclosed twice is counted twice"
        )


def check_volume(surface: Surface, volume: float) -> None:
    """Raise PysimError if a closed surface encloses no volume [m³], or faces inwards."""
    least = FLAT_RATIO * surface.size**3
    if volume < -least:
        raise surface.fail(
            f"is inside out: its {len(surface.faces)} faces run clockwise seen from outside, the "
            f"volume is {volume:.4g} [m³]; reverse them, faces[:, ::-1], or pass repair=True"
        )
    if volume <= least:
        problem = f"encloses no volume, {volume:.4g} [m³]; for a sheet, pass shell=thickness [m]"
        raise surface.fail(problem)


def welded(surface: Surface) -> Faces:
    """Return faces whose coincident vertices have one index: STL files repeat vertices in every triangle."""
    # NumPy sorts a row of three as one item only as bytes; + 0.0 makes −0 and 0 the same bytes
    rows = np.ascontiguousarray(surface.vertices + 0.0).view(np.dtype((np.void, 24))).ravel()
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    return np.ascontiguousarray(first[index.reshape(-1)][surface.faces], np.int64)


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each distinct row of (n, k) occurs first, in the rows' order, and which of them each row (n,) is.

    `np.unique` compares rows as records, which takes three times as long.
    """
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    index = np.empty(len(rows), np.intp)
    index[order] = np.cumsum(is_new) - 1
    return order[is_new], index


def edges(faces: Faces) -> Faces:
    """Return the directed edges (3 m, 2), those of a triangle together."""
    return faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)


def counted(number: int, one: str, many: str | None = None, *, verb: bool = True) -> str:
    """Return "1 face is" or "3 faces are", or without the verb "1 face" or "3 faces"."""
    if number == 1:
        return f"1 {one}{' is' if verb else ''}"
    return f"{number} {many or one + 's'}{' are' if verb else ''}"


def counted_of(number: int, total: int, things: str) -> str:
    """Return "1 of 3 shells is" or "2 of 3 shells are"."""
    return f"{number} of {total} {things} {'is' if number == 1 else 'are'}"


def _why_open(surface: Surface) -> str:
    """Describe the edges of an open surface that do not occur once in each direction."""
    walked = edges(welded(surface))
    walked = np.where((walked[:, :1] == walked[:, 1:]), -1, walked)  # of faces without area
    forth = walked[:, 0] < walked[:, 1]
    index = distinct_rows(np.sort(walked, axis=1))[1]
    total = np.bincount(index)
    balance = np.bincount(index, np.where(forth, 1, -1) * (walked[:, 0] >= 0)).astype(int)
    odd = total[index] % 2 == 1
    if odd.any():
        first = int(odd.argmax()) // 3
        number = int((total[np.unique(index[odd])] % 2).sum())
        return (
            f"is not watertight: {counted(number, 'edge')} without a triangle on each side, the first "
            f"is of face {first}; {_CLOSE}"
        )
    wrong = balance[index] != 0
    first, number = int(wrong.argmax()) // 3, int((balance != 0).sum())
    return (
        f"is wound inconsistently: {counted(number, 'edge')} traversed in one direction by both triangles, "
        f"the first is of face {first}; pass repair=True to reverse the minority of the faces"
    )


def _number_or_nan(x: float) -> float:
    """Return x as a number, or NaN, which fails every bound, if it is not a number."""
    try:
        return checked_number(x, "")
    except PysimError:
        return float("nan")


def _check_vertices(vertices: ArrayLike, where: str) -> Vertices:
    refuse_mask(vertices, f"{where}: vertices")
    given = _array(vertices, "vertices must be numbers [m]", where)
    if given.dtype.kind not in "fiu":
        raise PysimError(where, f"vertices must be real numbers [m], got dtype {given.dtype}")
    points = np.ascontiguousarray(given, np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise PysimError(where, f"vertices must have shape (n, 3) [m], got {points.shape}")
    return points


def _indices(faces: ArrayLike, where: str) -> Faces:
    refuse_mask(faces, f"{where}: faces")
    triangles = _array(faces, "faces must be whole numbers", where)
    if triangles.ndim != 2 or triangles.shape[1] != 3:
        raise PysimError(where, f"faces must have shape (m, 3), got {triangles.shape}")
    if triangles.dtype.kind not in "iu":
        raise PysimError(where, f"faces must be whole numbers, got dtype {triangles.dtype}")
    return np.ascontiguousarray(triangles, np.int64)


def _array(x: ArrayLike, problem: str, where: str) -> NDArray[Any]:
    """Return x as an array; PysimError if its rows differ in length."""
    try:
        return np.asarray(x)
    except ValueError as error:
        raise PysimError(where, problem) from error
