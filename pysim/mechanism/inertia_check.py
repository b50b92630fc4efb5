"""Detection of a singular mass matrix in O(n), by the pivots of the articulated-body algorithm.

    U = IA S      D = Sᵀ U + armature      IA_P += X_PB* (IA − U D⁻¹ Uᵀ) X_BP      [Featherstone 2008, table 7.1]

M is singular if some D is: a velocity of that joint moves nothing, whatever the joints beyond it do. D is compared with
the masses and moments of inertia in IA itself: eigenvalues of M become small in long chains too, pivots do not.
Mechanisms with followers, or with joints that Python computes, are judged by their dense matrix. Models of one
structure are judged together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError
from pysim.inertia import rotational_inertia
from pysim.scene.stop_defaults import composite_inertias
from pysim.spatial import Ad, inverse
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

_LEAST_PIVOT = 1e-12  # of the diagonal of D
_LEAST_SHARE = 1e-14  # of the mass or moment of inertia in IA


def check_inertia(model: Model) -> None:
    """Reject a tree with a motion that moves no inertia, because M would be singular.

    Raises:
        ModelError: names the joint.
    """
    at = int(idle_joints([model])[0])
    if at < 0:
        return
    joint = model.joints[at]
    body = next(own for own in model.spec.bodies if own.name == joint.child)
    lack, remedy = "the bodies it carries are massless along it", "a mass"
    if body.theta[0] > 0:
        axis = _thin_axis(body.theta)
        lack = f"the bodies it carries are thin, without a moment of inertia about {axis}"
        remedy = f"the moment that it has about {axis} of the body"
    problem = (
        f"joint {joint.name!r} moves no inertia, {lack}, and the mass matrix is singular; "
        f"give body {joint.child!r} {remedy}, the joint an armature, or make the joint fixed"
    )
    raise ModelError(joint.where, problem)


def _thin_axis(theta: Array) -> str:
    """Return the axis about which a body has the least moment of inertia, such as "(0, 0, 1)"."""
    c = theta[1:4] / theta[0]
    central = rotational_inertia(theta) - theta[0] * (c @ c * np.eye(3) - np.outer(c, c))
    axis = np.linalg.eigh(central)[1][:, 0]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    return f"({', '.join(f'{x:.3g}' for x in axis.round(6) + 0.0)})"


def idle_joints(models: Sequence[Model]) -> NDArray[np.intp]:
    """Return the joint that moves no inertia in each of some models of one structure; −1 if there is none."""
    first = models[0]
    if first.nv == 0:
        return np.full(len(models), -1)
    q = first.random_configuration(np.random.default_rng(0))
    with np.errstate(all="ignore"):  # what overflows is found to be singular
        if first.callback_numbers or min(first.v_offsets, default=0) < 0:
            found = (_idle_in_matrix(model, q) for model in models)
            return np.array([-1 if at is None else at for at in found])
        return _idle_in_trees(models, q)


def _idle_in_trees(models: Sequence[Model], q: Array) -> NDArray[np.intp]:
    """Return the joint with a singular pivot nearest to the leaves in each model; −1 if M is positive definite."""
    first = models[0]
    poses = np.array([_engine.forward_kinematics(model, q) for model in models])
    parents = np.array(first.parents)
    above = np.where((parents >= 0)[:, None, None], poses[:, parents], np.eye(4))
    X = Ad(inverse(poses) @ above)  # B ← P
    begins = np.array(first.v_offsets)
    ends = np.append(begins[1:], first.nv)
    body = np.repeat(np.arange(first.nbodies), ends - begins)
    columns = np.array([_engine.influence_coefficients(model, q).T for model in models])
    # in the world, about its origin
    S = (Ad(inverse(poses))[:, body] @ columns[..., None])[..., 0]
    IA = _body_inertias(np.array([model.parameters for model in models]))
    armature = np.array([model.armature for model in models], float)
    idle = np.full(len(models), -1)
    for b in range(first.nbodies - 1, -1, -1):
        own = slice(begins[b], ends[b])
        U = S[:, own] @ IA[:, b]
        D = U @ S[:, own].swapaxes(1, 2)
        D += armature[:, own, None] * np.eye(D.shape[1])
        singular = _are_singular(D, S[:, own], IA[:, b], armature[:, own])
        idle[singular & (idle < 0)] = b
        if parents[b] >= 0:
            D[singular] = np.eye(D.shape[1])
            divided = U / D if D.shape[1] == 1 else np.linalg.solve(D, U)
            left = IA[:, b] - U.swapaxes(1, 2) @ divided
            left = X[:, b].swapaxes(1, 2) @ left @ X[:, b]
            # skew parts, which are rounding, would grow from joint to joint
            IA[:, parents[b]] += (left + left.swapaxes(1, 2)) / 2
    return idle


def _are_singular(D: Array, S: Array, IA: Array, armature: Array) -> NDArray[np.bool_]:
    """Return whether a combination of a joint's velocities moves no inertia, to rounding, in each model.

    The diagonal of D is compared with the masses and moments of IA, its eigenvalues with the diagonal.
    """
    diagonal = IA.diagonal(axis1=1, axis2=2)
    squares = S * S
    most = squares[..., :3].sum(axis=2) * (diagonal[:, None, :3].sum(axis=2) / 3)
    most += squares[..., 3:].sum(axis=2) * (diagonal[:, None, 3:].sum(axis=2) / 2) + armature
    size = D.diagonal(axis1=1, axis2=2)
    singular = ~(size > _LEAST_SHARE * most).all(axis=1)
    if D.shape[1] > 1:
        safe = np.where(singular[:, None], 1.0, size)
        scaled = D / np.sqrt(safe[:, :, None] * safe[:, None, :])
        finite = np.isfinite(scaled).all(axis=(1, 2))
        singular |= ~finite
        scaled[~finite] = np.eye(D.shape[1])
        singular |= np.linalg.eigvalsh(scaled)[:, 0] <= _LEAST_PIVOT
    return np.asarray(singular)


def _body_inertias(theta: Array) -> Array:
    """Return inertia matrices (…, 6, 6) about the bodies' origins, linear part first, of θ (…, 10)."""
    M = np.zeros((*theta.shape[:-1], 6, 6))
    M[..., 0, 0] = M[..., 1, 1] = M[..., 2, 2] = theta[..., 0]
    for i, j, k in ((1, 2, 1), (2, 0, 2), (0, 1, 3)):
        M[..., i, 3 + j] = M[..., 3 + j, i] = theta[..., k]
        M[..., j, 3 + i] = M[..., 3 + i, j] = -theta[..., k]
    M[..., 3:, 3:] = rotational_inertia(theta)
    return M


def _idle_in_matrix(model: Model, q: Array) -> int | None:
    """Return the joint whose velocity moves no inertia, by the eigenvalues of M; None if M is positive definite."""
    M = np.asarray(_engine.crba(model, q))
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    most = np.sqrt(np.maximum(_at_most(model), 0.0))
    share = np.divide(size, most, out=np.sign(size), where=most > 0)
    idle = int(np.argmin(share))
    if share[idle] > 1e-7:  # else that coordinate alone moves nothing
        scaled = M / np.outer(size, size)
        finite = np.isfinite(scaled).all(axis=1)
        if not finite.all():
            idle = int(np.argmin(finite))
        else:
            values, vectors = np.linalg.eigh(scaled)
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
