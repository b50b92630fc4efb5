"""Tracing of forces: the method is called once with symbolic numbers, and its derivatives follow from the tape.

frames        inputs X_ab (rotation column-major, position), V_ab (v, ω)
              ∂F along a body motion δ = (δv, δω) of b:  δR = R [δω]×, δp = R δv; and by V_ab
path          inputs L, L̇
coordinates   inputs q (n), v (n)
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.force import Force, Method, method_of
from pysim.elements.quantities import Twist, Wrench
from pysim.errors import JointError, PysimError
from pysim.joints.displacement import Pose
from pysim.plugins.fields import fields_of
from pysim.tracing.author_code import author_error, method_place
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate, rate
from pysim.tracing.expression import Scalar
from pysim.tracing.open_numbers import NONE, OpenNumber, open_numbers_in, opened
from pysim.tracing.program import emit, recipes_of
from pysim.tracing.repeated_call import recorded_call
from pysim.tracing.tape import Tape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pysim._engine import Program

SAMPLES = 16
ENERGY_TOLERANCE = 1e-9  # relative difference between a force and the slope of its energy


@dataclass(frozen=True)
class TracedForce:
    """Programs of a force, and what is known of it.

    What is known depends on which numbers of a force that keeps its structure are 0, but not on the others.
    """

    method: Method
    program: Program
    derivative: Program
    energy: Program | None
    inputs: frozenset[int]  # inputs on which force or energy depend
    is_conservative: bool  # the force is that of its stored energy alone
    is_unstored: bool  # it acts at rest, but has no energy
    # of the constants of the program, its derivative and its energy that are no open numbers themselves
    recipes: tuple[list[int], ...] = ()

    def with_numbers(self, numbers: Sequence[float]) -> TracedForce:
        """Return the force with other open numbers, which are the first constants of its programs."""
        if not numbers:
            return self

        def changed(program: Program) -> Program:
            return program.replaced(constants=[*numbers, *program.constants[len(numbers) :]])

        return replace(
            self,
            program=changed(self.program),
            derivative=changed(self.derivative),
            energy=None if self.energy is None else changed(self.energy),
        )


def open_numbers(plugin: Force) -> list[float]:
    """Return the numbers of a force that keeps its structure, in the order of its fields; none of another."""
    if not plugin.keeps_structure:
        return []
    return [getattr(plugin, name) for name in fields_of(type(plugin))]


def note_recipes(traced: TracedForce, plugin: Force, element: str) -> None:
    """Note how the constants of the programs of an element follow from open numbers among its fields."""
    opened_numbers = [x for value in vars(plugin).values() for x in open_numbers_in(value)]
    if not opened_numbers:
        return
    recipes = opened_numbers[0].recipes
    first = [
        recipes.add("field", number=x.number) if isinstance(x, OpenNumber) else NONE
        for x in open_numbers(plugin)
    ]
    programs = (traced.program, traced.derivative, traced.energy)
    names = ("", " of the derivative", " of the energy")
    others = [*traced.recipes, []][:3]
    for name, program, own in zip(names, programs, others, strict=True):
        if program is not None:
            rest = own or [NONE] * (len(program.constants) - len(first))
            recipes.note(f"constants{name} of {element}", [*first, *rest])


def trace_force(plugin: Force, count: int = 0) -> TracedForce:
    """Return the programs of a force.

    Args:
        plugin: the force.
        count: number of coordinates of a force on coordinates.

    Raises:
        JointError: the force cannot be recorded, or is not the slope of its energy; the error names the author's line.
    """
    method = method_of(type(plugin))
    inputs = _Inputs(method, count)
    outputs = _outputs(plugin, inputs)
    energy = _energy(plugin, inputs)
    tape = inputs.tape
    if energy is not None:
        _check_energy(plugin, inputs, outputs, energy)
    nodes = [*outputs, *(() if energy is None else (energy,))]
    used = (tape.nodes[k] for k in tape.needed(nodes))
    read = frozenset(node.data[0] for node in used if node.op == "input")
    is_conservative = energy is not None and max(read, default=0) < inputs.positions
    is_unstored = energy is None and _acts_at_rest(inputs, outputs)
    numbers = open_numbers(plugin)
    if numbers:  # are inputs that the engine finds among the constants
        inputs = _Inputs(method, count)
        tape, made = inputs.tape, type(plugin)
        symbols = (Scalar(tape, tape.input(inputs.size + k)) for k in range(len(numbers)))
        plugin = made(**dict(zip(fields_of(made), symbols, strict=True)))
        outputs, energy = _outputs(plugin, inputs), _energy(plugin, inputs)

    def program(nodes: Sequence[int]) -> Program:
        found = emit(inputs.tape, nodes, [], inputs.size + len(numbers))
        return found.replaced(constants=[*numbers, *found.constants])

    parts = [outputs, _derivatives(inputs, outputs), *([] if energy is None else [[energy]])]
    programs = [program(nodes) for nodes in parts]
    return TracedForce(
        method,
        programs[0],
        programs[1],
        None if energy is None else programs[2],
        read,
        is_conservative,
        is_unstored,
        tuple(recipes_of(inputs.tape, nodes, []) for nodes in parts),
    )


def force_function(plugin: Force, count: int = 0) -> Callable[[Array], Array]:
    """Return the force as a function of its inputs (inputs, n), with the outputs (outputs, n) of n states."""
    inputs = _Inputs(method_of(type(plugin)), count)
    outputs = _outputs(plugin, inputs)
    return lambda numbers: evaluate(inputs.tape, numbers, outputs)


class _Inputs:
    """Symbolic arguments of a method, and the directions in which they change."""

    def __init__(self, method: Method, count: int) -> None:
        self.method, self.count = method, count
        self.tape = Tape()
        self.positions = {"frames": 12, "path": 1, "coordinates": count}[method.acts]
        self.rates = {"frames": 6, "path": 1, "coordinates": count}[method.acts]
        self.size = self.positions + self.rates
        self.numbers = [Scalar(self.tape, self.tape.input(i)) for i in range(self.size)]

    def arguments(self) -> dict[str, Any]:
        """Return what the method may name."""
        x, rates = self.numbers[: self.positions], self.numbers[self.positions :]
        if self.method.acts == "frames":
            rotation = [[x[3 * j + i] for j in range(3)] for i in range(3)]
            values: tuple[Any, Any] = (Pose(rotation, x[9:]), Twist(rates[:3], rates[3:]))
        elif self.method.acts == "path":
            values = (x[0], rates[0])
        else:
            values = (tuple(x), tuple(rates))
        return dict(zip(self.method.arguments, values, strict=True))

    def motions(self) -> list[dict[int, int]]:
        """Return the rates of the position inputs along each velocity."""
        tape = self.tape
        one = tape.const(1)
        if self.method.acts != "frames":
            return [{k: one} for k in range(self.positions)]
        return body_motions(tape, range(12))

    def samples(self, rng: np.random.Generator) -> Array:
        """Return inputs (inputs, SAMPLES) without rates."""
        x = rng.uniform(-1, 1, (self.size, SAMPLES))
        if self.method.acts == "path":
            x = abs(x) + 0.1
        elif self.method.acts == "frames":
            R = np.linalg.qr(rng.normal(size=(SAMPLES, 3, 3)))[0]
            R[np.linalg.det(R) < 0, :, 0] *= -1
            x[:9] = R.transpose(2, 1, 0).reshape(9, SAMPLES)
        x[self.positions :] = 0
        return x


def body_motions(tape: Tape, numbers: Sequence[int]) -> list[dict[int, int]]:
    """Return the rates of a pose along the six body motions of frame b, for its twelve inputs by number."""
    column = [[tape.input(numbers[3 * j + i]) for i in range(3)] for j in range(3)]
    found = [{numbers[9 + i]: column[k][i] for i in range(3)} for k in range(3)]
    for k in range(3):  # δω = e_k turns column k + 1 towards k + 2, and that one away
        first, second = (k + 1) % 3, (k + 2) % 3
        found.append(
            {numbers[3 * first + i]: column[second][i] for i in range(3)}
            | {numbers[3 * second + i]: tape.node("neg", column[first][i]) for i in range(3)}
        )
    return found


def _call(plugin: Force, method: str, available: Mapping[str, Any]) -> object:
    """Call an author's method with the arguments that it names."""
    function = getattr(plugin, method)
    names = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    unknown = [name for name in names if name not in available]
    if unknown:
        others = () if method == "energy" else (*plugin.states.names, "t")
        offered = ", ".join([*available, *others])
        problem = f"has the unknown argument {unknown[0]!r}; choose among {offered}"
        raise JointError(method_place(plugin, method), problem)
    try:
        result: object = function(**{name: available[name] for name in names})
    except PysimError:  # has its own place
        raise
    except Exception as error:
        owner = f"{type(plugin).__qualname__}.{method}"
        raise author_error(error, function, owner) from error
    return result


