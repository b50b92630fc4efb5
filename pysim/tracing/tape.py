"""Tape of a trace: the straight-line program that operations on symbolic numbers record.

A `Tape` holds nodes (operation, operands). Equal nodes are stored once, so common subexpressions are shared, and
operations on constants are evaluated immediately.
"""

from __future__ import annotations

import math
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.errors import JointError, PysimWarning
from pysim.tracing.author_code import author_line, innermost_line
from pysim.tracing.random_numbers import uniform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pysim.tracing.open_numbers import Recipes
    from pysim.typing import Array


class Node(NamedTuple):
    """One operation: operands are indices of earlier nodes, `value` of a constant, `data` of a table.

    A constant that follows from open numbers has the index of its recipe in `data`.
    """

    op: str
    args: tuple[int, ...] = ()
    value: float = 0.0
    data: tuple[int, ...] = ()


NAN = Node("const", (), math.nan)  # the same object each time: no other one is equal


def _pow(x: float, y: float) -> float:
    return float(np.power(x, y))


EVALUATE: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: float(np.divide(a, b)),
    "neg": lambda a: -a,
    "sqrt": lambda a: float(np.sqrt(a)),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": lambda a: float(np.arcsin(a)),
    "acos": lambda a: float(np.arccos(a)),
    "atan": math.atan,
    "atan2": math.atan2,
    "exp": lambda a: float(np.exp(a)),
    "log": lambda a: float(np.log(a)),
    "tanh": math.tanh,
    "pow": _pow,
    "abs": abs,
    "floor": lambda a: float(np.floor(a)),
    "min": lambda a, b: float(np.minimum(a, b)),
    "max": lambda a, b: float(np.maximum(a, b)),
    "hypot": math.hypot,
    "less": lambda a, b: float(a < b),
    "less_equal": lambda a, b: float(a <= b),
    "equal": lambda a, b: float(a == b),
    "select": lambda a, b, c: b if a != 0 else c,
    "sign": lambda a: float(np.sign(a)),
    "random": lambda index, key, stream: float(uniform(index, key, stream)),
}
PIECEWISE = frozenset(
    {
        "abs",
        "floor",
        "min",
        "max",
        "less",
        "less_equal",
        "equal",
        "select",
        "sign",
        "segment",
        "lookup",
        "solve",
        "unknown",
    }
)
# a length of what these compute is no |x| near 0
EDGED = PIECEWISE | {"sqrt", "hypot", "pow"}
# at poles and switches; a quotient if its divisor varies. Segments and look-ups of splines are continuous
JUMPING = frozenset(
    {"less", "less_equal", "equal", "select", "sign", "floor", "div", "tan", "atan2", "pow"}
)


MOST_RECORDED = 500_000  # operations of one author's code
NO_UNKNOWNS: frozenset[int] = frozenset()
LONG = 10_000
SIMPLIFIED = frozenset({"add", "sub", "mul", "div", "neg", "select"})
COMMUTATIVE = frozenset({"add", "mul", "min", "max", "hypot", "equal"})
SECONDS_A_NODE = 1e-3  # to differentiate, fold and check one


def rows_at(tables: Sequence[float], start: int, stride: int, index: Array) -> Array:
    """Return tables[start + stride · index], from the nearest row of an index beyond them; NaN for NaN."""
    last = (len(tables) - 1 - start) // stride
    rows = np.clip(np.nan_to_num(index, nan=0.0, posinf=last, neginf=0.0), 0, last).astype(int)
    return np.where(np.isnan(index), np.nan, np.asarray(tables)[start + stride * rows])


