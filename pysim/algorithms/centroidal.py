"""Centroidal momentum: momentum of the mechanism about its centre of mass, in world axes, linear part first.

h = A(q) v = [Σ m ċ; Σ of the moments about the centre of mass]. Rotor inertias (armature) are not included. Orin,
Goswami and Lee 2013, “Centroidal dynamics of a humanoid robot”; `center_of_mass` gives the point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError
from pysim.spatial.arrays import placed
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "centroidal_map",
    "centroidal_map_time_derivative",
    "centroidal_momentum",
    "centroidal_momentum_rate",
    "com_jacobian",
]


def centroidal_momentum(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return h (…, 6) [N·s, N·m·s]."""
    return _engine.centroidal_momentum(model, q, v, threads=threads, out=out)


def centroidal_momentum_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return ḣ = A v̇ + Ȧ v (…, 6) [N, N·m], the sum of all forces on the mechanism, including gravity."""
    return _engine.centroidal_momentum_rate(model, q, v, a, threads=threads, out=out)


def centroidal_map(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return A (…, 6, nv) with h = A v [kg, kg·m, kg·m²]."""
    return _engine.centroidal_map(model, q, threads=threads, out=out)


def centroidal_map_time_derivative(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return Ȧ (…, 6, nv), the rate of the map while q moves with velocity v [kg/s, kg·m/s, kg·m²/s]."""
    return _engine.centroidal_map_time_derivative(model, q, v, threads=threads, out=out)


def com_jacobian(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return J (…, 3, nv) with ċ = J v, the velocity of the centre of mass in the world [1, m].

    The linear part of the centroidal map, divided by the mass of the moving bodies.

    >>> pysim.com_jacobian(model, q).shape
    (3, 2)
    """
    mass = model.total_mass
    if not mass > 0:
        raise ModelError("com_jacobian", "the moving bodies have no mass; give one a mass")
    rows = _engine.centroidal_map(model, q, threads=threads)[..., :3, :]
    return placed(np.asarray(rows / rows.dtype.type(mass)), out)
