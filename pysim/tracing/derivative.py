"""Forward differentiation of a tape: derivatives are appended to the tape as further nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.tracing.tape import Node, Tape


def rate_of_unknown(depth: int) -> int:
    """Return the key of an unknown among the rates of inputs."""
    return -1 - depth


class Derivative:
    """Derivatives d/ds of nodes along one direction, in which input i changes at the rate `rates[i]` (a node).

    Args:
        tape: the nodes.
        rates: of the inputs that change.
        unknown: number of the unknown of an implicit equation, if it is all that changes.
        limits: take the derivative 0 of `sqrt`, `hypot` and powers of ½ and more where they are 0 and their operands
            stand still and are smooth: the mean of the one-sided derivatives of a length |x|. That of |x| x is then
            its limit; without it is NaN.
    """

    def __init__(
        self,
        tape: Tape,
        rates: Mapping[int, int],
        unknown: int | None = None,
        *,
        limits: bool = False,
    ) -> None:
        self.tape, self._unknown, self._limits = tape, unknown, limits
        self.zero = tape.const(0)
        self._rates = rates
        self._known: dict[int, int] = {}

    def of(self, index: int) -> int:
        """Return the index of a node's derivative."""
        pending, nodes, known = [index], self.tape.nodes, self._known
        while pending:  # operands first, without recursion: tapes may be long
            top = pending[-1]
            if self._unknown is not None and self._unknown not in self.tape.unknowns(top):
                known[top] = self.zero  # another equation may have an unknown of this number
            if top not in known:
                missing = [a for a in nodes[top].args if a not in known]
                if missing:
                    pending += missing
                    continue
                known[top] = self._rule(top)
            pending.pop()
        return known[index]

    def _rule(self, index: int) -> int:
        """Apply the chain rule to one operation."""
        tape, node = self.tape, self.tape.nodes[index]
        n = tape.node
        if node.op == "input":
            return self._rates.get(node.data[0], self.zero)
        if node.op == "unknown":
            return self._rates.get(rate_of_unknown(node.data[0]), self.zero)
        d = [self._known[a] for a in node.args]
        if d.count(self.zero) == len(d):
            return self.zero
        args = node.args
        match node.op:
            case "add" | "sub":
                return n(node.op, *d)
            case "neg":
                return n("neg", d[0])
            case "mul":
                return n("add", n("mul", d[0], args[1]), n("mul", args[0], d[1]))
            case "div":
                return n("div", n("sub", d[0], n("mul", index, d[1])), args[1])
            case "atan2":
                y, x = args
                square = n("add", n("mul", x, x), n("mul", y, y))
                return n("div", n("sub", n("mul", x, d[0]), n("mul", y, d[1])), square)
            case "pow":
                return self._power(index, args, d)
            case "abs":
                return n("mul", n("sign", args[0]), d[0])
            case "min" | "max":
                return self._clipped(index) if self._has_bound(index) else self._chosen(node, d)
            case "hypot":
                sum_ = n("add", n("mul", args[0], d[0]), n("mul", args[1], d[1]))
                return self._limited(n("div", sum_, index), sum_, args)
            case "select":
                return n("select", args[0], d[1], d[2])
            case "dot":
                return n("dot", *d, data=node.data)
            case "solve":
                return self._root(index, args, d[1])
            case "sqrt" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "exp" | "log" | "tanh":
                return self._of_function(node.op, index, args[0], d[0])
        # comparisons, signs, segments and table look-ups are constant between jumps
        return self.zero

    def _of_function(self, op: str, index: int, x: int, rate: int) -> int:
        """Return the derivative of an elementary function of x, whose value is at `index`."""
        n, const = self.tape.node, self.tape.const
        match op:
            case "sqrt":
                return self._limited(n("div", rate, n("mul", const(2), index)), rate, (x,))
            case "sin":
                return n("mul", n("cos", x), rate)
            case "cos":
                return n("neg", n("mul", n("sin", x), rate))
            case "tan":
                return n("mul", n("add", const(1), n("mul", index, index)), rate)
            case "asin" | "acos":
                root = n("sqrt", n("sub", const(1), n("mul", x, x)))
                slope = n("div", rate, root)
                return slope if op == "asin" else n("neg", slope)
            case "atan":
                return n("div", rate, n("add", const(1), n("mul", x, x)))
            case "exp":
                return n("mul", index, rate)
            case "log":
                return n("div", rate, x)
            case "tanh":
                return n("mul", n("sub", const(1), n("mul", index, index)), rate)
        raise AssertionError(op)

    def _limited(self, derivative: int, rate: int, operands: tuple[int, ...]) -> int:
        """Return a derivative that is a multiple of a rate; if limits are wanted, 0 where the rate is 0."""
        tape, zero = self.tape, self.zero
        if not self._limits or not all(map(tape.is_smooth, operands)):
            return derivative
        return tape.node("select", tape.node("equal", rate, zero), zero, derivative)

    def _chosen(self, node: Node, d: list[int]) -> int:
        """Return the derivative of the operand that is the result of `min` or `max`, NaN where an operand is NaN."""
        n, nan, (a, b) = self.tape.node, self.tape.const(math.nan), node.args
        smaller, larger = d if node.op == "min" else d[::-1]
        larger = n("select", n("less_equal", b, a), larger, nan)
        return n("select", n("less", a, b), smaller, larger)

    def _has_bound(self, index: int) -> bool:
        """Return whether a node is the minimum or maximum of another one and a constant."""
        op, args, _, _ = self.tape.nodes[index]
        return op in ("min", "max") and any(self.tape.nodes[a].op == "const" for a in args)

    def _clipped(self, index: int) -> int:
        """Return the derivative of clip(x, lower, upper): that of x where x is within, 0 beyond, NaN where x is NaN."""
        nodes, n, const, x = self.tape.nodes, self.tape.node, self.tape.const, index
        lower, upper = const(-math.inf), const(math.inf)
        while self._has_bound(x):  # from the outermost one to x
            op, (a, b), _, _ = nodes[x]
            x, bound = (a, b) if nodes[b].op == "const" else (b, a)
            if op == "min":
                upper = n("max", n("min", upper, bound), lower)
            else:
                lower = n("min", n("max", lower, bound), upper)
        is_within = n("mul", n("less", lower, upper), n("equal", index, x))
        beyond = n("select", n("equal", index, index), self.zero, const(math.nan))
        return n("select", is_within, self._known[x], beyond)

    def _root(self, index: int, args: tuple[int, ...], along: int) -> int:
        """Return dx = −(∂r/∂p dp)/(∂r/∂x) at the solution x of an implicit equation."""
        tape = self.tape
        change = tape.substituted(along, args[0], index)
        slope = tape.substituted(args[2], args[0], index)
        return tape.node("neg", tape.node("div", change, slope))

    def _power(self, index: int, args: tuple[int, ...], d: list[int]) -> int:
        """Return d(x^y) = y x^(y−1) dx + x^y log(x) dy."""
        n, (x, y) = self.tape.node, args
        less = n("sub", y, self.tape.const(1))
        along_x = n("mul", n("mul", y, n("pow", x, less)), d[0])
        if self.tape.nodes[y].op == "const" and self.tape.nodes[y].value >= 0.5:
            along_x = self._limited(along_x, d[0], (x,))
        if self.tape.is_value(d[1], 0):
            return along_x
        return n("add", along_x, n("mul", n("mul", index, n("log", x)), d[1]))
