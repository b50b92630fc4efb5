"""Repair of meshes: vertices joined, duplicate triangles dropped, winding made consistent and outward, holes closed.

Unambiguous faults are repaired, with a warning that reports each kind and its number; other faults are errors. Holes
are closed only if requested.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError, PysimWarning
from pysim.inertia.shells import shells_of
from pysim.inertia.surface import (
    FLAT_RATIO,
    Surface,
    counted,
    counted_of,
    distinct_rows,
    edges,
    read_surface,
    refuse_overflow,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.inertia.surface import Faces, Vertices

LEAST_AREA_RATIO = 1e-12  # of the mesh's size squared: area of a triangle that counts as none
WELD = 1e-6  # fraction of the mesh's size within which vertices are joined if exact equality leaves gaps


def repaired(
    vertices: Vertices, faces: Faces, where: str, *, fill: bool = False
) -> tuple[Vertices, Faces]:
    """Return vertices (n, 3) and faces (m, 3) of the solid that is obtained by repairing these.

    Args:
        vertices: (n, 3).
        faces: (m, 3), of vertices that exist.
        where: name of the mesh in warnings and errors.
        fill: close holes of up to four edges.

    Raises:
        PysimError: the mesh is flat, open or one-sided, or all its triangles are degenerate.
    """
    refuse_overflow(vertices, where)
    _refuse_flat(where, vertices)
    _report_pinched(where, vertices, faces)
    vertices, faces = _welded(where, vertices, faces, fill=fill)
    faces = _wound(where, faces)
    return vertices, _outside_out(where, vertices, faces)


def hull(surface: Surface) -> Surface:
    """Return the convex hull of the vertices."""
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415, loads when it is needed

    try:
        found = ConvexHull(surface.vertices - surface.middle)
    except QhullError:
        raise surface.fail("has no convex hull: its vertices lie in a plane") from None
    faces = found.simplices.astype(np.int64)
    a, b, c = (surface.vertices[faces[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    faces[inwards] = faces[inwards, ::-1]
    return read_surface(surface.vertices, faces, surface.where)


def _refuse_flat(where: str, vertices: Vertices) -> None:
    extents = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    if len(extents) < 3 or extents[2] <= FLAT_RATIO * extents[0]:
        problem = "is flat and encloses no volume, so a density gives no mass; give numbers instead"
        raise PysimError(where, problem)


def _report_pinched(where: str, vertices: Vertices, faces: Faces) -> None:
    """Warn of triangles without area, which add nothing to the volume."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    pinched = np.flatnonzero(area <= LEAST_AREA_RATIO * np.ptp(vertices, axis=0).max() ** 2)
    if 0 < len(pinched) < len(faces):
        found = f"has {counted(len(pinched), 'face', verb=False)} without area, the first is face {pinched[0]}"
        _warn(where, f"{found}; they add nothing to the volume, remove them and export it again")


def _welded(where: str, vertices: Vertices, faces: Faces, *, fill: bool) -> tuple[Vertices, Faces]:
    """Join coincident vertices; only if gaps remain, join near ones and fill holes."""
    exact = _joined(where, vertices, faces, vertices)
    if not _open_edges(exact[1]):
        return exact
    size = np.ptp(vertices, axis=0).max()
    near = _joined(where, vertices, faces, np.round(vertices / (WELD * size)))
    joined = len(exact[0]) - len(near[0])
    gaps = _open_edges(near[1])
    if gaps and fill:
        near = _filled(where, *near)
        gaps = _open_edges(near[1])
    if gaps:
        problem = (
            f"is not watertight: {counted(gaps, 'edge')} without a triangle on each side; "
            "close it, or give the body's mass, com and inertia as numbers"
        )
        raise PysimError(where, problem)
    if joined:
        text = f"{counted(joined, 'vertex', 'vertices')} joined with another within {WELD:g} of the mesh's size"
        _warn(where, text)
    return near


def _filled(where: str, vertices: Vertices, faces: Faces) -> tuple[Vertices, Faces]:
    """Close holes of three or four edges, as trimesh does, by triangles wound against their neighbours."""
    walked = edges(faces)
    index = distinct_rows(np.sort(walked, axis=1))[1]
    beside, forth = defaultdict(list), set()
    for a, b in walked[np.bincount(index)[index] % 2 == 1].tolist():
        beside[a].append(b)
        beside[b].append(a)
        forth.add((a, b))
    added: list[list[int]] = []
    while beside:
        rim = _rim(beside)
        if 3 <= len(rim) <= 4:
            turned = (rim[0], rim[1]) in forth
            added += [[rim[0], c, b] if turned else [rim[0], b, c] for b, c in pairwise(rim[1:])]
    if not added:
        return vertices, faces
    text = f"{counted(len(added), 'triangle')} added to close holes, the first is face {len(faces)}"
    _warn(where, text)
    return vertices, np.vstack([faces, np.array(added, np.int64)])


