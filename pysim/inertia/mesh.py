"""Inertia of the solid inside a closed surface of triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameters import move_theta, theta_from_origin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def mesh_inertia(vertices: ArrayLike, faces: ArrayLike, density: float) -> Array:
    """Return θ (10,) of the solid inside a closed surface, about the vertices' origin.

    A triangle (a, b, c) seen from the origin is a tetrahedron of volume V = a·(b × c)/6, first moment V (a + b + c)/4
    and second moment V (s sᵀ + a aᵀ + b bᵀ + c cᵀ)/20 with s = a + b + c; signs make the parts outside cancel.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3) indices, counter-clockwise from outside.
        density: uniform [kg/m³].
    """
    points = np.asarray(vertices, float)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))  # near the solid, digits do not cancel
    corners = (points - middle)[np.asarray(faces)]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    V = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    s = a + b + c
    first = V @ s / 4
    second = np.einsum("i,ij,ik->jk", V, s, s) + np.einsum("i,inj,ink->jk", V, corners, corners)
    second /= 20
    about_middle = np.trace(second) * np.eye(3) - second
    theta = density * theta_from_origin(V.sum(), first, about_middle)
    X = np.eye(4)
    X[:3, 3] = middle
    return move_theta(theta, X)
