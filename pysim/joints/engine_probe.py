"""Evaluation of a single joint in the engine, with a unit inertia as its child, for comparison with its trace.

M = Sᵀ I S        h = Sᵀ (I c + V ×* I V),  V = S v        I = 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim._engine import Column, JointDescription, MotionDescription, Shape
from pysim.inertia import theta_to_packed
from pysim.joints.motion_derivatives import force_derivative, motion_derivatives
from pysim.spatial import ad_star
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.joints.coordinates import Coordinates
    from pysim.joints.lowering import Lowered
    from pysim.joints.trace import Traced

UNIT = np.array([1.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 1.0])  # θ of mass 1 kg and inertia 1 kg·m²


class _Still(_engine.Model):
    """Callback joint with a constant pose, used for its coordinates only."""

    def callback_rows(self, q: Array, v: Array | None) -> Array:  # noqa: ARG002, the engine's signature
        return np.zeros((len(q), self.callback_numbers))


def as_program(traced: Traced) -> _engine.Model:
    """Return a model of the joint that runs as its traced program."""
    motion = MotionDescription(
        Shape.program,
        blocks=traced.coordinates.blocks(),
        columns=[Column.stored] * traced.coordinates.nv,
        biased=True,
        program=traced.program(),
        derivative=motion_derivatives(traced).program(traced),
        force=traced.force_program(),
        force_derivative=force_derivative(traced),
    )
    return _model(traced.coordinates, motion, np.eye(4))


def as_shape(traced: Traced, lowered: Lowered) -> _engine.Model:
    """Return a model of the joint that runs as the equivalent built-in shape."""
    pitch = lowered.parameters.get("pitch", 0.0)
    motion = MotionDescription(
        Shape[lowered.shape],
        lowered.axis,
        pitch,
        force=traced.force_program(),
        force_derivative=force_derivative(traced),
    )
    return _model(traced.coordinates, motion, lowered.at)


def of_shape(coordinates: Coordinates, shape: str, axis: Array, pitch: float) -> _engine.Model:
    """Return a model of a built-in shape [pitch in m/rad]."""
    return _model(coordinates, MotionDescription(Shape[shape], axis, pitch), np.eye(4))


def of_coordinates(coordinates: Coordinates) -> _engine.Model:
    """Return a model with these coordinates, for ⊕ and ⊖ only."""
    motion = MotionDescription(
        Shape.callback,
        blocks=coordinates.blocks(),
        columns=[Column.stored] * coordinates.nv,
        biased=True,
    )
    return _model(coordinates, motion, np.eye(4), _Still)


def _model(
    coordinates: Coordinates,
    motion: MotionDescription,
    at: Array,
    kind: type[_engine.Model] = _engine.Model,
) -> _engine.Model:
    joint = JointDescription("joint", motion, placement=at, rest=coordinates.neutral())
    return kind([joint], [theta_to_packed(UNIT)], np.zeros(3))


def numbers(model: _engine.Model, q: Array, v: Array) -> dict[str, Array]:
    """Return the engine's results for states q (n, nq), v (n, nv)."""
    return {
        "pose": np.asarray(_engine.forward_kinematics(model, q))[:, 0],
        "mass matrix": np.asarray(_engine.crba(model, q)),
        "bias force": np.asarray(_engine.rnea(model, q, v, np.zeros_like(v))),
        "passive force": np.asarray(_engine.passive_forces(model, q, v)),
    }


def expected(X: Array, S: Array, c: Array, v: Array, tau: Array | None) -> dict[str, Array]:
    """Return the same results from poses (n, 4, 4), subspaces (n, 6, nv), biases (n, 6) and forces (n, nv)."""
    V = np.einsum("nij,nj->ni", S, v)
    gyroscopic = np.einsum("nij,nj->ni", ad_star(V), V)
    return {
        "pose": X,
        "mass matrix": np.swapaxes(S, 1, 2) @ S,
        "bias force": np.einsum("nij,ni->nj", S, c + gyroscopic),
        "passive force": np.zeros_like(v) if tau is None else tau,
    }
