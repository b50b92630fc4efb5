"""Scenes whose signals have the same programs: they differ in numbers alone that no program reads, such as masses."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pysim.mechanism.model import Model
    from pysim.scene.spec import SceneSpec

_NUMBERS = frozenset({"theta", "materials", "stop_stiffness", "stop_damping", "stop_dissipation"})
_NAMES = frozenset({"overrides", "text", "render"})  # that no run depends on


def has_same_signals(spec: SceneSpec, model: Model, other: SceneSpec, other_model: Model) -> bool:
    """Return whether the signals of two scenes, whose models are compiled, have the same programs and start."""
    measures = any(own.element is not None or own.measures_wrench for own in spec.blocks)
    ignored = _NAMES if measures else _NAMES | _NUMBERS  # powers and wrenches depend on all numbers
    return (
        _are_equal(spec, other, ignored)
        and np.array_equal(model.gravity, other_model.gravity)
        and _are_equal(model.frames, other_model.frames, ignored)
    )


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _are_equal(a: Any, b: Any, ignored: frozenset[str]) -> bool:  # noqa: ANN401, parts of specifications
    """Return whether two parts of specifications are equal, but for fields that are ignored."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        kind: Any = type(a)
        names = (name for name in _names(kind) if name not in ignored)
        return all(_are_equal(getattr(a, name), getattr(b, name), ignored) for name in names)
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, (tuple, list)):
        pairs = zip(a, b, strict=True) if len(a) == len(b) else ()
        return len(a) == len(b) and all(_are_equal(x, y, ignored) for x, y in pairs)
    if isinstance(a, dict):
        return list(a) == list(b) and all(_are_equal(x, b[key], ignored) for key, x in a.items())
    return bool(a == b)
