"""Forces on coordinates that an actuator bounds, for steps that are implicit in them, and counts of steps at bounds.

    f = rest + clip(x, lower, upper)        x depends on q, v or states, the bounds do not

Such a force is that of a spring and damper within bounds, which has a convex potential: an implicit step solves for
the velocity at which it leaves its bounds, where a force that stays as it was at the start overshoots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pysim._engine import SignalSource

if TYPE_CHECKING:
    from pysim.elements.signal_inputs import SignalInputs

_MOST_OPERATIONS = 40  # operations between a force and its bounds


@dataclass(frozen=True)
class BoundedForce:
    """Nodes of a force rest + clip(x, lower, upper)."""

    rest: int
    x: int
    lower: int
    upper: int

    @property
    def nodes(self) -> list[int]:
        """Nodes that the program of slopes appends to its outputs, in this order."""
        return [self.x, self.lower, self.upper]


class BoundedForces:
    """Search for bounded forces among the nodes of a graph.

    Args:
        inputs: those of the graph.
        states: number of states of elements that forces depend on.
    """

    def __init__(self, inputs: SignalInputs, states: int) -> None:
        self._inputs, self._states, self._tape = inputs, states, inputs.tape
        self._moves: list[bool] = []  # of the tape's first nodes
        self._known: dict[int, BoundedForce | None] = {}

    def of(self, node: int, depth: int = _MOST_OPERATIONS) -> BoundedForce | None:
        """Return the bounded part of a force and its rest; None if it has none, or several."""
        if node not in self._known:
            self._known[node] = self._search(node, depth - 1) if depth > 0 else None
        return self._known[node]

    def _search(self, node: int, depth: int) -> BoundedForce | None:
        operation = self._tape.nodes[node]
        if self._is_fixed(node):
            return None
        match operation.op, operation.args:
            case "min", (a, b):
                return self._clipped(a, b, depth)
            case "neg", (a,):
                return self._scaled(self.of(a, depth), self._tape.const(-1))
            case "mul", (a, b):
                force, factor = (b, a) if self._is_fixed(a) else (a, b)
                if self._is_fixed(factor) or self._is_share(factor, force):
                    return self._scaled(self.of(force, depth), factor)
            case (("add" | "sub"), (a, b)):
                return self._sum(operation.op, a, b, depth)
        return None

    def _is_fixed(self, node: int) -> bool:
        """Return whether a node stays the same within a step, but for its dependence on time."""
        for own in self._tape.nodes[len(self._moves) : node + 1]:
            if own.op == "input":
                number = self._tape.input(own.data[0])
                read = self._inputs.read_by([number])
                self._moves.append(any(self._is_moving(*key) for key in read))
            else:
                self._moves.append(any(self._moves[a] for a in own.args))
        return not self._moves[node]

    def _is_moving(self, source: SignalSource, index: int) -> bool:
        if source is SignalSource.state:
            return index < self._states
        return source is not SignalSource.time

    def _is_share(self, factor: int, force: int) -> bool:
        """Return whether a factor of a force depends on its sign, as limits of drives do; it is that at the start."""
        sign = self._tape.node("less", self._tape.const(0), force)
        return sign < factor and sign in self._tape.needed([factor])

    def _clipped(self, a: int, b: int, depth: int) -> BoundedForce | None:
        """Return the force of min(max(x, lower), upper), x itself rest + clip(y, …) or not."""
        tape = self._tape
        inside, upper = (a, b) if self._is_fixed(b) else (b, a)
        inner = tape.nodes[inside]
        if not self._is_fixed(upper) or inner.op != "max":
            return None
        x, lower = inner.args if self._is_fixed(inner.args[1]) else inner.args[::-1]
        if not self._is_fixed(lower):
            return None
        force = self.of(x, depth)
        if force is None:
            return BoundedForce(tape.const(0), x, lower, upper)
        if not self._is_fixed(force.rest):
            return None
        return BoundedForce(
            force.rest,
            force.x,
            tape.node("max", force.lower, tape.node("sub", lower, force.rest)),
            tape.node("min", force.upper, tape.node("sub", upper, force.rest)),
        )

    def _scaled(self, force: BoundedForce | None, factor: int) -> BoundedForce | None:
        if force is None:
            return None
        node = self._tape.node
        rest, x, lower, upper = (
            node("mul", factor, own) for own in (force.rest, force.x, force.lower, force.upper)
        )
        return BoundedForce(rest, x, node("min", lower, upper), node("max", lower, upper))

    def _sum(self, op: str, a: int, b: int, depth: int) -> BoundedForce | None:
        tape = self._tape
        first, second = self.of(a, depth), self.of(b, depth)
        if (first is None) == (second is None):
            return None
        if first is not None:
            return replace(first, rest=tape.node(op, first.rest, b))
        force = self._scaled(second, tape.const(1 if op == "add" else -1))
        return None if force is None else replace(force, rest=tape.node("add", a, force.rest))
