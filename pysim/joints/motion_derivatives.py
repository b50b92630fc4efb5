"""Derivatives of a traced joint's subspace, bias and force, which derivatives of the dynamics need.

    ∂S_i/∂q_k      ∂c/∂q_k      ∂f_i/∂q_k, ∂f_i/∂v_k

∂/∂q_k is along the k-th velocity, as in `trace`. They are programs of their own, so that algorithms without derivatives
do not evaluate them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysim.joints.trace import derivative_along
from pysim.tracing.derivative import Derivative
from pysim.tracing.program import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim._engine import Program
    from pysim.joints.trace import Traced
    from pysim.tracing.tape import Tape


@dataclass(frozen=True)
class DerivativeNodes:
    """Derivatives as nodes of a copy of the joint's tape."""

    tape: Tape
    nodes: list[int]

    def program(self, traced: Traced) -> Program:
        """Return the program that computes the derivatives from q and v, as the engine reads it."""
        return emit(self.tape, self.nodes, [], traced.coordinates.nq + traced.coordinates.nv)


def motion_derivatives(traced: Traced) -> DerivativeNodes:
    """Return ∂S_i/∂q_k (k outer, i inner, six numbers each), then ∂c/∂q_k."""
    tape = traced.tape.copy()
    along = _along_configuration(tape, traced)
    return DerivativeNodes(tape, _each(along, traced.subspace) + _each(along, traced.bias))


def force_derivative_nodes(traced: Traced) -> DerivativeNodes | None:
    """Return ∂f_i/∂q_k, then ∂f_i/∂v_k (i outer, k inner); None without a force."""
    if traced.force is None:
        return None
    tape, coordinates = traced.tape.copy(), traced.coordinates
    along_v = [Derivative(tape, {coordinates.nq + k: tape.const(1)}) for k in range(coordinates.nv)]
    ways = (_along_configuration(tape, traced), along_v)
    return DerivativeNodes(tape, [d.of(n) for along in ways for n in traced.force for d in along])


def force_derivative(traced: Traced) -> Program | None:
    """Return the program of the force's derivatives, None without a force."""
    slopes = force_derivative_nodes(traced)
    return None if slopes is None else slopes.program(traced)


def _along_configuration(tape: Tape, traced: Traced) -> list[Derivative]:
    coordinates = traced.coordinates
    return [derivative_along(tape, coordinates, k) for k in range(coordinates.nv)]


def _each(along: Sequence[Derivative], nodes: Sequence[int]) -> list[int]:
    return [d.of(n) for d in along for n in nodes]
