"""Relations of couplings: functions q = f(x) of coordinates, written in Python and traced once.

@relation("cam")
def lift(angle):
    return 0.02 * (1 - np.cos(angle))
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pysim.errors import JointError, PysimError
from pysim.joints.coordinate_functions import function_named
from pysim.plugins.registry import PluginKind
from pysim.tracing.author_code import author_error, defined_at
from pysim.tracing.derivative import Derivative
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.repeated_call import recorded_call
from pysim.tracing.tape import Tape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim._engine import Program

_POLYNOMIAL = re.compile(r"polynomial\(([-+0-9a-fpx., ]+)\)")
Function = TypeVar("Function", bound=Callable[..., Any])
RELATIONS: PluginKind[Callable[..., Any]] = PluginKind(
    "relation",
    error=JointError,
    first="; write one in a file of the scene's plugins, under @pysim.joints.relation(…)",
)


def relation(name: str) -> Callable[[Function], Function]:
    """Decorator: make a function of coordinates available as `function = "<name>"` of a coupling.

    Raises:
        JointError: the name is taken.
    """
    return RELATIONS.named(name)


def find_relation(name: str) -> Callable[..., Any]:
    """Return a registered function, importing its package if need be, or the one that the name itself states.

    Raises:
        JointError: there is none; the text suggests one.
    """
    coefficients = _POLYNOMIAL.fullmatch(name)
    if coefficients is not None:
        return _polynomial([float.fromhex(c) for c in coefficients.group(1).split(", ")])
    stated = function_named(name)
    return RELATIONS.find(name) if stated is None else stated


def polynomial_name(coefficients: Sequence[float]) -> str:
    """Return the name under which `find_relation` finds Σ cₖ xᵏ, with exact coefficients."""
    return f"polynomial({', '.join(float(c).hex() for c in coefficients)})"


def _polynomial(coefficients: Sequence[float]) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        value = coefficients[-1] + 0.0 * x
        for c in coefficients[-2::-1]:
            value = value * x + c
        return value

    return function


def arguments_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments, one for each coordinate."""
    return tuple(inspect.signature(function).parameters)


def trace_relation(function: Callable[..., Any]) -> Program:
    """Return the program from x and ẋ (n each) to f, ∂f/∂x (n) and ẋᵀ f″ ẋ.

    Raises:
        JointError: the function does not return one number that can be recorded.
    """
    n = len(arguments_of(function))
    tape, f = _recorded(function)
    slopes = _slopes(tape, f, range(n))
    return emit(tape, [f, *slopes], [_curve(tape, slopes)], 2 * n)


def trace_relation_derivative(function: Callable[..., Any]) -> Program:
    """Return the program from x, ẋ and ẍ (n each) to f″ (n²), ∂κ/∂x (n) and ∂κ/∂ẋ (n) of κ = f′ ẍ + ẋᵀ f″ ẋ.

    Raises:
        JointError: as in `trace_relation`.
    """
    n = len(arguments_of(function))
    tape, f = _recorded(function)
    slopes = _slopes(tape, f, range(n))
    kappa = _curve(tape, slopes)
    for i, slope in enumerate(slopes):
        kappa = tape.node("add", kappa, tape.node("mul", slope, tape.input(2 * n + i)))
    second = [node for slope in slopes for node in _slopes(tape, slope, range(n))]
    return emit(tape, [*second, *_slopes(tape, kappa, range(2 * n))], [], 3 * n)


def relation_derivatives(
    function: Callable[..., Any], x: Sequence[float] | Array
) -> tuple[Array, Array, Array]:
    """Return f′ (n,), f″ (n, n) and f‴ (n, n, n) at x (n,), exact to rounding.

    Raises:
        JointError: as in `trace_relation`.
    """
    tape, f = _recorded(function)
    n = len(x)
    units = [{j: tape.const(float(i == j)) for j in range(n)} for i in range(n)]
    along = [Derivative(tape, unit) for unit in units]
    orders = [[f]]
    for _ in range(3):
        orders.append([d.of(node) for node in orders[-1] for d in along])
    values = tape.values([float(number) for number in x])
    first, second, third = (
        np.array([values[node] for node in nodes]).reshape((n,) * k)
        for k, nodes in enumerate(orders[1:], 1)
    )
    return first, second, third


def _slopes(tape: Tape, node: int, inputs: range) -> list[int]:
    """Return the derivatives of a node with respect to inputs."""
    return [Derivative(tape, {i: tape.const(1)}).of(node) for i in inputs]


def _curve(tape: Tape, slopes: Sequence[int]) -> int:
    """Return ẋᵀ f″ ẋ from a function's derivatives f′ (n); the inputs are x, then ẋ."""
    n = len(slopes)
    along = Derivative(tape, {i: tape.input(n + i) for i in range(n)})
    curve = tape.const(0)
    for i, slope in enumerate(slopes):
        curve = tape.node("add", curve, tape.node("mul", along.of(slope), tape.input(n + i)))
    return curve


def _recorded(function: Callable[..., Any]) -> tuple[Tape, int]:
    """Return a tape whose first inputs are the arguments, and the node of f."""
    tape = Tape()
    symbols = [Scalar(tape, tape.input(i)) for i in range(len(arguments_of(function)))]
    try:
        place = f"{defined_at(function)}: {function.__qualname__}"
        given = recorded_call(tape, lambda: place, lambda: function(*symbols))
    except PysimError:  # has its own place
        raise
    except Exception as error:
        raise author_error(error, function, function.__qualname__) from error
    if not isinstance(given, (Scalar, int, float)):
        problem = f"must return one number, got {type(given).__name__}; fix {function.__qualname__}"
        raise JointError(defined_at(function), problem)
    return tape, given.index if isinstance(given, Scalar) else tape.const(float(given))
