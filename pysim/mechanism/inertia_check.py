"""Detection of a singular mass matrix in O(n), by the pivots of the articulated-body algorithm.

    U = IA S      D = Sᵀ U + armature      IA_P += X_PB* (IA − U D⁻¹ Uᵀ) X_BP      [Featherstone 2008, table 7.1]

M is singular if some D is: a velocity of that joint moves nothing, whatever the joints beyond it do. D is compared with
the masses and moments of inertia in IA itself: eigenvalues of M become small in long chains too, pivots do not.
Mechanisms with followers, or with joints that Python computes, are judged by their dense matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError
from pysim.inertia import rotational_inertia
from pysim.scene.stops import composite_inertias
from pysim.spatial import Ad, inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

    Array = NDArray[np.float64]

_LEAST_PIVOT = 1e-12  # of the diagonal of D
_LEAST_SHARE = 1e-14  # of the mass or moment of inertia in IA


def check_inertia(model: Model) -> None:
    """Reject a tree that some velocity moves without inertia: M would be singular.

    Raises:
        ModelError: names the joint.
    """
    if model.nv == 0:
        return
    q = model.random_configuration(np.random.default_rng(0))
    dense = model.callback_numbers or min(model.v_offsets, default=0) < 0
    at = _idle_in_matrix(model, q) if dense else _idle_in_tree(model, q)
    if at is None:
        return
    joint = model.joints[at]
    problem = (
        f"joint {joint.name!r} moves no inertia, the bodies it carries are massless along it and "
        f"the mass matrix is singular; give body {joint.child!r} a mass, the joint an armature, "
        "or make the joint fixed"
    )
    raise ModelError(joint.where, problem)


def _idle_in_tree(model: Model, q: Array) -> int | None:
    """The joint with a singular pivot, the one nearest to the leaves; None if M is positive definite."""
    poses = _engine.forward_kinematics(model, q)
    parents = np.array(model.parents)
    above = np.where((parents >= 0)[:, None, None], poses[parents], np.eye(4))
    X = Ad(inverse(poses) @ above)  # B ← P
    begins = np.array(model.v_offsets)
    ends = np.append(begins[1:], model.nv)
    body = np.repeat(np.arange(model.nbodies), ends - begins)
    columns = _engine.influence_coefficients(model, q).T[
        ..., None
    ]  # in the world, about its origin
    S = (Ad(inverse(poses))[body] @ columns)[..., 0]
    IA = _body_inertias(model)
    armature = np.asarray(model.armature, float)
    for b in range(model.nbodies - 1, -1, -1):
        own = slice(begins[b], ends[b])
        U = S[own] @ IA[b]
        D = U @ S[own].T
        D.flat[:: len(D) + 1] += armature[own]
        if _is_singular(D, S[own], IA[b], armature[own]):
            return b
        if parents[b] >= 0:
            left = IA[b] - U.T @ (U / D if len(D) == 1 else np.linalg.solve(D, U))
            IA[parents[b]] += X[b].T @ left @ X[b]
    return None


def _is_singular(D: Array, S: Array, IA: Array, armature: Array) -> bool:
    """Whether a combination of a joint's velocities moves no inertia, to rounding.

    The diagonal of D is compared with the masses and moments of IA, its eigenvalues with the diagonal.
    """
    diagonal = IA.diagonal()
    squares = S * S
    most = squares[:, :3].sum(axis=1) * (diagonal[:3].sum() / 3)
    most += squares[:, 3:].sum(axis=1) * (diagonal[3:].sum() / 2) + armature
    size = D.diagonal()
    if not (size > _LEAST_SHARE * most).all():
        return True
    if len(D) == 1:
        return False
    scaled = D / np.sqrt(np.outer(size, size))
    return bool(np.linalg.eigvalsh(scaled)[0] <= _LEAST_PIVOT)


def _body_inertias(model: Model) -> Array:
    """Inertia matrices (nbodies, 6, 6) about the bodies' origins, linear part first."""
    theta = model.parameters
    M = np.zeros((len(theta), 6, 6))
    M[:, 0, 0] = M[:, 1, 1] = M[:, 2, 2] = theta[:, 0]
    x, y, z = theta[:, 1:4].T
    for i, j, h in ((1, 2, x), (2, 0, y), (0, 1, z)):
        M[:, i, 3 + j] = M[:, 3 + j, i] = h
        M[:, j, 3 + i] = M[:, 3 + i, j] = -h
    M[:, 3:, 3:] = rotational_inertia(theta)
    return M


def _idle_in_matrix(model: Model, q: Array) -> int | None:
    """The joint whose velocity moves no inertia, by the eigenvalues of the mass matrix; None if it is definite."""
    M = np.asarray(_engine.crba(model, q))
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    most = np.sqrt(np.maximum(_at_most(model), 0.0))
    share = np.divide(size, most, out=np.sign(size), where=most > 0)
    idle = int(np.argmin(share))
    if share[idle] > 1e-7:  # else that coordinate alone moves nothing
        values, vectors = np.linalg.eigh(M / np.outer(size, size))
        if values[0] > 1e-15:
            return None
        idle = int(np.argmax(np.abs(vectors[:, 0])))
    return max(k for k, first in enumerate(model.v_offsets) if 0 <= first <= idle)


def _at_most(model: Model) -> Array:
    """Return an upper bound (nv,) on the inertia that each velocity moves [kg or kg·m²]; 0 for followers."""
    theta = composite_inertias(model.spec.joints, model.spec.bodies)
    sizes = np.zeros(model.nv)
    for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
        own = theta[joint.child]
        turned = np.trace(rotational_inertia(own)) / 2
        for i in range(at, at + nv) if at >= 0 else ():
            sizes[i] = own[0] if model.velocity_units[i] == "m/s" else turned
    return sizes