def _rim(beside: dict[int, list[int]]) -> list[int]:
    """Remove one connected set of open edges, and return it if it is a simple loop."""
    start = next(iter(beside))
    run, plain = [start], True
    for vertex in run:  # grows while it is walked
        neighbours = beside.pop(vertex)
        plain = plain and len(neighbours) == 2
        following = [n for n in dict.fromkeys(neighbours) if n not in run]
        run += following[:1] if plain else following
    return run if plain else []


def _joined(
    where: str, vertices: Vertices, faces: Faces, places: Vertices
) -> tuple[Vertices, Faces]:
    """Merge vertices of equal `places`; drop degenerate and duplicate triangles."""
    first, index = distinct_rows(places)
    triangles = index[faces]
    triangles = triangles[(triangles != np.roll(triangles, 1, axis=1)).all(axis=1)]
    from_least = (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3
    turned = np.take_along_axis(triangles, from_least, axis=1)
    if len(triangles) == 0:
        problem = "has no triangle whose corners differ; export the mesh again"
        raise PysimError(where, problem)
    once = np.sort(distinct_rows(turned)[0])
    if len(once) < len(triangles):
        text = f"{counted(len(triangles) - len(once), 'duplicate triangle')} ignored"
        _warn(where, text)
    return vertices[first], triangles[once]


def _open_edges(faces: Faces) -> int:
    """Count edges with an odd number of triangles."""
    counts = np.bincount(distinct_rows(np.sort(edges(faces), axis=1))[1])
    return int((counts % 2).sum())


def _is_wound(faces: Faces) -> bool:
    """Return whether every edge occurs equally often in both directions."""
    forth = edges(faces)
    back = forth[:, ::-1]
    return bool((forth[np.lexsort(forth.T)] == back[np.lexsort(back.T)]).all())


def _wound(where: str, faces: Faces) -> Faces:
    """Return the triangles wound consistently: neighbours traverse their common edge in opposite directions."""
    if _is_wound(faces):
        return faces
    walked = edges(faces)
    index = distinct_rows(np.sort(walked, axis=1))[1]
    if (np.bincount(index) != 2).any():
        problem = "has edges with more than two triangles that face different ways; fix its normals"
        raise PysimError(where, problem)
    pairs = np.argsort(index, kind="stable").reshape(-1, 2)  # of the places of each edge
    upwards = (walked[:, 0] < walked[:, 1])[pairs]
    flipped = _flipped(where, len(faces), pairs // 3, upwards[:, 0] == upwards[:, 1])
    text = f"{counted(int(flipped.sum()), 'triangle')} wound opposite to the other"
    _warn(where, f"{text} {len(faces) - int(flipped.sum())}; reversed for the volume")
    return np.where(flipped[:, None], faces[:, ::-1], faces)


def _flipped(
    where: str, count: int, neighbours: NDArray[np.int64], against: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which triangles to flip, the minority in each connected piece.

    Triangle k is node k of a graph, and its flipped copy node k + count; nodes that agree are connected.

    Args:
        where: name of the mesh in errors.
        count: of triangles.
        neighbours: (n, 2) triangles that share an edge.
        against: (n,), whether one of the two has to be flipped.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415, loads when it is needed
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    one, other = neighbours.T
    rows = np.concatenate([one, one + count])
    columns = np.concatenate([other + count * against, other + count * ~against])
    graph = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(2 * count, 2 * count))
    plain, copies = connected_components(graph, directed=False)[1].reshape(2, count)
    if (plain == copies).any():
        raise PysimError(
            where,
            "has no inside: its surface is one-sided, like a Möbius strip; remove the twisted faces",
        )
    flipped = plain > copies  # against the first triangle of the piece, whose number is the least
    piece = np.minimum(plain, copies)
    mostly = 2 * np.bincount(piece, flipped) > np.bincount(piece)
    return np.asarray(flipped ^ mostly[piece])


def _outside_out(where: str, vertices: Vertices, faces: Faces) -> Faces:
    """Flip the mesh if it is inside out, then shells that are inside out and not cavities."""
    surface = read_surface(vertices, faces, where)
    shells = shells_of(surface, faces)
    if (shells.volume[shells.around == 0] < 0).all():  # outermost shells
        _warn(where, "every triangle faces inwards; reversed for the volume")
        surface = read_surface(vertices, faces[:, ::-1], where)
        shells = shells_of(surface, surface.faces)
    if shells.inside_out.any():
        reversed_shells = counted_of(int(shells.inside_out.sum()), len(shells), "shells")
        _warn(where, f"{reversed_shells} inside out; reversed for the volume")
    turn = shells.inside_out[shells.of_face]
    return np.where(turn[:, None], surface.faces[:, ::-1], surface.faces)


def _warn(where: str, text: str) -> None:
    warnings.warn(f"{where}: {text}", PysimWarning, stacklevel=2)
