"""Derivatives of the generalised forces by the vertices of a link's mesh.

    ∂τ/∂vertices = Y_B · ∂θ_B/∂vertices        Y_B  the body's ten columns of the torque regressor, τ = Y θ

Y depends on the motion and ∂θ/∂vertices on the mesh alone, so that a batch of states costs one product of matrices; and
the gradient of a number, with its slopes λ = ∂L/∂τ, needs no more than ten numbers of the motion, Σ Y_Bᵀ λ. The forces
are those of `rnea`, linear in θ: accelerations of `aba` change by −M⁻¹ ∂τ/∂vertices.

Kwon et al. 2017 for the chain, corrected: a face adds to the slot of each of its corners once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms.link_mesh import MassMesh, mass_mesh
from pysim.algorithms.regressors import joint_torque_regressor
from pysim.errors import ModelError
from pysim.spatial.arrays import checked, checked_out
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "torque_vertex_derivatives",
    "torque_vertex_gradient",
]


def torque_vertex_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    mesh: str | MassMesh,
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return ∂τ/∂vertices (…, nv, n, 3) [N/m or N] of `rnea` by the n vertices of a link's mesh.

    Vertices are those of `mass_mesh(model, link).vertices`, in the mesh's own frame. The density stays; or the mass
    does, where the link has a mass that its shapes share.

    Args:
        model: the mechanism; its own parameters play no role.
        q: configuration (…, nq).
        v: velocity (…, nv).
        a: dv/dt (…, nv) [m/s² or rad/s²].
        mesh: a link's name, if one of its meshes weighs, or a `mass_mesh`.
        threads: threads that share a batch of regressors; 0 uses every processor.
        out: an array for the result.

    Raises:
        ModelError: as `mass_mesh`.
        PysimError: an `out` that cannot take the result.
    """
    mesh = _mesh(model, mesh)
    Y = _columns(model, q, v, a, mesh, threads)
    Y = Y @ mesh.chain().astype(Y.dtype)
    J = mesh.solid.derivatives(1.0).reshape(10, -1).astype(Y.dtype, copy=False)
    result = checked_out(out, (*Y.shape[:-1], len(mesh.vertices), 3), Y.dtype)
    np.matmul(Y, J, out=result.reshape(*Y.shape[:-1], J.shape[1]))
    return result


def torque_vertex_gradient(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    mesh: str | MassMesh,
    slopes: ArrayLike,
    *,
    threads: int = 1,
) -> Array:
    """Return ∂L/∂vertices (n, 3) of a number L of the torques of all states, given its slopes ∂L/∂τ (…, nv).

    The transpose of `torque_vertex_derivatives`, whose array is not formed: a mesh of a million vertices costs about
    what its volume does.

    Args:
        model: the mechanism; its own parameters play no role.
        q: configuration (…, nq).
        v: velocity (…, nv).
        a: dv/dt (…, nv) [m/s² or rad/s²].
        mesh: a link's name, if one of its meshes weighs, or a `mass_mesh`.
        slopes: ∂L/∂τ (…, nv), with the leading axes of q.
        threads: threads that share a batch of regressors; 0 uses every processor.

    Raises:
        ModelError: as `mass_mesh`; slopes of another shape than the torques.
    """
    mesh = _mesh(model, mesh)
    Y = _columns(model, q, v, a, mesh, threads)
    weights = checked(slopes, "slopes", (model.nv,))
    if weights.shape != Y.shape[:-1]:
        raise ModelError("slopes", f"must have shape {Y.shape[:-1]}, got {weights.shape}")
    return mesh.theta_gradient(np.tensordot(weights, Y, weights.ndim))


def _mesh(model: Model, mesh: str | MassMesh) -> MassMesh:
    return mass_mesh(model, mesh) if isinstance(mesh, str) else mesh


def _columns(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, mesh: MassMesh, threads: int
) -> Array:
    """Return Y_B (…, nv, 10), the mesh's body's columns of the regressor."""
    if not 0 <= mesh.body < model.nbodies:
        problem = f"is on body {mesh.body} of a model of {model.nbodies}; take it from this model"
        raise ModelError("mesh", problem)
    Y = joint_torque_regressor(model, q, v, a, threads=threads)
    return np.ascontiguousarray(Y[..., 10 * mesh.body : 10 * mesh.body + 10])
