"""Calls of plugin authors' methods that are recorded twice: one whose result changes would become a constant.

A counter, a random number, the time of the day, or a number kept from the call before: the engine runs what the first
call recorded in every step. The two calls must record the same nodes; the error names the first line that does not.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import quoted
from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.tracing.tape import Tape

_PARTS = ("rotation", "p", "force", "torque")  # of poses and wrenches


def recorded_call(
    tape: Tape, place: Callable[[], str], call: Callable[[], Any], remedy: str = ""
) -> Any:
    """Return the result of an author's method, called twice.

    Args:
        tape: on which it is recorded.
        place: returns `file:line: Class.method`.
        call: calls the method with the same arguments.
        remedy: what to use instead, for the error.

    Raises:
        JointError: the calls differ; the error names the line, or the method if it returns other plain numbers.
    """
    result, first = _logged(tape, place, call)
    count, numbers = len(tape.nodes), _list_results(tape, result)
    again, second = _logged(tape, place, call)
    if len(tape.nodes) == count and numbers == _list_results(tape, again):
        return result
    pairs = zip_longest(first, second, fillvalue=(None, None))
    changed = [at for a, b in pairs if a[0] != b[0] and (at := b[1] or a[1])]
    file, line = changed[0] if changed else (None, 0)
    where, text = (f"{file}:{line}", quoted(file, line)) if file else (place(), "")
    problem = f"gives another result in every call{text and f', in {text}'}, which recording would make a constant"
    raise JointError(where, f"{problem}; {remedy or 'compute it from the arguments alone'}")


def _logged(
    tape: Tape, place: Callable[[], str], call: Callable[[], Any]
) -> tuple[Any, list[tuple[int, tuple[str, int]]]]:
    """Return the result of a call, and the nodes that it uses in their order with the lines of the author's code."""
    log: list[tuple[int, tuple[str, int]]] = []
    with tape.recording(place, log):
        return call(), log


def _list_results(tape: Tape, value: Any) -> list[Any]:
    """Return the nodes and plain numbers of what a method returns."""
    if isinstance(value, Scalar):
        return [("node", value.index if value.tape is tape else None)]
    if isinstance(value, (bool, int, float, np.number)):
        return [float(value)]
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return [number for part in value for number in _list_results(tape, part)]
    parts = [getattr(value, name) for name in _PARTS if hasattr(value, name)]
    return [number for part in parts for number in _list_results(tape, part)] or [type(value)]
