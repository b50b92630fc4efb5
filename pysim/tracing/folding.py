"""Folding of a tape: a node is replaced by a simpler one that has the same value everywhere.

sin² + cos² is 1, and Rᵀ dR of a rotation is its angle's rate. Rewriting rules would find some of these identities;
values at sampled inputs find all of them. Two facts decide whether a node is constant:

    algebra   an analytic function of one varying operand varies; c + x and c x vary with x
    values    of two varying operands, x ∘ y is constant if its values agree within their rounding errors

Each value carries a bound of its rounding error from its own operands (running error analysis [Higham 2002, ch. 3.3]),
so a small term is compared with its own size and not with 1. A root or an inverse takes any of its branches (√q² is q
on one side of 0 only), and an exponential, which may vanish wherever it is sampled, any number. Values decide nothing
where they cannot: where a constant is lost in a sum, or where a varying node has one value at all samples.
Nodes that depend on jumps (where, min, splines) are not folded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.tracing.evaluation import node_value
from pysim.tracing.rounding import UNIT, rounding_error
from pysim.tracing.tape import PIECEWISE
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.tracing.tape import Node, Tape

ROUNDING_BOUNDS = 8.0  # bounds of the rounding error within which two values are equal
BRANCHES: dict[str, Callable[[Array], Array]] = {
    "sqrt": lambda root: -root,
    "hypot": lambda root: -root,
    "asin": lambda angle: np.pi - angle,
    "acos": lambda angle: -angle,
    "atan": lambda angle: angle + np.pi,
    "atan2": lambda angle: angle + 2 * np.pi,
}
ANYTHING = frozenset({"exp", "tanh", "log", "pow"})
# may be constant of two varying operands
BY_VALUES = frozenset({"add", "sub", "mul", "div", "hypot"})


class Folding:
    """Simpler nodes of one tape, found at samples of its inputs.

    Args:
        tape: may grow between calls.
        samples: (inputs, n).
        near: how many of the samples come first at which every node must be finite to be folded.
        rng: chooses branches.
    """

    def __init__(self, tape: Tape, samples: Array, near: int, rng: np.random.Generator) -> None:
        self.tape = tape
        self._samples, self._near, self._rng = samples, near, rng
        self._values: list[Array] = []
        self._errors: list[Array] = []
        self._constant: list[bool] = []
        self._certain: list[bool] = []  # values decide which nodes this one equals
        self._alike: dict[tuple[float, ...], int] = {}

    def __call__(self, index: int) -> int:
        """Return index of the simplest node that equals this one: a constant, an earlier node, or itself."""
        self._extend()
        if self.tape.nodes[index].op == "const":
            return index
        if self._constant[index]:
            return self._constant_node(index)
        if not self._certain[index]:
            return index
        for sign in (1, -1):
            twin = self._alike.get(self._key(sign * self._values[index]))
            if twin is None or twin >= index:
                continue
            bound = ROUNDING_BOUNDS * (self._errors[index] + self._errors[twin])
            if self._agree(self._values[twin], sign * self._values[index], bound):
                return twin if sign == 1 else self.tape.node("neg", twin)
        return index

    def _constant_node(self, index: int) -> int:
        """Return the value of least error; a whole number where that lies within the error."""
        values, errors = self._values[index], self._errors[index]
        best = int(np.argmin(np.where(np.isfinite(values), errors, np.inf)))
        value = float(values[best])
        whole = round(value)
        return self.tape.const(
            whole if abs(value - whole) <= ROUNDING_BOUNDS * errors[best] else value
        )

    def _extend(self) -> None:
        """Evaluate the nodes made since the last call."""
        start = len(self._values)
        with np.errstate(all="ignore"):
            for index, node in enumerate(self.tape.nodes[start:], start):
                self._append(index, node)

    def _append(self, index: int, node: Node) -> None:
        args = node.args
        values = np.broadcast_to(
            node_value(self.tape, node, self._values, self._samples), self._samples.shape[1:]
        )
        errors = rounding_error(
            self.tape,
            node,
            values,
            [self._values[a] for a in args],
            [self._errors[a] for a in args],
        )
        constant = node.op == "const" or (bool(args) and all(self._constant[a] for a in args))
        certain = (
            node.op not in PIECEWISE
            and all(self._certain[a] for a in args)
            and bool(np.isfinite(values[: self._near]).all())
        )
        flat = certain and not constant and node.op != "input" and self._is_flat(values, errors)
        if (
            flat
            and node.op in BY_VALUES
            and (node.op in ("mul", "div") or not any(self._constant[a] for a in args))
        ):
            constant = True  # c x too, where c is 0 within its error
        elif flat or self._loses_constant(node, values):
            certain = False
        if not constant:
            values = self._any_branch(node.op, values)
        if node.op in ANYTHING:
            errors = UNIT * np.abs(values)
        self._values.append(values)
        self._errors.append(errors)
        self._constant.append(constant)
        self._certain.append(certain)
        if certain:
            self._alike.setdefault(self._key(values), index)

    def _is_flat(self, values: Array, errors: Array) -> bool:
        """Return whether the values are one number within their errors."""
        best = int(np.argmin(np.where(np.isfinite(values), errors, np.inf)))
        return self._agree(values, values[best], ROUNDING_BOUNDS * (errors + errors[best]))

    def _agree(self, a: Array, b: Array | float, bound: Array) -> bool:
        apart = np.abs(a - b) > bound  # false where one is not finite, as may be far out
        return not apart.any()

    def _loses_constant(self, node: Node, values: Array) -> bool:
        """Return whether rounding removes a constant other than 0 from a sum at every sample."""
        if node.op not in ("add", "sub"):
            return False
        return any(
            self._constant[a]
            and bool((np.abs(self._values[a]) <= UNIT * np.abs(values)).all())
            and bool((np.abs(self._values[a]) > ROUNDING_BOUNDS * self._errors[a]).any())
            for a in node.args
        )

    def _any_branch(self, op: str, values: Array) -> Array:
        """Return other values that an operation might have, as far as algebra shows."""
        if op in ANYTHING:
            return self._rng.uniform(0.1, 0.9, len(values))
        if op not in BRANCHES:
            return values
        return np.where(self._rng.integers(2, size=len(values)) == 1, BRANCHES[op](values), values)

    def _key(self, values: Array) -> tuple[float, ...]:
        """Return values coarse enough that rounding does not part equals (and if it does, a shortcut is missed)."""
        near = values[: self._near]
        size = float(np.abs(near).max())
        if size == 0:
            return ()
        return (round(np.log2(size), 5), *(np.round(near / size, 7) + 0.0).tolist())
