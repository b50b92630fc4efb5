"""Compilation of a tape into the program that the engine runs on packs (cpp/tree/program.hpp).

The program computes the 12 numbers of the pose (rotation column-major, position), the columns of the motion subspace
and, from v as well, the bias; common subexpressions are computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pysim._engine import Op, Program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set as AbstractSet

    from pysim.tracing.tape import Tape


OPS = {name: Op[name] for name in Op.__members__}
# operations whose operand b is a place in the tables, and c a count or a stride
READS_TABLE = (OPS["segment"], OPS["lookup"], OPS["dot"])


def register_operands(op: Op) -> tuple[bool, bool, bool, bool]:
    """Return which of the operands (out, a, b, c) of an instruction are registers, or 0 where it has none."""
    if op in READS_TABLE:
        return True, True, False, False
    return True, True, True, op != OPS["solve"]  # whose c is a number of instructions


class Emitted(NamedTuple):
    """Program before it is given to the engine, with the registers of its nodes."""

    code: list[tuple[Op, int, int, int, int]]
    first: int  # instructions for the early nodes
    registers: int
    constants: list[float]
    tables: list[float]
    early: list[int]  # registers
    late: list[int]
    constant_nodes: list[int]

    def program(self, outputs: Sequence[int], pose_end: int) -> Program:
        """Return the program with some registers as outputs."""
        return Program(
            code=self.code,
            pose_end=pose_end,
            registers=self.registers,
            constants=self.constants,
            tables=self.tables,
            outputs=outputs,
        )


def emit(
    tape: Tape, early: Sequence[int], late: Sequence[int], inputs: int, aside: int = 0
) -> Program:
    """Return the program that computes some nodes, its outputs; arguments are those of `emitted`."""
    found = emitted(tape, early, late, inputs, aside)
    return found.program([*found.early, *found.late], found.first)


def emitted(
    tape: Tape,
    early: Sequence[int],
    late: Sequence[int],
    inputs: int,
    aside: int = 0,
    others: Sequence[int] = (),
    registers: Mapping[int, int] | None = None,
) -> Emitted:
    """Return the instructions that compute some nodes.

    Args:
        tape: the nodes.
        early: nodes that need no v: pose and subspace.
        late: nodes computed after them: the bias.
        inputs: numbers in q and v together.
        aside: number of nodes at the end of `late` that are only recorded: the others have the same bits without them.
        others: constants that have registers, too.
        registers: of some inputs, by their number; the others have that of their number.
    """
    first, second = _parts(tape, early, late)
    constants = [k for k in first + second if tape.nodes[k].op == "const"]
    constants += sorted(set(others).difference(constants))
    writer = _Writer(tape, inputs, constants, registers or {})
    recorded = late[len(late) - aside :]
    writer.plan(first + second, early, late, len(first), recorded)
    for node in first:
        writer.write(node)
    pose_end = len(writer.code)
    for node in second:
        writer.write(node)
    return Emitted(
        writer.code,
        pose_end,
        writer.registers,
        [tape.nodes[k].value for k in constants],
        tape.tables,
        [writer.register[k] for k in early],
        [writer.register[k] for k in late],
        constants,
    )


def recipes_of(tape: Tape, early: Sequence[int], late: Sequence[int]) -> list[int]:
    """Return the recipes of the constants of the program that computes some nodes, −1 of those without."""
    if tape.recipes is None:
        return []
    nodes = (tape.nodes[k] for part in _parts(tape, early, late) for k in part)
    return [node.data[0] if node.data else -1 for node in nodes if node.op == "const"]


def _parts(tape: Tape, early: Sequence[int], late: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the nodes of a program without those of residuals: that need no v, and the others."""
    first = tape.without_unknowns(tape.needed(early))
    known = set(first)
    later = [node for node in tape.needed(late) if node not in known]
    return first, tape.without_unknowns(later)


