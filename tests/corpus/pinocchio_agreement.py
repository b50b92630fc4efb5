"""Comparison of an imported URDF with Pinocchio: mass matrix, nonlinear effects and poses of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio

import pysim

if TYPE_CHECKING:
    from pathlib import Path

FREE_Q, ANGLE_AS_PAIR = 7, 2  # numbers in q of a floating joint and of a continuous one


class DifferentModelError(Exception):
    """The two programs do not have the same coordinates."""


def agreement(model: pysim.Model, path: Path, states: int = 10) -> dict[str, float]:
    """Return the largest relative differences of a model from Pinocchio's over random states.

    Raises:
        DifferentModelError: the coordinates of the two are not the same.
    """
    reference = pinocchio.buildModelFromUrdf(str(path))
    data = reference.createData()
    names = set(reference.names) - {"universe"}
    if names != set(model.joint_names) or reference.nv != model.nv:
        raise DifferentModelError
    rng = np.random.default_rng(20260726)
    zero = np.zeros(model.nv)
    errors = dict.fromkeys(("M", "nonlinear effects", "poses"), 0.0)
    links = [body.name for body in model.spec.bodies if reference.existBodyName(body.name)]
    for _ in range(states):
        q = model.integrate(model.neutral(), rng.standard_normal(model.nv))
        v = rng.standard_normal(model.nv)
        q_ref, v_ref = np.zeros(reference.nq), np.zeros(reference.nv)
        order = np.zeros(model.nv, int)
        for name, at_q, at_v in zip(
            model.joint_names, model.q_offsets, model.v_offsets, strict=True
        ):
            joint = reference.joints[reference.getJointId(name)]
            own_q = q[at_q : at_q + (FREE_Q if joint.nq == FREE_Q else 1)]
            if joint.nq == ANGLE_AS_PAIR:
                own_q = np.array([np.cos(own_q[0]), np.sin(own_q[0])])
            elif joint.nq not in {1, FREE_Q}:
                raise DifferentModelError
            q_ref[joint.idx_q : joint.idx_q + joint.nq] = own_q
            v_ref[joint.idx_v : joint.idx_v + joint.nv] = v[at_v : at_v + joint.nv]
            order[at_v : at_v + joint.nv] = np.arange(joint.idx_v, joint.idx_v + joint.nv)
        M = pinocchio.crba(reference, data, q_ref)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pinocchio.rnea(reference, data, q_ref, v_ref, zero)
        pinocchio.framesForwardKinematics(reference, data, q_ref)
        placements = [data.oMf[reference.getBodyId(name)].homogeneous for name in links]
        found = {
            "M": _relative(pysim.crba(model, q), M[np.ix_(order, order)]),
            "nonlinear effects": _relative(pysim.nonlinear_effects(model, q, v), bias[order]),
            "poses": _relative(
                np.array([pysim.frame_placement(model, q, name) for name in links]),
                np.array(placements),
            ),
        }
        errors = {key: max(value, found[key]) for key, value in errors.items()}
    return errors


def _relative(found: np.ndarray, expected: np.ndarray) -> float:
    if not np.size(expected):
        return 0.0
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))
