"""Inverse joint-space inertia, Coriolis matrix, and operational-space inertia of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms.frames import axes, body_and_point
from pysim.errors import ModelError
from pysim.spatial.arrays import placed
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.algorithms.frames import Expressed
    from pysim.mechanism.model import Model

__all__ = [
    "coriolis_matrix",
    "minverse",
    "operational_space_inertia",
    "operational_space_mobility",
]


def minverse(model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None) -> Array:
    """Return M(q)⁻¹ (…, nv, nv) [1/kg, 1/(kg·m), 1/(kg·m²)], armature included, symmetric to the bit.

    From the articulated bodies, without M: Carpentier and Mansard 2018, “Analytical derivatives of rigid body dynamics
    algorithms”, section IV. Coordinates of trees that share no joint have exact zeros. Where joints follow others
    (mimic), it is the inverse of the inertia on the independent coordinates.
    """
    return _engine.minverse(model, q, threads=threads, out=out)


def coriolis_matrix(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return C(q, v) (…, nv, nv) [kg/s, kg·m/s, kg·m²/s]: C v + g = `nonlinear_effects`, Ṁ − 2 C is skew-symmetric.

    Echeandia and Wensing 2021, “Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body
    systems”, algorithm 1. Between coordinates that move no body in common it has exact zeros.
    """
    return _engine.coriolis_matrix(model, q, v, threads=threads, out=out)


def operational_space_mobility(
    model: Model,
    q: ArrayLike,
    frame: str,
    expressed: Expressed = "local",
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return Λ⁻¹ = J M⁻¹ Jᵀ (…, 6, 6), the acceleration of a frame for each unit wrench on it [1/kg, …].

    Defined for every mechanism; its rank is that of the frame's Jacobian.

    Raises:
        ModelError: the model has no such frame.
    """
    return _engine.frame_mobility(
        model, q, *body_and_point(model, frame), axes(expressed), threads=threads, out=out
    )


def operational_space_inertia(
    model: Model,
    q: ArrayLike,
    frame: str,
    expressed: Expressed = "local",
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return Λ = (J M⁻¹ Jᵀ)⁻¹ (…, 6, 6), the operational-space inertia of a frame [kg, kg·m, kg·m²].

    Khatib 1987, “A unified approach for motion and force control of robot manipulators”, equation 20.

    Raises:
        ModelError: the model has no such frame, or the frame cannot move in all six directions in some state (fewer
            than six coordinates before it, or a singular posture).
        ValueError: `out` cannot take the result.
    """
    mobility = operational_space_mobility(model, q, frame, expressed, threads=threads)
    scale = np.sqrt(np.einsum("...ii->...i", mobility))
    with np.errstate(divide="ignore", invalid="ignore"):  # rows in metres and in radians alike
        alike = mobility / (scale[..., :, None] * scale[..., None, :])
    alike = np.where(np.isfinite(alike), alike, 0)
    least = np.linalg.eigvalsh(alike)[..., 0]
    stuck = np.argwhere(np.atleast_1d(least) <= 100 * np.finfo(mobility.dtype).eps)
    if stuck.size:
        state = f" in state {int(stuck[0, 0])}" if mobility.ndim == 3 else ""
        raise ModelError(
            f"frame {frame!r}",
            f"cannot move in all six directions{state}, its inertia is infinite; "
            "use operational_space_mobility",
        )
    return placed(np.linalg.inv(mobility).astype(mobility.dtype, copy=False), out)