class _Writer:
    """Assigns registers, reusing those whose value is no longer needed."""

    def __init__(
        self, tape: Tape, inputs: int, constants: Sequence[int], places: Mapping[int, int]
    ) -> None:
        self.tape, self._places = tape, places
        self.code: list[tuple[Op, int, int, int, int]] = []
        self.register: dict[int, int] = {}
        for k, node in enumerate(constants):
            self.register[node] = inputs + k
        self.registers = inputs + len(constants)
        self._free: list[int] = []
        self._last_use: dict[int, Any] = {}
        self._partner: dict[int, int] = {}
        self._fused: dict[int, tuple[str, int, int]] = {}
        self._swallowed: set[int] = set()
        self._blocks: dict[tuple[int, ...], int] = {}
        self._bodies: dict[int, tuple[list[int], tuple[int, ...]]] = {}

    def plan(
        self,
        order: Sequence[int],
        early: Sequence[int],
        late: Sequence[int],
        split: int,
        recorded: Sequence[int],
    ) -> None:
        """Find each value's last use, and pairs of sine and cosine of one angle."""
        angles: dict[int, dict[str, int]] = {}
        for position, node in enumerate(order):
            for a in self._operands(node):
                self._last_use[a] = position
            if self.tape.nodes[node].op in ("sin", "cos"):
                angles.setdefault(self.tape.nodes[node].args[0], {})[self.tape.nodes[node].op] = (
                    node
                )
        for pair in angles.values():
            if len(pair) == 2:
                self._partner[pair["sin"]], self._partner[pair["cos"]] = pair["cos"], pair["sin"]
        own = {*early, *late[: len(late) - len(recorded)]}
        main = self.tape.needed(own) if recorded else order
        self._find_fused(order, own, set(main), set(recorded))
        for node in early:  # read by the engine after the first part
            self._last_use[node] = max(self._last_use.get(node, 0), split)
        for node in late:
            self._last_use[node] = len(order)
        self._position: dict[int, int | tuple[int, int]] = {node: k for k, node in enumerate(order)}

    def _operands(self, node: int) -> tuple[int, ...]:
        """Return the nodes that a node reads: of an implicit equation its bounds, and what its residual reads."""
        op, args, _, _ = self.tape.nodes[node]
        return self._body(node)[1] if op == "solve" else args

    def _body(self, node: int) -> tuple[list[int], tuple[int, ...]]:
        """Return the nodes of the residual of an implicit equation, and the nodes outside that it reads."""
        if node not in self._bodies:
            args = self.tape.nodes[node].args
            own = self.tape.body(node)
            read = {a for k in own for a in self._operands(k)} | set(args[1:])
            self._bodies[node] = own, tuple(sorted(read - set(own)))
        return self._bodies[node]

    def write(self, node: int) -> None:
        """Write one node's instruction."""
        what = self.tape.nodes[node]
        if what.op == "const":
            return
        if what.op == "input":
            number = what.data[0]
            self.register[node] = self._places.get(number, number)
            return
        if node in self.register:  # the other half of a sincos
            self._release(node)
            return
        if node in self._swallowed:
            return
        if node in self._fused:
            self._write_fused(node)
            return
        if what.op == "solve":
            out = self._take()
            self._write_equation(node, out)
            self.register[node] = out
            self._release(node)
            return
        args = [self.register[a] for a in what.args]
        if what.op in ("sin", "cos"):
            out = self._take_pair(node, what.op)
            self.code.append((OPS["sincos"], out, args[0], 0, 0))
        else:
            out = self._take()
            self.register[node] = out
            if what.op in ("segment", "lookup"):
                start, size = what.data
                self.code.append((OPS[what.op], out, args[0], start, size))
            elif what.op == "dot":
                self.code.append((OPS["dot"], out, self._block(what.args), what.data[0], len(args)))
            else:
                a, b, c = [*args, 0, 0][:3]
                self.code.append((OPS[what.op], out, a, b, c))
        self._release(node)

    def _find_fused(
        self,
        order: Sequence[int],
        outputs: AbstractSet[int],
        main: AbstractSet[int],
        recorded: AbstractSet[int],
    ) -> None:
        """Find sums whose one operand is a product that nothing else uses: one instruction for two.

        Among the `main` nodes only their own uses count; a product that others use as well is computed beside.
        """
        uses: dict[int, int] = {}
        beside = set(recorded)  # products of main sums that others use
        for node in order:
            is_main = node in main
            for a in self._operands(node):
                if is_main or a not in main:
                    uses[a] = uses.get(a, 0) + 1
                else:
                    beside.add(a)
        place = {node: k for k, node in enumerate(order)}
        sums = [node for node in order if self.tape.nodes[node].op in ("add", "sub")]
        for node in sums:
            what = self.tape.nodes[node]
            for side in (1, 0):
                product, other = what.args[side], what.args[1 - side]
                if self.tape.nodes[product].op != "mul":
                    continue
                lone = uses.get(product) == 1 and product not in outputs and product in place
                lone &= (node in main) == (product in main)
                lone &= node in main or product not in recorded
                if lone:
                    op = "fma" if what.op == "add" else ("fnma" if side == 1 else "fms")
                    self._fused[node] = op, product, other
                    if product not in beside:
                        self._swallowed.add(product)
                    for a in self.tape.nodes[product].args:  # read where the sum is made
                        self._last_use[a] = max(self._last_use[a], place[node])
                    break

    def _write_equation(self, node: int, out: int) -> None:
        """Write an implicit equation, and after it the instructions of its residual, which the engine repeats."""
        unknown, residual, slope, *bounds = self.tape.nodes[node].args
        first, pair = self._neighbours(bounds), self.registers
        self.registers += 2
        at = len(self.code)
        self.code.append((OPS["solve"], out, first, pair, 0))
        body = self._body(node)[0]
        self._plan_body(body, node, {residual, slope})
        self.register[unknown] = out
        for k in body:
            if k != unknown:
                self.write(k)
        self.code.append((OPS["copy"], pair, self.register[residual], 0, 0))
        self.code.append((OPS["copy"], pair + 1, self.register[slope], 0, 0))
        self.code[at] = (OPS["solve"], out, first, pair, len(self.code) - at - 1)
        for k in {residual, slope} & set(body) - {unknown}:
            self._free.append(self.register[k])

    def _plan_body(self, body: Sequence[int], node: int, outputs: AbstractSet[int]) -> None:
        """Find the last use of each value within a residual, and its fused products; it may be written again."""
        uses: dict[int, int] = {}
        for k in body:
            self.register.pop(k, None)
            self._fused.pop(k, None)
            self._swallowed.discard(k)
            for a in self._operands(k):
                uses[a] = uses.get(a, 0) + 1
        inside = set(body)
        for k in body:
            what = self.tape.nodes[k]
            for side in (1, 0) if what.op in ("add", "sub") else ():
                product, other = what.args[side], what.args[1 - side]
                lone = product in inside and uses[product] == 1 and product not in outputs
                if lone and self.tape.nodes[product].op == "mul":
                    op = "fma" if what.op == "add" else ("fnma" if side == 1 else "fms")
                    self._fused[k] = op, product, other
                    self._swallowed.add(product)
                    break
        for place, k in enumerate(body):
            self._position[k] = (node, place)
            for a in self._read_by(k):
                if a in inside:
                    self._last_use[a] = (node, place)
        for k in outputs & inside:
            self._last_use[k] = None

    def _read_by(self, node: int) -> set[int]:
        """Return the operands of the instruction of a node; a fused one reads those of its product."""
        operands = self._operands(node)
        if node in self._fused:
            product = self._fused[node][1]
            return {*operands, *self.tape.nodes[product].args} - {product}
        return set(operands)

    def _write_fused(self, node: int) -> None:
        op, product, other = self._fused[node]
        a, b = (self.register[x] for x in self.tape.nodes[product].args)
        out = self._take()
        self.register[node] = out
        self.code.append((OPS[op], out, a, b, self.register[other]))
        self._release(node)

    def _block(self, args: tuple[int, ...]) -> int:
        """Return the first of neighbouring registers that hold operands, copied there for all who read these."""
        # within a residual, which may be written again
        if any(self.tape.unknowns(a) for a in args):
            return self._neighbours(args)
        if args not in self._blocks:
            self._blocks[args] = self._neighbours(args)
        return self._blocks[args]

    def _neighbours(self, args: Sequence[int]) -> int:
        """Return the first of new neighbouring registers, to which operands are copied."""
        first = self.registers
        self.registers += len(args)
        for k, a in enumerate(args):
            self.code.append((OPS["copy"], first + k, self.register[a], 0, 0))
        return first

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        self.registers += 1
        return self.registers - 1

    def _take_pair(self, node: int, op: str) -> int:
        """Return two neighbouring registers, for sine and cosine."""
        out = self.registers
        self.registers += 2
        partner = self._partner.get(node)
        self.register[node] = out if op == "sin" else out + 1
        if partner is not None:
            self.register[partner] = out + 1 if op == "sin" else out
        return out

    def _release(self, node: int) -> None:
        """Free the registers of operands whose last use is this node."""
        position, nodes, last_use = self._position[node], self.tape.nodes, self._last_use
        for a in self._read_by(node):
            if last_use[a] == position and nodes[a].op not in ("const", "input", "unknown"):
                self._free.append(self.register[a])
