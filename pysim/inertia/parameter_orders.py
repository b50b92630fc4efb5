"""Conventions of the ten inertial numbers and of spatial vectors in pysim's sources: order and reference point.

| name | order of the ten numbers | inertia about |
|---|---|---|
| theta | m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz: pysim, Pinocchio's dynamic parameters, mujoco-sysid | origin |
| packed | m, mcx, mcy, mcz, Ixx, Iyy, Izz, Ixy, Iyz, Izx: the engine, KSL after a translation | origin |
| kwon | m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz: Kwon | origin |
| centroidal | as packed, documented for KSL's constructor | centre of mass |

Off-diagonal numbers are tensor entries everywhere, minus the products of inertia. Leading axes are batches; float32
stays float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.spatial.arrays import checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.spatial.arrays import Array

TO_PACKED = np.array([0, 1, 2, 3, 4, 6, 9, 5, 8, 7])
FROM_PACKED = np.array([0, 1, 2, 3, 4, 7, 5, 9, 8, 6])
_TO_KWON = np.array([0, 1, 2, 3, 4, 6, 9, 5, 7, 8])
_FROM_KWON = np.array([0, 1, 2, 3, 4, 7, 5, 8, 9, 6])
PACKED_KWON = np.array([0, 1, 2, 3, 4, 5, 6, 7, 9, 8])  # its own inverse


def theta_to_packed(theta: ArrayLike) -> Array:
    """Return the engine's record (…, 10) of θ (…, 10).

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    return checked(theta, "theta", (10,))[..., TO_PACKED]


def packed_to_theta(packed: ArrayLike) -> Array:
    """Return θ (…, 10) of the engine's record (…, 10).

    Raises:
        PysimError: packed is not ten finite numbers (…, 10).
    """
    return checked(packed, "packed", (10,))[..., FROM_PACKED]


def theta_to_kwon(theta: ArrayLike) -> Array:
    """Return [m, mc, Ixx, Iyy, Izz, Ixy, Ixz, Iyz] (…, 10), Kwon's order, of θ (…, 10).

    Raises:
        PysimError: theta is not ten finite numbers (…, 10).
    """
    return checked(theta, "theta", (10,))[..., _TO_KWON]


def kwon_to_theta(kwon: ArrayLike) -> Array:
    """Return θ (…, 10) of numbers in Kwon's order (…, 10).

    Raises:
        PysimError: kwon is not ten finite numbers (…, 10).
    """
    return checked(kwon, "kwon", (10,))[..., _FROM_KWON]


def packed_to_kwon(packed: ArrayLike) -> Array:
    """Return numbers in Kwon's order (…, 10) of the engine's record (…, 10).

    Raises:
        PysimError: packed is not ten finite numbers (…, 10).
    """
    return checked(packed, "packed", (10,))[..., PACKED_KWON]


def kwon_to_packed(kwon: ArrayLike) -> Array:
    """Return the engine's record (…, 10) of numbers in Kwon's order (…, 10).

    Raises:
        PysimError: kwon is not ten finite numbers (…, 10).
    """
    return checked(kwon, "kwon", (10,))[..., PACKED_KWON]


def packed_to_centroidal(packed: ArrayLike) -> Array:
    """Return the record (…, 10) about the centre of mass of the engine's record, which is about the origin.

    For a massless body the two points coincide.

    Raises:
        PysimError: packed is not ten finite numbers (…, 10).
    """
    return shifted(checked(packed, "packed", (10,)), -1)


def centroidal_to_packed(centroidal: ArrayLike) -> Array:
    """Return the engine's record (…, 10), about the origin, of one about the centre of mass.

    Raises:
        PysimError: centroidal is not ten finite numbers (…, 10).
    """
    return shifted(checked(centroidal, "centroidal", (10,)), 1)


def swap_halves(vector: ArrayLike) -> Array:
    """Return [ω; v] of [v; ω] and back, [τ; f] of [f; τ] and back (…, 6): Kwon puts the angular part first.

    Raises:
        PysimError: vector is not six finite numbers (…, 6).
    """
    return checked(vector, "vector", (6,))[..., [3, 4, 5, 0, 1, 2]]


def swap_blocks(matrix: ArrayLike) -> Array:
    """Return Π M Π, a matrix (…, 6, 6) between spatial vectors with their halves in the other order.

    Raises:
        PysimError: matrix is not finite numbers (…, 6, 6).
    """
    return np.roll(checked(matrix, "matrix", (6, 6)), (3, 3), (-2, -1))


def shifted(packed: Array, sign: int) -> Array:
    """Add sign · m (c·c 1 − c cᵀ), with mc c = m c c, to records (…, 10), without checks."""
    moved = packed.copy()
    h, m = packed[..., 1:4], packed[..., :1]
    c = np.divide(h, m, out=np.zeros_like(h), where=m != 0)
    hc = h * c
    moved[..., 4:7] += sign * (hc[..., [1, 2, 0]] + hc[..., [2, 0, 1]])
    moved[..., 7:10] -= sign * h * c[..., [1, 2, 0]]
    return moved
