"""Memory of integrator plugins: the attributes that a scheme changes from step to step, as text for checkpoints.

Numbers, texts, arrays, and lists, tuples, deques and dictionaries of them are written; arrays and numbers return to the
bit. Text rather than pickle, which could run code when a file is read.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import definition_place

if TYPE_CHECKING:
    from pysim.integrators import Integrator

NO_MEMORY = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
PLAIN = (type(None), bool, int, float, str)


def memory_of(scheme: Integrator) -> str:
    """Return the attributes of a scheme.

    Raises:
        TypeError: one is of another kind; the text names it.
    """
    return json.dumps({name: encoded(value, name) for name, value in vars(scheme).items()})


def set_memory(scheme: Integrator, text: str) -> None:
    """Give a scheme the attributes that `memory_of` returned.

    Raises:
        ValueError: the text is something else.
    """
    vars(scheme).update(attributes_of(text, scheme))


def attributes_of(text: str, scheme: Integrator) -> dict[str, Any]:
    """Return the attributes that `memory_of` returned of a scheme of this kind.

    Raises:
        ValueError: the text is something else, or names a method.
    """
    try:
        found = {str(name): decoded(value) for name, value in json.loads(text).items()}
    except NO_MEMORY as error:
        raise ValueError(f"the memory of {type(scheme).__name__} cannot be read") from error
    for name in found:
        if name.startswith("__") or callable(getattr(type(scheme), name, None)):
            raise ValueError(f"the memory of {type(scheme).__name__} names {name!r}, no attribute")
    return found


def copied_memory(scheme: Integrator) -> dict[str, Any]:
    """Return a copy of the attributes of a scheme.

    Raises:
        JointError: one of them cannot be copied.
    """
    found = {}
    for name, value in vars(scheme).items():
        try:
            found[name] = deepcopy(value)
        except Exception as error:
            problem = f"its attribute {name} holds {type(value).__name__}, which cannot be copied ({error})"
            remedy = "steps are tried where a scene has events: keep what can be copied, or leave the events out"
            raise JointError(definition_place(type(scheme)), f"{problem}; {remedy}") from error
    return found


def encoded(value: Any, name: str) -> Any:  # noqa: ANN401, whatever a scheme remembers
    """Return a value as JSON has it.

    Raises:
        TypeError: it is of another kind; the text begins with `name`.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [encoded(own, name) for own in value]
    if kind is tuple:
        return {"tuple": encoded(list(value), name)}
    if kind is deque:
        return {"deque": encoded(list(value), name), "most": value.maxlen}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": {key: encoded(own, name) for key, own in value.items()}}
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in "biufc":
        data = base64.b64encode(value.tobytes()).decode()
        what = "array" if kind is np.ndarray else "number"
        return {what: data, "dtype": value.dtype.str, "shape": value.shape}
    raise TypeError(f"{name} holds {kind.__name__}")


def decoded(value: Any) -> Any:  # noqa: ANN401, as above
    """Return the value that `encoded` took."""
    if isinstance(value, list):
        return [decoded(own) for own in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(decoded(value["tuple"]))
    if "deque" in value:
        return deque(decoded(value["deque"]), value["most"])
    if "dict" in value:
        return {key: decoded(own) for key, own in value["dict"].items()}
    data = base64.b64decode(value["array" if "array" in value else "number"])
    numbers = np.frombuffer(data, value["dtype"]).reshape(value["shape"]).copy()
    return numbers if "array" in value else numbers[()]
