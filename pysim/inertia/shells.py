"""Shells of a closed surface: its connected pieces, and whether each one's orientation fits its nesting in the others.

A shell must face outwards if the others wind around it 0 times, and inwards, as the wall of a cavity, if they wind
around it once; the winding number of a point is Σ Ω/4π over the solid angles of the faces [Van Oosterom and Strackee
1983].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.inertia.surface import Faces, Surface, Vertices


@dataclass(frozen=True)
class Shells:
    """Shell of every face (m,), numbered by first faces; volume and winding number of each shell (k,)."""

    of_face: Faces
    first: Faces  # face of each
    volume: Vertices  # [m³], negative where the shell faces in
    around: Faces  # winding number of the other shells around it

    def __len__(self) -> int:
        return len(self.first)

    @property
    def inside_out(self) -> NDArray[np.bool_]:
        """Shells that face inwards and are not cavities (k,)."""
        return np.asarray((self.volume < 0) & (self.around != 1))

    @property
    def twice(self) -> NDArray[np.bool_]:
        """Shells that face outwards inside a solid, so that their volume is counted twice (k,)."""
        return np.asarray((self.volume > 0) & (self.around > 0))


def is_one_shell(surface: Surface, faces: Faces) -> bool:
    """Return whether the faces are connected; vertices of `faces` are unique."""
    return bool(_engine.label_shells(faces, len(surface.vertices))[0] == 1)


def shells_of(surface: Surface, faces: Faces) -> Shells:
    """Return the shells of a closed surface with unique vertices in `faces`."""
    count, of_face = _engine.label_shells(faces, len(surface.vertices))
    corners = surface.vertices[faces] - surface.middle
    a, b, c = (corners[:, k] for k in range(3))
    volume = np.bincount(of_face, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6, count)
    first = np.unique(of_face, return_index=True)[1].astype(np.int64)
    around = np.zeros(count, np.int64)
    if count > 1:
        around[:] = _windings(corners, of_face, corners[first, 0])
    return Shells(of_face, first, np.asarray(volume, float), around)


def _windings(corners: Vertices, of_face: Faces, points: Vertices) -> Faces:
    """Return the winding number (k,) of the other shells around each; only those whose bounding box holds it count."""
    order = np.argsort(of_face, kind="stable")
    starts = np.r_[0, np.cumsum(np.bincount(of_face, minlength=len(points)))]
    low = np.minimum.reduceat(corners[order].min(axis=1), starts[:-1])
    high = np.maximum.reduceat(corners[order].max(axis=1), starts[:-1])
    around = np.zeros(len(points), np.int64)
    for k, point in enumerate(points):
        holds = ((low <= low[k]) & (high[k] <= high)).all(axis=1)
        holds[k] = False
        for other in np.flatnonzero(holds):
            faces = order[starts[other] : starts[other + 1]]
            around[k] += round(_winding(corners[faces] - point))
    return around


def _winding(corners: Vertices) -> float:
    """Return Σ Ω/4π of faces (m, 3, 3) about the origin."""
    a, b, c = (corners[:, k] for k in range(3))
    x, y, z = (np.linalg.norm(p, axis=1) for p in (a, b, c))
    below = x * y * z
    for p, q, r in ((a, b, z), (b, c, x), (c, a, y)):
        below = below + np.einsum("ij,ij->i", p, q) * r
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    return float(np.arctan2(above, below).sum() / (2 * np.pi))
