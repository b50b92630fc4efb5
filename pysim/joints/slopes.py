"""What derivatives of the dynamics need of a traced joint: how its columns, its bias and its force change.

    ∂S_i/∂q_k      ∂c/∂q_k      ∂f_i/∂q_k, ∂f_i/∂v_k

∂/∂q_k is along the k-th velocity, as in `trace`. They have programs of their own, so that what needs no derivatives
pays nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.joints.derivative import Derivative
from pysim.joints.program import Program, emit
from pysim.joints.trace import derivative_along

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.joints.expression import Tape
    from pysim.joints.trace import Traced


def motion_slopes(traced: Traced) -> Program:
    """The program of ∂S_i/∂q_k (k by k, i by i, six numbers) and ∂c/∂q_k."""
    tape = traced.tape.copy()
    along = _configuration_derivatives(tape, traced)
    nodes = [d.of(n) for d in along for n in traced.subspace]
    nodes += [d.of(n) for d in along for n in traced.bias]
    return _emit(tape, nodes, traced)


def force_slopes(traced: Traced) -> Program | None:
    """The program of ∂f_i/∂q_k, then ∂f_i/∂v_k (i by i, k by k); None without a force."""
    if traced.force is None:
        return None
    tape, coordinates = traced.tape.copy(), traced.coordinates
    along_v = [Derivative(tape, {coordinates.nq + k: tape.const(1)}) for k in range(coordinates.nv)]
    nodes = [
        d.of(n)
        for along in (_configuration_derivatives(tape, traced), along_v)
        for n in traced.force
        for d in along
    ]
    return _emit(tape, nodes, traced)


def _configuration_derivatives(tape: Tape, traced: Traced) -> list[Derivative]:
    coordinates = traced.coordinates
    return [derivative_along(tape, coordinates, k) for k in range(coordinates.nv)]


def _emit(tape: Tape, nodes: Sequence[int], traced: Traced) -> Program:
    return emit(tape, nodes, [], traced.coordinates.nq + traced.coordinates.nv)
