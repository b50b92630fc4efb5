"""The last state of a failed run: the joint plugin with NaN values, the fastest coordinate, a singular position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.joints import find_joint
from pysim.joints.callback import CallbackJoint
from pysim.joints.invariants import not_finite, numbers_of
from pysim.joints.trace import trace
from pysim.loops.constraints import constraints
from pysim.loops.mobility import rows_and_lengths
from pysim.plugins.fields import build
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model

_DIVERGED = 1e12  # a coordinate or velocity beyond it: the run diverged before a plugin failed
SINGULAR = (1e-11, 1e-4)  # [rad] least angle between rows: of rounding, and that steps can resolve
STEP_FRACTIONS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # at which a scheme may evaluate a state


def has_diverged(q: Array, v: Array) -> bool:
    """Return whether a run had diverged at q (nq,), v (nv,), so that no plugin is the cause."""
    return bool(max(np.abs(q).max(initial=0), np.abs(v).max(initial=0)) > _DIVERGED)


def states_within_step(model: Model, q: Array, v: Array, step: float) -> tuple[Array, Array]:
    """Return q (5, nq) and v (5, nv) at STEP_FRACTIONS of `step` [s] at constant velocity."""
    count = len(STEP_FRACTIONS)
    reached = model.integrate(np.tile(q, (count, 1)), np.outer(STEP_FRACTIONS, step * v))
    return reached, np.tile(v, (count, 1))


def plugin_fault(model: Model, q: Array, v: Array, step: float) -> str | None:
    """Describe the NaN or infinite value of a plugin within `step` [s] after q (nq,), v (nv,).

    None if there is none, or if the run had diverged before.
    """
    if has_diverged(q, v):
        return None
    reached, rates = states_within_step(model, q, v, step)
    for joint, at, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        kind = find_joint(joint.type).plugin
        if kind is None or at < 0:
            continue
        plugin = build(kind, joint.parameters, joint.where)
        numbers = numbers_of(plugin, None if isinstance(plugin, CallbackJoint) else trace(plugin))
        own_q = reached[:, at : at + plugin.coordinates.nq]
        own_v = rates[:, at_v : at_v + plugin.coordinates.nv]
        fault = not_finite(numbers, own_q, own_v)
        if fault is not None:
            text = f"joint {joint.name!r} of type {joint.type!r}: {fault.problem}"
            return f"{text}; {fault.remedy}"
    return None


def fastest(model: Model, v: Array) -> str:
    """Return the name and speed of the fastest coordinate at v (nv,), as text."""
    i = int(np.argmax(np.abs(v)))
    if v[i] == 0:
        return "nothing moves yet"
    return (
        f"{model.velocity_names[i]!r} is the fastest at {abs(v[i]):.3g} {model.velocity_units[i]}"
    )


def near_singular(model: Model, q: Array, loop_q: Array | None = None) -> str | None:
    """Describe how near a singular configuration q (nq,) is; None if it is not near one."""
    if not model.rows:
        return None
    rows, _ = rows_and_lengths(model, q, constraints(model, q, loop_q=loop_q))
    sines = np.linalg.svd(rows, compute_uv=False)
    small = sines[(sines > SINGULAR[0]) & (sines < SINGULAR[1])]
    if not small.size:
        return None
    return f"the loops are within {small.min():.1g} rad of a singular configuration"
