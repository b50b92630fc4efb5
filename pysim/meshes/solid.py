"""From triangles to a solid: closed, wound one way, outside out; then its mass properties.

A mesh that encloses no volume is refused. What can be told from the triangles without guessing (a triangle there
twice, one wound the wrong way, a shell inside out) is mended for the integral, with a warning that says so.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimWarning, SceneError
from pysim.inertia import mesh_inertia
from pysim.meshes.triangles import read_mesh

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from pysim.meshes.triangles import Faces, Vertices

    Array = NDArray[np.float64]

WELD = 1e-6  # of the mesh's size: nearer vertices are one, if exact equality leaves gaps
FLAT = 1e-9  # of the mesh's size: what is thinner has no volume


def mesh_theta(path: Path, scale: ArrayLike, density: float) -> Array:
    """Return θ (10,) [kg, kg·m, kg·m²] of the solid inside a mesh file, about the file's origin.

    Args:
        path: the file.
        scale: (3,) from the file's unit to metres; negative mirrors.
        density: uniform [kg/m³].

    Raises:
        SceneError: the file cannot be read, or its triangles enclose no volume.
    """
    mesh = read_mesh(path)
    factors = np.broadcast_to(np.asarray(scale, float), (3,))
    vertices = mesh.vertices * factors
    faces = mesh.faces if factors.prod() >= 0 else mesh.faces[:, ::-1]
    _refuse_flat(path, vertices)
    vertices, faces = _welded(path, vertices, faces)
    faces = _wound(path, faces)
    faces = _outside_out(path, vertices, faces)
    theta = mesh_inertia(vertices, faces, density)
    if theta[0] <= density * FLAT * np.ptp(vertices, axis=0).max() ** 3:
        raise SceneError(str(path), "encloses no volume, so a density gives no mass; give numbers")
    return theta


def _refuse_flat(path: Path, vertices: Vertices) -> None:
    extents = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    if len(extents) < 3 or extents[2] <= FLAT * extents[0]:
        problem = "is flat and encloses no volume, so a density gives no mass; give numbers instead"
        raise SceneError(str(path), problem)


def _welded(path: Path, vertices: Vertices, faces: Faces) -> tuple[Vertices, Faces]:
    """Join vertices at one place; near ones only where the mesh has gaps otherwise."""
    exact = _joined(path, vertices, faces, vertices)
    gaps = _open_edges(exact[1])
    if not gaps:
        return exact
    size = np.ptp(vertices, axis=0).max()
    near = _joined(path, vertices, faces, np.round(vertices / (WELD * size)))
    gaps = _open_edges(near[1])
    if gaps:
        problem = (
            f"is not watertight: {_counted(gaps, 'edge')} without a triangle on each side; "
            "close it, or give the body's mass, com and inertia as numbers"
        )
        raise SceneError(str(path), problem)
    joined = len(exact[0]) - len(near[0])
    _warn(path, f"{_counted(joined, 'vertex', 'vertices')} nearer than {WELD:g} of its size joined")
    return near


def _joined(
    path: Path, vertices: Vertices, faces: Faces, places: Vertices
) -> tuple[Vertices, Faces]:
    """Make vertices of equal `places` one; drop triangles that vanish or are there twice."""
    _, first, index = np.unique(places + 0.0, axis=0, return_index=True, return_inverse=True)
    kept = index.reshape(-1)[faces]
    kept = kept[(kept != np.roll(kept, 1, axis=1)).all(axis=1)]
    from_least = (kept.argmin(axis=1)[:, None] + np.arange(3)) % 3
    turned = np.take_along_axis(kept, from_least, axis=1)
    once = np.sort(np.unique(turned, axis=0, return_index=True)[1])
    if len(once) < len(kept):
        text = f"{_counted(len(kept) - len(once), 'triangle')} there twice, counted once"
        _warn(path, text)
    return vertices[first], kept[once]


def _edges(faces: Faces) -> Faces:
    """Return the directed edges (3 m, 2), those of a triangle together."""
    return faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)


def _open_edges(faces: Faces) -> int:
    """Count edges with an odd number of triangles."""
    edges = np.sort(_edges(faces), axis=1)
    counts = np.unique(edges, axis=0, return_counts=True)[1]
    return int((counts % 2).sum())


def _is_wound(faces: Faces) -> bool:
    """True if every edge is walked as often forth as back."""
    edges = _edges(faces)
    forth = edges[np.lexsort(edges.T)]
    back = edges[:, ::-1]
    return bool((forth == back[np.lexsort(back.T)]).all())


def _wound(path: Path, faces: Faces) -> Faces:
    """Return the triangles wound one way: neighbours walk their edge against each other."""
    if _is_wound(faces):
        return faces
    neighbours = defaultdict(list)
    for k, (a, b) in enumerate(_edges(faces).tolist()):
        neighbours[min(a, b), max(a, b)].append((k // 3, a < b))
    if any(len(sides) != 2 for sides in neighbours.values()):
        problem = (
            "has edges with more than two triangles that face different ways; mend its normals"
        )
        raise SceneError(str(path), problem)
    links = defaultdict(list)
    for (one, up), (other, other_up) in neighbours.values():
        links[one].append((other, up == other_up))
        links[other].append((one, up == other_up))
    flipped = _spread(path, len(faces), links)
    text = f"{_counted(int(flipped.sum()), 'triangle')} wound against the other"
    _warn(path, f"{text} {len(faces) - int(flipped.sum())}, turned for the volume")
    return np.where(flipped[:, None], faces[:, ::-1], faces)


def _spread(path: Path, count: int, links: dict[int, list[tuple[int, bool]]]) -> NDArray[np.bool_]:
    """Say which triangles must turn, the fewer of each connected piece."""
    flipped = np.zeros(count, bool)
    reached = np.zeros(count, bool)
    for seed in range(count):
        if reached[seed]:
            continue
        reached[seed] = True
        piece = [seed]
        for face in piece:  # grows while it is walked
            for other, against in links[face]:
                turn = flipped[face] ^ against
                if not reached[other]:
                    reached[other], flipped[other] = True, turn
                    piece.append(other)
                elif flipped[other] != turn:
                    raise SceneError(str(path), "has no inside: its surface is one-sided; mend it")
        if 2 * flipped[piece].sum() > len(piece):
            flipped[piece] ^= True
    return flipped


def _outside_out(path: Path, vertices: Vertices, faces: Faces) -> Faces:
    """Turn shells that are inside out; one inside another is a cavity."""
    labels, shell = np.unique(_shells(len(vertices), faces), return_inverse=True)
    a, b, c = (vertices[faces[:, k]] - vertices.mean(axis=0) for k in range(3))
    volume = np.bincount(shell, np.einsum("ij,ij->i", a, np.cross(b, c)), len(labels))
    low, high = np.full((len(labels), 3), np.inf), np.full((len(labels), 3), -np.inf)
    corners = vertices[faces]
    np.minimum.at(low, shell, corners.min(axis=1))
    np.maximum.at(high, shell, corners.max(axis=1))
    solid = volume > 0
    if not solid.any():  # cavities too
        _warn(path, "every triangle faces inwards, turned for the volume")
        return faces[:, ::-1]
    wrong = [
        k
        for k in np.flatnonzero(volume < 0)
        if not ((low[k] >= low[solid]) & (high[k] <= high[solid])).all(axis=1).any()
    ]
    if not wrong:
        return faces
    turned = _counted(len(wrong), "shell")
    _warn(path, f"{turned} inside out, of {len(labels)}, turned for the volume")
    return np.where(np.isin(shell, wrong)[:, None], faces[:, ::-1], faces)


def _shells(count: int, faces: Faces) -> NDArray[np.int64]:
    """Label the triangles (m,) that hang together by the least of their vertices."""
    label = np.arange(count)
    while True:
        least = label[faces].min(axis=1)
        after = label.copy()
        np.minimum.at(after, faces, least[:, None])
        after = after[after]
        if (after == label).all():
            return label[faces[:, 0]]
        label = after


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one} is" if number == 1 else f"{number} {many or one + 's'} are"


def _warn(path: Path, text: str) -> None:
    warnings.warn(f"{path}: {text}", PysimWarning, stacklevel=2)
