"""Checks for implausible numbers: powers that overflow, and angles that look like degrees."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from pysim.errors import PysimWarning
from pysim.scene.toml.problems import Problems, shown

if TYPE_CHECKING:
    from pysim.scene.toml.source import Steps

_LARGEST = 1e30
_TURN = 2 * math.pi + 1e-3  # [rad]
_ANGLES = {"rpy": 0, "axis_angle": 3}  # keys of rotations, and the index of their first angle


def check_numbers(value: object, path: Steps, problems: Problems) -> None:
    """Reject numbers whose powers overflow; warn of angles that look like degrees."""
    if isinstance(value, dict):
        for key, inner in value.items():
            check_numbers(inner, (*path, key), problems)
            if key in _ANGLES and isinstance(inner, list):
                _warn_of_degrees(inner, _ANGLES[key], (*path, key), problems)
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            check_numbers(inner, (*path, k), problems)
    elif isinstance(value, (int, float)) and abs(value) > _LARGEST and abs(value) != math.inf:
        problems.add(path, f"is beyond {_LARGEST:g}, got {shown(value)}; take another unit")


def _warn_of_degrees(numbers: list[object], first: int, path: Steps, problems: Problems) -> None:
    """Warn of a rotation by more than a turn."""
    for k, angle in enumerate(numbers[first:], first):
        if isinstance(angle, (int, float)) and _TURN < abs(angle) <= _LARGEST:
            place = problems.source.where((*path, k))
            radians = f"{math.radians(angle):.10g}"
            text = f"{angle:g} [rad] is more than a turn; if degrees were meant, write {radians}"
            warnings.warn(f"{place}: {text}", PysimWarning, stacklevel=2)
