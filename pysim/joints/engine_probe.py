"""One joint alone in the engine, with a unit inertia behind it: what the engine makes of a traced joint.

M = Sᵀ I S        h = Sᵀ (I c + V ×* I V),  V = S v        I = 1
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.inertia import theta_to_packed
from pysim.joints.motion_derivatives import force_slopes, motion_slopes
from pysim.spatial import ad_star

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.joints.coordinates import Coordinates
    from pysim.joints.lowering import Lowered
    from pysim.joints.trace import Traced

    Array = NDArray[np.float64]

STORED = 6  # Column::stored in cpp/tree/model_view.hpp
UNIT = np.array([1.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 1.0])  # θ of mass 1 kg and inertia 1 kg·m²


class _Still(_engine.Model):
    """A joint whose numbers are zeros, where only its coordinates matter."""

    def callback_rows(self, q: Array, v: Array | None) -> Array:  # noqa: ARG002, the engine asks so
        return np.zeros((len(q), self.callback_numbers))


def as_program(traced: Traced) -> _engine.Model:
    """The joint as the program that was traced."""
    program = asdict(traced.program()) | {
        "blocks": traced.coordinates.blocks(),
        "columns": [STORED] * traced.coordinates.nv,
        "biased": True,
    }
    motion = {
        "shape": "program",
        "program": program,
        "derivative": asdict(motion_slopes(traced).program(traced)),
        **_force(traced),
    }
    return _model(traced.coordinates, motion, np.eye(4))


def as_shape(traced: Traced, lowered: Lowered) -> _engine.Model:
    """The joint as the built-in shape that it is in disguise."""
    shape = {
        "shape": lowered.shape,
        "axis": list(lowered.axis),
        "pitch": lowered.parameters.get("pitch", 0.0),
        **_force(traced),
    }
    return _model(traced.coordinates, shape, lowered.at)


def of_shape(coordinates: Coordinates, shape: str, axis: Array, pitch: float) -> _engine.Model:
    """A built-in shape [pitch in m/rad]."""
    motion = {"shape": shape, "axis": axis.tolist(), "pitch": pitch}
    return _model(coordinates, motion, np.eye(4))


def _force(traced: Traced) -> dict[str, Any]:
    program, slopes = traced.force_program(), force_slopes(traced)
    if program is None or slopes is None:
        return {}
    return {"force": asdict(program), "force_derivative": asdict(slopes.program(traced))}


def of_coordinates(coordinates: Coordinates) -> _engine.Model:
    """Only the coordinates: for ⊕ and ⊖."""
    program = {
        "blocks": coordinates.blocks(),
        "columns": [STORED] * coordinates.nv,
        "biased": True,
    }
    return _model(coordinates, {"shape": "callback", "program": program}, np.eye(4), _Still)


def _model(
    coordinates: Coordinates,
    motion: dict[str, Any],
    at: Array,
    kind: type[_engine.Model] = _engine.Model,
) -> _engine.Model:
    plain = [0.0, 0.0, 0.0, 1.0, -np.inf, np.inf, 0.0, 0.0]  # no friction, no spring, no stops
    joint = {
        "name": "joint",
        "axis": [0.0, 0.0, 1.0],
        "pitch": 0.0,
        "parent": -1,
        "placement": at.ravel().tolist(),
        "follows": -1,
        "ratio": 1.0,
        "offset": 0.0,
        "rest": coordinates.neutral(),
        "armature": [0.0] * coordinates.nv,
        "passive": [plain] * coordinates.nv,
        "inertia": theta_to_packed(UNIT).tolist(),
        **motion,
    }
    return kind([joint], [0.0, 0.0, 0.0])


def numbers(model: _engine.Model, q: Array, v: Array) -> dict[str, Array]:
    """What the engine makes of states q (n, nq), v (n, nv)."""
    return {
        "pose": np.asarray(_engine.forward_kinematics(model, q))[:, 0],
        "mass matrix": np.asarray(_engine.crba(model, q)),
        "bias force": np.asarray(_engine.rnea(model, q, v, np.zeros_like(v))),
        "passive force": np.asarray(_engine.passive_forces(model, q, v)),
    }


def expected(X: Array, S: Array, c: Array, v: Array, tau: Array | None) -> dict[str, Array]:
    """The same of poses (n, 4, 4), subspaces (n, 6, nv), biases (n, 6) and the author's forces (n, nv)."""
    V = np.einsum("nij,nj->ni", S, v)
    gyroscopic = np.einsum("nij,nj->ni", ad_star(V), V)
    return {
        "pose": X,
        "mass matrix": np.swapaxes(S, 1, 2) @ S,
        "bias force": np.einsum("nij,ni->nj", S, c + gyroscopic),
        "passive force": np.zeros_like(v) if tau is None else tau,
    }