def _outputs(plugin: Force, inputs: _Inputs) -> list[int]:
    """Return the nodes of the force."""
    method = inputs.method.name
    with opened(plugin, inputs.tape):
        result = recorded_call(
            inputs.tape,
            lambda: method_place(plugin, method),
            lambda: _call(plugin, method, inputs.arguments()),
        )
    place = method_place(plugin, method)
    if inputs.method.acts == "frames":
        if not isinstance(result, Wrench):
            raise JointError(place, f"must return a Wrench, got {_kind(result)}")
        return _nodes(plugin, method, inputs.tape, [*result.force, *result.torque])
    numbers = list(result) if isinstance(result, (list, tuple, np.ndarray)) else [result]
    wanted = 1 if inputs.method.acts == "path" else inputs.count
    if result is None or len(numbers) != wanted:
        got = _kind(result) if result is None else f"{len(numbers)} numbers"
        what = "a number" if wanted == 1 else f"{wanted} numbers, one for each coordinate"
        raise JointError(place, f"must return {what}, got {got}")
    return _nodes(plugin, method, inputs.tape, numbers)


def _energy(plugin: Force, inputs: _Inputs) -> int | None:
    """Return the node of the stored energy, if the plugin has one."""
    if type(plugin).energy is Force.energy:
        return None
    position = inputs.method.arguments[0]
    with opened(plugin, inputs.tape):
        given = recorded_call(
            inputs.tape,
            lambda: method_place(plugin, "energy"),
            lambda: _call(plugin, "energy", {position: inputs.arguments()[position]}),
        )
    return _nodes(plugin, "energy", inputs.tape, [given])[0]


