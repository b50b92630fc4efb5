"""Bounds on the numbers of the plugins that come with pysim, and gains whose sign drives what they should hold.

A class names its bounded fields: `positive` and `not_negative` are checked where it is built, and negative numbers
among its `resisting` fields are warned of, because positive feedback is rare and may be meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pysim.errors import PysimError

_OF_PYSIM = "pysim."  # modules of the classes that name their bounds


def check_bounds(plugin: object) -> None:
    """Reject numbers of a plugin of pysim that are beyond their bounds.

    Raises:
        PysimError: one is, at the name of its field.
    """
    for name in bounded_fields(type(plugin), "positive"):
        for value in _numbers_of_field(plugin, name):
            if not value > 0:
                raise PysimError(name, f"must be positive, got {value:g}; change it")
    for name in bounded_fields(type(plugin), "not_negative"):
        for value in _numbers_of_field(plugin, name):
            if value < 0:
                raise PysimError(name, f"must not be negative, got {value:g}; change its sign")


def driving_gains(plugin: object) -> dict[str, float]:
    """Return the negative numbers of fields that resist a motion or pull towards a reference if they are positive."""
    found = {
        name: min(_numbers_of_field(plugin, name), default=0.0)
        for name in bounded_fields(type(plugin), "resisting")
    }
    return {name: value for name, value in found.items() if value < 0}


def bounded_fields(owner: type, kind: str) -> tuple[str, ...]:
    """Return the names of a class's fields of one kind; none of other modules, where the name may mean anything."""
    return tuple(getattr(owner, kind, ())) if owner.__module__.startswith(_OF_PYSIM) else ()


def _numbers_of_field(plugin: object, name: str) -> list[float]:
    """Return the numbers of a field; none of one that a signal gives."""
    value: Any = getattr(plugin, name)
    try:
        return [float(x) for x in np.atleast_1d(np.asarray(value, float)).ravel()]
    except (TypeError, ValueError):
        return []
