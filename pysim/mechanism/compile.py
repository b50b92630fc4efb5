"""Compilation of a specification into a frozen model: weld what is fixed, order the tree, hand it to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError
from pysim.inertia import (
    has_positive_energy,
    is_physical,
    rotational_inertia,
    unphysical_reason,
)
from pysim.mechanism.builder import Builder
from pysim.mechanism.model import Model, State
from pysim.scene.inertia_text import nearest_printable, urdf_inertial
from pysim.scene.stops import composite_inertias
from pysim.scene.tree import check_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.mechanism.joint_description import TraceCache
    from pysim.scene.spec import ModelSpec


def compile_tree(spec: ModelSpec, cache: TraceCache | None = None) -> Model:
    """Compile a mechanism, with every row of its loops; plugins in the `cache` are not traced and checked again.

    Bodies connected by fixed joints become one; every body stays addressable as a frame. Joints keep the file's
    order, depth first, a parent before its children.

    Raises:
        ModelError: the joints do not form a tree, or a joint moves no inertia.
    """
    check_tree(spec)
    builder = Builder(spec, cache)
    builder.add_children("world", builder.world, np.eye(4))
    builder.add_frames()
    _check_energy(spec, builder)
    model = builder.build()
    _check_inertia(model)
    return model


def start_state(model: Model) -> State:
    """Return the state of the joints' `start` keys, in which loops may be open."""
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        if at_q >= 0:
            q[at_q : at_q + len(joint.start_q)] = joint.start_q
            v[at_v : at_v + len(joint.start_v)] = joint.start_v
    return State(q, v)


def _check_energy(spec: ModelSpec, builder: Builder) -> None:
    """Reject a moving body that can have a negative kinetic energy; the error names the link that causes it."""
    theta = np.array([carrier.theta for carrier in builder.carriers]).reshape(-1, 10)
    at_fault = np.flatnonzero(~has_positive_energy(theta))
    if not len(at_fault):
        return
    carrier = builder.carriers[at_fault[0]]
    welded = [body for body in spec.bodies if builder.carries(carrier, body)]
    body = next((body for body in welded if not is_physical(body.theta)), welded[0])
    others = f" (with what is welded to it, as {carrier.name!r})" if len(welded) > 1 else ""
    reason = unphysical_reason(body.theta) or unphysical_reason(carrier.theta)
    problem = f"body {body.name!r}{others} can have a negative kinetic energy: {reason}"
    if body.theta[0] > 0:
        near = urdf_inertial(nearest_printable(body.theta))
        problem += f'; the nearest is {near}; paste it, or load with inertia = "nearest"'
    raise ModelError(body.where, problem)


def _check_inertia(model: Model) -> None:
    """Reject a tree with a velocity that moves no inertia, because M would be singular."""
    if model.nv == 0:
        return
    M = np.asarray(_engine.crba(model, model.random_configuration(np.random.default_rng(0))))
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    most = np.sqrt(np.maximum(_at_most(model), 0.0))
    share = np.divide(size, most, out=np.sign(size), where=most > 0)
    idle = int(np.argmin(share))
    if share[idle] > 1e-7:  # otherwise this coordinate alone moves nothing
        scaled = M / np.outer(size, size)
        if _is_definite(scaled - 1e-12 * np.eye(model.nv)):
            return
        values, vectors = np.linalg.eigh(scaled)
        if values[0] > 1e-15:
            return
        idle = int(np.argmax(np.abs(vectors[:, 0])))
    at = max(k for k, first in enumerate(model.v_offsets) if 0 <= first <= idle)
    joint = model.joints[at]
    problem = (
        f"joint {joint.name!r} moves no inertia, the bodies it carries are massless along it and "
        f"the mass matrix is singular; give body {joint.child!r} a mass, the joint an armature, "
        "or make the joint fixed"
    )
    raise ModelError(joint.where, problem)


def _is_definite(M: NDArray[np.float64]) -> bool:
    """Return whether a symmetric matrix is positive definite, much faster than by eigenvalues."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True


def _at_most(model: Model) -> NDArray[np.float64]:
    """Return an upper bound (nv,) on the inertia that each velocity moves [kg or kg·m²]; 0 for followers."""
    theta = composite_inertias(model.spec.joints, model.spec.bodies)
    sizes = np.zeros(model.nv)
    for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
        own = theta[joint.child]
        turned = np.trace(rotational_inertia(own)) / 2
        for i in range(at, at + nv) if at >= 0 else ():
            sizes[i] = own[0] if model.velocity_units[i] == "m/s" else turned
    return sizes
