"""The engine's two schemes in Python, step by step, for models with callback joints.

Same formulas as cpp/stepping/semi_implicit.hpp and rk4.hpp; one state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import aba
from pysim.errors import JointError
from pysim.joints import find_joint
from pysim.spatial import right_jacobian_inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim import _engine
    from pysim.model import Model

    Array = NDArray[np.float64]


def advance(
    model: Model,
    q: Array,
    v: Array,
    time: float,
    step: float,
    steps: int,
    integrator: str,
    actuation: _engine.Actuation,
) -> tuple[Array, Array, int]:
    """As `_engine.advance` for one state: (q, v, steps made before the numbers left the finite)."""
    scheme = {"semi_implicit": _semi_implicit, "rk4": _rk4}[integrator]
    for n in range(steps):
        with np.errstate(all="ignore"):
            try:
                q1, v1 = scheme(model, q, v, time + n * step, step, actuation)
            except JointError:  # of a callback's author
                raise
            except ValueError:  # a stage left the finite numbers, which the engine refuses
                return q, v, n
        if not (np.isfinite(q1).all() and np.isfinite(v1).all()):
            return q, v, n
        q, v = q1, v1
    return q, v, steps


def _acceleration(model: Model, q: Array, v: Array, time: float, drive: _engine.Actuation) -> Array:
    tau = drive.offset + drive.amplitude * np.sin(drive.frequency * time + drive.phase)
    return aba(model, q, v, tau, passive=True)


def _semi_implicit(
    model: Model, q: Array, v: Array, time: float, h: float, drive: _engine.Actuation
) -> tuple[Array, Array]:
    v1 = v + h * _acceleration(model, q, v, time, drive)
    return model.integrate(q, h * v1), v1


def _rk4(
    model: Model, q: Array, v: Array, time: float, h: float, drive: _engine.Actuation
) -> tuple[Array, Array]:
    rate, a = np.zeros_like(v), np.zeros_like(v)
    sum_rate, sum_a = np.zeros_like(v), np.zeros_like(v)
    for node, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
        xi, stage_v = node * h * rate, v + node * h * a
        a = _acceleration(model, model.integrate(q, xi), stage_v, time + node * h, drive)
        rate = _lifted(model, xi, stage_v)
        sum_rate, sum_a = sum_rate + weight * h * rate, sum_a + weight * h * a
    return model.integrate(q, sum_rate), v + sum_a


def _lifted(model: Model, xi: Array, v: Array) -> Array:
    """ξ̇ = J_r⁻¹(ξ) v, rotation by rotation and displacement by displacement."""
    rate = v.copy()
    for joint, at in zip(model.joints, model.v_offsets, strict=True):
        for first, nv in find_joint(joint.type).turning if at >= 0 else ():
            own = slice(at + first, at + first + nv)
            rate[own] = right_jacobian_inverse(xi[own]) @ v[own]
    return rate