def _acts_at_rest(inputs: _Inputs, outputs: Sequence[int]) -> bool:
    """Return whether the force without rates is not zero at a sampled position."""
    forces = evaluate(inputs.tape, inputs.samples(np.random.default_rng(7)), outputs)
    return bool(np.any(forces != 0))


def _derivatives(inputs: _Inputs, outputs: Sequence[int]) -> list[int]:
    """Return the nodes of the program that the engine differentiates with (cpp/elements/derivatives.hpp)."""
    tape, one = inputs.tape, inputs.tape.const(1)
    along = [Derivative(tape, motion, limits=True) for motion in inputs.motions()]
    places = range(inputs.positions, inputs.positions + inputs.rates)
    by_rate = [Derivative(tape, {k: one}, limits=True) for k in places]
    if inputs.method.acts == "coordinates":  # row by row
        return [d.of(k) for group in (along, by_rate) for k in outputs for d in group]
    return [*outputs, *(d.of(k) for group in (along, by_rate) for d in group for k in outputs)]


def _check_energy(plugin: Force, inputs: _Inputs, outputs: Sequence[int], energy: int) -> None:
    """Require that the force without rates is minus the slope of the energy (plus, for a tension).

    Positions are left out where the energy has no value, such as those at which a gas has a negative volume.
    """
    rng = np.random.default_rng(7)
    x = inputs.samples(rng)
    forces = evaluate(inputs.tape, x, outputs)
    has_value = np.isfinite(evaluate(inputs.tape, x, [energy])[0])
    sign = 1.0 if inputs.method.acts == "path" else -1.0
    for k, motion in enumerate(inputs.motions()):
        rates = np.zeros_like(x)
        for index, node in motion.items():
            rates[index] = evaluate(inputs.tape, x, [node])[0]
        slope = sign * rate(inputs.tape, x, rates, [energy])[0]
        size = 1e-12 + np.abs(forces).max(axis=0) + abs(slope)
        with np.errstate(invalid="ignore"):
            apart = has_value & (np.abs(forces[k] - slope) > ENERGY_TOLERANCE * size)
        if apart.any():
            at = int(np.flatnonzero(apart)[0])
            name = inputs.method.name
            problem = (
                f"energy and {name} disagree: component {k} of the {name} at zero rates is "
                f"{forces[k, at]:.6g}, but the energy gives {slope[at]:.6g}; fix one of them"
            )
            raise JointError(method_place(plugin, "energy"), problem)


def _nodes(plugin: Force, method: str, tape: Tape, numbers: Sequence[Any]) -> list[int]:
    """Return the nodes of the numbers that an author's method returns."""
    nodes = []
    for x in numbers:
        if isinstance(x, Scalar):
            if x.tape is not tape:
                problem = "returns a symbolic number from an earlier call; compute it from this call's arguments"
                raise JointError(method_place(plugin, method), problem)
            nodes.append(x.index)
        elif isinstance(x, (int, float, np.integer, np.floating)):
            if not np.isfinite(x):
                raise JointError(
                    method_place(plugin, method), f"returns {x}; return a finite number"
                )
            nodes.append(tape.const(float(x)))
        else:
            problem = f"returns {_kind(x)} where a number is expected"
            raise JointError(method_place(plugin, method), problem)
    return nodes


def _kind(x: object) -> str:
    """Return the kind of a value, for errors."""
    if isinstance(x, np.ndarray):
        return "an array"
    return "None; end it with `return`" if x is None else f"a {type(x).__name__}"