class Tape:
    """Nodes in the order of recording, operands before their users."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.recipes: Recipes | None = None  # of constants that follow from open numbers
        self.tables: list[float] = []
        self._table_starts: dict[tuple[float, ...], int] = {}
        self._known: dict[Node, int] = {}
        self._most = sys.maxsize
        self._log: list[tuple[int, tuple[str, int]]] | None = None
        self._equations = 0  # whose residuals are being recorded
        self._unknowns: list[frozenset[int]] = []  # of the first nodes
        self._smooth: list[bool] = []  # as above

    @contextmanager
    def equation(self) -> Iterator[int]:
        """Record the residual of an implicit equation in the block, which receives the number of its unknown."""
        self._equations += 1
        try:
            yield self._equations - 1
        finally:
            self._equations -= 1

    @contextmanager
    def recording(
        self, place: Callable[[], str], log: list[tuple[int, tuple[str, int]]] | None = None
    ) -> Iterator[None]:
        """Record an author's code in the block; warn of a long one, for the engine runs all of it in every step.

        `log` receives the nodes that the code uses in their order, with the file and the line of each.

        Raises:
            JointError: the code records without an end.
        """
        before = len(self.nodes)
        self._most, self._log = before + MOST_RECORDED, log
        try:
            yield
        finally:
            self._most, self._log = sys.maxsize, None
        count = len(self.nodes) - before
        if count > LONG:
            seconds = f"{count * SECONDS_A_NODE:.0f} s"
            text = f"records {count} operations; preparing them takes about {seconds}, and every step runs all of them"
            remedy = "use fewer, a spline through a table of values, or a CallbackJoint"
            warnings.warn(f"{place()}: {text}; {remedy}", PysimWarning, stacklevel=4)

    def copy(self) -> Tape:
        """Return an independent tape with the same nodes."""
        other = Tape()
        other.nodes, other.tables, other.recipes = list(self.nodes), self.tables, self.recipes
        other._known = dict(self._known)
        other._equations = self._equations
        return other

    def node(self, op: str, *args: int, value: float = 0.0, data: tuple[int, ...] = ()) -> int:
        """Return the index of a node, added if it is new; constants are folded and neutral elements removed."""
        if op in SIMPLIFIED:
            simple = self._simplified(op, args)
            if simple is not None:
                return simple
        if op in EVALUATE:
            operands = [self.nodes[a] for a in args]
            if all([operand.op == "const" for operand in operands]):  # noqa: C419, tapes are long
                with np.errstate(all="ignore"):
                    value = EVALUATE[op](*(operand.value for operand in operands))
                if self.recipes is None or not any(operand.data for operand in operands):
                    return self.const(value)
                own = tuple(self.recipes.constant(operand) for operand in operands)
                return self._follows(value, self.recipes.add(op, own))
            if op in COMMUTATIVE and args[0] > args[1]:
                args = args[::-1]
        return self._keep(Node(op, args, value, data))

    def const(self, value: float) -> int:
        """Return the index of a constant; −0 is stored as 0."""
        return self._keep(NAN if math.isnan(value) else Node("const", (), float(value) + 0.0))

    def open_number(self, value: float, recipes: Recipes, number: int) -> int:
        """Return the index of the constant that an open number is; its recipes are those of the tape from now on."""
        self.recipes = recipes
        return self._follows(value, recipes.add("field", number=number))

    def _follows(self, value: float, recipe: int) -> int:
        return self._keep(Node("const", (), float(value) + 0.0, (recipe,)))

    def input(self, index: int) -> int:
        """Return the index of the node of input number `index`: q, then v."""
        return self._keep(Node("input", (), 0.0, (index,)))

    def table(self, numbers: Sequence[float]) -> int:
        """Return the offset of these numbers in `tables`; equal tables are stored once, so that look-ups are shared."""
        if tuple(numbers) not in self._table_starts:
            self._table_starts[tuple(numbers)] = len(self.tables)
            self.tables += numbers
        return self._table_starts[tuple(numbers)]

    def index_of(self, node: Node) -> int:
        """Return the index of a node of this tape."""
        return self._known[node]

    def _keep(self, node: Node) -> int:
        index = self._known.get(node)
        if index is None:
            index = len(self.nodes)
            if index >= self._most:
                problem = f"records more than {MOST_RECORDED} operations; end the loop, or take a CallbackJoint"
                raise JointError(author_line(), problem)
            self._known[node] = index
            self.nodes.append(node)
        if self._log is not None:
            self._log.append((index, innermost_line()))
        return index

    def is_value(self, index: int, value: float) -> bool:
        """Return whether the node is this constant, whatever open numbers are."""
        op, _, own, data = self.nodes[index]
        return op == "const" and own == value and not data

    def _simplified(self, op: str, args: tuple[int, ...]) -> int | None:
        """Return the node to which an algebraic identity reduces this one, None if none applies."""
        if op in ("add", "sub", "mul"):
            return self._simplified_pair(op, *args)
        is_value = self.is_value
        match op, args:
            case "div", (a, b) if is_value(b, 1) or is_value(a, 0):
                return a
            case "neg", (a,) if self.nodes[a].op == "neg":
                return self.nodes[a].args[0]
            case "select", (_, b, c) if b == c:
                return b
        return None

    def _simplified_pair(self, op: str, a: int, b: int) -> int | None:
        """Return the node to which an identity reduces a sum, a difference or a product, None if none applies."""
        kind_a, args_a, value_a, open_a = self.nodes[a]
        kind_b, args_b, value_b, open_b = self.nodes[b]
        plain_a, plain_b = kind_a == "const" and not open_a, kind_b == "const" and not open_b
        if op == "mul":
            for is_plain, value, other in ((plain_a, value_a, b), (plain_b, value_b, a)):
                if is_plain and value in (0.0, 1.0, -1.0):
                    if value == 0:
                        return self.const(0)
                    return other if value == 1 else self.node("neg", other)
            if kind_a == "neg":
                if kind_b == "neg":
                    return self.node("mul", args_a[0], args_b[0])
                return self.node("neg", self.node("mul", args_a[0], b))
            return self.node("neg", self.node("mul", a, args_b[0])) if kind_b == "neg" else None
        if plain_b and value_b == 0:
            return a
        if plain_a and value_a == 0:
            return b if op == "add" else self.node("neg", b)
        if op == "sub" and a == b:
            return self.const(0)
        if kind_b == "neg":
            return self.node("sub" if op == "add" else "add", a, args_b[0])
        return self.node("sub", b, args_a[0]) if op == "add" and kind_a == "neg" else None

    def unknowns(self, index: int) -> frozenset[int]:
        """Return the numbers of the unknowns on which a node depends: none outside of residuals."""
        known = self._unknowns
        if index < len(known):
            return known[index]
        for node in self.nodes[len(known) : index + 1]:
            if node.op == "unknown":
                found = frozenset(node.data)
            elif node.op == "solve":
                own = self.nodes[node.args[0]].data
                found = frozenset().union(*(known[a] for a in node.args)) - set(own)
            else:
                parts = [known[a] for a in node.args if known[a]]
                found = frozenset().union(*parts) if parts else NO_UNKNOWNS
            known.append(found)
        return known[index]

    def is_smooth(self, index: int) -> bool:
        """Return whether neither a node nor one that it depends on has an edge."""
        known = self._smooth
        for node in self.nodes[len(known) : index + 1]:
            known.append(node.op not in EDGED and all([known[a] for a in node.args]))  # noqa: C419, as above
        return known[index]

    def body(self, index: int) -> list[int]:
        """Return the nodes of the residual and the slope of an implicit equation that depend on its unknown.

        Those of equations within it belong to these.
        """
        unknown, residual, slope, *_ = self.nodes[index].args
        depth = self.nodes[unknown].data[0]
        found: set[int] = set()
        pending = [residual, slope, unknown]
        while pending:
            node = pending.pop()
            if node not in found and depth in self.unknowns(node):
                found.add(node)
                pending += self.nodes[node].args
        return sorted(node for node in found if max(self.unknowns(node)) == depth)

    def substituted(self, index: int, unknown: int, by: int) -> int:
        """Return a node with another one in place of an unknown."""
        depth = self.nodes[unknown].data[0]
        changed: dict[int, int] = {unknown: by}
        affected: set[int] = set()
        pending = [index]
        while pending:
            k = pending.pop()
            if k not in affected and k != unknown and depth in self.unknowns(k):
                affected.add(k)
                pending += self.nodes[k].args
        for k in sorted(affected):
            node = self.nodes[k]
            args = (changed.get(a, a) for a in node.args)
            changed[k] = self.node(node.op, *args, value=node.value, data=node.data)
        return changed.get(index, index)

    def needed(self, targets: Iterable[int]) -> list[int]:
        """Return the targets and the nodes that they depend on, operands first."""
        wanted, nodes = set(targets), self.nodes
        pending = list(wanted)
        while pending:
            for k in nodes[pending.pop()].args:
                if k not in wanted:
                    wanted.add(k)
                    pending.append(k)
        return sorted(wanted)

    def without_unknowns(self, indices: Sequence[int]) -> list[int]:
        """Return those of the nodes that depend on no unknown of a residual, in their order."""
        if indices:
            self.unknowns(max(indices))
        return [k for k in indices if not self._unknowns[k]]

    def values(self, inputs: Sequence[float]) -> list[float]:
        """Return the value of every node for these inputs, in plain Python: slow, for folding and checks."""
        values: list[float] = []
        with np.errstate(all="ignore"):
            for node in self.nodes:
                values.append(self.value(node, values, inputs))
        return values

    def value(self, node: Node, values: list[float], inputs: Sequence[float]) -> float:
        """Return the value of one node, given those of the nodes before it."""
        match node.op:
            case "const":
                return node.value
            case "input":
                return float(inputs[node.data[0]])
            case "segment":
                start, count = node.data
                x, inner = values[node.args[0]], self.tables[start + 1 : start + count - 1]
                return x if math.isnan(x) else float(sum(x >= knot for knot in inner))
            case "dot":
                start = node.data[0]
                return float(
                    sum(self.tables[start + k] * values[a] for k, a in enumerate(node.args))
                )
            case "lookup":
                start, stride = node.data
                return float(rows_at(self.tables, start, stride, np.array(values[node.args[0]])))
            case "unknown":
                return math.nan
            case "solve":
                from pysim.tracing.evaluation import node_value  # noqa: PLC0415, it reads tapes

                column = np.asarray(inputs, float)[:, None]
                return float(node_value(self, node, [np.array([x]) for x in values], column)[0])
        try:
            return float(EVALUATE[node.op](*(values[a] for a in node.args)))
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan
