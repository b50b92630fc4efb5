"""Check of a traced joint's derivatives: ∂S/∂q, ∂c/∂q, ∂f/∂q and ∂f/∂v are finite and correct.

They are programs from differentiation rules (motion_derivatives.py), compared here with complex steps of S, c and f.
Simulations do not use them, so they are not checked when a model is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.joints.invariants import FAULT_OF_PYSIM, Fault
from pysim.joints.motion_derivatives import force_derivative_nodes, motion_derivatives
from pysim.joints.motion_evaluation import method_location, rates
from pysim.tracing.evaluation import evaluate, rate
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.joints.invariants import Probe
    from pysim.joints.trace import Traced

TOLERANCE = 1e-9  # for numbers of magnitude 1


def derivative_faults(probed: Probe, traced: Traced) -> Iterator[Fault]:
    """Yield the first state at which a derivative is not finite or incorrect."""
    at = probed.at_finite
    if not len(at):
        return  # reported by the check `finite`
    q, v = probed.q[at], probed.v[at]
    for name, given, other in _pairs(traced, q, v):
        error = np.abs(given - other).max(axis=0) / np.maximum(1.0, np.abs(other).max(axis=0))
        bad = np.asarray(~np.isfinite(given).all(axis=0))
        worst = int(np.argmax(np.where(bad, np.inf, np.nan_to_num(error))))
        where = f"at {probed.describe_state(int(at[worst]))} ({method_location(probed.numbers)})"
        if bad[worst]:
            problem = f"its {name} is not finite {where}"
            yield Fault("derivatives", problem, "set limits that exclude it, or smooth the formula")
            return
        if not error[worst] <= TOLERANCE:
            what = name[1:].split("/")[0]
            problem = f"its {name} differs from the rate of {what} by {error[worst]:.3g} {where}"
            yield Fault("derivatives", problem, FAULT_OF_PYSIM)
            return


def _pairs(traced: Traced, q: Array, v: Array) -> Iterator[tuple[str, Array, Array]]:
    """Yield each derivative by its rule and by complex steps (numbers, n)."""
    nv, inputs = traced.coordinates.nv, np.concatenate([q, v], axis=1).T
    along_q, along_v = _directions(traced, q)
    slopes = motion_derivatives(traced)
    values = evaluate(slopes.tape, inputs, slopes.nodes)
    columns = 6 * nv * nv
    yield "∂S/∂q", values[:columns], _stepped(traced, inputs, along_q, traced.subspace)
    yield "∂c/∂q", values[columns:], _stepped(traced, inputs, along_q, traced.bias)
    force = force_derivative_nodes(traced)
    if force is None or traced.force is None:
        return
    values = evaluate(force.tape, inputs, force.nodes)
    for name, part, along in (
        ("∂f/∂q", values[: nv * nv], along_q),
        ("∂f/∂v", values[nv * nv :], along_v),
    ):
        other = _stepped(traced, inputs, along, traced.force).reshape(nv, nv, -1)
        yield name, part, other.swapaxes(0, 1).reshape(nv * nv, -1)  # index i outer, index k inner


def _directions(traced: Traced, q: Array) -> tuple[list[Array], list[Array]]:
    """Return the rates of the inputs along every tangent direction of q, and along every number of v."""
    coordinates, none = traced.coordinates, np.zeros((len(q), traced.coordinates.nv))
    along_q, along_v = [], []
    for unit in np.eye(coordinates.nv):
        ones = np.tile(unit, (len(q), 1))
        along_q.append(np.concatenate([rates(coordinates, q, ones), none], axis=1).T)
        along_v.append(np.concatenate([np.zeros_like(q), ones], axis=1).T)
    return along_q, along_v


def _stepped(traced: Traced, inputs: Array, along: Sequence[Array], nodes: Sequence[int]) -> Array:
    return np.concatenate([rate(traced.tape, inputs, moved, nodes) for moved in along])
