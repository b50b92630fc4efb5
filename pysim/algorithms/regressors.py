"""Regressors: forces, energies and momentum as linear functions of the bodies' parameters θ.

θ = [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] of each body about its named frame's origin [kg, kg·m, kg·m²], as
`model.parameters` has it; columns 10 k … 10 k + 9 belong to body k. Links welded to a body are part of it. Rotor
inertias (armature), passive forces and external wrenches are no part of θ:

    joint_torque_regressor(model, q, v, a) @ model.parameters.ravel() == rnea(model, q, v, a) − armature · a

Atkeson, An and Hollerbach 1986, “Estimation of inertial parameters of manipulator loads and links”; Garofalo et al.
2013 for the energies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.spatial.arrays import checked, leading, map_rows
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "body_regressor",
    "joint_torque_regressor",
    "kinetic_energy_regressor",
    "momentum_regressor",
    "potential_energy_regressor",
]


def joint_torque_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return Y (…, nv, 10 nbodies) with τ = Y θ, the generalised forces [N or N·m] without the rotors' part.

    Entries of bodies that a coordinate does not move are exact zeros. Where joints follow others (mimic), the rows are
    those of the independent coordinates, Y = Eᵀ Y_tree.

    Args:
        model: the mechanism; its own parameters play no role.
        q: configuration (…, nq).
        v: velocity (…, nv).
        a: dv/dt (…, nv) [m/s² or rad/s²].
        threads: threads that share a batch; 0 uses every processor.
        out: an array for the result.
    """
    return _engine.joint_torque_regressor(model, q, v, a, threads=threads, out=out)


def body_regressor(
    v: ArrayLike, a_g: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return Y (…, 6, 10) with M a_g + v ×* M v = Y θ, the wrench [N, N·m] that moves a body, in its frame.

    Args:
        v: twist of the body (…, 6) [m/s, rad/s] in its frame.
        a_g: its spatial acceleration less gravity (…, 6) [m/s², rad/s²]: dv/dt − [Rᵀg; 0].
        threads: threads that share a batch; 0 uses every processor.
        out: an array for the result.

    Raises:
        PysimError: a wrong shape, a NaN or infinity, named; an `out` that cannot take the result.
    """
    twist, acceleration = checked(v, "v", (6,)), checked(a_g, "a_g", (6,))
    leading(twist, 1, "v", acceleration, 1, "a_g")
    rows = np.concatenate(np.broadcast_arrays(twist, acceleration), axis=-1)
    return map_rows("body_regressor", rows, 1, (6, 10), threads=threads, out=out)


def kinetic_energy_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return y (…, 10 nbodies) with y θ = ½ Σ Vᵀ M V [J], the kinetic energy without the rotors' part."""
    return _engine.kinetic_energy_regressor(model, q, v, threads=threads, out=out)


def potential_energy_regressor(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return y (…, 10 nbodies) with y θ = −Σ m g·c [J], zero at the world's origin."""
    return _engine.potential_energy_regressor(model, q, threads=threads, out=out)


def momentum_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return Y (…, 6, 10 nbodies) with Y θ = [p; L], momentum in world axes, L about the world's origin [N·s, N·m·s].

    The moment about the centre of mass is not linear in θ, for that point depends on θ; with c = `center_of_mass` it is
    L − c × p.
    """
    return _engine.momentum_regressor(model, q, v, threads=threads, out=out)
